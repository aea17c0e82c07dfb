"""A sampler for any law of integer noise, by a table that says which words of 64 bits stand for which step.

`mechanisms.core.cells` says how many words each cell of steps may get, and why. Below a limit a word's leading bits
choose a cell by the alias method, and its last j bits the step: that decides all but one draw in some hundreds, by
integers alone. Words from the limit on are *open*. Most stand for the `even` or the `ramp` part of a cell, and two
further words choose the step. The last ones, a few in 10^6, begin an inversion of what remains of the law
(`mechanisms.core.remainder`). So the noise has exactly the law; it is only another function of the bits.

*Why it is right for every law and every number of draws.* A word is decided by itself. Those of a slot below its
threshold belong to the lower cell, the others to the upper one; slots start, and thresholds lie, at multiples of W, so
a cell's words end in each j bits equally often. Whatever the table says can be counted (`Table.evidence`).

Source: Devroye 1986, 'Non-Uniform Random Variate Generation', section III.4 (the alias method, which is Walker's of
1977).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.cells import WORD, Cell, Cells
from mechanisms.core.laws import Law
from mechanisms.core.remainder import Remainder
from mechanisms.core.term import encoded
from mechanisms.randomness import RandomBits

_CHUNK = 1 << 14
_FARTHEST = 1 << 62
_WIDEST_CELL = 1 << 49
"""The most steps of a cell, so that no cell reaches beyond 2^62 steps."""

_KEPT = 64
"""The number of laws, the last ones used, whose tables a process keeps; each table has 1 MB at most."""


class Slot(NamedTuple):
    """Words with the same first bits: those below `threshold` get the cell that starts at `lower`, others `upper`."""

    threshold: int
    upper: int
    lower: int


class Table:
    """Draws arrays of noise, and single numbers, of one law."""

    def __init__(self, law: Law) -> None:
        cells = Cells(law)
        self.law, self.width_bits = law, cells.width_bits
        self.slots, self.limit = _slots(cells.cells, cells.width)
        self.open = [cell for cell in cells.cells if cell.even or cell.ramp]
        self._remainder = Remainder(cells)
        self._slot_bits = len(self.slots).bit_length() - 1
        self._thresholds = np.array([slot.threshold for slot in self.slots], dtype=np.uint64).view(np.int64)
        self._starts = np.array([start for slot in self.slots for start in slot[1:]], dtype=np.int64)
        self._open_starts = np.array([cell.start for cell in self.open], dtype=np.int64)
        shares = (words for cell in self.open for words in (cell.even, cell.ramp))
        self._ends = np.array([*accumulate(shares, initial=self.limit)][1:], dtype=np.uint64)

    def add(self, values: NDArray[np.int64], bits: RandomBits) -> None:
        """Add independent noise, clamped to ±2^62, to each integer of an array, in place.

        The words are taken in chunks that stay in a core's cache. Open words are kept with their places among all
        values, and decided after the last chunk.
        """
        places, words = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.uint64)]
        room = min(len(values), _CHUNK)
        slots, noise = np.empty(room, dtype=np.uint64), np.empty(room, dtype=np.int64)
        for first in range(0, len(values), _CHUNK):
            chunk = values[first : first + _CHUNK]
            fresh = bits.words(len(chunk))
            undecided = self.decide(fresh, slots[: len(chunk)], noise[: len(chunk)])
            chunk += noise[: len(chunk)]
            places.append(undecided + first)
            words.append(fresh[undecided])
        drawn, remaining = self.decide_open(np.concatenate(words), bits)
        for place in remaining.tolist():
            drawn[place] = min(max(self._remainder.draw(bits.take(WORD), bits), -_FARTHEST), _FARTHEST)
        values[np.concatenate(places)] += drawn

    def one(self, bits: RandomBits) -> int:
        """Draw one number, not clamped; from the same bits, `add` would add it, clamped, to an array of length 1."""
        word = bits.take(WORD)
        if word < self.limit:
            threshold, upper, lower = self.slots[word >> WORD - self._slot_bits]
            return (lower if word < threshold else upper) + (word & (1 << self.width_bits) - 1)
        noise, remaining = self.decide_open(np.array([word], dtype=np.uint64), bits)
        return self._remainder.draw(bits.take(WORD), bits) if remaining.size else int(noise[0])

    def decide(
        self, words: NDArray[np.uint64], slots: NDArray[np.uint64], noise: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Write the noise of each word, 0 for open ones, and return the places of the open words.

        A threshold and a word of its slot differ by less than 2^63, so the sign of their difference as signed integers
        tells which is the greater one.

        Args:
            words: the words of 64 bits.
            slots: scratch space of the same length, which is overwritten.
            noise: the array to which the noise of each word is written.
        """
        np.right_shift(words, np.uint64(WORD - self._slot_bits), out=slots)
        places, signed = slots.view(np.int64), words.view(np.int64)
        np.take(self._thresholds, places, out=noise, mode="clip")
        np.subtract(signed, noise, out=noise)
        noise >>= WORD - 1  # −1 below the threshold, else 0
        places += places
        places -= noise
        np.take(self._starts, places, out=noise, mode="clip")
        np.bitwise_and(signed, (1 << self.width_bits) - 1, out=places)
        noise += places
        undecided = np.flatnonzero(words >= np.uint64(self.limit))
        noise[undecided] = 0
        return undecided

    def decide_open(self, words: NDArray[np.uint64], bits: RandomBits) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the noise of open words, from two further words each, and the places of those to be inverted."""
        shares = np.searchsorted(self._ends, words, side="right")
        decided, last = np.flatnonzero(shares < len(self._ends)), (1 << self.width_bits) - 1
        starts, is_ramp = self._open_starts[shares[decided] >> 1], (shares[decided] & 1).astype(np.bool_)
        first, second = (bits.words(2 * len(decided)).view(np.int64) & last).reshape(2, -1)
        steps = np.where(is_ramp, np.maximum(first, second), first)
        noise = np.zeros(len(words), dtype=np.int64)
        noise[decided] = starts + np.where(is_ramp & (starts >= 0), last - steps, steps)
        return noise, np.flatnonzero(shares == len(self._ends))

    def evidence(self) -> dict[str, Any]:
        """Return the words of each cell as JSON, from which a check can count them.

        A cell is its start divided by W. A slot is (words of its lower cell)/W, its upper cell, and its lower cell.
        """
        width_bits, of_a_slot = self.width_bits, 1 << WORD - self._slot_bits - self.width_bits
        return {
            "law": encoded(self.law),
            "width_bits": width_bits,
            "slot_bits": self._slot_bits,
            "slots": [
                [(slot.threshold >> width_bits) - place * of_a_slot, slot.upper >> width_bits, slot.lower >> width_bits]
                for place, slot in enumerate(self.slots)
            ],
            "limit": self.limit,
            "open": [[cell.start >> width_bits, cell.even, cell.ramp] for cell in self.open],
        }


@lru_cache(maxsize=_KEPT)
def table_of(law: Law) -> Table:
    """Return the table of a law. It depends on the law alone, so all terms of a process share it."""
    return Table(law)


def _slots(cells: list[Cell], width: int) -> tuple[list[Slot], int]:
    """Share the words below the limit among the cells by the alias method.

    There are no more cells than full slots, so while a slot is left, some cell has a slot's words or more. The last
    words, fewer than a slot's, are the largest cell's.

    Returns:
        The 2^s slots, where those from the limit on are unused, and the limit.
    """
    waiting = [(cell.start, cell.each * width) for cell in cells if cell.each]
    slot_bits = (len(waiting) + len(waiting) // 50).bit_length()
    capacity = 1 << WORD - slot_bits
    limit = sum(words for _, words in waiting)
    full, rest = divmod(limit, capacity)
    if full < len(waiting) or width > _WIDEST_CELL:
        raise ValueError("the law is too wide for a table: its steps have too few words; take a coarser grid")
    largest, words = waiting.pop(max(range(len(waiting)), key=lambda place: waiting[place][1]))
    waiting.append((largest, words - rest))
    short, long = [each for each in waiting if each[1] < capacity], [each for each in waiting if each[1] >= capacity]
    slots = []
    for slot in range(full):
        lower, below = short.pop() if short else (0, 0)
        upper, left = long.pop()
        slots.append(Slot(slot * capacity + below, upper, lower))
        left -= capacity - below
        if left:
            (long if left >= capacity else short).append((upper, left))
    slots += [Slot(slot * capacity, largest, largest) for slot in range(full, 1 << slot_bits)]
    return slots, limit
