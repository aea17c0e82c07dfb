"""All scores of a sample of outputs: those of each feature by itself, of all together, and of the whole output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.black_box.regression import patterns, regressed
from attacklab.attacks.black_box.rules import (
    FAINTEST,
    bins,
    cells_of,
    linear_rule,
    summed,
    table,
    weighed,
    whole,
)
from attacklab.attacks.black_box.scores import IS_FAILURE, Learning, Score, as_doubles, number_scores, plain_score
from attacklab.attacks.common.different_values import different_values
from attacklab.attacks.features import Feature, taken_apart
from attacklab.attacks.features.variety import most_telling
from attacklab.floats import Doubles
from attacklab.targets import Outputs

BINS = 32  # into how many bins of equal frequency a feature is cut for its table
TAILS = 2.0 ** -np.arange(6.0, 12.0)  # where bins in the tails end
FEW = 64  # a feature of no more values has no bits worth a look: each of its values is an atom
LEARNED_FROM = 24  # from how many features rules are learned: those that tell the two inputs apart best at a first look
IN_DETAIL = 4  # how many features have every score looked at; the others have tables only
WEIGHED = 16  # how many features the rules over all of them take in
OUTPUTS_A_PATTERN = 16  # patterns of likely values are worth a table if there are at least so many outputs of each
SMOOTHINGS = (FAINTEST, 8.0)  # how tables of atoms are smoothed: the first trusts rare atoms, the second frequent ones


@dataclass(slots=True)
class _Remembered:
    """A function of outputs with its values for the samples that rules are learned and ranked on.

    It is a pure function like the other: those samples are this attack's own, and are forgotten afterwards.
    """

    of: Callable[[Outputs], NDArray[Any]]
    known: dict[int, NDArray[Any]]

    @property
    def __wrapped__(self) -> Callable[[Outputs], NDArray[Any]]:
        return self.of

    def __call__(self, outputs: Outputs) -> NDArray[Any]:
        found = self.known.get(id(outputs))
        return self.of(outputs) if found is None else found


@dataclass(frozen=True, slots=True)
class Memory:
    """Two samples, and the functions whose values for them are kept until `forget` is called.

    Attributes:
        learning: what rules are learned from.
        ranking: what they are ranked on.
        everything: both together, one after the other.
    """

    learning: Learning
    ranking: Learning
    everything: Learning
    kept: list[_Remembered] = field(default_factory=list)

    @classmethod
    def of(cls, learning: Learning, ranking: Learning) -> Memory:
        """The memory of two samples."""
        everything = Learning(
            np.concatenate([learning.outputs, ranking.outputs]), np.concatenate([learning.of_first, ranking.of_first])
        )
        return cls(learning, ranking, everything)

    def keep(self, of: Callable[[Outputs], NDArray[Any]]) -> _Remembered:
        """The function, with its values for the samples."""
        learning, ranking = of(self.learning.outputs), of(self.ranking.outputs)
        known = {
            id(self.learning.outputs): learning,
            id(self.ranking.outputs): ranking,
            id(self.everything.outputs): np.concatenate([learning, ranking]),
        }
        self.kept.append(_Remembered(of, known))
        return self.kept[-1]

    def feature(self, feature: Feature) -> Feature:
        """The feature, with its values for the samples."""
        return Feature(feature.description, self.keep(feature.of))

    def score(self, score: Score) -> Score:
        """The score, with its values for the samples."""
        return Score(score.description, self.keep(score.of), score.again)

    def forget(self) -> None:
        """Drop all values: from here on, other outputs may lie where the samples lay."""
        for one in self.kept:
            one.known.clear()


def learned_scores(memory: Memory) -> Iterator[Score]:
    """Every score, learned from one sample.

    Args:
        memory: of that sample and the one that scores will be ranked on.

    Raises:
        NotUnderstood: an output cannot be taken apart.
    """
    numbers, others = taken_apart(memory.learning.outputs, memory.learning.of_first)
    yield IS_FAILURE
    yield from _of_wholes(memory)
    yield from _of_features(numbers, others, memory)


def scores_of_all(memory: Memory) -> list[Score]:
    """The scores that take in whole outputs, or all numbers in them, and show small effects from many outputs.

    Args:
        memory: as for `learned_scores`.
    """
    numbers, _ = taken_apart(memory.learning.outputs, memory.learning.of_first)
    return [*_of_wholes(memory), *(_of_all_numbers(numbers, memory) if numbers else ())]


def _of_wholes(memory: Memory) -> Iterator[Score]:
    """Tables of whole outputs, if any output comes up twice."""
    codes = memory.keep(whole)
    seen = codes(memory.everything.outputs)
    if len(different_values(seen)) < len(seen):
        for smoothing in SMOOTHINGS:
            yield table("the whole output", codes, memory.learning, smoothing)


def _of_features(numbers: Sequence[Feature], others: Sequence[Feature], memory: Memory) -> Iterator[Score]:
    learning = memory.learning
    of_each: list[tuple[Feature, list[Score]]] = []
    found = (*numbers, *others)
    places: Sequence[int] = range(len(found))
    if len(found) > LEARNED_FROM:
        reads = [feature.of for feature in found]
        places = most_telling(reads, learning.outputs, learning.of_first, LEARNED_FROM)
    for place in places:
        feature = memory.feature(found[place])
        rules = list(map(memory.score, _tables(feature, learning, with_bits=place < len(numbers))))
        if rules:
            of_each.append((feature, rules))
            yield from rules
            yield plain_score(feature)
    of_each.sort(key=lambda one: -max(_told(rule, learning) for rule in one[1]))
    for feature, rules in of_each[:IN_DETAIL]:
        values = as_doubles(feature.of(learning.outputs))
        if len(different_values(values)) > FEW:
            finite = values[np.isfinite(values)]
            rules.append(memory.score(linear_rule(feature, learning)))
            yield rules[-1]
            yield from number_scores(feature, float(np.median(finite)) if finite.size else 0.0)
    chosen = [rules for _, rules in of_each[:WEIGHED]]
    if len(chosen) > 1:
        yield summed([rules[0] for rules in chosen])
    if sum(map(len, chosen)) > 1:
        yield weighed([rule for rules in chosen for rule in rules], learning)


def _of_all_numbers(numbers: Sequence[Feature], memory: Memory) -> Iterator[Score]:
    """The regression over all numbers, and the table of which of them have a likely value."""
    kept = [memory.feature(feature) for feature in numbers]
    codes = memory.keep(patterns(kept, memory.learning))
    seen = different_values(codes(memory.learning.outputs))
    if 1 < len(seen) < len(memory.learning.outputs) // OUTPUTS_A_PATTERN:
        yield table("the pattern of likely values", codes, memory.learning, SMOOTHINGS[-1])
    yield regressed(kept, memory.learning)


def _tables(feature: Feature, learning: Learning, *, with_bits: bool) -> Iterator[Score]:
    """The tables of one feature by itself; none if it always has the same value."""
    ordered = np.sort(as_doubles(feature.of(learning.outputs)))
    distinct = different_values(ordered)
    if len(distinct) <= FEW:
        if len(distinct) > 1:
            yield table(feature.description, bins(feature, distinct), learning, SMOOTHINGS[-1])
        return
    yield table(f"the size of {feature.description}", bins(feature, _ends(ordered)), learning)
    if with_bits:
        yield table(f"the sign, exponent and grid of {feature.description}", cells_of(feature), learning)


def _ends(ordered: Doubles) -> Doubles:
    shares = np.concatenate([TAILS, np.arange(1, BINS) / BINS, 1 - TAILS])
    known = ordered[~np.isnan(ordered)]
    return np.unique(known[(shares * len(known)).astype(np.intp)])


def _told(rule: Score, learning: Learning) -> float:
    """How far apart the two inputs are in a rule, in its standard deviations."""
    scores = rule.of(learning.outputs)
    apart = scores[learning.of_first].mean() - scores[~learning.of_first].mean()
    return abs(float(apart)) / (float(scores.std()) + 1e-9)
