"""Textbook flaws of means: each is caught where it is, and none where it is not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate

from attacklab.attacks.textbook import NEGATIVE_WINDOW, DoubleBudget, MissingClip, PositionChunks
from attacklab.findings import Finding, Verdict
from attacklab.neighbours import Relation
from attacklab.referee import audit
from attacklab.targets import Target
from mechanisms.grid import Grid
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.exact import prepare_sum_over_count
from mechanisms.local_sensitivity.naive import naive_sample_aggregate, naive_sum_over_count
from mechanisms.randomness import SeededBits
from mechanisms.summation.exact import Bounds, exact_bounded_mean_fast, exact_bounded_sum_fast

BOUNDS = (0.0, 100.0)


def mean_target(release: Callable[..., Any], **parameters: Any) -> Target:
    return Target.mean(partial(release, epsilon=1.0, **parameters), bounds=BOUNDS, epsilon=1.0, name="mean")


def exact_sum_over_count(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    prepared = prepare_sum_over_count(records, domain=Domain(*BOUNDS, Grid(-14)), epsilon=1)
    return prepared.many(trials, SeededBits(rng))


SOUND = Target.mean(exact_sum_over_count, bounds=BOUNDS, epsilon=1.0, name="exact sum over count")


def aggregate(statistic: Callable[..., Any]) -> Target:
    return mean_target(naive_sample_aggregate, chunks=600, lower=BOUNDS[0], upper=BOUNDS[1], statistic=statistic)


def judged(target: Target, attack: Any, trials: int = 4_000) -> list[Finding]:
    return audit(target, [attack], trials=trials, seed=5, spend_all=True)


def verdicts(target: Target, attack: Any, trials: int = 4_000) -> list[Verdict]:
    return [finding.verdict for finding in judged(target, attack, trials)]


def test_chunks_of_positions_are_caught_by_the_shift_where_they_answer_with_a_maximum() -> None:
    shifted, _ = judged(aggregate(np.max), PositionChunks())
    assert shifted.verdict is Verdict.VIOLATED
    assert shifted.pair is not None
    assert [shifted.pair[side]["shape"] for side in ("first", "second")] == [[1199], [1200]]
    assert shifted.advantage is not None
    # The aggregate moves from 50 to 100 under noise of scale 1/6.
    assert shifted.advantage.estimate == 1


def test_chunks_of_positions_are_caught_by_one_record_more_where_they_answer_with_a_mean() -> None:
    """The aggregate moves by 100/301 under noise of scale 1/6: 1 − e^−0.997; 0.05 is 6 standard deviations."""
    mixed, doubled = judged(aggregate(np.mean), PositionChunks())
    assert mixed.verdict is Verdict.NOT_DETECTED
    assert doubled.verdict is Verdict.VIOLATED
    assert doubled.advantage is not None
    assert doubled.advantage.estimate == pytest.approx(1 - math.exp(-300 / 301), abs=0.05)


def test_a_mean_without_chunks_is_not_accused_of_them() -> None:
    assert verdicts(SOUND, PositionChunks()) == [Verdict.NOT_DETECTED] * 2


def test_a_sum_clipped_from_above_only_is_caught_from_below() -> None:
    below, above = judged(mean_target(naive_sum_over_count, upper=BOUNDS[1]), MissingClip())
    assert below.verdict is Verdict.VIOLATED
    assert above.verdict is Verdict.NOT_DETECTED
    assert below.pair is not None
    assert below.pair["relation"] == str(Relation.SUBSTITUTE)


def unclipped_sum(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.sum(records) + rng.laplace(0.0, 100.0, trials)


def test_a_sum_without_any_clip_is_caught_on_both_sides() -> None:
    target = Target.sum(unclipped_sum, bounds=BOUNDS, epsilon=1.0)
    assert verdicts(target, MissingClip()) == [Verdict.VIOLATED] * 2


GRID_BOUNDS = Bounds(*BOUNDS, Grid(-20))
CLIPPED = {
    "sum": Target.sum(
        lambda records, trials, rng: exact_bounded_sum_fast(
            records, trials, SeededBits(rng), epsilon=1, bounds=GRID_BOUNDS
        ),
        bounds=BOUNDS,
        epsilon=1.0,
    ),
    "mean, n public": Target.mean(
        lambda records, trials, rng: exact_bounded_mean_fast(
            records, trials, SeededBits(rng), epsilon=1, bounds=GRID_BOUNDS
        ),
        bounds=BOUNDS,
        epsilon=1.0,
    ),
    "mean, n private": SOUND,
}


@pytest.mark.parametrize("name", CLIPPED)
def test_records_beyond_the_bounds_leave_no_trace_where_they_are_clipped(name: str) -> None:
    """The laws are equal; with 0.1 for 4000 trials each of the two differs with probability below 1e-16."""
    for finding in judged(CLIPPED[name], MissingClip()):
        assert finding.verdict is Verdict.NOT_DETECTED
        assert finding.advantage is not None
        assert abs(finding.advantage.estimate) < 0.1


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
def test_the_window_oversteps_a_claim_of_epsilon_and_keeps_one_of_twice_that(epsilon: float) -> None:
    size = round(2 / epsilon)
    fewer, more = window_probability(size, epsilon), window_probability(size + 1, epsilon)
    assert math.exp(epsilon) < fewer / more < math.exp(2 * epsilon)


def halved(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(naive_sum_over_count(records, trials, rng, upper=BOUNDS[1], epsilon=0.5))


def test_a_budget_that_is_halved_is_not_accused() -> None:
    target = Target.mean(halved, bounds=BOUNDS, epsilon=1.0)
    assert verdicts(target, DoubleBudget(), trials=100_000) == [Verdict.NOT_DETECTED]
    assert verdicts(SOUND, DoubleBudget()) == [Verdict.NOT_DETECTED]


def test_bounds_below_zero_are_mirrored() -> None:
    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return -np.asarray(naive_sum_over_count(-records, trials, rng, upper=100.0, epsilon=1.0))

    target = Target.mean(release, bounds=(-100.0, 0.0), epsilon=1.0)
    assert verdicts(target, DoubleBudget(), trials=200_000) == [Verdict.VIOLATED]
    # Mirrored, the clip that is missing is the upper one.
    assert verdicts(target, MissingClip()) == [Verdict.NOT_DETECTED, Verdict.VIOLATED]


def test_each_applies_to_its_own_kinds() -> None:
    total = Target.sum(unclipped_sum, bounds=BOUNDS, epsilon=1.0)
    assert [attack.applies_to(total) for attack in (PositionChunks(), MissingClip(), DoubleBudget())] == [
        False,
        True,
        False,
    ]
    assert all(attack.applies_to(SOUND) for attack in (PositionChunks(), MissingClip(), DoubleBudget()))


def test_pairs_move_real_means_and_sums_by_no_more_than_one_record_can() -> None:
    for attack in (PositionChunks(), MissingClip(size=40), DoubleBudget()):
        for scenario in attack.scenarios(SOUND, lambda records, trials: np.full(trials, np.sum(records))):
            clipped = [
                [Fraction(record) for record in np.clip(side, *BOUNDS).tolist()]
                for side in (scenario.pair.first, scenario.pair.second)
            ]
            assert abs(sum(clipped[0]) - sum(clipped[1])) <= BOUNDS[1]
