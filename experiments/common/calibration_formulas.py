"""A naive and a sound formula for each quantity of calibration: the naive one falls to the unsafe side somewhere.

Most pairs are one formula: the naive one computes it in doubles, the sound one in numbers of many digits that are
rounded once, to the safe side. The other naive ones have flaws that are publicly known of libraries and textbooks:

- the classical σ of the Gaussian mechanism above ε = 1 (Balle and Wang 2018, section 2.3);
- tail bounds whose exponent is rounded the wrong way (https://github.com/opendp/opendp/pull/2802);
- a threshold's δ without the mass at the threshold (https://github.com/opendp/opendp/issues/2922);
- advanced composition without its second term (Dwork and Roth 2014, theorem 3.20 has both);
- k·δ for a group of k, and the normal law for a few steps on samples, which only many tend to.
"""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import numpy as np
from scipy import special, stats

from attacklab.calibration import Unsafe, quantity
from attacklab.model.bisection import least

Formula = Callable[..., Any]

PRECISION = 2400
"""The bits in which sound formulas compute, more than cancel at the most adversarial arguments."""

# Each takes the module that computes it, math or mpmath.


def _gaussian_delta(module: Any, epsilon: Any, signal: Any) -> Any:
    half, shift, root = signal / 2, epsilon / signal, module.sqrt(2)
    return (module.erfc((shift - half) / root) - module.exp(epsilon) * module.erfc((shift + half) / root)) / 2


def _gaussian_epsilon(module: Any, delta: Any, sigma: Any, sensitivity: Any, releases: int = 1) -> float:
    signal, most = module.sqrt(releases) * sensitivity / sigma, 700.0 if module is math else 1e300
    return _least_double(lambda epsilon: _gaussian_delta(module, epsilon, signal) <= delta, float(delta), most)


def _zcdp_delta(module: Any, rho: Any, epsilon: Any) -> Any:
    """Return the bound on δ at its best order, where its convex logarithm has slope 0; found by bisection."""
    with mpmath.workprec(200):
        low, high = module.exp(-3 * rho - 1), (epsilon + 1) / (2 * rho) + 1
        for _ in range(150):
            order = module.sqrt(low * high)
            is_below = (2 * order + 1) * rho - epsilon < module.log1p(1 / order)
            low, high = (order, high) if is_below else (low, order)
    exponent = order * ((order + 1) * rho - epsilon) - (order + 1) * module.log1p(1 / order)
    return min(module.exp(exponent) / order, 1) if exponent < 700 else 1.0


def _laplace_tail(module: Any, scale: Any, tail: Any) -> Any:
    return module.exp(-tail / scale) / 2


def _gaussian_tail(module: Any, scale: Any, tail: Any) -> Any:
    return module.erfc(tail / scale / module.sqrt(2)) / 2


def _discrete_laplace_tail(module: Any, scale: Any, tail: Any) -> Any:
    return module.exp(-tail / scale) / (module.exp(1 / scale) + 1)


def _composed_epsilon(module: Any, epsilon: Any, releases: int, delta: Any, second_term: int = 1) -> Any:
    """Return the smaller ε of basic and advanced composition."""
    basic = releases * epsilon
    if delta == 0:
        return basic
    advanced = module.sqrt(2 * releases * module.log(1 / delta)) * epsilon
    return min(basic, advanced + second_term * basic * module.expm1(epsilon))


# Where the two are not one formula


def _naive_zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the middle of the interval that is left after 40 bisections; it may be too small."""
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _zcdp_delta(math, rho, middle) <= delta else (middle, high)
    return (low + high) / 2


def _naive_discrete_gaussian_tail(scale: float, tail: int) -> float:
    """Return P[X > tail] as a quotient of two sums of doubles."""
    terms = [math.exp(-(x * x) / (2 * scale * scale)) for x in range(int(40 * scale) + tail + 2)]
    return math.fsum(terms[tail + 1 :]) / (2 * math.fsum(terms) - 1)


def _by_central_limit(sigma: float, rate: float, steps: int, delta: float) -> float:
    """Return the ε of the normal limit of many steps (Dong, Roth and Su 2022). The ε of few steps is larger."""
    mu = rate * math.sqrt(steps * math.expm1(1 / sigma**2))
    return _gaussian_epsilon(math, delta, 1 / mu, 1.0)


def _by_orders(sigma: float, rate: float, steps: int, delta: float) -> float:
    """Return ε by RDP at whole orders (Mironov, Talwar and Zhang 2019), converted as by Canonne and others 2020."""

    def spent(order: int) -> float:
        i = np.arange(order + 1)
        with np.errstate(divide="ignore"):
            terms = special.gammaln(order + 1) - special.gammaln(i + 1) - special.gammaln(order - i + 1)
            terms += special.xlogy(order - i, 1 - rate) + special.xlogy(i, rate) + (i**2 - i) / (2 * sigma**2)
        moments = steps * float(special.logsumexp(terms)) / (order - 1)
        return moments + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)

    return max(0.0, min(spent(order) for order in range(2, 200)))


def _least_double(is_enough: Callable[[float], bool], delta: float, most: float = 1e300) -> float:
    """Return the least double ≥ 0 that is enough, or `most`. The working precision grows as `delta` falls."""
    number = struct.Struct("<d")
    with mpmath.workprec(160 - math.frexp(delta)[1]):
        if is_enough(0.0):
            return 0.0
        highest = int.from_bytes(number.pack(most), "little")
        place = least(lambda place: is_enough(*number.unpack(place.to_bytes(8, "little"))), 0, highest)
    return float(*number.unpack(place.to_bytes(8, "little")))


def _sound(name: str, formula: Formula) -> Formula:
    """Return the formula computed by mpmath in `PRECISION` bits, and rounded once, to the safe side."""
    safe = math.inf if quantity(name).unsafe is Unsafe.TOO_SMALL else -math.inf

    def rounded(**arguments: Any) -> float:
        with mpmath.workprec(PRECISION):
            number = formula(mpmath, **{argument: _many_digits(value) for argument, value in arguments.items()})
            nearest = float(number)
            is_unsafe = nearest < number if safe > 0 else nearest > number
            return math.nextafter(nearest, safe) if is_unsafe else nearest

    return rounded


def _many_digits(value: Any) -> Any:
    if isinstance(value, tuple):
        return [mpmath.mpf(part) for part in value]
    return mpmath.mpf(value) if isinstance(value, float) else value


def _selection_delta(module: Any, epsilon: Any, sigma: Any, threshold: Any, l0: int) -> Any:
    """Return the δ of the noise plus a union bound on the probability that a new key exceeds the threshold."""
    return _gaussian_delta(module, epsilon, module.sqrt(l0) / sigma) + l0 * _gaussian_tail(module, sigma, threshold - 1)


def _threshold_gaussian(epsilon: float, delta: float, l0: int, keys: int, margin: float = 0.0) -> float:
    """Return a threshold, with half of δ for the noise and half for `keys` new keys; `margin` is relative."""
    sigma = SOUND["gaussian_sigma"](epsilon=epsilon, delta=delta / 2, sensitivity=math.sqrt(l0) * (1 + margin))
    return float(1 + sigma * stats.norm.isf(delta / 2 / keys) * (1 + margin))


def _any_of(probability: Any, keys: int) -> Any:
    return -mpmath.expm1(keys * mpmath.log1p(-probability))


BOTH: dict[str, Formula] = {
    # A difference in which everything may cancel, and bisection on it.
    "gaussian_delta": lambda module, epsilon, sigma, sensitivity: _gaussian_delta(module, epsilon, sensitivity / sigma),
    "gaussian_epsilon": _gaussian_epsilon,
    "gaussian_composed_epsilon": _gaussian_epsilon,
    "laplace_epsilon": lambda _, scale, sensitivity: sensitivity / scale,
    "laplace_scale": lambda _, epsilon, sensitivity: sensitivity / epsilon,
    # In doubles, δ falls short by rounding (https://github.com/opendp/opendp/pull/2820).
    "zcdp_delta": _zcdp_delta,
    # In doubles, budgets add up past the total (https://github.com/w3c/attribution/issues/77).
    "budget_total": lambda _, parts: functools.reduce(operator.add, parts, 0.0),
    "budget_share": lambda _, total, releases: total / releases,
    "budget_remaining": lambda _, total, parts: functools.reduce(operator.sub, parts, total),
}

NAIVE: dict[str, Formula] = {name: partial(formula, math) for name, formula in BOTH.items()} | {
    "gaussian_sigma": lambda epsilon, delta, sensitivity: sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon,
    "zcdp_epsilon": _naive_zcdp_epsilon,
    # α where α − 1 should be.
    "rdp_epsilon": lambda alpha, rdp, delta: max(0.0, rdp + math.log1p(-1 / alpha) - math.log(alpha * delta) / alpha),
    # The exponent is rounded away from 0, the way that makes a tail smaller.
    "laplace_tail": lambda scale, tail: _laplace_tail(math, 1.0, math.nextafter(tail / scale, math.inf)),
    "gaussian_tail": lambda scale, tail: _gaussian_tail(math, 1.0, math.nextafter(tail / scale, math.inf)),
    "discrete_laplace_tail": lambda scale, tail: _discrete_laplace_tail(math, scale, math.nextafter(tail, math.inf)),
    "discrete_gaussian_tail": _naive_discrete_gaussian_tail,
    # P[1 + X > T], where a count that reaches T is released.
    "laplace_threshold_delta": lambda scale, threshold, keys: (
        keys * _discrete_laplace_tail(math, scale, math.nextafter(threshold - 1, math.inf))
    ),
    "gaussian_threshold_delta": lambda scale, threshold, keys: (
        keys * _naive_discrete_gaussian_tail(scale, threshold - 1)
    ),
    # The larger one of two costs that are paid both; a threshold for one key.
    "selection_delta": lambda epsilon, sigma, threshold, l0: max(
        _gaussian_delta(math, epsilon, math.sqrt(l0) / sigma), l0 * _gaussian_tail(math, sigma, threshold - 1)
    ),
    "threshold_laplace": lambda epsilon, delta, l0: 1 - l0 / epsilon * math.log(2 * delta),
    "threshold_gaussian": lambda epsilon, delta, l0: _threshold_gaussian(epsilon, delta, l0, 1),
    # 0 for a δ below 2^−54.
    "composed_delta": lambda delta, releases: 1 - (1 - delta) ** releases,
    "composed_epsilon": partial(_composed_epsilon, math, second_term=0),
    "group_delta": lambda epsilon, delta, size: min(1.0, size * delta),  # noqa: ARG005 - as many write it
    "sampled_gaussian_epsilon": _by_central_limit,
}
"""For each quantity, a formula that falls to the unsafe side for some arguments."""

_SOUND: dict[str, Formula] = BOTH | {
    "gaussian_sigma": lambda _, epsilon, delta, sensitivity: _least_double(
        lambda sigma: sigma > 0 and _gaussian_delta(mpmath, epsilon, sensitivity / sigma) <= delta, float(delta)
    ),
    "zcdp_epsilon": lambda _, rho, delta: _least_double(
        lambda epsilon: _zcdp_delta(mpmath, rho, mpmath.mpf(epsilon)) <= delta, 1.0
    ),
    # Mironov 2017, proposition 3.
    "rdp_epsilon": lambda module, alpha, rdp, delta: rdp - module.log(delta) / (alpha - 1),
    "laplace_tail": _laplace_tail,
    "gaussian_tail": _gaussian_tail,
    "discrete_laplace_tail": _discrete_laplace_tail,
    # The continuous tail from t on, which is larger (Canonne, Kamath and Steinke 2020, proposition 25).
    "discrete_gaussian_tail": _gaussian_tail,
    "laplace_threshold_delta": lambda module, scale, threshold, keys: _any_of(
        _discrete_laplace_tail(module, scale, threshold - 2), keys
    ),
    "gaussian_threshold_delta": lambda module, scale, threshold, keys: _any_of(
        _gaussian_tail(module, scale, threshold - 2), keys
    ),
    "selection_delta": _selection_delta,
    "threshold_laplace": lambda module, epsilon, delta, l0: 1 - l0 / epsilon * module.log(2 * delta / l0),
    "composed_delta": lambda _, delta, releases: delta * releases,
    "composed_epsilon": _composed_epsilon,
    "group_delta": lambda module, epsilon, delta, size: min(
        1, delta * module.expm1(size * module.mpf(epsilon)) / module.expm1(module.mpf(epsilon))
    ),
    "sampled_gaussian_epsilon": lambda _, sigma, rate, steps, delta: _by_orders(
        float(sigma), float(rate), steps, float(delta)
    ),
}
SOUND: dict[str, Formula] = {name: _sound(name, formula) for name, formula in _SOUND.items()}
"""For each quantity, a formula that never falls to the unsafe side."""
SOUND["threshold_gaussian"] = lambda epsilon, delta, l0: _threshold_gaussian(epsilon, delta, l0, l0, 1e-9)
