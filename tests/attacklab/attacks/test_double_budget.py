"""Double budget: caught at the rates that integration gives; a budget that is halved is not accused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from attacklab.attacks.double_budget import NEGATIVE_WINDOW, DoubleBudget
from attacklab.findings import Verdict
from attacklab.targets import Target
from mechanisms.local_sensitivity.naive import naive_sum_over_count
from tests.attacklab.attacks.means import (
    BOUNDS,
    SOUND,
    judged,
    mean_target,
    mirrored,
    moves_by_one_record_at_most,
    verdicts,
)


def window_probability(size: int, epsilon: float) -> float:
    """P[sum/(count·u) in the window] for n records at u, by integration over the count's noise."""

    def below(x: float) -> float:
        return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2

    def within(count: float) -> float:
        ends = sorted(epsilon * (end * count - size) for end in NEGATIVE_WINDOW)
        return (below(ends[1]) - below(ends[0])) * epsilon / 2 * math.exp(-epsilon * abs(count - size))

    breaks = sorted({0.0, float(size), *(size / end for end in NEGATIVE_WINDOW)})
    edges = [-60 / epsilon, *breaks, size + 60 / epsilon]
    return sum(integrate.quad(within, *pair)[0] for pair in itertools.pairwise(edges))


def test_a_budget_spent_twice_is_caught_at_the_rates_that_integration_gives() -> None:
    """Rates of 0.06 and 0.02 in 200 000 trials: 0.004 is over 7 standard deviations."""
    (finding,) = judged(mean_target(naive_sum_over_count, upper=BOUNDS[1]), DoubleBudget(), trials=200_000)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.epsilon_lower is not None
    assert finding.epsilon_lower > 1
    assert finding.first is not None
    assert finding.second is not None
    assert finding.first.estimate == pytest.approx(window_probability(2, 1.0), abs=0.004)
    assert finding.second.estimate == pytest.approx(window_probability(3, 1.0), abs=0.004)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0])
def test_the_window_breaks_a_claim_of_epsilon_and_keeps_one_of_twice_that(epsilon: float) -> None:
    size = round(2 / epsilon)
    fewer, more = window_probability(size, epsilon), window_probability(size + 1, epsilon)
    assert math.exp(epsilon) < fewer / more < math.exp(2 * epsilon)


def halved(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(naive_sum_over_count(records, trials, rng, upper=BOUNDS[1], epsilon=0.5))


def test_a_budget_that_is_halved_is_not_accused() -> None:
    target = Target.mean(halved, bounds=BOUNDS, epsilon=1.0)
    assert verdicts(target, DoubleBudget(), trials=100_000) == [Verdict.NOT_DETECTED]
    assert verdicts(SOUND, DoubleBudget()) == [Verdict.NOT_DETECTED]


def test_a_mean_of_records_below_zero_is_caught_by_the_mirrored_window() -> None:
    assert verdicts(mirrored(), DoubleBudget(), trials=200_000) == [Verdict.VIOLATED]


def test_it_applies_to_means() -> None:
    assert DoubleBudget().applies_to(SOUND)
    assert not DoubleBudget().applies_to(Target.sum(lambda *_: np.empty(0), bounds=BOUNDS, epsilon=1.0))


def test_its_pair_moves_the_real_sum_by_no_more_than_one_record_can() -> None:
    assert moves_by_one_record_at_most(DoubleBudget())
