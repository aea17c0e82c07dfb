"""Drafts of certificates of releases of several answers at once, each with noise of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from mechanisms.gaussian.exact_fast import exact_discrete_gaussian_each
from mechanisms.gaussian.exact_rounded import exact_rounded_gaussian_each
from mechanisms.laplace.exact_fast import exact_discrete_laplace_each
from mechanisms.laplace.exact_rounded import exact_rounded_laplace_each

from attacklab.certificates import Draft
from experiments.targets import gaussians
from experiments.targets.making import GRID
from mechanisms.grid import Grid

FINE_GRID = Grid(-40)
"""A public grid of 2^−40, finer than a logarithm in binary64 could decide."""


def _laplace(each: Callable[..., Any], theorem: str, grid: Grid) -> Draft:
    return Draft(
        theorem=theorem,
        functions={"each": each},
        parameters={"epsilon": Fraction(1), "grid": grid},
        neighbours="one answer at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": "1"},
    )


def _gaussian(each: Callable[..., Any], theorem: str, grid: Grid) -> Draft:
    """σ is that of the Gaussian targets, and ρ = 1/2σ² what it gives."""
    sigma = gaussians.sigma_of(1.0)
    return Draft(
        theorem=theorem,
        functions={"each": each},
        parameters={"sigma": sigma, "grid": grid},
        neighbours="one answer at most 1 apart",
        claim={"kind": "zcdp", "rho": str(1 / (2 * Fraction(sigma) ** 2))},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "array_discrete_laplace": partial(_laplace, exact_discrete_laplace_each, "discrete_laplace_each", GRID),
    "array_rounded_laplace": partial(_laplace, exact_rounded_laplace_each, "rounded_laplace_each", GRID),
    "array_rounded_laplace_fine": partial(_laplace, exact_rounded_laplace_each, "rounded_laplace_each", FINE_GRID),
    "array_discrete_gaussian": partial(
        _gaussian, exact_discrete_gaussian_each, "discrete_gaussian_each", gaussians.WHOLE_NUMBERS
    ),
    "array_rounded_gaussian": partial(
        _gaussian, exact_rounded_gaussian_each, "rounded_gaussian_each", gaussians.FINE_GRID
    ),
    "array_rounded_gaussian_fine": partial(_gaussian, exact_rounded_gaussian_each, "rounded_gaussian_each", FINE_GRID),
}
