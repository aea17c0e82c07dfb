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

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath

Formula = Callable[..., float]

PRECISION = 2400
"""Bits: more than cancel at the most adversarial arguments."""

# --- naive -----------------------------------------------------------------------------------------------------------


def naive_gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The classical σ, which is meant for ε < 1 (Dwork and Roth 2014, theorem 3.22)."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def naive_gaussian_delta(epsilon: float, sigma: float, sensitivity: float) -> float:
    """The exact formula, as a difference of doubles."""
    half, shift = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return _normal_tail(shift - half) - math.exp(epsilon) * _normal_tail(shift + half)


def naive_gaussian_epsilon(delta: float, sigma: float, sensitivity: float) -> float:
    """Bisection on that difference."""
    return _bisected(lambda epsilon: naive_gaussian_delta(epsilon, sigma, sensitivity) <= delta, 0.0, 700.0)


def naive_gaussian_composed_epsilon(delta: float, sigma: float, sensitivity: float, releases: int) -> float:
    """Bisection on that difference at σ/√m."""
    return naive_gaussian_epsilon(delta, sigma / math.sqrt(releases), sensitivity)


def naive_gaussian_rho(sigma: float, sensitivity: float) -> float:
    """Δ²/2σ², rounded to nearest three times."""
    return (sensitivity / sigma) ** 2 / 2


def naive_laplace_epsilon(scale: float, sensitivity: float) -> float:
    """Δ/s, rounded to nearest."""
    return sensitivity / scale


def naive_laplace_scale(epsilon: float, sensitivity: float) -> float:
    """Δ/ε, rounded to nearest."""
    return sensitivity / epsilon


def naive_zcdp_delta(rho: float, epsilon: float) -> float:
    """The bound at the best order, with every step rounded to nearest."""
    low, high = 0.0, (epsilon + 1) / (2 * rho) + 1
    for _ in range(200):
        order = (low + high) / 2
        is_below = (2 * order + 1) * rho - epsilon < math.log1p(1 / order)
        low, high = (order, high) if is_below else (low, order)
    exponent = order * ((order + 1) * rho - epsilon) - (order + 1) * math.log1p(1 / order)
    return math.exp(exponent) / order if exponent < math.log(order) else 1.0


def naive_zcdp_epsilon(rho: float, delta: float) -> float:
    """Bisection on that bound, which ends after forty halvings in the middle of what is left."""
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if naive_zcdp_delta(rho, middle) <= delta else (middle, high)
    return (low + high) / 2


def naive_laplace_tail(scale: float, tail: float) -> float:
    """e^(−t/s)/2 with an exponent that is rounded away from 0, the way that makes a tail smaller."""
    return math.exp(-math.nextafter(tail / scale, math.inf)) / 2


def naive_gaussian_tail(scale: float, tail: float) -> float:
    """The tail at a t/s that is rounded up, the way that makes it smaller."""
    return _normal_tail(math.nextafter(tail / scale, math.inf))


def naive_discrete_laplace_tail(scale: float, tail: int) -> float:
    """The same exponent over e^(1/s) + 1."""
    try:
        return math.exp(-math.nextafter(tail / scale, math.inf)) / (math.exp(1 / scale) + 1)
    except OverflowError:
        raise ValueError("a scale so small overflows") from None


def naive_discrete_gaussian_tail(scale: float, tail: int) -> float:
    """A sum of doubles over a sum of doubles."""
    terms = [math.exp(-(x * x) / (2 * scale * scale)) for x in range(int(40 * scale) + tail + 2)]
    return math.fsum(terms[tail + 1 :]) / (2 * math.fsum(terms) - 1)


def naive_laplace_threshold_delta(scale: float, threshold: int, keys: int) -> float:
    """P[1 + X > T], where a count that reaches T is released: the mass at the threshold is missing."""
    return keys * naive_discrete_laplace_tail(scale, threshold - 1)


def naive_gaussian_threshold_delta(scale: float, threshold: int, keys: int) -> float:
    """The same for discrete Gaussian noise."""
    return keys * naive_discrete_gaussian_tail(scale, threshold - 1)


def naive_laplace_threshold(scale: float, delta: float, keys: int) -> float:
    """The least threshold by that δ."""
    return _first(lambda threshold: naive_laplace_threshold_delta(scale, threshold, keys) <= delta)


def naive_gaussian_threshold(scale: float, delta: float, keys: int) -> float:
    """The least threshold by that δ."""
    return _first(lambda threshold: naive_gaussian_threshold_delta(scale, threshold, keys) <= delta)


def naive_budget_total(parts: Sequence[float]) -> float:
    """The sum in floats."""
    spent = 0.0
    for part in parts:
        spent += part
    return spent


def naive_budget_share(total: float, releases: int) -> float:
    """The quotient, rounded to nearest: m of them may exceed the total."""
    return total / releases


def naive_budget_remaining(total: float, parts: Sequence[float]) -> float:
    """What is left by subtracting floats: what is too small to change the total costs nothing."""
    for part in parts:
        total -= part
    return total


def naive_composed_delta(delta: float, releases: int) -> float:
    """1 − (1 − δ)^m in doubles, which is 0 for a δ below 2^−54."""
    return 1 - (1 - delta) ** releases


def naive_composed_epsilon(epsilon: float, releases: int, delta: float) -> float:
    """Advanced composition without its second term."""
    if delta == 0:
        return releases * epsilon
    return min(releases * epsilon, math.sqrt(2 * releases * math.log(1 / delta)) * epsilon)


# --- sound -----------------------------------------------------------------------------------------------------------


def sound_gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The least double whose δ by mpmath is enough."""
    return _least_double(lambda sigma: _gaussian_delta(epsilon, sensitivity / mpmath.mpf(sigma)) <= delta, delta)


def sound_gaussian_delta(epsilon: float, sigma: float, sensitivity: float) -> float:
    """The exact formula, rounded up once."""
    with mpmath.workprec(PRECISION):
        return rounded_up(_gaussian_delta(epsilon, sensitivity / mpmath.mpf(sigma)))


def sound_gaussian_epsilon(delta: float, sigma: float, sensitivity: float) -> float:
    """The least double whose δ by mpmath is enough."""
    return sound_gaussian_composed_epsilon(delta, sigma, sensitivity, 1)


def sound_gaussian_composed_epsilon(delta: float, sigma: float, sensitivity: float, releases: int) -> float:
    """The least double whose δ by mpmath is enough, at σ/√m."""

    def is_enough(epsilon: float) -> bool:
        signal = mpmath.sqrt(releases) * sensitivity / mpmath.mpf(sigma)
        return bool(_gaussian_delta(epsilon, signal) <= delta)

    return _least_double(is_enough, delta)


def sound_gaussian_rho(sigma: float, sensitivity: float) -> float:
    """Δ²/2σ², rounded up once."""
    return rounded_up((Fraction(sensitivity) / Fraction(sigma)) ** 2 / 2)


def sound_laplace_epsilon(scale: float, sensitivity: float) -> float:
    """Δ/s, rounded up."""
    return rounded_up(Fraction(sensitivity) / Fraction(scale))


def sound_laplace_scale(epsilon: float, sensitivity: float) -> float:
    """Δ/ε, rounded up."""
    return rounded_up(Fraction(sensitivity) / Fraction(epsilon))


def sound_zcdp_delta(rho: float, epsilon: float) -> float:
    """The bound at the best order by mpmath, rounded up once."""
    with mpmath.workprec(PRECISION):
        return rounded_up(_zcdp_delta(mpmath.mpf(rho), mpmath.mpf(epsilon)))


def sound_zcdp_epsilon(rho: float, delta: float) -> float:
    """The least double at which that bound is enough."""
    return _least_double(lambda epsilon: _zcdp_delta(mpmath.mpf(rho), mpmath.mpf(epsilon)) <= delta, 1.0)


def sound_laplace_tail(scale: float, tail: float) -> float:
    """e^(−t/s)/2, rounded up once."""
    with mpmath.workprec(PRECISION):
        return rounded_up(mpmath.exp(-mpmath.mpf(tail) / scale) / 2)


def sound_gaussian_tail(scale: float, tail: float) -> float:
    """The tail, rounded up once."""
    with mpmath.workprec(PRECISION):
        return rounded_up(mpmath.erfc(mpmath.mpf(tail) / scale / mpmath.sqrt(2)) / 2)


def sound_discrete_laplace_tail(scale: float, tail: int) -> float:
    """The tail, rounded up once."""
    with mpmath.workprec(PRECISION):
        return rounded_up(_discrete_laplace_tail(scale, tail))


def sound_discrete_gaussian_tail(scale: float, tail: int) -> float:
    """The continuous tail from t on, which is larger (Canonne, Kamath and Steinke 2020, proposition 25)."""
    return sound_gaussian_tail(scale, tail)


def sound_laplace_threshold_delta(scale: float, threshold: int, keys: int) -> float:
    """1 − (1 − P[1 + X ≥ T])^m, rounded up once."""
    with mpmath.workprec(PRECISION):
        return rounded_up(_any_of(_discrete_laplace_tail(scale, threshold - 2), keys))


def sound_gaussian_threshold_delta(scale: float, threshold: int, keys: int) -> float:
    """1 − (1 − p)^m for the continuous tail, which is larger."""
    with mpmath.workprec(PRECISION):
        tail = mpmath.erfc(mpmath.mpf(threshold - 2) / scale / mpmath.sqrt(2)) / 2
        return rounded_up(_any_of(tail, keys))


def sound_laplace_threshold(scale: float, delta: float, keys: int) -> float:
    """The least threshold by that δ."""
    return _first(lambda threshold: sound_laplace_threshold_delta(scale, threshold, keys) <= delta)


def sound_gaussian_threshold(scale: float, delta: float, keys: int) -> float:
    """The least threshold by that δ."""
    return _first(lambda threshold: sound_gaussian_threshold_delta(scale, threshold, keys) <= delta)


def sound_budget_total(parts: Sequence[float]) -> float:
    """The exact sum, rounded up once."""
    return rounded_up(sum(map(Fraction, parts), Fraction(0)))


def sound_budget_share(total: float, releases: int) -> float:
    """The exact quotient, rounded down once."""
    return -rounded_up(-Fraction(total) / releases)


def sound_budget_remaining(total: float, parts: Sequence[float]) -> float:
    """The exact difference, rounded down once."""
    return -rounded_up(sum(map(Fraction, parts), Fraction(0)) - Fraction(total))


def sound_composed_delta(delta: float, releases: int) -> float:
    """m·δ, rounded up."""
    return rounded_up(Fraction(delta) * releases)


def sound_composed_epsilon(epsilon: float, releases: int, delta: float) -> float:
    """Basic or advanced composition, whichever is less, rounded up once."""
    with mpmath.workprec(PRECISION):
        basic = mpmath.mpf(epsilon) * releases
        if delta == 0:
            return rounded_up(basic)
        spread = mpmath.sqrt(2 * releases * mpmath.log(1 / mpmath.mpf(delta))) * epsilon
        return rounded_up(min(basic, spread + basic * mpmath.expm1(epsilon)))


def rounded_up(number: Any) -> float:
    """The least double that is at least an mpmath or rational number."""
    nearest = float(number)
    is_below = Fraction(nearest) < number if isinstance(number, Fraction) else mpmath.mpf(nearest) < number
    return math.nextafter(nearest, math.inf) if is_below else nearest


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


_QUANTITIES = tuple(name.removeprefix("naive_") for name in list(globals()) if name.startswith("naive_"))
NAIVE: dict[str, Formula] = {name: globals()[f"naive_{name}"] for name in _QUANTITIES}
SOUND: dict[str, Formula] = {name: globals()[f"sound_{name}"] for name in _QUANTITIES}
