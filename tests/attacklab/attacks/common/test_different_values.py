"""Different values: the same as by comparing every two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.common.different_values import different_values


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (np.array([], dtype=np.float64), []),
        (np.array([2.0, 1.0, 2.0, -math.inf, 1.0]), [-math.inf, 1.0, 2.0]),
        (np.array([0.0, -0.0, 5e-324]), [0.0, 5e-324]),
        (np.array([2**64 - 1, 0, 2**64 - 1], dtype=np.uint64), [0, 2**64 - 1]),
    ],
)
def test_each_value_comes_once_in_ascending_order(numbers: NDArray[np.generic], expected: list[float]) -> None:
    assert different_values(numbers).tolist() == expected


@pytest.mark.parametrize("missing", [1, 3])
def test_nan_comes_once_and_last(missing: int) -> None:
    found = different_values(np.array([math.nan] * missing + [math.inf, 1.0]))
    assert found[:-1].tolist() == [1.0, math.inf]
    assert math.isnan(found[-1])
