"""The histogram by threshold as a term: the least threshold that keeps δ, to the last integer."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import mpmath
import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.partition_selection.exact import exact_partition_selection


def reached(threshold: int, epsilon: Fraction) -> Any:
    """P[1 + N ≥ T] by mpmath, to 60 digits."""
    with mpmath.workdps(60):
        rate = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        return mpmath.exp(-rate * (threshold - 1)) / (1 + mpmath.exp(-rate))


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3, 7), Fraction(5), Fraction(1, 1000)])
@pytest.mark.parametrize("delta", [Fraction(1, 128), Fraction(49, 100), Fraction(1, 10**12)])
def test_the_threshold_is_the_least_that_keeps_delta(epsilon: Fraction, delta: Fraction) -> None:
    term = exact_partition_selection(epsilon=epsilon, delta=delta)
    with mpmath.workdps(60):
        most = mpmath.mpf(delta.numerator) / delta.denominator
        assert reached(term.threshold, epsilon) <= most
        assert term.threshold == 2 or reached(term.threshold - 1, epsilon) > most
    assert term.claim.epsilon == epsilon
    assert term.claim.delta <= delta


def test_a_delta_just_below_what_a_threshold_gives_takes_the_next_one() -> None:
    """The double nearest to e^(−5)/(1 + e^(−1)) lies below it, and the next one above."""
    near = float(reached(6, Fraction(1)))
    doubles = sorted([near, math.nextafter(near, 1), math.nextafter(near, 0)])
    thresholds = [exact_partition_selection(epsilon=1, delta=delta).threshold for delta in doubles]
    assert thresholds == [7 if delta < reached(6, Fraction(1)) else 6 for delta in doubles]
    assert set(thresholds) == {6, 7}


def test_what_is_released_does_not_depend_on_the_order_of_the_people_nor_on_how_keys_are_written() -> None:
    term = exact_partition_selection(epsilon=1, delta=0.25)
    released = {
        repr(term.many(written, 20, SeededBits(5)))
        for people in set(permutations(["b", "c", "a", "a", "a"]))
        for written in (list(people), tuple(people), np.array(people), np.array(people, dtype=object))
    }
    assert len(released) == 1
