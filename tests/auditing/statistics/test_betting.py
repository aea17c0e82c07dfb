"""Evidence that may be looked at after every trial: exact expectations over all outcomes of short runs."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from attacklab.auditing.statistics.betting import confidence_sequence, evidence, judge
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts

found_evidence, found_sequence = cache(evidence), cache(confidence_sequence)
"""Many runs come to the same counts."""


def on_the_boundary(claim: PrivacyClaim, q: float) -> tuple[float, float]:
    """P[E] and Q[E] that keep the claim, but only just."""
    return math.exp(claim.epsilon) * q + claim.delta, q


BOUNDARIES = [
    (PrivacyClaim(0.1), 0.3),
    (PrivacyClaim(1.0), math.e / (1 + math.e) / math.e),
    (PrivacyClaim(1.0), 0.01),
    (PrivacyClaim(0.5, 0.2), 0.1),
    (PrivacyClaim(0.0, 0.3), 0.0),
    (PrivacyClaim(3.0, 0.05), 0.02),
]


@pytest.mark.parametrize(("claim", "q"), BOUNDARIES)
@pytest.mark.parametrize("trials", [1, 2, 7, 12])
@pytest.mark.parametrize(("swapped", "complement"), [(False, False), (True, True)])
@pytest.mark.parametrize("coupled", ["independent", "as often both as can be", "as seldom both as can be"])
def test_nobody_gets_richer_on_average_while_the_claim_is_true(
    claim: PrivacyClaim, q: float, trials: int, swapped: bool, complement: bool, coupled: str
) -> None:
    """The mean of e^evidence over all counts is at most 1, however the two outputs of a trial depend on each other."""
    sides = on_the_boundary(claim, q)
    p, q = sides[::-1] if swapped else sides
    if complement:
        p, q = 1 - p, 1 - q
    couplings = {"independent": p * q, "as often both as can be": min(p, q)}
    held = couplings.get(coupled, max(0.0, p + q - 1))
    law = stats.multinomial(trials, np.clip([held, p - held, q - held, 1 - p - q + held], 0.0, 1.0))
    outcomes = [one for one in itertools.product(range(trials + 1), repeat=3) if sum(one) <= trials]
    masses = law.pmf([(*one, trials - sum(one)) for one in outcomes])
    mean = 0.0
    for mass, (both, first_only, second_only) in zip(masses, outcomes, strict=True):
        counts = Counts(both + first_only, both + second_only, trials, both)
        mean += mass * math.exp(found_evidence(claim, counts))
    assert 0.1 < mean <= 1 + 1e-9


def crossing_probability(claim: PrivacyClaim, p: float, q: float, trials: int, alpha: float) -> float:
    """The probability that the evidence reaches ln(1/α) at *some* look of a run, looking after every trial."""
    alive = {(0, 0, 0): 1.0}
    crossed = 0.0
    chances = {(1, 0, 0): p * q, (0, 1, 0): p * (1 - q), (0, 0, 1): (1 - p) * q, (0, 0, 0): (1 - p) * (1 - q)}
    for trial in range(1, trials + 1):
        after: dict[tuple[int, int, int], float] = {}
        for (both, first_only, second_only), mass in alive.items():
            for (b, f, s), chance in chances.items():
                state = (both + b, first_only + f, second_only + s)
                after[state] = after.get(state, 0.0) + mass * chance
        alive = {}
        for (both, first_only, second_only), mass in after.items():
            counts = Counts(both + first_only, both + second_only, trial, both)
            if found_evidence(claim, counts) >= math.log(1 / alpha):
                crossed += mass
            else:
                alive[both, first_only, second_only] = mass
    return crossed


@pytest.mark.parametrize(("claim", "q"), BOUNDARIES[:4])
@pytest.mark.parametrize("alpha", [0.3, 0.05])
def test_looking_after_every_trial_raises_no_more_false_alarms_than_alpha(
    claim: PrivacyClaim, q: float, alpha: float
) -> None:
    p, q = on_the_boundary(claim, q)
    assert crossing_probability(claim, p, q, 16, alpha) <= alpha


def test_an_event_that_breaks_the_claim_is_found() -> None:
    assert crossing_probability(PrivacyClaim(0.1), 0.9, 0.1, 24, 0.05) > 0.9


def test_the_evidence_is_the_same_for_the_complement_and_for_the_swapped_pair() -> None:
    claim = PrivacyClaim(0.4, 0.01)
    one = evidence(claim, Counts(30, 5, 40, 4))
    assert evidence(claim, Counts(5, 30, 40, 4)) == pytest.approx(one, rel=1e-12)
    assert evidence(claim, Counts(10, 35, 40, 9)) == pytest.approx(one, rel=1e-12)


def test_the_evidence_never_grows_with_the_claimed_delta_nor_with_epsilon_where_delta_is_zero() -> None:
    """This is why the largest refuted δ and ε are lower bounds."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        both, first_only, second_only, neither = (int(2**exponent) - 1 for exponent in rng.uniform(0, 12, 4))
        counts = Counts(both + first_only, both + second_only, both + first_only + second_only + neither, both)
        low, high = np.sort(rng.uniform(0, 1, 2))
        epsilon = 4 * rng.random()
        assert evidence(PrivacyClaim(epsilon, high), counts) <= evidence(PrivacyClaim(epsilon, low), counts) + 1e-9
        assert evidence(PrivacyClaim(8 * high), counts) <= evidence(PrivacyClaim(8 * low), counts) + 1e-9


@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 0.93])
@pytest.mark.parametrize("alpha", [0.2, 0.02])
def test_a_confidence_sequence_misses_at_some_look_no_more_often_than_alpha(p: float, alpha: float) -> None:
    alive, missed = {0: 1.0}, 0.0
    for trial in range(1, 61):
        after: dict[int, float] = {}
        for hits, mass in alive.items():
            after[hits + 1] = after.get(hits + 1, 0.0) + mass * p
            after[hits] = after.get(hits, 0.0) + mass * (1 - p)
        alive = {}
        for hits, mass in after.items():
            lower, upper = found_sequence(hits, trial, alpha)
            if lower <= p <= upper:
                alive[hits] = mass
            else:
                missed += mass
    assert missed <= alpha


@pytest.mark.parametrize(("trials", "alpha"), [(1, 0.01), (10**6, 2.5e-7), (10**9, 1e-12), (10**9, 0.9)])
def test_a_confidence_sequence_of_one_hit_keeps_its_digits_however_small_the_bound(trials: int, alpha: float) -> None:
    """At the bound p the likelihood p·(1 − p)^(n−1) is α times the mixture's, B(3/2, n − ½)/B(½, ½)."""
    mixture = math.lgamma(1.5) + math.lgamma(trials - 0.5) - math.lgamma(trials + 1) - math.log(math.pi)
    lower, _ = confidence_sequence(1, trials, alpha)
    assert math.log(lower) + (trials - 1) * math.log1p(-lower) == pytest.approx(mixture + math.log(alpha), abs=1e-4)
    assert confidence_sequence(trials - 1, trials, alpha)[1] == pytest.approx(1 - lower, abs=1e-15)


@pytest.mark.parametrize("counts", [Counts(80, 0, 100), Counts(700, 100, 1000, 70), Counts(0, 90, 100)])
def test_what_a_refutation_reports_is_refuted_too(counts: Counts) -> None:
    alpha, claim = 1e-3, PrivacyClaim(0.5)
    judged = judge(claim, counts, alpha)
    assert judged.violated
    assert judged.epsilon_lower > claim.epsilon
    assert judged.delta_lower > 0
    slightly_less = PrivacyClaim(0.99 * judged.epsilon_lower)
    assert judge(slightly_less, counts, alpha).violated
    assert judge(PrivacyClaim(0.5, 0.99 * judged.delta_lower), counts, alpha).violated


def test_half_of_alpha_decides_and_the_other_half_is_for_the_bounds() -> None:
    claim, counts = PrivacyClaim(0.5), Counts(40, 0, 200)
    reached = math.exp(-evidence(claim, counts))
    assert judge(claim, counts, 2.01 * reached).violated
    assert not judge(claim, counts, 1.99 * reached).violated
