"""How many bits the base-2 exponential mechanism needs so that every sum of weights is exact.

The bound follows from public parameters alone: the number of outcomes and the range of their utilities. A precision
found on the database's own utilities would leak through its cost; one that ignores the number of outcomes or the least
utility is too small, and outcomes get probability 0.

Source: Ilvento 2020, section 3.2, Lemma 3.4. Where we differ: the lemma counts z·(y + bits of x) for every unit of the
range; reduced to an odd numerator, 2^−η needs y·z and no more.
"""

from __future__ import annotations

from mechanisms.exponential.base2.eta import BaseTwoEta


def worst_case_precision(eta: BaseTwoEta, spread: int, outcomes: int) -> int:
    """Bound the significant bits of any sum of at most `outcomes` weights 2^(−η·k), 0 ≤ k ≤ spread.

    Every weight is a multiple of 2^−q, q = `finest_bit(eta, spread)`. A sum of n weights is n itself, when all
    of them are 1, or else it is below n: at most the bits of n − 1 before the point and q behind it. The bound
    is reached by n − 1 weights of 1 and one of 2^(−η·spread), so for n > 1 and spread > 0 no lower one is right.
    """
    _check(spread, outcomes)
    return max(1, finest_bit(eta, spread) + (outcomes - 1).bit_length())


def finest_bit(eta: BaseTwoEta, spread: int) -> int:
    """Find the least q ≥ 0 for which all weights 2^(−η·k), 0 ≤ k ≤ spread, are multiples of 2^−q."""
    return (eta.decay.denominator.bit_length() - 1) * spread


def _check(spread: int, outcomes: int) -> None:
    if spread < 0:
        raise ValueError(f"spread must be at least 0, not {spread}")
    if outcomes < 1:
        raise ValueError(f"outcomes must be at least 1, not {outcomes}")
