"""Functions that are copied into a proof of concept in place of others, which are longer and compute the same there.

The others are fast, remember what they have computed, or take outputs of any form; see `attacklab.model.source_bundle`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks.features.atoms import _hashes_of_numbers


def log_of_each(uniforms: NDArray[Any]) -> NDArray[Any]:
    """The C library's log, elementwise."""
    values = np.asarray(uniforms, dtype=np.float64)
    logarithms = [math.log(value) if value > 0 else np.log(value) for value in values.ravel()]
    return np.array(logarithms, dtype=np.float64).reshape(values.shape)


def made_now(values: Any, key: Any, make: Callable[[], Any]) -> Any:  # noqa: ARG001 - as what it stands for
    """What `make` makes."""
    return make()


def followed(outputs: Any, steps: tuple[Callable[[Any], Any], ...]) -> Any:
    """The numbers at the end of a path into rows of numbers."""
    for step in steps:
        outputs = step(outputs)
    return outputs


def at(outputs: Any, *, steps: tuple[Callable[[Any], Any], ...], read: Callable[[Any], Any]) -> Any:
    """What is read off the numbers at the end of a path."""
    return read(followed(outputs, steps))


def as_numbers(values: Any) -> NDArray[Any]:
    """Numbers as an array."""
    return np.asarray(values)


def rows(values: Any) -> NDArray[np.float64]:
    """The numbers of each output as a row of doubles."""
    return np.asarray(values, dtype=np.float64).reshape(len(values), -1)


def hashes(outputs: Any) -> NDArray[np.uint64]:
    """64 bits for each output."""
    return _hashes_of_numbers(np.asarray(outputs))


@dataclass(frozen=True)
class Position:
    """The number at a position of each row."""

    place: int

    def __call__(self, values: Any) -> Any:
        """These numbers."""
        return values[:, self.place]


_FEATURES = "attacklab.auditing.attacks.features"

ANYWHERE: Mapping[tuple[str, str], tuple[str, str]] = {
    ("attacklab.auditing.attacks.samplers.laplace", "library_log"): (__name__, "log_of_each"),
    (f"{_FEATURES}.recent", "recalled"): (__name__, "made_now"),
}
"""What is copied in place of a name of a module."""

OF_NUMBERS: Mapping[tuple[str, str], tuple[str, str]] = {
    **ANYWHERE,
    (f"{_FEATURES}.paths", "followed"): (__name__, "followed"),
    (f"{_FEATURES}.features", "_at"): (__name__, "at"),
    (f"{_FEATURES}.paths", "as_numbers"): (__name__, "as_numbers"),
    (f"{_FEATURES}.paths", "Position"): (__name__, "Position"),
    (f"{_FEATURES}.leaves", "_rows"): (__name__, "rows"),
    (f"{_FEATURES}.atoms", "hashes"): (__name__, "hashes"),
}
"""The same for outputs that are an array of numbers, or of rows of numbers."""
