"""A query with local sensitivities that somebody else might write: the median, where neighbours replace a record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mechanisms.core.grid import Grid
from mechanisms.core.local import LocalQuery
from mechanisms.core.term import Relation


@dataclass(frozen=True)
class Median(LocalQuery):
    """The lower median of integers from 0 to `most`, with the formula of Nissim, Raskhodnikova and Smith for A_k."""

    most: int

    @property
    def grid(self) -> Grid:  # type: ignore[override] # always the same
        return Grid(0)

    @property
    def relation(self) -> Relation:
        return "substitute"

    @property
    def stability(self) -> int:
        return self.most

    def of(self, data: Any) -> int:
        return int(sorted(data)[(len(data) - 1) // 2])

    def sensitivities(self, data: Any) -> Iterable[int]:
        ordered, middle = sorted(data), (len(data) - 1) // 2

        def at(place: int) -> int:
            return 0 if place < 0 else self.most if place >= len(ordered) else int(ordered[place])

        for k in range(len(ordered)):
            yield max(at(middle + t) - at(middle + t - k - 1) for t in range(k + 2))
