"""A quantile, exactly: the base-e exponential mechanism over a public grid of candidates, by their distance in rank.

Sources: Smith 2011, 'Privacy-preserving Statistical Estimation with Optimal Convergence Rates', section 3; McSherry and
Talwar 2007, 'Mechanism Design via Differential Privacy'. An interval between two records that holds w candidates has w
times the weight of one of them, as an interval of width w has in Smith's version; candidates that equal a record have a
weight of their own, which an interval of width 0 has not.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.exponential.exact import exact_exponential
from mechanisms.exponential.exact_fast import exact_exponential_fast
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.quantile.candidates import Candidates, rank_utilities, rank_weights
from mechanisms.randomness import RandomBits


def exact_quantile(
    records: PrivateNumbers,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    quantile: float | Fraction,
    candidates: Candidates,
) -> float:
    """Select a candidate by its distance in rank from the quantile.

    Args:
        records: shape (n,), numbers as `mechanisms.private_numbers` reads them, each rounded to the nearest double.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        quantile: α, in [0, 1].
        candidates: the public candidates.

    Returns:
        A candidate, with ε-DP if neighbours differ by one record, added or removed.

    Raises:
        TypeError: a record is not a number, by its type.
        ValueError: `records` is not one-dimensional, or a public parameter is out of its range.
    """
    utilities, sensitivity = rank_utilities(records, quantile, candidates), max(rank_weights(quantile))
    outcome = exact_exponential(utilities, bits, epsilon=epsilon, sensitivity=sensitivity)
    return float(candidates.values()[outcome])


def exact_quantile_fast(
    records: PrivateNumbers,
    trials: int,
    bits: RandomBits,
    *,
    epsilon: float | Fraction,
    quantile: float | Fraction,
    candidates: Candidates,
) -> NDArray[np.float64]:
    """Select candidates many times; the law is that of `exact_quantile`.

    Args:
        records: shape (n,).
        trials: how many candidates to select.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        quantile: α, in [0, 1].
        candidates: the public candidates.

    Returns:
        Array of `trials` candidates.

    Raises:
        TypeError: a record is not a number, by its type.
        ValueError: `records` is not one-dimensional, or a public parameter is out of its range.
    """
    utilities, sensitivity = rank_utilities(records, quantile, candidates), max(rank_weights(quantile))
    outcomes = exact_exponential_fast(utilities, trials, bits, epsilon=epsilon, sensitivity=sensitivity)
    return candidates.values()[outcomes]
