"""Streams above a threshold and keys above one: laws by their definition, losses of all small neighbours, all sizes."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noise import Noise
from mechanisms.core.records import Answer
from mechanisms.core.threshold import NOT_REPORTED, AboveThreshold, KeysAbove
from tests.mechanisms.core.scripted_noise import scripted

WHOLE = Answer(1, Grid(0))
SURE = DiscreteLaplace(Fraction(1, 100))
"""Noise of 0, but with a probability below 1e-43."""


def stream(positives: int = 1, threshold: int = 1, *laws: Any) -> AboveThreshold:
    return AboveThreshold(WHOLE, threshold, positives, *(laws or (DiscreteLaplace(Fraction(1, 2)),) * 2))


@pytest.mark.parametrize("size", [2**k + d for k in (8, 15, 16, 20) for d in (-1, 0, 1)])
def test_every_answer_of_a_long_stream_is_looked_at(size: int) -> None:
    answers = np.full(size, -50.0)
    answers[[0, size // 2, size - 1]] = 50.0
    for positives, expected in ((2, [0, size // 2]), (3, [0, size // 2, size - 1])):
        reported = stream(positives, 1, SURE, SURE).many(answers, 2, SeededBits(size))
        assert all(np.flatnonzero(row).tolist() == expected for row in reported)
    if size < 2**15:
        assert np.flatnonzero(stream(2, 1, SURE, SURE).release(answers, SeededBits(0))).tolist() == [0, size // 2]


@pytest.mark.parametrize("size", [2**8 + 1, 2**15 + 1, 2**16 + 1, 2**20 + 1])
def test_counts_of_many_people_and_many_keys_are_exact(size: int) -> None:
    term = KeysAbove(SURE, 2)
    assert term.release(["a"] * size, SeededBits(0)) == (("a", size),)
    assert term.many(["a"] * size + ["b"], 3, SeededBits(0)) == [(("a", size),)] * 3
    if size < 2**16:
        keys = [f"{number:06}" for number in range(size)]
        (drawn,) = term.many(keys * 2, 1, SeededBits(0))
        assert drawn == tuple((key, 2) for key in keys)


@contextmanager
def handed_out(noise: dict[Fraction, list[int]]) -> Iterator[None]:
    """Draw arrays of noise from lists, one for each scale."""

    def add(self: Noise, values: Any, bits: Any) -> None:
        del bits
        values += np.array([noise[self.law.scale].pop(0) for _ in values], dtype=np.int64)  # type: ignore[attr-defined]

    with patch.object(Noise, "add", add):
        yield


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_a_stream_is_its_definition_for_each_noise(positives: int, seed: int) -> None:
    """The threshold, each answer and each value have noise of their own: what is released was not compared."""
    source, scales = random.Random(seed), (Fraction(2), Fraction(3), Fraction(5))
    term = stream(positives, 1, *map(DiscreteLaplace, scales))
    answers, noise = ([source.randint(-3, 3) for _ in range(5)] for _ in range(2))
    threshold, values = source.randint(-3, 3), [source.randint(-9, 9) for _ in range(2)]
    above = [answer + drawn >= 1 + threshold for answer, drawn in zip(answers, noise, strict=True)]
    told = [said and sum(above[:place]) < positives for place, said in enumerate(above)]
    left = iter(values)
    expected = tuple(answer + next(left) if said else NOT_REPORTED for answer, said in zip(answers, told, strict=True))
    looked_at = next((place + 1 for place in range(5) if sum(told[: place + 1]) == positives), 5)
    script = [threshold, *noise[:looked_at], *values[: sum(told)]]
    drawn = [scales[0], *[scales[1]] * looked_at, *[scales[2]] * sum(told)]
    assert scripted(term, answers, script) == (expected, drawn)
    with handed_out({scales[0]: [threshold] * 2, scales[1]: noise * 2, scales[2]: (values[: sum(told)]) * 2}):
        assert [tuple(row) for row in term.many(answers, 2, SeededBits(0))] == [expected] * 2


@pytest.mark.parametrize("noise", [(0, 0, 0), (4, 1, -3), (-1, 3, 2), (1, -9, 9)])
def test_keys_are_named_in_order_by_their_noisy_counts(noise: tuple[int, int, int]) -> None:
    term, data = KeysAbove(DiscreteLaplace(Fraction(2)), 3), ["c", "b", "c", "a", "b", "c", "c"]
    noisy = {key: count + drawn for (key, count), drawn in zip((("a", 1), ("b", 2), ("c", 4)), noise, strict=True)}
    expected = tuple((key, count) for key, count in noisy.items() if count >= 3)
    assert scripted(term, data, noise)[0] == expected
    with handed_out({Fraction(2): list(noise) * 2}):
        assert term.many(data, 2, SeededBits(0)) == [expected] * 2
