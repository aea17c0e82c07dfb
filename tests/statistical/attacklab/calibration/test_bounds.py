"""Certified bounds agree with integrals, exhaustive sums and limiting cases that other libraries compute."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, optimize, stats

from attacklab.calibration import budgets, calibrate, concentrated, gaussian, quantity, tails
from attacklab.calibration.refinement import crossing
from attacklab.model.findings import Verdict
from attacklab.model.intervals import Interval, precision

ONE_HALF = {"rho": 0.5, "epsilon": 1.0}


def holds(interval: Interval, number: float, *, relative: float) -> bool:
    slack = abs(number) * relative
    return bool(interval.lower - slack <= number <= interval.upper + slack)


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.0, 1.0), (0.3, 2.0), (1.0, 0.7), (4.0, 0.4), (1e-9, 30.0)])
def test_the_delta_of_the_gaussian_mechanism_is_an_integral(epsilon: float, sigma: float) -> None:
    first, second = stats.norm(0, sigma), stats.norm(1, sigma)
    crossing_point = 0.5 - epsilon * sigma**2

    def positive_part(x: float) -> float:
        return max(float(first.pdf(x) - math.exp(epsilon) * second.pdf(x)), 0.0)

    integral, _ = integrate.quad(positive_part, crossing_point - 40 * sigma, crossing_point, limit=500, points=[0.0])
    assert holds(gaussian.delta(epsilon, sigma, 1.0), integral, relative=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (3.0, 1e-30), (1e-300, 1e-12), (700.0, 0.01)])
def test_sigma_and_epsilon_invert_delta(epsilon: float, delta: float) -> None:
    bound = gaussian.sigma(epsilon, delta, 0.1)
    with mpmath.workprec(1400):
        for end, is_enough in ((bound.lower, False), (bound.upper, True)):
            half = mpmath.mpf(0.1) / mpmath.mpf(str(end)) / 2
            shift = epsilon / (2 * half)
            tail = [mpmath.erfc(x / mpmath.sqrt(2)) / 2 for x in (shift - half, shift + half)]
            assert (tail[0] - mpmath.exp(epsilon) * tail[1] <= delta) is is_enough
    least = gaussian.epsilon(delta, bound.above(), 0.1)
    assert least.lower <= epsilon
    assert least.above() == pytest.approx(epsilon, rel=1e-6, abs=1e-12)


def test_many_gaussian_releases_are_one_with_less_noise() -> None:
    assert gaussian.composed_epsilon(1e-6, 30.0, 1.0, 9) == gaussian.epsilon(1e-6, 10.0, 1.0)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.005, 1.0), (0.1, 1.0), (0.5, 9.0), (1.0, 30.0), (2.63, 17.0)])
def test_the_witness_is_concentrated_at_every_order_in_both_directions(rho: float, epsilon: float) -> None:
    witness = concentrated.two_answers(rho, epsilon)
    with mpmath.workprec(400):
        p, q = (mpmath.mpf(str(one.lower)) * (1 - mpmath.mpf(2) ** -150) for one in witness)
        for exponent in range(-160, 161):
            order = mpmath.mpf(10) ** (mpmath.mpf(exponent) / 20)  # λ = α − 1
            allowed = order * (order + 1) * rho
            forward = p * (p / q) ** order + (1 - p) * ((1 - p) / (1 - q)) ** order
            backward = q * (q / p) ** order + (1 - q) * ((1 - q) / (1 - p)) ** order
            assert mpmath.log(forward) <= allowed
            assert mpmath.log(backward) <= allowed
        assert p - mpmath.exp(epsilon) * q >= 0.9 * concentrated.delta(rho, epsilon).below()


@pytest.mark.parametrize(("rho", "epsilon"), [(0.005, 1.0), (0.1, 1.0), (1.0, 4.0), (10.0, 10.5)])
def test_no_order_gives_less_than_the_sufficient_delta(rho: float, epsilon: float) -> None:
    orders = 1 + np.geomspace(1e-4, 1e4, 200_001)
    logarithms = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    best = min(float(np.exp(logarithms.min())), 1.0)
    bound = concentrated.delta(rho, epsilon)
    assert bound.above() <= best * (1 + 1e-7)
    assert bound.above() >= best * (1 - (1e-7 if best < 1e-9 else 0.3))
    assert bound.lower <= bound.upper
    assert bound.upper >= gaussian.delta(epsilon, 1 / math.sqrt(2 * rho), 1.0).lower


def divergences(p: float, q: float) -> NDArray[np.float64]:
    """Of the laws of one event, at orders from 1 to 10^4."""
    return np.logaddexp(
        ORDERS * math.log(p) - (ORDERS - 1) * math.log(q), ORDERS * math.log1p(-p) - (ORDERS - 1) * math.log1p(-q)
    ) / (ORDERS - 1)


ORDERS = 1 + np.geomspace(1e-6, 1e4, 3000)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.5, 1.0), (0.1, 0.3), (2.63, 3.4), (0.001, 0.02), (10.0, 11.5)])
def test_a_delta_that_is_not_small_is_known_to_four_digits_too(rho: float, epsilon: float) -> None:
    """A search over all events whose divergences keep the claim at these orders: a little more than at all orders."""

    def gain(p: float) -> float:
        low, high = 1e-12, p
        for _ in range(50):
            q = (low + high) / 2
            keeps = all((divergences(*pair) <= rho * ORDERS).all() for pair in ((p, q), (q, p)))
            low, high = (low, q) if keeps else (q, high)
        return p - math.exp(epsilon) * high

    best = -optimize.minimize_scalar(lambda p: -gain(p), bounds=(1e-6, 1 - 1e-6), method="bounded").fun
    bound = concentrated.delta(rho, epsilon)
    assert bound.below() == pytest.approx(best, rel=1e-4)
    assert bound.above() == pytest.approx(best, rel=1e-4)


def test_half_a_unit_of_zcdp_is_held_to_what_it_really_implies() -> None:
    """Proposition 12 gives 0.2468, the Gaussian mechanism 0.1269."""
    bound = concentrated.delta(0.5, 1.0)
    assert 0.21491 < bound.below() < bound.above() < 0.214912
    for given, verdict in ((0.2149, Verdict.VIOLATED), (0.2150, Verdict.PROVED)):
        (finding,) = calibrate("zcdp_delta", lambda given=given, **_: given, name="", grid=[ONE_HALF])
        assert finding.verdict is verdict
    least = concentrated.epsilon(0.5, bound.above())
    assert least.below() == pytest.approx(1.0, abs=2e-6)
    assert least.above() == pytest.approx(1.0, abs=2e-6)


def test_what_zcdp_implies_is_known_to_one_part_in_ten_billion_unless_rho_is_tiny() -> None:
    for arguments in quantity("zcdp_delta").grid:
        bound = concentrated.delta(**arguments)
        if arguments["rho"] >= 1e-3 and bound.below() > 0:
            assert bound.upper <= bound.lower * (1 + 1e-10), arguments


@pytest.mark.parametrize("rho", [0.001, 0.5, 10.0])
def test_a_mechanism_with_two_answers_is_certified_up_to_where_it_breaks_its_claim(rho: float) -> None:
    for p in (0.1, 0.5, 0.9):
        low, high = 0.0, p
        for _ in range(60):
            q = (low + high) / 2
            low, high = (low, q) if (divergences(p, q) <= rho * ORDERS).all() else (q, high)
        for part, is_certified in ((1 + 1e-3, True), (1 - 1e-3, False)):
            assert concentrated.keeps(Interval.of(p), Interval.of(high * part), rho) is is_certified


def test_epsilon_of_zcdp_inverts_its_delta() -> None:
    bound = concentrated.epsilon(0.1, 1e-20)
    assert concentrated.delta(0.1, bound.above()).lower <= 1e-20
    assert concentrated.delta(0.1, bound.below() * (1 - 1e-9)).lower > 1e-20
    assert bound.above() - bound.below() <= 1e-14


@pytest.mark.parametrize(("scale", "tail"), [(0.5, 0), (1.0, 3), (10 / 3, 11), (1.0, -2)])
def test_discrete_tails_are_sums_of_probabilities(scale: float, tail: int) -> None:
    with mpmath.workprec(200):
        laplace = {x: mpmath.exp(-abs(x) / mpmath.mpf(scale)) for x in range(-600, 601)}
        normal = {x: mpmath.exp(-(x * x) / (2 * mpmath.mpf(scale) ** 2)) for x in range(-600, 601)}
        for terms, bound in (
            (laplace, tails.discrete_laplace(scale, tail)),
            (normal, tails.discrete_gaussian(scale, tail)),
        ):
            share = float(mpmath.fsum(terms[x] for x in terms if x > tail) / mpmath.fsum(terms.values()))
            assert holds(bound, share, relative=1e-15)


def test_continuous_tails_are_those_of_scipy() -> None:
    assert holds(tails.laplace(0.7, 2.1), float(stats.laplace.sf(2.1, scale=0.7)), relative=1e-14)
    assert holds(tails.gaussian(0.7, 2.1), float(stats.norm.sf(2.1, scale=0.7)), relative=1e-14)


@pytest.mark.parametrize("keys", [1, 2, 3, 10])
def test_the_delta_of_a_threshold_is_the_probability_that_any_key_appears(keys: int) -> None:
    appears = sum(stats.dlaplace.pmf(x, 0.5) for x in range(4, 200))  # 1 + X ≥ 5, at scale 2
    assert holds(tails.threshold_delta(tails.discrete_laplace, 2.0, 5, keys), 1 - (1 - appears) ** keys, relative=1e-12)


def test_thresholds_are_the_least_integers_that_keep_delta() -> None:
    for tail in (tails.discrete_laplace, tails.discrete_gaussian):
        largest_that_fails = math.floor(tails.threshold(tail, 2.0, 1e-6, 3).above())
        assert tails.threshold_delta(tail, 2.0, largest_that_fails, 3).lower > 1e-6
        assert tails.threshold_delta(tail, 2.0, largest_that_fails + 1, 3).upper <= 1e-6


@pytest.mark.parametrize(("epsilon", "releases", "delta"), [(0.5, 5, 1e-3), (1.0, 8, 0.05), (2.0, 3, 1e-6)])
def test_composed_epsilon_is_that_of_randomized_responses(epsilon: float, releases: int, delta: float) -> None:
    truth = 1 / (1 + math.exp(-epsilon))
    answers = np.array(list(itertools.product((0, 1), repeat=releases))).sum(axis=1)
    first = truth**answers * (1 - truth) ** (releases - answers)
    second = (1 - truth) ** answers * truth ** (releases - answers)
    needed = budgets.composed_epsilon(epsilon, releases, delta).above()
    assert float(np.maximum(first - math.exp(needed) * second, 0).sum()) == pytest.approx(delta, rel=1e-9)


def test_basic_composition_is_all_that_pure_dp_allows() -> None:
    assert budgets.composed_epsilon(0.1, 10, 0.0) == Interval.of(Fraction(0.1) * 10)
    assert budgets.composed_epsilon(1.0, 3, 0.99).upper == 0


@pytest.mark.parametrize("tries", [1, 2, 3, 64, 1000])
def test_any_of_loses_no_digits(tries: int) -> None:
    exact = 1 - (1 - Fraction(1, 3)) ** tries
    bound = budgets.any_of(Interval.of(Fraction(1, 3)), tries)
    assert bound.below() <= exact <= bound.above()
    tiny = budgets.any_of(Interval.of(1e-300), tries)
    assert tiny.below() == pytest.approx(tries * 1e-300, rel=1e-14)


def test_sums_are_exact_whatever_the_range_of_their_parts() -> None:
    bound = budgets.total((1.0, 5e-324))
    assert bound.lower == bound.upper > 1


def test_a_crossing_is_above_at_one_end_and_not_at_the_other() -> None:
    bound = crossing(lambda number: (-Interval.of(number)).exp(), 1e-3)
    assert bound.lower < math.log(1000) * (1 + 1e-15)
    assert bound.upper > math.log(1000) * (1 - 1e-15)
    assert float(bound.upper - bound.lower) < 1e-25
    assert crossing(lambda _: Interval.of(1), 0.5).upper == math.inf
    jump = crossing(lambda number: Interval.of(1 if number < 3 else 0), 0.5)
    assert jump.lower < 3 <= jump.upper


def test_precision_holds_inside_its_block_only() -> None:
    with precision(512):
        fine = Interval.of(Fraction(1, 3))
    coarse = Interval.of(Fraction(1, 3))
    assert coarse.lower < fine.lower < fine.upper < coarse.upper
