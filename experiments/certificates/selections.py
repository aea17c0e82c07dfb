"""Drafts of certificates of selection mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from attacklab.certificates import Draft
from experiments.targets.laplaces import ANSWERS
from experiments.targets.selections import UTILITY_RANGE
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.weighted_sampling import sample_by_rejection
from mechanisms.exponential.exact import exact_exponential
from mechanisms.exponential.exact_base2 import exact_exponential_base2, exact_exponential_base2_fast
from mechanisms.exponential.exact_fast import exact_exponential_fast
from mechanisms.laplace.exact_on_grid import exact_laplace_on_grid
from mechanisms.noisy_max.exact import exact_exponential_noisy_max, exact_laplace_noisy_max

APART = "utilities at most the sensitivity apart"


def _noisy_max(theorem: str, mechanism: Callable[..., int]) -> Draft:
    return Draft(
        theorem=theorem,
        functions={"reference": mechanism},
        parameters={"epsilon": Fraction(1)},
        neighbours=APART,
        claim={"kind": "pure", "epsilon": "1"},
    )


def _base_e(claim: Mapping[str, str]) -> Draft:
    return Draft(
        theorem="exponential_base_e",
        functions={"reference": exact_exponential, "fast": exact_exponential_fast},
        parameters={"epsilon": Fraction(1)},
        neighbours=APART,
        claim=claim,
    )


def _base2() -> Draft:
    return Draft(
        theorem="exponential_base2",
        functions={
            "reference": exact_exponential_base2,
            "fast": exact_exponential_base2_fast,
            "sampler": sample_by_rejection,
        },
        parameters={"eta": BaseTwoEta.from_epsilon(1, y=16), "utility_range": UTILITY_RANGE},
        neighbours=APART,
        claim={"kind": "pure", "epsilon": "1"},
    )


def _laplace_on_grid() -> Draft:
    lower, upper = ANSWERS
    return Draft(
        theorem="laplace_on_finite_grid",
        functions={"reference": exact_laplace_on_grid, "selection": exact_exponential_base2},
        parameters={
            "eta": BaseTwoEta.from_epsilon(1, y=16),
            "lower": lower,
            "spacing": 1,
            "points": upper - lower + 1,
        },
        neighbours="answers at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": "1"},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_exponential": lambda: _base_e({"kind": "pure", "epsilon": "1"}),
    "exact_exponential_base2": _base2,
    "exact_laplace_on_grid": _laplace_on_grid,
    "exact_exponential_zcdp": lambda: _base_e({"kind": "zcdp", "rho": "1/8"}),
    "exact_exponential_noisy_max": lambda: _noisy_max("permute_and_flip", exact_exponential_noisy_max),
    "exact_laplace_noisy_max": lambda: _noisy_max("laplace_noisy_max", exact_laplace_noisy_max),
}
