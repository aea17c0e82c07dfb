"""Special values: targets that fail or lose their noise on one dataset only are caught; others are not accused."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from attacklab import Finding, Relation, Target, Verdict
from attacklab.attacks import SPECIAL_VALUES
from attacklab.attacks.known_pairs import SPECIAL_RECORDS
from attacklab.auditing.referee import audit
from mechanisms.laplace.naive import naive_laplace_numpy
from mechanisms.summation.naive import naive_bounded_sum
from tests.attacks.making import scenarios_of

TINY = math.ulp(0.0)


def judged(target: Target, trials: int = 2_000) -> list[Finding]:
    return audit(target, [SPECIAL_VALUES], trials=trials, seed=3)


def verdicts(findings: list[Finding]) -> list[Verdict]:
    return [finding.verdict for finding in findings]


def naive_sum(lower: float, upper: float, epsilon: float = 1.0) -> Target:
    release = partial(naive_bounded_sum, epsilon=epsilon, lower=lower, upper=upper)
    return Target.sum(release, epsilon=epsilon, bounds=(lower, upper))


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (-1.0, 2.0), (3.0, 5.0), (-5.0, -3.0)])
def test_a_sum_that_one_nan_makes_nan_is_caught_by_its_failure(lower: float, upper: float) -> None:
    findings = judged(naive_sum(lower, upper))
    assert verdicts(findings)[0] is Verdict.VIOLATED
    assert set(verdicts(findings)[1:]) == {Verdict.NOT_DETECTED}
    assert (findings[0].shown.event, findings[0].shown.advantage.estimate) == ("the target fails", 1.0)


def test_a_sum_that_raises_for_records_that_are_not_finite_is_caught_on_each_of_them() -> None:
    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        if not np.isfinite(records).all():
            raise ValueError("records must be finite")
        return np.clip(records, 0.0, 1.0).sum() + rng.laplace(0.0, 1.0, trials)

    findings = judged(Target.sum(release, epsilon=1.0, bounds=(0.0, 1.0)))
    caught = [verdict is Verdict.VIOLATED for verdict in verdicts(findings)]
    assert caught[: len(SPECIAL_RECORDS)] == [not math.isfinite(value) for value in SPECIAL_RECORDS]
    assert not any(caught[len(SPECIAL_RECORDS) :])


def test_a_sign_of_zero_that_shows_is_caught() -> None:
    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(trials) < 0.5, records[0], 1.0)

    findings = judged(Target.sum(release, epsilon=0.1, bounds=(0.0, 1.0)))
    minus_zero = findings[SPECIAL_RECORDS.index(-0.0)]
    assert minus_zero.verdict is Verdict.VIOLATED
    assert minus_zero.shown.event in ("the answer is -0.0, bit for bit", "the answer is 0.0, bit for bit")


@pytest.mark.parametrize("sensitivity", [TINY, 2.0**-1060, 1.0, 3.7, 1e300])
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_answers_are_caught_where_the_noise_vanishes_and_only_there(sensitivity: float, epsilon: float) -> None:
    """A false alarm on one of the scenarios has probability at most 1e-6, at this fixed seed."""
    release = partial(naive_laplace_numpy, epsilon=epsilon, sensitivity=sensitivity)
    caught = Verdict.VIOLATED in verdicts(judged(Target.noise(release, epsilon=epsilon, sensitivity=sensitivity)))
    assert caught == (sensitivity / epsilon == 0.0)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 2.0), (-3.0, 2.0), (3.0, 5.0), (-5.0, -3.0)])
@pytest.mark.parametrize("nan_is", ["lower", "upper", "zero"])
def test_whatever_clipping_makes_of_a_record_the_sum_stays_within_either_sensitivity(
    bounds: tuple[float, float], nan_is: str
) -> None:
    lower, upper = bounds
    stand_in = {"lower": lower, "upper": upper, "zero": min(max(0.0, lower), upper)}[nan_is]
    allowed = min(max(abs(lower), abs(upper)), upper - lower)
    for scenario in scenarios_of(SPECIAL_VALUES, naive_sum(lower, upper)):
        sums = [
            sum(Fraction(min(max(stand_in if math.isnan(value) else value, lower), upper)) for value in records)
            for records in (scenario.pair.first.tolist(), scenario.pair.second.tolist())
        ]
        assert scenario.pair.relation is Relation.SUBSTITUTE
        assert abs(sums[0] - sums[1]) <= allowed


@pytest.mark.parametrize("sensitivity", [TINY, 1e-310, 0.3, 1.0, 1e17, 1e300, 1.7e308])
def test_pairs_of_answers_are_found_at_every_scale(sensitivity: float) -> None:
    """A pair cannot be made unless its answers are neighbours."""
    release = partial(naive_laplace_numpy, epsilon=1.0, sensitivity=sensitivity)
    scenarios = scenarios_of(SPECIAL_VALUES, Target.noise(release, epsilon=1.0, sensitivity=sensitivity))
    assert len(scenarios) == 4
