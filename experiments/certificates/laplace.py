"""Drafts of certificates of Laplace mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from mechanisms.laplace.exact_fast import exact_discrete_laplace_fast
from mechanisms.laplace.exact_rounded import exact_rounded_laplace, exact_rounded_laplace_fast

from attacklab.certificates import Draft
from experiments.targets.laplaces import WIDE_GRID
from experiments.targets.making import GRID
from mechanisms.grid import Grid
from mechanisms.laplace.exact import exact_discrete_laplace


def _on_grid(theorem: str, reference: Callable[..., object], fast: Callable[..., object], grid: Grid) -> Draft:
    return Draft(
        theorem=theorem,
        functions={"reference": reference, "fast": fast},
        parameters={"epsilon": Fraction(1), "grid": grid},
        neighbours="answers at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": "1"},
    )


def _discrete() -> Draft:
    return _on_grid("discrete_laplace_on_grid", exact_discrete_laplace, exact_discrete_laplace_fast, GRID)


def _rounded(grid: Grid) -> Draft:
    return _on_grid("rounded_ideal_laplace", exact_rounded_laplace, exact_rounded_laplace_fast, grid)


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_discrete_laplace": _discrete,
    "exact_rounded_laplace": lambda: _rounded(GRID),
    "exact_rounded_laplace_wide": lambda: _rounded(WIDE_GRID),
}
