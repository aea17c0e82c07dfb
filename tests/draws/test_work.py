"""Random bits drawn as a part of the output: counted for samplers and generators, in audits and in laws."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.draws.work import bits_between, seeing_work, with_bits
from attacklab.laws import Limits, enumerate_law
from attacklab.laws.proof import prove
from attacklab.model.errors import TargetError, UsageError
from attacklab.model.findings import Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.random_bits import RandomBits, SeededBits
from attacklab.model.releases import one_by_one
from attacklab.model.targets import Target

DRAWS: tuple[tuple[Callable[[np.random.Generator], Any], int], ...] = (
    (lambda rng: rng.random(5), 5 * 64),
    (lambda rng: rng.integers(0, 2**32, 3, dtype=np.uint32), 2 * 64 - 32),
    (lambda _: 0, 0),
)


@pytest.mark.parametrize(("draw", "bits"), DRAWS)
def test_the_bits_of_a_generator_are_counted(draw: Callable[[np.random.Generator], Any], bits: int) -> None:
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    draw(rng)
    assert bits_between(before, rng.bit_generator.state) == bits


def test_a_release_gives_each_output_with_the_bits_that_it_took() -> None:
    target = seeing_work(Target.noise(lambda answer, trials, rng: answer + rng.random((trials, 2))[:, 0], epsilon=1.0))
    assert [bits for _, bits in target.outputs(0.0, 3, np.random.default_rng(1))] == [128] * 3


def test_bits_that_are_not_seen_are_refused() -> None:
    elsewhere = np.random.default_rng(7)
    target = seeing_work(Target.noise(lambda answer, trials, _: answer + elsewhere.random(trials), epsilon=1.0))
    with pytest.raises(TargetError, match="drew nothing from the generator"):
        target.outputs(0.0, 3, np.random.default_rng(1))
    with pytest.raises(UsageError, match="cannot be counted here"):
        seeing_work(Target.noise(one_by_one(lambda value: value), epsilon=1.0))


def test_rejected_rounds_and_called_samplers_count_too() -> None:
    """Two of three in 4 are kept: rounds of 2 bits, so 2k bits have probability 3/4·(1/4)^(k − 1)."""

    def below_three(bits: RandomBits) -> int:
        return bits.repeat(lambda bits: drawn if (drawn := bits.take(2)) < 3 else None)

    law = enumerate_law(with_bits, below_three, limits=Limits(unresolved=Fraction(1, 2**20)))
    for rounds in (1, 2, 3):
        assert law.mass((1, 2 * rounds)) == pytest.approx(float(Fraction(1, 4) ** rounds), abs=2**-18)
    assert all(bits % 2 == 0 for _, bits in (with_bits(below_three, SeededBits(seed)) for seed in range(20)))


@pytest.mark.slow
def test_a_claim_on_outputs_with_their_bits_is_refuted_where_the_bits_tell() -> None:
    def told(bit: int, bits: RandomBits) -> int:
        return bits.take(1) ^ bits.take(1) if bit else bits.take(1)

    target = Target.noise(lambda bit, trials, _: [bit] * trials, epsilon=1.0).exact(told)
    pair = NeighbouringPair(0, 1, None)
    assert prove(target, pair).verdict is Verdict.PROVED
    assert prove(seeing_work(target), pair).verdict is Verdict.VIOLATED
