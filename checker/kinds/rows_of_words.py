"""Selections from many rows of utilities at once: each row reads words of its own, given out in its outcomes' order.

The checker follows the published rounds: every row of a block gets one word, then those that have selected nothing get
further ones, a few rows several, of which the first that selects counts. It chooses the words as it goes, at the edges
of the row that gets them, and demands that the mechanism selects the same from the same words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from random import Random
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.lending import Token, lent
from checker.kinds.trace import Traced, require_same, require_unwritten
from checker.kinds.words_of_proposals import PREFIX, Words, WordSource

PLAIN = 1 / 8
"""The share of words that are chosen among all of them instead of at edges."""


@dataclass(frozen=True)
class Row:
    """A row of utilities, and what each word does for it.

    Args:
        utilities: as the mechanism gets them.
        words: given out in the order of the outcomes.
        error: how far the filter reaches.
    """

    utilities: Sequence[Any]
    words: Words
    error: Fraction

    @cached_property
    def edges(self) -> list[int]:
        """Words wherever a decision may change, and the first that are nobody's."""
        edges = self.words.edges(self.error)
        return edges[: len(edges) - 2 * (1 << PREFIX)]

    @cached_property
    def begins(self) -> list[int]:
        """The first word of each outcome."""
        return [one.begin for one in self.words.rounds]

    def selected(self, word: int, further: int) -> int | None:
        """Return the outcome that a word selects; None if it selects nothing."""
        one = self.words.rounds[bisect_right(self.begins, word) - 1]
        inside = word < one.begin + (1 << one.size)
        return one.outcome if inside and one.kept(word, further) else None


def require_row_filter(decided: Callable[..., Any], half_power: Callable[..., Any], error: float) -> None:
    """Check the filter of rows: accepted where place/count + 1/count ≤ q − E, and rejected where place/count ≥ q + E.

    Args:
        decided: `decided(fraction, offsets, counts)`.
        half_power: the approximation q of the probability.
        error: E, whose size another step checks.

    Raises:
        Refused: it decides by something else.
    """
    fraction, counts = Traced.unknown("fraction", "float64"), Traced.unknown("counts", "float64")
    offsets = Traced.unknown("offsets", "uint64")
    probability = half_power(fraction)
    share = offsets.astype("float64") / counts
    accepted = share + 1 / counts <= probability - error
    undecided = ~accepted & (share < probability + error)
    require_same(decided(fraction, offsets, counts), (accepted, undecided), "the filter of rows")
    for one in (fraction, counts, offsets):
        require_unwritten(one, "what the filter of rows is given")


def require_rows(
    select: Callable[..., Any], given: Any, rows: Sequence[Row], together: int, at_least: int, seed: int
) -> int:
    """Check what is selected from rows of utilities, whatever the bits after an undecided word are.

    Args:
        select: `select(utilities, bits)`.
        given: the utilities as it gets them.
        rows: what its rows are.
        together: how many rows make a block.
        at_least: how many words the rows get together after the first round.
        seed: chooses words.

    Returns:
        How many words were tried.

    Raises:
        Refused: a row selects something else, or gets other words.
    """
    tried = 0
    for further in (0, 1):
        words, expected = _rounds(rows, together, at_least, further, Random(seed + further))
        source = WordSource(list(words), further)
        found = select(given, source)
        if found.dtype.name != "int64" or found.shape != (len(rows),):
            raise Refused(f"{len(rows)} rows select an array of {found.dtype.name} of shape {found.shape}")
        for row, (one, other) in enumerate(zip(found.tolist(), expected, strict=True)):
            if one != other:
                raise Refused(f"row {row} of {len(rows)} selects {one}, where its words say {other}")
        if source.words_left:
            raise Refused(
                f"{len(source.words_left)} of {len(words)} words are left when {len(rows)} rows have selected"
            )
        tried += len(words)
    return tried


def _rounds(
    rows: Sequence[Row], together: int, at_least: int, further: int, random: Random
) -> tuple[list[int], list[int]]:
    """Choose words for all rounds; return them in the order in which they are read, and what the rows select."""
    words: list[int] = []
    chosen: list[int | None] = [None] * len(rows)
    for start in range(0, len(rows), together):
        waiting, each = list(range(start, min(start + together, len(rows)))), 1
        while waiting:
            for row in waiting:
                for _ in range(each):
                    plain = random.random() < PLAIN
                    word = random.getrandbits(64) if plain else random.choice(rows[row].edges)
                    words.append(word)
                    if (found := rows[row].selected(word, further)) is not None and chosen[row] is None:
                        chosen[row] = found
            waiting = [row for row in waiting if chosen[row] is None]
            each = max(1, at_least // max(len(waiting), 1))
    return words, [one for one in chosen if one is not None]


def require_one_by_one(
    select: Callable[..., Any], fast: str, given: Any, rows: Sequence[Any], parameters: Mapping[str, Any]
) -> int:
    """Check that rows that are not looked at together are selected from one by one, by the fast path.

    Args:
        select: `select(utilities, bits, **parameters)`.
        fast: what its module calls the fast path.
        given: the utilities as it gets them.
        rows: the rows, in their order.
        parameters: all of them, as the fast path has to get them.

    Returns:
        How many rows were selected from.

    Raises:
        Refused: a row is left out, changed, or selected from otherwise.
    """
    arrays, bits, calls = import_module("numpy"), Token(), list[Any]()

    def selecting(row: Any, trials: Any, source: Any, **public: Any) -> Any:
        if trials != 1 or source is not bits or public != dict(parameters):
            raise Refused(f"a row is selected from {trials} times, with {public}")
        calls.append(row)
        return arrays.array([7 * len(calls)], dtype="int64")

    with lent(select, **{fast: selecting}):
        found = select(given, bits, **parameters)
    if [list(one) for one in calls] != [list(row) for row in rows]:
        raise Refused(f"selections are made from {calls!r:.100}, not from the rows")
    if found.dtype.name != "int64" or found.tolist() != [7 * (place + 1) for place in range(len(rows))]:
        raise Refused(f"what is selected from rows one by one becomes {found!r:.100}")
    return len(rows)
