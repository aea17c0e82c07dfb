"""Noise in arrays: every draw in its place at every size, by tables whose words are held against the definition."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.model.random_bits import SeededBits
from mechanisms.core.cells import Cells
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace
from mechanisms.core.noise import Noise
from mechanisms.core.remainder import Remainder
from mechanisms.core.table import Table
from mechanisms.randomness import RandomBits
from tests.unit.mechanisms.core.known_laws import ALL_LAWS, known_mass, known_tail, named

WORDS = 1 << 64
BOUNDARIES = [size + by for size in (2**8, 2**15, 2**16, 2**20) for by in (-1, 0, 1)]
OPEN = DiscreteLaplace(Fraction(1000))  # one draw in 500 is open


class Recorded(RandomBits):
    """Seeded bits, of which the words are kept; some words are replaced by ones that need an inversion."""

    def __init__(self, seed: int, *, last_words_at: tuple[int, ...] = ()) -> None:
        self._source = SeededBits(seed)
        self._last_words_at = last_words_at
        self.kept: list[NDArray[np.uint64]] = []
        self.taken: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        fresh = self._source.words(count).copy()
        first = sum(map(len, self.kept))
        for place in self._last_words_at:
            if first <= place < first + count:
                fresh[place - first] = WORDS - 1
        self.kept.append(fresh)
        return fresh

    def take(self, count: int) -> int:
        self.taken.append(self._source.take(count))
        return self.taken[-1]


class Replayed(RandomBits):
    """Bits that are taken again in the same portions."""

    def __init__(self, taken: list[int]) -> None:
        self._taken = iter(taken)

    def take(self, count: int) -> int:
        taken = next(self._taken)
        assert taken < 1 << count
        return taken


@cache
def noise_of(law: Law) -> Noise:
    """Noise whose table the tests share."""
    return Noise(law)


@cache
def rows_of(law: Law) -> tuple[list[int], list[tuple[int, bool]]]:
    """Where the open words of each kind end, and their cell's start and whether they are a ramp's."""
    evidence = noise_of(law).table.evidence()
    kinds = [(cell << evidence["width_bits"], is_ramp) for cell, _, _ in evidence["open"] for is_ramp in (False, True)]
    return [*accumulate((w for _, *both in evidence["open"] for w in both), initial=evidence["limit"])][1:], kinds


def modelled(law: Law, draws: int, bits: Recorded) -> list[int]:
    """What `many` has to return for the words that were kept: the words of all draws, then two for each open one."""
    table = noise_of(law).table
    evidence = table.evidence()
    words = np.concatenate([np.empty(0, dtype=np.uint64), *bits.kept])
    limit, last = evidence["limit"], (1 << evidence["width_bits"]) - 1
    shares, upper, lower = np.array(evidence["slots"], dtype=np.int64).T
    slots, along = np.divmod(words[:draws], np.uint64(WORDS >> evidence["slot_bits"]))
    slots = slots.astype(np.int64)
    is_upper = along // np.uint64(last + 1) >= shares.astype(np.uint64)[slots]
    starts = np.where(is_upper, upper[slots], lower[slots]) * (last + 1)
    noise = (starts + (words[:draws] % np.uint64(last + 1)).astype(np.int64)).tolist()
    ends, kinds = rows_of(law)
    is_open = [(place, bisect_right(ends, int(words[place]))) for place in np.flatnonzero(words[:draws] >= limit)]
    undecided = [(place, row) for place, row in is_open if row < len(kinds)]
    assert len(words) == draws + 2 * len(undecided)
    first, second = (words[draws:] % np.uint64(last + 1)).reshape(2, -1).tolist()
    for (place, row), one, two in zip(undecided, first, second, strict=True):
        start, is_ramp = kinds[row]
        far = max(one, two)
        noise[place] = start + ((last - far if start >= 0 else far) if is_ramp else one)
    replay = Replayed(bits.taken)
    for place, row in is_open:
        if row == len(kinds):
            noise[place] = table._remainder.draw(replay.take(64), replay)
    return noise


@pytest.mark.parametrize("draws", [0, 1, 2, *BOUNDARIES])
def test_every_draw_is_in_its_place_at_every_size(draws: int) -> None:
    at = (0, draws // 2, draws - 1) if draws > 2**16 else ()
    bits = Recorded(draws, last_words_at=at)
    found = noise_of(OPEN).many(draws, bits)
    assert found.dtype == np.int64
    assert found.shape == (draws,)
    assert found.tolist() == modelled(OPEN, draws, bits)
    assert len(bits.taken) >= len(at)


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_noise_is_what_the_evidence_says_for_every_law(law: Law) -> None:
    bits = Recorded(1, last_words_at=(7, 2**14, 2**14 + 3))
    assert noise_of(law).many(2**14 + 9, bits).tolist() == modelled(law, 2**14 + 9, bits)


CELLS_TRIED = 30
Evidence = dict[str, Any]
Words = dict[int, tuple[int, int, int]]


@pytest.fixture(scope="module")
def evidence(request: pytest.FixtureRequest) -> Evidence:
    return json.loads(json.dumps(Table(request.param).evidence()))


every_law = pytest.mark.parametrize("evidence", ALL_LAWS, ids=named, indirect=True)


def slot_of(evidence: Evidence, slot: int) -> tuple[int, int, int]:
    """A slot's threshold among all words, and the starts of its upper and its lower cell."""
    width_bits, (share, upper, lower) = evidence["width_bits"], evidence["slots"][slot]
    threshold = (slot << 64 - evidence["slot_bits"]) + (share << width_bits)
    return threshold, upper << width_bits, lower << width_bits


def counted(evidence: Evidence) -> Words:
    """Count each cell's words below the limit, even words and ramp words."""
    below: defaultdict[int, int] = defaultdict(int)
    size = WORDS >> evidence["slot_bits"]
    assert len(evidence["slots"]) == 1 << evidence["slot_bits"]
    for slot in range(len(evidence["slots"])):
        threshold, upper, lower = slot_of(evidence, slot)
        first, last = slot * size, min(slot * size + size, evidence["limit"])
        if first < last:
            assert first <= threshold <= last
            below[lower] += threshold - first
            below[upper] += last - threshold
    assert sum(below.values()) == evidence["limit"]
    words = {start: (count, 0, 0) for start, count in below.items() if count}
    for cell, even, ramp in evidence["open"]:
        assert min(even, ramp) >= 0
        start = cell << evidence["width_bits"]
        words[start] = (words.get(start, (0, 0, 0))[0], even, ramp)
    assert sum(map(sum, words.values())) <= WORDS
    return words


def overdrawn(evidence: Evidence, law: Law, starts: list[int], words: Words) -> list[int]:
    """Return the steps of some cells that have more words than their probability is worth."""
    width = 1 << evidence["width_bits"]
    found = []
    for start in starts:
        below, even, ramp = words[start]
        assert below % width == 0
        for place in sorted({0, min(1, width - 1), width // 3, width // 2, width - 1}):
            from_far = width - 1 - place if start >= 0 else place
            share = (below + even) * width + ramp * (2 * from_far + 1)
            if share > known_mass(law, start + place) * WORDS * width**2:
                found.append(start + place)
    return found


@every_law
def test_no_step_has_more_words_than_its_probability_is_worth(evidence: Evidence, request: Any) -> None:
    law = request.node.callspec.params["evidence"]
    words = counted(evidence)
    starts = sorted(words)
    near_ends_and_middle = {*starts[:5], *starts[-5:], *(s for s in starts if abs(s) <= 4 << evidence["width_bits"])}
    with mpmath.workdps(60):
        tried = sorted(near_ends_and_middle | set(starts[:: len(starts) // CELLS_TRIED + 1]))
        assert overdrawn(evidence, law, tried, words) == []


@every_law
def test_few_words_are_open_and_fewer_need_an_inversion(evidence: Evidence) -> None:
    given = sum(map(sum, counted(evidence).values()))
    assert WORDS - evidence["limit"] < WORDS >> 8
    assert 0 < WORDS - given < 8e-6 * WORDS
    assert len(evidence["slots"]) <= 1 << 13


@pytest.mark.parametrize("evidence", [DiscreteLaplace(Fraction(1)), RoundedGaussian(Fraction(10**6))], indirect=True)
def test_a_table_with_a_word_too_many_is_found_out(evidence: Evidence, request: Any) -> None:
    """The check above can fail: one unit more than the last step lacks breaks every cell."""
    law = request.node.callspec.params["evidence"]
    words, width = counted(evidence), 1 << evidence["width_bits"]
    with mpmath.workdps(60):
        for start in sorted(words)[:: len(words) // 9]:
            below, even, ramp = words[start]
            far = start + width - 1 if start >= 0 else start
            lacking = int(mpmath.floor(known_mass(law, far) * WORDS * width)) - below - even - ramp // width
            raised = {start: (below + (lacking // width + 1) * width, even, ramp)}
            assert overdrawn(evidence, law, [start], raised)
            assert overdrawn(evidence, law, [start], {start: (below, even + lacking + 1, ramp)})
            assert overdrawn(evidence, law, [start], {start: (below, even, 3 * ramp + width * (lacking + 1))})


REMAINDERS = [
    DiscreteLaplace(Fraction(1, 4)),
    DiscreteLaplace(Fraction(310)),
    RoundedLaplace(Fraction(2**45)),
    DiscreteGaussian(Fraction(9, 4)),
    DiscreteGaussian(Fraction(10**6)),
    RoundedGaussian(Fraction(2**90)),
]


@pytest.mark.parametrize("law", REMAINDERS, ids=named)
def test_what_remains_is_drawn_where_its_tails_enclose_the_uniform(law: Law) -> None:
    """The tails are those of the definition less what is given, and the uniforms lie near 0, in the bulk and near 1."""
    cells = Cells(law)
    remainder = Remainder(cells)

    def below(outcome: int) -> mpmath.mpf:
        given, remaining = cells.given(outcome), cells.remaining
        share = known_tail(law, outcome) - mpmath.mpf(int(given.numerator)) / int(given.denominator)
        return share / (mpmath.mpf(int(remaining.numerator)) / int(remaining.denominator))

    with mpmath.workdps(80):
        for uniform in (2.0**-40, 0.003, 0.1, 0.34567, 0.49, 0.53, 0.8, 0.9991, 1 - 2.0**-40):
            known = int(uniform * 2.0**64) | 5
            outcome = remainder.draw(known, SeededBits(3))
            assert below(outcome + 1) <= mpmath.mpf(known + 1) / WORDS
            assert below(outcome) >= mpmath.mpf(known) / WORDS
            lower, upper = remainder.tail(outcome, 128)
            assert abs(mpmath.mpf(str(lower)) - below(outcome)) < mpmath.mpf(10) ** -20
            assert lower <= upper
