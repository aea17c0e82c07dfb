"""Noise of too few values, noise that several answers share, and budgets that are spent twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import Domain, Queries
from attacklab.model.targets import Target
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import (
    ADD_REMOVE,
    added,
    answers,
    categories,
    counts,
    integer_queries,
    noise,
    quick_noise,
    whole,
)

GROUP = "budgets"
NAMES = ("a", "b", "c")


def of_a_byte(byte: Any) -> Any:
    uniform = (byte + 0.5) / 256 - 0.5
    return -np.sign(uniform) * np.log(1 - 2 * np.abs(uniform))


FROM_THREE_TENTHS = np.sort(0.3 + of_a_byte(np.arange(256)))
TABLE = np.rint(np.random.default_rng(5).laplace(scale=2.0, size=4096) * 2**20) / 2**20
ONLY_FROM_ONE = frozenset((1.0 + TABLE).tolist()) - frozenset(TABLE.tolist())


def comes_from_three_tenths(output: float) -> bool:
    return float(np.abs(FROM_THREE_TENTHS - output).min()) < 1e-12


def one_draw_for_both(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(values) + noise(0.5, trials, rng)[:, np.newaxis]


def first_draw_again_above_ten(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    drawn = noise(0.4, trials, rng, size=2)
    if values[0] >= 10:
        drawn[:, 1] = drawn[:, 0]
    return np.asarray(values) + drawn


def names_above(threshold: int, epsilon: float, records: Any, trials: int, rng: Rng) -> list[str]:
    true = np.array(counts(records, NAMES))
    noisy = true + quick_noise(epsilon, 3 * trials, rng).reshape(trials, 3)
    shown = (true > 0) & (noisy > threshold)
    return ["".join(name for name, is_shown in zip(NAMES, row, strict=True) if is_shown) for row in shown.tolist()]


# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "uniform_of_a_byte", Target.noise, "noise is made of one of 256 uniforms",
        lambda answer, trials, rng: answer + of_a_byte(rng.integers(0, 256, size=trials)), answers(0.3, 0.0),
        comes_from_three_tenths, epsilon=1.0, noise_scale=1.0
    ),
    broken(
        "one_of_4096_draws", Target.noise, "noise is one of 4,096 draws on a grid",
        lambda answer, trials, rng: answer + TABLE[rng.integers(0, 4096, size=trials)], answers(1.0, 0.0),
        lambda output: float(output) in ONLY_FROM_ONE, trials=30_000, epsilon=0.5, noise_scale=2.0
    ),
    broken(
        "one_draw_for_both", Target.dataset, "both answers have the same noise", one_draw_for_both,
        whole([1, 0], [0, 0]), lambda output: output[0] - output[1] == 1, epsilon=1.0, domain=integer_queries(2)
    ),
    broken(
        "three_answers_at_half", Target.dataset, "three answers, each at half of the budget",
        lambda values, trials, rng: np.asarray(values) + noise(0.5, trials, rng, size=3), whole([1, 1, 1], [0, 0, 0]),
        lambda output: output.min() >= 1, trials=20_000, epsilon=1.0, domain=integer_queries(3)
    ),
    broken(
        "first_draw_again_above_ten", Target.dataset, "the first answer's noise is used again where that is large",
        first_draw_again_above_ten, whole([20, 0], [20, 1]), lambda output: output[0] - output[1] == 20, epsilon=1.0,
        domain=Domain(integers=True, bounds=(0, 100), shape=Queries(size=2))
    ),
    broken(
        "threshold_of_four", Target.dataset, "a name that one person has is shown above 4, which takes a larger delta",
        lambda records, trials, rng: names_above(4, 1.0, records, trials, rng), added(["a"], "c"),
        lambda output: "c" in output, trials=100_000, epsilon=1.0, delta=1e-4, relation=ADD_REMOVE,
        domain=categories(*NAMES)
    ),
    sound(
        "three_answers_at_a_third", Target.dataset, "three answers, each at a third of the budget",
        lambda values, trials, rng: np.asarray(values) + noise(1 / 3, trials, rng, size=3), epsilon=1.0,
        domain=integer_queries(3)
    ),
    sound(
        "threshold_of_twelve", Target.dataset, "one person's name comes above 12 less often than delta",
        lambda records, trials, rng: names_above(12, 0.99, records, trials, rng), epsilon=1.0, delta=1e-4,
        relation=ADD_REMOVE, domain=categories(*NAMES)
    ),
)
# fmt: on
