"""False samplers that call one sampler twice with arguments that are equal and not the same.

The output is (first coin, secret ^ second coin). The first coin is fair; the second is always 0, so that the second
part of the output is the secret: P[second part is 1 | 1] = 1, and 0 on 0. A law that takes the second coin for the
first has ε = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.random_bits import RandomBits
from tests.attacklab.laws.zoo.case import Case, Frequent, Sampler
from tests.attacklab.laws.zoo.reuse import coin, second_part_is_one


class _Micros(int):
    """An integer that knows its unit, as money types do."""

    is_noisy = True


class _Label(str):
    is_noisy = True

    __slots__ = ("__dict__",)


def _silent(value: Any) -> Any:
    value.is_noisy = False
    return value


class _Money:
    """Compares and hashes by amount alone."""

    def __init__(self, amount: int, is_noisy: bool) -> None:
        self.amount = amount
        self.is_noisy = is_noisy

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Money) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)


@dataclass(frozen=True)
class _Parameters:
    epsilon: float
    is_noisy: bool = field(default=True, compare=False)


def _has_payload(nan: float) -> bool:
    return np.float64(nan).tobytes()[0] != 0


_EQUAL: dict[str, tuple[str, Any, Any, Callable[[Any], object]]] = {
    "bool_and_int": ("an int and a bool", (1,), (True,), lambda level: type(level[0]) is int),
    "float_and_int": ("an int and a float", (1,), (1.0,), lambda level: type(level[0]) is int),
    "zeros": ("zeros of either sign", (0.0,), (-0.0,), lambda level: not np.signbit(level[0])),
    "fraction_and_int": ("a Fraction and an int", (Fraction(1), 0), (1, 0), lambda level: type(level[0]) is Fraction),
    "numpy_and_float": ("a float and np.float32", 0.5, np.float32(0.5), lambda level: isinstance(level, float)),
    "decimal_exponents": (
        "Decimals of two exponents",
        (Decimal("1.0"),),
        (Decimal("1.00"),),
        lambda level: level[0].as_tuple().exponent == -1,
    ),
    "decimals": (
        "Decimals of two exponents",
        Decimal("1.0"),
        Decimal("1.00"),
        lambda level: level.as_tuple().exponent == -1,
    ),
    "nan_payloads": (
        "NaNs of two payloads",
        (np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f")[0],),
        (np.float64("nan"),),
        lambda level: _has_payload(level[0]),
    ),
    "string_subclass": (
        "strings, one of a subclass with an attribute",
        _Label("laplace"),
        _silent(_Label("laplace")),
        lambda level: level.is_noisy,
    ),
    "integer_subclass": (
        "integers of a subclass with an attribute",
        _Micros(5),
        _silent(_Micros(5)),
        lambda level: level.is_noisy,
    ),
    "lying_equality": (
        "objects whose __eq__ looks at one attribute",
        _Money(5, True),
        _Money(5, False),
        lambda level: level.is_noisy,
    ),
    "compare_false": (
        "frozen dataclasses with a field(compare=False)",
        _Parameters(1.0),
        _Parameters(1.0, False),
        lambda level: level.is_noisy,
    ),
    "ranges": ("ranges that are equal as sequences", range(0, 3, 2), range(0, 4, 2), lambda level: level.stop == 3),
    "frozen_sets": (
        "frozen sets of equal numbers",
        frozenset({1}),
        frozenset({True}),
        lambda level: type(next(iter(level))) is int,
    ),
    "dicts": (
        "dicts that differ in their order",
        {"a": 1, "b": 0},
        {"b": 0, "a": 1},
        lambda level: next(iter(level.values())),
    ),
}


def _equal_arguments(noisy: Any, silent: Any, is_noisy: Callable[[Any], object], told: str) -> Callable[[], Sampler]:
    def noise(level: Any, bits: RandomBits) -> int:
        return coin(is_noisy(level), bits)

    def make() -> Sampler:
        def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
            first = bits.call(noise, noisy)
            return first, secret ^ bits.call(noise, silent)

        return sampler

    make.__doc__ = f"The two calls are given {told}, which the called sampler tells apart."
    return make


CASES = tuple(
    Case(
        make=_equal_arguments(noisy, silent, is_noisy, told),
        name=f"equal_arguments_{name}",
        breach=Frequent(event=second_part_is_one),
    )
    for name, (told, noisy, silent, is_noisy) in _EQUAL.items()
)
