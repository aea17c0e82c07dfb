"""Laws as values: outcomes, masses, ideal laws enclosed by MPFR, and the laws of step functions of one uniform."""

import math
import struct
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpq
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attacklab.draws.errors import NotDeterministic, OpaqueOutcome
from attacklab.laws import Bounds, Law, LawError, exp_bounds, log_bounds, normalised, one_uniform, step_law
from attacklab.laws.enclosures import float_above, float_below
from attacklab.laws.outcomes import written
from attacklab.laws.step_functions import NotMonotone

HALF = Fraction(1, 2)
THIRD = Fraction(1, 3)

scalars = st.one_of(
    st.integers(), st.booleans(), st.text(max_size=3), st.binary(max_size=3), st.none(), st.floats(), st.fractions()
)
outcomes = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=2), max_leaves=4)
laws = st.dictionaries(outcomes, st.integers(1, 9), min_size=1, max_size=6).map(
    lambda weights: Law({outcome: mpq(weight, 60) for outcome, weight in weights.items()})
)


def taylor_exp(x: Fraction, terms: int = 80) -> Fraction:
    """e^x to far below 2^−200 for |x| ≤ 3, by its series in rationals."""
    total, term = Fraction(0), Fraction(1)
    for n in range(1, terms):
        total, term = total + term, term * x / n
    return total


class Pair(NamedTuple):
    first: int
    second: int


class Sign(Enum):
    PLUS = 1


class Text(str):
    """A string that may carry more than its characters."""


def test_floats_are_told_apart_by_their_bits() -> None:
    quiet, other = (struct.unpack(">d", bytes.fromhex(word))[0] for word in ("7ff8000000000000", "7ff8000000000001"))
    numbers = [0.0, -0.0, (0.0, 1), (-0.0, 1), quiet, 1.0]
    law = Law(dict.fromkeys(range(6), Fraction(1, 8))).map(numbers.__getitem__)
    assert len(law) == 6
    assert all(law.mass(number) == Fraction(1, 8) for number in numbers)
    assert quiet in law
    assert other not in law
    assert Law({0.0: HALF}).map(lambda x: -x).mass(-0.0) == HALF


def test_outcomes_that_python_calls_equal_are_told_apart_by_type() -> None:
    ones = [
        1, True, 1.0, Fraction(1), Decimal(1), Decimal("1.0"), 1 + 0j, np.int64(1), np.int32(1), np.float64(1),
        np.float32(1), np.bool_(True), gmpy2.mpz(1), gmpy2.mpq(1), gmpy2.mpfr(1), (1,), (True,), frozenset({1}),
        frozenset({True}), Pair(1, 1), Pair(True, 1), (1, 1), Sign.PLUS,
    ]  # fmt: skip
    law = Law((one, Fraction(1, 32)) for one in ones)
    assert len(law) == len(ones)
    assert all(law.mass(one) == Fraction(1, 32) for one in ones)
    assert len({Law({one: 1}).digest() for one in ones}) == len(ones)


def test_a_set_is_written_in_the_same_order_in_every_process() -> None:
    assert written(frozenset("hgfedcba")) == "{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}"


def test_an_outcome_whose_type_and_bits_cannot_be_read_is_refused() -> None:
    class Local(NamedTuple):
        value: int

    for outcome, name in ((object(), "object"), ([1], "list"), (Text("a"), "Text"), (Local(1), "Local")):
        with pytest.raises(OpaqueOutcome, match=name):
            Law([(outcome, 1)])


@pytest.mark.parametrize("mass", [-THIRD, math.nan, math.inf, "much", None])
def test_masses_that_are_not_probabilities_are_refused(mass: object) -> None:
    with pytest.raises(LawError, match="the mass of 'a'"):
        Law({"a": mass})


def test_an_image_adds_up_and_keeps_what_is_unresolved() -> None:
    law = Law({-2: Fraction(1, 8), 2: Fraction(1, 4), 1: HALF}).map(abs)
    assert dict(law.masses) == {2: Fraction(3, 8), 1: HALF}
    assert law.unresolved == Fraction(1, 8)
    assert law["another"] == Bounds(0, Fraction(1, 8))


@settings(max_examples=15)
@given(laws, laws)
def test_only_equal_laws_have_equal_digests(a: Law, b: Law) -> None:
    assert (a == b) == (a.digest() == b.digest())


@given(st.fractions(-3, 3))
def test_the_exponential_lies_within_its_bounds_and_they_are_close(x: Fraction) -> None:
    lower, upper = exp_bounds(x, 128)
    assert lower <= taylor_exp(x) <= upper
    assert upper - lower <= upper / 2**120
    assert (lower == upper) == (x == 0)


@given(st.fractions(Fraction(1, 20), 20))
def test_the_logarithm_lies_within_neighbouring_floats(x: Fraction) -> None:
    lower, upper = log_bounds(Bounds(x, x))
    assert exp_bounds(lower).lower <= x <= exp_bounds(upper).upper
    assert upper <= math.nextafter(lower, math.inf)


@given(st.fractions())
def test_floats_below_and_above_are_the_nearest_ones(x: Fraction) -> None:
    below, above = float_below(mpq(x)), float_above(mpq(x))
    assert Fraction(below) <= x <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))
    assert (below == above) == (Fraction(below) == x)


def test_an_ideal_law_is_enclosed_to_the_last_bits() -> None:
    law = normalised({n: exp_bounds(Fraction(-n, 2)) for n in range(6)})
    total = sum(taylor_exp(Fraction(-n, 2)) for n in range(6))
    for n in range(6):
        lower, upper = law[n]
        assert lower <= taylor_exp(Fraction(-n, 2)) / total <= upper
    assert 0 < law.unresolved < Fraction(1, 2**250)


@pytest.mark.parametrize("weights", [{}, {"a": Bounds(0, 0)}, {"a": Bounds(2, 1)}, {"a": Bounds(-1, 1)}])
def test_bad_weights_are_refused(weights: dict[str, Bounds]) -> None:
    with pytest.raises(ValueError, match="weight"):
        normalised(weights)


GRID = 1 << 53


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, GRID), max_size=40))
def test_breakpoints_are_found_wherever_they_lie(cuts: list[int]) -> None:
    """The steps are given as integers; the counts between them are known without any floating point."""
    cuts = sorted(cuts)
    edges = np.array(cuts, dtype=np.float64) / GRID
    law = step_law(lambda u: np.searchsorted(edges, u, side="right"))
    counts = [b - a for a, b in zip([0, *cuts], [*cuts, GRID], strict=True)]
    assert dict(law.masses) == {o: Fraction(count, GRID) for o, count in enumerate(counts) if count}


def test_an_outcome_on_two_intervals_is_refused() -> None:
    with pytest.raises(NotMonotone, match="more than one interval"):
        step_law(lambda u: np.floor(4 * u) % 2)


def test_a_mechanism_that_reads_other_randomness_is_refused() -> None:
    rng = np.random.default_rng(3)
    with pytest.raises((NotDeterministic, NotMonotone)):
        step_law(lambda u: np.where(rng.random(len(u)) < 0.5, 0, 1))
    calls: list[int] = []

    def drifting(u: NDArray[np.float64]) -> NDArray[np.bool_]:
        calls.append(len(u))
        return u < 0.5 - 0.01 * len(calls)

    with pytest.raises((NotDeterministic, NotMonotone)):
        step_law(drifting)


@pytest.mark.parametrize(
    "draw", [lambda g, n: g.random(n) + g.random(n), lambda g, n: g.random(2 * n)[:n], lambda g, n: g.normal(size=n)]
)
def test_a_mechanism_that_draws_anything_but_one_uniform_is_refused(draw: Any) -> None:
    def release(_: float, trials: int, rng: Any) -> NDArray[np.bool_]:
        return np.asarray(draw(rng, trials) < 0.5)

    with pytest.raises(LawError, match="must draw"):
        step_law(one_uniform(release, 0.0))
