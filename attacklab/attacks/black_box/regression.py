"""The logistic regression of the input over all numbers of an output, for effects too small for tables of each.

A table of 32 bins needs more outputs to tell a small effect from noise than three numbers do. So each number gives few
regressors: its place among its own likely values, or else its rank, the square of that, and on which side of the median
it lies. Of few numbers, the products of two are regressors as well. What comes of it is a log likelihood ratio.

Where all numbers tell equally little, the weights of each are mostly noise. So there is a second regression, over the
sums of their regressors alone: as they are, and with the signs by which the two inputs move them apart.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', for the regression. The regressors are ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from attacklab.attacks.black_box.scores import Learning, Score, as_doubles
from attacklab.attacks.features import Feature
from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs

MOST = 32  # how many numbers are regressors
IN_PAIRS = 12  # how many numbers at the most have their products among the regressors
LIKELY = 1 / 64  # a value is likely that makes up this share of the outputs
LIKELY_VALUES = 6  # how many likely values of a number are regressors
RANKED = 3  # how many regressors the rank of a number gives
CLEARLY = 2.0  # a number moves another way than most if its mean says so by so many standard errors
KNOTS = 32  # how many quantiles ranks are interpolated between
PENALTY = 1.0  # the weight of the ridge: as much as one output more
STEPS, SMALLEST_STEP = 32, 1e-3  # how many steps the regression takes at the most, and the one after which it ends


@dataclass(frozen=True, slots=True)
class _Read:
    """One number, with its likely values, ascending, and quantiles of all others; none if those are too few."""

    of: Callable[[Outputs], NDArray[Any]]
    likely: Doubles
    knots: Doubles

    @classmethod
    def off(cls, feature: Feature, learning: Learning) -> _Read:
        """The likely values and the quantiles that these outputs show."""
        values = as_doubles(feature.of(learning.outputs))
        known, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[:LIKELY_VALUES]
        likely = np.sort(known[frequent[counts[frequent] >= LIKELY * len(values)]])
        rest = values[(_codes(values, likely) == 0) & np.isfinite(values)]
        enough = len(rest) >= LIKELY * len(values)
        shares = np.linspace(0, 1, KNOTS + 1)
        return cls(feature.of, likely, np.unique(np.quantile(rest, shares)) if enough else np.empty(0))

    @property
    def varies(self) -> bool:
        """Whether it has any regressor."""
        return len(self.knots) > 1 or len(self.likely) > 1

    def codes(self, outputs: Outputs) -> NDArray[np.int64]:
        """Which likely value it is, from 1; 0 for all others."""
        return _codes(as_doubles(self.of(outputs)), self.likely)

    def regressors(self, outputs: Outputs) -> list[Doubles]:
        """The rank with its sign and square, if there is one, and one indicator for each likely value but the first."""
        values = as_doubles(self.of(outputs))
        codes = _codes(values, self.likely)
        columns = [(codes == code).astype(np.float64) for code in range(2, len(self.likely) + 1)]
        if len(self.knots) > 1:
            ranks = np.interp(values, self.knots, np.linspace(-1, 1, len(self.knots)))
            ranks[(codes > 0) | np.isnan(values)] = 0
            columns = [ranks, np.sign(ranks), ranks * ranks, *columns]
        return columns


@dataclass(frozen=True, slots=True, eq=False)
class _Regression:
    """What is fitted: a constant, the regressors of each number, and products of the first regressors of two."""

    reads: tuple[_Read, ...]
    weights: Doubles

    def __call__(self, outputs: Outputs) -> Doubles:
        """The log likelihood ratio of each output."""
        total = np.full(len(outputs), self.weights[0])
        place, firsts = 1, []
        for read in self.reads:
            columns = read.regressors(outputs)
            for column in columns:
                total += self.weights[place] * column
                place += 1
            firsts.append(columns[0])
        for (first, second), weight in zip(_products(firsts), self.weights[place:], strict=True):
            total += weight * (first * second)
        return total


def _rows(reads: Sequence[_Read], outputs: Outputs) -> Doubles:
    """A constant and all regressors: shape (regressors + 1, outputs)."""
    blocks = [read.regressors(outputs) for read in reads]
    products = [first * second for first, second in _products([block[0] for block in blocks])]
    return np.stack([np.ones(len(outputs)), *itertools.chain.from_iterable(blocks), *products])


def _products(firsts: Sequence[Doubles]) -> Iterator[tuple[Doubles, Doubles]]:
    return itertools.combinations(firsts if len(firsts) <= IN_PAIRS else (), 2)


def regressed(features: Sequence[Feature], learning: Learning) -> Score:
    """The logistic regression of the input over several numbers.

    Args:
        features: of which the first `MOST` are regressors.
        learning: what it is learned from.
    """
    reads = [_Read.off(feature, learning) for feature in features[:MOST]]
    varying = tuple(read for read in reads if read.varies)
    weights = _fitted(_rows(varying, learning.outputs), learning.of_first)
    again = partial(regressed, features)
    return Score("a logistic regression over all numbers", _Regression(varying, weights), again)


@dataclass(frozen=True, slots=True, eq=False)
class _OverSums:
    """What is fitted: regressors of all numbers summed, with signs of directions, and counts of likely values."""

    reads: tuple[_Read, ...]
    signs: Doubles
    values: Doubles
    weights: Doubles = field(default_factory=lambda: np.empty(0))

    def rows(self, outputs: Outputs) -> Doubles:
        """A constant, the sums, and how many numbers have each likely value: shape (regressors, outputs)."""
        sums = np.zeros((RANKED + len(self.values), len(outputs)))
        for read, sign in zip(self.reads, self.signs, strict=True):
            if len(read.knots) > 1:
                rank, side, square = read.regressors(outputs)[:RANKED]
                sums[:RANKED] += sign * rank, sign * side, square
            codes = read.codes(outputs)
            for code, value in enumerate(read.likely, start=1):
                sums[RANKED + np.searchsorted(self.values, value)] += codes == code
        return np.vstack([np.ones(len(outputs)), sums])

    def __call__(self, outputs: Outputs) -> Doubles:
        """The log likelihood ratio of each output."""
        return np.asarray(self.weights @ self.rows(outputs))


def regressed_on_sums(features: Sequence[Feature], learning: Learning) -> Score:
    """The logistic regression of the input over sums of the regressors of several numbers.

    Args:
        features: of which the first `MOST` are summed.
        learning: what it is learned from.
    """
    reads = tuple(_Read.off(feature, learning) for feature in features[:MOST])
    values = np.unique(np.concatenate([read.likely for read in reads]))
    model = _OverSums(reads, _signs(reads, learning), values)
    weights = _fitted(model.rows(learning.outputs), learning.of_first)
    again = partial(regressed_on_sums, features)
    return Score("a logistic regression over sums of all numbers", replace(model, weights=weights), again)


def _signs(reads: Sequence[_Read], learning: Learning) -> Doubles:
    """Which numbers the first input moves up: as most are moved, but for those that clearly move the other way."""
    shifts = np.zeros(len(reads))
    for place, read in enumerate(reads):
        if len(read.knots) > 1:
            ranks = read.regressors(learning.outputs)[0]
            apart = ranks[learning.of_first].mean() - ranks[~learning.of_first].mean()
            shifts[place] = apart / (float(ranks.std()) or 1.0) * math.sqrt(len(ranks)) / 2
    most = 1.0 if shifts.sum() >= 0 else -1.0
    return np.where(shifts * most < -CLEARLY, -most, most)


def patterns(features: Sequence[Feature], learning: Learning) -> Callable[[Outputs], NDArray[np.int64]]:
    """Which of several numbers have which of their likely values, as a code."""
    return partial(_pattern, reads=tuple(_Read.off(feature, learning) for feature in features[:MOST]))


def _pattern(outputs: Outputs, *, reads: Sequence[_Read]) -> NDArray[np.int64]:
    code = np.zeros(len(outputs), dtype=np.uint64)
    for read in reads:
        code = code * np.uint64(LIKELY_VALUES + 1) + read.codes(outputs).astype(np.uint64)  # modulo 2^64
    return code.astype(np.int64)


def _codes(values: Doubles, likely: Doubles) -> NDArray[np.int64]:
    codes = np.zeros(len(values), dtype=np.int64)
    for place, value in enumerate(likely):
        codes[values == value] = place + 1
    return codes


def _fitted(rows: Doubles, of_first: NDArray[np.bool_]) -> Doubles:
    """The weights of the largest penalised likelihood, by steps that never overshoot.

    They are Newton's with a bound in place of the second derivatives (Böhning and Lindsay 1988), which is the same at
    every step.
    """
    labels = of_first.astype(np.float64)
    weights = np.zeros(len(rows))
    bound = scipy.linalg.cho_factor(rows @ rows.T / 4 + PENALTY * np.eye(len(rows)))
    for _ in range(STEPS):
        step = scipy.linalg.cho_solve(bound, rows @ (labels - scipy.special.expit(weights @ rows)) - PENALTY * weights)
        weights = weights + step
        if np.abs(step).max() < SMALLEST_STEP:
            break
    return weights
