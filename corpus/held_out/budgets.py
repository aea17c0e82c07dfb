"""Budgets overspent, and claims of other forms than pure epsilon."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.claims import GaussianDP, ZeroConcentrated
from attacklab.model.domains import Domain
from attacklab.model.targets import Target
from corpus.common.exact_noise import coins, truth_probability
from corpus.common.specimen import Rng, Specimen, broken, sound
from corpus.held_out.inputs import (
    ADD_REMOVE,
    INTEGERS,
    SUBSTITUTE,
    added,
    answers,
    categories,
    counts,
    integer_queries,
    noise,
    one_report,
    whole,
)

GROUP = "budgets"
NAMES = ("ash", "birch", "cedar")


def drawn_until_non_negative(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    outputs = int(answer) + noise(1.0, trials, rng)
    while (low := outputs < 0).any():
        outputs[low] = int(answer) + noise(1.0, int(low.sum()), rng)
    return outputs


def delta_for_each_answer(values: Any, trials: int, rng: Rng) -> list[list[tuple[int, bool]]]:
    fails = coins(Fraction(1, 100), 4 * trials, rng).reshape(trials, 4)
    noisy = np.asarray(values) + np.where(fails, 0, noise(0.25, trials, rng, size=4))
    return [
        [(value, failed) for value, failed in zip(row, flags, strict=True)]
        for row, flags in zip(noisy.tolist(), fails.tolist(), strict=True)
    ]


def _report(records: Any, epsilon: float, of_total: float, trials: int, rng: Rng) -> list[dict[str, Any]]:
    rows = (np.array(counts(records, NAMES)) + noise(epsilon, trials, rng, size=3)).tolist()
    totals = (len(records) + noise(of_total, trials, rng)).tolist()
    return [{"counts": row, "total": total} for row, total in zip(rows, totals, strict=True)]


def fails_with_probability_delta(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(answer) + np.where(coins(Fraction(1, 100), trials, rng), 0, noise(1.0, trials, rng))


def one_bit_at_epsilon_8(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    truth = coins(truth_probability(8.0), trials, rng)
    return np.where(truth, int(records[0]), 1 - int(records[0]))


NON_NEGATIVE = Domain(integers=True, bounds=(0, 2**40))
# fmt: off
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "whole_budget_for_each_answer", Target.dataset, "each of three answers spends all of the budget",
        lambda values, trials, rng: np.asarray(values) + noise(0.5, trials, rng, size=3), whole([0, 0, 0], [1, 1, 1]),
        lambda output: bool((output <= 0).all()), epsilon=0.5, domain=integer_queries(3)
    ),
    broken(
        "drawn_until_non_negative", Target.noise,
        "negative outputs are drawn again, which makes the others likelier the nearer the answer is to 0",
        drawn_until_non_negative, whole(0, 1), lambda output: output == 0, trials=20_000, epsilon=1.0,
        domain=NON_NEGATIVE
    ),
    broken(
        "variance_as_deviation", Target.noise, "the variance 1/(2 rho) is taken for the standard deviation",
        lambda answer, trials, rng: answer + rng.normal(scale=1 / (2 * 2.0), size=trials), answers(0.0, 1.0),
        lambda output: output < 0.5, claim=ZeroConcentrated(2.0)
    ),
    broken(
        "deviation_without_sensitivity", Target.noise, "the standard deviation is 1/mu, whatever the sensitivity",
        lambda answer, trials, rng: answer + np.rint(rng.normal(scale=2.0, size=trials) * 64) / 64, whole(0, 3, 3.0),
        lambda output: output < 1.5, claim=GaussianDP(0.5), sensitivity=3.0, domain=INTEGERS, noise_scale=2.0
    ),
    broken(
        "delta_for_each_answer", Target.dataset,
        "each of four answers goes without noise, and says so, with probability delta", delta_for_each_answer,
        whole([0, 0, 0, 0], [1, 1, 1, 1]), lambda output: any(failed and value == 0 for value, failed in output),
        trials=20_000, epsilon=1.0, delta=0.01, domain=integer_queries(4)
    ),
    broken(
        "root_of_the_number_of_answers", Target.dataset,
        "the budget is divided by the root of the number of answers, and delta does not pay for it",
        lambda values, trials, rng: np.asarray(values) + noise(8**-0.5, trials, rng, size=8), whole([0] * 8, [1] * 8),
        lambda output: int((output <= 0).sum()) >= 7, trials=20_000, epsilon=1.0, delta=1e-6, domain=integer_queries(8)
    ),
    broken(
        "total_for_free", Target.dataset, "the total is released beside the counts at a budget of its own",
        lambda records, trials, rng: _report(records, 0.5, 0.5, trials, rng), added(["birch"], "ash"),
        lambda output: output["counts"][0] >= 1 and output["total"] >= 2, trials=10_000, epsilon=0.5,
        relation=ADD_REMOVE, domain=categories(*NAMES)
    ),
    broken(
        "epsilon_of_base_two", Target.noise, "the scale is that of powers of two where the claim is of powers of e",
        lambda answer, trials, rng: int(answer) + noise(4.0 / np.log(2), trials, rng), whole(0, 1),
        lambda output: output <= 0, trials=40_000, epsilon=4.0, domain=INTEGERS
    ),
    sound(
        "total_from_the_budget", Target.dataset, "the counts and the total spend half of the budget each",
        lambda records, trials, rng: _report(records, 0.25, 0.25, trials, rng), epsilon=0.5, relation=ADD_REMOVE,
        domain=categories(*NAMES)
    ),
    sound(
        "fails_with_probability_delta", Target.noise,
        "noise is left out with probability delta, and keeps epsilon otherwise", fails_with_probability_delta,
        epsilon=1.0, delta=0.01, domain=INTEGERS
    ),
    sound(
        "one_bit_at_epsilon_8", Target.dataset, "the truth is told e^8 times as often as the contrary, at the most",
        one_bit_at_epsilon_8, epsilon=8.0, relation=SUBSTITUTE, domain=one_report(2)
    ),
    sound(
        "pure_noise_for_a_concentrated_claim", Target.noise, "pure epsilon implies a rho of epsilon^2/2",
        lambda answer, trials, rng: int(answer) + noise(1.0, trials, rng), claim=ZeroConcentrated(0.5), domain=INTEGERS
    ),
)
# fmt: on
