"""False samplers whose outputs on the two inputs are equal for Python, and are not the same output.

Each draws a fair bit and ignores the secret but for the form in which it writes the bit: an adversary who looks at the
type, the sign, the exponent or the payload knows the secret for certain. By `==` alone the laws are equal, ε = 0.
"""

from __future__ import annotations

import datetime as dt
import enum
import struct
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np

from attacklab.random_bits import RandomBits
from tests.attacklab.laws.zoo.case import Case, Event, Frequent, Sampler


class _Text(str):
    __slots__ = ()


class _Unit(int):
    unit = "cm"


class _Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class _Anything:
    """Equal to everything of its class, as a wildcard is."""

    def __init__(self, held: int) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Anything)

    def __hash__(self) -> int:
        return 0


@dataclass(frozen=True)
class _Report:
    value: int
    source: int = field(compare=False)


_Pair = namedtuple("_Pair", ["low", "high"])
_UTC, _SAME = dt.UTC, dt.timezone(dt.timedelta(0), "London")


def _nan(payload: int) -> float:
    (value,) = struct.unpack(">d", struct.pack(">Q", 0x7FF8 << 48 | payload))
    return float(value)


def _in_unit(bit: int, unit: str) -> _Unit:
    value = _Unit(bit)
    value.unit = unit
    return value


_FORMS: dict[str, tuple[str, Callable[[int], Any], Callable[[int], Any], Event]] = {
    "bool": ("an int, or a bool as a comparison gives", int, bool, lambda output: type(output) is bool),
    "sign_of_zero": (
        "a zero whose sign is that of a product with the answer",
        lambda _bit: 0.0,
        lambda _bit: -0.0,
        lambda output: bool(np.signbit(output)),
    ),
    "float": ("an int, or a float as a division gives", int, float, lambda output: type(output) is float),
    "numpy_integer": ("an int, or np.int64 as indexing gives", int, np.int64, lambda output: type(output) is np.int64),
    "numpy_float": ("a float, or np.float64", float, np.float64, lambda output: type(output) is np.float64),
    "narrow_float": ("np.float64, or np.float32", np.float64, np.float32, lambda output: type(output) is np.float32),
    "fraction": ("an int, or a Fraction", int, Fraction, lambda output: type(output) is Fraction),
    "decimal_exponent": (
        "a Decimal of one or of two decimals",
        lambda bit: Decimal(bit).quantize(Decimal("0.1")),
        lambda bit: Decimal(bit).quantize(Decimal("0.01")),
        lambda output: output.as_tuple().exponent == -2,
    ),
    "text_subclass": ("a str, or a subclass for safe text", str, lambda bit: _Text(bit), lambda o: type(o) is _Text),
    "wildcard": (
        "an object that equals every other of its class",
        lambda _bit: _Anything(0),
        lambda _bit: _Anything(1),
        lambda output: output.held == 1,
    ),
    "uncompared_field": (
        "a frozen dataclass with a field(compare=False)",
        lambda bit: _Report(bit, 0),
        lambda bit: _Report(bit, 1),
        lambda output: output.source == 1,
    ),
    "named_tuple": (
        "a tuple, or a named tuple",
        lambda bit: (bit, 1),
        lambda bit: _Pair(bit, 1),
        lambda output: type(output) is _Pair,
    ),
    "nan_payload": (
        "NaN with either payload",
        lambda _bit: _nan(0),
        lambda _bit: _nan(1),
        lambda output: struct.pack(">d", output)[-1] == 1,
    ),
    "nested_tuple": (
        "the bit, an int or a bool, three tuples deep",
        lambda bit: (((bit,),),),
        lambda bit: (((bool(bit),),),),
        lambda output: type(output[0][0][0]) is bool,
    ),
    "frozen_set_member": (
        "a frozen set of an int or of a bool",
        lambda bit: frozenset({bit}),
        lambda bit: frozenset({bool(bit)}),
        lambda output: type(next(iter(output))) is bool,
    ),
    "set_and_frozen_set": (
        "a frozen set, or a set",
        lambda bit: frozenset({bit}),
        lambda bit: {bit},
        lambda output: type(output) is set,
    ),
    "unit_of_an_integer": (
        "an integer of a subclass with another attribute",
        lambda bit: _in_unit(bit, "cm"),
        lambda bit: _in_unit(bit, "in"),
        lambda output: output.unit == "in",
    ),
    "integer_enum": ("an int, or an IntEnum", int, lambda bit: _Level(bit), lambda output: type(output) is _Level),
    "fold_of_a_time": (
        "a datetime whose fold, which == ignores, is 0 or 1",
        lambda bit: dt.datetime(2024, 10, 27, 1, bit),
        lambda bit: dt.datetime(2024, 10, 27, 1, bit, fold=1),
        lambda output: output.fold == 1,
    ),
    "time_zone": (
        "one instant in two time zones",
        lambda bit: dt.datetime(2024, 1, 1, 1, bit, tzinfo=_UTC),
        lambda bit: dt.datetime(2024, 1, 1, 1, bit, tzinfo=_SAME),
        lambda output: output.tzname() == "London",
    ),
    "range": (
        "a range with either stop",
        lambda bit: range(bit, bit + 3, 2),
        lambda bit: range(bit, bit + 4, 2),
        lambda output: (output.stop - output.start) == 4,
    ),
    "complex_zero": (
        "a complex number whose imaginary zero has either sign",
        lambda bit: complex(bit, 0.0),
        lambda bit: complex(bit, -0.0),
        lambda output: bool(np.signbit(output.imag)),
    ),
    "gmpy2_integer": ("an int, or gmpy2.mpz", int, gmpy2.mpz, lambda output: type(output) is gmpy2.mpz),
    "precision_of_mpfr": (
        "a gmpy2.mpfr of either precision",
        lambda bit: gmpy2.mpfr(bit, 53),
        lambda bit: gmpy2.mpfr(bit, 64),
        lambda output: output.precision == 64,
    ),
    "unit_of_a_date": (
        "np.datetime64 in days or in hours",
        lambda bit: np.datetime64(bit, "D"),
        lambda bit: np.datetime64(24 * bit, "h"),
        lambda output: np.datetime_data(output.dtype)[0] == "h",
    ),
}


def _written(one: Callable[[int], Any], other: Callable[[int], Any], told: str) -> Callable[[], Sampler]:
    def sampler(secret: int, bits: RandomBits) -> Any:
        bit = bits.take(1)
        return other(bit) if secret else one(bit)

    def make() -> Sampler:
        return sampler

    make.__doc__ = f"The output is {told}, by the secret; a serializer, a log or a type check shows which."
    return make


CASES = tuple(
    Case(make=_written(one, other, told), name=f"outcome_{name}", breach=Frequent(event=event))
    for name, (told, one, other, event) in _FORMS.items()
)
