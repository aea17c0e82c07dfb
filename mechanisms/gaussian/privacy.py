"""The privacy of Gaussian noise: certified δ(ε) of the normal and of the discrete Gaussian, and calibration.

Both mechanisms add noise X to an answer that a neighbour moves by at most Δ. Log-concave symmetric noise leaks most
through an event [x, ∞) and at a move of all of Δ, and the likelihood ratio reaches e^ε at one point, which leaves

    δ(ε) = P[X > εσ²/Δ − Δ/2] − e^ε·P[X > εσ²/Δ + Δ/2].

For normal noise this is Balle and Wang 2018, 'Improving the Gaussian Mechanism for Differential Privacy', Theorem 8,
and for the discrete Gaussian Canonne, Kamath and Steinke 2020, Theorem 7. The two curves differ: at σ = Δ = ε = 1 the
normal one has δ = 0.127 and the discrete one 0.141, so that a sound implementation looks broken when it is judged by
the other's curve. Here each is enclosed by MPFR with directed rounding and the upper end is returned, so what is
returned is never too small, and at most a part in 2^50 too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

from mechanisms.certified import round_up
from mechanisms.gaussian.law import Enclosure, discrete_tail, normal_tail
from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.rounding import rounding

_PRECISIONS = (96, 192, 384, 768)
_SIGMA_STEPS = 54  # halvings of [σ, 2σ] that reach neighbouring doubles


def classical_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the textbook's noise scale Δ·√(2·ln(1.25/δ))/ε.

    Its proof (Dwork and Roth 2014, Theorem A.1) needs ε < 1, and for large ε (10 at δ = 10^−5) the formula adds too
    little noise.

    Args:
        epsilon: ε, in (0, 1).
        delta: δ, in (0, 1).
        sensitivity: Δ, positive.

    Returns:
        σ, in the unit of the sensitivity.

    Raises:
        ValueError: an argument is outside its range.
    """
    if not 0 < epsilon < 1:
        raise ValueError(
            f"epsilon must lie in (0, 1), where the classical formula is proved, not {epsilon}; "
            "gaussian_sigma takes any epsilon above 0"
        )
    _check_delta(delta)
    positive_rational("sensitivity", sensitivity)
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def gaussian_delta(epsilon: Fraction | float, *, sigma: Fraction | float, sensitivity: Fraction | float = 1) -> float:
    """Return a certified upper bound of δ(ε) of the Gaussian mechanism.

    Args:
        epsilon: ε ≥ 0; a float stands for the rational that it is, here and below.
        sigma: standard deviation of the noise, positive.
        sensitivity: Δ, positive, in the unit of sigma.

    Returns:
        The least double known to be at least δ(ε).

    Raises:
        ValueError: an argument is outside its range.
    """
    variance = positive_rational("sigma", sigma) ** 2
    return _delta(normal_tail, epsilon, variance, positive_rational("sensitivity", sensitivity))


def discrete_gaussian_delta(epsilon: Fraction | float, *, sigma: Fraction | float, sensitivity: int = 1) -> float:
    """Return a certified upper bound of δ(ε) of the discrete Gaussian mechanism on the integers.

    Args:
        epsilon: ε ≥ 0.
        sigma: the noise is N_Z(0, sigma²), positive.
        sensitivity: the most an integer answer moves, at least 1.

    Returns:
        The least double known to be at least δ(ε).

    Raises:
        ValueError: an argument is outside its range.
    """
    move = positive_rational("sensitivity", sensitivity)
    if move.denominator != 1:
        raise ValueError(f"sensitivity must be a whole number of at least 1, not {sensitivity}")

    def tail(threshold: mpq, variance: mpq, precision: int) -> Enclosure:
        return discrete_tail(math.floor(threshold) + 1, variance, precision)

    return _delta(tail, epsilon, positive_rational("sigma", sigma) ** 2, move)


def gaussian_rho(*, sigma: Fraction | float, sensitivity: Fraction | float = 1) -> float:
    """Return the least ρ for which Gaussian noise is ρ-zCDP, Δ²/2σ²: of the normal and of the discrete law alike.

    Discrete noise takes a whole number of steps for Δ, and σ in steps. README.md has the proof for both.

    Args:
        sigma: standard deviation of the noise, or the σ of N_Z(0, σ²), positive.
        sensitivity: Δ, positive, in the unit of sigma.

    Returns:
        ρ, rounded up; ρα is the least bound on the divergence of each order α (of discrete noise, where αΔ is whole).

    Raises:
        ValueError: an argument is outside its range.
    """
    ratio = positive_rational("sensitivity", sensitivity) / positive_rational("sigma", sigma)
    return round_up(ratio**2 / 2)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least noise scale for which the Gaussian mechanism is (ε, δ)-DP (the analytic Gaussian mechanism).

    Args:
        epsilon: ε, positive.
        delta: δ, in (0, 1).
        sensitivity: Δ, positive.

    Returns:
        A σ that `gaussian_delta` certifies, within a part in 2^50 of the least one.

    Raises:
        ValueError: an argument is outside its range.
    """
    positive_rational("epsilon", epsilon)
    positive_rational("sensitivity", sensitivity)
    _check_delta(delta)

    def is_enough(sigma: float) -> bool:
        return gaussian_delta(epsilon, sigma=sigma, sensitivity=sensitivity) <= delta

    too_small, enough = sensitivity / 2, sensitivity
    while not is_enough(enough):
        too_small, enough = enough, 2 * enough
    while is_enough(too_small):
        too_small, enough = too_small / 2, too_small
    for _ in range(_SIGMA_STEPS):
        middle = (too_small + enough) / 2
        if is_enough(middle):
            enough = middle
        else:
            too_small = middle
    return enough


def _delta(
    tail: Callable[[mpq, mpq, int], Enclosure], epsilon: Fraction | float, variance: Fraction, sensitivity: Fraction
) -> float:
    """Bound δ(ε) from above, with more and more bits until the bound is within a part in 2^60 of the truth."""
    exact_epsilon = mpq(exact_rational("epsilon", epsilon))
    if exact_epsilon < 0:
        raise ValueError(f"epsilon must be at least 0, not {epsilon}")
    variance, sensitivity = mpq(variance), mpq(sensitivity)
    centre = exact_epsilon * variance / sensitivity
    for precision in _PRECISIONS:
        nearer = tail(centre - sensitivity / 2, variance, precision)
        farther = tail(centre + sensitivity / 2, variance, precision)
        down, up = rounding(precision)
        with up:
            subtracted_most = gmpy2.exp(mpfr(exact_epsilon)) * farther.upper
        with down:
            lower = nearer.lower - subtracted_most
            subtracted_least = gmpy2.exp(mpfr(exact_epsilon)) * farther.lower
        with up:
            upper = nearer.upper - subtracted_least
            if upper - lower <= upper * mpfr(2) ** -60:
                break
    rounded = float(upper)
    return min(1.0, rounded if rounded >= upper else math.nextafter(rounded, math.inf))


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), not {delta}")
