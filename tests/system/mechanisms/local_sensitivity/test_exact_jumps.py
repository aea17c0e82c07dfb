"""Exact medians answer every database, their claims are accepted, and broken twins are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from checker.check import check
from checker.forms import Refused
from mechanisms.core.certificate import certificate
from mechanisms.core.grid import Grid
from mechanisms.core.local import Median
from mechanisms.core.smooth import smooth
from mechanisms.core.term import Mechanism
from mechanisms.local_sensitivity.exact_jumps import exact_median_ptr, exact_median_smooth

DELTA = 1e-6
AGES: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "lower": 0, "upper": 100, "grid": Grid(-4)}
TERMS: dict[str, tuple[Callable[[], Mechanism], str]] = {
    "median": (partial(exact_median_smooth, **AGES), "records, one added, removed or replaced"),
    "median by a test": (partial(exact_median_ptr, bound=1, **AGES), "records, one added, removed or replaced"),
}


@pytest.mark.parametrize("name", TERMS)
def test_the_claims_are_accepted(name: str) -> None:
    make, neighbours = TERMS[name]
    term = make()
    assert check(json.loads(json.dumps(certificate(name, term)))).statement.endswith(f"for every pair of {neighbours}")
    assert (term.claim.epsilon, term.claim.delta <= DELTA) == (1, True)


class Narrow(Median):
    """Windows of one gap too few."""


def test_a_query_that_nobody_has_read_is_refused() -> None:
    with pytest.raises(Refused, match="bounds its local sensitivity"):
        check(certificate("broken", smooth(Narrow(0, 4, Grid(0)), 1, DELTA)))


def test_less_smoothing_than_the_claim_needs_is_refused() -> None:
    term = exact_median_smooth(**AGES)
    written = certificate("median", replace(term, smoothing=term.smoothing - 1)) | {
        "claim": certificate("", term)["claim"]
    }
    with pytest.raises(Refused, match="not seen to keep"):
        check(written)


@pytest.mark.parametrize(
    "records", [[math.nan] * 3, [math.inf, -math.inf, 0.0], [1e308] * 3, [-1e308, 5e-324, 10**400], [True, 2, 3.5]]
)
@pytest.mark.parametrize("name", TERMS)
def test_no_record_makes_a_mechanism_fail(name: str, records: list[float]) -> None:
    released = TERMS[name][0]().release(records, SeededBits(1))
    assert released is None if name == "median by a test" else math.isfinite(released)


def test_nobody_has_a_median() -> None:
    assert math.isfinite(exact_median_smooth(**AGES).release([], SeededBits(1)))
    assert exact_median_ptr(bound=1, **AGES).release([], SeededBits(1)) is None


def test_a_census_is_answered_within_the_tails_of_the_noise() -> None:
    """Each answer misses its bound with probability at most 2·e^−23 < 3e-10."""
    ages = np.random.default_rng(7).integers(17, 91, size=3_001).astype(np.float64)
    truth = float(np.sort(ages)[1_500])
    by_test = exact_median_ptr(bound=2, **AGES).release(ages, SeededBits(3))
    assert abs(by_test - truth) < 23 * 2 * 2 + 0.25
    term = exact_median_smooth(**AGES)
    assert abs(term.release(ages, SeededBits(4)) - truth) < 23 * 2 * float(term.bound(ages)) / 16 + 0.25
    assert float(term.bound(ages)) / 16 < 3
