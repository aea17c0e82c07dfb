"""Tables of words: every step of a law is given at most the words that its probability is worth.

A table draws from words of 64 bits. Cell c is the W = 2^j steps from cW on. A word below the limit belongs to the slot
that its leading bits name; of a slot's words the first so many times W are the lower cell's, the others the upper
one's, and the last j bits are the place in the cell. From the limit on, each row of open words has some that leave all
places alike likely, and some whose place, counted from the end far from 0, is the greater of two uniform numbers, so
that the i-th has a share of (2i + 1)/W² of them. For the words that are left, what remains of the law is drawn by
inversion. So noise has the law if no step is given more than its share, and that is what is counted here.

For cells of W > 1 steps: with probabilities a ≥ b at the near and at the far end, the law at the i-th step from the far
end is at least b·(a/b)^t ≥ b·(1 + t·ln(a/b)) ≥ b·(1 + t·2(a − b)/(a + b)), t = i/(W − 1), since it is log-concave. The
words given there are linear in i too, so two comparisons do for all steps.

Sources: Devroye 1986, 'Non-Uniform Random Variate Generation', sections II.4 (mixtures) and III.4 (the alias method).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from checker.forms import Fields, Refused
from checker.intervals import ONE, Interval
from checker.laws import Law, law

WORDS = 1 << 64
WORD_BITS = 64
FARTHEST = 1 << 62
"""Steps that an integer of 64 bits holds, the answer's included."""

MOST_SLOT_BITS = 20

Given = dict[int, tuple[int, int, int]]
"""The words that a cell has, by its number: in slots, even ones and ramped ones."""


def check_table(evidence: Any) -> tuple[Law, int]:
    """Check a table entry by entry."""
    fields = Fields(evidence, "a table")
    noise = law(fields.take("law"))
    width_bits, slot_bits = fields.at_least("width_bits", 0), fields.at_least("slot_bits", 0)
    limit = fields.at_least("limit", 0)
    slots, open_rows = fields.take("slots", list), fields.take("open", list)
    fields.done()
    if width_bits + slot_bits > WORD_BITS or slot_bits > MOST_SLOT_BITS or len(slots) != 1 << slot_bits:
        raise Refused(f"a table of {len(slots)} slots cannot have {slot_bits} bits a slot and {width_bits} a cell")
    if limit > WORDS or limit % (1 << width_bits):
        raise Refused("the limit of a table is not a multiple of a cell's width, or too large")
    given = _given(slots, open_rows, limit, width_bits, slot_bits)
    for cell, words in given.items():
        _check_cell(noise, cell << width_bits, 1 << width_bits, *words)
    if limit < WORDS // 2:
        raise Refused("the limit of a table is below half of all words, as no table's is that is drawn by")
    if limit + sum(even + ramp for _, even, ramp in given.values()) > WORDS:
        raise Refused("a table gives more than 2^64 words")
    return noise, len(given)


def _given(slots: list[Any], open_rows: list[Any], limit: int, width_bits: int, slot_bits: int) -> Given:
    """Count the words of every cell."""
    width, size = 1 << width_bits, 1 << WORD_BITS - slot_bits
    below: dict[int, int] = defaultdict(int)
    for slot, row in enumerate(slots):
        share, upper, lower = _integers(row, "a slot")
        if not 0 <= share * width <= size:
            raise Refused(f"the lower cell of slot {slot} has {share} times {width} of its {size} words")
        first, last = slot * size, min((slot + 1) * size, limit)
        cut = min(first + share * width, max(first, last))
        if cut > first:
            below[lower] += cut - first
        if last > cut:
            below[upper] += last - cut
    given = {cell: (words, 0, 0) for cell, words in below.items()}
    for row in open_rows:
        cell, even, ramp = _integers(row, "a row of open words")
        if even < 0 or ramp < 0:
            raise Refused(f"cell {cell} has fewer than no open words")
        words, evens, ramps = given.get(cell, (0, 0, 0))
        given[cell] = words, evens + even, ramps + ramp
    most = FARTHEST >> width_bits
    for cell in given:
        if not -most <= cell < most:
            raise Refused(f"cell {cell} of {width} steps lies beyond {FARTHEST} steps")
    return given


def _check_cell(noise: Law, start: int, width: int, words: int, even: int, ramp: int) -> None:
    """Check that no step of a cell has more words than its probability is worth."""
    far, near = (start + width - 1, start) if start >= 0 else (start, start + width - 1)
    far_mass = noise.mass(far)
    if width == 1:
        excess = (words + even + ramp) * ONE > far_mass.low * WORDS
    else:
        excess = _has_excess(noise.mass(near), far_mass, width, words, even, ramp)
    if excess:
        raise Refused(f"steps {start} to {start + width - 1} have more words than their probability is worth")


def _has_excess(near: Interval, far: Interval, width: int, words: int, even: int, ramp: int) -> bool:
    """Compare the words at either end, times W²·2^1024, with b and b·(1 + 2(a − b)/(a + b)) = b·(3a − b)/(a + b)."""
    a, b = near.low, min(far.low, near.low)
    if b <= 0:
        return words + even + ramp > 0
    at_far = (words + even) * width + ramp
    at_near = at_far + 2 * ramp * (width - 1)
    worth = b * width**2 << WORD_BITS
    return at_far * ONE > worth or at_near * ONE * (a + b) > worth * (3 * a - b)


def _integers(row: Any, what: str) -> tuple[int, int, int]:
    if type(row) is not list or list(map(type, row)) != [int, int, int]:
        raise Refused(f"{what} must be three integers")
    return row[0], row[1], row[2]
