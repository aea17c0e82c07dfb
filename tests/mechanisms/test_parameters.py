"""Public parameters are taken exactly, or refused by name."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from mechanisms.parameters import exact_rational, positive_integer, positive_rational, trial_count


@pytest.mark.parametrize("value", [0, -1, 0.0, -0.0, math.nan, math.inf, -math.inf, Fraction(-1, 3)])
def test_parameters_not_above_zero_are_named(value: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        positive_rational("epsilon", value)


@pytest.mark.parametrize("value", ["1", None, True, 1j, [1]])
def test_parameters_that_are_not_numbers_are_named(value: object) -> None:
    with pytest.raises(TypeError, match="epsilon"):
        positive_rational("epsilon", value)  # type: ignore[arg-type]


def test_numbers_of_other_libraries_are_taken_exactly() -> None:
    big = np.int64(2**62)
    assert exact_rational("answer", big) * 4 == 2**64
    assert exact_rational("answer", gmpy2.mpq(1, 3)) == Fraction(1, 3)
    assert exact_rational("answer", np.float64(0.1)) == Fraction(0.1)


def test_a_negative_number_of_trials_is_refused() -> None:
    assert trial_count(0) == 0
    with pytest.raises(ValueError, match="trials"):
        trial_count(-1)


@pytest.mark.parametrize("trials", [2.0, "3", None])
def test_a_number_of_trials_that_is_not_an_integer_is_refused(trials: object) -> None:
    assert trial_count(np.int64(3)) == 3
    with pytest.raises(TypeError, match="trials must be an integer"):
        trial_count(trials)  # type: ignore[arg-type]


def test_counts_are_integers_from_1() -> None:
    assert positive_integer("chunks", 1) == 1
    with pytest.raises(ValueError, match="chunks must be at least 1, not 0"):
        positive_integer("chunks", 0)
    with pytest.raises(TypeError, match=r"chunks must be an integer, not 2\.0"):
        positive_integer("chunks", 2.0)  # type: ignore[arg-type]
