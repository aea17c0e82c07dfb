"""Tails of the noise that mechanisms add, always P[X > t], and the δ of a threshold on noisy counts.

A mechanism that releases a key if its noisy count reaches a threshold T tells that the key is there. One person who
alone has m keys, each once, changes whether any of them appears with probability 1 − (1 − p)^m for p = P[1 + X ≥ T];
that is the δ which such a release needs at least (Korolova et al. 2009; Rogers 2023, algorithm 1). The mass at the
threshold itself belongs to it: P[1 + X ≥ T] = P[X > T − 2] for integers.

All but `threshold` are enclosed with whatever precision is set.

Source of the discrete laws: Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from attacklab.calibration.budgets import any_of
from attacklab.calibration.refinement import is_kept
from attacklab.model.bisection import first
from attacklab.model.errors import LabFault
from attacklab.model.intervals import Interval

Tail: TypeAlias = Callable[[float, int], Interval]
"""P[X > t] from a noise scale and an integer t."""

NEGLIGIBLE = 2.0**-120
"""The part of a sum of which its rest may be this large."""


def laplace(scale: float, tail: float) -> Interval:
    """P[X > t] for Laplace noise and t ≥ 0: e^(−t/s)/2."""
    return (-(Interval.of(tail) / scale)).exp() * 0.5


def gaussian(scale: float, tail: float) -> Interval:
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


def threshold_delta(tail: Tail, scale: float, threshold: int, keys: int) -> Interval:
    """The δ of a threshold on counts with noise of such a tail."""
    return any_of(tail(scale, threshold - 2), keys)


def threshold(tail: Tail, scale: float, delta: float, keys: int) -> Interval:
    """Where thresholds on counts with noise of such a tail begin to keep δ.

    A noisy count is an integer: any number above the last threshold that is too low does what the next integer does.
    """

    def is_enough(threshold: int) -> bool:
        kept = is_kept(lambda: threshold_delta(tail, scale, threshold, keys), delta)
        if kept is None:
            raise LabFault(f"no precision tells whether the threshold {threshold} keeps delta = {delta}")
        return kept

    return Interval.of(math.nextafter(float(first(is_enough) or 1) - 1, math.inf))


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
