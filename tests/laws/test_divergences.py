"""Divergences of exact laws against closed forms, against all events, and through group privacy."""

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab import Law, advantage, certify, hockey_stick, privacy_loss
from attacklab.laws import Bounds, Decision, exp_bounds, largest_ratio, trade_off

# Two laws on at most five outcomes, closed or not: masses in 24ths.
masses = st.lists(st.integers(0, 5), min_size=5, max_size=5).filter(lambda counts: 0 < sum(counts) <= 24)
open_laws = masses.map(lambda counts: Law({o: mpq(c, 24) for o, c in enumerate(counts)}))
closed_laws = masses.map(lambda counts: Law({o: mpq(c, sum(counts)) for o, c in enumerate(counts)}))
epsilons = st.fractions(0, 2)


def over_events(p: Law, q: Law, epsilon: Any) -> Bounds:
    """The hockey-stick divergence of closed laws, by trying all events."""
    c = exp_bounds(epsilon, 512)
    outcomes = sorted({*p, *q})
    best = [mpq(0), mpq(0)]
    for event in itertools.chain.from_iterable(itertools.combinations(outcomes, n) for n in range(len(outcomes) + 1)):
        mass_p, mass_q = (sum((law.mass(o) for o in event), mpq(0)) for law in (p, q))
        best = [max(best[0], mass_p - c.upper * mass_q), max(best[1], mass_p - c.lower * mass_q)]
    return Bounds(*best)


@settings(deadline=None)
@given(closed_laws, closed_laws, epsilons)
def test_the_hockey_stick_divergence_is_the_best_of_all_events(p: Law, q: Law, epsilon: Fraction) -> None:
    found, best = hockey_stick(p, q, epsilon), over_events(p, q, epsilon)
    assert found.lower <= best.upper
    assert best.lower <= found.upper
    assert found.upper - found.lower < Fraction(1, 2**240)
    reached = p.probability(found.event.__contains__).lower
    assert reached - exp_bounds(epsilon).upper * q.probability(found.event.__contains__).upper == found.lower


@settings(deadline=None, max_examples=50)
@given(open_laws, open_laws, epsilons, st.data())
def test_bounds_hold_wherever_the_unresolved_mass_lies(p: Law, q: Law, epsilon: Fraction, data: st.DataObject) -> None:
    """The unresolved mass is put on outcomes of every kind, new ones included."""

    def completed(law: Law) -> Law:
        cuts = sorted(data.draw(st.lists(st.fractions(0, 1), min_size=6, max_size=6)))
        parts = [b - a for a, b in zip([Fraction(0), *cuts], [*cuts, Fraction(1)], strict=True)]
        return Law({o: law.mass(o) + law.unresolved * mpq(part) for o, part in enumerate(parts)})

    whole_p, whole_q = completed(p), completed(q)
    stick, true_stick = hockey_stick(p, q, epsilon), hockey_stick(whole_p, whole_q, epsilon)
    assert stick.lower <= true_stick.upper
    assert true_stick.lower <= stick.upper
    apart, true_apart = advantage(p, q), advantage(whole_p, whole_q)
    assert apart.lower <= true_apart.lower == true_apart.upper <= apart.upper
    for delta in (0, Fraction(1, 24), Fraction(1, 2), 1):
        ratio, true_ratio = largest_ratio(p, q, delta), largest_ratio(whole_p, whole_q, delta)
        assert ratio.lower <= true_ratio.lower == true_ratio.upper <= ratio.upper
    for bounds in privacy_loss(p, q):
        assert isinstance(bounds, Bounds)
        assert bounds.lower <= bounds.upper
    for claim in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        decision = certify(epsilon, claim, p, q).decision
        true_decision = certify(epsilon, claim, whole_p, whole_q).decision
        assert decision in (Decision.UNDECIDED, true_decision)


@given(closed_laws, closed_laws, st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 5), Fraction(1)]))
def test_the_largest_ratio_beyond_a_delta_is_the_best_of_all_events(p: Law, q: Law, delta: Fraction) -> None:
    best: Any = 1
    for event in itertools.chain.from_iterable(itertools.combinations(range(5), n) for n in range(6)):
        beyond, under = sum(map(p.mass, event)) - delta, sum(map(q.mass, event))
        if beyond > 0:
            best = max(best, beyond / under if under else math.inf)
    assert largest_ratio(p, q, delta) == (best, best)


@given(closed_laws, closed_laws)
def test_the_privacy_loss_is_weighted_by_the_first_law_and_averages_to_the_second(p: Law, q: Law) -> None:
    loss = privacy_loss(p, q)
    assert loss.closed
    # Under P the mean of Q/P is the mass that Q has where P has some.
    finite = {ratio.lower: mass for ratio, mass in loss.masses.items() if ratio.lower != math.inf}
    assert sum(mass / ratio for ratio, mass in finite.items()) == sum(q.mass(o) for o in p)


@given(closed_laws, closed_laws)
def test_no_event_lies_below_the_trade_off_curve_and_its_vertices_are_events(p: Law, q: Law) -> None:
    vertices = trade_off(p, q)
    assert vertices[0][0] == 0
    assert vertices[-1] == (1, 0)
    errors = set()
    for event in itertools.chain.from_iterable(itertools.combinations(range(5), n) for n in range(6)):
        type_1, type_2 = (p.probability(event.__contains__).lower, 1 - q.probability(event.__contains__).lower)
        errors.add((type_1, type_2))
        for (a, b), (c, d) in itertools.pairwise(vertices):
            assert (c - a) * (type_2 - b) >= (d - b) * (type_1 - a)
    assert set(vertices) <= errors


def test_a_certificate_names_the_event_in_the_direction_that_is_worse() -> None:
    p, q = Law({"a": 1}), Law({"a": Fraction(3, 4), "b": Fraction(1, 4)})
    certificate = certify(2, Fraction(1, 10), p, q)
    assert certificate.decision is Decision.REFUTED
    assert certificate.reverse
    assert certificate.event == {"b"}
    assert certificate.delta_bounds == (Fraction(1, 4), Fraction(1, 4))
    assert certificate.epsilon_bounds == (math.inf, math.inf)


def test_claims_out_of_range_are_refused() -> None:
    law = Law({"a": 1})
    for epsilon in (-1, math.nan):
        with pytest.raises(ValueError, match="epsilon"):
            hockey_stick(law, law, epsilon)
    with pytest.raises(ValueError, match="exponent"):
        hockey_stick(law, law, math.inf)
    for delta in (-0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match="delta"):
            certify(1, delta, law, law)
