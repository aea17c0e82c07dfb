"""Drafts of certificates of mechanisms whose inputs are finitely many once they are clamped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from mechanisms.gaussian.exact_fixed_work import exact_fixed_work_gaussian
from mechanisms.laplace.exact_geometric import exact_rounded_geometric
from mechanisms.laplace.exact_randomized_response import enclose_logistic, exact_randomized_response
from mechanisms.laplace.exact_snapping import exact_snapping

from attacklab.certificates import Draft
from experiments.targets.gaussians import DELTA, sigma_of
from experiments.targets.laplaces import ANSWERS
from mechanisms.exponential.base2.eta import BaseTwoEta


def _two_sided_geometric() -> Draft:
    lower, upper = ANSWERS
    return Draft(
        theorem="geometric_on_range",
        functions={"reference": exact_rounded_geometric},
        parameters={"eta": BaseTwoEta.from_epsilon(1, y=16, monotone=True), "lower": lower, "upper": upper},
        neighbours="answers at most 1 apart",
        claim={"kind": "pure", "epsilon": "1"},
    )


def _randomized_response() -> Draft:
    return Draft(
        theorem="randomized_response",
        functions={"reference": exact_randomized_response, "enclosure": enclose_logistic},
        parameters={"epsilon": Fraction(1)},
        neighbours="either answer",
        claim={"kind": "pure", "epsilon": "1"},
    )


def _snapping() -> Draft:
    return Draft(
        theorem="snapping",
        functions={"reference": exact_snapping},
        parameters={"epsilon": Fraction(1), "bound": float(ANSWERS[1])},
        neighbours="answers at most the sensitivity apart",
        claim={"kind": "pure", "epsilon": "1"},
    )


def _fixed_work_gaussian() -> Draft:
    lower, upper = ANSWERS
    return Draft(
        theorem="gaussian_on_range",
        functions={"reference": exact_fixed_work_gaussian},
        parameters={"sigma": sigma_of(1.0), "lower": lower, "upper": upper},
        neighbours="answers at most 1 apart",
        claim={"kind": "approximate", "epsilon": "1", "delta": str(Fraction(DELTA))},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_two_sided_geometric": _two_sided_geometric,
    "exact_fixed_work_gaussian": _fixed_work_gaussian,
    "exact_randomized_response": _randomized_response,
    "exact_snapping": _snapping,
}
