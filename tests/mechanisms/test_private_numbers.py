"""Private numbers are read one by one, exactly, and none raises an error."""

from __future__ import annotations

import math
from decimal import Context, Decimal, FloatOperation, Inexact, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq

from mechanisms.grid import Grid
from mechanisms.private_numbers import REACH_BITS, doubles, exact_integer, exact_number, exact_numbers


@pytest.mark.parametrize("kind", [list, tuple, lambda values: np.array(values, dtype=object)])
def test_integers_beyond_the_largest_double_count_as_infinite(kind: Any) -> None:
    found = doubles("records", kind([10**400, 0.5, -(10**400), math.nan, 3]))
    np.testing.assert_array_equal(found, [math.inf, 0.5, -math.inf, math.nan, 3.0])


def test_a_wide_float_that_overflows_raises_nothing_for_a_caller_whose_numpy_raises() -> None:
    wide = np.array(["1e4000", "-1e4000", "1e-4000"], dtype=np.longdouble)
    with np.errstate(all="raise"):
        assert doubles("records", wide).tolist() == [math.inf, -math.inf, 0.0]


@pytest.mark.parametrize("values", [3.0, [[1.0]], np.zeros((2, 2))])
def test_an_array_that_is_not_a_vector_is_refused_by_name(values: Any) -> None:
    with pytest.raises(ValueError, match="ages must be one-dimensional"):
        doubles("ages", values)


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (True, mpq(1)),
        (np.bool_(True), mpq(1)),
        (np.uint64(2**64 - 1), mpq(2**64 - 1)),
        (np.float16(0.1), mpq(Fraction(float(np.float16(0.1))))),
        (np.longdouble(1) + np.longdouble(2) ** -60, 1 + mpq(1, 2**60)),
        (Decimal("0.1"), mpq(1, 10)),
        (Decimal("-1.50E+3"), mpq(-1500)),
        (Decimal("0E+999999999"), mpq(0)),
        (gmpy2.mpfr("0.1"), mpq(0.1)),
        (np.array(np.array(Fraction(1, 3), dtype=object)), mpq(1, 3)),
        (5e-324, mpq(1, 2**1074)),
    ],
    ids=repr,
)
def test_a_number_is_read_as_the_value_that_it_is(value: Any, exact: Any) -> None:
    assert exact_number("answer", value) == exact


def negated(number: Any) -> Any:
    return number.copy_negate() if isinstance(number, Decimal) else -number  # Decimal's own − raises Overflow


@pytest.mark.parametrize(
    ("far", "tiny"),
    [
        (Decimal("1E+999999999999999999"), Decimal("1E-999999999999999999")),
        (gmpy2.mpfr("1e100000000"), gmpy2.mpfr("1e-100000000")),
        (1 << REACH_BITS, Fraction(1, 1 << REACH_BITS)),
        (mpq(10) ** 30_000, mpq(1, 10**30_000)),
    ],
    ids=["Decimal", "mpfr", "least beyond", "mpq"],
)
def test_numbers_beyond_reach_count_as_infinite_and_too_fine_ones_are_rounded_down(far: Any, tiny: Any) -> None:
    assert [exact_number("answer", far), exact_number("answer", negated(far))] == [math.inf, -math.inf]
    assert [exact_number("answer", tiny), exact_number("answer", negated(tiny))] == [0, -mpq(1, 2 ** (REACH_BITS - 1))]


def test_a_number_of_too_many_digits_is_read_as_one_just_below() -> None:
    near = Fraction(1000) + Fraction(1, 3**50_000)
    assert Grid(-2).nearest(near) == Grid(-2).nearest(-near) + 8000 == 4000
    for number in (near, mpq(near), Decimal("1000." + "0" * 70_000 + "1")):
        assert (
            0
            <= mpq(number if not isinstance(number, Decimal) else 1000) - exact_number("answer", number)
            < mpq(1, 2**65_000)
        )
    halves = [exact_number("answer", Fraction(1, 2) + sign * Fraction(1, 3**50_000)) for sign in (-1, 1)]
    assert halves[0] < mpq(1, 2) == halves[1]


def test_the_last_numbers_within_reach_are_exact() -> None:
    largest, finest = (1 << REACH_BITS) - 1, Fraction(1, 1 << (REACH_BITS - 1))
    assert exact_number("answer", largest) == largest
    assert exact_number("answer", finest) == finest
    assert exact_number("answer", Decimal("1E-19000")) == mpq(1, 10**19_000)


@pytest.mark.parametrize("value", [None, math.nan, Decimal("NaN"), Decimal("-sNaN42"), gmpy2.mpfr("nan"), np.ma.masked])
def test_what_is_missing_or_not_a_number_is_nan_and_no_event(value: Any) -> None:
    traps = Context(prec=1, traps=[Inexact, FloatOperation, InvalidOperation])
    with np.errstate(all="raise"), localcontext(traps), gmpy2.context(trap_invalid=True, trap_erange=True):
        assert math.isnan(exact_number("answer", value))
        assert doubles("records", [10**400, value])[0] == math.inf
        assert math.isnan(doubles("records", [10**400, value])[1])


def test_a_signalling_nan_of_an_array_is_no_event() -> None:
    """Converting one from binary32 or binary16 raises the flag of an invalid operation."""
    binary32 = np.array([0x7FA00000, 0x3F800000], dtype=np.uint32).view(np.float32)
    binary16 = np.array([0x7D00, 0x3C00], dtype=np.uint16).view(np.float16)
    with np.errstate(all="raise"):
        for given in (binary32, binary16, list(binary32), binary32.astype(object)):
            np.testing.assert_array_equal(doubles("records", given), [math.nan, 1.0])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.longdouble, object])
def test_masked_elements_are_missing_whatever_lies_behind_the_mask(dtype: Any) -> None:
    for hidden in (0, 2**62):
        given = np.ma.MaskedArray(np.array([1, hidden, 3], dtype=dtype), mask=[False, True, False])
        np.testing.assert_array_equal(doubles("records", given), [1.0, math.nan, 3.0])
        assert given.data[1] == hidden


@pytest.mark.parametrize("given", [[2**60, 1.0], [Fraction(1, 3)], [2**53 + 1, -1], np.array([2**60 + 1])], ids=repr)
def test_a_vector_that_is_not_of_doubles_is_exact(given: Any) -> None:
    expected = given.tolist() if isinstance(given, np.ndarray) else given
    assert [mpq(value) for value in exact_numbers("records", given)] == [mpq(Fraction(value)) for value in expected]


def test_integers_are_told_by_their_type() -> None:
    assert [exact_integer("count", value) for value in (7, np.uint8(7), gmpy2.mpz(7), np.array(7))] == [7] * 4
    assert exact_integer("count", None) is None  # type: ignore[arg-type]
    for value in (7.0, Fraction(7), Decimal(7), np.float32(7)):
        with pytest.raises(TypeError, match="count must be of a type of integers"):
            exact_integer("count", value)  # type: ignore[arg-type]
