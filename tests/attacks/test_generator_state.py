"""Generators: few seeds are enumerated, the Mersenne Twister is predicted, and unpredictable noise is not accused."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Finding, SeededBits, Target, Verdict
from attacklab.attacks import Attack, GeneratorSeed, GeneratorState
from attacklab.attacks.generator_seed import modern_draws, recover_seed
from attacklab.attacks.generator_state import known_outputs, recover_mt19937
from attacklab.attacks.mersenne_twister import WORDS, StateNotFound, recover_state
from attacklab.auditing.referee import audit
from mechanisms.core.grid import Grid
from mechanisms.laplace.exact import exact_discrete_laplace
from mechanisms.laplace.naive import naive_laplace_numpy


def words_of(generator: np.random.RandomState, count: int) -> NDArray[np.uint32]:
    return generator.randint(0, 2**32, count, dtype=np.uint32)


@pytest.mark.parametrize("leading", [32, 27, 16])
def test_leading_bits_of_outputs_from_any_point_determine_all_later_outputs(leading: int) -> None:
    generator = np.random.RandomState(5)
    words_of(generator, 217)
    count = 2 * WORDS if leading > 16 else 2 * WORDS + 50
    mask = np.full(count, 2**32 - 2 ** (32 - leading), dtype=np.uint32)
    recovered = recover_state(words_of(generator, count) & mask, mask)
    words_of(recovered, count - WORDS)
    assert np.array_equal(words_of(recovered, 2000), words_of(generator, 2000))


def test_outputs_with_one_wrong_bit_are_refused() -> None:
    outputs = words_of(np.random.RandomState(8), 1400)
    outputs[900] ^= np.uint32(1 << 31)
    with pytest.raises(StateNotFound, match="no state"):
        recover_state(outputs, np.full(1400, 2**32 - 32, dtype=np.uint32))


@pytest.mark.parametrize(("truth", "scale"), [(0.0, 1.0), (0.0, 1e-3), (40.0, 2.0), (-1e6, 1.0), (0.1, 1e7)])
def test_bits_read_off_answers_are_the_ones_that_the_generator_drew(truth: float, scale: float) -> None:
    uniforms = (np.random.RandomState(9).random_sample(20_000) * 2.0**53).astype(np.int64)
    drawn = np.stack([uniforms >> 26 << 5, (uniforms % 2**26) << 6], axis=1).ravel()
    answers = truth + np.random.RandomState(9).laplace(0.0, scale, 20_000)
    outputs, known = known_outputs(answers, np.full(20_000, truth), scale=scale)
    assert np.array_equal(outputs & known, drawn & known)
    # About 5 of the 53 bits are lost to the inversion, and more to the rounding of the answer.
    lost = 5 + max(0.0, np.log2(abs(truth) / scale + 1e-9) + 1)
    assert np.bitwise_count(known).sum() / 20_000 > 53 - lost


def test_the_noise_after_known_answers_is_predicted_to_the_last_bit() -> None:
    truth, answers = 40.0, 900
    generator = np.random.RandomState(10)
    generator.random_sample(77)
    released = truth + generator.laplace(0.0, 0.5, answers)
    recovered = recover_mt19937(released, truth, scale=0.5)
    assert np.array_equal(recovered.laplace(0.0, 0.5, 5000), generator.laplace(0.0, 0.5, 5000))


def test_answers_of_another_generator_or_scale_are_refused() -> None:
    with pytest.raises(StateNotFound):
        recover_mt19937(np.random.default_rng(1).laplace(size=640), 0.0, scale=1.0)
    with pytest.raises(StateNotFound):
        recover_mt19937(np.random.RandomState(1).laplace(size=640), 0.0, scale=1.1)


def histogram(draw: Callable[[np.random.Generator, int], NDArray[np.float64]]) -> Target:
    def release(counts: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return counts + draw(rng, trials * len(counts)).reshape(trials, len(counts))

    return Target.dataset(release, epsilon=1.0, name="histogram")


def from_legacy(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    return np.random.RandomState(int(rng.integers(2**32))).laplace(size=size)


def from_fair_bits(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
    return exact_discrete_laplace(epsilon=1, grid=Grid(0)).many(0, size, SeededBits(rng))


def judged(target: Target, attack: Attack) -> Finding:
    (finding,) = audit(target, [attack], trials=500, seed=2, spend_all=True)
    return finding


def test_a_histogram_of_legacy_noise_is_read_off_with_certainty() -> None:
    finding = judged(histogram(from_legacy), GeneratorState())
    counts = finding.samples.counts
    assert finding.verdict is Verdict.VIOLATED
    assert (counts.first, counts.second, counts.trials) == (174, 0, 174)  # 64·e^ε


@pytest.mark.parametrize("draw", [lambda rng, size: rng.laplace(size=size), from_fair_bits])
def test_a_histogram_of_other_noise_is_not_accused(draw: Callable[..., NDArray[np.float64]]) -> None:
    assert judged(histogram(draw), GeneratorState()).verdict is Verdict.NOT_DETECTED


def test_one_answer_tells_the_seed_and_a_second_one_confirms_it() -> None:
    answers = [3 + 2 * noise for noise in np.random.RandomState(4321).laplace(size=2)]
    assert recover_seed(answers[:1], [3.0], scale=2.0, seeds=range(5000)) == [4321]
    assert recover_seed(answers, [3.0, 3.0], scale=2.0, seeds=range(5000)) == [4321]
    assert recover_seed(answers, [3.0, 4.0], scale=2.0, seeds=range(5000)) == []
    modern = [np.random.default_rng(12).laplace()]
    assert recover_seed(modern, [0.0], scale=1.0, seeds=range(100), draws=modern_draws) == [12]
    assert recover_seed(modern, [0.0], scale=1.0, seeds=range(100)) == []


def seeded(make: Callable[[int], Any], answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return answer + np.array([make(seed).laplace() for seed in rng.integers(1000, 3000, trials)])


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_noise_from_few_seeds_is_caught(make: Callable[[int], Any]) -> None:
    target = Target.noise(partial(seeded, make), epsilon=1.0, name="seeded")
    finding = judged(target, GeneratorSeed(range(1000, 3000)))
    assert (finding.verdict, finding.shown.advantage.estimate) == (Verdict.VIOLATED, 1)


def test_noise_of_a_scale_that_the_target_states_is_caught_and_of_another_scale_is_not() -> None:
    release = partial(seeded, np.random.RandomState)
    said = Target.noise(release, epsilon=0.7, noise_scale=1.0, name="seeded")
    assert judged(said, GeneratorSeed(range(1000, 3000))).verdict is Verdict.VIOLATED
    unsaid = Target.noise(release, epsilon=0.7, name="seeded")
    assert judged(unsaid, GeneratorSeed(range(1000, 3000))).verdict is Verdict.NOT_DETECTED


def test_noise_from_other_seeds_and_from_much_entropy_is_not_accused() -> None:
    target = Target.noise(partial(seeded, np.random.RandomState), epsilon=1.0, name="seeded")
    assert judged(target, GeneratorSeed(range(1000))).verdict is Verdict.NOT_DETECTED
    unpredictable = Target.noise(partial(naive_laplace_numpy, epsilon=1.0), epsilon=1.0, name="unpredictable")
    assert judged(unpredictable, GeneratorSeed(range(3000))).verdict is Verdict.NOT_DETECTED
