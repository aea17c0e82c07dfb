"""Candidate events for a target that nobody wrote an attack for: bets on any feature of an output, and on the whole.

Every candidate is a half-line of a score (see `scores`, `learned_scores`) or one likely value. A half-line of a table
of log likelihood ratios is a union of atoms or of bins in the order of likelihood. Rules are learned on one half of the
given outputs, and half-lines are ranked on the other half, by the evidence that each is expected to give a trial. The
rules of the best are then learned again from both halves. The result is a handful of fixed events, to be judged on
outputs that had no part in choosing them.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', which also takes events from the bits of outputs, in another form. The tables, the ranking and the
cells are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event
from attacklab.attacks.black_box.learned_scores import learned_scores
from attacklab.attacks.black_box.scores import IS_FAILURE, Learning, Score
from attacklab.attacks.failures import FAILS
from attacklab.attacks.features.leaves import text_of
from attacklab.attacks.features.paths import as_table, recalled
from attacklab.attacks.features.values import opened
from attacklab.auditing.statistics.choosing import expected_evidence, promised_epsilon
from attacklab.model.claims import PrivacyClaim
from attacklab.model.floats import Doubles
from attacklab.model.plain_text import quoted
from attacklab.model.targets import Failure, Outputs

QUANTILES = np.unique(np.concatenate([np.arange(1, 16) / 16, 2.0 ** -np.arange(4, 12), 1 - 2.0 ** -np.arange(4, 12)]))
"""The quantiles of a score with many values at which half-lines may end, besides at 0."""

FEW = 64  # a score of no more values than that may have a half-line end at each of them
OBJECTS = 1 << 12  # how many outputs of either input are learned from, and ranked on, that are not an array of numbers

RARITIES = (1.0, 1 / 8, 1 / 32, 1 / 128)
"""To prove an ε, a score's best event is kept for each of these shares, among the events that hold, or leave out, at
most this share of the outputs. A rarer event may prove more on a sample larger than the one that ranks them."""

EACH = 4  # how many scores have such events

Ranking = Callable[[NDArray[np.int64], NDArray[np.int64], int], Doubles]
"""`rank(first_hits, second_hits, trials)` returns a number for each event, greater for a better one."""

LIKELY_VALUES = 16  # how many of the most frequent values are candidates by themselves


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event, and how clearly it exceeds the claim.

    Attributes:
        event: the event.
        clarity: the evidence, in nats, that one trial is expected to give; or the ε that it is expected to prove.
    """

    event: Event
    clarity: float


def candidate_events(
    first: Outputs, second: Outputs, claims: Sequence[PrivacyClaim], most: int, *, proving: bool = False
) -> list[Candidate]:
    """Return the events that tell two samples of outputs apart most clearly, beyond what the claim allows.

    Args:
        first: outputs for one input of a pair, at least 4.
        second: the same number of outputs for the other input.
        claims: the claim for one output, at the points of its privacy profile.
        most: the largest number of candidates to return, unless an ε is to be proved.
        proving: whether to rank events by the ε that they promise to prove, at the δ of the first claim, rather than by
            how soon they refute the claim.

    Returns:
        The candidates, the clearest first: at least one, and no two from the same score unless an ε is to be proved.

    Raises:
        NotUnderstood: an output cannot be taken apart.
    """
    learning, ranking = _halves(first, second)
    ranks: list[Ranking] = [partial(_clarity, claims=claims)]
    if proving:
        ranks = [partial(_promised, delta=claims[0].delta, rarity=rarity) for rarity in RARITIES]
    clearest = _clearest(learned_scores(learning, ranking), learning, ranking, ranks)
    kept = (ranked for of_rank in clearest for ranked in of_rank[: EACH if proving else most])
    by_hits = {ranked.hits: ranked for ranked in sorted(kept, key=lambda ranked: -ranked.clarity)}
    best = _learned_again(list(by_hits.values()), learning, ranking)
    if not best:  # all outputs are alike, and that is all there is to bet on
        return [Candidate(_interval(IS_FAILURE, 0.0, 0.0), -math.inf)]
    return [Candidate(_interval(ranked.score, ranked.low, ranked.high), ranked.clarity) for ranked in best]


def _learned_again(events: Sequence[_Ranked], learning: Learning, ranking: Learning) -> list[_Ranked]:
    """Return the events with the rules of their scores learned from all outputs."""
    everything = Learning(
        np.concatenate([learning.outputs, ranking.outputs]), np.concatenate([learning.of_first, ranking.of_first])
    )
    scores = {id(ranked.score): ranked.score for ranked in events}
    again = {key: score.learned_from(everything) for key, score in scores.items()}
    return [replace(ranked, score=again[id(ranked.score)]) for ranked in events]


def _clearest(
    scores: Iterable[Score], learning: Learning, ranking: Learning, ranks: Sequence[Ranking]
) -> list[list[_Ranked]]:
    """Return, for each of `ranks`, the scores' best events, best first: found on `learning`, ranked on `ranking`."""
    # By hits: of several events that held the same outputs, the first is kept.
    by_hits: list[dict[tuple[int, int], _Ranked]] = [{} for _ in ranks]
    for score in scores:
        for kept, ranked in zip(by_hits, _best_intervals(score, learning, ranking, ranks), strict=False):
            kept.setdefault(ranked.hits, ranked)
    return [sorted(kept.values(), key=lambda ranked: -ranked.clarity) for kept in by_hits]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The best half-line or single value of a score."""

    score: Score
    low: float  # the event is low ≤ score ≤ high; −∞ for a half-line
    high: float
    clarity: float  # see `Candidate`
    hits: tuple[int, int]  # how many outputs of each input are in the event


def pooled_outputs(first: Outputs, second: Outputs) -> Outputs:
    """Return the outputs of both inputs in one array: of numbers if all have one type and shape, else of objects."""
    if first.dtype == second.dtype and first.shape[1:] == second.shape[1:] and first.dtype != object:
        return np.concatenate([first, second])
    known = [output if isinstance(output, Failure) else opened(output) for output in (*first, *second)]
    table = known if Failure in map(type, known) else as_table(known)
    return table if isinstance(table, np.ndarray) else np.fromiter(table, dtype=object, count=len(table))


def _halves(first: Outputs, second: Outputs) -> tuple[Learning, Learning]:
    """Split outputs of both inputs into one half to learn from and one to rank on."""
    pooled = pooled_outputs(first, second)
    sides = np.arange(len(first)), np.arange(len(first), len(pooled))
    if pooled.dtype == object:
        sides = sides[0][: 2 * OBJECTS], sides[1][: 2 * OBJECTS]
    halves = []
    for part in (slice(len(sides[0]) // 2), slice(len(sides[0]) // 2, None)):
        places = [side[part] for side in sides]
        halves.append(Learning(pooled[np.concatenate(places)], np.repeat([True, False], list(map(len, places)))))
    return halves[0], halves[1]


def _best_intervals(score: Score, learning: Learning, ranking: Learning, ranks: Sequence[Ranking]) -> Iterator[_Ranked]:
    """Yield the best interval of a score by each of `ranks`; nothing if the score has only one value."""
    pooled = score.of(learning.outputs)
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if not pooled.size or pooled[0] == pooled[-1]:
        return
    starts = np.flatnonzero(np.concatenate([[True], pooled[1:] != pooled[:-1]]))
    frequency = np.diff(starts, append=len(pooled))
    if len(starts) <= FEW:
        ends = pooled[starts[:-1]]  # a half-line that contains everything is not a bet
    else:
        places = np.ceil(QUANTILES * len(pooled)).astype(np.intp) - 1
        ends = np.unique(np.append(pooled[places], 0.0))
        ends = ends[(ends >= pooled[0]) & (ends < pooled[-1])]
    if score.again is not None:  # half way to the next value, because values move when it is learned again
        ends = ends / 2 + pooled[np.searchsorted(pooled, ends, "right")] / 2
    repeated = np.flatnonzero(frequency > 1)
    likely = repeated[np.argsort(-frequency[repeated], kind="stable")[:LIKELY_VALUES]]
    likely_values = pooled[starts[likely]]
    if score.again is not None:  # no single value of it stays what it is
        likely_values = likely_values[:0]
    if score.is_text:  # the order of texts means nothing
        ends = ends[:0]
    lows = np.concatenate([np.full(len(ends), -np.inf), likely_values])
    highs = np.concatenate([ends, likely_values])
    ranked = score.of(ranking.outputs)
    sides = [np.sort(ranked[side]) for side in (ranking.of_first, ~ranking.of_first)]  # NaN comes last
    hits = [np.searchsorted(side, highs, "right") - np.searchsorted(side, lows, "left") for side in sides]
    for rank in ranks if len(highs) else ():
        clarity = rank(hits[0], hits[1], len(sides[0]))
        best = int(np.argmax(clarity))
        if clarity[best] == -np.inf:
            return
        held = (int(hits[0][best]), int(hits[1][best]))
        yield _Ranked(score, float(lows[best]), float(highs[best]), float(clarity[best]), held)


def _clarity(
    first: NDArray[np.int64], second: NDArray[np.int64], trials: int, claims: Sequence[PrivacyClaim]
) -> Doubles:
    """Return the expected evidence of one trial for each event, at the rates seen.

    For each input, 1/(2 + 2e^ε) is added to the hits and to the misses, so that no rate is 0 or 1. This number falls as
    ε grows: at a large ε, half a hit would hide events.
    """
    added = 0.5 / (1 + math.exp(min(700.0, max(claim.epsilon for claim in claims))))
    rates = [(hits + added) / (trials + 2 * added) for hits in (first, second)]
    return expected_evidence(claims, *rates)


def _promised(
    first: NDArray[np.int64], second: NDArray[np.int64], trials: int, *, delta: float, rarity: float
) -> Doubles:
    """Return the ε that each event is expected to prove; −∞ if min(share, 1 − share) of outputs exceeds `rarity`."""
    share = (first + second) / (2 * trials)
    return np.where(np.minimum(share, 1 - share) <= rarity, promised_epsilon(first, second, trials, delta), -np.inf)


def _interval(score: Score, low: float, high: float) -> Event:
    if score is IS_FAILURE:
        return FAILS  # or its complement, which tells as much
    words = f"at most {high!r}" if low == -math.inf else f"equal to {high!r}"
    if score.is_text and (text := text_of(high)) is not None:
        words = f"being {quoted(text)}"

    def lie_within(outputs: Outputs) -> NDArray[np.bool_]:
        values = recalled(outputs, score.of, lambda: score.of(outputs))  # several events are half-lines of one score
        return np.asarray((values >= low) & (values <= high))

    return Event(f"{score.description} {words}", lie_within)
