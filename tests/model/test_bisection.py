"""Bisection against brute force over every number of the interval."""

import itertools
import math
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from attacklab.model.bisection import first, least, steepest_step


class Recorded:
    """A condition that records the numbers it was evaluated at."""

    def __init__(self, holds: Callable[[int], bool]) -> None:
        self.holds = holds
        self.asked: list[int] = []

    def __call__(self, number: int) -> bool:
        self.asked.append(number)
        return self.holds(number)


@given(low=st.integers(-50, 50), length=st.integers(1, 200), data=st.data())
def test_the_least_number_is_the_first_that_a_walk_meets(low: int, length: int, data: st.DataObject) -> None:
    high = low + length
    threshold = data.draw(st.integers(low + 1, high))
    holds = Recorded(lambda number: number >= threshold)
    assert least(holds, low, high) == next(number for number in range(low + 1, high + 1) if number >= threshold)
    assert low not in holds.asked
    assert high not in holds.asked
    assert len(holds.asked) <= math.ceil(math.log2(length))


@given(start=st.integers(1, 20), above=st.integers(1, 2_000), most=st.integers(0, 2_000))
def test_doubling_finds_the_first_number_where_one_that_is_tried_is_large_enough(
    start: int, above: int, most: int
) -> None:
    threshold = start // 2 + above
    tried = [number for number in (start << power for power in range(12)) if number <= most]
    holds = Recorded(lambda number: number >= threshold)
    expected = threshold if any(number >= threshold for number in tried) else None
    assert first(holds, start=start, most=most) == expected
    assert all(start // 2 < number <= most for number in holds.asked)


@given(
    steps=st.integers(0, 6).flatmap(
        lambda power: st.lists(st.integers(0, 99), min_size=1 << power, max_size=1 << power)
    ),
    falling=st.booleans(),
)
def test_where_steps_grow_or_shrink_steadily_the_largest_is_found(steps: list[int], falling: bool) -> None:
    steps.sort(reverse=falling)
    values = list(itertools.accumulate(steps, initial=0))
    found = steepest_step(lambda low, high: values[high] - values[low], 0, len(steps))
    assert steps[found] == max(steps)
