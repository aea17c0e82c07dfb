"""All scores of a sample of outputs: of each feature, of all features together, and of the whole output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from attacklab.attacks.black_box.rules import (
    FAINTEST,
    bins,
    cells_of,
    summed,
    table,
    weighed,
)
from attacklab.attacks.black_box.scores import (
    IS_FAILURE,
    Learning,
    Score,
    as_doubles,
    number_scores,
    plain_score,
)
from attacklab.attacks.features import Feature, hashes, taken_apart
from attacklab.attacks.features.variety import most_telling
from attacklab.model.floats import Doubles

BINS = 32  # into how many bins of equal frequency a feature is cut for its table
TAILS = 2.0 ** -np.arange(6.0, 12.0)  # where bins in the tails end
FEW = 64  # a feature of no more values has no bits worth a look: each of its values is an atom
LEARNED_FROM = 24  # from how many features rules are learned: those that tell the two inputs apart best at a first look
IN_DETAIL = 4  # how many features have every score looked at; the others have tables only
WEIGHED = 16  # how many features the rules over all of them take in
SMOOTHINGS = (FAINTEST, 8.0)  # how tables of atoms are smoothed: the first trusts rare atoms, the second frequent ones


def learned_scores(learning: Learning, ranking: Learning) -> Iterator[Score]:
    """Yield every score, learned from one sample.

    Args:
        learning: the sample to learn from.
        ranking: the sample that scores will be ranked on; it only shows whether whole outputs come up again.

    Raises:
        NotUnderstood: an output cannot be taken apart.
    """
    numbers, others = taken_apart(learning.outputs, learning.of_first)
    yield IS_FAILURE
    yield from _of_wholes(learning, ranking)
    yield from _of_features(numbers, others, learning)


def _of_wholes(learning: Learning, ranking: Learning) -> Iterator[Score]:
    """Yield tables of whole outputs, if any output comes up twice."""
    seen = np.concatenate([hashes(learning.outputs), hashes(ranking.outputs)])
    if len(np.unique(seen)) < len(seen):
        for smoothing in SMOOTHINGS:
            yield table("the whole output", hashes, learning, smoothing)


def _of_features(numbers: Sequence[Feature], others: Sequence[Feature], learning: Learning) -> Iterator[Score]:
    of_each: list[tuple[Feature, list[Score]]] = []
    features = (*numbers, *others)
    places: Sequence[int] = range(len(features))
    if len(features) > LEARNED_FROM:
        reads = [feature.of for feature in features]
        places = most_telling(reads, learning.outputs, learning.of_first, LEARNED_FROM)
    for place in places:
        feature = features[place]
        rules = list(_tables(feature, learning, with_bits=place < len(numbers)))
        if rules:
            of_each.append((feature, rules))
            yield from rules
            yield plain_score(feature)
    of_each.sort(key=lambda pair: -max(_separation(rule, learning) for rule in pair[1]))
    for feature, _ in of_each[:IN_DETAIL]:
        yield from _in_detail(feature, learning)
    chosen = [rules for _, rules in of_each[:WEIGHED]]
    if len(chosen) > 1:
        yield summed([rules[0] for rules in chosen])
    if sum(map(len, chosen)) > 1:
        yield weighed([rule for rules in chosen for rule in rules], learning)


def _in_detail(feature: Feature, learning: Learning) -> Iterator[Score]:
    """Yield the other scores of a feature; none if it has few values or stands for texts."""
    values = as_doubles(feature.of(learning.outputs))
    if len(np.unique(values)) > FEW and not feature.is_text:
        finite = values[np.isfinite(values)]
        yield from number_scores(feature, float(np.median(finite)) if finite.size else 0.0)


def _tables(feature: Feature, learning: Learning, *, with_bits: bool) -> Iterator[Score]:
    """Yield the tables of one feature by itself; none if it always has the same value."""
    ordered = np.sort(as_doubles(feature.of(learning.outputs)))
    distinct = np.unique(ordered)
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


def _separation(rule: Score, learning: Learning) -> float:
    """Return how far apart a rule's mean scores of the two inputs are, in standard deviations."""
    scores = rule.of(learning.outputs)
    apart = scores[learning.of_first].mean() - scores[~learning.of_first].mean()
    return abs(float(apart)) / (float(scores.std()) + 1e-9)
