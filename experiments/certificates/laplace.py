"""Drafts of certificates of Laplace mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attacklab.certificates import Draft
from experiments.targets.making import GRID
from mechanisms.laplace.exact import exact_discrete_laplace


def _discrete_laplace() -> Draft:
    return Draft(
        theorem="discrete_laplace_on_grid",
        functions={"reference": exact_discrete_laplace},
        parameters={"epsilon": Fraction(1), "grid": GRID},
        neighbours="answers at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": "1"},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {"exact_discrete_laplace": _discrete_laplace}
