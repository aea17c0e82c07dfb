"""Sources of bits that give two paths of a mechanism the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.random_bits import SeededBits
from mechanisms.randomness import RandomBits


class Endless(RandomBits):
    """Bits beyond the words, the same each time it is asked: what follows a word matters to no draw but that one."""

    def take(self, count: int) -> int:
        return (1 << count) // 3


class RecordedWords(RandomBits):
    """Seeded words that are kept, in order, for a second path to read; single bits come from `continuation`."""

    def __init__(self, seed: int, continuation: RandomBits) -> None:
        self._source = SeededBits(np.random.default_rng(seed))
        self._continuation = continuation
        self.recorded: list[NDArray[np.uint64]] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        self.recorded.append(self._source.words(count))
        return self.recorded[-1]

    def take(self, count: int) -> int:
        return self._continuation.take(count)


class GivenWords(RandomBits):
    """The given words for a fast path; single bits come from `continuation`."""

    def __init__(self, words: list[int], continuation: RandomBits) -> None:
        self._words = iter(words)
        self._continuation = continuation

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([next(self._words) for _ in range(count)], dtype=np.uint64)

    def take(self, count: int) -> int:
        return self._continuation.take(count)


class WordACall(RandomBits):
    """The same words for a reference path: each sampler that is called begins a word of its own."""

    def __init__(self, words: Iterator[int], continuation: RandomBits) -> None:
        self._words = words
        self._continuation = continuation
        self._word, self._left = 0, 0

    def call(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        self._word, self._left = next(self._words), 64
        return sampler(*arguments, self)

    def take(self, count: int) -> int:
        beyond = count - self._left
        if beyond > 0:
            return self.take(self._left) << beyond | self._continuation.take(beyond)
        self._left -= count
        return self._word >> self._left & ((1 << count) - 1)
