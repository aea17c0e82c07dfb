"""Enclosures hold the truth as mpmath finds it, and are narrow; claims of Gaussian noise are kept to a part of 10^9."""

from fractions import Fraction

import mpmath
import pytest

from checker import claims, laws
from checker.claims import ApproximateDP, BoundedRange, GaussianDP, ProfileDP, RenyiDP, Shift, ZeroConcentratedDP
from checker.intervals import ONE, Interval, exp, ln, normal_tail, of, sqrt
from mechanisms.core import laws as drawn
from tests.mechanisms.core.known_laws import known_mass

pytestmark = pytest.mark.slow

DIGITS = 330
TINY = Fraction(1, 10**9)


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


def _needed(shift: Shift, epsilon: Fraction) -> Fraction:
    """Return δ(ε) as the sum of what one law has in excess of the other, to about 30 digits."""
    with mpmath.workdps(50):
        reach = int(15 * float(shift.law.variance) ** 0.5) + 20
        factor = mpmath.exp(_real(epsilon))
        masses = {k: _truth(shift.law, k) for k in range(-reach, reach + 1)}
        excess = (mass - factor * masses.get(k - shift.steps, 0) for k, mass in masses.items())
        return Fraction(str(mpmath.nstr(mpmath.fsum(max(each, 0) for each in excess), 30)))


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_delta_of_discrete_noise_is_what_the_hockey_stick_sums_to(steps: int) -> None:
    shift = Shift(laws.DiscreteGaussian(Fraction(23, 2)), steps)
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(2)):
        delta = _needed(shift, epsilon)
        assert claims.keep((shift,), ApproximateDP(epsilon, delta * (1 + TINY)))
        assert not claims.keep((shift,), ApproximateDP(epsilon, delta * (1 - TINY)))


def test_delta_of_normal_noise() -> None:
    shift = Shift(laws.RoundedGaussian(Fraction(4)), 2)
    delta = Fraction("0.1269367375822140")  # Φ(−½) − e·Φ(−3/2), by mpmath
    with mpmath.workdps(30):
        truth = mpmath.erfc(0.5 / mpmath.sqrt(2)) / 2 - mpmath.e * mpmath.erfc(1.5 / mpmath.sqrt(2)) / 2
    delta = Fraction(mpmath.nstr(truth, 20))
    assert claims.keep((shift,), ApproximateDP(Fraction(1), delta * (1 + TINY)))
    assert not claims.keep((shift,), ApproximateDP(Fraction(1), delta * (1 - TINY)))
    halves = (Shift(laws.RoundedGaussian(Fraction(4)), 1),) * 4  # μ² adds up
    assert claims.keep(halves, ApproximateDP(Fraction(1), delta * (1 + TINY)))
    assert not claims.keep(halves, ApproximateDP(Fraction(1), delta * (1 - TINY)))


HALF = Fraction(1, 2)
PURE, RHO, RANGE = ApproximateDP(HALF), ZeroConcentratedDP(Fraction(1, 8)), BoundedRange(Fraction(1))


@pytest.mark.parametrize(
    ("losses", "kept"),
    [
        ((PURE, PURE), ApproximateDP(Fraction(1))),
        ((PURE,), ZeroConcentratedDP(Fraction(1, 8))),
        ((RANGE,), ZeroConcentratedDP(Fraction(1, 8))),
        ((RANGE, PURE), ApproximateDP(Fraction(3, 2))),
        ((RHO, RANGE, PURE), ZeroConcentratedDP(Fraction(3, 8))),
        ((RHO, RHO), RenyiDP(Fraction(3), Fraction(3, 4))),
        ((PURE,), RenyiDP(Fraction(100), Fraction(1, 2))),
        ((RenyiDP(Fraction(4), Fraction(1)), RHO), RenyiDP(Fraction(2), Fraction(5, 4))),
        ((GaussianDP(Fraction(1, 4)),) * 4, GaussianDP(Fraction(1))),
        ((Shift(laws.RoundedGaussian(Fraction(16)), 2),) * 2, GaussianDP(Fraction(1, 2))),
        ((Shift(laws.DiscreteGaussian(Fraction(16)), 2),) * 2, ZeroConcentratedDP(Fraction(1, 4))),
        (
            (ProfileDP((ApproximateDP(Fraction(1), Fraction(1, 9)),)), PURE),
            ApproximateDP(Fraction(3, 2), Fraction(1, 9)),
        ),
    ],
)
def test_losses_add_up_and_imply_no_more(losses: claims.Losses, kept: claims.Claim) -> None:
    assert claims.keep(losses, kept)
    for name in kept.__dataclass_fields__:
        number = getattr(kept, name)
        if name != "alpha" and number:
            assert not claims.keep(losses, type(kept)(**{**vars(kept), name: number * (1 - TINY)}))
    assert not claims.keep((*losses, ApproximateDP(Fraction(1, 10**9))), kept)
    assert not claims.keep((RenyiDP(Fraction(2), HALF),), RenyiDP(Fraction(3), HALF))
