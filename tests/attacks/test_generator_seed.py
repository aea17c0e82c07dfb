"""Generator seed: few seeds are enumerated, unpredictable noise is not accused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.generator_seed import GeneratorSeed, modern_draws, recover_seed
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from mechanisms.laplace.naive import naive_laplace_numpy


def judged(target: Target, attack: GeneratorSeed) -> Finding:
    (finding,) = audit(target, [attack], trials=500, seed=2, spend_all=True)
    return finding


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
    assert finding.verdict is Verdict.VIOLATED
    assert finding.advantage.estimate == 1


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
