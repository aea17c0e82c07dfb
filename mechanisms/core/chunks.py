"""Sample and aggregate: a statistic is computed on each chunk of the records, and a person is in one chunk alone.

Sources: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', section 4;
Near and Abuah, 'Programming Differential Privacy', section 8.5, for the mean as aggregation.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.grid import Grid
from mechanisms.core.numbers import Number, Numbers, convert, count, exact, rational, truth, vector
from mechanisms.core.records import Total
from mechanisms.core.term import Query, Relation


@dataclass(frozen=True)
class ChunkTotal(Query[int]):
    """The sum of a statistic's answers on chunks of people, each answer clamped to public bounds and rounded to a grid.

    The data are pairs (person, value). A person may have many pairs, and neighbours differ by all pairs of one person.
    The chunk of a person is a keyed hash of the person alone, so all other chunks hold the same values in both
    databases. Each value is rounded to a double; −0 becomes 0, and all NaNs are the same. The statistic gets the values
    sorted, so for these chunks it sees the same bits and gives the same answer. The answer is the middle of the bounds
    if a chunk is empty, or if the statistic raises or returns NaN or no number. So one person moves one answer.

    If `named` is False, the data are values alone, and each record is a person of its own: the records of value v are
    the persons (v, 0), (v, 1), … The set of persons does not depend on the order of the records, and a database with
    one record less has one person less.

    Args:
        statistic: a function of the values of one chunk alone, an array of sorted doubles with NaNs last. It keeps no
            state and prints nothing; its warnings are dropped.
        chunks: the public number of chunks.
        key: the key of the hash, at most 64 bytes, chosen without looking at the data.
        lower: the lower bound of answers.
        upper: the upper bound of answers, a whole number of steps above `lower`.
        grid: the public grid to which answer − lower is rounded.
        named: whether the data are pairs (person, value).
    """

    statistic: Callable[[NDArray[np.float64]], Number]
    chunks: int
    key: bytes
    lower: Fraction
    upper: Fraction
    grid: Grid
    named: bool = True

    def __post_init__(self) -> None:
        convert(self, count, "chunks")
        convert(self, truth, "named")
        if len(self.key) > hashlib.blake2b.MAX_KEY_SIZE:
            raise ValueError(f"key must have at most {hashlib.blake2b.MAX_KEY_SIZE} bytes, not {len(self.key)}")
        convert(self, rational, "lower", "upper")
        self._total  # noqa: B018 # checks the bounds

    @property
    def _total(self) -> Total:
        return Total(self.lower, self.upper, self.grid, "substitute", above_lower=True)

    @property
    def relation(self) -> Relation:
        """`people` if the data name them, else `add-remove`."""
        return "people" if self.named else "add-remove"

    @property
    def stability(self) -> int:
        """The number of steps between the bounds: one answer moves by no more."""
        return self._total.stability

    def of(self, data: Any) -> int:
        """Return the sum of answer − lower over all chunks, in steps."""
        chunks: list[list[float]] = [[] for _ in range(self.chunks)]
        pairs: Iterable[tuple[str, Number]] = data if self.named else numbered(data)
        for person, value in pairs:
            chunks[self.chunk_of(person)].append(nearest_double(exact("value", value)))
        return self._total.of([self._answer(np.array(held, dtype=np.float64)) for held in chunks])

    def chunk_of(self, person: str) -> int:
        """Return the index of a person's chunk, from 0."""
        if type(person) is not str:
            raise TypeError(f"person must be a string, not {type(person).__name__}")
        digest = hashlib.blake2b(person.encode("utf-8", "surrogatepass"), digest_size=16, key=self.key).digest()
        return int.from_bytes(digest, "big") % self.chunks

    def _answer(self, values: NDArray[np.float64]) -> Number:
        middle = self.lower + self.stability // 2 * self.grid.step
        values.sort()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                answer = exact("answer", self.statistic(values)) if len(values) else middle
            except KeyboardInterrupt:
                raise
            except BaseException:  # that a statistic fails on a database is private
                return middle
        return middle if answer != answer else answer


def numbered(records: Numbers) -> list[tuple[str, float]]:
    """Return each record as a pair (person, value), each with a person of its own; see `ChunkTotal`."""
    seen: Counter[str] = Counter()
    people = []
    for value in map(nearest_double, vector("records", records)):
        people.append((f"{value}, number {seen[str(value)]}", value))
        seen[str(value)] += 1
    return people


def nearest_double(number: Any) -> float:
    """Return the double nearest to a number: ±∞ if it is beyond all doubles, 0 for −0, and `math.nan` for every NaN."""
    if number != number:
        return math.nan
    try:
        return float(number) + 0.0
    except OverflowError:
        return math.inf if number > 0 else -math.inf
