"""The base-2 exponential mechanism's parts: its parameter, the precision of its sums, and sampling by weights."""

import math
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacklab.model.random_bits import TapedBits
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import empirical_precision, worst_case_precision
from mechanisms.exponential.base2.weighted_sampling import (
    IntegerWeights,
    Sampler,
    sample_by_bisection,
    sample_by_rejection,
    sample_by_rejection_rounds,
)
from tests.mechanisms.enumeration import law_of


def loss(x: int, y: int, z: int, monotone: bool) -> gmpy2.mpfr:
    """−2z·ln(x/2^y), or half of it, at 500 bits."""
    with gmpy2.context(precision=500):
        return -(1 if monotone else 2) * z * (gmpy2.log(gmpy2.mpfr(x)) - y * gmpy2.const_log2())


@given(y=st.integers(1, 80), z=st.integers(1, 50), data=st.data())
def test_epsilon_is_enclosed_by_two_doubles_at_most_three_ulps_apart(y: int, z: int, data: st.DataObject) -> None:
    eta = BaseTwoEta(data.draw(st.integers(1, 2**y - 1)), y, z)
    for monotone in (False, True):
        lower, upper = eta.epsilon(monotone=monotone)
        truth = loss(eta.x, y, z, monotone)
        assert lower <= truth <= upper
        assert upper <= math.nextafter(math.nextafter(math.nextafter(float(lower), math.inf), math.inf), math.inf)


@given(
    epsilon=st.one_of(st.floats(0.01, 60), st.fractions(Fraction(1, 100), 60), st.integers(1, 60)),
    y=st.integers(9, 60),
    monotone=st.booleans(),
)
def test_eta_from_epsilon_is_the_largest_that_loses_no_more(epsilon: float | Fraction, y: int, monotone: bool) -> None:
    eta = BaseTwoEta.from_epsilon(epsilon, y=y, monotone=monotone)
    wished = gmpy2.mpq(Fraction(epsilon))
    assert (eta.y, eta.z) == (y, 1)
    assert loss(eta.x, y, 1, monotone) <= wished
    assert eta.x == 1 or loss(eta.x - 1, y, 1, monotone) > wished
    steps = 1 if monotone else 2
    with gmpy2.context(precision=500):
        assert wished - loss(eta.x, y, 1, monotone) < steps * gmpy2.exp(gmpy2.mpfr(wished) / steps) / 2**y


ETAS = [
    BaseTwoEta(1, 1),
    BaseTwoEta(3, 2),
    BaseTwoEta(5, 3),
    BaseTwoEta(3, 2, 2),
    BaseTwoEta(2, 3),
    BaseTwoEta(2**70 - 1, 71),
]


def significant_bits(value: Fraction) -> int:
    """The bits from the highest set to the lowest set, of a positive dyadic rational."""
    numerator = value.numerator
    return (numerator // (numerator & -numerator)).bit_length()


def least_sufficient_precision(eta: BaseTwoEta, spread: int, outcomes: int) -> int:
    """The most bits that any sum of up to `outcomes` weights needs: what both answers must reach."""
    decay = Fraction(eta.x, 2**eta.y) ** eta.z
    weights = [decay**level for level in range(spread + 1)]
    return max(
        significant_bits(sum(chosen, Fraction(0)))
        for count in range(1, outcomes + 1)
        for chosen in combinations_with_replacement(weights, count)
    )


@pytest.mark.parametrize("eta", ETAS, ids=str)
@pytest.mark.parametrize(("spread", "outcomes"), [(0, 1), (3, 1), (0, 6), (1, 2), (4, 2), (2, 5), (3, 4), (1, 9)])
def test_both_precisions_suffice_for_every_sum_and_are_not_wasteful(
    eta: BaseTwoEta, spread: int, outcomes: int
) -> None:
    least = least_sufficient_precision(eta, spread, outcomes)
    assert worst_case_precision(eta, spread, outcomes) >= least
    assert empirical_precision(eta, spread, outcomes) >= least
    if outcomes > 1:
        assert empirical_precision(eta, spread, outcomes) < 2 * least
        if spread > 0:
            assert worst_case_precision(eta, spread, outcomes) == least


TWO_ROUNDS = partial(sample_by_rejection_rounds, rounds=2)
SAMPLERS = [sample_by_rejection, sample_by_bisection, TWO_ROUNDS]
WEIGHTS = [(1,), (7,), (8,), (1, 1, 1), (5, 3), (0, 3, 0, 5, 0), (1, 2, 4, 8, 1), (16, 1, 15, 2), (1,) * 13]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=["rejection", "bisection", "rounds"])
@pytest.mark.parametrize("values", WEIGHTS, ids=str)
def test_every_index_has_exactly_its_share(sampler: Sampler, values: tuple[int, ...]) -> None:
    expected = {i: Fraction(weight, sum(values)) for i, weight in enumerate(values) if weight}
    assert law_of(sampler, IntegerWeights(values)) == expected


def test_algorithm_4_always_uses_its_rounds_and_keeps_the_first_in_range() -> None:
    for drawn, index in [(0b11_10, 2), (0b10_11, 2), (0b01_10, 1)]:
        tape = TapedBits(drawn, 4)
        assert TWO_ROUNDS(IntegerWeights((1, 1, 1)), tape) == index
        assert tape.left == 0
    longer = TapedBits(0b11_11_11_01, 8)
    assert TWO_ROUNDS(IntegerWeights((1, 1, 1)), longer) == 1
    assert longer.left == 0


def test_bisection_takes_no_bit_beyond_the_one_that_decides() -> None:
    for tape, index, left in [(0b0_000, 0, 3), (0b10_00, 1, 2), (0b110_0, 2, 1), (0b1110, 3, 0), (0b1111, 4, 0)]:
        source = TapedBits(tape, 4)
        assert (sample_by_bisection(IntegerWeights((8, 4, 2, 1, 1)), source), source.left) == (index, left)
