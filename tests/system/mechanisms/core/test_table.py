"""Tables of noise: the words of every cell, counted from the evidence and held against the law's definition."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.cells import Cells
from mechanisms.core.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace
from mechanisms.core.remainder import Remainder
from mechanisms.core.table import Table
from tests.unit.mechanisms.core.known_laws import ALL_LAWS, known_mass, known_tail, named

WORDS = 1 << 64
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
    """The count above can tell: every cell's words are raised by what its last step lacks, and one unit more."""
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
