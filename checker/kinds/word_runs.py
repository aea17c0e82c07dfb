"""Fast paths run on chosen words, beside the checker's own inversion in rationals.

That every word is treated rightly is shown on unknown words. Here the very arrays run, so that nothing hangs on how
code treats what is not an array.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import cycle
from typing import Any

from checker.core.certificate import PACKAGE, Refused
from checker.core.tape import same
from checker.enclosures.elementary import exp
from checker.kinds.open_words import WORD, Further, NoBits

_TOP = (1 << WORD) - 1
_PATTERNS = ((0, 1), (1, 1, 0), (1, 0, 0, 0, 1))
_MOST_DRAWS = 4096


class GivenWords:
    """A source of chosen words, and of further bits in a pattern.

    Args:
        words: what words are drawn, in their order.
        pattern: further bits, repeated.
    """

    def __init__(self, words: Iterable[int], pattern: Sequence[int]) -> None:
        self._words, self._bits = iter(words), cycle(pattern)

    def take(self, count: int) -> int:
        """Return the next word, or the next further bit."""
        return next(self._words) if count == WORD else next(self._bits)

    def words(self, count: int) -> Any:
        """Return words as the mechanisms' own protocol makes them of `take`."""
        return importlib.import_module(f"{PACKAGE}.randomness").RandomBits.words(self, count)


def words_near(exponents: Iterable[Fraction], width: int = WORD) -> list[int]:
    """Return the words about e^−x, and those at the ends and between, as the first `width` bits of a uniform."""
    found = {0, 1, 2, (1 << width) - 1, 1 << (width - 1), (1 << width) // 3, (1 << width) // 1000}
    for x in exponents:
        centre = int(exp(-x, WORD + 32)[0] * (1 << width))
        found |= {centre + near for near in range(-2, 3)}
    return sorted(word for word in found if 0 <= word < 1 << width)


def require_runs(
    release: Callable[[int, GivenWords], Any],
    draws: Sequence[tuple[int, ...]],
    expected: Callable[..., Any],
) -> int:
    """Check what is released for chosen words.

    Args:
        release: `release(trials, bits)`: an array.
        draws: the words of each draw; fewer than fill a chunk.
        expected: `expected(*words, take)`: what a draw must be.

    Returns:
        How many draws were compared.

    Raises:
        Refused: one differs.
    """
    decided, open_draws = list[tuple[tuple[int, ...], Any]](), list[tuple[int, ...]]()
    for words in draws[:_MOST_DRAWS]:
        try:
            decided.append((words, expected(*words, NoBits().take)))
        except Further:
            open_draws.append(words)
    columns = [word for column in zip(*(words for words, _ in decided), strict=True) for word in column]
    found = release(len(decided), GivenWords(columns, (0, 1))).tolist()
    for (words, value), one in zip(decided, found, strict=True):
        _require(words, one, value)
    for words in open_draws:
        for pattern in _PATTERNS:
            found = release(1, GivenWords(words, pattern)).tolist()
            _require(words, found[0], expected(*words, _pattern(pattern)))
    return len(decided) + len(_PATTERNS) * len(open_draws)


def _pattern(bits: Sequence[int]) -> Callable[[int], int]:
    following: Iterator[int] = cycle(bits)
    return lambda _: next(following)


def _require(words: tuple[int, ...], found: Any, value: Any) -> None:
    if type(found) is not type(value) or not same(found, value):
        raise Refused(f"on the words {words} {found!r} is released, not {value!r}")
