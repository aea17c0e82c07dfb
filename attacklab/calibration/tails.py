"""Tails of the noise that mechanisms add, always P[X > t], and the δ of a threshold on noisy counts.

A mechanism that releases a key if its noisy count reaches a threshold T tells that the key is there. One person who
alone has m keys, each once, changes whether any of them appears with probability 1 − (1 − p)^m for p = P[1 + X ≥ T];
that is the δ which such a release needs at least (Korolova et al. 2009; Rogers 2023, algorithm 1). The mass at the
threshold itself belongs to it: P[1 + X ≥ T] = P[X > T − 2] for integers.
All but `threshold_gaussian` are enclosed with whatever precision is set.

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
"""A series is summed until the bound on its rest is at most this fraction of the sum."""


def laplace(scale: float, tail: float) -> Interval:
    """P[X > t] for Laplace noise and t ≥ 0: e^(−t/s)/2."""
    return (-(Interval.of(tail) / scale)).exp() * 0.5


def gaussian(scale: float | Interval, tail: float | Interval) -> Interval:
    """P[X > t] for Gaussian noise."""
    return (Interval.of(tail) / scale).normal_tail()


def discrete_laplace(scale: float, tail: int) -> Interval:
    """P[X > t] for discrete Laplace noise."""
    if tail < 0:
        return 1 - discrete_laplace(scale, -tail - 1)
    decay = Interval.of(1) / scale
    return (-(decay * tail)).exp() / (decay.exp() + 1)


def discrete_gaussian(scale: float, tail: int) -> Interval:
    """P[X > t] for discrete Gaussian noise."""
    if tail < 0:
        return 1 - discrete_gaussian(scale, -tail - 1)
    return _terms_from(scale, tail + 1) / (_terms_from(scale, 1) * 2 + 1)


def threshold_delta(tail: Callable[[float, int], Interval], scale: float, threshold: int, keys: int) -> Interval:
    """The δ of a threshold on counts with noise of such a tail."""
    return any_of(tail(scale, threshold - 2), keys)


def selection_delta(epsilon: float, sigma: float | Interval, threshold: float | Fraction, l0: int) -> Interval:
    """The least δ at ε of releasing the keys with their counts, plus Gaussian noise, that exceed a threshold.

    A person has l0 keys, each once. Any number of them are new; each of those exceeds the threshold with p, and where
    one does all is lost. If none does, which has probability s under one input and 1 under the other, the counts of the
    other keys are left, which nobody needs to cut off: they are Gaussian noise with sensitivity √(number of keys).
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
    """The least threshold that keeps (ε, δ) where σ is the least that keeps (ε, δ/2)."""
    sigma = crossing(lambda scale: gaussian_delta(epsilon, Interval.of(l0).sqrt() / scale), delta / 2)
    return crossing(lambda threshold: selection_delta(epsilon, sigma, threshold, l0), delta, KNOWN_BITS // 2)


def threshold_laplace(epsilon: float, delta: float, l0: int) -> Interval:
    """The least threshold that keeps (ε, δ) where the scale of the noise is l0/ε.

    A new key may appear with p, where 1 − (1 − p)^l0 ≤ δ. The counts of other keys cost ε/l0 each. So if j keys are new
    and none of them appears, Q[E] is at least e^(−ε + jε/l0)·(1 − p)^j·P[E], which asks for no more than 1 − (1 − p)^j.
    """
    appears = 1 - ((1 - Interval.of(delta)).log() / l0).exp()
    scale = Interval.of(l0) / epsilon
    return 1 - scale * ((appears * 2).log() if appears.upper <= 0.5 else -((1 - appears) * 2).log())


def _terms_from(scale: float, least: int) -> Interval:
    """The sum of e^(−x²/2σ²) over integers x from `least` on, for `least` of at least 1.

    From x on each term is at most e^(−(2x + 1)/2σ²) of the one before, so a geometric series bounds the rest.
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
