"""The sources of random bits that a sampler draws from: the system's entropy, a seeded generator, a tape of given bits.

A sampler `sampler(input, bits)` that draws lazily, and from `bits` alone, is a function of its input and of a string of
bits. Its output law is then found by running it on every string of bits (`attacklab.laws`). Two of the methods are
there to keep that search small: `call` for a sampler with a law of its own, `repeat` for a rejection loop.

Production code need not import this module. A source of its own with these four methods will do.
"""

from __future__ import annotations

import itertools
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from operator import index
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError

Outcome = TypeVar("Outcome")

_OF_WORDS: Final = (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64)
"""The generators of numpy that make 64 bits at a time."""

REJECTED: Final = None
"""What a round returns to be drawn again; see `RandomBits.repeat`."""


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

        A proof finds that law once for these arguments, and forks on its outcomes instead of on its bits.
        """
        return sampler(*arguments, self)

    def repeat(self, sampler: Callable[..., Outcome | None], *arguments: object) -> Outcome:
        """Run `sampler(*arguments, self)`, one round of a rejection loop, until it returns something but `REJECTED`.

        A round knows nothing of the rounds before it, so a proof sums their geometric series in closed form.
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
        if isinstance(self._rng.bit_generator, _OF_WORDS):
            return self._rng.bit_generator.random_raw(count)  # the same words as `integers` gives, in less time
        return self._rng.integers(0, 2**64, size=count, dtype=np.uint64)


class CountedBits(RandomBits):
    """Bits of another source that are counted, those in called samplers and rejected rounds too.

    Args:
        bits: the source.

    Attributes:
        taken: how many bits were taken.
    """

    def __init__(self, bits: RandomBits) -> None:
        self._bits, self.taken = bits, 0

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        self.taken += index(count)
        return self._bits.take(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        self.taken += 64 * index(count)
        return self._bits.words(count)

    def call(self, sampler: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Run a sampler, whose law is that of its outcome and its bits."""
        outcome: Outcome
        outcome, taken = self._bits.call(with_bits, sampler, *arguments)
        self.taken += taken
        return outcome

    def repeat(self, sampler: Callable[..., Outcome | None], *arguments: object) -> Outcome:
        """Run rounds of a rejection loop, twice as many each time, so that a proof adds up laws that it knows."""
        for doublings in itertools.count():
            outcome: Outcome | None = self.call(_rounds, doublings, sampler, *arguments)
            if outcome is not REJECTED:
                return outcome
        raise AssertionError


def _rounds(doublings: int, sampler: Callable[..., Outcome | None], *arguments: Any) -> Outcome | None:
    """At most 2^doublings rounds of a rejection loop; the last argument is a source of bits."""
    *rest, bits = arguments
    if not doublings:
        return sampler(*rest, bits)
    first: Outcome | None = bits.call(_rounds, doublings - 1, sampler, *rest)
    return bits.call(_rounds, doublings - 1, sampler, *rest) if first is REJECTED else first


def with_bits(sampler: Callable[..., Outcome], *arguments: Any) -> tuple[Outcome, int]:
    """The outcome of `sampler(*arguments)`, whose last argument is a source of bits, and how many bits it took."""
    counted = CountedBits(arguments[-1])
    return sampler(*arguments[:-1], counted), counted.taken


class TapeEnded(Exception):
    """A `TapedBits` was asked for more bits than its tape holds."""


class TapedBits(RandomBits):
    """The given bits, one after another: the source for tests that need to know what was drawn.

    Args:
        value: the bits, as an integer; the most significant is drawn first.
        length: how many bits there are.

    Raises:
        ValueError: `value` does not fit `length` bits.
    """

    def __init__(self, value: int, length: int) -> None:
        if not 0 <= value < 1 << length:
            raise UsageError(f"value {value} does not fit {length} bits")
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
            raise UsageError(f"count must be at least 0, not {count}")
        if count > self._left:
            raise TapeEnded(f"{count} bits asked for, {self._left} left on the tape")
        self._left -= count
        drawn = self._value >> self._left
        self._value &= (1 << self._left) - 1
        return drawn


def bits_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """How many bits a PCG64 generator produced between two of its states, fewer than 2^128 words apart.

    Args:
        before: the earlier `bit_generator.state`.
        after: the later one.

    Raises:
        UsageError: a state is not one of PCG64, or the states are not of the same generator.
    """
    for state in (before, after):
        if state["bit_generator"] != "PCG64":
            kind = state["bit_generator"]
            raise UsageError(f"bits are counted for PCG64 only, not for {kind}; use numpy.random.default_rng")
    if before["state"]["inc"] != after["state"]["inc"]:
        raise UsageError("before and after must be states of one generator")
    # Either state may hold half a word, left over from a draw of 32 bits.
    halves: int = before["has_uint32"] - after["has_uint32"]
    return 64 * words_between(before, after) + 32 * halves


_FACTOR: Final = 0x2360ED051FC65DA44385DF649FCCF645
_MASK: Final = (1 << 128) - 1


def words_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """How many random words of 64 bits a `PCG64` gave: a cost of drawing that is the same on every machine.

    It steps through its states s -> a·s + c mod 2^128, one step a word. Bit i of a state changes with a period of
    2^(i+1) steps, so the number of steps between two states is found bit by bit.

    Args:
        before: the state of the generator, as numpy gives it.
        after: a later state.

    Source: O'Neill 2014, 'PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number
        Generation', section 4.3.1; the search is its jump-ahead (Brown 1994) backwards.
    """
    state, end, step = before["state"]["state"], after["state"]["state"], before["state"]["inc"]
    factor, words, bit = _FACTOR, 0, 1
    while state != end and bit <= _MASK:
        if (state ^ end) & bit:
            state = (state * factor + step) & _MASK
            words |= bit
        step = (factor + 1) * step & _MASK
        factor = factor * factor & _MASK
        bit <<= 1
    return words
