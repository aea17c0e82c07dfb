"""Sum sensitivity: the steep step is found in every order of summation; sums that move as declared are not accused."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Finding, Relation, Target, Verdict
from attacklab.attacks import SUM_SENSITIVITY
from attacklab.attacks.known_pairs import steepest_step
from attacklab.auditing.referee import audit
from mechanisms.summation.naive import (
    Summation,
    correctly_rounded_sum,
    naive_bounded_sum,
    numpy_sum,
    pairwise_sum,
    sequential_sum,
    wrapping_sum,
)
from tests.attacks.making import scenarios_of

NARROW = (1.0, 1 + 2.0**-48)
ORDERS: list[Summation] = [sequential_sum, pairwise_sum, numpy_sum, correctly_rounded_sum]


def naive_sum(bounds: tuple[float, float], epsilon: float = 1.0, **rest: Any) -> Target:
    lower, upper = bounds
    release = partial(naive_bounded_sum, epsilon=epsilon, lower=lower, upper=upper, **rest)
    return Target.sum(release, bounds=bounds, epsilon=epsilon, relation=Relation.SUBSTITUTE, name="naive_sum")


def judged(target: Target) -> Finding:
    (finding,) = audit(target, [SUM_SENSITIVITY], trials=20_000, seed=3, spend_all=True)
    return finding


def the_pair(target: Target) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    (scenario,) = scenarios_of(SUM_SENSITIVITY, target)
    assert scenario.pair.relation is Relation.SUBSTITUTE
    return scenario.pair.first, scenario.pair.second


@pytest.mark.parametrize("summation", ORDERS)
def test_the_pair_found_moves_the_sum_of_1024_records_by_64_times_the_declared_sensitivity(
    summation: Summation,
) -> None:
    larger, smaller = the_pair(naive_sum(NARROW, relation="substitute", summation=summation))
    assert len(larger) == 1024
    assert np.count_nonzero(larger != smaller) == 1
    declared = Fraction(NARROW[1]) - Fraction(NARROW[0])
    assert abs(sum(map(Fraction, larger)) - sum(map(Fraction, smaller))) == declared
    assert Fraction(summation(larger)) - Fraction(summation(smaller)) == 64 * declared


@pytest.mark.parametrize("summation", ORDERS)
@pytest.mark.parametrize("bounds", [NARROW, (-NARROW[1], -NARROW[0]), (0.3, 0.3 + 2.0**-48)])
def test_float_sums_between_narrow_bounds_are_caught(summation: Summation, bounds: tuple[float, float]) -> None:
    finding = judged(naive_sum(bounds, relation="substitute", summation=summation))
    assert (finding.verdict, finding.shown.advantage.estimate) == (Verdict.VIOLATED, 1)


@pytest.mark.parametrize(("dtype", "upper"), [(np.int8, 20.0), (np.int16, 100.0), (np.int32, 2.0**20)])
def test_sums_of_machine_integers_are_caught_where_they_wrap_around(dtype: Any, upper: float) -> None:
    target = naive_sum((0.0, upper), summation=partial(wrapping_sum, dtype=dtype))
    larger, smaller = the_pair(target)
    move = wrapping_sum(larger, dtype) - wrapping_sum(smaller, dtype)
    assert move == 2.0 ** (8 * np.dtype(dtype).itemsize) - upper
    finding = judged(target)
    assert finding.verdict is Verdict.VIOLATED
    # Laplace noise of scale upper crosses the middle with probability e^(−move/(2·upper)).
    assert finding.shown.advantage.estimate == pytest.approx(1 - math.exp(-move / (2 * upper)), abs=0.02)


def added(bounds: tuple[float, float], **rest: Any) -> Target:
    return replace(naive_sum(bounds, relation="add-remove", **rest), relation=Relation.ADD_REMOVE)


@pytest.mark.parametrize(
    "target",
    [added((0.0, 100.0), summation=partial(wrapping_sum, dtype=np.int16)), added((-1e306, 1e306))],
    ids=["wraps around", "overflows"],
)
def test_if_records_are_added_the_one_that_does_not_fit_is_found(target: Target) -> None:
    finding = judged(target)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.pair["relation"] == "add-remove"


def test_a_claim_without_a_relation_is_judged_on_a_step_of_each() -> None:
    target = replace(naive_sum((-3.0, 100.0)), relation=None)
    findings = audit(target, [SUM_SENSITIVITY], trials=1_000)
    assert [finding.pair and finding.pair["relation"] for finding in findings] == ["add-remove", "substitute"]
    width_for_added = replace(naive_sum(NARROW, relation="substitute"), relation=None)
    added_record, _ = audit(width_for_added, [SUM_SENSITIVITY], trials=1_000)
    assert added_record.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("jump", [0, 1, 37, 62, 63])
def test_bisection_finds_the_only_step_that_moves_and_the_only_one_that_moves_too_far(jump: int) -> None:
    assert steepest_step(lambda number: float(number > jump), 64, 0.0) == jump
    assert steepest_step(lambda number: 3.0 * number - 128 * (number > jump), 64, 3.0) == jump
    assert steepest_step(lambda number: math.inf if number > jump else 3.0 * number, 64, 3.0) == jump
