"""Lattice bias: noise on the integers, or on another grid, favours some of its points more than the claim allows.

Integer noise of an exact sampler has a law without kinks. A sampler that divides, rounds or carries wrongly gives some
points too much probability and their neighbours too little. The bias may be anywhere, and no single point need show it.

The noise does not depend on the answer, so one sample of it tells what is likely under either answer of a pair. The
event is a set of points: those that come from the one answer more often than the claim allows compared with the other,
by so many standard deviations. One half of the outputs learns such a set for each of a few thresholds, and the other
half says which is best. Then the best is learned again from all of them. Nothing is bet where that is no sign of a
bias: where the larger half of the outputs tells the answers apart about as well, because there is too little noise, or
where outputs for the two answers show that the noise is not the same for both.

The adversary knows the sensitivity, draws some outputs for both answers, and bets on the learned set.

A negative result does not rule out biases of points that are rarer than a few in 10,000, nor noise that takes so many
values that points hardly repeat.

Source: OpenDP issue 2638, for a sampler that had the flaw. The search is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import (
    Event,
    OfKinds,
    Probe,
    Scenario,
    as_floats,
    pair_of_answers,
)
from attacklab.attacks.failures import sampled
from attacklab.auditing.statistics.betting import evidence
from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import UsageError
from attacklab.model.findings import Counts
from attacklab.model.targets import Kind, Outputs, Target

OF_TRIALS = 3  # at most one output of either answer is learned from for so many trials that judge

LEAST_LEARNING = 64
LOOK_SHARE = 8  # the first look takes one output for so many that are learned from
REPEATS = 8  # noise is taken to lie on a grid if, in a first look, an output stands for so many equal ones on average
PLAINER = 2.0  # a set of points must show so many times the evidence that the larger half of the outputs shows

SURE = 6.0
"""By how many standard errors the rates of a value of noise must differ to show that it is not the same noise."""

DEVIATIONS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)  # the thresholds that are tried


@dataclass(frozen=True)
class LatticeBias(OfKinds, kinds={Kind.NOISE}):
    """The attack.

    Attributes:
        learning: how many outputs of either answer the set is learned from. Half of it tells apart about what an audit
            of so many trials can judge; a smaller bias takes more of both.
    """

    learning: int = 1 << 15
    name: str = "lattice_bias"
    flaw: str = "noise on a grid favours some of its points"

    def __post_init__(self) -> None:
        if self.learning < LEAST_LEARNING:
            raise UsageError(f"learning must be at least {LEAST_LEARNING}, not {self.learning}")

    def within(self, trials: int) -> LatticeBias:
        """The attack with as much to learn from as an audit of so many trials warrants."""
        return replace(self, learning=max(LEAST_LEARNING, trials // OF_TRIALS))

    @property
    def looks(self) -> int:
        """The most outputs that it draws to find its event."""
        return 2 * self.learning + self.learning // LOOK_SHARE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The answers 0 and Δ, if the noise lies on a grid and a set of its points seems to break the claim."""
        pair, near, far = pair_of_answers(target, 0.0, target.sensitivity)
        look = _numbers(probe, pair.first, self.learning // LOOK_SHARE)
        if not len(look) or len(np.unique(look)) * REPEATS > len(look):
            return
        sides = ((pair.first, near), (pair.second, far))
        noises = [_numbers(probe, side, self.learning) - answer for side, answer in sides]
        noise = np.concatenate(noises)
        step, claim = far - near, target.claim.nominal
        if len(noise) < 2 or _differ(*noises):
            return
        learning, (values, counts) = (np.unique(half, return_counts=True) for half in (noise[::2], noise[1::2]))
        drawn, ranked = int(counts.sum()), []
        for sign in (1, -1):  # a set that is likely under the first answer, or under the second
            for deviations in DEVIATIONS:
                points = _favoured(*learning, sign * step, claim.epsilon, deviations)
                first, second = (int(counts[np.isin(values + shift, points)].sum()) for shift in (0.0, sign * step))
                ranked.append((_evidence(claim, first, second, drawn), sign, deviations))
        shown, sign, deviations = max(ranked)
        middle = np.median(noise) + step / 2
        halves = [int(counts[values + shift > middle].sum()) for shift in (step, 0.0)]
        if shown > 0 and shown > PLAINER * _evidence(claim, halves[0], halves[1], drawn):
            whole = np.unique(noise, return_counts=True)
            points = _favoured(*whole, sign * step, claim.epsilon, deviations) + (near if sign > 0 else far)
            yield Scenario(pair, (_one_of(np.sort(points)),))


def _evidence(claim: PrivacyClaim, first: int, second: int, trials: int) -> float:
    return evidence(claim, Counts(first, second, trials, round(first * second / trials)))


def _differ(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    """Whether the noise of one answer is surely not that of the other, by their most frequent value."""
    if not len(first) or not len(second):
        return True
    values, counts = np.unique(np.concatenate([first, second]), return_counts=True)
    rates = [float((noise == values[counts.argmax()]).mean()) for noise in (first, second)]
    pooled = float(counts.max()) / (len(first) + len(second))
    error = math.sqrt(pooled * (1 - pooled) * (1 / len(first) + 1 / len(second)))
    return abs(rates[0] - rates[1]) > SURE * error


def _numbers(probe: Probe, answer: Any, outputs: int) -> NDArray[np.float64]:
    """Outputs for an answer, without failures; fewer of them if the target fails now and then."""
    values = as_floats(sampled(probe, answer, outputs))
    return values[~np.isnan(values)]


def _favoured(
    values: NDArray[np.float64], counts: NDArray[np.int64], step: float, epsilon: float, deviations: float
) -> NDArray[np.float64]:
    """The values of noise that are seen more than e^ε times as often as what makes them of an answer one step off."""
    places = np.searchsorted(values, values - step).clip(max=len(values) - 1)
    others = np.where(values[places] == values - step, counts[places], 0)
    factor = math.exp(min(epsilon, 300.0))
    return values[counts - factor * others > deviations * np.sqrt(counts + factor**2 * (others + 1.0))]


def _one_of(points: NDArray[np.float64]) -> Event:
    shown = ", ".join(f"{point:g}" for point in points[:8])
    rest = f" and {len(points) - 8} more" if len(points) > 8 else ""

    def contains(outputs: Outputs) -> NDArray[np.bool_]:
        return np.isin(as_floats(outputs), points)

    words = f"the output is one of {shown}{rest}"
    return Event(words, contains)
