"""What few draws decide has the law that is worked out by hand, whatever the draws and however they are compared."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from attacklab.model.findings import Verdict
from attacklab.replay import replay

PAIR = (np.ones(4), np.ones(3))
RATE = math.exp(-2.0)
"""By this factor each integer is less probable than the one before, in the noise of two geometric numbers."""


def _noise(rng: Any) -> Any:
    return rng.geometric(1 - RATE) - rng.geometric(1 - RATE)


def _tail(at: int) -> float:
    """P[noise ≥ at], for at above 0."""
    return RATE**at / (1 + RATE)


def _at_least(x: Any, rng: Any) -> Any:
    return bool(len(x) + _noise(rng) >= 5)


def _more_than(x: Any, rng: Any) -> Any:
    return bool(len(x) + _noise(rng) > 5)


def _equal(x: Any, rng: Any) -> Any:
    return bool(len(x) + _noise(rng) == 5)


@pytest.mark.parametrize(
    ("release", "odds"),
    [
        (_at_least, (_tail(1), _tail(2))),
        (_more_than, (_tail(2), _tail(3))),
        (_equal, (_tail(1) - _tail(2), _tail(2) - _tail(3))),
    ],
)
def test_an_integer_at_which_a_comparison_turns_is_on_its_own_side(release: Any, odds: tuple[float, float]) -> None:
    (finding,) = replay(release, [PAIR], epsilon=1.0)
    assert finding.refutes
    assert f"probability {odds[0]:.6g} on one input and {odds[1]:.6g} on the other: ε = 2, " in finding.reason
    assert replay(release, [PAIR], epsilon=2.0)[0].verdict is Verdict.NOT_DETECTED


def _count_if_it_is_large_else_a_coin(x: Any, rng: Any) -> Any:
    noisy = len(x) + rng.laplace(0, 1)
    if noisy > 6:
        return "many"
    return "some" if rng.random() < 0.5 else "few"


def test_several_draws_that_decide_are_judged_together() -> None:
    (finding,) = replay(_count_if_it_is_large_else_a_coin, [PAIR], epsilon=0.9)
    many = math.exp(-2) / 2, math.exp(-3) / 2
    assert f"probability {many[0]:.6g} on one input and {many[1]:.6g} on the other: ε = 1, " in finding.reason
    assert replay(_count_if_it_is_large_else_a_coin, [PAIR], epsilon=1.0)[0].verdict is Verdict.NOT_DETECTED


def _rare_word(x: Any, rng: Any) -> Any:
    return ["few", "some", "many"][int(np.searchsorted([0.2 + 0.1 * len(x), 0.9], rng.random()))]


def test_a_search_in_sums_cuts_a_uniform_number_at_each_of_them() -> None:
    assert replay(_rare_word, [PAIR], epsilon=0.28)[0].refutes  # some: 0.3 against 0.4; few: 0.6 against 0.5
    assert replay(_rare_word, [PAIR], epsilon=math.log(4 / 3) + 1e-6)[0].verdict is Verdict.NOT_DETECTED


def _place_of_the_largest_and_a_coin(values: Any, rng: Any) -> Any:
    place = int(np.argmax(np.array(values) + rng.gumbel(0, 1, 3)))
    return place if rng.random() < 0.8 else int(rng.integers(0, 3))


def test_the_largest_of_noisy_values_is_judged_with_what_hides_it() -> None:
    pair = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    one, other = (0.8 * weight / (math.e + 2) + 0.2 / 3 for weight in (math.e, 1.0))
    loss = math.log(one / other)
    assert replay(_place_of_the_largest_and_a_coin, [pair], epsilon=0.97 * loss)[0].refutes
    assert replay(_place_of_the_largest_and_a_coin, [pair], epsilon=1.001 * loss)[0].verdict is Verdict.NOT_DETECTED
