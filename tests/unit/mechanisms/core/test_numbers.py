"""What a mechanism accepts as a number, and that nothing else about a private number can be told from an error."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest

from mechanisms.core.numbers import clamped, exact, vector

ACCEPTED: list[tuple[Any, Fraction]] = [
    (3, Fraction(3)),
    (True, Fraction(1)),
    (10**400, Fraction(10**400)),
    (0.1, Fraction(0.1)),
    (-0.0, Fraction(0)),
    (5e-324, Fraction(1, 2**1074)),
    (Fraction(1, 3), Fraction(1, 3)),
    (np.float64(0.1), Fraction(0.1)),
    (np.int8(-128), Fraction(-128)),
    (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    (np.bool_(True), Fraction(1)),
]


@pytest.mark.parametrize(("number", "value"), ACCEPTED, ids=repr)
def test_a_number_is_the_rational_that_it_is(number: Any, value: Fraction) -> None:
    read = exact("x", number)
    assert read == value
    assert type(read) is Fraction
    assert vector("x", [number]) == [value]


class Sly(float):
    """A float that says that it is another one."""

    def __float__(self) -> float:
        return 0.0


REFUSED: list[Any] = [
    Decimal("0.1"), gmpy2.mpz(1), gmpy2.mpq(1, 3), gmpy2.mpfr(1), np.float16(1), np.longdouble(1), 1j,
    np.complex128(1), "1", b"1", None, Sly(1.0), np.array(1.0), np.datetime64("2020"), object(),
]  # fmt: skip


@pytest.mark.parametrize("number", REFUSED, ids=lambda number: type(number).__name__)
def test_every_other_type_is_refused_by_its_type_alone(number: Any) -> None:
    with pytest.raises(TypeError, match=f"x must be int, float or Fraction, .* not {type(number).__name__}"):
        exact("x", number)
    with pytest.raises(TypeError):
        vector("x", [1.0, number])


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [
        ("f8", "f8"),
        ("i1", "i8"),
        ("i8", "i8"),
        ("u1", "u8"),
        ("u8", "u8"),
        ("?", "i8"),
        (">f8", "f8"),
        (">i4", "i8"),
        ("f4", "f8"),
    ],
)
def test_an_array_is_read_into_one_of_three_types(dtype: str, wide: str) -> None:
    given = np.array([0, 1, 1], dtype=dtype)
    read = vector("x", given)
    assert isinstance(read, np.ndarray)
    assert read.dtype == np.dtype(wide)
    assert read.tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        read += 1
    assert given.tolist() == [0, 1, 1]
    assert given.flags.writeable


def test_an_empty_list_is_a_list_of_exact_numbers() -> None:
    assert vector("x", []) == []
    assert isinstance(vector("x", ()), list)
    assert isinstance(vector("x", [1.0, np.float64(2)]), np.ndarray)
    assert vector("x", [1.0, 2]) == [Fraction(1), Fraction(2)]


def test_clamping_brings_everything_into_the_range() -> None:
    low, high, missing = Fraction(-1), Fraction(2), Fraction(1, 2)
    for number, expected in (
        (Fraction(5), 2), (Fraction(-5), -1), (math.inf, 2), (-math.inf, -1), (math.nan, missing), (Fraction(1), 1),
    ):  # fmt: skip
        brought = clamped(number, low, high, missing=missing)
        assert brought == expected
        assert type(brought) is Fraction
