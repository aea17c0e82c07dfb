"""Laplace mechanisms and their discrete kin as targets."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.targets import Target
from experiments.targets.making import GRID, exact_by_both_paths, exact_by_reference, exactly, noise
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.grid import Grid
from mechanisms.laplace import naive as naive_laplaces
from mechanisms.laplace import naive_geometric
from mechanisms.laplace import naive_randomized_response as naive_randomized
from mechanisms.laplace.exact import exact_discrete_laplace as discrete_laplace_reference
from mechanisms.laplace.exact_fast import exact_discrete_laplace_fast
from mechanisms.laplace.exact_geometric import exact_two_sided_geometric as fixed_work_reference
from mechanisms.laplace.exact_on_grid import exact_laplace_on_grid as laplace_on_grid_reference
from mechanisms.laplace.exact_randomized_response import exact_randomized_response as randomized_response_reference
from mechanisms.laplace.exact_rounded import exact_rounded_laplace as rounded_laplace_reference
from mechanisms.laplace.exact_rounded import exact_rounded_laplace_fast
from mechanisms.laplace.exact_snapping import exact_snapping as snapping_reference
from mechanisms.randomness import RandomBits

ANSWERS = (-16, 16)
"""The public range of answers of the mechanisms that need one."""

WIDE_GRID = Grid(8)
"""The public grid of answers of up to 2^61."""


def naive_laplace_inverse_cdf(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, textbook inverse CDF."""
    return noise(naive_laplaces.naive_laplace_inverse_cdf, epsilon)


def naive_laplace_numpy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's Generator.laplace."""
    return noise(naive_laplaces.naive_laplace_numpy, epsilon)


def naive_laplace_numpy_legacy(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's legacy RandomState.laplace."""
    return noise(naive_laplaces.naive_laplace_numpy_legacy, epsilon)


def naive_two_sided_geometric(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise, each variate counted in a loop."""
    return noise(naive_geometric.naive_two_sided_geometric, epsilon)


def naive_randomized_response(epsilon: float = 1.0) -> Target:
    """Randomized response of one bit, by one uniform double."""
    return Target.dataset(partial(naive_randomized.naive_randomized_response, epsilon=epsilon), epsilon=epsilon)


def exact_rounded_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid, exact."""
    return _on_grid(exact_rounded_laplace_fast, rounded_laplace_reference, epsilon, "exact_rounded_laplace")


def exact_discrete_laplace(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, discrete noise on a public grid, exact."""
    return _on_grid(exact_discrete_laplace_fast, discrete_laplace_reference, epsilon, "exact_discrete_laplace")


def exact_rounded_laplace_wide(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, ideal noise rounded to a public grid of step 256, exact."""
    wide = exactly(exact_rounded_laplace_fast, epsilon=Fraction(epsilon), grid=WIDE_GRID)

    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return wide(Fraction(answer), trials, rng)

    return Target.noise(release, epsilon=epsilon, name="exact_rounded_laplace_wide")


def exact_laplace_on_grid(epsilon: float = 1.0) -> Target:
    """Laplace mechanism as a base-2 exponential mechanism on a range of whole numbers, exact; its ε is rounded down."""
    eta = BaseTwoEta.from_epsilon(epsilon, y=16)
    lower, upper = ANSWERS

    def sampler(answer: float, bits: RandomBits) -> int:
        released = laplace_on_grid_reference(answer, bits, eta=eta, lower=lower, spacing=1, points=upper - lower + 1)
        return int(released)

    return exact_by_reference(Target.noise, sampler, epsilon=epsilon, name="exact_laplace_on_grid")


def exact_two_sided_geometric(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise in constant work, clamped to a range, exact; its ε is rounded down."""
    eta = BaseTwoEta.from_epsilon(epsilon, y=16, monotone=True)
    lower, upper = ANSWERS

    def sampler(answer: float, bits: RandomBits) -> int:
        # Answers one apart stay so: rounding half up commutes with adding 1.
        whole = math.floor(Fraction(answer) + Fraction(1, 2))
        return fixed_work_reference(whole, bits, eta=eta, lower=lower, upper=upper)

    return exact_by_reference(Target.noise, sampler, epsilon=epsilon, name="exact_two_sided_geometric")


def exact_snapping(epsilon: float = 1.0) -> Target:
    """Laplace mechanism by snapping, exact."""

    def sampler(answer: float, bits: RandomBits) -> float:
        double = float(answer)
        if double != answer:
            raise ValueError(f"answer must be a double, not {answer!r}: rounding could move neighbours apart")
        return snapping_reference(double, bits, epsilon=Fraction(epsilon), bound=float(ANSWERS[1]))

    return exact_by_reference(Target.noise, sampler, epsilon=epsilon, name="exact_snapping")


def exact_randomized_response(epsilon: float = 1.0) -> Target:
    """Randomized response of one bit, exact."""

    def sampler(truth: bool, bits: RandomBits) -> bool:
        if not isinstance(truth, bool):
            raise TypeError(f"truth must be a bool, not {type(truth).__name__}")
        return randomized_response_reference(truth, bits, epsilon=Fraction(epsilon))

    return exact_by_reference(Target.dataset, sampler, epsilon=epsilon, name="exact_randomized_response")


def _on_grid(fast: Callable[..., Any], reference: Callable[..., Any], epsilon: float, name: str) -> Target:
    parameters = {"epsilon": Fraction(epsilon), "grid": GRID}
    return exact_by_both_paths(Target.noise, fast, reference, parameters, epsilon=epsilon, name=name)
