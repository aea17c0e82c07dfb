"""All scores of a sample of outputs: of each feature, of all features together, and of the whole output.

The *rules* among them are learned: they say from which of two inputs an output came. A *table* gives each of a number
of codes (bins of a feature, combinations of sign, exponent and grid, whole outputs) its log likelihood ratio. So the
half-lines of a table are unions of codes in the order of likelihood, which are the best bets that there are on a code
(Neyman and Pearson 1933). The *weighed* rule is the ridge regression over several features' log likelihood ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.black_box.scores import (
    IS_FAILURE,
    Learning,
    Score,
    as_doubles,
    cells,
    number_scores,
    plain_score,
)
from attacklab.attacks.features import Feature, hashes, taken_apart
from attacklab.attacks.features.variety import most_telling
from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs

PENALTY = 1.0  # the penalty of the ridge regression, in outputs: it limits the weight of what is hardly ever seen
FAINTEST = 0.5  # the smoothing of a table: how many more outputs of either input are added to those seen of a code
DENSE = 1 << 12  # codes below that are places in an array
BINS = 32  # into how many bins of equal frequency a feature is cut for its table
TAILS = 2.0 ** -np.arange(6.0, 12.0)  # where bins in the tails end
FEW = 64  # a feature of no more values has no bits worth a look: each of its values is an atom
LEARNED_FROM = 24  # from how many features rules are learned: those that tell the two inputs apart best at a first look
IN_DETAIL = 4  # how many features have every score looked at; the others have tables only
WEIGHED = 16  # how many features the rules over all of them take in
SMOOTHINGS = (FAINTEST, 8.0)  # how tables of atoms are smoothed: the first trusts rare atoms, the second frequent ones

Codes = Callable[[Outputs], NDArray[Any]]  # takes outputs and gives a code for each: integers


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
    """Yield a feature's scores from `number_scores`; none if it has few values or stands for texts."""
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


def table(words: str, codes: Codes, learning: Learning, smoothing: float = FAINTEST) -> Score:
    """Return the score that is a code's log likelihood ratio, learned from outputs; 0 for codes that were not seen."""
    seen = codes(learning.outputs)
    known, places = np.unique(seen, return_inverse=True)
    counts = [
        np.bincount(places[side], minlength=len(known)) + smoothing for side in (learning.of_first, ~learning.of_first)
    ]
    log_ratios = np.log(counts[0] / counts[1])
    is_dense = known[0] >= 0 and known[-1] < DENSE
    if is_dense:
        dense = np.zeros(int(known[-1]) + 2)
        dense[known.astype(np.intp)] = log_ratios

    def look_up(outputs: Outputs) -> Doubles:
        values = codes(outputs)
        if is_dense:
            return np.asarray(dense[np.clip(values, 0, len(dense) - 1)])  # the last is 0, for what was not seen
        place = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(known[place] == values, log_ratios[place], 0.0)

    again = partial(table, words, codes, smoothing=smoothing)
    return Score(f"the log likelihood ratio of {words}", look_up, again)


def bins(feature: Feature, ends: Doubles) -> Codes:
    """Return the codes of a feature's bins between ascending ends; a missing value counts as above all numbers."""
    of = feature.of
    return lambda outputs: np.searchsorted(ends, as_doubles(of(outputs)))  # NaN comes after all numbers


def cells_of(feature: Feature) -> Codes:
    """Return the codes of a feature's combinations of sign, exponent and grid exponent."""
    of = feature.of
    return lambda outputs: cells(as_doubles(of(outputs)))


def weighed(scores: Sequence[Score], learning: Learning) -> Score:
    """Return a score: the ridge regression of the input (1 if it is the first, else −1) on log likelihood ratios."""
    inputs = np.stack([score.of(learning.outputs) for score in scores], axis=1)
    centred = inputs - inputs.mean(axis=0)
    labels = np.where(learning.of_first, 1.0, -1.0)
    gram = centred.T @ centred + PENALTY * np.eye(len(scores))
    weights = np.linalg.solve(gram, centred.T @ (labels - labels.mean()))
    return Score("a linear rule over all features", partial(_sum, scores=tuple(scores), weights=weights))


def summed(scores: Sequence[Score]) -> Score:
    """Return a score: the sum of several features' log likelihood ratios, the joint ratio if they are independent."""
    return Score(
        "the log likelihood ratio of all features",
        partial(_sum, scores=tuple(scores), weights=np.ones(len(scores))),
        lambda learning: summed([score.learned_from(learning) for score in scores]),
    )


def _sum(outputs: Outputs, *, scores: Sequence[Score], weights: Doubles) -> Doubles:
    total = np.zeros(len(outputs))
    for score, weight in zip(scores, weights, strict=True):
        total += weight * score.of(outputs)
    return total
