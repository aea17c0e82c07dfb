"""Laws of mechanisms that are step functions of one uniform number, and of all inputs of small formats."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attacklab.draws.errors import NotDeterministic
from attacklab.laws import (
    LawError,
    one_uniform,
    step_law,
)
from attacklab.laws.step_functions import NotMonotone
from mechanisms.exponential.naive import naive_exponential

GRID = 1 << 53


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, GRID), max_size=40))
def test_breakpoints_are_found_wherever_they_lie(cuts: list[int]) -> None:
    """The steps are given as integers; the counts between them are known without any floating point."""
    cuts = sorted(cuts)
    edges = np.array(cuts, dtype=np.float64) / GRID
    law = step_law(lambda u: np.searchsorted(edges, u, side="right"))
    counts = [b - a for a, b in zip([0, *cuts], [*cuts, GRID], strict=True)]
    assert dict(law.masses) == {o: Fraction(count, GRID) for o, count in enumerate(counts) if count}


def test_the_naive_exponential_mechanism_agrees_with_a_walk_over_its_cumulative_weights() -> None:
    """An outcome's count: how many k have k·2^−53 below its cumulative share, but not below the one before."""
    utilities = [0.0, -1.0, -3.0, -2.0, -10.0]
    law = step_law(one_uniform(naive_exponential, utilities, epsilon=2.0))
    shares = np.cumsum(np.exp(np.array(utilities)))
    ends = [math.ceil(Fraction(float(share)) * GRID) for share in shares / shares[-1]]
    assert dict(law.masses) == {
        o: Fraction(b - a, GRID) for o, (a, b) in enumerate(zip([0, *ends], ends, strict=False))
    }


def test_an_outcome_on_two_intervals_is_refused() -> None:
    with pytest.raises(NotMonotone, match="more than one interval"):
        step_law(lambda u: np.floor(4 * u) % 2)


def test_a_mechanism_that_reads_other_randomness_is_refused() -> None:
    rng = np.random.default_rng(3)
    with pytest.raises((NotDeterministic, NotMonotone)):
        step_law(lambda u: np.where(rng.random(len(u)) < 0.5, 0, 1))
    calls: list[int] = []

    def drifting(u: NDArray[np.float64]) -> NDArray[np.bool_]:
        calls.append(len(u))
        return u < 0.5 - 0.01 * len(calls)

    with pytest.raises((NotDeterministic, NotMonotone)):
        step_law(drifting)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.random(n) + rng.random(n),
        lambda rng, n: rng.random(2 * n)[:n],
        lambda rng, n: rng.normal(size=n),
    ],
)
def test_a_mechanism_that_draws_anything_but_one_uniform_is_refused(draw: Any) -> None:
    def release(_: float, trials: int, rng: Any) -> NDArray[np.bool_]:
        return np.asarray(draw(rng, trials) < 0.5)

    with pytest.raises(LawError, match="must draw"):
        step_law(one_uniform(release, 0.0))
