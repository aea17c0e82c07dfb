"""Where the library's random bits come from: the operating system, or a seed that is for tests alone.

If the package `cryptography` is installed, a large array of words is the output of ChaCha20, whose key is 256 new bits
of the system and is used once. Linux makes its own bits by the same cipher, more slowly.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.inversion import invert
from mechanisms.core.laws import Law
from mechanisms.core.noisy_max import first_up, one_of_those_up
from mechanisms.core.table import Table, table_of
from mechanisms.randomness import Outcome, RandomBits

EXPANDED_FROM = 1 << 12
"""Requests for words of at least this many bytes are answered by the cipher, if it is available."""

INVERTED = 256
"""How many numbers of a law are drawn by inversion before its table is made; they cost about half of the table."""


class SystemBits(RandomBits):
    """Bits from the operating system's entropy. Threads, forks and pickled copies may share one: it keeps no state.

    A single number of noise is drawn by inversion at first, and by its law's table after `INVERTED` numbers of that
    law. Both have exactly this law.
    """

    def __repr__(self) -> str:
        return "SystemBits()"

    def __eq__(self, other: object) -> bool:
        return type(other) is SystemBits

    def __hash__(self) -> int:
        return hash(SystemBits)

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        size = (count + 7) >> 3
        return int.from_bytes(os.urandom(size), "big") >> 8 * size - count

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        expand = _expander() if 8 * count >= EXPANDED_FROM else None
        return np.frombuffer(expand(8 * count) if expand else os.urandom(8 * count), dtype="<u8")

    def call(self, sampler: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Run a sampler, or a faster one of the same law; see `RandomBits.call`."""
        faster: Callable[..., Any] = sampler
        if sampler is invert:
            faster, arguments = _numbers(*arguments).one, ()
        elif sampler is first_up:
            faster = one_of_those_up
        drawn: Outcome = faster(*arguments, self)
        return drawn


class _Numbers:
    """Draws numbers of one law and counts them. How many were drawn is public, so the method may depend on it."""

    def __init__(self, law: Law) -> None:
        self._law, self._drawn = law, count()
        self._table: Table | None = None  # no lock, which a fork might leave closed

    def one(self, bits: RandomBits) -> int:
        if next(self._drawn) < INVERTED:
            return invert(self._law, bits)
        table = self._table = self._table or table_of(self._law)
        return table.one(bits)


_numbers = lru_cache(maxsize=64)(_Numbers)


@cache
def _expander() -> Callable[[int], bytes] | None:
    """Return a function that expands 256 bits of the system to `size` bytes; None if the cipher is not available."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
    except ImportError:
        return None

    def expanded(size: int) -> bytes:
        return Cipher(algorithms.ChaCha20(os.urandom(32), bytes(16)), None).encryptor().update(bytes(size))

    try:
        expanded(1)
    except UnsupportedAlgorithm:
        return None
    return expanded


class SeededBits(RandomBits):
    """The same bits for the same seed: for tests, never for releases. Whoever knows the seed knows the noise."""

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
