"""Published samplers have their ideal laws, and proofs decide claims at their edge.

Each law is found by exhausting random bits, and encloses the ideal one, written down here in closed form, within 2^−60.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2
import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab import Law, NeighbouringPair, Relation, Target, Verdict, enumerate_law, prove
from attacklab.laws import Bounds, normalised
from attacklab.laws.proof import LIMITS
from mechanisms.laplace.exact import exact_randomized_response
from mechanisms.published import discrete_gaussian, discrete_laplace, two_sided_geometric
from tests.samplers import geometric, response

pytestmark = pytest.mark.slow

WITHIN = mpq(1, 1 << 60)


def exp_of(exponent: Fraction) -> Bounds:
    """e^exponent, enclosed by MPFR at 200 bits: 2^−180 either way covers two correctly rounded operations."""
    with gmpy2.context(precision=200):
        value = mpq(gmpy2.exp(gmpy2.mpfr(mpq(exponent))))
    slack = value * mpq(1, 1 << 180)
    return Bounds(value - slack, value + slack)


def found(sampler: Callable[..., Any], *arguments: Any) -> Law:
    return enumerate_law(sampler, *arguments, limits=LIMITS)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(10)])
def test_discrete_laplace_has_its_ideal_law(scale: Fraction) -> None:
    law = found(discrete_laplace, scale)
    q = exp_of(-1 / scale)
    for n, mass in law.masses.items():
        upper = (1 - q.lower) / (1 + q.lower) * q.upper ** abs(int(n))
        lower = (1 - q.upper) / (1 + q.upper) * q.lower ** abs(int(n))
        assert lower - WITHIN <= mass <= upper
    assert law.unresolved <= WITHIN


def test_discrete_gaussian_has_its_ideal_law() -> None:
    ideal = normalised({n: exp_of(Fraction(-n * n, 2)) for n in range(-30, 31)})
    law = found(discrete_gaussian, Fraction(1))
    assert law.unresolved <= WITHIN
    for outcome in {*law, *ideal}:
        (least, most), (lower, upper) = law[outcome], ideal[outcome]
        assert max(most - lower, upper - least) <= 4 * WITHIN


@given(st.fractions(min_value=Fraction(1, 8), max_value=Fraction(7, 8), max_denominator=16))
@settings(max_examples=2)
def test_the_two_sided_geometric_law_is_rational(ratio: Fraction) -> None:
    law = found(two_sided_geometric, ratio)
    for n, mass in law.masses.items():
        probability = mpq((1 - ratio) / (1 + ratio)) * mpq(ratio) ** abs(int(n))
        assert probability - WITHIN <= mass <= probability
    assert law.unresolved <= WITHIN


def test_a_claim_with_a_delta_is_refuted_by_the_epsilon_that_it_needs_at_that_delta() -> None:
    """Randomized response at 1.25 has P(E) − δ = e^1·Q(E) at δ = (e^1.25 − e)/(1 + e^1.25), about 0.1719."""
    pair = NeighbouringPair(False, True, Relation.SUBSTITUTE)
    for delta, verdict in ((0.171, Verdict.VIOLATED), (0.173, Verdict.PROVED)):
        target = Target.dataset(lambda *_: [], epsilon=1.0, delta=delta)
        finding = prove(target.exact(exact_randomized_response(epsilon=1.25).release), pair)
        assert finding.verdict is verdict
        assert finding.shown.epsilon_lower == pytest.approx(math.log(math.exp(1.25) * (1 - delta) - delta), rel=1e-12)
        assert f"at δ = {delta}" in finding.reason


def test_an_excess_that_is_certain_refutes_a_claim_however_small_it_is() -> None:
    """An output of probability 2^−60 that one input alone can give; the laws of the others do not close."""

    def sampler(marked: bool, bits: Any) -> int:
        if bits.take(60) == 0 and marked:
            return -1
        return int(bits.call(geometric))

    finding = prove(
        Target.dataset(lambda *_: [], epsilon=1.0).exact(sampler), NeighbouringPair(True, False, Relation.SUBSTITUTE)
    )
    assert finding.verdict is Verdict.VIOLATED
    assert finding.shown.delta_lower is not None
    assert 0 < finding.shown.delta_lower <= 2.0**-60
    assert finding.shown.event == "first input likelier than allowed: -1"


def test_the_bounds_in_a_proof_are_rounded_outwards() -> None:
    """The advantage of randomized response at ratio 2 is 1/3, which is not a double."""
    target = Target.dataset(lambda *_: [], epsilon=1.0).exact(response)
    finding = prove(target, NeighbouringPair(True, False, Relation.SUBSTITUTE))
    assert finding.verdict is Verdict.PROVED
    assert finding.shown.advantage is not None
    assert Fraction(finding.shown.advantage.lower) < Fraction(1, 3) < Fraction(finding.shown.advantage.upper)
