"""Score overflow: the point where a target's arithmetic breaks is found, and nothing is found where it doesn't."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab import Finding, Target, Verdict
from attacklab.attacks import ScoreOverflow
from attacklab.auditing.referee import audit
from mechanisms.exponential.naive import naive_exponential, naive_exponential_stabilised
from mechanisms.noisy_max.naive import naive_laplace_noisy_max
from tests.attacks.making import Release, scenarios_of, selection_of

STEP, WEIGHTS, DIFFERENCES, DOUBLES = range(4)


def wrapping(dtype: type) -> Release:
    """An exponential mechanism that subtracts the largest score in machine integers, whatever the result."""

    def release(
        utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float = 1.0
    ) -> np.ndarray:
        scores: np.ndarray = utilities.astype(dtype)
        gaps = (scores - scores.max()).astype(np.float64)
        weights = np.exp(epsilon * (gaps - gaps.max()) / (2 * sensitivity))
        return rng.choice(len(utilities), trials, p=weights / weights.sum())

    return release


def judged(target: Target, trials: int = 2_000) -> list[Finding]:
    return audit(target, [ScoreOverflow()], trials=trials, seed=3)


@pytest.mark.parametrize("sensitivity", [0.3, 1.0, 3.7, 1e-300])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 4.0])
def test_weights_break_on_either_side_of_the_largest_double(epsilon: float, sensitivity: float) -> None:
    pair = scenarios_of(ScoreOverflow(), selection_of(naive_exponential, epsilon, sensitivity))[WEIGHTS].pair
    nats = [epsilon * float(side[0]) / (2 * sensitivity) for side in (pair.first, pair.second)]
    # The sum of the two weights overflows first.
    boundary = 1024 * math.log(2) - math.log(2)
    assert nats[1] * (1 - 1e-12) <= boundary <= nats[0] * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("failure", ["none", "raise"])
def test_weights_that_overflow_on_one_neighbour_are_caught_with_certainty(epsilon: float, failure: str) -> None:
    def raising(utilities: np.ndarray, trials: int, rng: np.random.Generator, **parameters: float) -> Any:
        outputs = naive_exponential(utilities, trials, rng, **parameters)
        if isinstance(outputs, list):
            raise ZeroDivisionError("weights do not add up to a number")
        return outputs

    finding = judged(selection_of(raising if failure == "raise" else naive_exponential, epsilon))[WEIGHTS]
    assert (finding.verdict, finding.shown.event) == (Verdict.VIOLATED, "the target fails")
    assert finding.shown.advantage.estimate == 1.0


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_differences_that_wrap_are_caught_on_either_side_of_the_end_of_the_integer(dtype: type, epsilon: float) -> None:
    """The counts of 2 000 trials deviate by 0.15, 13 standard deviations or more, with probability below 1e-9."""
    target, ends = selection_of(wrapping(dtype), epsilon), np.iinfo(dtype)
    pair = scenarios_of(ScoreOverflow(), target)[DIFFERENCES].pair
    half_range = -(int(ends.min) // 2)
    assert pair.second.tolist() == [half_range, -half_range]
    assert pair.first.tolist() == [half_range + 1, -half_range - 1]
    finding = audit(target, [ScoreOverflow()], trials=2_000, seed=3, spend_all=True)[DIFFERENCES]
    assert finding.verdict is Verdict.VIOLATED
    nats = min(epsilon / 2 * float(ends.max), 700.0)
    law = 1 / (1 + math.exp(nats)) - 1 / (1 + math.exp(-nats))
    assert finding.shown.advantage.estimate == pytest.approx(law, abs=0.15)


@pytest.mark.parametrize("epsilon", [0.15, 1.0])
@pytest.mark.parametrize("release", [naive_exponential_stabilised, naive_laplace_noisy_max])
def test_integers_that_round_to_doubles_are_caught_with_certainty(release: Release, epsilon: float) -> None:
    finding = judged(selection_of(release, epsilon))[DOUBLES]
    assert (finding.verdict, finding.shown.advantage.estimate) == (Verdict.VIOLATED, 1.0)


@pytest.mark.parametrize("sensitivity", [1.0, 1.5, 7.0, 1e6])
def test_neighbours_are_within_the_sensitivity_as_integers(sensitivity: float) -> None:
    for scenario in scenarios_of(ScoreOverflow(), selection_of(naive_exponential_stabilised, 0.5, sensitivity)):
        first, second = scenario.pair.first.tolist(), scenario.pair.second.tolist()
        moves = [abs(Fraction(one) - Fraction(other)) for one, other in zip(first, second, strict=True)]
        assert 0 < max(moves) <= Fraction(sensitivity)


def test_a_noise_scale_that_underflows_is_caught_on_the_smallest_step() -> None:
    tiny = math.ulp(0.0)
    finding = judged(selection_of(naive_laplace_noisy_max, 4.0, tiny))[STEP]
    assert 2 * tiny / 4.0 == 0.0
    assert (finding.verdict, finding.shown.advantage.estimate) == (Verdict.VIOLATED, 1.0)
