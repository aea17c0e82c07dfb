"""Propose-test-release meets its claim by its exact laws, and its test measures the distance that it should."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

import gmpy2
import pytest

from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.ptr.exact import exact_ptr_mean, prepare_ptr_mean
from tests.mechanisms.local_sensitivity.noise import (
    ScriptedNoise,
    neighbouring_laws,
    worst_divergence,
)

CENSUS_DELTA = Fraction(1, 32_561**2)


@pytest.mark.few(0)
@pytest.mark.parametrize("bound", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_exact_law_of_propose_test_release_meets_its_claim_on_all_tiny_pairs(bound: int) -> None:
    epsilon, delta = Fraction(2), Fraction(1, 20)
    prepare = partial(prepare_ptr_mean, domain=Domain(0, 6, Grid(0)), bound=bound, epsilon=epsilon, delta=delta)
    laws = neighbouring_laws(lambda x: prepare(x).one, [0, 3, 6])
    assert worst_divergence(laws, epsilon) <= delta
    assert worst_divergence(laws, epsilon * Fraction(9, 10)) > delta / 5


@pytest.mark.parametrize("size", [0, 1, 12, 40, 5000])
def test_the_test_of_propose_test_release_measures_the_distance_to_a_sensitive_database(size: int) -> None:
    domain, bound = Domain(0, 100, Grid(-6)), Fraction(1, 4)
    release = prepare_ptr_mean([50.0] * size, domain=domain, bound=bound, epsilon=1, delta=CENSUS_DELTA)
    # Walk away from the database, one removal at a time, until some database there exceeds the bound.
    distance = next(k for k in range(size + 1) if Fraction(100, max(size - k, 1)) > bound)
    refused = [release.one(ScriptedNoise([noise - distance, 0])) is None for noise in range(60)]
    threshold = refused.index(False)
    assert refused == [True] * threshold + [False] * (60 - threshold)
    with gmpy2.context(precision=200):
        q = gmpy2.exp(gmpy2.mpfr("-0.5"))
        assert q**threshold / (1 + q) <= gmpy2.mpq(CENSUS_DELTA) < q ** (threshold - 1) / (1 + q)


def test_test_and_release_split_epsilon() -> None:
    noise = ScriptedNoise([0, 0])
    domain = Domain(0, 100, Grid(-6))
    assert exact_ptr_mean([50.0] * 5000, noise, domain=domain, bound=Fraction(1, 4), epsilon=1, delta=0.001) == 50
    test_scale, release_scale = noise.scales
    assert 1 / test_scale + 16 / release_scale == 1


@pytest.mark.parametrize("bound", [0, -1, 101, 100, 0.49, math.nan])
def test_a_bound_that_cannot_be_proposed_is_refused(bound: float | Fraction) -> None:
    with pytest.raises(ValueError, match="bound must be"):
        prepare_ptr_mean([], domain=Domain(0, 100, Grid(-1)), bound=bound, epsilon=1, delta=0.1)
