"""What exact mechanisms draw from: a stream of fair bits.

A mechanism that takes its randomness from a `RandomBits`, lazily and only from there, is a deterministic function of a
bit string. That is what allows its output law to be found exactly, by running it on every bit string; `call` and
`repeat` exist so that such a search is finite where the mechanism loops. Sources are in
`attacklab.model.random_bits`; any object with these methods will do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Outcome = TypeVar("Outcome")

REJECTED: Final = None
"""What a sampler returns to be run once more; see `RandomBits.repeat`."""


class RandomBits(Protocol):
    """A stream of independent fair bits. Subclasses define `take` and inherit `words`, `call` and `repeat`."""

    @abstractmethod
    def take(self, count: int) -> int:
        """Draw an integer uniform in [0, 2^count), `count` ≥ 0; the bit drawn first is the most significant."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` independent words of 64 bits, for mechanisms that decide many draws at once."""
        return np.array([self.take(64) for _ in range(count)], dtype=np.uint64)

    def call(self, sampler: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Return `sampler(*arguments, self)`, or an outcome of another sampler with the same law."""
        return sampler(*arguments, self)

    def repeat(self, sampler: Callable[..., Outcome | None], *arguments: object) -> Outcome:
        """Run `sampler(*arguments, self)` until it returns something other than `REJECTED`, and return that."""
        while (outcome := sampler(*arguments, self)) is REJECTED:
            pass
        return outcome
