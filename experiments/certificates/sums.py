"""Drafts of certificates of sums and means of bounded records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from attacklab.certificates import Draft
from experiments.targets.sums import AGES, NARROW
from mechanisms.grid import Grid
from mechanisms.summation import exact, exact_fast
from mechanisms.summation.bounds import Bounds

CLAIM = {"kind": "pure", "epsilon": "1"}


def _draft(reference: Callable[..., Any], fast: Callable[..., Any], neighbours: str, **parameters: Any) -> Draft:
    return Draft(
        theorem="noisy_sums",
        functions={"reference": reference, "fast": fast},
        parameters={"epsilon": Fraction(1), **parameters},
        neighbours=neighbours,
        claim=CLAIM,
    )


def _age_sum() -> Draft:
    return _draft(exact.exact_bounded_sum, exact_fast.exact_bounded_sum_fast, "add-remove or substitute", bounds=AGES)


def _bounded_sum() -> Draft:
    return _draft(exact.exact_narrow_sum, exact_fast.exact_narrow_sum_fast, "substitute", bounds=NARROW)


def _bounded_mean() -> Draft:
    mean = exact.exact_bounded_mean, exact_fast.exact_bounded_mean_fast
    return _draft(*mean, "add-remove or substitute", bounds=AGES, relation="add-remove")


def _unlike(reference: Callable[..., Any], fast: Callable[..., Any], relation: str) -> Draft:
    return Draft(
        theorem="noisy_sums",
        functions={"reference": reference, "fast": fast},
        parameters={
            "epsilon": Fraction(3, 7),
            "bounds": Bounds(Fraction(-17, 4), Fraction(5, 2), Grid(-2)),
            "relation": relation,
        },
        neighbours=relation,
        claim={"kind": "pure", "epsilon": "3/7"},
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_age_sum": _age_sum,
    "exact_bounded_sum": _bounded_sum,
    "exact_bounded_mean": _bounded_mean,
    "unlike_sum": lambda: _unlike(exact.exact_bounded_sum, exact_fast.exact_bounded_sum_fast, "substitute"),
    "unlike_sum_add_remove": lambda: _unlike(exact.exact_bounded_sum, exact_fast.exact_bounded_sum_fast, "add-remove"),
    "unlike_mean": lambda: _unlike(exact.exact_bounded_mean, exact_fast.exact_bounded_mean_fast, "add-remove"),
}
"""The drafts by the name of the target; named `unlike_…` at parameters of which none is 0 or 1."""
