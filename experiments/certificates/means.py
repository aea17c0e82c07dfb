"""Drafts of certificates of means of ages by sums and counts, local sensitivity, and sample and aggregate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.certificates import Draft
from experiments.targets.means import AGE_GRID, CHUNKS, DELTA, PROPOSED_BOUND, UPPER
from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.ptr.exact import prepare_ptr_mean
from mechanisms.local_sensitivity.sample_aggregate.anonymous import prepare_mean_of_chunks
from mechanisms.local_sensitivity.smooth.exact import prepare_smooth_mean
from mechanisms.local_sensitivity.sum_over_count.exact import prepare_sum_over_count

PURE = {"kind": "pure", "epsilon": "1"}
APPROXIMATE = {"kind": "approximate", "epsilon": "1", "delta": str(Fraction(DELTA))}

SMALL = Fraction(1, 10**6)
UNLIKE = {"epsilon": Fraction(3, 7), "domain": Domain(Fraction(-5, 2), Fraction(45, 4), Grid(-2))}
UNLIKE_CLAIM = {"kind": "approximate", "epsilon": "3/7", "delta": "1/1000000"}


def _draft(theorem: str, prepare: Callable[..., Any], claim: Mapping[str, Any], **parameters: Any) -> Draft:
    return Draft(
        theorem=theorem,
        functions={"prepare": prepare},
        parameters={"epsilon": Fraction(1), "domain": Domain(0, Fraction(UPPER), AGE_GRID)} | parameters,
        neighbours="add-remove",
        claim=claim,
    )


DRAFTS: Mapping[str, Callable[[], Draft]] = {
    "exact_sum_over_count": partial(_draft, "sum_over_count", prepare_sum_over_count, PURE),
    "exact_ptr_mean": partial(
        _draft, "propose_test_release", prepare_ptr_mean, APPROXIMATE, bound=PROPOSED_BOUND, delta=DELTA
    ),
    "exact_smooth_mean": partial(_draft, "smooth_mean", prepare_smooth_mean, APPROXIMATE, delta=DELTA),
    "exact_sample_aggregate": partial(
        _draft, "sample_and_aggregate", prepare_mean_of_chunks, PURE, chunks=CHUNKS, key="public"
    ),
    "unlike_sum_over_count": partial(
        _draft, "sum_over_count", prepare_sum_over_count, {"kind": "pure", "epsilon": "3/7"}, **UNLIKE
    ),
    "unlike_ptr_mean": partial(
        _draft, "propose_test_release", prepare_ptr_mean, UNLIKE_CLAIM, bound=Fraction(7, 2), delta=SMALL, **UNLIKE
    ),
    "unlike_smooth_mean": partial(_draft, "smooth_mean", prepare_smooth_mean, UNLIKE_CLAIM, delta=SMALL, **UNLIKE),
    "unlike_sample_aggregate": partial(
        _draft,
        "sample_and_aggregate",
        prepare_mean_of_chunks,
        {"kind": "pure", "epsilon": "3/7"},
        chunks=13,
        key="another",
        **UNLIKE,
    ),
}
"""The drafts by the name of the target; named `unlike_…` at parameters of which none is 0 or 1."""
