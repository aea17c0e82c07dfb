"""Values keep every bit, and other text is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.laws import Bounds
from attacklab.model.errors import UsageError
from attacklab.vectors import read_value, written

NUMBERS = st.integers() | st.fractions() | st.floats(allow_nan=False)
VALUES = st.recursive(st.none() | st.booleans() | NUMBERS, lambda values: st.lists(values, max_size=4), max_leaves=8)


@given(VALUES)
def test_a_value_is_read_back_with_its_type_and_every_bit(value: Any) -> None:
    read = read_value(written(value))
    assert _described(read) == _described(value)


def _described(value: Any) -> Any:
    if isinstance(value, list):
        return [_described(one) for one in value]
    if isinstance(value, Fraction) and value.denominator == 1:
        value = int(value)
    return type(value), repr(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (Fraction(-6, 4), "-3/2"),
        (gmpy2.mpq(6, 4), "3/2"),
        (np.int64(-3), "-3"),
        (1.0, "0x1.0000000000000p+0"),
        (-0.0, "-0x0.0p+0"),
        (5e-324, "0x0.0000000000001p-1022"),
        (np.float32(0.1), "0x1.99999a0000000p-4"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (np.bool_(True), True),
        (np.array([1, 2]), ["1", "2"]),
        (Bounds(gmpy2.mpq(1, 3), gmpy2.mpq(1, 2)), {"lower": "1/3", "upper": "1/2"}),
        (Bounds(gmpy2.mpq(1, 3), gmpy2.mpq(1, 3)), "1/3"),
    ],
)
def test_values_are_written_so(value: Any, text: Any) -> None:
    assert written(value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1p+0", 1.0),
        ("0x1p-1074", 5e-324),
        ("0x0.8p-1073", 5e-324),
        ("0x1.fffffffffffffp+1023", 1.7976931348623157e308),
    ],
)
def test_floats_are_read_as_c_and_other_languages_write_them(text: str, value: float) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "1.5", "01", "+1", "1/0", "1/-2", "-", "1e3", " 1", "1 ", "1\n", "١", "1/2/3", "NaN", "Infinity", "-nan"),
        *("0x1.8", "0x1.8P+1", "0x1.8p1", "0X1.8p+1", "0x2p+0", "0x1.p+0"),
        *("0x1p+1024", "0x1.8p-1074", "0x1p-1075", "0x1.00000000000001p+0", "0x1p+99999", "9" * 5000, "word"),
        *(1, 1.5, {"lower": "1"}, {"lower": "1", "upper": "2", "middle": "3"}, {"lower": "2", "upper": "1"}),
        *({"lower": None, "upper": "1"}, {"lower": "0x1p+0", "upper": "0x1p+1"}, ["1", "x"]),
    ],
)
def test_other_text_is_refused(text: Any) -> None:
    with pytest.raises(UsageError, match="is not written as a value of vectors is"):
        read_value(text)


@pytest.mark.parametrize("value", ["1", b"1", object(), 1j])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="vectors hold no"):
        written(value)
