"""The timing test, on made-up times: no test here looks at a clock."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray

from attacklab.auditing.statistics.timing import TimingTest, shift_told_apart, smallest_shift, timing_test

Times: TypeAlias = NDArray[np.float64]
Clock: TypeAlias = Callable[[np.random.Generator, int], Times]


def tailed(rng: np.random.Generator, count: int) -> Times:
    """Times around 1000 with one in ten delayed by up to millions, as interrupts do."""
    times: Times = rng.normal(1000, 20, count) + (rng.random(count) < 0.1) * rng.pareto(1.0, count) * 1e5
    return times


def in_turns(clock: Times, rng: np.random.Generator, extra: float = 0.0) -> tuple[Times, Times]:
    """Both classes of turns whose 2n calls take the times of `clock`, the first class `extra` longer."""
    calls = clock.reshape(-1, 2)
    second_first = rng.random(len(calls)) < 0.5
    first, second = np.where(second_first, calls[:, 1], calls[:, 0]), np.where(second_first, calls[:, 0], calls[:, 1])
    return first + extra, second


def drifting(rng: np.random.Generator, calls: int) -> Times:
    """A clock that slows down steadily, to three times as long."""
    times: Times = np.linspace(1000, 3000, calls) + rng.normal(0, 1, calls)
    return times


def lagging(rng: np.random.Generator, calls: int) -> Times:
    """Every second call takes half as long again."""
    times: Times = 1000 + 500.0 * (np.arange(calls) % 2) + rng.normal(0, 1, calls)
    return times


def autocorrelated(rng: np.random.Generator, calls: int) -> Times:
    """Each time is nearly the one before it."""
    times: Times = 1000 + np.cumsum(rng.normal(0, 5, calls))
    return times


def warming_up(rng: np.random.Generator, calls: int) -> Times:
    """The first call takes a second."""
    times = rng.normal(1000, 20, calls)
    times[0] = 1e9
    return times


CLOCKS = (tailed, drifting, lagging, autocorrelated, warming_up)


def test_a_difference_that_the_tails_hide_is_found() -> None:
    rng = np.random.default_rng(1)
    first, second = in_turns(tailed(rng, 6000), rng, 10)
    found = timing_test(first, second)
    assert found.p_value < 1e-9
    assert found.bet is not None
    assert found.bet.slower == {"": 1}
    turned = timing_test(second, first)
    assert turned.bet is not None
    assert turned.bet.slower == {"": -1}
    assert (turned.right, turned.wrong) == (found.right, found.wrong)


def test_a_tail_that_one_class_has_is_found_by_a_percentile() -> None:
    rng = np.random.default_rng(5)
    first, second = in_turns(rng.normal(1000, 20, 20_000), rng)
    found = timing_test(first + 500 * (rng.random(10_000) < 0.02), second)
    assert found.p_value < 1e-9
    assert found.bet is not None
    assert found.bet.threshold is not None
    assert found.bet.threshold > 1040


@pytest.mark.parametrize("clock", CLOCKS)
def test_equal_classes_give_small_p_values_no_more_often_than_they_should(clock: Clock) -> None:
    """H0: the coins are fair. 16 or more of 100 p-values below 0.02 have probability below 1e-9 (mean at most 2)."""
    assert scipy.stats.binom.sf(15, 100, 0.02) < 1e-9
    rng = np.random.default_rng(2)
    small = sum(timing_test(*in_turns(clock(rng, 400), rng)).p_value < 0.02 for _ in range(100))
    assert small < 16


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_difference_is_found_whatever_the_clock_does(clock: Clock) -> None:
    """As large as the clock's own noise between two calls: a lag of 500 needs as much."""
    rng = np.random.default_rng(3)
    assert timing_test(*in_turns(clock(rng, 4000), rng, 600 if clock is lagging else 30)).p_value < 1e-9


def test_a_direction_is_learned_for_each_group() -> None:
    """The first class takes longer in one group and the second in another, so that all together show nothing."""
    rng = np.random.default_rng(4)
    groups = ["above", "below"] * 2000
    first, second = in_turns(rng.normal(1000, 20, 8000), rng)
    first = first + np.where(np.array(groups) == "above", 20, -20)
    order = rng.permutation(4000)
    groups = [groups[place] for place in order]
    found = timing_test(first[order], second[order], groups)
    assert found.bet is not None
    assert found.bet.slower == {"above": 1, "below": -1}
    assert found.p_value < 1e-9
    assert found.advantage > 2 * timing_test(first[order], second[order]).advantage


def test_constant_times_differ_with_certainty_or_not_at_all() -> None:
    equal = timing_test(np.full(50, 7), np.full(50, 7))
    assert (equal.bet, equal.p_value) == (None, 1.0)
    assert equal.turns_needed.estimate == math.inf
    found = timing_test(np.full(50, 8), np.full(50, 7))
    assert (found.right, found.wrong, found.p_value) == (25, 0, 0.5**25)
    assert (found.turns_needed.estimate, found.turns_needed.lower) == (1, 1)
    assert timing_test([], []).p_value == 1.0


def test_turns_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match=r"not \(29,\) and \(100,\) times"):
        timing_test(np.ones(29), np.ones(100))


def test_a_majority_of_so_many_turns_is_right_in_95_percent() -> None:
    """Held to the definition by a sum over outcomes, not by the search that found it."""
    test = TimingTest(None, 700, 300, 2000)
    needed = test.turns_needed
    assert needed.lower < needed.estimate < needed.upper
    decided = math.floor(needed.estimate / 2) | 1  # half of the turns decide
    right = [math.comb(decided, k) * 0.7**k * 0.3 ** (decided - k) for k in range(decided + 1)]
    assert sum(right[decided // 2 + 1 :]) >= 0.95
    fewer = decided - 2
    right = [math.comb(fewer, k) * 0.7**k * 0.3 ** (fewer - k) for k in range(fewer + 1)]
    assert sum(right[fewer // 2 + 1 :]) < 0.95


def test_the_smallest_shift_is_found_and_half_of_it_is_not() -> None:
    """Detected with probability 0.95: 75 or fewer of 100 have probability below 1e-9. Half has power below 0.3."""
    assert scipy.stats.binom.cdf(75, 100, 0.95) < 1e-9
    assert scipy.stats.binom.sf(59, 100, 0.3) < 1e-9
    rng = np.random.default_rng(6)
    noise = in_turns(rng.normal(1000, 20, 8000), rng)
    shift = smallest_shift(*noise, turns=500, alpha=1e-3)

    def caught(extra: float) -> int:
        tests = (timing_test(*in_turns(rng.normal(1000, 20, 2000), rng, extra)) for _ in range(100))
        return sum(test.p_value <= 1e-3 for test in tests)

    assert caught(1.2 * shift) > 75
    assert caught(shift / 2) < 60
    assert smallest_shift(*noise, turns=5, alpha=1e-6) == math.inf


def test_where_directions_have_to_be_learned_from_few_turns_the_shift_that_is_told_apart_is_larger() -> None:
    """Told apart with probability 0.95: 75 or fewer of 100 have probability below 1e-9.

    The shift of a known direction, which takes no account of that, is not.
    """
    assert scipy.stats.binom.cdf(75, 100, 0.95) < 1e-9
    rng = np.random.default_rng(8)

    def groups() -> list[str | None]:
        return [str(output) for output in rng.geometric(0.04, 166)]

    def caught(extra: float) -> int:
        tests = (timing_test(*in_turns(rng.normal(1000, 20, 332), rng, extra), groups()) for _ in range(100))
        return sum(test.p_value <= 1e-6 for test in tests)

    first, second = in_turns(rng.normal(1000, 20, 332), rng)
    told = shift_told_apart(first, second, groups(), alpha=1e-6, step=1.0, rng=rng)
    assert caught(told) > 75
    assert caught(smallest_shift(first, second, turns=83, alpha=1e-6)) <= 75


def test_no_shift_is_told_apart_in_turns_that_are_too_few() -> None:
    rng = np.random.default_rng(9)
    first, second = in_turns(rng.normal(1000, 20, 80), rng)
    few = ["a"] * 20 + [None] * 20
    assert shift_told_apart(first, second, few, alpha=1e-6, step=1.0, rng=rng) == math.inf
    assert shift_told_apart(first, second, [None] * 40, alpha=1e-6, step=1.0, rng=rng) == math.inf
    assert shift_told_apart(first, second, None, alpha=0.01, step=1.0, rng=rng) < math.inf
