"""Formats and grids inferred from values alone, against numbers that were made in them."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.released_formats import Released, common_step, inferred
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, TF32, Format
from tests.narrow import NARROW, TYPES

Carry = Callable[[NDArray[Any]], Any]

CARRIERS: dict[str, Carry] = {
    "as doubles": lambda numbers: numbers.astype(np.float64),
    "as Python floats": lambda numbers: np.array(numbers.astype(np.float64).tolist(), dtype=object),
    "as text of all digits": lambda numbers: np.array([float(str(float(number))) for number in numbers]),
    "with failures": lambda numbers: np.array([None, *numbers.astype(np.float64).tolist(), math.inf], dtype=object),
}


def noise(count: int = 96, scale: float = 3.0) -> NDArray[np.float64]:
    return np.random.default_rng(5).laplace(0.0, scale, count)


def rounded_to_bits(values: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    significands, exponents = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(significands, bits)), exponents - bits)


@pytest.mark.parametrize("carry", CARRIERS.values(), ids=CARRIERS.keys())
@pytest.mark.parametrize("form", NARROW, ids=lambda form: form.name)
@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_a_narrow_format_shows_through_whatever_carries_its_numbers(carry: Carry, form: Format, answer: float) -> None:
    number = TYPES[form]
    outputs = carry(number(answer) + noise().astype(number))
    assert inferred(outputs).form == form


@pytest.mark.parametrize("bits", [2, 4, 7, 13, 21, 25])
def test_formats_without_a_name_are_known_by_their_bits(bits: int) -> None:
    form = inferred(rounded_to_bits(noise(), bits)).form
    assert form.significand_bits == bits
    numbers = rounded_to_bits(noise(), bits)
    assert np.array_equal(form.rounded(noise()), numbers)
    assert np.array_equal(form.next_below(form.next_above(numbers)), numbers)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e5, 1e250])
@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_doubles_are_doubles_at_every_scale(scale: float, answer: float) -> None:
    assert inferred(answer * scale + noise(scale=scale)) == Released(BINARY64)


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (np.arange(-40, 41), Released(BINARY64, places=0)),
        (noise().astype(ml_dtypes.bfloat16).astype(np.float32), Released(BFLOAT16)),
        (noise().astype(np.float32), Released(BINARY32)),
        (noise().astype(np.float16), Released(BINARY16)),
        (rounded_to_bits(noise(scale=3e9), 11), Released(TF32)),
        (np.zeros(96), Released(BINARY64)),
        (np.array([]), Released(BINARY64)),
        (np.array([0.1]), Released(BINARY64)),
        (np.array([math.nan, math.inf]), Released(BINARY64)),
    ],
)
def test_numbers_keep_the_format_of_their_type_unless_their_values_show_another(
    outputs: NDArray[Any], expected: Released
) -> None:
    assert inferred(outputs) == expected


@pytest.mark.parametrize("places", [1, 2, 6, 12])
def test_decimal_places_are_counted(places: int) -> None:
    released = inferred(np.array([round(value, places) for value in noise().tolist()]))
    assert released == Released(BINARY64, places=places)
    assert released.half_widths(np.array([3.0])).tolist() == [0.5 * 10.0**-places]


@pytest.mark.parametrize("digits", [6, 12, 15])
def test_significant_digits_are_counted(digits: int) -> None:
    released = inferred(np.array([float(f"{value:.{digits}g}") for value in noise().tolist()]))
    assert released == Released(BINARY64, digits=digits)
    widths = released.half_widths(np.array([0.5, 5.0, -50.0, 0.0]))
    assert widths == pytest.approx([0.5 * 10.0**power for power in (-digits, 1 - digits, 2 - digits, 1 - digits)])


def test_a_format_is_believed_at_the_first_output_that_makes_chance_negligible() -> None:
    """A double has 29 bits fewer with probability 2^−29, so three could never be enough, and a few are."""
    numbers = noise().astype(np.float32).astype(np.float64)
    found = [inferred(numbers[:count]).form for count in range(1, 97)]
    assert found[:3] == [BINARY64] * 3
    first = found.index(BINARY32)
    assert first < 48
    assert found[first:] == [BINARY32] * (96 - first)


@pytest.mark.parametrize("step", [3.0, 0.25, 0.3, 1 / 3, 0.7310585786300049])
def test_the_step_of_scaled_integers_is_found(step: float) -> None:
    found = common_step(np.rint(noise(scale=100.0)) * step)
    times = round(step / found)  # a multiple of 0.01, say, has another step as well
    assert times >= 1
    assert step / found == pytest.approx(times, rel=1e-9)


@pytest.mark.parametrize("step", [2.0**-20, 1e-6])
@pytest.mark.parametrize("scale", [3.0, 1000.0])
def test_the_step_of_a_fine_grid_is_the_power_of_two_or_ten(step: float, scale: float) -> None:
    assert common_step(np.rint(noise(scale=scale) / step) * step) == pytest.approx(step, rel=1e-12)


def test_doubles_have_no_common_step() -> None:
    assert common_step(noise()) is None
    assert common_step(1 + noise()) is None
    assert common_step(np.zeros(9)) is None
