"""The numbers of the types `rounding`, `sum`, `special` and `calibration`, by routes of their own."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from attacklab.vectors import read_value
from experiments.vectors.recorded_bits import RecordedBits
from experiments.vectors.specials import MECHANISMS, Mechanism

FORMATS = {
    "binary64": (53, -1074, 1023),
    "binary32": (24, -149, 127),
    "bfloat16": (8, -133, 127),
    "binary16": (11, -24, 15),
}
"""Bits of the significand, exponent of the least number, and of the largest power of two."""


def neighbours(number: Fraction, name: str) -> tuple[Fraction | float, Fraction | float]:
    """The numbers of a format next to a positive one, below and above, in integer arithmetic."""
    bits, least, greatest = FORMATS[name]
    exponent = max(least, _floor_log2(number) - bits + 1)
    step = Fraction(2) ** exponent
    below = number // step * step
    above = below if below == number else below + step
    largest = (2 - Fraction(2) ** (1 - bits)) * Fraction(2) ** greatest
    return min(below, largest), above if above <= largest else math.inf


def _floor_log2(number: Fraction) -> int:
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= number else exponent - 1


def nearest(number: Fraction, name: str) -> Fraction | float:
    bits, least, greatest = FORMATS[name]
    below, above = neighbours(number, name)
    end = Fraction(2) ** (greatest + 1)
    other = end if above == math.inf else Fraction(above)
    if 2 * number != below + other:
        return below if 2 * number < below + other else above
    step = Fraction(2) ** max(least, _floor_log2(number) - bits + 1)
    return below if Fraction(below) / step % 2 == 0 else above


def test_roundings_are_those_of_integer_arithmetic(files: Mapping[str, Any]) -> None:
    for group in files["rounding"]["groups"]:
        for case in group["cases"]:
            number, name = Fraction(read_value(case["value"])), case["format"]
            if case["terms"]:
                assert number == sum(map(Fraction, read_value(case["terms"])))
            size = abs(number)
            below, above = neighbours(size, name) if size else (0, 0)
            near = nearest(size, name) if size else 0
            downward, upward = (below, above) if number >= 0 else (above, below)
            right = {"nearest": near, "toward_zero": below, "upward": upward, "downward": downward}
            for mode, one in right.items():
                written = read_value(case[mode])
                assert abs(written) == one, (case["id"], mode)
                assert math.copysign(1, written) == (-1 if number < 0 else 1)


TYPES = {"binary64": np.float64, "binary32": np.float32, "binary16": np.float16}


def test_roundings_to_nearest_are_those_of_numpy_where_it_has_the_format(files: Mapping[str, Any]) -> None:
    """A double that a case's number is exactly; numpy rounds it once."""
    checked = 0
    for group in files["rounding"]["groups"]:
        for case in group["cases"]:
            number, type_ = Fraction(read_value(case["value"])), TYPES.get(case["format"])
            if type_ is None or abs(number) > sys.float_info.max or Fraction(float(number)) != number:
                continue
            with np.errstate(all="ignore"):
                expected = type_(float(number)) if number else type_(0)
            assert float(expected).hex() == read_value(case["nearest"]).hex(), case["id"]
            checked += 1
    assert checked > 60


def _added(order: str, records: list[Any], code: str) -> float:
    """Sums by `struct`, which rounds to nearest once: a double holds the sum of two binary32 numbers well enough."""

    def rounded(number: float) -> float:
        return float(struct.unpack(code, struct.pack(code, number))[0])

    def tree(part: list[float]) -> float:
        middle = len(part) // 2
        return rounded(tree(part[:middle]) + tree(part[middle:])) if middle else part[0]

    if order == "pairwise":
        return tree(records)
    total = lost = 0.0
    for record in reversed(records) if order == "backward" else records:
        corrected = rounded(record - lost)
        larger = rounded(total + corrected)
        if order == "compensated":
            lost = rounded(rounded(larger - total) - corrected)
        total = larger
    return total


def test_sums_are_those_of_the_order_and_move_as_far_as_they_say(files: Mapping[str, Any]) -> None:
    for group in files["sum"]["groups"]:
        for case in group["cases"]:
            sides = [read_value(case[side]) for side in ("first", "second")]
            code = "<d" if case["format"] == "binary64" else "<f"
            assert group["mechanism"] == f"{case['order']}_sum"
            assert [_added(case["order"], side, code) for side in sides] == read_value(case["sums"]), case["id"]
            exact = [sum(map(Fraction, side)) for side in sides]
            assert exact == read_value(case["exact"])
            low, high = map(Fraction, read_value(case["bounds"]))
            assert all(low <= record <= high for side in sides for record in side)
            _require_neighbours(case["relation"], *sides)
            sensitivity = high - low if case["relation"] == "substitute" else max(abs(low), abs(high))
            assert sensitivity == read_value(case["sensitivity"])
            first, second = map(Fraction, read_value(case["sums"]))
            assert abs(first - second) == read_value(case["moved"]) > sensitivity >= abs(exact[0] - exact[1])
            assert case["flags"] == ["SumMovesFar" if abs(first - second) >= 2 * sensitivity else "SumMovesABit"]


def _require_neighbours(relation: str, first: list[Any], second: list[Any]) -> None:
    if relation == "substitute":
        assert len(first) == len(second)
        assert sum(one != other for one, other in zip(first, second, strict=True)) == 1
    else:
        assert len(first) == len(second) + 1
        assert any(first[:place] + first[place + 1 :] == second for place in range(len(first)))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_a_special_input_counts_as_an_ordinary_one(mechanism: Mechanism) -> None:
    """On the same bits both give the same output, to the bit."""
    for pair in mechanism.pairs:
        for special, ordinary in zip((pair.first, pair.second), pair.counts_as, strict=True):
            for stream in range(4):
                outputs = [mechanism.run(one, RecordedBits(str(stream))) for one in (special, ordinary)]
                assert repr(outputs[0]) == repr(outputs[1]), (pair.comment, special)


def _cases(files: Mapping[str, Any], quantity: str) -> list[Any]:
    return next(group["cases"] for group in files["calibration"]["groups"] if group["mechanism"] == quantity)


def _ends(case: Mapping[str, Any]) -> tuple[Decimal, Decimal]:
    lower, upper = (Decimal(read_value(case["quantity"][end])) for end in ("lower", "upper"))
    return lower, upper


def _limit(case: Mapping[str, Any]) -> Decimal:
    return Decimal(read_value(case["limit"]))


def _decimals(case: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: read_value(value) for name, value in case["parameters"].items()}
    return {name: [*map(Decimal, one)] if isinstance(one, list) else Decimal(one) for name, one in values.items()}


def test_scales_and_budgets_lie_between_two_doubles_as_near_as_can_be(files: Mapping[str, Any]) -> None:
    formulas = {
        "laplace_scale": lambda of: of["sensitivity"] / of["epsilon"],
        "laplace_epsilon": lambda of: of["sensitivity"] / of["scale"],
        "budget_total": lambda of: sum(of["parts"]),
    }
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 2500, -(10**6), 10**6
        for name, formula in formulas.items():
            for case in _cases(files, name):
                lower, upper = _ends(case)
                right = formula(_decimals(case))
                assert lower <= right <= upper, (name, case["id"])
                assert float(upper) in (float(lower), math.nextafter(float(lower), math.inf))
                assert _limit(case) == (upper if case["unsafe"] == "too small" else lower)


def test_cases_of_a_calibration_are_enclosed_in_order(files: Mapping[str, Any]) -> None:
    for group in files["calibration"]["groups"]:
        assert len(group["cases"]) >= 10
        for case in group["cases"]:
            lower, upper = _ends(case)
            assert lower <= _limit(case) <= upper
            assert case["unsafe"] == group["cases"][0]["unsafe"]


def test_the_least_sigma_is_one_whose_delta_is_small_enough(files: Mapping[str, Any]) -> None:
    """δ(ε; σ) by integrating Gaussian densities in doubles, where it is neither tiny nor near 1."""
    checked = 0
    for case in _cases(files, "gaussian_sigma"):
        of = {name: read_value(value) for name, value in case["parameters"].items()}
        lower, upper = (read_value(case["quantity"][end]) for end in ("lower", "upper"))
        if not (1e-6 < of["delta"] < 0.5 and 1e-3 < of["epsilon"] < 10):
            continue
        for sigma, is_enough in ((lower * 0.999, False), (upper * 1.001, True)):
            assert (_delta(of["epsilon"], sigma / of["sensitivity"]) <= of["delta"]) is is_enough, case["id"]
        checked += 1
    assert checked


def _delta(epsilon: float, sigma: float) -> float:
    """∫ max(0, φ_σ(x − 1) − e^ε·φ_σ(x)) dx, which is positive from ε·σ² + 1/2 on."""
    start = epsilon * sigma**2 + 0.5
    points = np.linspace(start, max(start, 1.0) + 12 * sigma, 200_001)
    densities = np.exp(-((points - 1) ** 2) / (2 * sigma**2)) - np.exp(epsilon - points**2 / (2 * sigma**2))
    areas = [(one + other) / 2 for one, other in pairwise(densities.tolist())]
    return math.fsum(areas) * float(points[1] - points[0]) / (sigma * math.sqrt(2 * math.pi))
