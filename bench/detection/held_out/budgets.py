"""Budgets overspent, and claims of other forms than pure epsilon."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.claims import GaussianDP, ZeroConcentrated
from attacklab.domains import Domain
from attacklab.targets import Target
from bench.detection.exact_noise import coins, truth_probability
from bench.detection.held_out.inputs import (
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
from bench.detection.specimen import Rng, Specimen, broken, sound

GROUP = "budgets"
NAMES = ("ash", "birch", "cedar")


def _all_of_it_each(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(values) + noise(0.5, trials, rng, size=3)


def _until_non_negative(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    outputs = int(answer) + noise(1.0, trials, rng)
    while (low := outputs < 0).any():
        outputs[low] = int(answer) + noise(1.0, int(low.sum()), rng)
    return outputs


def _variance_for_deviation(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    return answer + rng.normal(scale=1 / (2 * 2.0), size=trials)


def _deviation_without_sensitivity(answer: float, trials: int, rng: Rng) -> NDArray[Any]:
    return answer + np.rint(rng.normal(scale=2.0, size=trials) * 64) / 64


def _delta_each(values: Any, trials: int, rng: Rng) -> list[list[tuple[int, bool]]]:
    fails = coins(Fraction(1, 100), 4 * trials, rng).reshape(trials, 4)
    noisy = np.asarray(values) + np.where(fails, 0, noise(0.25, trials, rng, size=4))
    return [
        [(value, failed) for value, failed in zip(row, flags, strict=True)]
        for row, flags in zip(noisy.tolist(), fails.tolist(), strict=True)
    ]


def _root_of_eight(values: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return np.asarray(values) + noise(8**-0.5, trials, rng, size=8)


def _report(records: Any, epsilon: float, of_total: float, trials: int, rng: Rng) -> list[dict[str, Any]]:
    rows = (np.array(counts(records, NAMES)) + noise(epsilon, trials, rng, size=3)).tolist()
    totals = (len(records) + noise(of_total, trials, rng)).tolist()
    return [{"counts": row, "total": total} for row, total in zip(rows, totals, strict=True)]


def _total_for_free(records: Any, trials: int, rng: Rng) -> list[dict[str, Any]]:
    return _report(records, 0.5, 0.5, trials, rng)


def _total_from_budget(records: Any, trials: int, rng: Rng) -> list[dict[str, Any]]:
    return _report(records, 0.25, 0.25, trials, rng)


def _base_two(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(answer) + noise(4.0 / np.log(2), trials, rng)


def _fails_sometimes(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(answer) + np.where(coins(Fraction(1, 100), trials, rng), 0, noise(1.0, trials, rng))


def _bit(records: Any, trials: int, rng: Rng) -> NDArray[Any]:
    truth = coins(truth_probability(8.0), trials, rng)
    return np.where(truth, int(records[0]), 1 - int(records[0]))


def _pure(answer: Any, trials: int, rng: Rng) -> NDArray[Any]:
    return int(answer) + noise(1.0, trials, rng)


NON_NEGATIVE = Domain(integers=True, bounds=(0, 2**40))
SPECIMENS: tuple[Specimen, ...] = (
    broken(
        "whole_budget_for_each_answer",
        GROUP,
        lambda: Target.dataset(_all_of_it_each, epsilon=0.5, domain=integer_queries(3)),
        "each of three answers spends all of the budget",
        whole([0, 0, 0], [1, 1, 1]),
        lambda output: bool((output <= 0).all()),
    ),
    broken(
        "drawn_until_non_negative",
        GROUP,
        lambda: Target.noise(_until_non_negative, epsilon=1.0, domain=NON_NEGATIVE),
        "negative outputs are drawn again, which makes the others likelier the nearer the answer is to 0",
        whole(0, 1),
        lambda output: output == 0,
        trials=20_000,
    ),
    broken(
        "variance_as_deviation",
        GROUP,
        lambda: Target.noise(_variance_for_deviation, claim=ZeroConcentrated(2.0)),
        "the variance 1/(2 rho) is taken for the standard deviation",
        answers(0.0, 1.0),
        lambda output: output < 0.5,
    ),
    broken(
        "deviation_without_sensitivity",
        GROUP,
        lambda: Target.noise(
            _deviation_without_sensitivity, claim=GaussianDP(0.5), sensitivity=3.0, domain=INTEGERS, noise_scale=2.0
        ),
        "the standard deviation is 1/mu, whatever the sensitivity",
        whole(0, 3, 3.0),
        lambda output: output < 1.5,
    ),
    broken(
        "delta_for_each_answer",
        GROUP,
        lambda: Target.dataset(_delta_each, epsilon=1.0, delta=0.01, domain=integer_queries(4)),
        "each of four answers goes without noise, and says so, with probability delta",
        whole([0, 0, 0, 0], [1, 1, 1, 1]),
        lambda output: any(failed and value == 0 for value, failed in output),
        trials=20_000,
    ),
    broken(
        "root_of_the_number_of_answers",
        GROUP,
        lambda: Target.dataset(_root_of_eight, epsilon=1.0, delta=1e-6, domain=integer_queries(8)),
        "the budget is divided by the root of the number of answers, and delta does not pay for it",
        whole([0] * 8, [1] * 8),
        lambda output: int((output <= 0).sum()) >= 7,
        trials=20_000,
    ),
    broken(
        "total_for_free",
        GROUP,
        lambda: Target.dataset(_total_for_free, epsilon=0.5, relation=ADD_REMOVE, domain=categories(*NAMES)),
        "the total is released beside the counts at a budget of its own",
        added(["birch"], "ash"),
        lambda output: output["counts"][0] >= 1 and output["total"] >= 2,
        trials=10_000,
    ),
    broken(
        "epsilon_of_base_two",
        GROUP,
        lambda: Target.noise(_base_two, epsilon=4.0, domain=INTEGERS),
        "the scale is that of powers of two where the claim is of powers of e",
        whole(0, 1),
        lambda output: output <= 0,
        trials=40_000,
    ),
    sound(
        "total_from_the_budget",
        GROUP,
        lambda: Target.dataset(_total_from_budget, epsilon=0.5, relation=ADD_REMOVE, domain=categories(*NAMES)),
        "the counts and the total spend half of the budget each",
    ),
    sound(
        "fails_with_probability_delta",
        GROUP,
        lambda: Target.noise(_fails_sometimes, epsilon=1.0, delta=0.01, domain=INTEGERS),
        "noise is left out with probability delta, and keeps epsilon otherwise",
    ),
    sound(
        "one_bit_at_epsilon_8",
        GROUP,
        lambda: Target.dataset(_bit, epsilon=8.0, relation=SUBSTITUTE, domain=one_report(2)),
        "the truth is told e^8 times as often as the contrary, at the most",
    ),
    sound(
        "pure_noise_for_a_concentrated_claim",
        GROUP,
        lambda: Target.noise(_pure, claim=ZeroConcentrated(0.5), domain=INTEGERS),
        "pure epsilon implies a rho of epsilon^2/2",
    ),
)
