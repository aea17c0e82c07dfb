"""Upper bounds on δ(ε) of normal and discrete Gaussian noise, and the σ that a given δ needs.

For noise with a symmetric log-concave law g, the worst event of a shift m > 0 is g(x − m) ≥ e^ε·g(x) (Neyman and
Pearson). It is a half line, as the ratio grows with x; and for a fixed half line the largest shift d is the worst. For
both Gaussians the half line begins at εσ²/d + d/2, so that

    δ(ε) = P[X > εσ²/d − d/2] − e^ε·P[X > εσ²/d + d/2],

X normal or discrete Gaussian (an integer where the ratio equals e^ε adds nothing). Rounded normal noise has no larger
δ(ε) than normal noise, as it postprocesses the normal mechanism.

Sources: Balle and Wang 2018, theorem 8; Canonne, Kamath and Steinke 2020, theorem 7.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gmpy2 import mpq

from mechanisms.core.gaussian_tails import Enclosure, exponential, normal_tail
from mechanisms.core.numbers import positive, rational
from mechanisms.core.rounding import fraction, rounding

_PRECISIONS = (96, 192, 384, 768)
_TIGHT = 60
LEAST_DELTA = Fraction(1, 2**1100)  # a smaller one would have more digits as a rational
_HALVINGS = 54  # of [σ, 2σ], which reach neighbouring doubles

Exceeding = Callable[[mpq, int], Enclosure]


def normal_delta(epsilon: Fraction, *, variance: Fraction, shift: Fraction = Fraction(1)) -> Fraction:
    """Return an upper bound on δ(ε) of normal noise for a shift ≥ 0, within a factor of 1 + 2^−60, or within 2^−750."""
    return delta_beyond(lambda x, bits: normal_tail(x, mpq(variance), bits), epsilon, variance, shift)


def delta_beyond(exceeding: Exceeding, epsilon: Fraction, variance: Fraction, shift: Fraction) -> Fraction:
    """Return an upper bound on δ(ε), where `exceeding(x, precision)` returns an enclosure of P[X > x]."""
    exact = mpq(rational("epsilon", epsilon))
    if exact < 0 or shift < 0:
        raise ValueError(f"epsilon and the shift must be at least 0, not {epsilon} and {shift}")
    if not shift:
        return Fraction(0)
    centre, half = exact * mpq(variance) / mpq(shift), mpq(shift) / 2
    for precision in _PRECISIONS:
        near, far = exceeding(centre - half, precision), exceeding(centre + half, precision)
        growth = exponential(exact, precision)
        down, up = rounding(precision)
        lower = down.sub(near.lower, up.mul(growth.upper, far.upper))
        upper = up.sub(near.upper, down.mul(growth.lower, far.lower))
        if up.sub(upper, lower) <= down.div_2exp(upper, _TIGHT):
            break
    return min(fraction(max(upper, mpq(LEAST_DELTA))), Fraction(1))


def least_sigma(epsilon: Fraction, delta: Fraction, *, shift: Fraction = Fraction(1)) -> float:
    """Return a σ that makes normal noise (ε, δ)-DP for a shift; its relative excess over the least σ is below 2^−50.

    Source: Balle and Wang 2018, algorithm 1 (the analytic Gaussian mechanism).
    """
    positive("epsilon", epsilon)
    if not LEAST_DELTA <= positive("delta", delta) < 1:
        raise ValueError("delta must lie in [2^-1100, 1), as a smaller one is not bounded")

    def is_enough(sigma: float) -> bool:
        return normal_delta(epsilon, variance=Fraction(sigma) ** 2, shift=shift) <= delta

    low, high = float(positive("shift", shift)) / 2, float(shift)
    while not is_enough(high):
        low, high = high, 2 * high
    while is_enough(low):
        low, high = low / 2, low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
