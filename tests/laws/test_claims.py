"""Exact laws judge claims of every kind: against mpmath at many digits, closed forms, and each other."""

import itertools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import mpmath
import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.laws import Decision, Law, smallest_delta
from attacklab.laws.decide import judge
from attacklab.laws.gaussian import normal_quantile, smallest_mu
from attacklab.laws.renyi import keeps_zcdp, renyi_divergence, smallest_rho
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Renyi, ZeroConcentrated

SLACK = Fraction(1, 1 << 58)
HALF = Law({0: mpq(1, 2), 1: mpq(1, 2)})

counts = st.lists(st.integers(1, 9), min_size=3, max_size=3)
closed_laws = counts.map(lambda weights: Law({o: mpq(w, sum(weights)) for o, w in enumerate(weights)}))
open_laws = counts.map(lambda weights: Law({o: mpq(w, 30) for o, w in enumerate(weights)}))


def coin(lie: Any) -> Law:
    return Law({0: 1 - mpq(lie), 1: mpq(lie)})


def completed(law: Law, outcome: int) -> Law:
    """The law with all of its open mass on one outcome."""
    return Law({**law.masses, outcome: law.mass(outcome) + law.unresolved})


def exactly(number: Any) -> mpmath.mpf:
    ratio = mpq(number)
    return mpmath.mpf(int(ratio.numerator)) / int(ratio.denominator)


def rational(number: mpmath.mpf) -> mpq:
    return mpq(mpmath.nstr(number, 55))


def divergence(p: Law, q: Law, order: Any) -> mpmath.mpf:
    """D_α in 80 digits."""
    with mpmath.workdps(80):
        alpha = mpmath.mpf(order)
        masses = [(exactly(p.mass(outcome)), exactly(q.mass(outcome))) for outcome in p]
        return mpmath.log(mpmath.fsum(a**alpha * b ** (1 - alpha) for a, b in masses)) / (alpha - 1)


def flipped(epsilon: float) -> Law:
    """Permute and flip on (1, −1) at ε: the worse of two with probability ½·e^(−ε)."""
    with mpmath.workdps(60):
        return coin(rational(mpmath.exp(-mpmath.mpf(epsilon)) / 2))


def exponential(epsilon: float) -> Law:
    """The exponential mechanism on (1, −1) at ε: the worse of two with probability 1/(1 + e^ε)."""
    with mpmath.workdps(60):
        return coin(rational(1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))))


@pytest.mark.parametrize("tail", [mpq(1, 40), mpq(1, 3), mpq(1, 2), mpq(999, 1000), mpq(1, 10**400)])
def test_normal_quantiles_enclose_those_of_mpmath(tail: mpq) -> None:
    found = normal_quantile(tail)
    with mpmath.workdps(80):
        aimed = mpmath.log(exactly(tail))
        truth = mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2) - aimed, found.above() + 1e-3)
        assert exactly(found.lower) <= truth <= exactly(found.upper)
        assert exactly(found.upper) - exactly(found.lower) < mpmath.mpf(2) ** -150


@settings(deadline=None, max_examples=40)
@given(closed_laws, closed_laws)
def test_the_least_mu_is_the_greatest_that_any_event_needs(p: Law, q: Law) -> None:
    """All events are tried, not those of the trade-off curve alone."""
    quantile = NormalDist().inv_cdf
    events = [event for size in (1, 2) for event in itertools.combinations(range(3), size)]
    chances = [[float(law.probability(event.__contains__).lower) for law in (p, q)] for event in events]
    worst = max(quantile(second) - quantile(first) for first, second in chances)
    found = smallest_mu(p, q)
    assert found.lower == pytest.approx(max(worst, 0.0), abs=1e-12)
    assert found.lower <= found.upper <= found.lower + 1e-12
    assert smallest_mu(q, p).lower == pytest.approx(found.lower, abs=1e-12)


@settings(deadline=None, max_examples=5)
@given(open_laws, open_laws, st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 0.5, 2.0]))
def test_what_is_kept_with_slack_is_kept_wherever_the_open_mass_lies(
    p: Law, q: Law, here: int, there: int, epsilon: float
) -> None:
    """The slack is as large as the mass left open, so that it may be enough."""
    slack = max(Fraction(int(u.numerator), int(u.denominator)) for u in (p.unresolved, q.unresolved))
    delta = smallest_delta(completed(p, here), completed(q, there), epsilon).lower
    least = smallest_mu(p, q, slack=slack).upper
    claims: list[Claim] = [ZeroConcentrated(rho) for rho in (0.25, 0.5, 2.0)]
    claims += [Renyi((2.0, 3.0), (0.5, 0.75)), *([GaussianDP(max(least, 1e-6))] if math.isfinite(least) else [])]
    for claim in claims:
        ruling = judge(claim, p, q, slack=slack)
        assert ruling.decision is not Decision.PROVED or (p.closed and q.closed)
        if ruling.kept_with_slack:
            assert delta <= Fraction(claim.delta_at(epsilon)) + slack


@pytest.mark.parametrize("order", [1.001, 1.5, 2, 30])
def test_renyi_divergences_are_those_of_mpmath(order: float) -> None:
    p, q = Law({0: mpq(1, 2), 1: mpq(1, 3), 2: mpq(1, 6)}), Law({0: mpq(1, 7), 1: mpq(1, 7), 2: mpq(5, 7)})
    for one, other in ((p, q), (q, p)):
        found = renyi_divergence(one, other, order)
        with mpmath.workdps(80):
            truth = divergence(one, other, order)
            assert exactly(found.lower) <= truth <= exactly(found.upper)
        assert found.above() - found.below() < 1e-12


@pytest.mark.parametrize(("law", "rho"), [(flipped(2.0), 0.72753), (exponential(2.0), 0.44939)])
def test_what_permute_and_flip_and_the_exponential_mechanism_need_at_epsilon_two(law: Law, rho: float) -> None:
    """The largest D_α/α over a grid of orders in steps of a thousandth, by mpmath; ρ = ε²/8 is 0.5."""
    orders = [1 + mpmath.mpf(step) / 1000 for step in range(1, 2000)]
    greatest = max(divergence(*pair, order) / order for pair in ((HALF, law), (law, HALF)) for order in orders)
    assert float(greatest) == pytest.approx(rho, abs=1e-5)
    assert smallest_rho(HALF, law).lower == pytest.approx(float(greatest), rel=1e-6)
    decision = judge(ZeroConcentrated(0.5), HALF, law).decision
    assert decision is (Decision.REFUTED if rho > 0.5 else Decision.PROVED)


def test_a_chain_proves_a_little_more_than_the_least_rho_and_nothing_less() -> None:
    for law in (flipped(2.0), exponential(2.0)):
        least = smallest_rho(HALF, law).lower
        assert not keeps_zcdp(HALF, law, 0.999 * least)
        assert keeps_zcdp(HALF, law, 1.02 * least)


LIAR = Law({0: mpq(1, 2), 1: mpq(1, 2) - mpq(1, 1 << 60), 2: mpq(1, 1 << 60)})


@pytest.mark.parametrize("claim", [ZeroConcentrated(5.0), Renyi(1.5, 9.0), GaussianDP(9.0)])
def test_an_outcome_that_one_input_alone_gives_refutes_every_claim_without_a_delta(claim: Claim) -> None:
    ruling = judge(claim, LIAR, HALF, slack=Fraction(1, 4))
    assert ruling.decision is Decision.REFUTED
    assert ruling.need is not None
    assert math.isinf(ruling.need.lower)


NEARLY = Law({0: mpq(1, 2), 1: mpq(1, 2) - mpq(1, 1 << 62)})
LESS_NEARLY = Law({0: mpq(1, 2), 1: mpq(1, 2) - mpq(1, 1 << 50)})


@pytest.mark.parametrize("claim", [ZeroConcentrated(0.5), Renyi((2.0, 5.0), (1.0, 2.0)), GaussianDP(1.25)])
def test_laws_left_open_keep_a_claim_with_slack_only_if_the_slack_is_larger(claim: Claim) -> None:
    other = exponential(2.0)
    assert judge(claim, HALF, other).decision is Decision.PROVED
    for law, is_kept in ((NEARLY, True), (LESS_NEARLY, False)):
        ruling = judge(claim, law, other, slack=SLACK)
        assert (ruling.decision, ruling.kept_with_slack) == (Decision.UNDECIDED, is_kept)


def test_renyi_privacy_is_decided_at_each_of_its_orders() -> None:
    law = exponential(2.0)
    two, three = (float(max(divergence(HALF, law, a), divergence(law, HALF, a))) for a in (2, 3))
    more, less = 1 + 1e-12, 1 - 1e-12
    assert judge(Renyi((2.0, 3.0), (more * two, more * three)), HALF, law).decision is Decision.PROVED
    ruling = judge(Renyi((2.0, 3.0), (more * two, less * three)), HALF, law)
    assert ruling.decision is Decision.REFUTED
    assert ruling.need is not None
    assert ruling.need.order == 3


def test_each_law_must_give_mass_to_all_that_the_other_does() -> None:
    more = Law({0: mpq(1, 4), 1: mpq(1, 4), 2: mpq(1, 2)})
    for claim in (GaussianDP(50.0), ZeroConcentrated(1e6), Renyi((2.0, 1e6), (1e6, 1e7)), PrivacyClaim(1e6)):
        for pair in ((HALF, more), (more, HALF)):
            assert judge(claim, *pair).decision is Decision.REFUTED
