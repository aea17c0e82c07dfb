"""Many draws at once: decided together, a chunk of words at a time, and then the undecided ones one by one.

These wait for the last chunk: between passes over arrays, which fill the caches, each would take twice as long.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mechanisms.answers import Answers
from mechanisms.certified import CHUNK
from mechanisms.grid import Grid
from mechanisms.parameters import trial_count
from mechanisms.randomness import RandomBits

GREATEST_NOISE = 1 << 62
"""The largest noise in 64 bits, which leaves room for an answer of at most 2^62 to be added."""

Decide = Callable[..., tuple[NDArray[np.float64], NDArray[np.intp]]]
Resolve = Callable[..., int]


def draw_in_chunks(trials: int, bits: RandomBits, decide: Decide, resolve: Resolve) -> NDArray[np.int64]:
    """Draw integers, each from a word, and from more bits where that leaves it undecided.

    A chunk takes the words of all its draws; after the last one, those undecided take further bits.

    Args:
        trials: how many integers to draw.
        bits: the source of randomness.
        decide: `decide(words)`, shape (n,): the draws, integers, and the places of those that are undecided, where they
            mean nothing.
        resolve: `resolve(word, bits)`, for one draw. What lies beyond ±2^62 is brought there.

    Returns:
        The integers, shape (trials,).

    Raises:
        TypeError: `trials` is not an integer.
        ValueError: `trials` is negative.
    """
    drawn = np.empty(trial_count(trials), dtype=np.int64)
    waiting: list[tuple[int, int]] = []
    for start in range(0, len(drawn), CHUNK):
        chunk = drawn[start : start + CHUNK]
        words = bits.words(len(chunk))
        noise, undecided = decide(words)
        with np.errstate(invalid="ignore"):  # what is undecided may be NaN
            chunk[:] = noise
        waiting.extend((start + i, int(words[i])) for i in undecided.tolist())
    for place, word in waiting:
        drawn[place] = min(max(resolve(word, bits), -GREATEST_NOISE), GREATEST_NOISE)
    return drawn


def release_in_chunks(
    answers: Answers, bits: RandomBits, *, grid: Grid, decide: Decide, resolve: Resolve
) -> NDArray[np.float64]:
    """Add to each of many answers noise of its own, drawn as in `draw_in_chunks`, and clamp the sums to a grid.

    Args:
        answers: in steps of the grid.
        bits: the source of randomness.
        grid: the public grid of outputs.
        decide: `decide(shifts, words)`: the noise, in steps from the whole numbers, and the places of what is
            undecided. The shifts are an array, or one double for all.
        resolve: `resolve(shift, word, bits)`, for one draw and its exact shift.

    Returns:
        Points of the grid, shape (len(answers),).
    """
    outputs = np.empty(len(answers))
    waiting: list[tuple[int, int]] = []
    for start in range(0, len(outputs), CHUNK):
        chunk = outputs[start : start + CHUNK]
        words = bits.words(len(chunk))
        wholes, shifts = answers.part(start, start + len(chunk))
        noise, undecided = decide(shifts, words)
        grid.write_values(wholes, noise, chunk)
        waiting.extend((start + i, int(words[i])) for i in undecided.tolist())
    for place, word in waiting:
        whole, shift = answers.at(place)
        outputs[place] = grid.value(whole + resolve(shift, word, bits))
    return outputs
