"""Laplace mechanisms, the geometric mechanism and randomized response as targets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.targets import Target
from experiments.targets.making import BIT, GRID, Giving, Taking, exact_by_both_paths, exact_by_reference, named, noise
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.grid import Grid
from mechanisms.laplace import (
    exact,
    exact_fast,
    exact_geometric,
    exact_on_grid,
    exact_rounded,
    naive,
    naive_geometric,
)
from mechanisms.laplace import exact_randomized_response as exact_response
from mechanisms.laplace import exact_snapping as snapping
from mechanisms.laplace import naive_randomized_response as naive_response

ANSWERS = (-16, 16)
"""The public range of answers of the mechanisms that need one."""

WIDE_GRID = Grid(8)
"""The public grid of answers of up to 2^61."""


@named
def naive_laplace_inverse_cdf(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, textbook inverse CDF."""
    return noise(naive.naive_laplace_inverse_cdf, epsilon)


@named
def naive_laplace_numpy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's Generator.laplace."""
    return noise(naive.naive_laplace_numpy, epsilon)


@named
def naive_laplace_numpy_legacy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's legacy RandomState.laplace."""
    return noise(naive.naive_laplace_numpy_legacy, epsilon)


@named
def naive_two_sided_geometric(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise, each variate counted in a loop."""
    return noise(naive_geometric.naive_two_sided_geometric, epsilon)


@named
def naive_randomized_response(epsilon: float = 1.0) -> Target:
    """Randomized response of one bit, by one uniform double."""
    release = partial(naive_response.naive_randomized_response, epsilon=epsilon)
    return Target.dataset(release, epsilon=epsilon, pairs=[BIT])


@named
def exact_rounded_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid, exact."""
    return _on_grid(exact_rounded.exact_rounded_laplace_fast, exact_rounded.exact_rounded_laplace, epsilon)


@named
def exact_discrete_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, discrete noise on a public grid, exact."""
    return _on_grid(exact_fast.exact_discrete_laplace_fast, exact.exact_discrete_laplace, epsilon)


@named
def exact_rounded_laplace_wide(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid of step 256, exact."""
    return _on_grid(exact_rounded.exact_rounded_laplace_fast, exact_rounded.exact_rounded_laplace, epsilon, WIDE_GRID)


@named
def exact_laplace_on_grid(epsilon: float = 1.0) -> Target:
    """Laplace mechanism as a base-2 exponential mechanism on a range of whole numbers, exact; its ε is rounded down."""
    eta = BaseTwoEta.from_epsilon(epsilon, y=16)
    lower, upper = ANSWERS

    sampler = partial(exact_on_grid.exact_laplace_on_grid, eta=eta, lower=lower, spacing=1, points=upper - lower + 1)
    return exact_by_reference(Target.noise, Giving(int, sampler), epsilon=epsilon)


@named
def exact_two_sided_geometric(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise in constant work, clamped to a range, exact; its ε is rounded down."""
    eta = BaseTwoEta.from_epsilon(epsilon, y=16, monotone=True)
    lower, upper = ANSWERS
    sampler = partial(exact_geometric.exact_rounded_geometric, eta=eta, lower=lower, upper=upper)
    return exact_by_reference(Target.noise, sampler, epsilon=epsilon)


@named
def exact_snapping(epsilon: float = 1.0) -> Target:
    """Laplace mechanism by snapping, exact."""
    sampler = partial(snapping.exact_snapping, epsilon=Fraction(epsilon), bound=float(ANSWERS[1]))
    return exact_by_reference(Target.noise, Taking(float, sampler), epsilon=epsilon)


@named
def exact_randomized_response(epsilon: float = 1.0) -> Target:
    """Randomized response of one bit, exact."""
    sampler = partial(exact_response.exact_randomized_response, epsilon=Fraction(epsilon))
    return exact_by_reference(Target.dataset, Taking(bool, sampler), epsilon=epsilon, pairs=[BIT])


def _on_grid(fast: Callable[..., Any], reference: Callable[..., Any], epsilon: float, grid: Grid = GRID) -> Target:
    parameters = {"epsilon": Fraction(epsilon), "grid": grid}
    return exact_by_both_paths(Target.noise, fast, reference, parameters, epsilon=epsilon)
