"""Laplace mechanisms, the geometric mechanism and randomized response as targets."""

from __future__ import annotations

from functools import partial

from attacklab.model.domains import Domain
from attacklab.model.targets import Target
from experiments.targets.making import BIT, GRID, named, noise, of_term
from mechanisms.core.grid import Grid
from mechanisms.laplace import exact, naive

ANSWERS = (-16, 16)
"""The public range of answers of the mechanisms that need one."""

INTEGERS = Domain(integers=True)

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
    return noise(naive.naive_two_sided_geometric, epsilon)


@named
def naive_randomized_response(epsilon: float = 1.0) -> Target:
    """Randomized response of one bit, by one uniform double."""
    release = partial(naive.naive_randomized_response, epsilon=epsilon)
    return Target.dataset(release, epsilon=epsilon, pairs=[BIT])


@named
def exact_rounded_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid, exact."""
    return of_term(Target.noise, exact.exact_rounded_laplace(epsilon=epsilon, grid=GRID), epsilon=epsilon)


@named
def exact_discrete_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, discrete noise on a public grid, exact."""
    return of_term(Target.noise, exact.exact_discrete_laplace(epsilon=epsilon, grid=GRID), epsilon=epsilon)


@named
def exact_rounded_laplace_wide(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid of step 256, exact."""
    return of_term(
        Target.noise, exact.exact_rounded_laplace(epsilon=epsilon, grid=WIDE_GRID), epsilon=epsilon, domain=INTEGERS
    )


@named
def exact_laplace_on_grid(epsilon: float = 1.0) -> Target:
    """Laplace mechanism as a base-2 exponential mechanism on a range of whole numbers, exact; its ε is rounded down."""
    lower, upper = ANSWERS
    term = exact.exact_laplace_on_grid(epsilon=epsilon, lower=lower, upper=upper, grid=Grid(0))
    return of_term(Target.noise, term, epsilon=epsilon)


@named
def exact_two_sided_geometric(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise in constant work, clamped to a range, exact; its ε is rounded down."""
    lower, upper = ANSWERS
    return of_term(
        Target.noise, exact.exact_two_sided_geometric(epsilon=epsilon, lower=lower, upper=upper), epsilon=epsilon
    )


@named
def exact_snapping(epsilon: float = 1.0) -> Target:
    """Laplace mechanism by snapping, exact."""
    return of_term(Target.noise, exact.exact_snapping(epsilon=epsilon, bound=ANSWERS[1]), epsilon=epsilon)


@named
def exact_randomized_response(epsilon: float = 1.0) -> Target:
    """Randomized response of one bit, exact."""
    return of_term(Target.dataset, exact.exact_randomized_response(epsilon=epsilon), epsilon=epsilon, pairs=[BIT])
