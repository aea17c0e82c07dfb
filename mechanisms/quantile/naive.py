"""Quantiles over the intervals between records, as textbooks and libraries write them: in binary64.

Records are clipped to [lower, upper] and sorted, and the ends put at either side: interval i lies between records i and
i + 1. Its weight is its width times exp(ε·u/(2Δ)), u = −|i − α·n|; a number of the interval is drawn uniformly. Flaws,
one a function: the low bits of that number, an output that only these records have, and weights that underflow; and,
where candidates are selected exactly, a sensitivity that holds for the median alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mechanisms.core.compose import Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.maps import PointAt
from mechanisms.core.numbers import Number, count, positive, rational
from mechanisms.core.ranks import RankScores
from mechanisms.core.select import Select

Ends = NDArray[np.float64]
"""The ends of the intervals, shape (n + 2,)."""


def naive_quantile(
    records: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    quantile: float,
    lower: float,
    upper: float,
) -> NDArray[np.float64]:
    """Select an interval, by logarithms of weights less the largest one, and return left + width·U.

    The doubles that left + width·U can be depend on left and on width, and so on the records at either end.
    """
    ends = _ends(records, epsilon, quantile, lower, upper)
    chosen = _chosen(_weights(ends, epsilon / 2, quantile), trials, rng)
    return _within(ends, chosen, rng)


def naive_quantile_midpoint(
    records: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    quantile: float,
    lower: float,
    upper: float,
) -> NDArray[np.float64]:
    """Return the middle of the selected interval: a number that hardly any other dataset can lead to.

    Arguments and result as in `naive_quantile`.
    """
    ends = _ends(records, epsilon, quantile, lower, upper)
    chosen = _chosen(_weights(ends, epsilon / 2, quantile), trials, rng)
    return (ends[chosen] + ends[chosen + 1]) / 2


def naive_quantile_unscaled(
    records: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    epsilon: float,
    quantile: float,
    lower: float,
    upper: float,
) -> NDArray[np.float64]:
    """Select an interval by weights width·exp(ε·u/2), not rescaled; the output is NaN if all weights underflow.

    That happens to datasets of many equal records: all intervals near the quantile have width 0.

    Arguments and result as in `naive_quantile`, but NaN is among the outputs.
    """
    ends = _ends(records, epsilon, quantile, lower, upper)
    weights = np.diff(ends) * np.exp(epsilon * _utilities(ends, quantile) / 2)
    if weights.sum() == 0:
        return np.full(count("trials", trials, least=0), np.nan)
    return _within(ends, _chosen(weights, trials, rng), rng)


@dataclass(frozen=True)
class MedianScores(RankScores):
    """Distances in rank with the sensitivity Δ = ½, which is right for the median alone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sensitivity", Fraction(self.quantile.denominator, 2))


def naive_quantile_half_sensitivity(
    *, epsilon: Number, quantile: Number, lower: Number, upper: Number, grid: Grid
) -> Mapped:
    """Return a mechanism that selects a candidate exactly, but with the median's sensitivity for every quantile.

    It is built like its exact twin and has the same claim, but no rule of `core` covers its utilities. Arguments as in
    `mechanisms.quantile.exact.exact_quantile`.
    """
    ranks = MedianScores(rational("quantile", quantile), rational("lower", lower), rational("upper", upper), grid)
    return Mapped(Select(ranks, positive("epsilon", epsilon)), PointAt(ranks.origin, grid))


def _ends(records: ArrayLike, epsilon: float, quantile: float, lower: float, upper: float) -> Ends:
    positive("epsilon", epsilon)
    if not 0 <= quantile <= 1:
        raise ValueError(f"quantile must lie in [0, 1], not {quantile}")
    if not -np.inf < lower < upper < np.inf:
        raise ValueError(f"lower and upper must be finite and in order, not {lower} and {upper}")
    inner = np.sort(np.clip(np.asarray(records, dtype=np.float64), lower, upper))
    return np.concatenate([[lower], inner, [upper]])


def _utilities(ends: Ends, quantile: float) -> NDArray[np.float64]:
    """Return −|i − α·n| for each interval, shape (n + 1,)."""
    size = ends.size - 2
    distances: NDArray[np.float64] = np.abs(np.arange(size + 1) - quantile * size)
    return -distances


def _weights(ends: Ends, rate: float, quantile: float) -> NDArray[np.float64]:
    """Return weights in proportion to width·exp(rate·u), scaled so that the largest is 1."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.diff(ends)) + rate * _utilities(ends, quantile)
    weights: NDArray[np.float64] = np.exp(logarithms - logarithms.max())
    return weights


def _chosen(weights: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.intp]:
    sums = np.cumsum(weights)
    found = np.searchsorted(sums, sums[-1] * rng.random(count("trials", trials, least=0)), side="right")
    chosen: NDArray[np.intp] = np.minimum(found, weights.size - 1)
    return chosen


def _within(ends: Ends, chosen: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    left, right = ends[chosen], ends[chosen + 1]
    return left + (right - left) * rng.random(chosen.size)
