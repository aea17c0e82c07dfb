"""The exact Gaussian samplers: their laws, found by exhausting bits, and the privacy of what they release."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr, mpq

from attacklab.random_bits import SeededBits
from mechanisms.gaussian.exact import discrete_gaussian, exact_discrete_gaussian, exact_discrete_gaussian_delta
from mechanisms.gaussian.exact_fast import DiscreteGaussian, exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_rounded import RoundedNormal, exact_rounded_gaussian, exact_rounded_gaussian_fast
from mechanisms.gaussian.inversion import invert
from mechanisms.gaussian.privacy import gaussian_delta
from mechanisms.grid import Grid
from mechanisms.randomness import RandomBits
from tests.mechanisms.enumeration import law_of

RELEASES = [exact_discrete_gaussian, exact_rounded_gaussian]
FAST_RELEASES = [exact_discrete_gaussian_fast, exact_rounded_gaussian_fast]


def discrete_probability(k: int, variance: Fraction) -> float:
    reach = 60 * math.ceil(math.sqrt(variance))
    total = math.fsum(math.exp(-j * j / (2 * float(variance))) for j in range(-reach, reach + 1))
    return math.exp(-k * k / (2 * float(variance))) / total


def rounded_probability(k: int, shift: Fraction, scale: Fraction) -> float:
    with gmpy2.context(precision=120):
        root = gmpy2.sqrt(mpfr(2)) * mpfr(mpq(scale))
        low, high = ((k + mpfr(side) / 2 - mpfr(mpq(shift))) / root for side in (-1, 1))
        return float((gmpy2.erf(high) - gmpy2.erf(low)) / 2)


def assert_is(found: dict[int, Fraction], truth: Callable[[int], float], *, missing_at_most: float) -> None:
    missing = 1 - sum(found.values())
    assert 0 <= missing <= missing_at_most
    for outcome in range(-12, 13):
        lower = float(found.get(outcome, Fraction(0)))
        assert lower <= truth(outcome) + 1e-15
        assert truth(outcome) <= lower + float(missing) + 1e-15


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(1, 5), Fraction(9, 2)])
def test_rejection_has_the_discrete_gaussian_law(variance: Fraction) -> None:
    found = law_of(discrete_gaussian, variance, smallest=Fraction(1, 2**30))
    assert_is(found, lambda k: discrete_probability(k, variance), missing_at_most=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("variance", [Fraction(1), Fraction(1, 5), Fraction(9, 2)])
def test_inversion_has_the_discrete_gaussian_law(variance: Fraction) -> None:
    found = law_of(invert, DiscreteGaussian(variance), 0, 0, smallest=Fraction(1, 2**40))
    assert_is(found, lambda k: discrete_probability(k, variance), missing_at_most=1e-10)


@pytest.mark.parametrize(("shift", "scale"), [(Fraction(0), Fraction(1)), (Fraction(-2, 5), Fraction(7, 3))])
def test_the_rounded_normal_has_the_law_of_the_rounded_ideal(shift: Fraction, scale: Fraction) -> None:
    found = law_of(invert, RoundedNormal(shift, scale), 0, 0, smallest=Fraction(1, 2**40))
    assert_is(found, lambda k: rounded_probability(k, shift, scale), missing_at_most=1e-10)


def released_law(release: Callable[..., float], answer: float, **parameters: object) -> dict[float, Fraction]:
    def sampler(bits: RandomBits) -> float:
        return release(answer, bits, **parameters)

    return law_of(sampler, smallest=Fraction(1, 2**32))


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0, Fraction(1, 2), 2])
def test_the_rounded_ideal_is_as_private_as_the_normal_curve_says_at_every_shift(epsilon: Fraction) -> None:
    """δ of the laws, found to within the mass that is missing, for answers that are not on the grid."""
    first, second = (
        released_law(exact_rounded_gaussian, answer, sigma=1, grid=Grid(-1)) for answer in (0.3, 0.3 + 1.0)
    )
    divergence = sum(max(float(second[y]) - math.exp(epsilon) * float(first.get(y, 0)), 0) for y in second)
    missing = float(1 - sum(first.values())) * math.exp(epsilon)
    ideal = gaussian_delta(epsilon, sigma=1)
    assert 0.9 * ideal < divergence < ideal + missing


@pytest.mark.few(1)
@pytest.mark.parametrize("answers", [(0.0, 1.0), (0.2, 1.2), (0.3, 1.4)])
def test_the_discrete_gaussian_is_as_private_as_its_own_curve_says(answers: tuple[float, float]) -> None:
    """The answers of the last pair are 1.1 apart and their roundings 1, which the declared sensitivity covers."""
    grid = Grid(0)
    first, second = (released_law(exact_discrete_gaussian, answer, sigma=1, grid=grid) for answer in answers)
    divergence = sum(max(float(second[y]) - math.e * float(first.get(y, 0)), 0) for y in second)
    missing = math.e * float(1 - sum(first.values()))
    delta = exact_discrete_gaussian_delta(1, sigma=1, sensitivity=1, grid=grid)
    assert abs(divergence - delta) <= missing < 1e-3


def test_the_sensitivity_on_the_grid_is_rounded_up_to_whole_steps() -> None:
    coarse = exact_discrete_gaussian_delta(1, sigma=2, sensitivity=1.1, grid=Grid(0))
    assert coarse == exact_discrete_gaussian_delta(1, sigma=2, sensitivity=2, grid=Grid(0))
    assert coarse > exact_discrete_gaussian_delta(1, sigma=2, sensitivity=1.1, grid=Grid(-10))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("answer", "expected"), [(math.inf, 2.0**53), (-math.inf, -(2.0**53)), (2.0**60, 2.0**53)])
def test_answers_beyond_the_grid_count_as_its_ends(release, answer: float, expected: float) -> None:
    output = release(answer, SeededBits(np.random.default_rng(0)), sigma=1, grid=Grid(0))
    assert abs(output - expected) < 20
    assert abs(output) <= 2.0**53


@pytest.mark.parametrize("release", FAST_RELEASES)
@pytest.mark.parametrize("answer", [math.inf, -math.inf, math.nan, 2.0**53 - 1, 0, Fraction(1, 3), 5e-324])
def test_every_output_is_a_point_of_the_grid_whatever_the_answer(release, answer: float) -> None:
    outputs = release(answer, 1000, SeededBits(np.random.default_rng(0)), sigma=3, grid=Grid(-2))
    assert np.isfinite(outputs).all()
    assert np.array_equal(outputs, np.ldexp(np.rint(np.ldexp(outputs, 2)), -2))
    assert np.abs(outputs).max() <= 2.0**51


@pytest.mark.parametrize("release", FAST_RELEASES)
@pytest.mark.parametrize("trials", [0, 1])
def test_no_trials_and_one_trial_are_fine(release, trials: int) -> None:
    assert release(0.0, trials, SeededBits(np.random.default_rng(0)), sigma=3, grid=Grid(-2)).shape == (trials,)


@pytest.mark.parametrize("release", FAST_RELEASES)
@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ({"sigma": 0}, ValueError, "sigma"),
        ({"sigma": -1.0}, ValueError, "sigma"),
        ({"sigma": math.nan}, ValueError, "sigma"),
        ({"sigma": math.inf}, ValueError, "sigma"),
        ({"sigma": "1"}, TypeError, "sigma"),
        ({"grid": Grid(-47)}, ValueError, "too fine"),
        ({"trials": -1}, ValueError, "trials"),
    ],
)
def test_public_parameters_out_of_range_are_named(release, change: dict, error: type[Exception], named: str) -> None:
    arguments = {"answer": 0.0, "trials": 2, "bits": SeededBits(np.random.default_rng(0)), "sigma": 1, "grid": Grid(0)}
    with pytest.raises(error, match=named):
        release(**(arguments | change))
    del arguments["trials"]
    if "trials" not in change:
        reference = RELEASES[FAST_RELEASES.index(release)]
        with pytest.raises(error, match=named):
            reference(**(arguments | change))


def test_a_variance_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="variance"):
        discrete_gaussian(Fraction(0), SeededBits(np.random.default_rng(0)))
    with pytest.raises(ValueError, match="variance"):
        DiscreteGaussian(Fraction(0))
