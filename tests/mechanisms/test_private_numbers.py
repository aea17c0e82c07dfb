"""Records become doubles one by one, and none raises an error."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.private_numbers import doubles
from mechanisms.summation.bounds import Bounds


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


def test_no_record_makes_a_sum_or_a_position_fail() -> None:
    grid = Grid(-2)
    records: Any = [10**400, -(10**400), 1.25, Fraction(1, 2)]
    assert Bounds(0, 10, grid).total(records) == 10 + 0 + Fraction(5, 4) + Fraction(1, 2)
    assert Domain(0, 10, grid).positions(records).tolist() == [40, 0, 5, 2]
