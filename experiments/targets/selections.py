"""Selection mechanisms as targets."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from attacklab.model.claims import ZeroConcentrated
from attacklab.model.targets import Target
from experiments.targets.making import exact_by_reference, named, of_term, selection
from mechanisms.core.term import Mechanism
from mechanisms.exponential import exact, naive
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.noisy_max import exact as noisy_max
from mechanisms.noisy_max import naive as naive_noisy_max

UTILITY_RANGE = (-4096, 4096)
"""The public range of utilities. A wider one makes weights in base 2 longer, and may add levels with fixed work."""


@named
def naive_exponential(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights by np.exp as they come."""
    return selection(naive.naive_exponential, epsilon)


@named
def naive_exponential_stabilised(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, the largest utility subtracted first."""
    return selection(naive.naive_exponential_stabilised, epsilon)


@named
def naive_exponential_binary32(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in binary32."""
    return _low_precision(np.float32, epsilon)


@named
def naive_exponential_binary16(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in binary16."""
    return _low_precision(np.float16, epsilon)


@named
def naive_exponential_bfloat16(epsilon: float = 1.0) -> Target:
    """Exponential mechanism, weights and their sums in bfloat16."""
    return _low_precision(ml_dtypes.bfloat16, epsilon)


@named
def exact_exponential(epsilon: float = 1.0) -> Target:
    """Exponential mechanism in base e, exact."""
    return _of(exact.exact_exponential(epsilon=epsilon), epsilon)


@named
def exact_exponential_base2(epsilon: float = 1.0) -> Target:
    """Exponential mechanism in base 2, exact, bit by bit; its ε is rounded down."""
    eta = BaseTwoEta.from_epsilon(epsilon, y=16)
    return _of(exact.exact_exponential_base2(eta=eta, utility_range=UTILITY_RANGE), epsilon)


@named
def exact_exponential_fixed_work(epsilon: float = 1.0) -> Target:
    """Exponential mechanism with a dyadic law of its own, the same bits and operations for every draw."""
    return _of(exact.exact_exponential_fixed_work(epsilon=epsilon, utility_range=UTILITY_RANGE), epsilon)


@named
def naive_laplace_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with Laplace noise, in doubles."""
    return selection(naive_noisy_max.naive_laplace_noisy_max, epsilon)


@named
def naive_gumbel_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with Gumbel noise, in doubles."""
    return selection(naive_noisy_max.naive_gumbel_noisy_max, epsilon)


@named
def naive_exponential_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with one-sided exponential noise, in doubles."""
    return selection(naive_noisy_max.naive_exponential_noisy_max, epsilon)


@named
def exact_laplace_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with discrete Laplace noise, exact."""
    return _of(noisy_max.exact_laplace_noisy_max(epsilon=epsilon), epsilon)


@named
def exact_exponential_noisy_max(epsilon: float = 1.0) -> Target:
    """Report noisy max with one-sided exponential noise (permute and flip), exact."""
    return _of(noisy_max.exact_exponential_noisy_max(epsilon=epsilon), epsilon)


@named
def exact_exponential_zcdp(epsilon: float = 1.0) -> Target:
    """Exponential mechanism in base e, exact; claims ε²/8-zCDP, which holds since it is ε-bounded-range."""
    term = exact.exact_exponential_zcdp(epsilon=epsilon)
    return of_term(Target.selection, term, claim=ZeroConcentrated(epsilon**2 / 8))


@named
def naive_exponential_noisy_max_zcdp(epsilon: float = 1.0) -> Target:
    """Permute and flip, drawn exactly; claims ε²/8-zCDP, which holds of the exponential mechanism alone."""
    sampler = noisy_max.exact_exponential_noisy_max(epsilon=epsilon).release
    return exact_by_reference(Target.selection, sampler, claim=ZeroConcentrated(epsilon**2 / 8))


def _of(term: Mechanism, epsilon: float) -> Target:
    return of_term(Target.selection, term, epsilon=epsilon)


def _low_precision(dtype: Any, epsilon: float) -> Target:
    mechanism = partial(naive.naive_exponential_low_precision, epsilon=epsilon, dtype=dtype)
    return Target.selection(mechanism, epsilon=epsilon)
