"""Drafts of certificates of selection mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from mechanisms.exponential.exact_base2 import exact_exponential_base2, exact_exponential_base2_fast
from mechanisms.exponential.exact_fast import exact_exponential_fast
from mechanisms.exponential.exact_fixed_work import FixedWork, exact_exponential_fixed_work
from mechanisms.exponential.exact_rows import exact_exponential_rows
from mechanisms.laplace.exact_on_grid import exact_laplace_on_grid

from attacklab.certificates import Draft
from experiments.targets.laplaces import ANSWERS
from experiments.targets.selections import UTILITY_RANGE
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.weighted_sampling import sample_by_bisection, sample_by_rejection
from mechanisms.exponential.exact import exact_exponential
from mechanisms.noisy_max.exact import exact_exponential_noisy_max, exact_laplace_noisy_max

APART = "utilities at most the sensitivity apart"
TOGETHER = "utilities that move the same way, by at most the sensitivity"


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


def _base_e_rows() -> Draft:
    rows = {"rows": exact_exponential_rows}
    draft = _base_e({"kind": "pure", "epsilon": "1"})
    return replace(draft, functions={**draft.functions, **rows})


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


def _fixed_work() -> Draft:
    return Draft(
        theorem="exponential_fixed_work",
        functions={"reference": exact_exponential_fixed_work},
        parameters={"work": FixedWork.from_epsilon(1), "utility_range": UTILITY_RANGE},
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


def _unlike(theorem: str, mechanism: Callable[..., int], **others: Callable[..., Any]) -> Draft:
    return Draft(
        theorem=theorem,
        functions={"reference": mechanism, **others},
        parameters={
            "epsilon": Fraction(3, 7),
            "sensitivity": Fraction(5, 3),
            "monotone": True,
            "utility_range": (-40.0, 24.5),
        },
        neighbours=TOGETHER,
        claim={"kind": "pure", "epsilon": "3/7"},
    )


def _unlike_base2() -> Draft:
    return Draft(
        theorem="exponential_base2",
        functions={
            "reference": exact_exponential_base2,
            "fast": exact_exponential_base2_fast,
            "sampler": sample_by_bisection,
        },
        parameters={"eta": BaseTwoEta(3, 2, 2), "utility_range": (-4, 6), "sensitivity": Fraction(5, 3)},
        neighbours=TOGETHER,
        claim={"kind": "pure", "epsilon": "0.575364144904"},
    )


def _unlike_fixed_work() -> Draft:
    return Draft(
        theorem="exponential_fixed_work",
        functions={"reference": exact_exponential_fixed_work},
        parameters={
            "work": FixedWork(BaseTwoEta(7, 3, 2), steps=3, precision=7, spare=9),
            "utility_range": (-4, 6),
            "sensitivity": Fraction(5, 3),
        },
        neighbours=TOGETHER,
        claim={"kind": "pure", "epsilon": "0.806854"},
    )


def _unlike_on_grid() -> Draft:
    return Draft(
        theorem="laplace_on_finite_grid",
        functions={"reference": exact_laplace_on_grid, "selection": exact_exponential_base2},
        parameters={
            "eta": BaseTwoEta(5, 3, 2),
            "lower": Fraction(-7, 2),
            "spacing": Fraction(3, 4),
            "points": 11,
            "sensitivity": Fraction(5, 3),
        },
        neighbours="answers at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": "1.880014516983"},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_exponential": lambda: _base_e({"kind": "pure", "epsilon": "1"}),
    "exact_exponential_base2": _base2,
    "exact_exponential_fixed_work": _fixed_work,
    "exact_laplace_on_grid": _laplace_on_grid,
    "array_exponential": _base_e_rows,
    "exact_exponential_zcdp": lambda: _base_e({"kind": "zcdp", "rho": "1/8"}),
    "exact_exponential_noisy_max": lambda: _noisy_max("permute_and_flip", exact_exponential_noisy_max),
    "exact_laplace_noisy_max": lambda: _noisy_max("laplace_noisy_max", exact_laplace_noisy_max),
    "unlike_exponential": lambda: _unlike("exponential_base_e", exact_exponential, fast=exact_exponential_fast),
    "unlike_exponential_noisy_max": lambda: _unlike("permute_and_flip", exact_exponential_noisy_max),
    "unlike_laplace_noisy_max": lambda: _unlike("laplace_noisy_max", exact_laplace_noisy_max),
    "unlike_exponential_base2": _unlike_base2,
    "unlike_exponential_fixed_work": _unlike_fixed_work,
    "unlike_laplace_on_grid": _unlike_on_grid,
}
"""Named `unlike_…`: the same mechanisms at parameters of which none is 1, where slips show that cancel elsewhere."""
