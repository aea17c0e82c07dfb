"""Sample and aggregate: a statistic of each chunk of the records; one person moves one chunk.

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

    The data are pairs of a person and a value; a person may have many, and neighbours differ by all those of one
    person. A person's chunk is a keyed hash of the person alone, so that every other chunk holds the same multiset of
    values in both. Each value becomes a double by itself, −0 as 0 and every NaN as one, and the statistic gets them
    sorted: it is given the same bits, and answers the same. What it raises or returns ends as an answer between the
    bounds, the middle if it is none. So one answer moves, by the steps between the bounds at most.

    Records may come without their people. Each is then a person of its own, told by its value and how many had that
    value before: as a set these people are (v, j) for each j below the number of records v, whatever the order; so one
    record less is one person less, (v, number of v − 1).

    Args:
        statistic: a function of the values of one chunk, doubles in increasing order with NaN behind, and of nothing
            else; it keeps no state and prints nothing. Its warnings are dropped.
        chunks: the public number of chunks.
        key: at most 64 bytes, chosen without looking at the data.
        lower: the least answer.
        upper: the largest one, a whole number of steps above `lower`.
        grid: the public grid of what answers have above `lower`.
        named: whether the data name people.
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
        """People, or records."""
        return "people" if self.named else "add-remove"

    @property
    def stability(self) -> int:
        """The steps between the bounds."""
        return self._total.stability

    def of(self, data: Any) -> int:
        """Return the sum of what the answers have above `lower`, in steps."""
        chunks: list[list[float]] = [[] for _ in range(self.chunks)]
        pairs: Iterable[tuple[str, Number]] = data if self.named else numbered(data)
        for person, value in pairs:
            chunks[self.chunk_of(person)].append(nearest_double(exact("value", value)))
        return self._total.of([self._answer(np.array(held, dtype=np.float64)) for held in chunks])

    def chunk_of(self, person: str) -> int:
        """Return the number of a person's chunk."""
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
    """Give each record a person of its own, whom the order of the records does not change; see `ChunkTotal`."""
    seen: Counter[str] = Counter()
    people = []
    for value in map(nearest_double, vector("records", records)):
        people.append((f"{value}, number {seen[str(value)]}", value))
        seen[str(value)] += 1
    return people


def nearest_double(number: Any) -> float:
    """Return the double nearest to a number; one beyond all doubles is infinite, −0 is 0, and every NaN the same."""
    if number != number:
        return math.nan
    try:
        return float(number) + 0.0
    except OverflowError:
        return math.inf if number > 0 else -math.inf
