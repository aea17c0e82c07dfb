"""Bounds on the bias of bits hold for sources of known bias, and fair ones are not accused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attacklab.auditing.statistics.bit_bias import bit_bias
from attacklab.model.errors import UsageError

ALPHA = 1e-10
"""Of each of the bounds here."""


def after_two_ones(share: float, size: int, seed: int) -> list[int]:
    """Fair bits but for those that follow two ones."""
    uniform, bits = np.random.default_rng(seed).random(size), [0, 0]
    for number in uniform.tolist():
        bits.append(int(number < (share if bits[-2:] == [1, 1] else 0.5)))
    return bits


@pytest.mark.parametrize("share", [0.45, 0.52, 0.9])
def test_the_bounds_hold_the_bias_of_a_source_and_name_the_bits_that_it_follows(share: float) -> None:
    found = bit_bias(after_two_ones(share, 200_000, 3), before=2, alpha=ALPHA)
    assert 0 < found.lower <= abs(share - 0.5) <= found.upper < abs(share - 0.5) + 0.03
    assert found.before == "11"


def test_more_bits_before_show_as_much_and_fewer_may_hide_it() -> None:
    """Every third bit is the sum of the two before it: given one of them, it is fair."""
    bits = np.random.default_rng(4).integers(0, 2, 100_000)
    for at in range(2, 100_000, 3):
        bits[at] = bits[at - 1] ^ bits[at - 2]
    assert bit_bias(bits, before=1, alpha=ALPHA).lower == 0
    assert bit_bias(bits, before=2, alpha=ALPHA).lower > 0.1
    assert bit_bias(bits, before=6, alpha=ALPHA).lower > 0.1


@pytest.mark.parametrize(("before", "most"), [(0, 0.03), (1, 0.04), (8, 0.45)])
def test_fair_bits_are_not_accused(before: int, most: float) -> None:
    for seed in range(20):
        bits = np.random.default_rng(seed).integers(0, 2, 50_000)
        found = bit_bias(bits, before=before, alpha=ALPHA)
        assert found.lower == 0
        assert found.before == ""
        assert found.upper < most


def test_constant_bits_and_bits_that_never_came_are_told() -> None:
    ones = bit_bias([1] * 1_000, before=1, alpha=ALPHA)
    assert 0.45 < ones.lower < ones.upper == 0.5
    assert ones.before == "1"
    zeros = bit_bias([0] * 1_000, before=0, alpha=ALPHA)
    assert 0.45 < zeros.lower < zeros.upper == 0.5


def test_bounds_hold_as_often_as_they_say() -> None:
    """Each of 400 runs fails with probability 1/4 at most; 160 failures or more have a probability below 1e-10."""
    failed = 0
    for seed in range(400):
        found = bit_bias(after_two_ones(0.6, 300, seed), before=2, alpha=0.25)
        failed += not found.lower <= 0.1 <= found.upper
    assert failed < 160


@pytest.mark.parametrize(
    ("bits", "settings"),
    [
        ([0, 1, 2], {}),
        ([[0, 1]], {}),
        ([[0, 1], [1]], {}),
        ([0, 1], {}),
        (np.array([0] * 9, dtype=object), {"before": 1}),
        (np.array([0j] * 9), {"before": 1}),
        (np.ma.array([0] * 9, mask=[True] * 9), {"before": 1}),
        ([0] * 9, {"before": 21}),
        ([0] * 9, {"before": 2.0}),
        ([0] * 9, {"before": np.int8(8)}),
        ([0] * 9, {"alpha": 0.0}),
        ([0] * 9, {"alpha": "0.1"}),
    ],
)
def test_what_is_no_sample_of_bits_is_refused(bits: Any, settings: Any) -> None:
    with pytest.raises(UsageError):
        bit_bias(bits, **settings)
