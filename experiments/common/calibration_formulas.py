"""A naive and a sound formula for each quantity of calibration: the naive one falls to the unsafe side somewhere.

The naive ones have flaws that are publicly known of libraries and textbooks, in formulas of our own:

- the classical σ of the Gaussian mechanism above ε = 1 (Balle and Wang 2018, section 2.3);
- a conversion from ρ-zCDP whose δ falls short by rounding (https://github.com/opendp/opendp/pull/2820);
- tail bounds whose exponent is rounded the wrong way (https://github.com/opendp/opendp/pull/2802);
- a threshold's δ without the mass at the threshold (https://github.com/opendp/opendp/issues/2922);
- budgets in floats that add up past the total (https://github.com/w3c/attribution/issues/77);
- the δ of the Gaussian mechanism as a difference in doubles, in which everything may cancel;
- advanced composition without its second term (Dwork and Roth 2014, theorem 3.20 has both).

The sound ones are evaluated by mpmath with many digits, or by rational arithmetic, and rounded once, to the safe side:
most return the least double that is safe.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath

Formula = Callable[..., float]

PRECISION = 2400
"""Bits: more than cancel at the most adversarial arguments."""

# --- naive -----------------------------------------------------------------------------------------------------------


def _naive_gaussian_delta(epsilon: float, sigma: float, sensitivity: float) -> float:
    """The exact formula, as a difference of doubles."""
    half, shift = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return _normal_tail(shift - half) - math.exp(epsilon) * _normal_tail(shift + half)


def _naive_gaussian_epsilon(delta: float, sigma: float, sensitivity: float) -> float:
    """Bisection on that difference."""
    return _bisected(lambda epsilon: _naive_gaussian_delta(epsilon, sigma, sensitivity) <= delta, 0.0, 700.0)


def _naive_zcdp_delta(rho: float, epsilon: float) -> float:
    """The bound at the best order, with every step rounded to nearest."""
    low, high = 0.0, (epsilon + 1) / (2 * rho) + 1
    for _ in range(200):
        order = (low + high) / 2
        is_below = (2 * order + 1) * rho - epsilon < math.log1p(1 / order)
        low, high = (order, high) if is_below else (low, order)
    exponent = order * ((order + 1) * rho - epsilon) - (order + 1) * math.log1p(1 / order)
    return math.exp(exponent) / order if exponent < math.log(order) else 1.0


def _naive_zcdp_epsilon(rho: float, delta: float) -> float:
    """Bisection on that bound, which ends after forty halvings in the middle of what is left."""
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _naive_zcdp_delta(rho, middle) <= delta else (middle, high)
    return (low + high) / 2


def _naive_discrete_laplace_tail(scale: float, tail: int) -> float:
    """The same exponent over e^(1/s) + 1."""
    try:
        return math.exp(-math.nextafter(tail / scale, math.inf)) / (math.exp(1 / scale) + 1)
    except OverflowError:
        raise ValueError("a scale so small overflows") from None


def _naive_discrete_gaussian_tail(scale: float, tail: int) -> float:
    """A sum of doubles over a sum of doubles."""
    terms = [math.exp(-(x * x) / (2 * scale * scale)) for x in range(int(40 * scale) + tail + 2)]
    return math.fsum(terms[tail + 1 :]) / (2 * math.fsum(terms) - 1)


def _naive_composed_epsilon(epsilon: float, releases: int, delta: float) -> float:
    """Advanced composition without its second term."""
    if delta == 0:
        return releases * epsilon
    return min(releases * epsilon, math.sqrt(2 * releases * math.log(1 / delta)) * epsilon)


NAIVE: dict[str, Formula] = {
    # The classical σ, which is meant for ε < 1 (Dwork and Roth 2014, theorem 3.22).
    "gaussian_sigma": lambda epsilon, delta, sensitivity: sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon,
    "gaussian_delta": _naive_gaussian_delta,
    "gaussian_epsilon": _naive_gaussian_epsilon,
    "gaussian_composed_epsilon": lambda delta, sigma, sensitivity, releases: _naive_gaussian_epsilon(
        delta, sigma / math.sqrt(releases), sensitivity
    ),
    # Rounded to nearest three times, and once each.
    "gaussian_rho": lambda sigma, sensitivity: (sensitivity / sigma) ** 2 / 2,
    "laplace_epsilon": lambda scale, sensitivity: sensitivity / scale,
    "laplace_scale": lambda epsilon, sensitivity: sensitivity / epsilon,
    "zcdp_delta": _naive_zcdp_delta,
    "zcdp_epsilon": _naive_zcdp_epsilon,
    # The exponent is rounded away from 0, and t/s up: the ways that make a tail smaller.
    "laplace_tail": lambda scale, tail: math.exp(-math.nextafter(tail / scale, math.inf)) / 2,
    "gaussian_tail": lambda scale, tail: _normal_tail(math.nextafter(tail / scale, math.inf)),
    "discrete_laplace_tail": _naive_discrete_laplace_tail,
    "discrete_gaussian_tail": _naive_discrete_gaussian_tail,
    # P[1 + X > T], where a count that reaches T is released: the mass at the threshold is missing.
    "laplace_threshold_delta": lambda scale, threshold, keys: keys * _naive_discrete_laplace_tail(scale, threshold - 1),
    "gaussian_threshold_delta": lambda scale, threshold, keys: (
        keys * _naive_discrete_gaussian_tail(scale, threshold - 1)
    ),
    "laplace_threshold": lambda scale, delta, keys: _first(
        lambda threshold: NAIVE["laplace_threshold_delta"](scale, threshold, keys) <= delta
    ),
    "gaussian_threshold": lambda scale, delta, keys: _first(
        lambda threshold: NAIVE["gaussian_threshold_delta"](scale, threshold, keys) <= delta
    ),
    # Sums and differences in floats, and a quotient rounded to nearest: m of them may exceed the total.
    "budget_total": lambda parts: functools.reduce(operator.add, parts, 0.0),
    "budget_share": lambda total, releases: total / releases,
    "budget_remaining": lambda total, parts: functools.reduce(operator.sub, parts, total),
    # 0 for a δ below 2^−54.
    "composed_delta": lambda delta, releases: 1 - (1 - delta) ** releases,
    "composed_epsilon": _naive_composed_epsilon,
}
"""The formulas that fall to the unsafe side."""

# --- sound -----------------------------------------------------------------------------------------------------------


def rounded_up(number: Any) -> float:
    """The least double that is at least an mpmath or rational number."""
    nearest = float(number)
    is_below = Fraction(nearest) < number if isinstance(number, Fraction) else mpmath.mpf(nearest) < number
    return math.nextafter(nearest, math.inf) if is_below else nearest


def _precisely(formula: Callable[..., Any]) -> Formula:
    """A formula in mpmath's numbers of many digits, rounded up once."""

    def rounded(*arguments: Any, **named: Any) -> float:
        with mpmath.workprec(PRECISION):
            return rounded_up(formula(*arguments, **named))

    return rounded


def _sound_gaussian_epsilon(delta: float, sigma: float, sensitivity: float, releases: int) -> float:
    """The least double whose δ by mpmath is enough, at σ/√m."""

    def is_enough(epsilon: float) -> bool:
        signal = mpmath.sqrt(releases) * sensitivity / mpmath.mpf(sigma)
        return bool(_gaussian_delta(epsilon, signal) <= delta)

    return _least_double(is_enough, delta)


def _gaussian_tail(scale: float, tail: float) -> Any:
    return mpmath.erfc(mpmath.mpf(tail) / scale / mpmath.sqrt(2)) / 2


def _composed_epsilon(epsilon: float, releases: int, delta: float) -> Any:
    """Basic or advanced composition, whichever is less."""
    basic = mpmath.mpf(epsilon) * releases
    if delta == 0:
        return basic
    return min(
        basic, mpmath.sqrt(2 * releases * mpmath.log(1 / mpmath.mpf(delta))) * epsilon + basic * mpmath.expm1(epsilon)
    )


def _normal_tail(number: float) -> float:
    return math.erfc(number / math.sqrt(2)) / 2


def _gaussian_delta(epsilon: float, signal: Any) -> Any:
    half, shift, root = signal / 2, epsilon / signal, mpmath.sqrt(2)
    return (mpmath.erfc((shift - half) / root) - mpmath.exp(epsilon) * mpmath.erfc((shift + half) / root)) / 2


def _zcdp_delta(rho: Any, epsilon: Any) -> Any:
    """The bound at the order where its logarithm, which is convex, has slope 0; found by bisection."""
    with mpmath.workprec(200):
        low, high = mpmath.exp(-3 * rho - 1), (epsilon + 1) / (2 * rho) + 1
        for _ in range(150):
            order = mpmath.sqrt(low * high)
            is_below = (2 * order + 1) * rho - epsilon < mpmath.log1p(1 / order)
            low, high = (order, high) if is_below else (low, order)
    exponent = order * ((order + 1) * rho - epsilon) - (order + 1) * mpmath.log1p(1 / order)
    return min(mpmath.exp(exponent) / order, mpmath.mpf(1))


def _any_of(probability: Any, keys: int) -> Any:
    return -mpmath.expm1(keys * mpmath.log1p(-probability))


def _discrete_laplace_tail(scale: float, tail: int) -> Any:
    if tail < 0:
        return 1 - _discrete_laplace_tail(scale, -tail - 1)
    return mpmath.exp(-mpmath.mpf(tail) / scale) / (mpmath.exp(1 / mpmath.mpf(scale)) + 1)


def _bisected(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    if is_enough(low):
        return low
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _least_double(is_enough: Callable[[float], bool], delta: float) -> float:
    """The least double of at least 0 with a condition, by bisection on their order of magnitude first."""
    with mpmath.workprec(160 - math.frexp(delta)[1]):
        if is_enough(2.0**-1000):
            low, high = 0.0, 2.0**-1000
        else:
            lowest, highest = -1000, 1023
            while highest - lowest > 1:
                middle = (lowest + highest) // 2
                lowest, highest = (lowest, middle) if is_enough(2.0**middle) else (middle, highest)
            low, high = 2.0**lowest, 2.0**highest
        return _bisected(is_enough, low, high)


def _first(is_enough: Callable[[int], bool]) -> float:
    """The least threshold from 2 on with a condition that goes on to hold."""
    high = 2
    while not is_enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return float(2 if is_enough(2) else high)


SOUND: dict[str, Formula] = {
    # The least doubles whose δ by mpmath is enough.
    "gaussian_sigma": lambda epsilon, delta, sensitivity: _least_double(
        lambda sigma: _gaussian_delta(epsilon, sensitivity / mpmath.mpf(sigma)) <= delta, delta
    ),
    "gaussian_delta": _precisely(
        lambda epsilon, sigma, sensitivity: _gaussian_delta(epsilon, sensitivity / mpmath.mpf(sigma))
    ),
    "gaussian_epsilon": lambda delta, sigma, sensitivity: _sound_gaussian_epsilon(delta, sigma, sensitivity, 1),
    "gaussian_composed_epsilon": _sound_gaussian_epsilon,
    # Rational numbers, rounded up once.
    "gaussian_rho": lambda sigma, sensitivity: rounded_up((Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2),
    "laplace_epsilon": lambda scale, sensitivity: rounded_up(Fraction(sensitivity) / Fraction(scale)),
    "laplace_scale": lambda epsilon, sensitivity: rounded_up(Fraction(sensitivity) / Fraction(epsilon)),
    "zcdp_delta": _precisely(lambda rho, epsilon: _zcdp_delta(mpmath.mpf(rho), mpmath.mpf(epsilon))),
    "zcdp_epsilon": lambda rho, delta: _least_double(
        lambda epsilon: _zcdp_delta(mpmath.mpf(rho), mpmath.mpf(epsilon)) <= delta, 1.0
    ),
    "laplace_tail": _precisely(lambda scale, tail: mpmath.exp(-mpmath.mpf(tail) / scale) / 2),
    "gaussian_tail": _precisely(_gaussian_tail),
    "discrete_laplace_tail": _precisely(_discrete_laplace_tail),
    # The continuous tail from t on, which is larger (Canonne, Kamath and Steinke 2020, proposition 25).
    "discrete_gaussian_tail": _precisely(_gaussian_tail),
    # 1 − (1 − P[1 + X ≥ T])^m.
    "laplace_threshold_delta": _precisely(
        lambda scale, threshold, keys: _any_of(_discrete_laplace_tail(scale, threshold - 2), keys)
    ),
    "gaussian_threshold_delta": _precisely(
        lambda scale, threshold, keys: _any_of(_gaussian_tail(scale, threshold - 2), keys)
    ),
    "laplace_threshold": lambda scale, delta, keys: _first(
        lambda threshold: SOUND["laplace_threshold_delta"](scale, threshold, keys) <= delta
    ),
    "gaussian_threshold": lambda scale, delta, keys: _first(
        lambda threshold: SOUND["gaussian_threshold_delta"](scale, threshold, keys) <= delta
    ),
    # Rational numbers again; what may be spent is rounded down.
    "budget_total": lambda parts: rounded_up(sum(map(Fraction, parts), Fraction(0))),
    "budget_share": lambda total, releases: -rounded_up(-Fraction(total) / releases),
    "budget_remaining": lambda total, parts: -rounded_up(sum(map(Fraction, parts), Fraction(0)) - Fraction(total)),
    "composed_delta": lambda delta, releases: rounded_up(Fraction(delta) * releases),
    "composed_epsilon": _precisely(_composed_epsilon),
}
"""The formulas that hold, by the same names."""
