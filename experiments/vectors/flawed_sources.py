"""Sources of random bits with one flaw each, that stand between an exact sampler and the bits that it is given."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.random_bits import REJECTED, RandomBits, SeededBits
from experiments.vectors.recorded_bits import Recorder
from mechanisms.coins import bernoulli, uniform_below

Sampler = Callable[..., Any]


class FlawedBits(RandomBits):
    """Passes everything on, except to the samplers that it replaces.

    Args:
        inner: the bits that are given.
        replaced: what runs in the place of a sampler, with the same arguments and then these bits.
    """

    def __init__(self, inner: RandomBits, replaced: Mapping[Sampler, Sampler] | None = None) -> None:
        self._inner = inner
        self._replaced = replaced or {}

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return self._inner.take(count)

    def call(self, sampler: Sampler, *arguments: Any) -> Any:
        """Run a sampler on these bits; see `RandomBits.call`. A recorder replies to coins and integers by itself."""
        if sampler in self._replaced:
            return self._replaced[sampler](*arguments, self)
        return self.passed(sampler, *arguments)

    def passed(self, sampler: Sampler, *arguments: Any) -> Any:
        """Run a sampler that is not replaced."""
        if isinstance(self._inner, Recorder) and sampler in (bernoulli, uniform_below):
            return self._inner.call(sampler, *arguments)
        return sampler(*arguments, self)


class OneAttempt(FlawedBits):
    """Fails where a round of a rejection loop is rejected."""

    def repeat(self, sampler: Sampler, *arguments: object) -> Any:
        """One round; see `RandomBits.repeat`."""
        outcome = sampler(*arguments, self)
        if outcome is REJECTED:
            raise ArithmeticError("the first attempt was rejected")
        return outcome


def _remainder(bound: int, bits: RandomBits) -> int:
    return bits.take(max(1, (bound - 1).bit_length())) % bound


def _rounded_coin(probability: Fraction, bits: FlawedBits) -> Any:
    return bits.passed(bernoulli, Fraction(float(probability)))


def _coin_of_53_bits(probability: Fraction, bits: RandomBits) -> bool:
    return bits.take(53) * 2.0**-53 <= float(probability)


Remainders = partial(FlawedBits, replaced={uniform_below: _remainder})
"""Takes an integer below n as the remainder of one of ⌈log₂ n⌉ bits, where a sound source rejects."""

DoubleCoins = partial(FlawedBits, replaced={bernoulli: _rounded_coin})
"""Rounds the probability of a coin to the nearest double."""

FiftyThreeBits = partial(FlawedBits, replaced={bernoulli: _coin_of_53_bits})
"""Tosses a coin of rational probability by one number of 53 bits that is at most the probability, both doubles."""


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
