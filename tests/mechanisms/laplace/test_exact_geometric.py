"""The mechanism of fixed work has a dyadic law within its ε, and does the same work whatever it draws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from attacklab.laws import advantage, enumerate_law
from attacklab.random_bits import SeededBits, TapedBits
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.laplace.exact_geometric import FixedWorkNoise, exact_two_sided_geometric
from mechanisms.randomness import RandomBits

ETAS = [BaseTwoEta(1, 1), BaseTwoEta(5, 3), BaseTwoEta(3, 2, 2), BaseTwoEta(255, 8), BaseTwoEta(1, 8)]
ONE = BaseTwoEta(1, 1)


def output_law(answer: int, noise: FixedWorkNoise) -> dict[int, Fraction]:
    """The law on [0, radius] by clamping every noise in turn: no sampler, no enumeration."""
    law: dict[int, Fraction] = {}
    for n, weight in zip(range(-noise.radius, noise.radius + 1), noise.weights, strict=True):
        output = min(max(answer + n, 0), noise.radius)
        law[output] = law.get(output, Fraction(0)) + Fraction(weight, 1 << noise.bits)
    return law


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("radius", [1, 2, 3, 12])
def test_neighbouring_answers_change_no_probability_by_more_than_the_claimed_factor(
    eta: BaseTwoEta, radius: int
) -> None:
    noise = FixedWorkNoise(eta, radius)
    laws = [output_law(answer, noise) for answer in range(radius + 1)]
    factors = [
        max(p[o] / q[o], q[o] / p[o])
        for p, q in pairwise(laws)
        for o in range(radius + 1)
    ]  # fmt: skip
    claimed = 1 / Fraction(int(eta.decay.numerator), int(eta.decay.denominator))
    assert all(sum(law.values()) == 1 and len(law) == radius + 1 for law in laws)
    assert max(factors) <= claimed
    assert radius == 1 or max(factors) == claimed


@pytest.mark.parametrize("eta", ETAS)
def test_the_law_is_close_to_that_of_the_clamped_geometric_mechanism(eta: BaseTwoEta) -> None:
    radius = 8
    noise = FixedWorkNoise(eta, radius)
    q = Fraction(int(eta.decay.numerator), int(eta.decay.denominator))
    for answer in range(radius + 1):
        ideal = {o: (1 - q) / (1 + q) * q ** abs(o - answer) for o in range(1, radius)}
        ideal |= {0: q**answer / (1 + q), radius: q ** (radius - answer) / (1 + q)}
        distance = sum(abs(p - ideal[o]) for o, p in output_law(answer, noise).items()) / 2
        assert sum(ideal.values()) == 1
        assert distance < Fraction(1, 1 << (2 * q.denominator.bit_length() - 1))


@pytest.mark.parametrize("answer", range(4))
def test_running_it_on_every_string_of_bits_gives_the_weights(answer: int) -> None:
    noise = FixedWorkNoise(ONE, 3)
    counts: Counter[int] = Counter()
    for tape in range(1 << noise.bits):
        bits = TapedBits(tape, noise.bits)
        counts[exact_two_sided_geometric(answer, bits, eta=ONE, lower=0, upper=3)] += 1
        assert bits.left == 0
    assert {o: Fraction(n, 1 << noise.bits) for o, n in counts.items()} == output_law(answer, noise)


def test_every_run_compares_with_every_threshold() -> None:
    class Counting(int):
        compared = 0

        def __ge__(self, other: int) -> bool:
            Counting.compared += 1
            return int(self) >= other

    class CountingBits(RandomBits):
        def __init__(self, drawn: int) -> None:
            self.drawn = drawn

        def take(self, count: int) -> int:
            assert self.drawn < 1 << count
            return Counting(self.drawn)

    noise = FixedWorkNoise(ONE, 3)
    for drawn in range(1 << noise.bits):
        Counting.compared = 0
        noise(CountingBits(drawn))
        assert Counting.compared == 6


@pytest.mark.parametrize("counted", ["bits", "calls"])
def test_who_sees_the_work_as_well_knows_no_more(counted: str) -> None:
    def joint(answer: int) -> object:
        return enumerate_law(
            lambda bits: exact_two_sided_geometric(answer, bits, eta=BaseTwoEta(5, 3), lower=-2, upper=3),
            counted=counted,  # type: ignore[arg-type]
        )

    p, q = joint(0), joint(1)
    assert p.closed
    assert q.closed
    assert len({work for _, work in [*p, *q]}) == 1
    seen, marginal = advantage(p, q), advantage(p.map(lambda pair: pair[0]), q.map(lambda pair: pair[0]))
    assert seen.lower == seen.upper == marginal.lower == marginal.upper > 0


def test_answers_beyond_the_range_count_as_its_ends() -> None:
    for answer, end in ((-(10**30), 2), (1, 2), (10**30, 9)):
        for seed in range(50):
            outputs = [
                exact_two_sided_geometric(a, SeededBits(np.random.default_rng(seed)), eta=ONE, lower=2, upper=9)
                for a in (answer, end)
            ]
            assert outputs[0] == outputs[1]
            assert 2 <= outputs[0] <= 9


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0.5, 0, 1), TypeError, "answer must be of a type of integers, not float"),
        ((0, 0.0, 1), TypeError, "lower must be an integer"),
        ((0, 0, Fraction(1)), TypeError, "upper must be an integer"),
        ((0, 3, 3), ValueError, "upper must be above lower = 3, not 3"),
        ((0, 3, -3), ValueError, "upper must be above lower"),
    ],
)
def test_an_answer_that_is_not_an_integer_or_an_empty_range_is_refused(
    arguments: tuple[int, int, int], error: type[Exception], message: str
) -> None:
    answer, lower, upper = arguments
    with pytest.raises(error, match=message):
        exact_two_sided_geometric(answer, TapedBits(0, 0), eta=ONE, lower=lower, upper=upper)


def test_a_radius_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="radius must be at least 1, not 0"):
        FixedWorkNoise(ONE, 0)
