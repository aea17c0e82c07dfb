"""Sums about public centres and counts of pairs keep their stability; about own means, or by halves, they do not."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab import Domain, Records, SeededBits, Target, Verdict, audit
from attacklab.model.findings import Counterexample
from mechanisms.core.column import Column
from mechanisms.core.grid import Grid
from mechanisms.core.records import CountFrom
from mechanisms.summation import moments, naive

QUARTERS = Grid(-2)
FEW = Domain(shape=Records(most=3), bounds=(0, 3), integers=True)
PAIRS = Domain(shape=Records(most=3), bounds=(0, 8), integers=True)
FAR = Domain(shape=Records(least=1024, most=1024), bounds=(2.0**50, 2.0**50 + 1))


def as_pairs(codes: Any) -> list[tuple[int, int]]:
    """Records of two numbers from 0 to 2, each pair written as one number."""
    return [(int(code) % 3, int(code) // 3) for code in codes]


@pytest.mark.parametrize("relation", ["add-remove", "substitute"])
def test_squares_and_products_about_public_centres_keep_what_they_derive(relation: Any) -> None:
    squares = moments.sum_of_squares(lower=0, upper=3, centre=1, grid=QUARTERS, relation=relation)
    products = moments.sum_of_products(most=4, centres=(1, 1.0), grid=QUARTERS, relation=relation)
    stages = (
        (squares.of, squares.stability, FEW, Verdict.PROVED),
        (squares.of, squares.stability - 1, FEW, Verdict.VIOLATED),
        (lambda codes: products.of(as_pairs(codes)), products.stability, PAIRS, Verdict.PROVED),
    )
    for function, stability, domain, verdict in stages:
        (found,) = audit(Target.stage(function, stability=stability, domain=domain, relation=relation))
        assert found.verdict is verdict
    assert squares.of([0, 3, 2.0]) == 4 * sum((value - 1) ** 2 for value in (0, 3, 2))
    assert products.of([(0, 3), (3, 3), (2, 0)]) == 4 * (-2 + 4 - 1)
    assert squares.of([1e300, np.inf, np.nan]) == 2 * 16


def test_about_their_own_means_rounding_moves_them_further() -> None:
    twice = lambda records: naive.products_about_own_means(np.stack([records, records], axis=1))  # noqa: E731
    for function in (naive.squares_about_own_mean, twice):
        (broken,) = audit(Target.stage(function, stability=1, domain=FAR, relation="substitute"), seconds=2)
        assert broken.verdict is Verdict.VIOLATED
        assert isinstance(broken.evidence, Counterexample)
        assert Fraction(broken.evidence.distance) > 2


def test_the_variance_is_that_of_the_records_but_for_the_noise() -> None:
    term = moments.exact_variance(epsilon=2**20, lower=0, upper=4, grid=Grid(-10))
    assert term.claim.epsilon == 2**20
    released = term.release([0.0, 1.0, 4.0, 3.0], SeededBits(1))
    assert abs(released - 2.5) < 2.0**-8


def rising(pair: Any) -> int:
    """1 for a pair that rises; an error for one that lacks a record."""
    return int(pair[0] < pair[1])


PLACES = Domain(shape=Records(least=4, most=4), bounds=(0, 3), integers=True)


@pytest.mark.parametrize(("stability", "verdict"), [(1, Verdict.PROVED), (0, Verdict.VIOLATED)])
def test_pairs_of_public_places_are_counted_once_a_record(stability: int, verdict: Verdict) -> None:
    """Someone absent is 0: so one replaced place is a record that comes, goes or is another one."""
    query = Column(CountFrom(relation="substitute"), rising)
    stage = lambda places: query.of(moments.pairs_by_place([int(place) or None for place in places]))  # noqa: E731
    (found,) = audit(Target.stage(stage, stability=stability, domain=PLACES, relation="substitute"))
    assert found.verdict is verdict
    assert query.stability == 1
    assert stage([1, 2, 3, 1]) == stage([0, 2, 1, 3]) == 1


@pytest.mark.parametrize("function", [naive.agreeing_pairs, lambda records: naive.pairs_by_halves(records.tolist())])
def test_pairs_move_by_more_where_a_record_is_in_many_or_puts_out_another(function: Any) -> None:
    metric = "absolute" if function is naive.agreeing_pairs else "symmetric"
    (broken,) = audit(Target.stage(function, stability=1, metric=metric, domain=FEW), seconds=2)
    assert broken.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(("relation", "epsilon"), [("add-remove", 1), ("substitute", 2)])
def test_agreeing_pairs_are_counted_without_bias(relation: Any, epsilon: int) -> None:
    """The mean of 20,000 pairs' estimates of variance below 250 each is 1 off at most, with error 1e-9 by far."""
    term = moments.exact_agreeing_pairs(epsilon=epsilon, cells=("a", "b"), relation=relation)
    assert term.claim.epsilon == epsilon
    released = term.many(["a"] * 9 + ["b"] * 5, 20_000, SeededBits(1))
    assert abs(float(np.mean(released)) - naive.agreeing_pairs(np.array([0.0] * 9 + [1.0] * 5))) < 1
    sure = moments.exact_agreeing_pairs(epsilon=2**9, cells=("a", "b"))
    assert sure.release(["a"] * 9 + ["b"] * 5, SeededBits(1)) == pytest.approx(36 + 10)
