"""Draws of terms, one at a time and many at once, have the laws that are claimed; seeds are fixed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import Kernel
from mechanisms.core.laws import DiscreteLaplace, RoundedLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.records import Answer, CountFrom
from mechanisms.core.sample import FixedSample, PoissonSample
from mechanisms.exponential.base2.weighted_sampling import IntegerWeights, Sampler
from tests.unit.mechanisms.core.test_kernel import STEP, THREE
from tests.unit.mechanisms.exponential.test_base2 import SAMPLERS


def test_noise_of_different_answers_and_trials_is_independent() -> None:
    """Correlations of 10^5 pairs: beyond 0.03 with a probability below 1e-12 each."""
    term = noisy(Answer(1, Grid(-4)), RoundedLaplace, 1)
    drawn = term.each(np.zeros((2, 100_000)), SeededBits(8))
    lagged = [(drawn[0], drawn[1]), (drawn[0][:-1], drawn[0][1:]), (abs(drawn[0]), abs(drawn[1]))]
    assert all(abs(np.corrcoef(first, second)[0, 1]) < 0.03 for first, second in lagged)


@pytest.mark.parametrize("bits", [3, 62])
def test_arrays_have_the_laws_of_their_rows_of_a_kernel(bits: int) -> None:
    """20,000 draws stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding); the seed is fixed."""
    rows = tuple(tuple(words << bits - 3 for words in row) for row in THREE)
    term, source = Kernel(STEP, -1, rows), SeededBits(1)
    answers = np.repeat([[-5.0, 0.2], [0.9, math.nan]], 20_000, axis=1)
    assert len(term.each([-5.0, 0, Fraction(1, 3), 9], source)) == 4
    released = term.each(answers, source)
    assert released.shape == answers.shape
    parts = {0: released[0, :20_000], 1: released[0, 20_000:], 2: term.many(1, 20_000, source)}
    for row, outputs in parts.items():
        seen = Counter(outputs.tolist())
        assert all(abs(seen[step] / 20_000 - THREE[row][step + 1] / 8) < 0.025 for step in (-1, 0, 1))


@pytest.mark.parametrize("size", [2**8 + 1, 2**15 + 1, 2**16 + 1])
def test_large_data_are_sampled_whole(size: int) -> None:
    """By Hoeffding a count is off by 6·√size with a probability below 1e-31."""
    poisson = PoissonSample(noisy(CountFrom(), DiscreteLaplace, 64), Fraction(1, 2)).release(
        [1] * size, SeededBits(size)
    )
    assert abs(poisson - size / 2) < 6 * math.sqrt(size)
    fixed = noisy(CountFrom(1, "substitute"), DiscreteLaplace, 64)
    assert FixedSample(fixed, size - 1, size).release([1] * size, SeededBits(size)) == size - 1


@pytest.mark.parametrize("sampler", SAMPLERS, ids=["rejection", "bisection", "rounds"])
def test_frequencies_follow_weights_of_a_thousand_bits(sampler: Sampler) -> None:
    """10⁴ draws; the frequency strays by 0.034 with probability below 2·e^−23 ≈ 2e-10 (Hoeffding)."""
    weights, bits = IntegerWeights((2**1000, 1, 2**999 - 1, 0)), SeededBits(np.random.default_rng(21))
    drawn = Counter(sampler(weights, bits) for _ in range(10_000))
    assert set(drawn) == {0, 2}
    assert abs(drawn[0] / 10_000 - 2 / 3) < 0.034
