"""Sources of random bits for samplers: the system's entropy, a seeded generator, or a tape of fixed bits.

A sampler `sampler(input, bits)` that draws lazily, and from `bits` alone, is a function of its input and of a string of
bits. So its output law can be found by running it on every string of bits (`attacklab.laws`). Two of the methods keep
this search small: `call` for a sampler with a law of its own, `repeat` for a rejection loop.

Production code need not import this module: any object with the four methods of `RandomBits` will do.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError

Outcome = TypeVar("Outcome")

REJECTED: Final = None
"""The value that a round of a rejection loop returns if it rejects; see `RandomBits.repeat`."""


class RandomBits(ABC):
    """A stream of independent fair bits."""

    @abstractmethod
    def take(self, count: int) -> int:
        """Draw bits.

        Args:
            count: how many bits, at least 0.

        Returns:
            An integer uniform in [0, 2^count); the bit drawn first is the most significant.

        Raises:
            ValueError: `count` is negative.
        """

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw `count` independent words of 64 bits, for samplers that decide many draws at once."""
        return np.array([self.take(64) for _ in range(count)], dtype=np.uint64)

    def call(self, sampler: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Run `sampler(*arguments, self)`, a sampler with a law of its own.

        A proof finds this law once for these arguments, and then branches on outcomes instead of on bits.
        """
        return sampler(*arguments, self)

    def repeat(self, sampler: Callable[..., Outcome | None], *arguments: object) -> Outcome:
        """Run `sampler(*arguments, self)`, one round of a rejection loop, until it returns something but `REJECTED`.

        Rounds are independent, so a proof sums their geometric series in closed form.
        """
        while (outcome := sampler(*arguments, self)) is REJECTED:
            pass
        return outcome


class SystemBits(RandomBits):
    """Bits from the operating system's entropy: the source for real releases. Threads and forks may share one."""

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return secrets.randbits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        return np.frombuffer(secrets.token_bytes(8 * count), dtype=">u8").astype(np.uint64)


class SeededBits(RandomBits):
    """Reproducible bits from a numpy generator: the source for experiments and tests, never for releases.

    Whoever knows the seed knows the noise, and a copy of the process (a fork, a pickle) draws the same bits again.

    Args:
        rng: the generator, or a seed for one.
    """

    def __init__(self, rng: np.random.Generator | int) -> None:
        self._rng = np.random.default_rng(rng)
        self._pool = 0
        self._pooled = 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        if count < 0:
            raise UsageError(f"count must be at least 0, not {count}")
        while self._pooled < count:
            missing = max(1024, count - self._pooled)
            fresh = self._rng.bytes(-(-missing // 8))
            self._pool = (self._pool << (8 * len(fresh))) | int.from_bytes(fresh, "big")
            self._pooled += 8 * len(fresh)
        self._pooled -= count
        drawn = self._pool >> self._pooled
        self._pool &= (1 << self._pooled) - 1
        return drawn

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        return self._rng.integers(0, 2**64, size=count, dtype=np.uint64)


class TapeEnded(Exception):
    """A `TapedBits` was asked for more bits than its tape holds."""


class TapedBits(RandomBits):
    """Fixed bits, one after another: the source for tests that need to know what was drawn.

    Args:
        value: the bits, as an integer; the most significant is drawn first.
        length: the number of bits.

    Attributes:
        left: the number of bits not taken yet.

    Raises:
        ValueError: `value` does not fit `length` bits.
    """

    def __init__(self, value: int, length: int) -> None:
        if not 0 <= value < 1 << length:
            raise UsageError(f"value {value} does not fit {length} bits")
        self._value, self.left = value, length

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`.

        Raises:
            TapeEnded: fewer than `count` bits are left.
        """
        if count < 0:
            raise UsageError(f"count must be at least 0, not {count}")
        if count > self.left:
            raise TapeEnded(f"{count} bits asked for, {self.left} left on the tape")
        self.left -= count
        drawn = self._value >> self.left
        self._value &= (1 << self.left) - 1
        return drawn
