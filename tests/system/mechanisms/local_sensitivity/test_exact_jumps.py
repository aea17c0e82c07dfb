"""Exact medians answer every database, their claims are accepted, and broken twins are refused."""

from __future__ import annotations

from dataclasses import replace
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
from mechanisms.local_sensitivity.exact_jumps import exact_median_ptr, exact_median_smooth

DELTA = 1e-6
AGES: dict[str, Any] = {"epsilon": 1, "delta": DELTA, "lower": 0, "upper": 100, "grid": Grid(-4)}


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


def test_a_census_is_answered_within_the_tails_of_the_noise() -> None:
    """Each answer misses its bound with probability at most 2·e^−23 < 3e-10."""
    ages = np.random.default_rng(7).integers(17, 91, size=3_001).astype(np.float64)
    truth = float(np.sort(ages)[1_500])
    by_test = exact_median_ptr(bound=2, **AGES).release(ages, SeededBits(3))
    assert abs(by_test - truth) < 23 * 2 * 2 + 0.25
    term = exact_median_smooth(**AGES)
    assert abs(term.release(ages, SeededBits(4)) - truth) < 23 * 2 * float(term.bound(ages)) / 16 + 0.25
    assert float(term.bound(ages)) / 16 < 3
