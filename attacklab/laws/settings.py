"""The settings of arithmetic under which code runs: those of decimal, gmpy2 and numpy."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import getcontext
from operator import attrgetter
from typing import Any

import gmpy2
import numpy as np

_SIGNALS = tuple(getcontext().traps)

_OF_DECIMAL = attrgetter("prec", "rounding", "Emin", "Emax", "capitals", "clamp")

_OF_GMPY2 = attrgetter(
    "precision", "round", "emin", "emax", "subnormalize", "real_prec", "imag_prec", "real_round", "allow_complex",
    "trap_underflow", "trap_overflow", "trap_inexact", "trap_invalid", "trap_erange", "trap_divzero",
)  # fmt: skip


def ambient() -> Hashable:
    """The settings of arithmetic that hold now."""
    decimal = getcontext()
    return (
        _OF_DECIMAL(decimal), *map(decimal.traps.__getitem__, _SIGNALS), _OF_GMPY2(gmpy2.get_context()),
        *np.geterr().values(),
    )  # fmt: skip


def settings_of(context: Any) -> tuple[Any, ...]:
    """What a context of gmpy2 decides; not its flags, which calculations raise."""
    values: tuple[Any, ...] = _OF_GMPY2(context)
    return values
