"""Answers above a noisy threshold, and keys with noisy counts above a public one.

Sources: Dwork and Roth 2014, algorithms 1 to 3; Lyu, Su and Li 2017, 'Understanding the Sparse Vector Technique for
Differential Privacy', algorithms 1 and 7; Korolova, Kenthapadi, Mishra and Ntoulas 2009, 'Releasing Search Queries and
Clicks Privately'; Desfontaines, Voss, Gipson and Mandayam 2022, 'Differentially Private Partition Selection'.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.claims import ApproximateDP, Claim, together
from mechanisms.core.laws import Law
from mechanisms.core.noise import Noise
from mechanisms.core.numbers import Number, convert, count, positive, rational
from mechanisms.core.records import Answer
from mechanisms.core.rounding import fraction
from mechanisms.core.term import Mechanism, Relation
from mechanisms.randomness import RandomBits

NOT_REPORTED = -math.inf
"""The output for an answer whose value is not released; released values are finite."""

_CLAIM_BITS = 128


@dataclass(frozen=True)
class AboveThreshold(Mechanism):
    """The sparse vector technique: report which answers are above a threshold, in order, until `positives` are.

    Let d be the answers' stability, c the number of positives, and t the threshold's noise. For neighbours, fix the
    noise of every answer that is reported below: raising t by d, which costs the threshold's law a shift of d, keeps
    every one of them below. Each of the c answers above then needs its noise raised by at most 2d, a shift of 2d each.
    So the claim adds the losses of a shift of d and c shifts of 2d, however many answers there are, and of c more
    shifts of d if values are released. All numbers are integers of any size.

    Args:
        answer: how each answer is read; the data are the answers, one a query.
        threshold: a point of the answers' grid.
        positives: c, how many answers are reported above before it stops.
        threshold_law: the law of the threshold's noise, of pure DP, in steps.
        answer_law: the law of each answer's noise, of pure DP, in steps.
        value_law: the law of each released value's noise; None if no values are released.
    """

    answer: Answer
    threshold: Fraction
    positives: int
    threshold_law: Law
    answer_law: Law
    value_law: Law | None = None

    relation: ClassVar[Relation] = "answers"

    def __post_init__(self) -> None:
        convert(self, rational, "threshold")
        convert(self, count, "positives")
        self.answer.grid.steps_of("threshold", self.threshold)
        if not isinstance(self.claim, ApproximateDP) or self.claim.delta:
            raise ValueError("the laws of a sparse vector must be of pure DP, such as DiscreteLaplace")
        self._noises  # noqa: B018 # checks their spreads

    @property
    def claim(self) -> Claim:
        """The sum of the losses: a shift of d, c shifts of 2d, and, if values are released, c more shifts of d."""
        d, c = self.answer.stability, self.positives
        values = [self.value_law.loss(d)] * c if self.value_law else []
        return together(self.threshold_law.loss(d), *[self.answer_law.loss(2 * d)] * c, *values)

    @cached_property
    def _noises(self) -> tuple[Noise, Noise, Noise | None]:
        return Noise(self.threshold_law), Noise(self.answer_law), Noise(self.value_law) if self.value_law else None

    def prepared(self, data: Any) -> Stream:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        return Stream(
            self, self.answer.of_each(data), self.answer.grid.steps_of("threshold", self.threshold), *self._noises
        )


@dataclass(frozen=True)
class Stream:
    """Draws outputs for one stream of answers, in steps, with noise for the threshold, the answers and the values."""

    term: AboveThreshold
    steps: NDArray[np.int64]
    threshold: int
    of_threshold: Noise
    of_answers: Noise
    of_values: Noise | None

    def one(self, bits: RandomBits) -> tuple[bool, ...] | tuple[float, ...]:
        """Draw one output: for each answer True or False, or, if values are released, its value or −∞."""
        answers = self.steps.tolist()
        threshold = self.threshold + self.of_threshold.one(bits)
        left, reported = self.term.positives, []
        for answer in answers:
            above = left > 0 and answer + self.of_answers.one(bits) >= threshold
            left -= above
            reported.append(above)
        if self.of_values is None:
            return tuple(reported)
        value, noise = self.term.answer.grid.value, self.of_values
        return tuple(
            value(answer + noise.one(bits)) if above else NOT_REPORTED
            for answer, above in zip(answers, reported, strict=True)
        )

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.bool_] | NDArray[np.float64]:
        """Draw several outputs, shape (trials, answers); after `positives` positives, no answer counts as above."""
        thresholds = self.of_threshold.many(trials, bits) + self.threshold
        noise = self.of_answers.many(trials * self.steps.size, bits).reshape(trials, self.steps.size)
        above: NDArray[np.bool_] = (noise + self.steps >= thresholds[:, np.newaxis]).astype(np.bool_)
        above &= np.cumsum(above, axis=1) <= self.term.positives
        if self.of_values is None:
            return above
        values = np.full(above.shape, NOT_REPORTED)
        shown = np.broadcast_to(self.steps, above.shape)[above]
        values[above] = self.term.answer.grid.values(self.of_values.many(shown.size, bits) + shown)
        return values


@dataclass(frozen=True)
class KeysAbove(Mechanism):
    """The keys whose noisy counts reach a threshold, with these counts: a histogram of cells that nobody listed.

    Each person has one key. Keys are sorted, so that the output depends only on which keys are named and on their
    counts. Let neighbours differ in one person. If somebody else has their key, its count moves by 1, a shift of 1. If
    nobody has, then the key is named with probability P[1 + N ≥ T] on one side and never on the other; all other keys
    have the same law on both, so that this probability is δ, and ε is 0.
    """

    law: Law
    threshold: int

    relation: ClassVar[Relation] = "add-remove"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", count("threshold", self.threshold, least=2))
        self._noise, self.claim  # noqa: B018 # checks its spread, and that there is a rule

    @property
    def claim(self) -> Claim:
        """The loss of a shift of 1, and δ = P[1 + N ≥ T], for a key that one person alone has."""
        return together(self.law.loss(1), ApproximateDP(Fraction(0), _reached(self.law, self.threshold)))

    @cached_property
    def _noise(self) -> Noise:
        return Noise(self.law)

    def prepared(self, data: Iterable[str]) -> Tally:
        """Count the people of each key; see `Mechanism.prepared`."""
        tallied = sorted(Counter(map(_plain, data)).items())
        return Tally(
            tuple(key for key, _ in tallied), tuple(people for _, people in tallied), self.threshold, self._noise
        )


@dataclass(frozen=True)
class Tally:
    """Draws outputs from the number of people with each key; keys are in the order of their code points."""

    keys: tuple[str, ...]
    counts: tuple[int, ...]
    threshold: int
    noise: Noise

    def one(self, bits: RandomBits) -> tuple[tuple[str, int], ...]:
        """Draw one output: the named keys, each with its noisy count."""
        return self._named([people + self.noise.one(bits) for people in self.counts])

    def many(self, trials: int, bits: RandomBits) -> list[tuple[tuple[str, int], ...]]:
        """Draw several outputs."""
        noise = self.noise.many(trials * len(self.counts), bits).reshape(trials, len(self.counts))
        return [self._named(row) for row in (noise + np.array(self.counts, dtype=np.int64)).tolist()]

    def _named(self, noisy: list[int]) -> tuple[tuple[str, int], ...]:
        return tuple((key, people) for key, people in zip(self.keys, noisy, strict=True) if people >= self.threshold)


def _plain(key: Any) -> str:
    if type(key) is not str and type(key) is not np.str_:
        raise TypeError(f"keys must be strings, not {type(key).__name__}")
    return str(key)


def least_threshold(law: Law, delta: Number) -> int:
    """Return the least threshold at which the key of one person alone is named with probability δ at most."""
    Noise(law)  # checks its spread
    most = positive("delta", delta)
    if most >= Fraction(1, 2):
        raise ValueError(f"delta must be below 1/2, not {delta}")
    high = 2
    while _reached(law, high) > most:
        high *= 2
        if high > 1 << 62:
            raise ValueError("delta must be larger, or the threshold would be beyond 2^62 steps")
    return bisect_left(range(high), True, lo=2, key=lambda threshold: _reached(law, threshold) <= most)


def _reached(law: Law, threshold: int) -> Fraction:
    """Return an upper bound on the probability that a noisy count of 1 reaches a threshold."""
    return fraction(law.tail(threshold - 1, _CLAIM_BITS).upper)
