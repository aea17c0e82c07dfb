"""Enclosures hold the truth as mpmath finds it, and are narrow."""

from fractions import Fraction

import mpmath
import pytest

from checker import laws
from checker.intervals import ONE, Interval, exp, ln, normal_tail, of, sqrt
from mechanisms.core import laws as drawn
from tests.mechanisms.core.known_laws import known_mass

pytestmark = pytest.mark.slow

DIGITS = 330


def _real(number: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


def _holds(found: Interval, truth: mpmath.mpf, width_bits: int = 200) -> bool:
    low, high = mpmath.mpf(found.low) / ONE, mpmath.mpf(found.high) / ONE
    return bool(low <= truth <= high and high - low <= mpmath.mpf(2) ** -width_bits * max(1, abs(truth)))


@pytest.mark.parametrize(
    "x", [0, 1, -1, 40, -40, 700, -700, Fraction(1, 3), -Fraction(1, 10**9), Fraction(10**9, 7**9)]
)
def test_exponentials(x: Fraction) -> None:
    with mpmath.workdps(DIGITS + 400):
        assert _holds(exp(of(x)), mpmath.exp(_real(x)))


@pytest.mark.parametrize(
    "x", [1, 2, Fraction(1, 2), Fraction(3, 7), 10**9, Fraction(1, 10**9), Fraction(2**300 + 1, 2**300)]
)
def test_logarithms_and_roots(x: Fraction) -> None:
    with mpmath.workdps(DIGITS + 100):
        assert _holds(ln(of(x)), mpmath.log(_real(x)))
        assert _holds(sqrt(of(x)), mpmath.sqrt(_real(x)))


@pytest.mark.parametrize("z", [0, Fraction(1, 10), -2, 3, 9, 20, 25, -25, Fraction(311, 100)])
def test_normal_tails(z: Fraction) -> None:
    with mpmath.workdps(DIGITS + 100):
        assert _holds(normal_tail(of(z)), mpmath.erfc(_real(Fraction(z)) / mpmath.sqrt(2)) / 2)


def _truth(law: laws.Law, k: int) -> mpmath.mpf:
    """Return P[N = k] by the definition."""
    (parameter,) = type(law).__dataclass_fields__  # type: ignore[attr-defined]
    return known_mass(getattr(drawn, type(law).__name__)(getattr(law, parameter)), k)


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(1000), Fraction(2**45)])
@pytest.mark.parametrize(
    "kind", [laws.DiscreteLaplace, laws.RoundedLaplace, laws.DiscreteGaussian, laws.RoundedGaussian]
)
def test_masses(kind: type[laws.Law], scale: Fraction) -> None:
    parameter = {laws.DiscreteGaussian: scale**2, laws.RoundedGaussian: scale**2}
    law = kind(parameter.get(kind, scale))  # type: ignore[call-arg]
    with mpmath.workdps(DIGITS):
        for k in {0, 1, 2, int(scale), int(8 * scale), -int(3 * scale)}:
            assert _holds(law.mass(k), _truth(law, k), 128), k
