"""Exact sums and means are the total in whole steps with noise for one record, and their claims are accepted."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from checker.check import check
from mechanisms.core.certificate import certificate
from mechanisms.core.grid import Grid
from mechanisms.core.term import Mechanism, Relation
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum, exact_narrow_sum
from tests.unit.mechanisms.core.scripted_noise import scripted

NARROW = 1.0, 1 + 2.0**-48
WHOLE = {"lower": -2, "upper": 3, "grid": Grid(0)}


def shown(term: Mechanism) -> str:
    return check(json.loads(json.dumps(certificate("a sum", term)))).statement


@pytest.mark.parametrize(
    ("relation", "moves"), [("add-remove", 12), ("substitute", 20), ("add-remove or substitute", 20)]
)
def test_the_sum_is_the_total_with_noise_for_what_one_record_moves(relation: Relation, moves: int) -> None:
    term = exact_bounded_sum(epsilon=0.5, lower=-2, upper=3, grid=Grid(-2), relation=relation)
    assert scripted(term, [1.0, 2.9, -8.0, math.nan], [7]) == ((4 + 12 - 8 - 8 + 7) / 4, [2 * moves])


@pytest.mark.parametrize(("noise", "output"), [((0, 0), 50), ((30, 3), 30), ((1000, -5), 100), ((-200, 0), 0)])
def test_the_mean_of_an_unknown_number_is_the_noisy_sum_over_the_noisy_count(
    noise: tuple[int, int], output: float
) -> None:
    term = exact_bounded_mean(epsilon=2, lower=0, upper=100, grid=Grid(0))
    assert scripted(term, [50.0] * 3, noise) == (output, [100, 1])


def test_the_mean_of_a_known_number_divides_the_noisy_sum_by_it_with_all_of_epsilon() -> None:
    term = exact_bounded_mean(epsilon=2, lower=0, upper=100, grid=Grid(-1), relation="substitute")
    assert scripted(term, [50.0] * 3, [12]) == (52.0, [100])


def test_narrow_records_count_from_the_lower_bound_and_one_moves_them_by_the_range() -> None:
    """The pair moves each floating-point sum by 64 times as much; noise of 2^11 steps of 2^−56 is 8 ranges."""
    term = exact_narrow_sum(epsilon=Fraction(1, 8), lower=NARROW[0], upper=NARROW[1], grid=Grid(-56))
    first, second = (np.where(np.arange(1024) < uppers, NARROW[1], NARROW[0]) for uppers in (32, 33))
    totals = [term.mechanism.parts[0].query.of(records) for records in (first, second)]  # type: ignore[attr-defined]
    assert totals == [32 * 256, 33 * 256]
    output, scales = scripted(term, first, [2**52])
    assert output == 1024.0625
    assert scales == [2**11]


@pytest.mark.parametrize(
    ("term", "statement"),
    [
        (exact_bounded_sum(epsilon=1, **WHOLE), "1-DP for every pair of records, one added, removed or replaced"),
        (exact_bounded_mean(epsilon=1, **WHOLE), "1-DP for every pair of records, one added, removed or replaced"),
        (exact_bounded_mean(epsilon=1, relation="substitute", **WHOLE), "1-DP for every pair of records, one replaced"),
        (
            exact_narrow_sum(epsilon=1, lower=NARROW[0], upper=NARROW[1], grid=Grid(-50)),
            "1-DP for every pair of records, one replaced",
        ),
    ],
)
def test_the_claims_are_accepted_by_default_for_either_relation(term: Mechanism, statement: str) -> None:
    assert shown(term) == statement


@pytest.mark.parametrize("relation", ["substitute", "add-remove"])
def test_a_mean_below_the_normal_doubles_raises_nothing_for_a_caller_whose_numpy_raises(relation: Relation) -> None:
    term = exact_bounded_mean(epsilon=1, lower=0, upper=2.0**-1018, grid=Grid(-1021), relation=relation)
    with np.errstate(all="raise"):
        means = term.many(np.full(7, 2.0**-1020), 50, SeededBits(0))
    assert np.all((means >= 0) & (means <= 2.0**-1018))


def test_an_unknown_number_of_records_may_be_zero() -> None:
    assert 3 <= exact_bounded_mean(epsilon=1, lower=3, upper=5, grid=Grid(0)).release(np.empty(0), SeededBits(0)) <= 5
