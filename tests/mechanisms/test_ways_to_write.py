"""Equal private values give equal outputs on the same bits however they are written, or a refusal that none decides.

Equal outputs on all bits are equal laws. The mechanisms are found in the tree: one that `releases` does not know fails.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr, mpq, mpz

from attacklab.random_bits import SeededBits
from tests.mechanisms.releases import RUNS, found

TAKEN = found()
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble)
DTYPES = (np.bool_, *INTEGERS, *FLOATS)
NAN, INFINITE, LESS = "NaN", "+∞", "−∞"
Value = Fraction | str
"""A number, or one of the three above."""

VALUES: list[Value] = [
    *map(Fraction, (0, 1, 3, -2, 2**53 + 1, 2**60, -(2**63), 2**64 - 1, 10**30, 10**400)),
    *(
        Fraction(1, 2),
        Fraction(0.1),
        -Fraction(2.0**-1074),
        1 + Fraction(1, 2**60),
        Fraction(1, 10**40),
        Fraction(1, 3),
    ),
    *(NAN, INFINITE, LESS),
]
VECTORS: list[list[Value]] = [
    [Fraction(0), Fraction(1), Fraction(3)],
    [Fraction(1), Fraction(0), Fraction(1), Fraction(1)],
    [Fraction(2**60), Fraction(2**60 + 64), Fraction(2**60 - 64)],
    [Fraction(2**60), Fraction(2**60 + 1), Fraction(2**63), Fraction(5)],
    [Fraction(1, 2), Fraction(2**60), Fraction(-1)],
    [Fraction(0.1), Fraction(1, 3), Fraction(-7, 8), Fraction(10**400)],
    [Fraction(2), NAN, INFINITE, LESS],
    [NAN, Fraction(10**400), Fraction(3)],
    [NAN],
    [],
]


class Unwritable(Exception):
    """A type cannot hold a value, or not exactly."""


def special(value: Value) -> float:
    return {NAN: math.nan, INFINITE: math.inf, LESS: -math.inf}[str(value)]


def as_int(value: Value) -> int:
    if isinstance(value, str) or value.denominator != 1:
        raise Unwritable
    return int(value)


def as_fraction(value: Value) -> Fraction:
    if isinstance(value, str):
        raise Unwritable
    return value


def as_float(value: Value) -> float:
    if isinstance(value, str):
        return special(value)
    try:
        written = value.numerator / value.denominator
    except OverflowError:
        raise Unwritable from None
    if Fraction(written) != value:
        raise Unwritable
    return written


def as_decimal(value: Value) -> Decimal:
    if isinstance(value, str):
        return Decimal("sNaN" if value == NAN else special(value))
    twos = value.denominator.bit_length() - 1 if value.denominator & (value.denominator - 1) == 0 else 40
    digits = value * 10**twos
    if digits.denominator != 1:
        raise Unwritable
    return Decimal((int(digits < 0), tuple(map(int, str(abs(int(digits))))), -twos))


def as_mpfr(value: Value) -> Any:
    if isinstance(value, str):
        return mpfr(special(value))
    with gmpy2.context(precision=2000):
        written = mpfr(mpq(value))
    if mpq(written) != value:
        raise Unwritable
    return written


def as_numpy(dtype: Any) -> Callable[[Value], Any]:
    def write(value: Value) -> Any:
        if np.dtype(dtype).kind in "biu":
            whole = as_int(value)
            try:
                written = dtype(whole)
            except OverflowError:
                raise Unwritable from None
            if int(written) != whole:
                raise Unwritable
            return written
        if value == NAN and dtype is np.float32:
            return np.array([0x7FA00000], dtype=np.uint32).view(np.float32)[0]  # a signalling one
        if value == NAN and dtype is np.float64:
            return np.array([0x7FF4 << 48], dtype=np.uint64).view(np.float64)[0]
        if isinstance(value, str):
            return dtype(special(value))
        if dtype is not np.longdouble:
            with np.errstate(all="ignore"):
                written = dtype(as_float(value))
        else:
            written = np.longdouble(0)
            for shift in (64, 32, 0):  # no constructor takes a Fraction, and str is rounded
                piece = (
                    math.floor((value - Fraction(*written.as_integer_ratio())) * 2**shift) if abs(value) < 2**64 else 0
                )
                written = written + np.longdouble(piece) / np.longdouble(2.0**shift)
        if not np.isfinite(written) or Fraction(*written.as_integer_ratio()) != value:
            raise Unwritable
        return written

    return write


def as_bool(value: Value) -> bool:
    if value not in (0, 1):
        raise Unwritable
    return bool(value)


def as_none(value: Value) -> None:
    if value != NAN:
        raise Unwritable


def as_masked(value: Value) -> Any:
    if value != NAN:
        raise Unwritable
    return np.ma.masked


PLAIN: dict[str, Callable[[Value], Any]] = {
    "int": as_int,
    "float": as_float,
    "bool": as_bool,
    "Fraction": as_fraction,
    "mpq": lambda value: mpq(as_fraction(value)),
    "mpz": lambda value: mpz(as_int(value)),
    "mpfr": as_mpfr,
    "Decimal": as_decimal,
    **{np.dtype(dtype).name: as_numpy(dtype) for dtype in DTYPES},
}
SINGLE: dict[str, Callable[[Value], Any]] = {
    **PLAIN,
    **{
        f"array of {np.dtype(dtype).name} without dimensions": (
            lambda value, dtype=dtype: np.array(as_numpy(dtype)(value))
        )
        for dtype in DTYPES
    },
    "swapped array without dimensions": lambda value: np.array(as_float(value), dtype=np.dtype("f8").newbyteorder()),
    "array of an object without dimensions": lambda value: np.array(as_fraction(value), dtype=object),
}
ELEMENTS = {**SINGLE, "None": as_none, "masked": as_masked}


def first_that_writes(ways: Sequence[str], value: Value) -> Any:
    for way in ways:
        try:
            return ELEMENTS[way](value)
        except Unwritable:
            continue
    raise Unwritable


def mixed(start: int) -> Callable[[list[Value]], list[Any]]:
    """Write each element in another way."""
    names = list(ELEMENTS)

    def write(values: list[Value]) -> list[Any]:
        turned = [names[(start + 5 * i) % len(names) :] + names for i in range(len(values))]
        return [first_that_writes(ways, value) for ways, value in zip(turned, values, strict=True)]

    return write


def array(dtype: Any) -> Callable[[list[Value]], Any]:
    def write(values: list[Value]) -> Any:
        return np.array([as_numpy(dtype)(value) for value in values], dtype=dtype)

    return write


def masked(dtype: Any, hidden: float) -> Callable[[list[Value]], Any]:
    def write(values: list[Value]) -> Any:
        data = [as_numpy(dtype)(Fraction(hidden) if value == NAN else value) for value in values]
        return np.ma.MaskedArray(np.array(data, dtype=dtype), mask=[value == NAN for value in values])

    return write


def read_only(values: list[Value]) -> Any:
    written = np.array([as_float(value) for value in values])
    written.setflags(write=False)
    return written


def every_second(values: list[Value]) -> Any:
    written = np.full(2 * len(values) + 2, 7.0)[1::2][: len(values)]
    written[:] = [as_float(value) for value in values]
    return written


VECTOR_WAYS: dict[str, Callable[[list[Value]], Any]] = {
    **{
        f"list of {name}": (lambda values, write=write: [write(value) for value in values])
        for name, write in ELEMENTS.items()
    },
    **{f"tuple of {name}": (lambda values, write=write: tuple(map(write, values))) for name, write in PLAIN.items()},
    **{f"mixed list from {start}": mixed(start) for start in range(0, len(ELEMENTS), 5)},
    **{f"array of {np.dtype(dtype).name}": array(dtype) for dtype in DTYPES},
    **{
        f"swapped array of {np.dtype(dtype).name}": (
            lambda values, dtype=dtype: array(dtype)(values).astype(np.dtype(dtype).newbyteorder())
        )
        for dtype in (np.int64, np.uint32, np.float16, np.float64)
    },
    "masked array of float64": masked(np.float64, 5.0),
    "masked array of int64": masked(np.int64, 2**62),
    "masked array of objects": lambda values: np.ma.MaskedArray(
        np.array([Fraction(9) if value == NAN else as_fraction(value) for value in values], dtype=object),
        mask=[value == NAN for value in values],
    ),
    "array of objects": lambda values: np.array([*mixed(2)(values), None], dtype=object)[:-1],
    "read-only array": read_only,
    "array of every second": every_second,
    "array from the end": lambda values: np.array([as_float(value) for value in values][::-1])[::-1],
    "deque": lambda values: deque(mixed(3)(values)),
}


def outcome(name: str, given: Any) -> str:
    """What a few releases give, or the kind of the refusal. Warnings and events are errors here."""
    try:
        with np.errstate(all="raise"), gmpy2.context(trap_invalid=True, trap_erange=True, trap_overflow=True):
            return RUNS[name](given, SeededBits(11))
    except (TypeError, ValueError) as refusal:
        return f"refused: {type(refusal).__name__}"


def assert_equal_values_give_equal_outputs(
    name: str, ways: dict[str, Callable[[Any], Any]], values: Sequence[Any]
) -> None:
    refusals: dict[str, set[str | None]] = {}
    for value in values:
        outputs = {}
        for way, write in ways.items():
            try:
                given = write(value)
            except Unwritable:
                continue
            result = outcome(name, given)
            is_refusal = result.startswith("refused")
            refusals.setdefault(way, set()).add(result if is_refusal else None)
            if not is_refusal:
                outputs[way] = result
        assert len(set(outputs.values())) <= 1, (value, outputs)
    decided_by_values = {way: kinds for way, kinds in refusals.items() if len(kinds) > 1}
    assert not decided_by_values
    assert any(kinds == {None} for kinds in refusals.values())


def test_every_mechanism_that_takes_a_private_input_is_known() -> None:
    assert set(RUNS) == set(TAKEN)


@pytest.mark.few(7)
@pytest.mark.parametrize("name", [name for name, taken in TAKEN.items() if taken in ("answer", "truth")])
def test_equal_answers_give_equal_outputs(name: str) -> None:
    assert_equal_values_give_equal_outputs(name, SINGLE, VALUES)


@pytest.mark.few(9)
@pytest.mark.parametrize(
    "name", [name for name, taken in TAKEN.items() if taken in ("answers", "records", "utilities")]
)
def test_equal_vectors_give_equal_outputs(name: str) -> None:
    values = [vector for vector in VECTORS if vector or TAKEN[name] != "utilities"]
    assert_equal_values_give_equal_outputs(name, VECTOR_WAYS, values)


@pytest.mark.parametrize(
    "name", [name for name, taken in TAKEN.items() if taken in ("answers", "records", "utilities")]
)
@pytest.mark.parametrize(
    "strange",
    ["1", 1j, b"1", object(), np.datetime64("NaT"), np.timedelta64(3)],
    ids=lambda strange: type(strange).__name__,
)
def test_an_element_that_is_not_a_number_is_refused_by_its_type_whatever_stands_beside_it(
    name: str, strange: object
) -> None:
    for beside in (0, 1.0, 10**400, math.nan, None, Decimal("sNaN"), np.ma.masked, np.float32(1)):
        assert outcome(name, [beside, strange]) == outcome(name, [strange, beside]) == "refused: TypeError"


@pytest.mark.parametrize(
    "name", [name for name, taken in TAKEN.items() if taken in ("answers", "records", "utilities")]
)
def test_no_array_is_refused_or_read_by_what_its_elements_are(name: str) -> None:
    if "aggregate" in name:
        pytest.skip("it takes pairs")
    for dtype in ("c16", "U4", "S4", "M8[s]", "m8[s]", "V8"):
        assert {outcome(name, np.zeros(3, dtype=dtype)), outcome(name, np.ones(2, dtype="i8").astype(dtype))} == {
            "refused: TypeError"
        }
