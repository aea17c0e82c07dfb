"""The rounded ideal law is the real Laplace distribution's, and the fast paths keep to it and to their grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.random_bits import SeededBits
from mechanisms.grid import Grid
from mechanisms.laplace.exact_fast import discrete_laplace_many, exact_discrete_laplace_fast, noisy_integers
from mechanisms.laplace.exact_rounded import exact_rounded_laplace_fast, rounded_laplace
from tests.mechanisms.enumeration import law_of


@pytest.mark.parametrize("offset", [Fraction(1, 2), Fraction(9, 10)])
def test_the_rounded_ideal_law_is_that_of_the_real_laplace_distribution(offset: Fraction) -> None:
    """P[n] = F(n + 1 − offset) − F(n − offset) for the Laplace CDF F."""
    scale = Fraction(3, 2)

    def cdf(x: float) -> float:
        return math.exp(x / scale) / 2 if x < 0 else 1 - math.exp(-x / scale) / 2

    found = law_of(rounded_laplace, offset, scale, smallest=Fraction(1, 2**17))
    missing = float(1 - sum(found.values()))
    assert 0 <= missing < 0.01
    for n in range(-6, 7):
        ideal = cdf(n + 1 - float(offset)) - cdf(n - float(offset))
        assert float(found[n]) - 1e-12 <= ideal <= float(found[n]) + missing + 1e-12


@pytest.mark.parametrize("mechanism", [exact_rounded_laplace_fast, exact_discrete_laplace_fast])
class TestFastPaths:
    def test_outputs_follow_the_laplace_distribution(self, mechanism: Callable[..., NDArray[np.float64]]) -> None:
        """The CDFs differ by 2^−20 at most; 10^5 draws stray by 0.011 with probability below 6.2e-11 (DKW)."""
        trials = 100_000
        bits = SeededBits(np.random.default_rng(21))
        outputs = np.sort(mechanism(3.0, trials, bits, epsilon=Fraction(1, 2), sensitivity=2, grid=Grid(-20)))
        centred = (outputs - 3.0) / 4.0
        cdf = np.where(centred < 0, np.exp(np.minimum(centred, 0)) / 2, 1 - np.exp(-np.maximum(centred, 0)) / 2)
        assert np.abs(cdf - (np.arange(trials) + 0.5) / trials).max() < 0.011

    def test_the_answer_goes_to_the_nearest_grid_point(self, mechanism: Callable[..., NDArray[np.float64]]) -> None:
        """With noise of 10^−6 of a step any other output has probability below e^−100000."""
        for answer, nearest in ((0.7, 1.0), (0.3, 0.0), (-0.3, 0.0), (-0.7, -1.0), (12.4, 12.0), (-12.6, -13.0)):
            bits = SeededBits(np.random.default_rng(24))
            outputs = mechanism(answer, 100, bits, epsilon=10**6, sensitivity=1, grid=Grid(0))
            assert set(outputs.tolist()) == {nearest}

    def test_no_answer_makes_them_fail(self, mechanism: Callable[..., NDArray[np.float64]]) -> None:
        for answer in (math.nan, math.inf, -math.inf, 1e308, -5e-324, 10**400):
            outputs = mechanism(answer, 100, SeededBits(np.random.default_rng(22)), epsilon=1, grid=Grid(-30))
            assert np.all(np.isfinite(outputs))
            assert np.all(np.abs(outputs) <= 2.0**23)

    def test_none_and_one_and_a_million_trials_are_as_many_outputs(
        self, mechanism: Callable[..., NDArray[np.float64]]
    ) -> None:
        for trials in (0, 1, 2**20):
            outputs = mechanism(0.0, trials, SeededBits(np.random.default_rng(23)), epsilon=1, grid=Grid(0))
            assert outputs.shape == (trials,)

    def test_noise_below_every_double_raises_nothing_for_a_caller_whose_numpy_raises(
        self, mechanism: Callable[..., NDArray[np.float64]]
    ) -> None:
        with np.errstate(all="raise"):
            outputs = mechanism(
                0.25, 20, SeededBits(np.random.default_rng(23)), epsilon=Fraction(10**320), grid=Grid(0)
            )
        assert outputs.tolist() == [0.0] * 20

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"epsilon": 0}, "epsilon"),
            ({"epsilon": math.nan}, "epsilon"),
            ({"sensitivity": 0}, "sensitivity"),
            ({"sensitivity": -1}, "sensitivity"),
            ({"grid": Grid(-1000)}, "too fine"),
            ({"trials": -1}, "trials"),
        ],
    )
    def test_public_parameters_out_of_range_are_named(
        self, mechanism: Callable[..., NDArray[np.float64]], parameters: dict[str, object], message: str
    ) -> None:
        arguments = {"trials": 1, "epsilon": 1, "sensitivity": 1, "grid": Grid(0)} | parameters
        with pytest.raises(ValueError, match=message):
            mechanism(0.0, bits=SeededBits(np.random.default_rng(0)), **arguments)


@pytest.mark.parametrize(
    ("scale", "trials", "message"),
    [
        (Fraction(0), 1, "scale must be above 0"),
        (Fraction(2**46) + 1, 1, r"scale must be at most 2\^46, not about 2\^46"),
        (Fraction(10**400), 1, r"scale must be at most 2\^46"),
        (Fraction(1), -1, "trials must be at least 0"),
    ],
)
def test_integer_noise_of_no_sensible_scale_or_number_is_refused(scale: Fraction, trials: int, message: str) -> None:
    bits = SeededBits(np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        discrete_laplace_many(scale, trials, bits)
    with pytest.raises(ValueError, match=message):
        noisy_integers(0, scale, trials, bits)


def test_integer_noise_at_the_largest_scale_is_as_large_as_it_should_be() -> None:
    """|n|/scale is a standard exponential: 10^4 draws stray from its CDF by 0.04 with probability below 3e-14 (DKW)."""
    noise = discrete_laplace_many(Fraction(2**46), 10_000, SeededBits(np.random.default_rng(3)))
    cdf = 1 - np.exp(-np.sort(np.abs(noise)) / 2.0**46)
    assert np.abs(cdf - (np.arange(10_000) + 0.5) / 10_000).max() < 0.04
    assert np.unique(noise & 1023).size == 1024  # down to the last bit
