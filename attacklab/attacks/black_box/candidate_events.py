"""Candidate events for a target that nobody wrote an attack for: bets on the bits, the size and the kind of an output.

Every candidate is a half-line of a score (see `scores`), or one likely value of it. Rules are learned on one half of
the given outputs, and intervals are ranked on the other half. The result is a handful of fixed events, to be judged on
outputs that had no part in choosing them.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', which also takes events from the bits of outputs, in another form. The ranking and the cells are
ours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event
from attacklab.attacks.black_box.scores import IS_FAILURE, Score, learned_scores
from attacklab.claims import PrivacyClaim, directions
from attacklab.floats import Doubles
from attacklab.targets import Outputs

QUANTILES = np.unique(np.concatenate([np.arange(1, 16) / 16, 2.0 ** -np.arange(4, 12), 1 - 2.0 ** -np.arange(4, 12)]))
"""Where half-lines may end, besides at the largest and the least value."""

LIKELY_VALUES = 16
"""How many of the most frequent values are candidates by themselves."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event, and how clearly it exceeded the claim: the excess in units of its standard error."""

    event: Event
    clarity: float


def candidate_events(first: Outputs, second: Outputs, claims: Sequence[PrivacyClaim], most: int) -> list[Candidate]:
    """The events that tell two samples of outputs apart most clearly, beyond what the claim allows.

    Args:
        first: outputs for one input of a pair, at least 4.
        second: the same number of outputs for the other input.
        claims: what is promised of one output, at the points of its privacy profile.
        most: the largest number of candidates to return.

    Returns:
        The candidates, the clearest first: at least one, and no two from the same score.
    """
    half = len(first) // 2
    learning, ranking = (first[:half], second[:half]), (first[half:], second[half:])
    best = [_best_likely_value(learning, ranking, claims), _best_interval(IS_FAILURE, learning, ranking, claims)]
    best += [_best_interval(score, learning, ranking, claims) for score in learned_scores(*learning)]
    found = [candidate for candidate in best if candidate is not None]
    if not found:  # all outputs are alike, and that is all there is to bet on
        return [Candidate(_interval(IS_FAILURE, 0.0, 0.0), -math.inf)]
    return sorted(found, key=lambda candidate: -candidate.clarity)[:most]


def _best_interval(
    score: Score, learning: tuple[Outputs, Outputs], ranking: tuple[Outputs, Outputs], claims: Sequence[PrivacyClaim]
) -> Candidate | None:
    pooled = np.concatenate([score.of(outputs) for outputs in learning])
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if not pooled.size or pooled[0] == pooled[-1]:
        return None
    ends = np.unique(np.quantile(pooled, QUANTILES, method="inverted_cdf"))
    ends = ends[ends < pooled[-1]]  # a half-line that contains everything is not a bet
    lows, highs = np.full(len(ends), -np.inf), ends
    values, frequency = np.unique(pooled, return_counts=True)
    likely = values[np.argsort(-frequency, kind="stable")[:LIKELY_VALUES]]
    likely = likely[np.sort(frequency)[::-1][: len(likely)] > 1]
    lows, highs = np.concatenate([lows, likely]), np.concatenate([highs, likely])
    sides = [np.sort(score.of(outputs)) for outputs in ranking]  # NaN is sorted last, beyond every interval
    hits = [np.searchsorted(side, highs, "right") - np.searchsorted(side, lows, "left") for side in sides]
    clarity = _clarity(hits[0], hits[1], len(ranking[0]), claims)
    best = int(np.argmax(clarity))
    return Candidate(_interval(score, float(lows[best]), float(highs[best])), float(clarity[best]))


def _best_likely_value(
    learning: tuple[Outputs, Outputs], ranking: tuple[Outputs, Outputs], claims: Sequence[PrivacyClaim]
) -> Candidate | None:
    """The best bet on one value of outputs that need not be numbers."""
    if learning[0].dtype != object:
        return None
    seen = [Counter(output for output in outputs if isinstance(output, Hashable)) for outputs in (*learning, *ranking)]
    likely = [value for value, _ in (seen[0] + seen[1]).most_common(LIKELY_VALUES)]
    if not likely:
        return None
    hits = [np.array([counts[value] for value in likely]) for counts in seen[2:]]
    clarity = _clarity(hits[0], hits[1], len(ranking[0]), claims)
    best = int(np.argmax(clarity))
    return Candidate(
        Event(f"the output is {likely[best]!r}", partial(_equals, value=likely[best])), float(clarity[best])
    )


def _clarity(
    first: NDArray[np.int64], second: NDArray[np.int64], trials: int, claims: Sequence[PrivacyClaim]
) -> Doubles:
    """The excess over the claim in units of its standard error: the largest over both directions and the complement.

    One is added to each count of hits and of misses, so that no standard error is 0.
    """
    p, q = (first + 1) / (trials + 2), (second + 1) / (trials + 2)
    cases = [_excess_in_errors(claim, *case, trials) for claim in claims for case in directions((p, p), (q, q))]
    clarity: Doubles = np.max(cases, axis=0)
    return clarity


def _excess_in_errors(claim: PrivacyClaim, here: Doubles, there: Doubles, trials: int) -> Doubles:
    # Beyond that ε, only an event that never happens for one input shows anything.
    factor = math.exp(min(claim.epsilon, 300.0))
    error = np.sqrt((here * (1 - here) + factor**2 * there * (1 - there)) / trials)
    return np.asarray((here - factor * there - claim.delta) / error)


def _interval(score: Score, low: float, high: float) -> Event:
    words = f"at most {high!r}" if low == -math.inf else f"equal to {high!r}"
    return Event(f"{score.description} {words}", partial(_lies_within, of=score.of, low=low, high=high))


def _lies_within(outputs: Outputs, *, of: Callable[[Outputs], Doubles], low: float, high: float) -> NDArray[np.bool_]:
    values = of(outputs)
    return np.asarray((values >= low) & (values <= high))


def _equals(outputs: Outputs, *, value: object) -> NDArray[np.bool_]:
    return np.fromiter((output == value for output in outputs), dtype=bool, count=len(outputs))
