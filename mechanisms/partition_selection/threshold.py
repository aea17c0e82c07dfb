"""The threshold of an exact histogram: the least at which one person's own key is named with probability δ at most.

With integer noise N, P[N = n] ∝ e^(−ε|n|), a count of 1 reaches T ≥ 2 with probability

    P[1 + N ≥ T] = e^(−ε(T − 1))/(1 + e^(−ε)).

The comparison with δ is made between rational bounds of e^(−ε), narrowed until they agree. They do in the end: by
Lindemann's and Weierstrass's theorem e^(−ε(T − 1)) = δ + δ·e^(−ε) for no rational ε > 0 and δ > 0, unless T = 2 and
e^(−ε) = δ/(1 − δ), which is no rational number either.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import gmpy2
from gmpy2 import mpfr, mpq

from mechanisms.parameters import positive_rational
from mechanisms.rounding import rounding

_FIRST_PRECISION = 64


def least_threshold(epsilon: float | Fraction, delta: float | Fraction) -> int:
    """Return the least integer T with P[1 + N ≥ T] ≤ δ.

    Args:
        epsilon: ε of the noise, above 0; a float stands for its exact value.
        delta: δ, above 0 and below 1/2, which makes T at least 2.

    Raises:
        TypeError: a parameter is not a number.
        ValueError: a parameter is out of its range, or T is above 2^61.
    """
    rate, most = positive_rational("epsilon", epsilon), positive_rational("delta", delta)
    if most >= Fraction(1, 2):
        raise ValueError(f"delta must be below 1/2, not {delta}")
    found = _least(rate, most)
    if found is None:
        raise ValueError(f"epsilon {epsilon} is too small for a threshold: it would be above 2^61")
    return found


@lru_cache(maxsize=256)
def _least(rate: Fraction, delta: Fraction) -> int | None:
    """Find the threshold by doubling and bisection; None if it is above 2^61."""
    high = 2
    while not _keeps(high, rate, delta):
        high = 2 * high
        if high > 1 << 61:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _keeps(middle, rate, delta) else (middle, high)
    return high


def _keeps(threshold: int, rate: Fraction, delta: Fraction) -> bool:
    """Whether a count of 1 reaches a threshold of at least 2 with probability δ at most."""
    precision = _FIRST_PRECISION
    while True:
        bounds = [_excess(threshold, rate, delta, precision, upward=upward) for upward in (False, True)]
        if bounds[0] > 0 or bounds[1] <= 0:
            return bool(bounds[1] <= 0)
        precision *= 2


def _excess(threshold: int, rate: Fraction, delta: Fraction, precision: int, *, upward: bool) -> mpq:
    """Bound e^(−ε(T − 1)) − δ − δ·e^(−ε) from one side."""
    reached = _exp_of_minus(rate * (threshold - 1), precision, upward=upward)
    other = _exp_of_minus(rate, precision, upward=not upward)
    return reached - mpq(delta) * (1 + other)


def _exp_of_minus(exponent: Fraction, precision: int, *, upward: bool) -> mpq:
    """Bound e^(−exponent) from one side, an exponent above 0."""
    down, up = rounding(precision)
    with down if upward else up:
        rounded = mpfr(mpq(exponent))
    with up if upward else down:
        return mpq(gmpy2.exp(-rounded))
