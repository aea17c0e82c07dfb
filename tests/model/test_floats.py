"""Facts about floating point against the formats themselves, and the probe against a misconfigured processor."""

import math
import platform
import subprocess
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from attacklab.model.floats import BFLOAT16, BINARY16, FORMATS, Format, format_of, half_ulp, require_ieee_arithmetic
from tests.narrow import EVERY_PATTERN, NARROW, TYPES, carried

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_formats_have_the_parameters_of_their_types(form: Format) -> None:
    limits = ml_dtypes.finfo(TYPES[form])
    assert form.significand_bits == limits.nmant + 1
    assert 2.0**form.least_exponent == float(limits.smallest_normal)
    assert math.frexp(float(limits.max))[1] - 1 == form.greatest_exponent


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_exponentials_vanish_just_beyond_the_underflow_point(form: Format) -> None:
    def rounded(nats: float) -> float:
        return float(TYPES[form](math.exp(-nats)))

    assert rounded(form.underflow_nats * (1 - 1e-6)) > 0
    assert rounded(form.underflow_nats * (1 + 1e-6)) == 0


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_rounding_to_a_format_is_what_conversion_to_its_type_does(form: Format) -> None:
    patterns = np.random.default_rng(3).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    # The second half lies next to a tie of bfloat16, on it, or beyond it.
    patterns[100_000:] = (patterns[100_000:] & 0xFFFF0000) + patterns[100_000:] % 3 + 0x7FFF
    values = patterns.view(np.float32)
    with np.errstate(all="ignore"):
        expected = carried(values.astype(TYPES[form]))
        rounded = form.rounded(values)
    assert rounded.dtype == form.carrier == expected.dtype
    np.testing.assert_array_equal(rounded, expected)
    assert np.array_equal(np.signbit(rounded[rounded == 0]), np.signbit(expected[rounded == 0]))


@pytest.mark.parametrize("form", [BINARY16, BFLOAT16], ids=lambda form: form.name)
def test_next_numbers_are_the_neighbours_among_all_of_a_format(form: Format) -> None:
    every = np.unique(carried(EVERY_PATTERN.view(TYPES[form])))
    every = every[~np.isnan(every)]
    assert np.isinf(every[[0, -1]]).all()
    assert np.array_equal(form.next_above(every[:-1]), every[1:])
    assert np.array_equal(form.next_below(every[1:]), every[:-1])
    assert form.next_above(-every[every == 0]) == form.least
    assert min(every[every > 0]) == form.least


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 0.1, -0.1, 1 / 3, 2.0**50 + 1, -30001.0, 1e300, 1e-300, 5e-324])
def test_the_largest_number_at_most_a_double_is_followed_by_a_larger_one(form: Format, value: float) -> None:
    found = form.at_most(value)
    following = float(form.next_above(np.array([found], dtype=form.carrier))[0])
    assert float(TYPES[form](found)) == found
    assert Fraction(found) <= Fraction(value)
    assert following > value


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_the_format_of_outputs_follows_from_their_type_and_their_last_bits(form: Format) -> None:
    numbers = np.random.default_rng(1).normal(size=64).astype(TYPES[form])
    assert format_of(carried(numbers)) == form


@pytest.mark.parametrize("form", NARROW, ids=lambda form: form.name)
@pytest.mark.parametrize("value", [1.0, -1.0, 1.5, 0.1, 1000.0, 2.0**-14, 2.0**-20, -0.0])
def test_half_ulp_of_a_format_is_half_the_way_to_its_next_larger_magnitude(form: Format, value: float) -> None:
    magnitude = form.rounded(np.abs(np.array([value])))
    way = Fraction(float(form.next_above(magnitude)[0])) - Fraction(float(magnitude[0]))
    assert Fraction(float(half_ulp(magnitude.astype(float), form)[0])) == way / 2


def test_this_process_computes_as_ieee_754_says() -> None:
    require_ieee_arithmetic()


MISCONFIGURED = """
import ctypes, ctypes.util
from attacklab.model.errors import ArithmeticModeError
from attacklab.model.floats import require_ieee_arithmetic
libm = ctypes.CDLL(ctypes.util.find_library("m"))
environment = (ctypes.c_uint32 * 8)()
assert libm.fegetenv(environment) == 0
clean = environment[7]
for bits in (0, {modes}):
    environment[7] = clean | bits
    libm.fesetenv(environment)
    try:
        require_ieee_arithmetic()
        said = "fine"
    except ArithmeticModeError as error:
        said = str(error)
    finally:
        environment[7] = clean
        libm.fesetenv(environment)
    print(said)
"""


@pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc", reason="sets the x86-64 control word"
)
def test_probe_sees_flush_to_zero_and_every_other_rounding_mode() -> None:
    modes = {"flush to zero": 1 << 15, "denormals are zero": 1 << 6, "down": 1 << 13, "up": 2 << 13, "chop": 3 << 13}
    code = MISCONFIGURED.format(modes=", ".join(map(str, modes.values())))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own code
    said = run.stdout.splitlines()
    assert said[0] == "fine"
    assert all("flushes subnormal numbers to zero" in line for line in said[1:3])
    assert all("does not round to nearest" in line for line in said[3:])
    assert len(said) == 6
