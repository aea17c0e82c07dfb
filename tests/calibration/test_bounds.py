"""Certified bounds agree with exhaustive sums and searches that other libraries compute."""

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from attacklab.calibration import budgets, concentrated, gaussian, tails
from attacklab.model.intervals import Interval


def holds(interval: Interval, number: float, *, relative: float) -> bool:
    slack = abs(number) * relative
    return bool(interval.lower - slack <= number <= interval.upper + slack)


@pytest.mark.parametrize(("rho", "epsilon"), [(0.005, 1.0), (0.5, 9.0), (2.63, 17.0)])
def test_the_witness_is_concentrated_at_every_order_in_both_directions(rho: float, epsilon: float) -> None:
    witness = concentrated.two_answers(rho, epsilon)
    with mpmath.workprec(400):
        p, q = (mpmath.mpf(str(end.lower)) * (1 - mpmath.mpf(2) ** -150) for end in witness)
        for exponent in range(-160, 161):
            order = mpmath.mpf(10) ** (mpmath.mpf(exponent) / 20)  # λ = α − 1
            forward = p * (p / q) ** order + (1 - p) * ((1 - p) / (1 - q)) ** order
            backward = q * (q / p) ** order + (1 - q) * ((1 - q) / (1 - p)) ** order
            assert mpmath.log(max(forward, backward)) <= order * (order + 1) * rho
        assert p - mpmath.exp(epsilon) * q >= 0.9 * concentrated.delta(rho, epsilon).below()


@pytest.mark.parametrize(("rho", "epsilon"), [(0.005, 1.0), (0.1, 1.0), (1.0, 4.0), (10.0, 10.5)])
def test_no_order_gives_less_than_the_sufficient_delta(rho: float, epsilon: float) -> None:
    orders = 1 + np.geomspace(1e-4, 1e4, 200_001)
    logarithms = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    best, bound = min(float(np.exp(logarithms.min())), 1.0), concentrated.delta(rho, epsilon)
    assert best * (1 - (1e-7 if best < 1e-9 else 0.3)) <= bound.above() <= best * (1 + 1e-7)
    assert bound.upper >= gaussian.delta(epsilon, 1 / math.sqrt(2 * rho), 1.0).lower


@pytest.mark.slow
def test_half_a_unit_of_zcdp_is_held_to_what_it_really_implies() -> None:
    """Proposition 12 gives 0.2468, the Gaussian mechanism 0.1269."""
    bound = concentrated.delta(0.5, 1.0)
    assert 0.21491 < bound.below() < bound.above() < 0.214912
    least = concentrated.epsilon(0.5, bound.above())
    assert least.below() == pytest.approx(1.0, abs=2e-6)
    assert least.above() == pytest.approx(1.0, abs=2e-6)


@pytest.mark.parametrize("rho", [0.001, 0.5, 10.0])
def test_a_mechanism_with_two_answers_is_certified_up_to_where_it_breaks_its_claim(rho: float) -> None:
    orders = 1 + np.geomspace(1e-6, 1e4, 3000)
    for p in (0.1, 0.5, 0.9):
        low, high = 0.0, p
        for _ in range(60):
            q = (low + high) / 2
            powers = orders * math.log(p) - (orders - 1) * math.log(q)
            moments = np.logaddexp(powers, orders * math.log1p(-p) - (orders - 1) * math.log1p(-q))
            low, high = (low, q) if (moments <= (orders - 1) * rho * orders).all() else (q, high)
        for part, is_certified in ((1 + 1e-3, True), (1 - 1e-3, False)):
            assert concentrated.keeps(Interval.of(p), Interval.of(high * part), rho) is is_certified


@pytest.mark.parametrize(("scale", "tail"), [(0.5, 0), (1.0, 3), (10 / 3, 11), (1.0, -2)])
def test_discrete_tails_are_sums_of_probabilities(scale: float, tail: int) -> None:
    with mpmath.workprec(200):
        for power, bound in ((1, tails.discrete_laplace(scale, tail)), (2, tails.discrete_gaussian(scale, tail))):
            terms = {x: mpmath.exp(-((abs(x) / mpmath.mpf(scale)) ** power) / power) for x in range(-600, 601)}
            share = float(mpmath.fsum(terms[x] for x in terms if x > tail) / mpmath.fsum(terms.values()))
            assert holds(bound, share, relative=1e-15)


@pytest.mark.parametrize("l0", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1.0, 1e-3), (0.2, 0.9)])
def test_a_threshold_keeps_delta_and_no_more_by_the_law_of_all_counts(epsilon: float, delta: float, l0: int) -> None:
    """Each key is new, or in both inputs and far above the threshold; what is seen of it lies in one of many cells."""

    def lost(law: Any, threshold: float) -> float:
        worst = 0.0
        for counts in itertools.combinations_with_replacement((0, threshold + 100 * law.std()), l0):
            first = second = np.ones(1)
            for count in counts:
                cuts = np.linspace(max(threshold, count - 20 * law.std()), count + 20 * law.std(), 1000)
                laws = [np.diff(law.cdf(cuts - count - more), prepend=0, append=1) for more in (1, 0)]
                laws[1] = laws[1] if count else np.eye(1, len(cuts) + 1)[0]
                first, second = np.outer(first, laws[0]).ravel(), np.outer(second, laws[1]).ravel()
            pairs = ((first, second), (second, first))
            worst = max(worst, *(float(np.maximum(0, p - math.exp(epsilon) * q).sum()) for p, q in pairs))
        return worst

    threshold = tails.threshold_laplace(epsilon, delta, l0)
    for end in (threshold.above(), threshold.below()):
        assert lost(stats.laplace(scale=l0 / epsilon), end) == pytest.approx(delta, rel=1e-9)
    if delta > 0.5:
        return
    sigma = gaussian.sigma(epsilon, delta / 2, math.sqrt(l0)).above()
    threshold = tails.threshold_gaussian(epsilon, delta, l0)
    assert lost(stats.norm(scale=sigma), threshold.above()) == pytest.approx(delta, rel=1e-3)
    assert holds(tails.selection_delta(epsilon, sigma, threshold.above(), l0), delta, relative=1e-9)


@pytest.mark.parametrize(("epsilon", "releases", "delta"), [(0.5, 5, 1e-3), (1.0, 8, 0.05), (2.0, 3, 1e-6)])
def test_composed_epsilon_is_that_of_randomized_responses(epsilon: float, releases: int, delta: float) -> None:
    truth = 1 / (1 + math.exp(-epsilon))
    answers = np.array(list(itertools.product((0, 1), repeat=releases))).sum(axis=1)
    first = truth**answers * (1 - truth) ** (releases - answers)
    second = (1 - truth) ** answers * truth ** (releases - answers)
    needed = budgets.composed_epsilon(epsilon, releases, delta).above()
    assert float(np.maximum(first - math.exp(needed) * second, 0).sum()) == pytest.approx(delta, rel=1e-9)
