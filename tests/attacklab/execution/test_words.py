"""Random words: a generator's states tell how many it gave."""

from __future__ import annotations

import numpy as np
import pytest

from attacklab.execution.words import state_of, words_between


@pytest.mark.parametrize("words", [0, 1, 2, 63, 64, 1000, 2**40 + 12345, 2**100 + 1])
def test_the_words_between_two_states_are_counted(words: int) -> None:
    rng = np.random.default_rng(words)
    before = state_of(rng)
    rng.bit_generator.advance(words)
    assert words_between(before, state_of(rng)) == words


def test_each_uniform_double_is_one_word_and_each_of_binary32_half_a_word() -> None:
    rng = np.random.default_rng(1)
    before = state_of(rng)
    rng.random(1001)
    assert words_between(before, between := state_of(rng)) == 1001
    rng.random(1000, dtype=np.float32)
    assert words_between(between, state_of(rng)) == 500
