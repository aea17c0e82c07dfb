"""A finite law for each of finitely many answers, by a table of integers, drawn by the same work whatever is drawn.

Sources: Ghosh, Roughgarden and Sundararajan 2009, 'Universally Utility-Maximizing Privacy Mechanisms', section 2
(mechanisms on a range are matrices); Balcer and Vadhan 2018, 'Differential Privacy on Finite Computers' (why bounded
time needs probabilities of finite precision).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.claims import ApproximateDP
from mechanisms.core.grid import LIMIT
from mechanisms.core.numbers import convert, count, positive
from mechanisms.core.records import Answer
from mechanisms.core.rounding import exp_above, log_above
from mechanisms.core.term import Mechanism, Relation
from mechanisms.randomness import RandomBits

MOST_BITS = 62
MOST_ENTRIES = 1 << 20
_FINER = 128


@dataclass(frozen=True)
class Kernel(Mechanism):
    """A public table with a row for each answer `lower`, `lower` + 1, … in steps: the row is the law of the output.

    Each row shares out all 2^W words of W bits among the outcomes `lower`, `lower` + 1, … One word is drawn, and the
    outcome is `lower` plus how many of the row's running sums are at most the word. So each outcome of a row gets
    exactly its words. An answer beyond the rows uses the nearest row, which moves no two answers further apart. The
    claim is computed from the integers, over all pairs of rows as far apart as neighbours' answers can be: it is the
    greatest ratio of an outcome's words, or for a given ε the greatest Σ max(p − e^ε·q, 0).

    Every word is compared with every sum of its row. Python promises nothing about the time of an operation: it
    compares long integers limb by limb, and looking a row up leaves its trace in a cache.

    Args:
        query: the answer, rounded to its grid.
        lower: the step of the first row, and the outcome of the first column.
        rows: the number of words of each outcome, one row for each answer.
        epsilon: ε at which the claim is (ε, δ)-DP; None for pure DP.
    """

    query: Answer
    lower: int
    rows: tuple[tuple[int, ...], ...]
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        rows = tuple(tuple(count("words", words, least=0) for words in row) for row in self.rows)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "lower", count("lower", self.lower, least=-LIMIT))
        if self.epsilon is not None:
            convert(self, positive, "epsilon")
        sizes, sums = {len(row) for row in rows}, {sum(row) for row in rows}
        if len(sizes) != 1 or 0 in sizes or self.lower + max(len(rows), *sizes) - 1 > LIMIT:
            raise ValueError("rows must be at least one, of one length above 0, and lie on the grid")
        if len(rows) * max(sizes) > MOST_ENTRIES:
            raise ValueError(f"rows may have {MOST_ENTRIES} entries at most; take a coarser grid or a shorter range")
        if len(sums) != 1 or max(sums).bit_count() != 1 or not 1 <= self.bits <= MOST_BITS:
            raise ValueError(f"all rows must have the same sum, a power of two from 2 to 2^{MOST_BITS}")
        self.claim  # noqa: B018 # there is one

    @property
    def bits(self) -> int:
        """W, the number of random bits of a release."""
        return sum(self.rows[0]).bit_length() - 1

    @property
    def relation(self) -> Relation:
        """The relation of the query."""
        return self.query.relation

    @cached_property
    def claim(self) -> ApproximateDP:
        """Pure DP for the greatest ratio, rounded up, or (ε, δ)-DP, δ rounded up to a multiple of 2^−128."""
        if self.epsilon is None:
            return ApproximateDP(log_above(max(_greatest_ratio(row, other) for row, other in self._pairs())))
        factor = math.floor((1 << _FINER) / exp_above(-self.epsilon))  # at most e^ε
        excess = max(
            sum(max((p << _FINER) - factor * q, 0) for p, q in zip(row, other, strict=True))
            for row, other in self._pairs()
        )
        return ApproximateDP(self.epsilon, Fraction(-(-excess >> self.bits), 1 << _FINER))

    def _pairs(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield the rows of any two neighbouring answers, in both orders."""
        for place, row in enumerate(self.rows):
            for other in self.rows[max(0, place - self.query.stability) : place + self.query.stability + 1]:
                yield row, other

    def prepared(self, data: Any) -> Row:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        return Row(self, min(max(self.query.of(data) - self.lower, 0), len(self.rows) - 1))

    def drawn(self, places: NDArray[np.int64], bits: RandomBits) -> NDArray[np.float64]:
        """Return one output drawn from each row that `places` lists, by one word each, shape (n,)."""
        words = (bits.words(len(places)) >> np.uint64(64 - self.bits)).astype(np.int64)
        steps = np.full(len(places), self.lower, dtype=np.int64)
        for sums in self.sums.T:
            steps += words >= sums[places]
        return self.query.grid.values(steps)

    @cached_property
    def sums(self) -> NDArray[np.int64]:
        """The running sums of each row, without the last sum, shape (rows, outcomes − 1)."""
        return np.cumsum(np.array(self.rows, dtype=np.int64), axis=1)[:, :-1]


@dataclass(frozen=True)
class Row:
    """A `Kernel` with the row of its answer; it draws outputs.

    Args:
        kernel: the mechanism with the table.
        place: the index of the row, which is private.
    """

    kernel: Kernel
    place: int

    def one(self, bits: RandomBits) -> float:
        """Draw one output."""
        word = bits.take(self.kernel.bits)
        steps = sum([word >= total for total in self.kernel.sums[self.place].tolist()])
        return self.kernel.query.grid.value(self.kernel.lower + steps)

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        """Draw several independent outputs."""
        return self.kernel.drawn(np.full(count("trials", trials, least=0), self.place), bits)


def _greatest_ratio(row: tuple[int, ...], other: tuple[int, ...]) -> Fraction:
    """Return the greatest ratio of an outcome's words in `row` and in `other`; raise ValueError if it is infinite."""
    if any(p and not q for p, q in zip(row, other, strict=True)):
        raise ValueError("an outcome is possible for one answer and impossible for a neighbour; give epsilon")
    return max(Fraction(p, q) for p, q in zip(row, other, strict=True) if q)
