"""Releases without any noise, one for each form of output, and sound ones: every way to run them gives one verdict.

It imports numpy and the standard library alone, as a target in a foreign environment does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rng = np.random.Generator
Records = NDArray[np.float64]


class Tensor:
    """Something with `__array__` and nothing else."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = numbers

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self._numbers, dtype=dtype)


def total(records: Records) -> float:
    """The sum of all records but the first, which says the form of the output."""
    return float(np.sum(records[1:]))


OUTPUT_OF: dict[str, Callable[[float], Any]] = {
    "floats": lambda count: count,
    "integers": int,
    "large_integers": lambda count: 10**30 + int(count),
    "narrow_numbers": np.float32,
    "booleans": lambda count: count > 3.5,
    "failures": lambda count: None if count > 3.5 else 1.0,
    "lists": lambda count: [count, 0.0],
    "ragged_lists": lambda count: [0.0] * int(count),
    "tuples": lambda count: (count, "a"),
    "dicts": lambda count: {"count": count},
    "sets": lambda count: {int(count)},
    "texts": lambda count: f"count: {count}",
    "bytes": lambda count: int(count).to_bytes(4, "little"),
    "complex_numbers": lambda count: complex(0.0, count),
    "tensors": lambda count: Tensor(count, 0.0),
    "arrays": lambda count: np.array([count, 0.0]),
    "mixtures": lambda count: [None, {"of": (b"\x00", [count, "text"])}],
}
"""One output of a count, in each form."""


def rows(records: Records, trials: int, rng: Rng) -> NDArray[np.float64]:  # noqa: ARG001
    return np.tile([total(records), 0.0], (trials, 1))


def complex_rows(records: Records, trials: int, rng: Rng) -> NDArray[np.complex128]:  # noqa: ARG001
    return np.tile([1j * total(records), 0.0], (trials, 1))


def written(records: Records, trials: int, rng: Rng) -> NDArray[np.str_]:  # noqa: ARG001
    return np.array([f"count: {total(records)}"] * trials)


def generated(records: Records, trials: int, rng: Rng) -> Iterator[float]:  # noqa: ARG001
    yield from [total(records)] * trials


def in_a_tuple(records: Records, trials: int, rng: Rng) -> tuple[float, ...]:  # noqa: ARG001
    return (total(records),) * trials


def as_a_tensor(records: Records, trials: int, rng: Rng) -> Tensor:  # noqa: ARG001
    return Tensor(*[total(records)] * trials)


def endless(records: Records, trials: int, rng: Rng) -> Iterator[float]:  # noqa: ARG001
    while True:
        yield total(records)


RELEASES = (rows, complex_rows, written, generated, in_a_tuple, as_a_tensor)
FORMS = (*OUTPUT_OF, *(release.__name__ for release in RELEASES))


def of_any_form(records: Records, trials: int, rng: Rng) -> Any:
    """Outputs of the form whose place is the first record."""
    place = int(records[0])
    if place >= len(OUTPUT_OF):
        return RELEASES[place - len(OUTPUT_OF)](records, trials, rng)
    return [OUTPUT_OF[FORMS[place]](total(records)) for _ in range(trials)]
