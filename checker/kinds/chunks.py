"""Many draws a chunk at a time: each draw has words of its own, and what is undecided goes on with bits of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from checker.core.certificate import PACKAGE, Refused

GREATEST_NOISE = 1 << 62
"""Draws beyond this are brought there."""

_SPREAD = 0x9E3779B97F4A7C15
COUNTS = (0, 1, 2, 100, 16384, 16385, 32780)
_EXTREMES = (3, -4, (1 << 62) - 1, 1 << 62, (1 << 62) + 1, -(1 << 62), -(1 << 62) - 1, 1 << 70)


class Source:
    """Words that are all different, and single bits by their number."""

    def __init__(self) -> None:
        self.drawn = 0
        self.bits = 0

    @staticmethod
    def array(values: Any) -> Any:
        """Return an array of the mechanisms' kind."""
        return importlib.import_module("numpy").array(values)

    @staticmethod
    def numbers(start: int, stop: int) -> Any:
        """Return the whole numbers from one on, as doubles."""
        return importlib.import_module("numpy").arange(start, stop, dtype=float)

    def take(self, count: int) -> int:
        """Return the next word, or the next bit's number."""
        if count == 64:
            self.drawn += 1
            return self.drawn * _SPREAD % (1 << 64)
        self.bits += 1
        return self.bits

    def words(self, count: int) -> Any:
        """Return words as the mechanisms' own protocol makes them of `take`."""
        return importlib.import_module(f"{PACKAGE}.randomness").RandomBits.words(self, count)


def require_chunks(draw_in_chunks: Callable[..., Any]) -> int:
    """Check that draws are filled in one by one, for numbers of draws about the ends of chunks (lemma `chunks`).

    Each draw is `decide` of a word that no other draw has, or if that is undecided `resolve` of the same word.

    Returns:
        How many draws were compared.
    """
    compared = 0
    for trials in COUNTS:
        source, decided, resolved = Source(), list[int](), list[tuple[int, int]]()

        def decide(words: Any, decided: list[int] = decided) -> tuple[Any, Any]:
            decided.extend(words.tolist())
            undecided = (words % words.dtype.type(5) == 0).nonzero()[0]
            return (words >> words.dtype.type(2)).view("int64"), undecided

        def resolve(word: int, bits: Any, resolved: list[tuple[int, int]] = resolved) -> int:
            resolved.append((word, bits.take(1)))
            return _EXTREMES[len(resolved) % len(_EXTREMES)]

        drawn = draw_in_chunks(trials, source, decide, resolve)
        if drawn.dtype.name != "int64" or source.drawn != trials or len(decided) != trials:
            raise Refused(f"{trials} draws take {source.drawn} words, {len(decided)} of them are decided")
        if len(set(decided)) != source.drawn:
            raise Refused("two draws share a word")
        undecided = [word for word in decided if word % 5 == 0]
        if [word for word, _ in resolved] != undecided or source.bits != len(undecided):
            raise Refused("the draws that are resolved are not those that are undecided, in their order")
        followers = iter(_EXTREMES[(i + 1) % len(_EXTREMES)] for i in range(len(undecided)))
        for word, noise in zip(decided, drawn.tolist(), strict=True):
            expected = next(followers) if word % 5 == 0 else word >> 2
            if noise != min(max(expected, -GREATEST_NOISE), GREATEST_NOISE):
                raise Refused(f"a draw of {word} is {noise}, not {expected}")
        compared += trials
    return compared
