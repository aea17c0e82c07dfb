"""The regression tests that exact mechanisms resist: their exact laws, not a failure to find something.

Each mechanism's law is found by exhausting its random bits on small inputs that Hypothesis picks. It must equal the
ideal law, written down here a second time in closed form, wherever it closes, and enclose it within 2^−60 where it does
not; and the mechanism's claim must come out PROVED on neighbouring pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2
import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st

from attacklab.laws import Bounds, Law, enumerate_law, normalised, smallest_epsilon
from attacklab.laws.proof import LIMITS, prove
from attacklab.laws.proof.search import closed_or_open_law
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from mechanisms.core.grid import Grid
from mechanisms.core.inversion import invert
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential, exact_exponential_base2
from mechanisms.laplace.exact import exact_discrete_laplace, exact_randomized_response, exact_rounded_laplace
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.published import discrete_gaussian, discrete_laplace, two_sided_geometric
from mechanisms.randomness import RandomBits

WITHIN = mpq(1, 1 << 60)
LITTLE_NOISE = 2.5
"""An ε at which laws have two fifths of the outcomes that they have at 1, and of two noises a sixth.

Slack has room for what the laws leave open times 1 + e^ε, up to ε = 2.7.
"""
EPSILONS = st.fractions(min_value=Fraction(1, 8), max_value=3, max_denominator=8)
UTILITIES = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=5)


def exp_of(exponent: Fraction) -> Bounds:
    """e^exponent, enclosed by MPFR at 200 bits: 2^−180 either way covers two correctly rounded operations."""
    with gmpy2.context(precision=200):
        value = mpq(gmpy2.exp(gmpy2.mpfr(mpq(exponent))))
    slack = value * mpq(1, 1 << 180)
    return Bounds(value - slack, value + slack)


def inverted_laplace(scale: Fraction, bits: RandomBits) -> int:
    return invert(DiscreteLaplace(scale), bits)


def found(sampler: Callable[..., Any], *arguments: Any) -> Law:
    return enumerate_law(sampler, *arguments, limits=LIMITS)


def assert_encloses(law: Law, ideal: Law) -> None:
    """Each probability of either law differs from the other's by at most 2^−60, whatever is left open."""
    assert law.unresolved <= WITHIN
    for outcome in {*law, *ideal}:
        (least, most), (lower, upper) = law[outcome], ideal[outcome]
        assert max(most - lower, upper - least) <= 4 * WITHIN


@pytest.mark.parametrize(
    ("sampler", "scale"),
    [
        (discrete_laplace, Fraction(1, 3)),
        (discrete_laplace, Fraction(5, 2)),
        (discrete_laplace, Fraction(10)),
        (inverted_laplace, Fraction(1, 3)),
        (inverted_laplace, Fraction(1)),
    ],
)
def test_discrete_laplace_has_its_ideal_law(sampler: Any, scale: Fraction) -> None:
    law = found(sampler, scale)
    q = exp_of(-1 / scale)
    for n, mass in law.masses.items():
        upper = (1 - q.lower) / (1 + q.lower) * q.upper ** abs(int(n))
        lower = (1 - q.upper) / (1 + q.upper) * q.lower ** abs(int(n))
        assert lower - WITHIN <= mass <= upper
    assert law.unresolved <= WITHIN


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1)])
def test_discrete_gaussian_has_its_ideal_law(variance: Fraction) -> None:
    law = found(discrete_gaussian, variance)
    reach = 15 * math.isqrt(math.ceil(variance)) + 15
    ideal = normalised({n: exp_of(-Fraction(n * n) / (2 * variance)) for n in range(-reach, reach + 1)})
    assert_encloses(law, ideal)


@given(st.fractions(min_value=Fraction(1, 8), max_value=Fraction(7, 8), max_denominator=16))
@settings(max_examples=4)
def test_the_two_sided_geometric_law_is_rational(ratio: Fraction) -> None:
    law = found(two_sided_geometric, ratio)
    for n, mass in law.masses.items():
        probability = mpq((1 - ratio) / (1 + ratio)) * mpq(ratio) ** abs(int(n))
        assert probability - WITHIN <= mass <= probability
    assert law.unresolved <= WITHIN


def assert_kept(finding: Finding) -> None:
    """The claim is proved: as it stands if the laws are closed, and otherwise with slack where δ has no room."""
    assert finding.verdict in (Verdict.PROVED, Verdict.PROVED_WITH_SLACK), finding.reason
    if finding.reason.startswith("closed") or finding.claim.nominal.delta:
        assert finding.verdict is Verdict.PROVED
    else:
        assert finding.verdict is Verdict.PROVED_WITH_SLACK


NOISE = {
    (0.25, -0.75): exact_discrete_laplace(epsilon=LITTLE_NOISE, grid=Grid(-1)),
    (0.0, 1.0): exact_rounded_laplace(epsilon=LITTLE_NOISE, grid=Grid(0)),
}


@pytest.mark.parametrize("answers", NOISE)
def test_additive_noise_keeps_its_claim(answers: tuple[float, float]) -> None:
    target = Target.noise(lambda *_: [], epsilon=LITTLE_NOISE, name="noise").exact(NOISE[answers].release)
    assert_kept(prove(target, NeighbouringPair.answers(*answers, sensitivity=1.0)))


SELECTIONS = {
    "exponential": exact_exponential(epsilon=LITTLE_NOISE),
    "permute and flip": exact_exponential_noisy_max(epsilon=LITTLE_NOISE),
}


@pytest.mark.parametrize("mechanism", SELECTIONS)
@given(st.lists(st.tuples(st.integers(-2, 2), st.sampled_from([-1.0, -0.5, 0.0, 1.0])), min_size=2, max_size=3))
@settings(max_examples=3)
def test_selection_keeps_its_claim(mechanism: str, rows: list[tuple[int, float]]) -> None:
    sampler = SELECTIONS[mechanism].release
    target = Target.selection(lambda *_: [], epsilon=LITTLE_NOISE, name=mechanism).exact(sampler)
    pair = NeighbouringPair.utilities([u for u, _ in rows], [u + moved for u, moved in rows], sensitivity=1.0)
    finding = prove(target, pair)
    assert_kept(finding)


@given(st.lists(st.tuples(st.integers(-2, 2), st.sampled_from([-1.0, 0.0, 1.0])), min_size=2, max_size=4))
@settings(max_examples=4)
def test_the_base_two_mechanism_keeps_its_claim_with_closed_laws(rows: list[tuple[int, float]]) -> None:
    eta = BaseTwoEta(3, 2)
    sampler = exact_exponential_base2(eta=eta, utility_range=(-3, 3)).release
    claim = float(gmpy2.next_above(eta.epsilon()[1]))
    target = Target.selection(lambda *_: [], epsilon=claim, name="base two").exact(sampler)
    pair = NeighbouringPair.utilities([u for u, _ in rows], [u + moved for u, moved in rows], sensitivity=1.0)
    first, second = (closed_or_open_law(partial(sampler, input_), LIMITS) for input_ in (pair.first, pair.second))
    assert first.closed
    assert second.closed
    assert smallest_epsilon(first, second)[1] <= claim
    assert prove(target, pair).verdict is Verdict.PROVED


def test_randomized_response_sits_exactly_on_its_claim() -> None:
    target = Target.dataset(lambda *_: [], epsilon=1.0).exact(exact_randomized_response(epsilon=1).release)
    finding = prove(target, NeighbouringPair(False, True, Relation.SUBSTITUTE))
    assert_kept(finding)
    assert finding.epsilon_lower is not None
    assert 1 - 1e-12 < finding.epsilon_lower <= 1


def test_a_claim_with_a_delta_is_refuted_by_the_epsilon_that_it_needs_at_that_delta() -> None:
    """Randomized response at 1.25 has P(E) − δ = e^1·Q(E) at δ = (e^1.25 − e)/(1 + e^1.25), about 0.1719."""
    pair = NeighbouringPair(False, True, Relation.SUBSTITUTE)
    for delta, verdict in ((0.171, Verdict.VIOLATED), (0.173, Verdict.PROVED)):
        target = Target.dataset(lambda *_: [], epsilon=1.0, delta=delta)
        finding = prove(target.exact(exact_randomized_response(epsilon=1.25).release), pair)
        assert finding.verdict is verdict
        assert finding.epsilon_lower == pytest.approx(math.log(math.exp(1.25) * (1 - delta) - delta), rel=1e-12)
        assert f"at δ = {delta}" in finding.reason


def test_an_excess_that_is_certain_refutes_a_claim_however_small_it_is() -> None:
    """An output of probability 2^−60 that one input alone can give; the laws of the others do not close."""

    def sampler(marked: bool, bits: Any) -> int:
        if bits.take(60) == 0 and marked:
            return -1
        flips = 0
        while bits.take(1):
            flips += 1
        return flips

    finding = prove(
        Target.dataset(lambda *_: [], epsilon=1.0).exact(sampler), NeighbouringPair(True, False, Relation.SUBSTITUTE)
    )
    assert finding.verdict is Verdict.VIOLATED
    assert finding.delta_lower is not None
    assert 0 < finding.delta_lower <= 2.0**-60
    assert finding.event == "first input likelier than allowed: -1"


def test_the_bounds_in_a_proof_are_rounded_outwards() -> None:
    """The advantage of randomized response at ratio 2 is 1/3, which is not a double."""

    def one_of_three(bits: Any) -> int | None:
        drawn = int(bits.take(2))
        return drawn if drawn < 3 else None

    def sampler(truth: bool, bits: Any) -> bool:
        return truth ^ (bits.repeat(one_of_three) == 2)

    target = Target.dataset(lambda *_: [], epsilon=1.0).exact(sampler)
    finding = prove(target, NeighbouringPair(True, False, Relation.SUBSTITUTE))
    assert finding.verdict is Verdict.PROVED
    assert finding.advantage is not None
    assert Fraction(finding.advantage.lower) < Fraction(1, 3) < Fraction(finding.advantage.upper)
