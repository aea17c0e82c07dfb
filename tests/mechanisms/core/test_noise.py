"""Noise in arrays: every draw in its place at every size, by tables whose words are held against the definition."""

from bisect import bisect_right
from fractions import Fraction
from functools import cache
from itertools import accumulate

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.model.random_bits import SeededBits
from mechanisms.core.cells import Cells
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace
from mechanisms.core.noise import Noise
from mechanisms.core.remainder import Remainder
from mechanisms.randomness import RandomBits
from tests.mechanisms.core.known_laws import ALL_LAWS, known_tail, named

pytestmark = pytest.mark.slow

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
