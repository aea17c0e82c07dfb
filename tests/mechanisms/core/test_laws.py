"""The laws of noise against mpmath: tails, heights, losses, roundings, and draws by inversion."""

from dataclasses import dataclass
from fractions import Fraction

import gmpy2
import mpmath
import pytest
from gmpy2 import mpfr, mpq

from attacklab import Limits, SeededBits, TapedBits, enumerate_law
from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.inversion import invert
from mechanisms.core.laws import HEIGHT_BITS, DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace
from mechanisms.core.rounding import exp_above, log_above, rounding
from tests.mechanisms.core.known_laws import ALL_LAWS, known_mass, known_tail, named

DIGITS = 200


def sizes_of(law: Law) -> list[int]:
    """Steps near 0 and up to eight spreads away."""
    spread = int(law.spread) + 1
    return sorted({0, 1, 2, 3, 7, spread // 3, spread, spread + 1, 3 * spread, 8 * spread})


def within(value: mpmath.mpf, lower: mpfr, upper: mpfr) -> bool:
    return exactly(lower) <= value <= exactly(upper)


def exactly(number: mpfr) -> mpmath.mpf:
    mantissa, exponent = number.as_mantissa_exp()
    return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_tails_enclose_those_of_the_definition_and_closely(law: Law) -> None:
    with mpmath.workdps(DIGITS):
        for size in sizes_of(law):
            for outcome in (size, -size):
                truth = known_tail(law, outcome)
                for precision in (64, 128, 200):
                    lower, upper = law.tail(outcome, precision)
                    assert within(truth, lower, upper), (outcome, precision)
                    assert exactly(upper) - exactly(lower) <= truth * mpmath.mpf(2) ** (20 - precision)


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
@pytest.mark.parametrize("outcome", [10**9, 2**70 + 1, 10**30, 30, 60, 150])
def test_tails_hold_for_huge_outcomes(law: Law, outcome: int) -> None:
    """And for tens of spreads, the small numbers here, where the remainder of Euler and Maclaurin counts."""
    outcome = outcome if outcome >= 10**9 else outcome * (int(law.spread) + 1)
    with mpmath.workdps(DIGITS):
        truth = known_tail(law, outcome)
        for precision in (64, 320):
            lower, upper = law.tail(outcome, precision)
            assert 0 <= lower < upper <= 1
            assert within(truth, lower, upper)
            least, most = law.tail(1 - outcome, precision)
            assert within(1 - truth, least, most)
            assert exactly(most) - exactly(least) <= exactly(upper) - exactly(lower) + mpmath.mpf(2) ** (1 - precision)


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_heights_are_below_the_masses_and_near_them(law: Law) -> None:
    sizes = sizes_of(law)
    with mpmath.workdps(DIGITS):
        for size, height in zip(sizes, law.heights(sizes), strict=True):
            mass = known_mass(law, size) * mpmath.mpf(2) ** HEIGHT_BITS
            assert type(height) is int
            assert 0 <= height <= mass
            assert height >= mass * (1 - mpmath.mpf(10) ** -6) - 2**32


@pytest.mark.parametrize("law", ALL_LAWS, ids=named)
def test_guesses_are_right_or_a_step_beside(law: Law) -> None:
    for uniform in (0.001, 0.2, 0.4999, 0.5001, 0.77, 0.9999):
        outcome = law.guess(uniform)
        slack = 1 + abs(outcome) >> 40  # binary64 knows outcomes of 2^45 steps to some hundred
        assert law.tail(outcome - 1 - slack, 128).upper > uniform > law.tail(outcome + 2 + slack, 128).lower
        assert law.guess(mpq(uniform)) == outcome


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(7), Fraction(10**9 + 7, 3), 1 + Fraction(1, 10**20)])
def test_bounds_from_above_are_just_above_the_truth(number: Fraction) -> None:
    with mpmath.workdps(80):
        real = mpmath.mpf(number.numerator) / number.denominator
        small = min(number, Fraction(40))
        for bound, truth in (
            (log_above(number), mpmath.log(real)),
            (exp_above(small), mpmath.exp(mpmath.mpf(small.numerator) / small.denominator)),
            (exp_above(-small), mpmath.exp(-mpmath.mpf(small.numerator) / small.denominator)),
        ):
            excess = mpmath.mpf(bound.numerator) / bound.denominator - truth
            assert 0 <= excess <= abs(truth) * mpmath.mpf(2) ** -120 + mpmath.mpf(2) ** -127


SMALL = [
    DiscreteLaplace(Fraction(1, 4)),
    DiscreteLaplace(Fraction(5, 2)),
    RoundedLaplace(Fraction(3, 2)),
    DiscreteGaussian(Fraction(9, 4)),
    RoundedGaussian(Fraction(9, 4)),
]


@dataclass(frozen=True)
class BadGuesses(DiscreteLaplace):
    """A law whose guesses are all wrong, at different distances."""

    def rough_tail(self, outcome: int) -> int:
        return super().rough_tail(outcome + 3 if outcome < 0 else outcome - 5)


@pytest.mark.parametrize(
    ("law", "runs"),
    [(DiscreteLaplace(Fraction(1, 2)), 120), *((law, 400) for law in [*SMALL, BadGuesses(Fraction(1))])],
    ids=str,
)
def test_the_law_of_a_draw_is_found_by_a_few_runs_for_each_outcome(law: Law, runs: int) -> None:
    drawn = enumerate_law(invert, law, limits=Limits(Fraction(1, 1 << 40), runs=runs))
    assert drawn.unresolved <= Fraction(1, 1 << 40)
    with mpmath.workdps(40):
        for outcome in drawn.masses:
            mass = mpmath.mpf(gmpy2.mpq(drawn.mass(outcome)).numerator) / gmpy2.mpq(drawn.mass(outcome)).denominator
            assert mass <= known_mass(law, outcome) <= mass + mpmath.mpf(2) ** -40


@pytest.mark.parametrize("law", [*ALL_LAWS, BadGuesses(Fraction(4))], ids=named)
def test_a_draw_is_the_outcome_whose_tails_enclose_the_uniform(law: Law) -> None:
    """The bits are 192 random ones; the tails are those of the definition."""
    source = SeededBits(7)
    with mpmath.workdps(60):
        for _ in range(4):
            bits = source.take(192)
            outcome = invert(law, TapedBits(bits, 192))
            uniform = mpmath.mpf(bits) / mpmath.mpf(2) ** 192
            assert known_tail(law, outcome + 1) <= uniform <= known_tail(law, outcome)


class OfThirds:
    """P[N ≥ k] = (3/4)·3^−k for k ≥ 1, known but for a last bit, and N is symmetric."""

    spread = 1

    def tail(self, outcome: int, precision: int) -> Enclosure:
        exact = mpq(3, 4 * 3**outcome) if outcome >= 1 else 1 - mpq(3, 4 * 3 ** (1 - outcome))
        with rounding(precision)[0]:
            lower = mpfr(exact - mpq(1, 2**precision))
        with rounding(precision)[1]:
            return Enclosure(lower, mpfr(exact + mpq(1, 2**precision)))

    def rough_tail(self, outcome: int) -> int:
        return int(float(self.tail(outcome, 64).lower) * 2**HEIGHT_BITS)


def test_a_uniform_next_to_a_tail_takes_as_many_bits_as_tell_them_apart() -> None:
    """P[N ≥ 0] = 3/4 for q = 1/3, so only the first word that differs from those of 0.11000… decides."""
    law = OfThirds()
    for words in (1, 2, 4):
        for low, outcome in ((1, -1), (-2, 0)):
            tape = TapedBits((0b11 << 64 * words - 2) + low, 64 * words)
            assert invert(law, tape) == outcome
            assert tape.left == 0
