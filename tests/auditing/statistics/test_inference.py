"""Confidence bounds against exact binomial sums: every probability here is enumerated, nothing is sampled."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from attacklab.auditing.statistics.inference import Assessment, assess, clopper_pearson, keeps_surely, share_of_alpha
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts


def at_least(hits: int, trials: int, probability: Fraction) -> Fraction:
    """P[X ≥ hits] for a binomial X, exactly."""
    return sum(
        (math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(hits, trials + 1)),
        Fraction(0),
    )


@pytest.mark.parametrize("trials", [1, 2, 9, 25])
@pytest.mark.parametrize("alpha", [0.1, 1e-3, 1e-6, 1e-9])
def test_each_bound_is_where_the_tail_probability_is_half_of_alpha(trials: int, alpha: float) -> None:
    lower, upper = clopper_pearson(np.arange(trials + 1), trials, alpha)
    for hits in range(trials + 1):
        above = at_least(hits, trials, Fraction(float(lower[hits])))
        below = 1 - at_least(hits + 1, trials, Fraction(float(upper[hits])))
        assert float(above) == pytest.approx(1 if hits == 0 else alpha / 2, rel=1e-9)
        assert float(below) == pytest.approx(1 if hits == trials else alpha / 2, rel=1e-9)
    assert lower[0] == 0
    assert upper[trials] == 1


@pytest.mark.parametrize("trials", [1, 5, 30])
@pytest.mark.parametrize("alpha", [0.2, 0.01, 1e-5])
def test_an_interval_misses_any_probability_with_probability_at_most_alpha(trials: int, alpha: float) -> None:
    lower, upper = clopper_pearson(np.arange(trials + 1), trials, alpha)
    worst = 0.0
    # Coverage is lowest just outside the bounds themselves.
    corners = [bound + sign * 1e-12 for bound in (*lower, *upper) for sign in (-1, 1)]
    for probability in (*np.linspace(0, 1, 101), *corners):
        if not 0 <= probability <= 1:
            continue
        masses = stats.binom.pmf(np.arange(trials + 1), trials, probability)
        worst = max(worst, float(masses[(probability < lower) | (probability > upper)].sum()))
    assert alpha / 4 < worst <= alpha * (1 + 1e-9)


@cache
def outcomes(trials: int, claim: PrivacyClaim, alpha: float) -> dict[tuple[int, int], Assessment]:
    return {
        (first, second): assess(claim, Counts(first, second, trials), alpha)
        for first, second in itertools.product(range(trials + 1), repeat=2)
    }


def probability_of(happens: NDArray[np.bool_], p: float, q: float) -> float:
    hits = np.arange(len(happens))
    masses = np.outer(stats.binom.pmf(hits, len(hits) - 1, p), stats.binom.pmf(hits, len(hits) - 1, q))
    return float(masses[happens].sum())


def table(assessed: dict[tuple[int, int], Assessment], trials: int, happens: object) -> NDArray[np.bool_]:
    assert callable(happens)
    return np.array([[happens(assessed[first, second]) for second in range(trials + 1)] for first in range(trials + 1)])


TRIALS, ALPHA = 25, 0.05


def boundary(claim: PrivacyClaim) -> list[tuple[float, float]]:
    """Pairs (P[E], Q[E]) exactly on the claim, in both directions and for the complement too."""
    ratio = math.exp(claim.epsilon)
    pairs = [(q * ratio + claim.delta, q) for q in (0.0, 0.01, 0.1, 0.2, 0.4)]
    pairs.append((1 - (1 - claim.delta) / (1 + ratio), (1 - claim.delta) / (1 + ratio)))
    pairs = [(p, q) for p, q in pairs if 0 <= p <= 1]
    pairs += [(1 - p, 1 - q) for p, q in pairs]
    return pairs + [(q, p) for p, q in pairs]


@pytest.mark.parametrize("claim", [PrivacyClaim(1e-9), PrivacyClaim(math.log(2)), PrivacyClaim(0.5, 0.1)])
def test_a_mechanism_exactly_on_its_claim_is_accused_with_probability_at_most_alpha(claim: PrivacyClaim) -> None:
    accused = table(outcomes(TRIALS, claim, ALPHA), TRIALS, lambda one: one.violated)
    assert accused.any()
    for p, q in boundary(claim):
        assert probability_of(accused, p, q) <= ALPHA


@pytest.mark.parametrize("claim", [PrivacyClaim(0.3), PrivacyClaim(1.0, 0.05)])
@pytest.mark.parametrize(("p", "q"), [(0.3, 0.3), (0.6, 0.1), (0.1, 0.9), (0.99, 0.7)])
def test_lower_bounds_exceed_the_truth_with_probability_at_most_alpha(claim: PrivacyClaim, p: float, q: float) -> None:
    sides = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
    true_epsilon = max(math.log(max((high - claim.delta) / low, 1)) for high, low in sides)
    true_delta = max(0.0, *(high - math.exp(claim.epsilon) * low for high, low in sides))
    assessed = outcomes(TRIALS, claim, ALPHA)
    too_high = table(
        assessed, TRIALS, lambda one: one.epsilon_lower > true_epsilon + 1e-12 or one.delta_lower > true_delta + 1e-12
    )
    assert probability_of(too_high, p, q) <= ALPHA


def test_the_bounds_of_one_assessment_agree_with_each_other() -> None:
    claim, alpha = PrivacyClaim(0.7, 0.2), 0.1
    for (first, second), assessed in outcomes(12, claim, alpha).items():
        if abs(assessed.excess_lower) > 1e-9:
            assert assessed.violated == (assessed.epsilon_lower > claim.epsilon) == (assessed.delta_lower > claim.delta)
        if assessed.epsilon_lower > 0:
            refuted_up_to = PrivacyClaim(assessed.epsilon_lower, claim.delta)
            excess = assess(refuted_up_to, Counts(first, second, 12), alpha).excess_lower
            assert excess == pytest.approx(0, abs=1e-12)
        assert assessed.advantage.lower <= assessed.advantage.estimate <= assessed.advantage.upper
        assert math.isfinite(assessed.epsilon_lower)


@pytest.mark.parametrize("counts", [Counts(20, 3, 25), Counts(0, 25, 25), Counts(25, 24, 25)])
def test_assessment_is_the_same_for_the_complement_and_for_the_swapped_pair(counts: Counts) -> None:
    claim, trials = PrivacyClaim(0.4, 0.01), counts.trials
    first = assess(claim, counts, 1e-3)
    swapped = assess(claim, Counts(counts.second, counts.first, trials), 1e-3)
    complement = assess(claim, Counts(trials - counts.first, trials - counts.second, trials), 1e-3)
    for other in (swapped, complement):
        assert other.excess_lower == pytest.approx(first.excess_lower, abs=1e-12)
        assert other.epsilon_lower == pytest.approx(first.epsilon_lower, abs=1e-12)
        assert other.advantage.estimate == pytest.approx(-first.advantage.estimate)


@pytest.mark.parametrize("claim", [PrivacyClaim(0.0, 0.4), PrivacyClaim(0.7), PrivacyClaim(2.0, 0.01)])
def test_an_event_that_breaks_a_claim_is_seldom_seen_to_keep_it_surely(claim: PrivacyClaim) -> None:
    """The probability of that is enumerated, at the claim's edge and beyond it, and is at most α."""
    trials, alpha, q = 60, 0.05, 0.1
    settled = np.array(
        [[keeps_surely(claim, Counts(k, n, trials), alpha) for n in range(trials + 1)] for k in range(trials + 1)]
    )
    for p in (math.exp(claim.epsilon) * q + claim.delta, 0.95):
        hits = [stats.binom.pmf(np.arange(trials + 1), trials, rate) for rate in (p, q)]
        assert hits[0] @ settled @ hits[1] <= alpha
        assert hits[1] @ settled @ hits[0] <= alpha
    assert settled[30, 30]
    assert not settled[60, 0]


def test_alpha_is_not_shared_among_nothing() -> None:
    with pytest.raises(ValueError, match="parts must be at least 1, not 0"):
        share_of_alpha(0.1, 0)
