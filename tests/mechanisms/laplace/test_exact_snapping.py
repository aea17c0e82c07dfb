"""The snapping mechanism's exact law: its loss is more than 1/λ, and less than what is claimed for it."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import gmpy2
import numpy as np
import pytest

from attacklab.random_bits import SeededBits, TapedBits
from mechanisms.laplace.exact_snapping import Snapping, exact_snapping, rounded_logarithm, uniform_float

LEAST_NORMAL, ONE = 1 << 52, int(np.float64(1).view(np.int64))
PRECISE = gmpy2.context(precision=200)


def double_of(pattern: int) -> float:
    return float(np.int64(pattern).view(np.float64))


def exact_law(mechanism: Snapping, answer: float) -> dict[float, Fraction]:
    """Find the law: for either sign the output is monotone in U*, and P[U* < u] = u for every double u.

    The end of each run of equal outputs is bisected over the doubles' bit patterns; the mass below the least
    normal double, 2^−1022, is counted with the first run.
    """
    law: defaultdict[float, Fraction] = defaultdict(Fraction)
    for sign in (1, -1):

        def output(pattern: int, sign: int = sign) -> float:
            return mechanism.release(answer, sign, rounded_logarithm(gmpy2.mpfr(double_of(pattern), 53)))

        first, reached = LEAST_NORMAL, Fraction(0)
        while first < ONE:
            current, inside, outside = output(first), first, ONE
            while outside - inside > 1:
                middle = (inside + outside) // 2
                inside, outside = (middle, outside) if output(middle) == current else (inside, middle)
            end = Fraction(double_of(outside))
            law[current] += (end - reached) / 2
            first, reached = outside, end
    return law


def privacy_loss(law: dict[float, Fraction], other: dict[float, Fraction]) -> Fraction:
    """The greatest |ln(P/Q)| over the outputs, to 200 bits."""
    worst = max(max(law[y] / other[y], other[y] / law[y]) for y in law)
    return Fraction(*map(int, PRECISE.log(PRECISE.div(worst.numerator, worst.denominator)).as_integer_ratio()))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("scale", "bound", "answer", "neighbour"),
    [
        (1.0, 8.0, 0.0, 1.0),
        (0.7, 30.0, 0.25, 1.25),
        (0.75, 50.0, 0.3, 1.3),
        (1.0, 64.0, 62.5, 63.5),
        (4.0, 512.0, 100.123, 101.123),
        (0.1, 25.0, 0.3, -0.7),
        (3.0, 40.0, -2.0, 0.7),
    ],
)
def test_the_real_loss_lies_between_the_textbooks_and_the_theorems(
    scale: float, bound: float, answer: float, neighbour: float
) -> None:
    """Mironov's theorem, 2^−49·B/λ beyond Δ/λ, is twice as sharp as ours and holds in each of these cases too."""
    mechanism = Snapping(scale, bound)
    law, other = exact_law(mechanism, answer), exact_law(mechanism, neighbour)
    assert sum(law.values()) == sum(other.values()) == 1
    assert law.keys() == other.keys()
    distance = abs(Fraction(answer) - Fraction(neighbour))
    ideal = distance / Fraction(scale)
    loss = privacy_loss(law, other)
    assert ideal < loss <= ideal + Fraction(bound) / Fraction(scale) / 2**49 < mechanism.epsilon(distance)


def test_every_output_is_a_multiple_of_the_step_or_an_end() -> None:
    law = exact_law(Snapping(0.7, 30.5), 12.3)
    assert Snapping(0.7, 30.5).step == 1
    assert set(law) == {float(n) for n in range(-30, 31)} | {-30.5, 30.5}


@pytest.mark.parametrize(("scale", "step"), [(1.0, 1), (1.1, 2), (0.5, 0.5), (0.51, 1), (2.0**-30, 2.0**-30)])
def test_the_step_is_the_least_power_of_two_that_is_at_least_the_scale(scale: float, step: float) -> None:
    assert Snapping(scale, 1000 * scale).step == Fraction(step)


def test_half_a_step_rounds_upward() -> None:
    """With U* = 1 − 2^−53 the noise is about −λ·2^−53 and vanishes in the sum."""
    tie, logarithm = 2.0**20 + 2.0**-11, rounded_logarithm(gmpy2.mpfr(1 - 2.0**-53, 53))
    assert Snapping(2.0**-10, 2.0**30).release(tie, 1, logarithm) == 2.0**20 + 2.0**-10
    assert Snapping(2.0**-10, 2.0**30).release(-tie, 1, logarithm) == -(2.0**20)


def test_less_than_half_a_step_does_not_round_upward_though_adding_a_half_in_floats_would() -> None:
    """½ + noise is the double below ½ here: adding ½ to it in binary64 gives 1."""
    mechanism = Snapping(math.nextafter(0.5, 1), 8.0)
    noisy = 0.5 + mechanism.scale * math.log1p(-(2.0**-53))
    assert noisy < 0.5
    assert math.floor(noisy + 0.5) == 1
    assert mechanism.release(0.5, 1, rounded_logarithm(gmpy2.mpfr(1 - 2.0**-53, 53))) == 0


def test_calibration_is_the_inverse_of_the_loss_and_never_claims_too_little() -> None:
    for epsilon, sensitivity in ((0.1, 1), (Fraction(1, 3), Fraction(7, 5)), (8, 0.01)):
        mechanism = Snapping.for_epsilon(epsilon, sensitivity, 2.0**20)
        assert mechanism.epsilon(sensitivity) <= Fraction(epsilon)
        tighter = Snapping(math.nextafter(mechanism.scale, 0), 2.0**20)
        assert tighter.epsilon(sensitivity) > Fraction(epsilon)


def test_the_uniform_has_a_geometric_exponent_and_a_uniform_mantissa() -> None:
    assert uniform_float(TapedBits(1 << 52, 53)) == 0.5
    assert uniform_float(TapedBits((1 << 53) - 1, 53)) == 1 - 2.0**-53
    mantissa = 0x123456789ABCD
    assert uniform_float(TapedBits(1 << 52 | mantissa, 56)) == math.ldexp(1 + mantissa * 2.0**-52, -4)
    assert uniform_float(TapedBits(1 << 52, 2053)) == gmpy2.exp2(-2001)


@pytest.mark.ci
def test_outputs_follow_the_exact_law() -> None:
    """20 000 draws stray from a probability by 0.025 with probability below 2·e^−25 (Hoeffding)."""
    mechanism = Snapping.for_epsilon(1, 1, 16.0)
    law = exact_law(mechanism, 0.3)
    bits = SeededBits(np.random.default_rng(31))
    outputs = [exact_snapping(0.3, bits, epsilon=1, bound=16.0) for _ in range(20_000)]
    assert set(outputs) <= set(law)
    for y, probability in law.items():
        assert abs(outputs.count(y) / 20_000 - probability) < 0.025


@pytest.mark.parametrize("answer", [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0])
def test_no_answer_makes_the_mechanism_fail(answer: float) -> None:
    assert abs(exact_snapping(answer, SeededBits(np.random.default_rng(32)), epsilon=1, bound=100.0)) <= 100


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"bound": 0.0}, "bound must be above 0"),
        ({"bound": math.inf}, "bound must be finite"),
        ({"bound": 3.0}, "between 4 and 2.46 times"),
        ({"bound": 2.0**47}, "between 4 and 2.46 times"),
        ({"epsilon": 1e-300, "sensitivity": 1e300}, "scale must be finite"),
        ({"epsilon": 1e300, "sensitivity": 1e-20, "bound": 1e-310}, "between 4 and 2.46 times|must lie in"),
    ],
)
def test_public_parameters_out_of_range_are_named(parameters: dict[str, object], message: str) -> None:
    arguments = {"epsilon": 1, "sensitivity": 1, "bound": 100.0} | parameters
    with pytest.raises(ValueError, match=message):
        exact_snapping(0.0, SeededBits(np.random.default_rng(0)), **arguments)


@pytest.mark.parametrize("bound", [100, Fraction(301, 3), 2**60 + 1])
def test_a_bound_that_is_not_a_double_is_refused(bound: object) -> None:
    with pytest.raises(TypeError, match="bound"):
        exact_snapping(0.0, SeededBits(np.random.default_rng(0)), epsilon=1, bound=bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [3, Fraction(1, 3), "1"])
def test_an_answer_that_is_not_a_double_is_refused(answer: object) -> None:
    with pytest.raises(TypeError, match="answer"):
        exact_snapping(answer, SeededBits(np.random.default_rng(0)), epsilon=1, bound=100.0)  # type: ignore[arg-type]
