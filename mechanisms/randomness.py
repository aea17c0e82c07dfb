"""The sources of random bits that exact mechanisms draw from.

A mechanism that takes its randomness from a `RandomBits`, lazily and only from there, is a deterministic
function of a bit string. That is what allows its output law to be found exactly, by running it on every
bit string; `restart` and `call` exist so that such an enumeration is finite where the mechanism loops.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Outcome = TypeVar("Outcome")


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
        """Draw `count` independent words of 64 bits, for mechanisms that decide many draws at once."""
        return np.array([self.take(64) for _ in range(count)], dtype=np.uint64)

    def restart(self) -> None:
        """Declare that the running sampler is back in the state in which it was called.

        Rejection samplers declare it at the end of a rejected round. Here it does nothing; an enumeration of the
        sampler's law stops the run at this point and sums the geometric series instead.
        """

    def call(self, sampler: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Run `sampler(*arguments, self)`, a sampler with a law of its own.

        An enumeration finds the law of the sampler once for its (hashable) arguments, and forks on its
        outcomes instead of on its bits.
        """
        return sampler(*arguments, self)


class SystemBits(RandomBits):
    """Bits from the operating system's entropy: the source for real releases."""

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return secrets.randbits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        return np.frombuffer(secrets.token_bytes(8 * count), dtype=">u8").astype(np.uint64)


class SeededBits(RandomBits):
    """Reproducible bits from a numpy generator: the source for experiments and tests, never for releases."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._pool = 0
        self._pooled = 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        if count < 0:
            raise ValueError(f"count must be at least 0, not {count}")
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
    """The given bits, one after another: the source for tests that compare two paths on the same words."""

    def __init__(self, value: int, length: int) -> None:
        """Hold the `length` bits of `value`, the most significant first."""
        if not 0 <= value < 1 << length:
            raise ValueError(f"value {value} does not fit {length} bits")
        self._value = value
        self._left = length

    @property
    def left(self) -> int:
        """How many bits have not been taken yet."""
        return self._left

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`.

        Raises:
            TapeEnded: fewer than `count` bits are left.
        """
        if count < 0:
            raise ValueError(f"count must be at least 0, not {count}")
        if count > self._left:
            raise TapeEnded(f"{count} bits asked for, {self._left} left on the tape")
        self._left -= count
        drawn = self._value >> self._left
        self._value &= (1 << self._left) - 1
        return drawn
