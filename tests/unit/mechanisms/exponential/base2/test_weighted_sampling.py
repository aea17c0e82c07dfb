"""Sampling by integer weights, judged by exact laws and by counting every tape."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest

from attacklab.model.random_bits import TapedBits
from mechanisms.exponential.base2.weighted_sampling import (
    IntegerWeights,
    Sampler,
    sample_by_bisection,
    sample_by_rejection,
    sample_by_rejection_rounds,
)
from tests.unit.mechanisms.enumeration import law_of

TWO_ROUNDS = partial(sample_by_rejection_rounds, rounds=2)
SAMPLERS = [sample_by_rejection, sample_by_bisection, TWO_ROUNDS]
WEIGHTS = [(1,), (7,), (8,), (1, 1, 1), (5, 3), (0, 3, 0, 5, 0), (1, 2, 4, 8, 1), (16, 1, 15, 2), (1,) * 13]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=["rejection", "bisection", "rounds"])
@pytest.mark.parametrize("values", WEIGHTS, ids=str)
def test_every_index_has_exactly_its_share(sampler: Sampler, values: tuple[int, ...]) -> None:
    expected = {i: Fraction(weight, sum(values)) for i, weight in enumerate(values) if weight}
    assert law_of(sampler, IntegerWeights(values)) == expected


def test_algorithm_4_always_uses_its_rounds_and_keeps_the_first_in_range() -> None:
    for drawn, index in [(0b11_10, 2), (0b10_11, 2), (0b01_10, 1)]:
        tape = TapedBits(drawn, 4)
        assert TWO_ROUNDS(IntegerWeights((1, 1, 1)), tape) == index
        assert tape.left == 0
    longer = TapedBits(0b11_11_11_01, 8)
    assert TWO_ROUNDS(IntegerWeights((1, 1, 1)), longer) == 1
    assert longer.left == 0


def test_bisection_takes_no_bit_beyond_the_one_that_decides() -> None:
    for tape, index, left in [(0b0_000, 0, 3), (0b10_00, 1, 2), (0b110_0, 2, 1), (0b1110, 3, 0), (0b1111, 4, 0)]:
        source = TapedBits(tape, 4)
        assert (sample_by_bisection(IntegerWeights((8, 4, 2, 1, 1)), source), source.left) == (index, left)
