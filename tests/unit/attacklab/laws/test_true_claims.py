"""True claims of ordinary code are proved: objects, caches, loops and comparisons as published samplers have them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from attacklab.laws import Limits, enumerate_law
from attacklab.model.random_bits import REJECTED, RandomBits

LIES = {False: Fraction(3, 4), True: Fraction(1, 4)}
"""Every sampler here lies with probability 1/4."""


@dataclass(frozen=True)
class Frozen:
    threshold: int

    def release(self, bits: RandomBits) -> bool:
        return bits.take(4) < self.threshold

    def __call__(self, bits: RandomBits) -> bool:
        return bits.call(self.release)


@dataclass(frozen=True)
class WithItsLaw:
    threshold: int

    def one_round(self, bits: RandomBits) -> bool | None:
        draw = bits.take(4)
        return draw < self.threshold if draw < 12 else REJECTED

    def release(self, bits: RandomBits) -> bool:
        return bits.repeat(self.one_round)

    def law(self) -> Any:
        return enumerate_law(self.release)


@functools.cache
def list_of(sides: int) -> list[bool]:
    return [number == 0 for number in range(sides)]


@functools.lru_cache
def share_of(sides: int) -> Fraction:
    return Fraction(1, sides)


@functools.cache
def sampler_of(bound: int) -> Callable[[RandomBits], bool]:
    return lambda bits: bits.take(2) < bound


def threshold_of(share: Fraction) -> Callable[[RandomBits], bool]:
    bound = share * (1 << 53)
    return lambda bits: bits.take(53) < bound


def by_keys(bits: RandomBits) -> bool:
    def of(share: Any, bits: RandomBits) -> int:
        return bits.take(2) < share * 4

    return (bits.call(of, Fraction(1, 2)) + bits.call(of, Decimal("0.5"))) == 2


def by_a_loop(bits: RandomBits) -> bool:
    while (draw := bits.take(4)) >= 12:
        pass
    return draw < 3


SAMPLERS: dict[str, Callable[[RandomBits], Any]] = {
    "a method": Frozen(4).release,
    "an object that is called": Frozen(4),
    "a round that is a method": lambda bits: bits.repeat(WithItsLaw(3).one_round),
    "an object that finds its own law": WithItsLaw(3).release,
    "a partial": functools.partial(lambda share, bits: bits.take(4) < share, 4),
    "a closure over a Fraction": threshold_of(Fraction(1, 4)),
    "a list in a cache": lambda bits: list_of(4)[bits.take(2)],
    "a number in a cache": lambda bits: bits.take(2) < 4 * share_of(4),
    "a sampler in a cache": lambda bits: bits.call(sampler_of(1)),
    "a cached function of a draw": lambda bits: share_of(bits.take(2) + 1) == 1,
    "equal keys of two types": by_keys,
    "a loop": by_a_loop,
    "shifts and masks": lambda bits: not bits.take(5) >> 3 & 3,
    "sorted draws": lambda bits: max(bits.take(3), bits.take(3)) < 4,
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_law_is_the_one_worked_out_by_hand(name: str) -> None:
    law = enumerate_law(SAMPLERS[name], limits=Limits(unresolved=Fraction(1, 1 << 60)))
    assert set(law) == set(LIES)
    assert all(law.mass(outcome) <= mass <= law[outcome].upper for outcome, mass in LIES.items())
    assert law.unresolved <= Fraction(1, 1 << 59)
