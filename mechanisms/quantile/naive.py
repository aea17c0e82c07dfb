"""Quantiles over the intervals between records, as textbooks and libraries write them: in binary64.

Records are clipped to [lower, upper] and sorted, and the ends put at either side: interval i lies between records i and
i + 1. Its weight is its width times exp(ε·u/(2Δ)), u = −|i − α·n|; a number of the interval is drawn uniformly. Flaws,
one a function: the low bits of that number, an output that only these records have, and weights that underflow; and,
where candidates are selected exactly, a sensitivity that holds for the median alone.

Source: Smith 2011, 'Privacy-preserving Statistical Estimation with Optimal Convergence Rates', section 3.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mechanisms.exponential.exact import exact_exponential
from mechanisms.exponential.exact_fast import exact_exponential_fast
from mechanisms.parameters import positive_rational, trial_count
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.quantile.candidates import Candidates, rank_utilities, rank_weights
from mechanisms.randomness import RandomBits

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
    """Weigh intervals by logarithms, from which the largest is subtracted, and draw left + width·U.

    The doubles that left + width·U can be depend on left and on width, and so on the records at either end.

    Args:
        records: shape (n,).
        trials: how many quantiles to draw.
        rng: the source of randomness.
        epsilon: privacy parameter, above 0.
        quantile: α, in [0, 1].
        lower: the least value of a record.
        upper: the largest one.

    Returns:
        Array of `trials` numbers between `lower` and `upper`.

    Raises:
        ValueError: a parameter is out of its range.
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
    """Return the middle of an interval: a number that hardly any other dataset can lead to.

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
    """Weigh intervals by width·exp(ε·u/2) as they come; where all weights underflow, their quotients are NaN.

    That happens to datasets of many equal records: all intervals near the quantile have width 0.

    Arguments and result as in `naive_quantile`, but NaN is among the outputs.
    """
    ends = _ends(records, epsilon, quantile, lower, upper)
    weights = np.diff(ends) * np.exp(epsilon * _utilities(ends, quantile) / 2)
    if weights.sum() == 0:
        return np.full(trial_count(trials), np.nan)
    return _within(ends, _chosen(weights, trials, rng), rng)


def naive_quantile_half_sensitivity(
    records: PrivateNumbers,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    quantile: float | Fraction,
    candidates: Candidates,
) -> float:
    """Select a candidate exactly, with Δ = ½ in rank, by which one record moves |i − n/2|: the median's alone.

    Arguments and result as in `mechanisms.quantile.exact.exact_quantile`.
    """
    utilities, half = rank_utilities(records, quantile, candidates), Fraction(sum(rank_weights(quantile)), 2)
    outcome = exact_exponential(utilities, bits, epsilon=epsilon, sensitivity=half)
    return float(candidates.values()[outcome])


def naive_quantile_half_sensitivity_fast(
    records: PrivateNumbers,
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    quantile: float | Fraction,
    candidates: Candidates,
) -> NDArray[np.float64]:
    """Select candidates many times; the law is that of `naive_quantile_half_sensitivity`."""
    utilities, half = rank_utilities(records, quantile, candidates), Fraction(sum(rank_weights(quantile)), 2)
    outcomes = exact_exponential_fast(utilities, trials, bits, epsilon=epsilon, sensitivity=half)
    return candidates.values()[outcomes]


def _ends(records: ArrayLike, epsilon: float, quantile: float, lower: float, upper: float) -> Ends:
    positive_rational("epsilon", epsilon)
    if not 0 <= quantile <= 1:
        raise ValueError(f"quantile must lie in [0, 1], not {quantile}")
    if not -np.inf < lower < upper < np.inf:
        raise ValueError(f"lower and upper must be finite and in order, not {lower} and {upper}")
    inner = np.sort(np.clip(np.asarray(records, dtype=np.float64), lower, upper))
    return np.concatenate([[lower], inner, [upper]])


def _utilities(ends: Ends, quantile: float) -> NDArray[np.float64]:
    """Return −|i − α·n| for each interval, shape (n + 1,)."""
    count = ends.size - 2
    distances: NDArray[np.float64] = np.abs(np.arange(count + 1) - quantile * count)
    return -distances


def _weights(ends: Ends, rate: float, quantile: float) -> NDArray[np.float64]:
    """Return weights in proportion to width·exp(rate·u), of which the largest is 1."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(np.diff(ends)) + rate * _utilities(ends, quantile)
    weights: NDArray[np.float64] = np.exp(logarithms - logarithms.max())
    return weights


def _chosen(weights: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.intp]:
    sums = np.cumsum(weights)
    found = np.searchsorted(sums, sums[-1] * rng.random(trial_count(trials)), side="right")
    chosen: NDArray[np.intp] = np.minimum(found, weights.size - 1)
    return chosen


def _within(ends: Ends, chosen: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.float64]:
    left, right = ends[chosen], ends[chosen + 1]
    return left + (right - left) * rng.random(chosen.size)
