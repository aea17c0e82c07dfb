"""The naive exponential mechanism, judged by the textbooks' loop and by scalar arithmetic in each format."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from mechanisms.exponential.naive import (
    naive_exponential,
    naive_exponential_low_precision,
)


class Given:
    """Stands for a generator that yields the given uniform numbers."""

    def __init__(self, *uniforms: float) -> None:
        self._uniforms = np.array(uniforms)

    def random(self, count: int) -> np.ndarray:
        assert count == len(self._uniforms)
        return self._uniforms


def textbook_loop(weights: list[float], uniform: float) -> int | None:
    total = 0.0
    for weight in weights:
        total += weight
    cumulative = 0.0
    for index, weight in enumerate(weights):
        cumulative += weight
        if total != 0.0 and not math.isnan(total) and cumulative / total > uniform:
            return index
    return None


UNIFORMS = [0.0, 2**-60, 0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9, 1 - 2**-30, 1 - 2**-53]


@pytest.mark.parametrize(
    "utilities",
    [[0.0], [0.0, 0.0], [-2980.0, -2981.0], [-2981.0, -2980.0], [3.0, 1.5, -7.25, 3.0], list(np.linspace(-40, 40, 97))],
)
def test_selections_are_those_of_the_textbooks_loop(utilities: list[float]) -> None:
    selected = naive_exponential(utilities, len(UNIFORMS), Given(*UNIFORMS), epsilon=0.5, sensitivity=0.5)
    weights = [float(np.exp(0.5 * u)) for u in utilities]
    assert list(selected) == [textbook_loop(weights, uniform) for uniform in UNIFORMS]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_low_precision_sums_are_rounded_to_the_format_at_every_step(dtype: type) -> None:
    utilities = -np.linspace(0.0, 4.0, 300)
    total, sums = dtype(0), []
    for utility in utilities:
        total = dtype(total + dtype(np.exp(utility / 2)))
        sums.append(total)
    shares = [float(dtype(s / total)) for s in sums]
    uniforms = np.random.default_rng(3).random(1000)
    selected = naive_exponential_low_precision(utilities, 1000, Given(*uniforms), epsilon=1.0, dtype=dtype)
    assert list(selected) == [next(i for i, share in enumerate(shares) if share > u) for u in uniforms]


def test_zero_rounding_makes_an_outcome_certain_whichever_way_the_uniform_falls() -> None:
    for best in (0, 1):
        utilities = [-2981.0, -2981.0]
        utilities[best] = -2980.0
        assert set(naive_exponential(utilities, len(UNIFORMS), Given(*UNIFORMS), epsilon=0.5)) == {best}


@pytest.mark.parametrize("utilities", [[-4000.0, -4001.0], [4000.0, 0.0], [4000.0, 4000.0], [0.0, math.nan]], ids=str)
def test_vanished_overflowed_and_undefined_weights_give_no_outcome(utilities: list[float]) -> None:
    assert naive_exponential(utilities, 3, np.random.default_rng(0), epsilon=0.5) == [None] * 3
