"""Sources of random bits with one flaw each, that stand between an exact sampler and the bits that it is given."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.random_bits import REJECTED, RandomBits, SeededBits
from experiments.vectors.traces import Recorder
from mechanisms.coins import bernoulli, uniform_below

LEAVES = (bernoulli, uniform_below)
"""What a recorder replies to by itself."""


class Passing(RandomBits):
    """Passes everything on.

    Args:
        inner: the bits that are given.
    """

    def __init__(self, inner: RandomBits) -> None:
        self._inner = inner

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return self._inner.take(count)

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler on these bits; see `RandomBits.call`."""
        if isinstance(self._inner, Recorder) and sampler in LEAVES:
            return self._inner.call(sampler, *arguments)
        return sampler(*arguments, self)


class Remainders(Passing):
    """Takes an integer below n as the remainder of one of ⌈log₂ n⌉ bits, where a sound source rejects."""

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; see `Passing.call`."""
        if sampler is uniform_below:
            (bound,) = arguments
            return self.take(max(1, (bound - 1).bit_length())) % bound
        return super().call(sampler, *arguments)


class DoubleCoins(Passing):
    """Rounds the probability of a coin to the nearest double."""

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; see `Passing.call`."""
        if sampler is bernoulli:
            arguments = (Fraction(float(arguments[0])),)
        return super().call(sampler, *arguments)


class OneAttempt(Passing):
    """Fails where a round of a rejection loop is rejected."""

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        """One round; see `RandomBits.repeat`."""
        outcome = sampler(*arguments, self)
        if outcome is REJECTED:
            raise ArithmeticError("the first attempt was rejected")
        return outcome


class FiftyThreeBits(Passing):
    """Tosses a coin of rational probability by one number of 53 bits that is at most the probability, both doubles."""

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; see `Passing.call`."""
        if sampler is bernoulli:
            (probability,) = arguments
            return self.take(53) * 2.0**-53 <= float(probability)
        return super().call(sampler, *arguments)


class TwisterBits(RandomBits):
    """The bits of a Mersenne Twister, whose state its outputs tell.

    Args:
        seed: of the generator.
    """

    def __init__(self, seed: int) -> None:
        self._generator = random.Random(seed)

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return self._generator.getrandbits(count) if count else 0


def seeded_by_a_clock(rng: np.random.Generator) -> RandomBits:
    """Bits that one of 2^16 seeds determines, another one for each output."""
    return SeededBits(int(rng.integers(1 << 16)))


def seeded_once(_: np.random.Generator) -> RandomBits:
    """Bits of the same seed for each output."""
    return SeededBits(0)


def twisted(rng: np.random.Generator) -> RandomBits:
    """Bits of a Mersenne Twister."""
    return TwisterBits(int(rng.integers(1 << 32)))
