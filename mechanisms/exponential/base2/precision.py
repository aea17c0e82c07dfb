"""How many bits the base-2 exponential mechanism needs so that every sum of weights is exact.

Both bounds follow from public parameters alone: the number of outcomes and the range of their utilities. A
precision found on the database's own utilities would leak through its cost; one that ignores the number of
outcomes or the least utility is too small, and outcomes get probability 0.

Source: Ilvento 2020, section 3.2, Lemma 3.4 and Algorithm 1. Where we differ: Lemma 3.4 counts z·(y + bits of x)
for every unit of the range; reduced to an odd numerator, 2^−η needs y·z and no more.
"""

from __future__ import annotations

import gmpy2
from gmpy2 import mpfr

from mechanisms.exponential.base2.eta import BaseTwoEta


def worst_case_precision(eta: BaseTwoEta, spread: int, outcomes: int) -> int:
    """Return a bound on the significant bits of any sum of at most `outcomes` weights 2^(−η·k), 0 ≤ k ≤ spread.

    Every weight is a multiple of 2^−q, q = `finest_bit(eta, spread)`. A sum of n weights is n itself, when all
    of them are 1, or else it is below n: at most the bits of n − 1 before the point and q behind it. The bound
    is reached by n − 1 weights of 1 and one of 2^(−η·spread), so for n > 1 and spread > 0 no lower one is right.
    """
    _check(spread, outcomes)
    return max(1, finest_bit(eta, spread) + (outcomes - 1).bit_length())


def empirical_precision(eta: BaseTwoEta, spread: int, outcomes: int) -> int:
    """Return a precision, a power of two, at which MPFR computes the extreme sums without rounding (Algorithm 1).

    An extreme sum adds n − 1 weights of 1, and at most one more weight, which may be any in the range. These sums
    have the highest and the lowest bit of any sum, so the precision found is enough for all sums. For two outcomes
    or more it is less than twice the least precision that is enough.
    """
    _check(spread, outcomes)
    precision = 1
    while not _extreme_sums_are_exact(eta, spread, outcomes, precision):
        precision *= 2
    return precision


def finest_bit(eta: BaseTwoEta, spread: int) -> int:
    """Return the least q ≥ 0 for which all weights 2^(−η·k), 0 ≤ k ≤ spread, are multiples of 2^−q."""
    return (eta.decay.denominator.bit_length() - 1) * spread


def _extreme_sums_are_exact(eta: BaseTwoEta, spread: int, outcomes: int, precision: int) -> bool:
    widest = {"emin": gmpy2.get_emin_min(), "emax": gmpy2.get_emax_max()}
    with gmpy2.context(**widest):
        heaviest = mpfr(outcomes - 1, max(1, (outcomes - 1).bit_length()))
        decay = mpfr(eta.decay, eta.decay.numerator.bit_length())
    with gmpy2.context(precision=precision, **widest) as arithmetic:
        arithmetic.add(heaviest, 0)
        weight = mpfr(1)
        for _ in range(spread + 1):
            arithmetic.add(heaviest, weight)
            if arithmetic.inexact:
                return False
            weight = arithmetic.mul(weight, decay)
    return True


def _check(spread: int, outcomes: int) -> None:
    if spread < 0:
        raise ValueError(f"spread must be at least 0, not {spread}")
    if outcomes < 1:
        raise ValueError(f"outcomes must be at least 1, not {outcomes}")
