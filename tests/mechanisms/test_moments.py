"""Sums of squares and products about public centres keep their stability; about the records' own means they do not."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab import Domain, Records, Target, Verdict, audit
from attacklab.model.findings import Counterexample
from attacklab.model.random_bits import SeededBits
from mechanisms.core.grid import Grid
from mechanisms.summation.moments import exact_variance, sum_of_products, sum_of_squares
from mechanisms.summation.naive import products_about_own_means, squares_about_own_mean

QUARTERS = Grid(-2)
FEW = Domain(shape=Records(most=3), bounds=(0, 3), integers=True)
PAIRS = Domain(shape=Records(most=3), bounds=(0, 8), integers=True)
FAR = Domain(shape=Records(least=1024, most=1024), bounds=(2.0**50, 2.0**50 + 1))


def as_pairs(codes: Any) -> list[tuple[int, int]]:
    """Records of two numbers from 0 to 2, each pair written as one number."""
    return [(int(code) % 3, int(code) // 3) for code in codes]


@pytest.mark.parametrize("relation", ["add-remove", "substitute"])
def test_squares_and_products_about_public_centres_keep_what_they_derive(relation: Any) -> None:
    squares = sum_of_squares(lower=0, upper=3, centre=1, grid=QUARTERS, relation=relation)
    products = sum_of_products(most=4, centres=(1, 1.0), grid=QUARTERS, relation=relation)
    stages = ((squares, squares.of, FEW), (products, lambda codes: products.of(as_pairs(codes)), PAIRS))
    for query, function, domain in stages:
        (kept,) = audit(Target.stage(function, stability=query.stability, domain=domain, relation=relation))
        assert kept.verdict is Verdict.PROVED
    assert squares.of([0, 3, 2.0]) == 4 * sum((value - 1) ** 2 for value in (0, 3, 2))
    assert products.of([(0, 3), (3, 3), (2, 0)]) == 4 * (-2 + 4 - 1)
    assert squares.of([1e300, np.inf, np.nan]) == 2 * 16


def test_a_claim_below_what_they_derive_is_refuted() -> None:
    squares = sum_of_squares(lower=0, upper=3, centre=1, grid=QUARTERS)
    (broken,) = audit(Target.stage(squares.of, stability=squares.stability - 1, domain=FEW))
    assert broken.verdict is Verdict.VIOLATED


def test_about_their_own_means_rounding_moves_them_further() -> None:
    twice = lambda records: products_about_own_means(np.stack([records, records], axis=1))  # noqa: E731
    for function in (squares_about_own_mean, twice):
        (broken,) = audit(Target.stage(function, stability=1, domain=FAR, relation="substitute"), seconds=2)
        assert broken.verdict is Verdict.VIOLATED
        assert isinstance(broken.evidence, Counterexample)
        assert Fraction(broken.evidence.distance) > 2


def test_the_variance_is_that_of_the_records_but_for_the_noise() -> None:
    term = exact_variance(epsilon=2**20, lower=0, upper=4, grid=Grid(-10))
    assert term.claim.epsilon == 2**20
    released = term.release([0.0, 1.0, 4.0, 3.0], SeededBits(1))
    assert abs(released - 2.5) < 2.0**-8
