"""The settings under which code runs: of decimal, gmpy2 and numpy, and of the interpreter."""

from __future__ import annotations

import sys
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
    """The settings under which code runs: those of arithmetic and of the interpreter."""
    decimal = getcontext()
    return (
        _OF_DECIMAL(decimal), *map(decimal.traps.__getitem__, _SIGNALS), _OF_GMPY2(gmpy2.get_context()),
        *np.geterr().values(),
        sys.get_int_max_str_digits(), sys.getrecursionlimit(), sys.getswitchinterval(),
    )  # fmt: skip


def settings() -> Hashable:
    """The same, and those by which numpy writes numbers."""
    return ambient(), *map(str, np.get_printoptions().values())


def settings_of(context: Any) -> tuple[Any, ...]:
    """What a context of gmpy2 decides; not its flags, which calculations raise."""
    found: tuple[Any, ...] = _OF_GMPY2(context)
    return found
