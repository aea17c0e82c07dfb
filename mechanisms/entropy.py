"""Where the library's random bits come from: the operating system, or a seed that is for tests alone."""

from __future__ import annotations

import random
import secrets

import numpy as np
from numpy.typing import NDArray

from mechanisms.randomness import RandomBits


class SystemBits(RandomBits):
    """Bits from the operating system's entropy. Threads, forks and pickled copies may share one: it keeps no state."""

    def __repr__(self) -> str:
        return "SystemBits()"

    def __eq__(self, other: object) -> bool:
        return type(other) is SystemBits

    def __hash__(self) -> int:
        return hash(SystemBits)

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return secrets.randbits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        return np.frombuffer(secrets.token_bytes(8 * count), dtype="<u8")


class SeededBits(RandomBits):
    """The same bits for the same seed: for tests, never for releases. Whoever knows the seed knows the noise.

    Args:
        seed: an integer.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = random.Random(str(seed))  # an integer would count without its sign

    def __repr__(self) -> str:
        return f"SeededBits({self._seed}), for tests alone"

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return self._random.getrandbits(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        return np.frombuffer(self._random.randbytes(8 * count), dtype="<u8")
