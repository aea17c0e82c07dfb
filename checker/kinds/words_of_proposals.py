"""A fast path that proposes and decides by 64-bit words, compared with the checker's own reading of the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.enclosures import elementary as enclosures
from checker.models.exponential import code

WORD = 64
PREFIX = 12
"""Words are tried at both ends of each share of 2^−PREFIX of all of them."""

SPREAD = 3
"""Where many are drawn, so many bits of a word are given up to fill the words with codewords, or fewer if need be."""

WIDTH = 160
MANY = 200
"""If there are more outcomes than that, words of their own are tried for some of them only."""

FEW = 7
"""How many draws at once are made one by one."""


@dataclass(frozen=True)
class Round:
    """One outcome's numbers, and the bounds of the probability with which it is kept.

    Args:
        outcome: its index.
        begin: the first of its numbers.
        size: the binary logarithm of how many there are.
        low: a lower bound of the probability.
        high: an upper bound of it.
    """

    outcome: int
    begin: int
    size: int
    low: Fraction
    high: Fraction

    def kept(self, number: int, further: int) -> bool:
        """Whether one of its numbers keeps the outcome, if the bits after it are all 0 or all 1."""
        offset = number - self.begin
        if Fraction(offset + 1, 1 << self.size) <= self.low:
            return True
        if Fraction(offset, 1 << self.size) >= self.high:
            return False
        if Fraction(offset, 1 << self.size) > self.low or Fraction(offset + 1, 1 << self.size) < self.high:
            raise Refused("the checker's enclosure of a probability is too wide for a word")
        return not further


@dataclass(frozen=True)
class Words:
    """What each word does, for one vector of utilities.

    Numbers are given out to outcomes in order of level, as codewords are, or in the order of the outcomes. Words say a
    number: of many draws ⌊word / m⌋, so that m words say each, and of few draws their own. Either way an outcome
    has words in proportion to 2^−level, and the place of a word's number among the outcome's numbers is uniform.

    Args:
        levels: the level of each outcome.
        gaps: the gap of each outcome.
        by_level: whether numbers are given out in order of level, for many draws.
    """

    levels: Sequence[int]
    gaps: Sequence[Fraction]
    by_level: bool = True

    @cached_property
    def alike(self) -> int:
        """How many words say each number: as many as let all outcomes' numbers be said."""
        if not self.by_level:
            return 1
        return (1 << WORD) // sum(1 << (self._length - level) for level in self.levels)

    @cached_property
    def _length(self) -> int:
        """The binary logarithm of how many numbers an outcome of level 0 has."""
        _, shortest = code([self.levels.count(level) for level in range(max(self.levels) + 1)])
        depth = WORD - 1 - len(self.levels).bit_length()
        return max(depth, WORD - shortest - SPREAD) if self.by_level else WORD - shortest

    @cached_property
    def rounds(self) -> list[Round]:
        """The outcomes in the order of their numbers."""
        found, begin = [], 0
        for outcome in sorted(range(len(self.levels)), key=lambda one: (self.by_level and self.levels[one], one)):
            level = self.levels[outcome]
            low, high = _scaled(self.gaps[outcome], level)
            size = self._length - level
            found.append(Round(outcome, begin, size, low, high))
            begin += 1 << size
        return found

    def meant(self, words: Sequence[int], further: int) -> list[int]:
        """Return the outcomes that the words select, one after the other."""
        found, at = [], 0
        rounds = self.rounds
        for place in sorted(range(len(words)), key=words.__getitem__):
            number = words[place] // self.alike
            while at < len(rounds) and number >= rounds[at].begin + (1 << rounds[at].size):
                at += 1
            if at < len(rounds) and rounds[at].kept(number, further):
                found.append((place, rounds[at].outcome))
        return [outcome for _, outcome in sorted(found)]

    def edges(self, error: Fraction) -> list[int]:
        """Return the first and last words of numbers at the ends of every outcome's and wherever a decision may change.

        Left out are words whose decision would take hundreds of further bits.
        """
        endless = {one.begin for one in self.rounds if one.high < Fraction(1, 1 << (one.size + 200))}
        return [word for word in self._edges(error) if word // self.alike not in endless]

    def _edges(self, error: Fraction) -> Iterator[int]:
        for one in self.rounds[:: 1 + len(self.rounds) // MANY]:
            count = 1 << one.size
            places = [0, count, count // 2]
            around = (one.low + times * error for times in (-2, -1, 0, 1, 2))
            places += [int(share * count) for share in (*around, 1 - error)]
            for place in places:
                for near in (-2, -1, 0, 1):
                    first = (one.begin + place + near) * self.alike
                    yield from (word for word in {first, first + self.alike - 1} if 0 <= word < 1 << WORD)
        step = 1 << (WORD - PREFIX)
        for prefix in range(1 << PREFIX):
            yield from (prefix * step, prefix * step + step - 1)


@lru_cache(maxsize=1 << 10)
def _scaled(gap: Fraction, level: int) -> tuple[Fraction, Fraction]:
    if gap == 0 == level:
        return Fraction(1), Fraction(1)
    low, high = enclosures.exp(-min(gap, Fraction(300)), WIDTH + level)
    return (Fraction(0) if gap > 300 else low * 2**level), high * 2**level


@dataclass
class WordSource:
    """Gives out words, zeros after them, and the same bit over and over to whoever asks for single bits."""

    words_left: list[int]
    further: int
    takes: list[int] = field(default_factory=list)

    def take(self, count: int) -> int:
        """Give a word, or further bits."""
        if count == WORD:
            return self.words_left.pop(0) if self.words_left else 0
        self.takes.append(count)
        return ((1 << count) - 1) * self.further

    def words(self, count: int) -> Any:
        """Give words as an array."""
        taken, self.words_left = self.words_left[:count], self.words_left[count:]
        return import_module("numpy").array(taken + [0] * (count - len(taken)), dtype="uint64")

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler."""
        return sampler(*arguments, self)

    def repeat(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a round until it returns something."""
        while (found := sampler(*arguments, self)) is None:
            pass
        return found


def require_beginning(beginning: Callable[..., Any]) -> int:
    """Check that bits that were drawn already are given out again, the first first, and then those of the source.

    Returns:
        How many beginnings were tried.
    """
    tried = 0
    further = 0x6C8E9CF570932BD5
    for size in (0, 1, 2, 7, 20, 63, 64):
        for value in {0, (1 << size) - 1, 0x9E3779B97F4A7C15 % (1 << size), (1 << size) // 3}:
            whole, left = value << WORD | further, size + WORD
            for count in (1, 2, size + 3):
                read, taken, bits = 0, 0, beginning(value, size, SimpleNamespace(take=_taking(further)))
                while taken + count <= left:
                    read, taken = read << count | bits.take(count), taken + count
                if read != whole >> (left - taken):
                    raise Refused(f"{size} bits that were drawn already, {value}, are not given out as they were")
                tried += 1
    return tried


def _taking(word: int) -> Callable[[int], int]:
    """Return what gives out the bits of a word, the first first."""
    left = [WORD]

    def take(count: int) -> int:
        left[0] -= count
        return word >> left[0] & ((1 << count) - 1)

    return take


def require_words(fast: Callable[..., Any], utilities: Any, words: Words, error: Fraction) -> int:
    """Check what a fast path selects at all edges, draws at once by level and draws one by one in order.

    Args:
        fast: `fast(utilities, trials, bits)`.
        utilities: the utilities.
        words: what each word does.
        error: how far the fast path's filter reaches.

    Returns:
        How many words were tried.

    Raises:
        Refused: a word selects something else.
    """
    edges, ordered = words.edges(error), replace(words, by_level=False)
    edges, some = edges[1::2] + edges[::2], ordered.edges(error)
    some = some[: 24 * FEW] if len(words.levels) > 40 else some[: len(some) - 2 * (1 << PREFIX)] + some[::97]
    for further in (0, 1):
        expected = words.meant(edges, further)
        found = fast(utilities, len(expected), WordSource(list(edges), further)).tolist()
        if len(expected) > FEW and found != expected:
            raise Refused(_difference(found, expected, "many draws at once select"))
        expected, source, one_by_one = ordered.meant(some, further), WordSource(list(some), further), list[int]()
        while len(one_by_one) < len(expected):
            one_by_one += fast(utilities, min(FEW, len(expected) - len(one_by_one)), source).tolist()
        if one_by_one != expected or len(source.words_left) >= len(some):
            raise Refused(_difference(one_by_one, expected, "single draws select"))
    return 2 * len(edges)


def _difference(found: list[int], expected: list[int], what: str) -> str:
    place = next(
        (i for i, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1]),
        min(len(found), len(expected)),
    )
    return f"{what} {found[place : place + 3]} at place {place}, where words say {expected[place : place + 3]}"
