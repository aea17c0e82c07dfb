"""The settings under which code runs: of decimal, gmpy2 and numpy, and of the interpreter."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from decimal import getcontext
from typing import Any

import gmpy2
import numpy as np

_SIGNALS = tuple(getcontext().traps)


def ambient() -> Hashable:
    """The settings under which code runs: those of arithmetic and of the interpreter."""
    decimal = getcontext()
    traps = decimal.traps
    return (
        decimal.prec, decimal.rounding, decimal.Emin, decimal.Emax, decimal.capitals, decimal.clamp,
        *[traps[signal] for signal in _SIGNALS], *settings_of(gmpy2.get_context()), *np.geterr().values(),
        sys.get_int_max_str_digits(), sys.getrecursionlimit(), sys.getswitchinterval(),
    )  # fmt: skip


def settings() -> Hashable:
    """The same, and those by which numpy writes numbers."""
    return ambient(), *map(str, np.get_printoptions().values())


def settings_of(context: Any) -> tuple[Any, ...]:
    """What a context of gmpy2 decides; not its flags, which calculations raise."""
    traps = (
        context.trap_underflow, context.trap_overflow, context.trap_inexact, context.trap_invalid, context.trap_erange,
        context.trap_divzero,
    )  # fmt: skip
    rest = context.precision, context.round, context.emin, context.emax, context.subnormalize
    return (*rest, context.real_prec, context.imag_prec, context.real_round, context.allow_complex, *traps)
