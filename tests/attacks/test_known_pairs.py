"""Textbook sums and means: each flaw is caught on its pairs, as strongly as computed, and no sound twin is accused."""

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

from attacklab import Finding, Target, Verdict
from attacklab.attacks import DOUBLE_BUDGET, FAILING_SIZE, MISSING_CLIP, POSITION_CHUNKS, Attack
from attacklab.attacks.known_pairs import NEGATIVE_WINDOW
from attacklab.auditing.referee import audit
from mechanisms.core.grid import Grid
from mechanisms.local_sensitivity.exact import exact_sum_over_count
from mechanisms.local_sensitivity.naive import naive_sample_aggregate, naive_sum_over_count
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum
from tests.attacks.making import exactly

Records = NDArray[np.float64]

BOUNDS = (0.0, 100.0)
RANGE: dict[str, Any] = {"epsilon": 1, "lower": BOUNDS[0], "upper": BOUNDS[1]}
SOUND = Target.mean(exactly(exact_sum_over_count(**RANGE, grid=Grid(-14)).many), bounds=BOUNDS, epsilon=1.0)
CLIPPED = (
    SOUND,
    Target.sum(exactly(exact_bounded_sum(**RANGE, grid=Grid(-20)).many), bounds=BOUNDS, epsilon=1.0),
    Target.mean(
        exactly(exact_bounded_mean(relation="substitute", **RANGE, grid=Grid(-20)).many), bounds=BOUNDS, epsilon=1.0
    ),
)


def mean_target(release: Callable[..., Any], **parameters: Any) -> Target:
    return Target.mean(partial(release, epsilon=1.0, **parameters), bounds=BOUNDS, epsilon=1.0, name="mean")


def judged(target: Target, attack: Attack, trials: int = 4_000) -> list[Finding]:
    return audit(target, [attack], trials=trials, seed=5, spend_all=True)


def verdicts(target: Target, attack: Attack, trials: int = 4_000) -> list[Verdict]:
    return [finding.verdict for finding in judged(target, attack, trials)]


def mirrored() -> Target:
    """The textbook's mean of records below 0: it clips from below only."""

    def release(records: Records, trials: int, rng: np.random.Generator) -> Records:
        return -np.asarray(naive_sum_over_count(-records, trials, rng, upper=BOUNDS[1], epsilon=1.0))

    return Target.mean(release, bounds=(-BOUNDS[1], -BOUNDS[0]), epsilon=1.0, name="mirrored")


@pytest.mark.parametrize("attack", [DOUBLE_BUDGET, MISSING_CLIP.given(size=40), POSITION_CHUNKS])
def test_every_pair_moves_the_real_clipped_sum_by_no_more_than_one_record_can(attack: Attack) -> None:
    for scenario in attack.scenarios(SOUND, lambda records, trials: np.full(trials, np.sum(records))):
        first, second = (
            sum(map(Fraction, np.clip(side, *BOUNDS).tolist())) for side in (scenario.pair.first, scenario.pair.second)
        )
        assert abs(first - second) <= BOUNDS[1]


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
    (finding,) = judged(mean_target(naive_sum_over_count, upper=BOUNDS[1]), DOUBLE_BUDGET, trials=200_000)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.shown.epsilon_lower > 1
    assert finding.shown.first.estimate == pytest.approx(window_probability(2, 1.0), abs=0.004)
    assert finding.shown.second.estimate == pytest.approx(window_probability(3, 1.0), abs=0.004)
    assert verdicts(mirrored(), DOUBLE_BUDGET, trials=200_000) == [Verdict.VIOLATED]


def test_a_missing_clip_is_caught_on_the_side_where_it_is_missing() -> None:
    def unclipped_sum(records: Records, trials: int, rng: np.random.Generator) -> Records:
        return np.sum(records) + rng.laplace(0.0, 100.0, trials)

    caught, not_caught = Verdict.VIOLATED, Verdict.NOT_DETECTED
    from_above_only = mean_target(naive_sum_over_count, upper=BOUNDS[1])
    below, above = judged(from_above_only, MISSING_CLIP)
    assert (below.verdict, above.verdict, below.pair["relation"]) == (caught, not_caught, "substitute")
    assert verdicts(mirrored(), MISSING_CLIP) == [not_caught, caught]
    assert verdicts(Target.sum(unclipped_sum, bounds=BOUNDS, epsilon=1.0), MISSING_CLIP) == [caught] * 2


@pytest.mark.parametrize("target", CLIPPED)
def test_records_beyond_the_bounds_leave_no_trace_where_they_are_clipped(target: Target) -> None:
    """The laws are equal; with 0.1 for 4000 trials each of the two differs with probability below 1e-16."""
    for finding in judged(target, MISSING_CLIP):
        assert finding.verdict is Verdict.NOT_DETECTED
        assert abs(finding.shown.advantage.estimate) < 0.1


def aggregate(statistic: Callable[..., Any]) -> Target:
    return mean_target(naive_sample_aggregate, chunks=600, lower=BOUNDS[0], upper=BOUNDS[1], statistic=statistic)


def test_chunks_of_positions_are_caught_by_the_shift_where_they_answer_with_a_maximum() -> None:
    shifted, _ = judged(aggregate(np.max), POSITION_CHUNKS)
    assert shifted.verdict is Verdict.VIOLATED
    assert sizes(shifted) == (1199, 1200)
    assert shifted.shown.advantage.estimate == 1  # the aggregate moves from 50 to 100 under noise of scale 1/6


def test_chunks_of_positions_are_caught_by_one_record_more_where_they_answer_with_a_mean() -> None:
    """The aggregate moves by 100/301 under noise of scale 1/6: 1 − e^−0.997; 0.05 is 6 standard deviations."""
    mixed, doubled = judged(aggregate(np.mean), POSITION_CHUNKS)
    assert (mixed.verdict, doubled.verdict) == (Verdict.NOT_DETECTED, Verdict.VIOLATED)
    assert doubled.shown.advantage.estimate == pytest.approx(1 - math.exp(-300 / 301), abs=0.05)
    assert verdicts(SOUND, POSITION_CHUNKS) == [Verdict.NOT_DETECTED] * 2


def mean_that(fails: Callable[[Records, np.random.Generator], bool], *, by_nan: bool = False, **rest: Any) -> Target:
    """A sound mean that fails on some datasets: it raises, or returns NaN."""

    def release(records: Records, trials: int, rng: np.random.Generator) -> Records:
        if not fails(records, rng):
            return np.clip(np.append(records, 0.0), 0.0, 1.0).mean() + rng.laplace(0.0, 1.0, trials)
        if by_nan:
            return np.full(trials, math.nan)
        raise ZeroDivisionError("too few records")

    return Target.mean(release, epsilon=1.0, bounds=(0.0, 1.0), name="stub", **rest)


def sizes(finding: Finding) -> tuple[int, int]:
    return finding.pair["first"]["shape"][0], finding.pair["second"]["shape"][0]


@pytest.mark.parametrize("border", [1, 2, 3, 64, 199, 4096])
@pytest.mark.parametrize("by_nan", [False, True])
def test_the_first_size_that_a_target_answers_for_is_found_and_refutes_it(border: int, by_nan: bool) -> None:
    target = mean_that(lambda records, _rng: len(records) < border, by_nan=by_nan)
    (finding,) = audit(target, [FAILING_SIZE], trials=1_000)
    assert (finding.verdict, finding.shown.event) == (Verdict.VIOLATED, "the target fails")
    assert sizes(finding) == (border - 1, border)
    assert (finding.samples.counts.first, finding.samples.counts.second) == (finding.samples.counts.trials, 0)


def test_a_size_that_tells_nothing_or_is_public_is_not_accused_and_one_that_always_fails_is_an_error() -> None:
    attack = FAILING_SIZE
    assert verdicts(mean_that(lambda *_: False), attack) == [Verdict.NOT_APPLICABLE]
    public = mean_that(lambda records, _rng: len(records) < 10, relation="substitute")
    assert verdicts(public, attack) == [Verdict.NOT_APPLICABLE]
    (finding,) = judged(mean_that(lambda *_: True), attack)
    assert (finding.verdict, finding.reason) == (Verdict.ERROR, "stub raised ZeroDivisionError: too few records")
