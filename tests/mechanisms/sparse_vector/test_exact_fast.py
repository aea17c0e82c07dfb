"""The fast paths have the laws of their references, and compare noise of any size."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.randomness import RandomBits
from mechanisms.sparse_vector import exact_fast
from mechanisms.sparse_vector.exact_fast import (
    exact_above_threshold_fast,
    exact_numeric_sparse_fast,
    unbounded_laplace_many,
)
from tests.mechanisms.sparse_vector.laws import at_least, law, mass

PUBLIC: dict[str, Any] = {"threshold": 1, "positives": 2, "epsilon_threshold": 1, "epsilon_answers": 2, "grid": Grid(0)}
TRIALS = 200_000
STRAY = math.sqrt(math.log(2e11) / (2 * TRIALS))
"""A frequency strays so far from its probability with probability below 1e-11 (Hoeffding)."""


def test_reports_follow_the_definition() -> None:
    """The scales are 1 and 2·2/2; seven reports, so that a true law fails with probability below 1e-10."""
    answers = (0, 2, 1)
    rows = exact_above_threshold_fast(answers, TRIALS, SeededBits(np.random.default_rng(4)), **PUBLIC)
    assert (rows.dtype, rows.shape) == (np.bool_, (TRIALS, 3))
    ideal = law(answers, 1, 2, (1.0, 2.0))
    found = {report: float(np.mean((rows == report).all(axis=1))) for report in ideal}
    assert sum(found.values()) == pytest.approx(1)
    assert all(abs(found[report] - ideal[report]) < STRAY for report in ideal)


def test_values_stand_where_answers_are_reported_and_follow_their_noise() -> None:
    """The value's noise has scale 2/ε₃ = 4; what it is tells nothing of the comparison."""
    answers = (0, 2, 1)
    bits = SeededBits(np.random.default_rng(5))
    values = exact_numeric_sparse_fast(answers, TRIALS, bits, **PUBLIC, epsilon_values=Fraction(1, 2))
    reported = values > -math.inf
    assert values.dtype == np.float64
    for report, probability in law(answers, 1, 2, (1.0, 2.0)).items():
        assert abs(float(np.mean((reported == report).all(axis=1))) - probability) < STRAY
    for query, answer in enumerate(answers):
        shown = values[reported[:, query], query]
        stray = math.sqrt(math.log(2e11) / (2 * len(shown)))
        for value in (answer - 5, answer, answer + 3):
            assert abs(float(np.mean(shown == value)) - mass(value - answer, 4.0)) < stray
        assert abs(float(np.mean(shown >= answer + 8)) - at_least(8, 4.0)) < stray


class Zeros(RandomBits):
    """All words and the first bits are 0, then all bits are 1: U is about 2^−zeros."""

    def __init__(self, zeros: int) -> None:
        self._left = zeros

    def take(self, count: int) -> int:
        if count == 64:
            return 0
        self._left -= 1
        return int(self._left < 0)


@pytest.mark.parametrize(("zeros", "kind"), [(1000, "int64"), (100_000, "object")])
def test_noise_may_be_larger_than_64_bits_hold(zeros: int, kind: str) -> None:
    """At the scale 2^46 noise is 2^46·zeros·ln 2, or where that is 2^62 and more, 2^62 and what is drawn anew."""
    (noise,) = unbounded_laplace_many(Fraction(2**46), 1, Zeros(zeros)).tolist()
    assert unbounded_laplace_many(Fraction(2**46), 1, Zeros(zeros)).dtype.name == kind
    assert (abs(noise) >= 2**62) == (kind == "object")


def test_noise_beyond_64_bits_is_compared_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    far = 1 << 62
    drawn = iter([np.array([far + 5, far, -far - 9, 0], dtype=object), np.array([far + 7, far, -far - 9, -1])])
    monkeypatch.setattr(exact_fast, "unbounded_laplace_many", lambda *_: next(drawn))
    bits = SeededBits(np.random.default_rng(6))
    rows = exact_above_threshold_fast([0], 4, bits, **{**PUBLIC, "threshold": 1})
    assert rows.tolist() == [[True], [False], [False], [False]]


@pytest.mark.parametrize(
    ("mechanism", "more"), [(exact_above_threshold_fast, {}), (exact_numeric_sparse_fast, {"epsilon_values": 1})]
)
def test_no_answers_and_no_trials_are_rows_of_their_shape(mechanism: Callable[..., Any], more: dict[str, Any]) -> None:
    bits = SeededBits(np.random.default_rng(7))
    assert mechanism([], 3, bits, **PUBLIC, **more).shape == (3, 0)
    assert mechanism([1, 2], 0, bits, **PUBLIC, **more).shape == (0, 2)
    assert mechanism([math.nan, math.inf, -(10**400)], 5, bits, **PUBLIC, **more).shape == (5, 3)
