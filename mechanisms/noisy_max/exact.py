"""Report noisy max, exactly: selection by one-sided exponential and by Laplace noise, and no floating point.

Each function takes public parameters and returns a term of `mechanisms.core`; what data it takes, and why no database
makes it fail, is as in `mechanisms.exponential.exact`. Gumbel noise gives the exponential mechanism, so its exact twin
is `mechanisms.exponential.exact.exact_exponential`. README.md says what each of them loses.
"""

from __future__ import annotations

from mechanisms.core.noisy_max import NoisyMax, PermuteAndFlip
from mechanisms.core.numbers import Number, positive
from mechanisms.core.scores import WIDEST_RANGE, utilities


def exact_exponential_noisy_max(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> PermuteAndFlip:
    """Return permute-and-flip, which has the law of report noisy max with one-sided exponential noise: ε-DP."""
    return PermuteAndFlip(utilities(sensitivity, utility_range, monotone), positive("epsilon", epsilon))


def exact_laplace_noisy_max(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> NoisyMax:
    """Return report noisy max with discrete Laplace noise on utilities in whole units of Δu: ε-DP.

    The noise's scale is 2/ε, and 1/ε if utilities are monotone. Ties are broken uniformly at random.

    Arguments, result and errors as in `exact_exponential_noisy_max`; besides, `epsilon` must be at least 2^−45.
    """
    return NoisyMax(utilities(sensitivity, utility_range, monotone), positive("epsilon", epsilon))
