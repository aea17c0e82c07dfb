"""Selection mechanisms as targets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import ml_dtypes
import numpy as np

from attacklab.targets import Target
from experiments.targets.making import exact_by_both_paths, exact_by_reference, selection
from mechanisms.exponential import naive as naive_exponential_family
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.weighted_sampling import IntegerWeights, Weights, sample_by_rejection
from mechanisms.exponential.exact import exact_exponential as exponential_reference
from mechanisms.exponential.exact_base2 import exact_exponential_base2 as exponential_base2_reference
from mechanisms.exponential.exact_fast import exact_exponential_fast
from mechanisms.noisy_max import exact as exact_noisy_max
from mechanisms.noisy_max import naive as naive_noisy_max
from mechanisms.randomness import RandomBits

UTILITY_RANGE = (-4096, 4096)
"""The public range of utilities of the base-2 mechanism, whose weights get longer with it."""


def naive_exponential(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights by np.exp as they come."""
    return selection(naive_exponential_family.naive_exponential, epsilon)


def naive_exponential_stabilised(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, the largest utility subtracted first."""
    return selection(naive_exponential_family.naive_exponential_stabilised, epsilon)


def naive_exponential_binary32(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in binary32."""
    return _low_precision(np.float32, epsilon, "naive_exponential_binary32")


def naive_exponential_binary16(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in binary16."""
    return _low_precision(np.float16, epsilon, "naive_exponential_binary16")


def naive_exponential_bfloat16(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in bfloat16."""
    return _low_precision(ml_dtypes.bfloat16, epsilon, "naive_exponential_bfloat16")


def exact_exponential(epsilon: float = 1.0) -> Target:
    """Exponential mechanism in base e, exact, by levels."""
    parameters = {"epsilon": Fraction(epsilon)}
    return exact_by_both_paths(
        Target.selection,
        exact_exponential_fast,
        exponential_reference,
        parameters,
        epsilon=epsilon,
        name="exact_exponential",
    )


def exact_exponential_base2(epsilon: float = 1.0) -> Target:
    """Exponential mechanism in base 2, exact, bit by bit; its ε is rounded down."""
    eta = BaseTwoEta.from_epsilon(epsilon, y=16)
    mechanism = partial(exponential_base2_reference, eta=eta, utility_range=UTILITY_RANGE, sampler=_by_rejection)
    return exact_by_reference(Target.selection, mechanism, epsilon=epsilon, name="exact_exponential_base2")


def naive_laplace_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with Laplace noise, in doubles."""
    return selection(naive_noisy_max.naive_laplace_noisy_max, epsilon)


def naive_gumbel_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with Gumbel noise, in doubles."""
    return selection(naive_noisy_max.naive_gumbel_noisy_max, epsilon)


def naive_exponential_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with one-sided exponential noise, in doubles."""
    return selection(naive_noisy_max.naive_exponential_noisy_max, epsilon)


def exact_laplace_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with discrete Laplace noise, exact."""
    return _reference(exact_noisy_max.exact_laplace_noisy_max, epsilon)


def exact_exponential_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with one-sided exponential noise (permute and flip), exact."""
    return _reference(exact_noisy_max.exact_exponential_noisy_max, epsilon)


def _reference(mechanism: Callable[..., int], epsilon: float) -> Target:
    sampler = partial(mechanism, epsilon=Fraction(epsilon))
    return exact_by_reference(Target.selection, sampler, epsilon=epsilon, name=mechanism.__name__)


def _low_precision(dtype: Any, epsilon: float, name: str) -> Target:
    mechanism = partial(naive_exponential_family.naive_exponential_low_precision, epsilon=epsilon, dtype=dtype)
    return Target.selection(mechanism, epsilon=epsilon, name=name)


def _by_rejection(weights: Weights, bits: RandomBits) -> int:
    return sample_by_rejection(_listed(weights), bits)  # type: ignore[arg-type] # weights are frozen, hence hashable


@lru_cache(maxsize=16)
def _listed(weights: Weights) -> IntegerWeights:
    """Weights of so many bits take longer to compute than to draw by: once for all draws with the same."""
    return IntegerWeights(tuple(weights))
