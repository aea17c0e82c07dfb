"""Rules learned from outputs of both inputs: scores that say from which of the two an output came.

A *table* gives each of a number of codes (bins of a feature, combinations of sign, exponent and grid, whole outputs)
its log likelihood ratio. So the half-lines of a table are unions of codes in the order of likelihood, which are the
best bets that there are on a code (Neyman and Pearson 1933). The *weighed* rule is the ridge regression over the log
likelihood ratios of several features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.black_box.scores import Learning, Score, as_doubles, cells
from attacklab.attacks.features import Feature
from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs

PENALTY = 1.0  # the penalty of the ridge regression, in outputs: it limits the weight of what is hardly ever seen
FAINTEST = 0.5  # the smoothing of a table: how many more outputs of either input are added to those seen of a code
DENSE = 1 << 12  # codes below that are places in an array

Codes = Callable[[Outputs], NDArray[Any]]  # takes outputs and gives a code for each: integers


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
    """Return the ridge regression of the input (1 if it is the first, else −1) on several log likelihood ratios."""
    inputs = np.stack([score.of(learning.outputs) for score in scores], axis=1)
    centred = inputs - inputs.mean(axis=0)
    labels = np.where(learning.of_first, 1.0, -1.0)
    gram = centred.T @ centred + PENALTY * np.eye(len(scores))
    weights = np.linalg.solve(gram, centred.T @ (labels - labels.mean()))
    return Score("a linear rule over all features", partial(_sum, scores=tuple(scores), weights=weights))


def summed(scores: Sequence[Score]) -> Score:
    """Return the sum of several features' log likelihood ratios: their joint ratio if they are independent."""
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
