"""Counted work: what is counted is what was done, and outputs keep every bit."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.model.claims import OutputAndWork, PrivacyClaim
from attacklab.model.errors import TargetError
from attacklab.model.targets import Kind, Target
from attacklab.model.work import CountedBits, bits_between
from mechanisms.published import discrete_laplace, two_sided_geometric

LOOPED = Target.noise(lambda answer, trials, _rng: np.full(trials, answer), epsilon=1.0, name="looped")


@pytest.mark.parametrize("draws", [0, 1, 2, 3, 1000, 65_537])
def test_words_drawn_are_counted_from_the_states_alone(draws: int) -> None:
    rng = np.random.default_rng(11)
    rng.random(17)
    before = rng.bit_generator.state
    rng.random(draws)
    assert bits_between(before, rng.bit_generator.state) == 64 * draws


def test_halves_of_a_word_are_counted_singly() -> None:
    rng = np.random.default_rng(12)
    for halves in (1, 2, 3, 4, 7):
        before = rng.bit_generator.state
        rng.integers(0, 2**32, halves, dtype=np.uint32)
        assert bits_between(before, rng.bit_generator.state) == 32 * halves


def test_a_jump_of_any_length_is_counted() -> None:
    bits = np.random.PCG64(1)
    before = bits.state
    bits.advance(2**100 + 12_345)
    assert bits_between(before, bits.state) == 64 * (2**100 + 12_345)


def test_other_generators_are_refused() -> None:
    mine, others = np.random.PCG64(1).state, np.random.PCG64(2).state
    twister: Any = np.random.MT19937(1).state
    with pytest.raises(ValueError, match="PCG64 only, not for MT19937"):
        bits_between(twister, twister)
    with pytest.raises(ValueError, match="one generator"):
        bits_between(mine, others)


def test_counted_bits_are_fair_and_add_up() -> None:
    """Among 64 000 fair bits, fewer than 31 000 or more than 33 000 are set with probability below 1e-14."""
    bits = CountedBits(np.random.default_rng(3))
    drawn = [bits.take(count) for count in range(1, 64)] + [bits.take(0)]
    assert bits.taken == sum(range(1, 64))
    assert all(value >> count == 0 for count, value in zip(range(1, 64), drawn, strict=False))
    ones = sum(bits.take(64).bit_count() for _ in range(1000))
    assert 31_000 <= ones <= 33_000
    taken = bits.taken
    assert bits.words(3).dtype == np.uint64
    assert bits.taken == taken + 3 * 64
    assert 0 <= bits.take(np.int64(64)) < 1 << 64
    with pytest.raises(ValueError, match="at least 0, not -1"):
        bits.take(-1)


def test_a_sampler_of_the_project_runs_on_counted_bits() -> None:
    bits = CountedBits(np.random.default_rng(5))
    drawn = [discrete_laplace(Fraction(1), bits) for _ in range(200)]
    assert {type(noise) for noise in drawn} == {int}
    assert bits.taken > 200


def test_a_release_is_observed_with_the_bits_that_it_draws() -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.array([answer + len(rng.random(int(answer))) for _ in range(trials)])

    observed = Target.noise(release, epsilon=0.5, name="mine").covering_work()
    outputs = observed.outputs(5, 4, np.random.default_rng(0))
    assert outputs["work"].tolist() == [5 * 64] * 4
    assert outputs["output"].tolist() == [10] * 4
    assert (observed.kind, observed.name) == (Kind.NOISE, "mine")
    assert observed.claim == OutputAndWork(PrivacyClaim(0.5))


def test_vectors_are_observed_too() -> None:
    def release(counts: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(counts + rng.random((trials, 3)))

    outputs = Target.dataset(release, epsilon=1.0).covering_work().outputs(np.arange(3), 4, np.random.default_rng(0))
    assert outputs["output"].shape == (4, 3)
    assert outputs["output"].astype(int).tolist() == [[0, 1, 2]] * 4
    assert outputs["work"].tolist() == [3 * 64] * 4


def test_a_sampler_is_observed_with_the_bits_that_it_takes() -> None:
    def sampler(answer: int, bits: Any) -> int:
        noise: int = bits.call(two_sided_geometric, Fraction(1, 2))
        return answer + noise

    outputs = LOOPED.exact(sampler).covering_work().outputs(0, 500, np.random.default_rng(0))
    # A coin of probability 1/2 takes one bit: |n| successes, a failure and a sign, again whenever it comes to −0.
    assert (outputs["work"] >= np.abs(outputs["output"]) + 2).all()
    assert (outputs["work"][outputs["output"] == 3] % 2 == 5 % 2).all()


def test_outputs_keep_their_type_and_failures() -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> list[Any]:
        return [None if rng.random() < 0.5 else answer for _ in range(trials)]

    outputs = Target.noise(release, epsilon=1.0).covering_work().outputs(-0.0, 20, np.random.default_rng(1))
    assert {type(output) for output in outputs["output"]} == {type(None), float}
    floats = LOOPED.covering_work().outputs(np.float32(0.1), 3, np.random.default_rng(1))
    assert floats["output"].dtype == np.float32
    assert (floats["work"] == 0).all()


KEPT: Any = np.random.default_rng(3)
MINE = random.Random(3)
UNCOUNTED: dict[str, Callable[[], object]] = {
    "random": random.random,
    "numpy.random": np.random.random,
    "a generator that a module keeps": KEPT.random,
    "a generator of random that a module keeps": MINE.random,
    "secrets": lambda: secrets.randbelow(8),
    "os.urandom": lambda: os.urandom(8),
    "random.SystemRandom": random.SystemRandom().random,
}


@pytest.mark.parametrize("source", UNCOUNTED)
def test_work_is_not_counted_where_only_a_part_of_the_draws_is_seen(source: str) -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> list[float]:
        return [answer + rng.random() + sum(0 * bool(UNCOUNTED[source]()) for _ in range(3)) for _ in range(trials)]

    def sampler(answer: int, bits: Any) -> int:
        UNCOUNTED[source]()
        drawn: int = bits.take(1)
        return answer + drawn

    for target in (Target.noise(release, epsilon=1.0), LOOPED.exact(sampler)):
        with pytest.raises(TargetError, match=r"while it draws an output, and the bits of that one cannot be counted"):
            target.covering_work().outputs(0, 2, np.random.default_rng(0))


@pytest.mark.parametrize("make", [Target.noise, Target.dataset])
def test_a_pair_that_nothing_says_to_be_an_output_and_its_work_is_refused(make: Any) -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> list[tuple[float, int]]:
        return [(answer + rng.random(), 3) for _ in range(trials)]

    with pytest.raises(TargetError, match=r"nothing says that this is an output and its work; return"):
        make(release, epsilon=1.0).covering_work().outputs(0.0, 2, np.random.default_rng(0))


def test_a_generator_that_stays_where_it_was_is_no_reason_to_refuse() -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> list[float]:
        return [answer + rng.random() for _ in range(trials)]

    np.random.random()
    outputs = Target.noise(release, epsilon=1.0).covering_work().outputs(0, 3, np.random.default_rng(0))
    assert outputs["work"].tolist() == [64] * 3


def test_a_release_that_raises_is_an_error() -> None:
    def release(*_: object) -> None:
        raise RuntimeError("no")

    observed = Target.noise(release, epsilon=1.0).covering_work()
    with pytest.raises(TargetError, match="RuntimeError: no"):
        observed.outputs(0.0, 1, np.random.default_rng(0))
