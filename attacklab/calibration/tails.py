"""Tails of the noise that mechanisms add, always P[X > t], and the δ of a threshold on noisy counts.

If a mechanism releases a key when its noisy count reaches a threshold T, a released key is known to be in the data. Let
one person alone have m keys, each once. One of these appears with probability 1 − (1 − p)^m, where p = P[1 + X ≥ T],
and without this person none can. So δ is at least this probability (Korolova et al. 2009; Rogers 2023, algorithm 1).
The mass at the threshold itself is included: P[1 + X ≥ T] = P[X > T − 2] for integers.
All functions but `threshold_gaussian` compute with the precision that is set.

Source of the discrete laws: Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from attacklab.calibration.budgets import any_of
from attacklab.calibration.refinement import KNOWN_BITS, crossing
from attacklab.model.claims.gaussian import gaussian_delta
from attacklab.model.intervals import Interval

NEGLIGIBLE = 2.0**-120
"""A series is summed until the bound on its remainder is at most this fraction of the sum."""


def laplace(scale: float, tail: float) -> Interval:
    """Enclose P[X > t] = e^(−t/s)/2 for Laplace noise of scale s and t ≥ 0."""
    return (-(Interval.of(tail) / scale)).exp() * 0.5


def gaussian(scale: float | Interval, tail: float | Interval) -> Interval:
    """Enclose P[X > t] for Gaussian noise; `scale` is σ."""
    return (Interval.of(tail) / scale).normal_tail()


def discrete_laplace(scale: float, tail: int) -> Interval:
    """Enclose P[X > t] for discrete Laplace noise, P[X = x] ∝ e^(−|x|/s)."""
    if tail < 0:
        return 1 - discrete_laplace(scale, -tail - 1)
    decay = Interval.of(1) / scale
    return (-(decay * tail)).exp() / (decay.exp() + 1)


def discrete_gaussian(scale: float, tail: int) -> Interval:
    """Enclose P[X > t] for discrete Gaussian noise, P[X = x] ∝ e^(−x²/2σ²); `scale` is σ."""
    if tail < 0:
        return 1 - discrete_gaussian(scale, -tail - 1)
    return _terms_from(scale, tail + 1) / (_terms_from(scale, 1) * 2 + 1)


def threshold_delta(tail: Callable[[float, int], Interval], scale: float, threshold: int, keys: int) -> Interval:
    """Enclose the δ of a threshold on integer counts, if noise has this tail and a person has up to `keys` new keys."""
    return any_of(tail(scale, threshold - 2), keys)


def selection_delta(epsilon: float, sigma: float | Interval, threshold: float | Fraction, l0: int) -> Interval:
    """Enclose the least δ at ε of releasing keys with their counts plus Gaussian noise, if these exceed a threshold.

    A person has l0 keys, each once, and j of them are new. A new key exceeds the threshold with probability p, and then
    the person is exposed. None does with probability (1 − p)^j under one input and 1 under the other. Then the other
    l0 − j counts remain. At worst none of these is cut off: they have Gaussian noise and sensitivity √(l0 − j).
    """
    missed = 1 - gaussian(sigma, Interval.of(threshold) - 1)
    none, worst = Interval.of(1), Interval.of(0)
    for new in range(l0 + 1):
        shift, signal = none.log(), Interval.of(l0 - new).sqrt() / sigma

        def rest(loss: Interval, signal: Interval = signal) -> Interval:
            return gaussian_delta(loss, signal) if signal.lower > 0 else 1 - loss.exp()

        for lost in (1 - none + none * rest(epsilon - shift), rest(epsilon + shift), 1 - none):
            worst = Interval(max(worst.lower, lost.lower), max(worst.upper, lost.upper))
        none = none * missed
    return worst


def threshold_gaussian(epsilon: float, delta: float, l0: int) -> Interval:
    """Enclose the least threshold at which `selection_delta` is at most δ, with the least σ that is (ε, δ/2)-DP."""
    sigma = crossing(lambda scale: gaussian_delta(epsilon, Interval.of(l0).sqrt() / scale), delta / 2)
    return crossing(lambda threshold: selection_delta(epsilon, sigma, threshold, l0), delta, KNOWN_BITS // 2)


def threshold_laplace(epsilon: float, delta: float, l0: int) -> Interval:
    """Enclose the least threshold that is (ε, δ)-DP with Laplace noise of scale l0/ε.

    A new key may appear with probability p if 1 − (1 − p)^l0 ≤ δ. The count of any other key costs ε/l0. So if j keys
    are new and none appears, Q[E] ≥ e^(−ε + jε/l0)·(1 − p)^j·P[E], which needs a δ of at most 1 − (1 − p)^j.
    """
    appears = 1 - ((1 - Interval.of(delta)).log() / l0).exp()
    scale = Interval.of(l0) / epsilon
    return 1 - scale * ((appears * 2).log() if appears.upper <= 0.5 else -((1 - appears) * 2).log())


def _terms_from(scale: float, least: int) -> Interval:
    """Enclose the sum of e^(−x²/2σ²) over integers x ≥ `least`, where `least` ≥ 1 and `scale` is σ.

    After x, each term is at most e^(−(2x + 1)/2σ²) times the term before, so a geometric series bounds the remainder.
    """
    variance = Interval.of(scale) * scale * 2
    term = (-(Interval.of(least * least) / variance)).exp()
    ratio = (-(Interval.of(2 * least + 1) / variance)).exp()
    shrink = (-(Interval.of(2) / variance)).exp()
    total = Interval.of(0)
    while True:
        total = total + term
        rest = term * ratio / (1 - ratio)
        if rest.upper <= total.lower * NEGLIGIBLE or term.lower == 0:
            return total + Interval.hull(0, rest)
        term, ratio = term * ratio, ratio * shrink
