"""Noise drawn as a mixture: words are given to cells of steps, and the words that are left draw what remains of a law.

The words below a limit find a slot by their leading bits, in it one of two cells by a threshold, and the step by their
last bits; tables say how many words each step gets. The words above are followed through the code, each comparison both
ways: a range of them belongs to a cell, whose step is then uniform or the greater one of two uniform numbers, and the
last range to an inversion. So the mass that words give to each step is known, and the law is that of the noise if

- nowhere a step is given more than the law has, which is shown cell by cell (`require_minorant`);
- the inversion draws from T − G, scaled, where T are the tails of the law and G those of what was given.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore
from checker.enclosures import normal
from checker.kinds.lending import Token
from checker.kinds.opaque import Opaque
from checker.kinds.open_words import WORD, OpenWord
from checker.kinds.releases import Recorded, fields_of
from checker.kinds.trace import Traced, flatnonzero, look_up, matched, require_unwritten

WORDS = 1 << WORD
_GREATEST = 1 << 52
_COMPARISONS = 24
_BITS = 80


@dataclass(frozen=True)
class Mixture:
    """What words are given to.

    Attributes:
        width: the steps of a cell, a power of two.
        limit: the first word that is open.
        slots: for each slot, the word from which on it belongs to its upper cell, and the least steps of its lower and
            upper cell.
        shares: the ranges of open words that need no inversion: where each ends, and the least steps of its cell.
        each: how many words each step of a cell has below the limit, by the cell's least step.
        even: how many open words leave all steps of a cell alike.
        ramp: how many make its step the greater one of two uniform numbers, counted towards 0.
        law: what the remaining words draw from.
        sampler: what draws from that law.
    """

    width: int
    limit: int
    slots: list[tuple[int, int, int]]
    shares: list[tuple[int, int]]
    each: dict[int, int]
    even: dict[int, int]
    ramp: dict[int, int]
    law: Any
    sampler: Callable[..., Any]

    def allows(self, word: int, noise: int) -> bool:
        """Say whether a word can have a noise, whatever bits follow it."""
        if word < self.limit:
            threshold, lower, upper = self.slots[word * len(self.slots) // self.limit]
            return noise == (upper if word >= threshold else lower) + word % self.width
        share = bisect_right(self.shares, word, key=lambda one: one[0])
        if share == len(self.shares):
            return True
        start = self.shares[share][1]
        return start <= noise < start + self.width


class Given:
    """The tails G of what words give to steps, each a rational number."""

    def __init__(self, mixture: Mixture) -> None:
        self._mixture = mixture
        self._starts = sorted({*mixture.each, *mixture.even, *mixture.ramp})
        words = [self._words(start, 0) for start in reversed(self._starts)]
        self._above = [*accumulate(words, initial=Fraction(0))][::-1]
        self.remaining = 1 - self._above[0] / WORDS

    def __call__(self, outcome: int) -> Fraction:
        """Return the probability of an outcome or more."""
        place = bisect_right(self._starts, outcome)
        found = self._above[place]
        if place:
            start = self._starts[place - 1]
            found += self._words(start, min(outcome - start, self._mixture.width))
        return found / WORDS

    def _words(self, start: int, first: int) -> Fraction:
        """Count the words of a cell's steps from the `first` on."""
        mixture = self._mixture
        along = Fraction(mixture.width - first, mixture.width)
        ramp = along**2 if start >= 0 else 1 - (1 - along) ** 2
        return (
            mixture.each.get(start, 0) * (mixture.width - first)
            + mixture.even.get(start, 0) * along
            + mixture.ramp.get(start, 0) * ramp
        )


def mixture_of(recorded: Recorded) -> tuple[Mixture, int]:
    """Find out what a release gives its words to.

    Returns:
        The mixture, and how many runs of open words were looked at.

    Raises:
        Refused: the release does something else.
    """
    words = Traced.unknown("words", "uint64")
    found = recorded.release.decide(Token(), words)
    require_unwritten(words, "the array of words")
    constants = matched(found, _pattern(words), "the noise")
    limit, width = constants["limit"], constants["last"] + 1
    slots, each = _slots(constants, limit, width)
    open_words = _OpenWords(limit, width)
    runs = open_words.follow(recorded.release.resolve, recorded.shift)
    sampler, law = open_words.remaining
    mixture = Mixture(width, limit, slots, open_words.shares, each, open_words.even, open_words.ramp, law, sampler)
    return mixture, runs


def _pattern(words: Traced) -> tuple[Traced, Traced]:
    """Return the expressions of the noise and of the places of open words, but for constants and tables."""
    signed, slot = words.view("int64"), (words >> Traced.unknown("?shift", "uint64")).view("int64")
    below = (signed - look_up(Traced.unknown("?thresholds", "int64").step, slot)) >> 63
    start = look_up(Traced.unknown("?starts", "float64").step, slot + slot - below)
    noise = (signed & Traced.unknown("?last", "int64")).astype("float64") + start
    return noise, flatnonzero(words >= Traced.unknown("?limit", "uint64"))


def _slots(constants: dict[str, Any], limit: int, width: int) -> tuple[list[tuple[int, int, int]], dict[int, int]]:
    """Read the tables: the slots below the limit, and how many words each step of a cell has there.

    A signed word less its slot's threshold does not overflow where both lie in one slot, so that its sign says which is
    greater; the words of a slot above the limit are open, whatever is computed of them.
    """
    thresholds, starts, shift = constants["thresholds"], constants["starts"], constants["shift"]
    size = 1 << shift
    if not 0 < shift < WORD or width <= 0 or width & width - 1 or size % width or limit % size:
        raise Refused(f"slots of 2^{shift} words, cells of {width} steps and a limit of {limit} do not fit together")
    if len(thresholds) << shift != WORDS or len(starts) != 2 * len(thresholds):
        raise Refused(f"{len(thresholds)} thresholds and {len(starts)} cells do not cover all words")
    slots, each = [], defaultdict[int, int](int)
    for slot in range(limit >> shift):
        low, high, threshold = slot << shift, slot + 1 << shift, thresholds[slot] % WORDS
        if not low <= threshold <= high or threshold % width:
            raise Refused(f"slot {slot} is cut at {threshold}")
        upper, lower = (_start(start, width) for start in starts[2 * slot : 2 * slot + 2])
        each[lower] += (threshold - low) // width
        each[upper] += (high - threshold) // width
        slots.append((threshold, lower, upper))
    return slots, {start: count for start, count in each.items() if count}


def _start(start: float, width: int) -> int:
    if start != int(start) or int(start) % width or abs(start) > _GREATEST:
        raise Refused(f"a cell of {width} steps begins at {start!r}")
    return int(start)


class _Word(OpenWord):
    """An open word of which only parts are left; it is compared with thousands of numbers."""

    def __lt__(self, other: Any) -> bool:
        if type(other) is not int:
            return super().__lt__(other)
        if self.low < other < self.high:
            return self.below(other)
        return other >= self.high


class _Place:
    """A uniform number of as many bits as a cell has; which one of two is greater goes both ways."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, way: Way, told: list[_Place]) -> None:
        self._way, self._told = way, told

    def __gt__(self, other: Any) -> bool:
        if type(other) is not _Place or other is self:
            raise Refused("a place in a cell is compared with itself, or with something else")
        is_greater = bool(self._way.choose(2))
        self._told.append(self if is_greater else other)
        return is_greater

    def __lt__(self, other: Any) -> bool:
        return other > self  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        raise Refused("a place in a cell is compared for equality")

    def __add__(self, other: int) -> _Steps:
        return _Steps(other, 1, self)

    def __rsub__(self, other: int) -> _Steps:
        return _Steps(other, -1, self)

    __radd__ = __add__


@dataclass(frozen=True, eq=False)
class _Steps:
    """An integer plus or minus a place."""

    whole: int
    sign: int
    place: _Place

    def __rsub__(self, other: int) -> _Steps:
        return _Steps(other - self.whole, -self.sign, self.place)


class _Source:
    """The bits of one run: places, and a word that an inversion begins with."""

    def __init__(self, way: Way, width: int) -> None:
        self._way, self._width = way, width
        self.places = list[_Place]()
        self.greater = list[_Place]()
        self.words = list[Token]()
        self.calls = list[tuple[Any, ...]]()

    def take(self, count: int) -> Any:
        if count == WORD:
            self.words.append(Token())
            return self.words[-1]
        if 1 << count != self._width:
            raise Refused(f"{count} bits are drawn for a cell of {self._width} steps")
        self.places.append(_Place(self._way, self.greater))
        return self.places[-1]

    def call(self, *asked: Any) -> Opaque:
        self.calls.append(asked)
        return Opaque("draw")


class _OpenWords:
    """What open words draw, found by following them all.

    Attributes:
        shares: ranges of words: where each ends, and the least steps of its cell.
        even, ramp: how many words each cell has.
        remaining: the sampler and the law of the last range.
    """

    def __init__(self, limit: int, width: int) -> None:
        self._limit, self._width = limit, width
        self._ends = dict[tuple[int, int], tuple[int, int]]()
        self._others = dict[tuple[int, int], int]()
        self.even, self.ramp = defaultdict[int, int](int), defaultdict[int, int](int)
        self.remaining: tuple[Callable[..., Any], Any]

    @property
    def shares(self) -> list[tuple[int, int]]:
        return [(high, start) for (_, high), (start, _) in sorted(self._ends.items())]

    def follow(self, resolve: Callable[..., Any], shift: Any) -> int:
        """Follow `resolve(shift, word, bits)`; return the number of runs."""
        runs, last = 0, list[tuple[int, int]]()

        def run(way: Way) -> None:
            word, source = _Word(way, WORDS), _Source(way, self._width)
            word.low = self._limit
            found = resolve(shift, word, source)
            words = (word.low, word.high)
            if source.calls:
                last.append(words)
                self.remaining = self._inversion(found, source)
            else:
                self._share(words, found, source)

        for _, result in explore(run, _COMPARISONS):
            runs += 1
            if result is Cut:
                raise Refused("an open word is compared too often")
        ends = sorted([*self._ends, *last])
        if len(last) != 1 or ends[-1] != last[0] or ends[-1][1] != WORDS:
            raise Refused("the inversion is not for the last words")
        if any(one[1] != other[0] for one, other in zip([(0, self._limit), *ends], ends, strict=False)):
            raise Refused("open words are left out")
        if missing := [words for words, kind in self._ends.items() if kind[1] == 2 and self._others.get(words) != 1]:
            raise Refused(f"the step of the words {missing[0]} is not the greater one of two numbers")
        return runs

    def _inversion(self, found: Any, source: _Source) -> tuple[Callable[..., Any], Any]:
        if len(source.calls) != 1 or len(source.words) != 1 or source.places:
            raise Refused("what remains is not drawn by one inversion")
        sampler, law, known, width = source.calls[0]
        if known is not source.words[0] or width != WORD or not Opaque("draw").same(found):
            raise Refused("what remains is not drawn from 64 new bits and those after them")
        return sampler, law

    def _share(self, words: tuple[int, int], found: Any, source: _Source) -> None:
        """Note the cell of a range of words, and that its steps are counted from the end that is farther from 0."""
        if type(found) is not _Steps or source.words or not 1 <= len(source.places) <= 2:
            raise Refused(f"open words from {words[0]} to {words[1]} draw {found!r}")
        kind = len(source.places)
        start = found.whole if found.sign > 0 else found.whole - self._width + 1
        if start % self._width or (start >= 0) is (found.sign > 0) or abs(start) > _GREATEST:
            raise Refused(f"the steps of a cell are {found.whole} and on, by {found.sign}")
        chosen = source.places if kind == 1 else source.greater
        if len(chosen) != 1 or found.place is not chosen[0]:
            raise Refused("a step is not that of the place, or of the greater one of two")
        if words in self._ends:
            self._others[words] = self._others.get(words, 0) + 1
            if self._ends[words] != (start, kind):
                raise Refused("a range of words belongs to two cells")
            return
        self._ends[words] = (start, kind)
        (self.even if kind == 1 else self.ramp)[start] += words[1] - words[0]


def require_minorant(mixture: Mixture, sigma: Fraction) -> int:
    """Check that k ≥ 0 steps, and likewise −1 − k, are given at most φ((k + 2)/σ)/σ.

    Let K − 2 be the last k of a cell, W its width. The step p before it is given A + B·p words with B = 2r/W², and may
    have g(p) = 2^64·φ((K − p)/σ)/σ. As p rises to W, g is convex first and concave then. If A ≤ g(0) and B ≤ g′(0), the
    line is below g as long as g is convex; if it is below g at W as well, then also between.

    Returns:
        How many cells were looked at.

    Raises:
        Refused: a cell is given too much.
    """
    width = mixture.width
    starts = {*mixture.each, *mixture.even, *mixture.ramp}
    densities = dict[int, Fraction]()

    def words_at(steps: int) -> Fraction:
        if steps not in densities:
            densities[steps] = WORDS * normal.density(steps / sigma, _BITS)[0] / sigma
        return densities[steps]

    for start in starts:
        last = max(start + width, -start) + 1
        slope = Fraction(2 * mixture.ramp.get(start, 0), width**2)
        line = mixture.each.get(start, 0) + Fraction(mixture.even.get(start, 0), width) + slope / 2
        far = words_at(last)
        if line > far or line + slope * width > words_at(last - width) or slope > last / sigma**2 * far:
            raise Refused(f"the cell from {start} steps on is given more words than its law has")
    return len(starts)


def law_within(mixture: Mixture) -> Any:
    """Return the law that what remains is of."""
    fields = fields_of(mixture.law)
    if "law" not in fields:
        raise Refused(f"what remains is drawn from {mixture.law!r}, which is not what remains of a law")
    return fields["law"]


def remaining_law(mixture: Mixture, law: Any) -> Any:
    """Return what remains of another law than the mixture's."""
    return type(mixture.law)(**fields_of(mixture.law) | {"law": law})
