"""Draws in chunks are those of their own words, whatever the number of draws is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.random_bits import SeededBits
from mechanisms.certified import CHUNK
from mechanisms.chunks import GREATEST_NOISE, draw_in_chunks
from mechanisms.randomness import RandomBits
from tests.mechanisms.words import Endless, GivenWords


def halves(words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    return (words >> np.uint64(1)).view(np.int64), np.flatnonzero(words == np.uint64(7))


@pytest.mark.parametrize("trials", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 1])
def test_each_draw_is_made_of_its_own_word(trials: int) -> None:
    words = [3 * i + 8 for i in range(trials)]
    drawn = draw_in_chunks(trials, GivenWords(words, Endless()), halves, lambda *_: 0)
    assert drawn.tolist() == [word // 2 for word in words]


def test_an_undecided_draw_goes_on_with_its_own_word_and_further_bits() -> None:
    seen = []

    def resolve(word: int, bits: RandomBits) -> int:
        seen.append((word, bits.take(2)))
        return -5

    drawn = draw_in_chunks(3, GivenWords([10, 7, 30], Endless()), halves, resolve)
    assert drawn.tolist() == [5, -5, 15]
    assert seen == [(7, 1)]


@pytest.mark.parametrize(("far", "brought"), [(1 << 80, GREATEST_NOISE), (-(1 << 80), -GREATEST_NOISE), (-4, -4)])
def test_what_64_bits_do_not_hold_is_brought_to_an_end(far: int, brought: int) -> None:
    assert draw_in_chunks(1, GivenWords([7], Endless()), halves, lambda *_: far).tolist() == [brought]


@pytest.mark.parametrize(("trials", "error"), [(-1, ValueError), (1.0, TypeError)])
def test_a_number_of_draws_that_is_none_is_refused(trials: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        draw_in_chunks(trials, SeededBits(np.random.default_rng(0)), halves, lambda *_: 0)


def test_a_value_that_means_nothing_is_no_error_whatever_numpy_is_told() -> None:
    def decide(words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        return np.full(len(words), np.nan), np.arange(len(words))

    with np.errstate(all="raise"):
        drawn = draw_in_chunks(3, SeededBits(0), decide, lambda *_: 7)
    assert drawn.tolist() == [7, 7, 7]
