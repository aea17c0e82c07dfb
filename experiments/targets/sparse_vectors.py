"""The sparse vector technique as targets: twelve queries, a threshold of 0, and five positives."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.model.domains import Domain, Queries
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from experiments.targets.making import named, of_term
from mechanisms.core.grid import Grid
from mechanisms.sparse_vector import exact, naive

SIZE = 12
HALF = SIZE // 2

QUERIES: dict[str, Any] = {
    "domain": Domain(shape=Queries(size=SIZE)),
    "pairs": (NeighbouringPair.utilities([0.0] * SIZE, [1.0] * HALF + [-1.0] * HALF, sensitivity=1.0),),
}
"""The inputs of every target here. Variants lose more if more answers move, and in both directions."""

STOPPING: dict[str, Any] = {"threshold": 0, "positives": 5}
"""The threshold, and the number of positives after which a mechanism stops."""

COUNTS = Grid(0)
"""The public grid of answers."""


@named
def naive_above_threshold(epsilon: float = 1.0) -> Target:
    """AboveThreshold in doubles, noise of numpy's Generator.laplace."""
    return _naive(naive.naive_above_threshold, epsilon, **STOPPING)


@named
def naive_above_threshold_unscaled(epsilon: float = 1.0) -> Target:
    """AboveThreshold as Lee and Clifton have it: the answers' noise does not grow with the positives."""
    return _naive(naive.naive_above_threshold_unscaled, epsilon, **STOPPING)


@named
def naive_above_threshold_noiseless(epsilon: float = 1.0) -> Target:
    """AboveThreshold as Stoddard et al. have it: answers have no noise."""
    return _naive(naive.naive_above_threshold_noiseless, epsilon, threshold=0)


@named
def naive_above_threshold_endless(epsilon: float = 1.0) -> Target:
    """AboveThreshold as Chen et al. have it: it never stops."""
    return _naive(naive.naive_above_threshold_endless, epsilon, threshold=0)


@named
def naive_numeric_sparse(epsilon: float = 1.0) -> Target:
    """The numeric sparse vector technique in doubles, fresh noise of numpy's Generator.laplace on values."""
    return _naive(naive.naive_numeric_sparse, epsilon, **STOPPING)


@named
def naive_numeric_sparse_reused(epsilon: float = 1.0) -> Target:
    """The numeric sparse vector technique of lecture notes of 2011: it releases the noisy value that it compared."""
    return _naive(naive.naive_numeric_sparse_reused, epsilon, **STOPPING)


@named
def exact_above_threshold(epsilon: float = 1.0) -> Target:
    """AboveThreshold with discrete Laplace noise, exact."""
    half = Fraction(epsilon) / 2
    return _exact(epsilon, epsilon_threshold=half, epsilon_answers=half)


@named
def exact_numeric_sparse(epsilon: float = 1.0) -> Target:
    """The numeric sparse vector technique with discrete Laplace noise, exact."""
    third = Fraction(epsilon) / 3
    return _exact(epsilon, epsilon_threshold=third, epsilon_answers=third, epsilon_values=third)


def _naive(mechanism: Callable[..., Any], epsilon: float, **public: Any) -> Target:
    return Target.dataset(partial(mechanism, epsilon=epsilon, **public), epsilon=epsilon, **QUERIES)


def _exact(epsilon: float, **budget: Any) -> Target:
    term = exact.exact_above_threshold(**STOPPING, **budget, grid=COUNTS)
    return of_term(Target.dataset, term, epsilon=epsilon, **QUERIES)
