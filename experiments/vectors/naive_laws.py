"""The laws of textbook implementations, defined so that they are the same on every machine.

Each draws one uniform number k·2^−53, k in [0, 2^53), and rounds every operation to nearest in one format; exponentials
and logarithms are correctly rounded too. Libraries whose exponential is off by a last place differ by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import gmpy2
from gmpy2 import mpq

from attacklab.laws import Bounds, exp_bounds
from attacklab.model.floats import Format

WORD = 1 << 53


def context_of(format_: Format, mode: int = gmpy2.RoundToNearest) -> gmpy2.context:
    """The context in which MPFR computes as the format does."""
    return gmpy2.context(
        precision=format_.significand_bits,
        emin=format_.least_exponent - format_.significand_bits + 2,
        emax=format_.greatest_exponent + 1,
        subnormalize=True,
        round=mode,
    )


def selection(utilities: Sequence[int], rate: Fraction, format_: Format) -> list[Fraction]:
    """Cumulative sums of e^(rate·(u − max u)) over their total, compared with the uniform number.

    Returns:
        The probability of each outcome.
    """
    best = max(utilities)
    with context_of(format_):
        sums = [gmpy2.mpfr(0)]
        for utility in utilities:
            sums.append(sums[-1] + gmpy2.exp(gmpy2.mpfr(mpq(rate * (utility - best)))))
        shares = [mpq(total / sums[-1]) for total in sums]
    reached = [int(-(-share * WORD // 1)) for share in shares]
    return [Fraction(high - low, WORD) for low, high in pairwise(reached)]


def response(epsilon: Fraction, format_: Format) -> Fraction:
    """The probability of the truth: the uniform number is below e^ε/(1 + e^ε) as rounded."""
    with context_of(format_):
        weight = gmpy2.exp(gmpy2.mpfr(mpq(epsilon)))
        keep = mpq(weight / (1 + weight))
    return Fraction(int(-(-keep * WORD // 1)), WORD)


def largest_noise(scale: Fraction) -> int:
    """The largest integer that ⌊−scale·ln(1 − u)⌋ can be: ⌊53·scale·ln 2⌋."""
    with gmpy2.context(precision=200):
        return int(gmpy2.floor(53 * mpq(scale) * gmpy2.const_log2()))


def tail_of_noise(least: int, scale: Fraction) -> Fraction:
    """P[±⌊−scale·ln(1 − u)⌋ ≥ least] for a fair sign and least > 0: the k with k·2^−53 ≤ e^(−least/scale), halved."""
    lower, upper = exp_bounds(-least / scale)
    (count,) = {int(end * WORD // 1) for end in (lower, upper)}
    return Fraction(count, 2 * WORD)


def laplace_tail(distance: Fraction) -> Bounds:
    """P[X ≥ distance] of ideal Laplace noise of scale 1."""
    lower, upper = exp_bounds(-abs(distance))
    return Bounds(lower / 2, upper / 2) if distance >= 0 else Bounds(1 - upper / 2, 1 - lower / 2)
