"""In which direction a finding breaks its claim, and how many fresh trials show that again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from attacklab.claims import PrivacyClaim
from attacklab.errors import UsageError
from attacklab.findings import Finding

ALPHA = 1e-9
"""The probability that a script takes a target which keeps its claim for one that breaks it."""

FEWEST, MOST = 100, 10_000_000
"""The least and the largest number of trials of a script."""

DEVIATIONS = 4.0
"""By how many standard deviations the counts of a script may be off before it misses what was found."""

DOUBTFUL = 2.0
"""By how many standard deviations the finding's own counts are taken to be off."""


@dataclass(frozen=True, slots=True)
class Direction:
    """A way in which an event can break a claim.

    Attributes:
        of_first: whether it is too likely on the first input of the pair; on the second otherwise.
        complement: whether it is the opposite of the event that is too likely.
    """

    of_first: bool
    complement: bool

    def rates(self, first: float, second: float) -> tuple[float, float]:
        """The probabilities on the input where they are too large, and on its neighbour, from those of the event."""
        likely, other = (first, second) if self.of_first else (second, first)
        return (1 - likely, 1 - other) if self.complement else (likely, other)


DIRECTIONS = tuple(Direction(first, complement) for complement in (False, True) for first in (True, False))


def direction_of(finding: Finding) -> Direction:
    """The direction in which the finding's counts, or its exact probabilities, break the claim most clearly.

    Raises:
        UsageError: it has neither, or they keep the claim.
    """
    first, second, _ = _seen(finding)
    needed = {one: _needed(finding.judged, *one.rates(first, second), ALPHA, DEVIATIONS) for one in DIRECTIONS}
    best = min(DIRECTIONS, key=lambda one: needed[one])
    if math.isinf(needed[best]):
        raise UsageError(
            f"the rates that {finding.attack} saw, {first:.3g} and {second:.3g}, keep the claim in so few trials"
        )
    return best


def enough_trials(finding: Finding, direction: Direction, alpha: float) -> int:
    """How many trials of each input a script takes: enough if the true rates are a little less clear than those seen.

    Args:
        finding: what was seen.
        direction: as `direction_of` gives it.
        alpha: the probability of a false alarm of the script.
    """
    first, second, trials = _seen(finding)
    likely, other = direction.rates(first, second)
    careful = (
        max(0.0, likely - DOUBTFUL * _deviation(likely, trials)),
        min(1.0, other + DOUBTFUL * _deviation(other, trials)),
    )
    needed = _needed(finding.judged, *careful, alpha, DEVIATIONS)
    if math.isinf(needed):
        needed = 4 * _needed(finding.judged, likely, other, alpha, DEVIATIONS)
    return int(min(MOST, needed))


def _seen(finding: Finding) -> tuple[float, float, int]:
    """How often the event was seen on either input, of how many trials; for exact probabilities, of very many."""
    if finding.laws is not None and finding.first is not None and finding.second is not None:
        return finding.first.lower, finding.second.upper, MOST
    if finding.counts is None or not finding.counts.trials:
        raise UsageError(f"the finding of {finding.attack} has no counts of its event; name one of attacklab audit")
    counts = finding.counts
    return counts.first / counts.trials, counts.second / counts.trials, counts.trials


def _deviation(rate: float, trials: int) -> float:
    """The standard deviation of a rate, were one more trial of either kind seen."""
    smoothed = (rate * trials + 1) / (trials + 2)
    return math.sqrt(smoothed * (1 - smoothed) / trials)


def _needed(claim: PrivacyClaim, likely: float, other: float, alpha: float, deviations: float) -> float:
    """The least number of trials, of some, at which counts near these rates break the claim; infinite if none does."""
    for trials in _numbers():
        low = likely - deviations * math.sqrt(likely * (1 - likely) / trials)
        high = other + deviations * math.sqrt(other * (1 - other) / trials)
        if not 0 < low <= 1 or high >= 1:
            continue
        if claim.excess(bound(low, trials, alpha, above=False), bound(high, trials, alpha, above=True)) > 0:
            return trials
    return math.inf


def _numbers() -> Iterator[int]:
    trials = FEWEST
    while trials < MOST:
        yield trials
        trials = int(float(f"{trials * 1.3:.2g}"))
    yield MOST


def bound(rate: float, trials: int, alpha: float, *, above: bool) -> float:
    """The bound on a probability that a script computes; see there."""
    inside, outside = rate, float(above)
    for _ in range(60):
        middle = (inside + outside) / 2
        if _entropy(rate, middle) <= math.log(2 / alpha) / trials:
            inside = middle
        else:
            outside = middle
    return outside


def _entropy(rate: float, probability: float) -> float:
    parts = ((rate, probability), (1 - rate, 1 - probability))
    return math.fsum(p * math.log(p / q) if q else math.inf for p, q in parts if p)
