"""The published variants do what their papers print, and lose what Lyu, Su and Li say of them.

Frequencies are bounded so that a true statement fails with probability below 1e-9 in a test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mechanisms.sparse_vector.naive import (
    naive_above_threshold,
    naive_above_threshold_endless,
    naive_above_threshold_noiseless,
    naive_above_threshold_unscaled,
    naive_numeric_sparse,
    naive_numeric_sparse_reused,
)
from tests.statistical.mechanisms.clopper_pearson import bounds

TRIALS = 100_000
ALPHA = 1e-10
"""How often each bound on a probability is wrong."""


def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def least_loss(likely: Any, unlikely: Any) -> float:
    return math.log(
        bounds(int(likely.sum()), len(likely), ALPHA)[0] / bounds(int(unlikely.sum()), len(unlikely), ALPHA)[1]
    )


def tail(values: Any, scale: float) -> Any:
    """P[X ≥ x] of Laplace noise."""
    return np.where(values > 0, np.exp(-np.abs(values) / scale) / 2, 1 - np.exp(-np.abs(values) / scale) / 2)


@pytest.mark.parametrize(
    ("mechanism", "public", "scales"),
    [
        (naive_above_threshold, {"positives": 2}, (2.0, 8.0)),
        (naive_above_threshold_unscaled, {"positives": 2}, (4.0, 4 / 3)),
        (naive_above_threshold_endless, {}, (2.0, 2.0)),
    ],
)
def test_reports_follow_the_noise_that_the_paper_prints(
    mechanism: Callable[..., Any], public: dict[str, int], scales: tuple[float, float]
) -> None:
    """The probability of (below, above, above) and of (below, below, below), by numerical integration at ε = 1."""
    answers, trials = np.array([0.0, 2.0, -1.0]), TRIALS
    rows = mechanism(answers, trials, rng(), threshold=0.5, epsilon=1.0, **public)
    bars = np.linspace(-50 * scales[0], 50 * scales[0], 200_001)
    density = np.exp(-np.abs(bars) / scales[0]) / (2 * scales[0])
    above = [tail(0.5 + bars - answer, scales[1]) for answer in answers]
    for report in ((False, True, True), (False, False, False)):
        chances = [one if said else 1 - one for one, said in zip(above, report, strict=True)]
        ideal = float(np.sum(density * np.prod(chances, axis=0))) * (bars[1] - bars[0])
        low, high = bounds(int((rows == report).all(axis=1).sum()), trials, ALPHA)
        assert low < ideal + 1e-6
        assert high > ideal - 1e-6


@pytest.mark.parametrize("mechanism", [naive_above_threshold, naive_above_threshold_unscaled])
def test_nothing_is_reported_after_the_last_positive(mechanism: Callable[..., Any]) -> None:
    rows = mechanism(np.full(9, 1e6), 100, rng(), threshold=0.0, positives=3, epsilon=1.0)
    assert rows.tolist() == [[True] * 3 + [False] * 6] * 100


def test_answers_without_noise_tell_which_is_larger() -> None:
    rows = [
        naive_above_threshold_noiseless(answers, TRIALS, rng(), threshold=0.0, epsilon=1.0)
        for answers in ([0.0, 1.0], [1.0, 0.0])
    ]
    seen = [(said[:, 1] & ~said[:, 0]).sum() for said in rows]
    assert seen[0] > 15_000
    assert seen[1] == 0


def test_a_value_with_the_noise_that_was_compared_tells_of_the_answers_before_it() -> None:
    """Four answers rise by 1, the next stays: (below)^4 and a value of at most 0 loses 4/2 at c = 1 and ε = 1."""
    trials = 1_500_000
    said = []
    for first in (0.0, 1.0):
        rows = naive_numeric_sparse_reused([first] * 4 + [0.0], trials, rng(), threshold=0.0, positives=1, epsilon=1.0)
        said.append((rows[:, :4] == -np.inf).all(axis=1) & (rows[:, 4] <= 0) & (rows[:, 4] > -np.inf))
    assert 1 < least_loss(*said) < 2


def test_fresh_noise_on_values_tells_nothing_of_the_comparison() -> None:
    """At 10 scales of the comparison above the threshold, the value is the answer with noise of scale 3c/ε."""
    rows = naive_numeric_sparse([1000.0], TRIALS, rng(), threshold=0.0, positives=2, epsilon=1.0)
    for value in (1000.0, 1003.0, 990.0):
        low, high = bounds(int((rows[:, 0] >= value).sum()), TRIALS, ALPHA)
        assert low < float(tail(value - 1000.0, 6.0)) < high


def test_integers_beyond_the_doubles_are_taken_far_apart() -> None:
    """2^60 + 128 and the next integer become 2^60 and 2^60 + 256: a threshold of the latter tells them apart."""
    above = [
        naive_above_threshold([2**60 + 128 + more], 1000, rng(), threshold=2.0**60 + 256, positives=1, epsilon=1.0)
        for more in (0, 1)
    ]
    assert [float(said.mean()) for said in above] == [0.0, 1.0]


SMALLEST, LARGEST = 1 << 11, 2**64 - 2**11
"""Words that make the smallest uniform number that numpy turns into Laplace noise, 2^−53, and the largest."""


def giving(first: int, second: int) -> np.random.Generator:
    """A generator whose next words agree with these but for the lowest bit, which does not reach a double.

    PCG64 steps s to s·m + i modulo 2^128 with an odd i, and a state below 2^58 in its upper half is given out as the
    exclusive or of its halves.
    """
    multiplier = 0x2360ED051FC65DA44385DF649FCCF645
    second ^= 1 - ((second - first) & 1)
    step = (second - first * multiplier) % 2**128
    before = (first - step) * pow(multiplier, -1, 2**128) % 2**128
    source = np.random.PCG64()
    source.state = {"bit_generator": "PCG64", "state": {"state": before, "inc": step}, "has_uint32": 0, "uinteger": 0}
    return np.random.Generator(source)


def test_an_answer_far_below_is_never_reported_whose_neighbour_sometimes_is() -> None:
    """Noise lies between −52·ln 2 and 53·ln 2 scales, at ε = 1 and c = 5 of 2 and of 20. So ε-DP fails for every ε."""
    farthest = -(2 * 52 + 20 * 53) * math.log(2)
    for answer, reported in ((farthest + 0.5, True), (farthest - 0.5, False)):
        rows = naive_above_threshold([answer], 1, giving(SMALLEST, LARGEST), threshold=0.0, positives=5, epsilon=1.0)
        assert rows.tolist() == [[reported]]
