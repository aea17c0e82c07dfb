"""The Adult census table by age and marital status: 32 561 people (see experiments/data/README.md)."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLE = Path(__file__).parent.parent / "data" / "adult_age_marital.csv"


@cache
def _rows() -> tuple[tuple[int, str, int], ...]:
    with TABLE.open(newline="", encoding="utf-8") as file:
        return tuple((int(row["age"]), row["marital_status"], int(row["count"])) for row in csv.DictReader(file))


def ages(status: str | None = None) -> NDArray[np.float64]:
    """Return the ages in years, shape (n,), of everybody or of the people with one marital status.

    Raises:
        ValueError: there is nobody of that status.
    """
    rows = [(age, count) for age, status_of_row, count in _rows() if status in (None, status_of_row)]
    if not rows:
        raise ValueError(f"nobody is {status!r}; there are {', '.join(marital_counts())}")
    years, counts = zip(*rows, strict=True)
    return np.repeat(np.array(years, dtype=np.float64), counts)


def marital_counts() -> dict[str, int]:
    """Return the number of people with each marital status, the most common first."""
    counts: Counter[str] = Counter()
    for _, status, count in _rows():
        counts[status] += count
    return dict(counts.most_common())
