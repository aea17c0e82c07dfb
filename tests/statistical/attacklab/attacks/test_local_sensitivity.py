"""Local sensitivity: n is read off the noise, noise scaled to the data is caught, noise scaled to the bounds is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.auditing.attacks.local_sensitivity import TAIL_FACTORS, LocalSensitivity, estimated_scale, size_of_scale
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from mechanisms.local_sensitivity.naive import naive_local_sensitivity_mean

Release = Callable[..., NDArray[np.float64]]
LOWER, UPPER = -2.0, 6.0


def with_noise(scale_of: Callable[[int], float]) -> Release:
    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator, *, epsilon: float) -> object:
        mean = float(np.clip(records, LOWER, UPPER).mean())
        # A uniform of 62 bits: without the low bits of the generator's own Laplace, only the scale can leak.
        exponential = -np.log((rng.integers(0, 2**62, trials) + 0.5) / 2**62)
        return mean + rng.choice([-1, 1], trials) * exponential * scale_of(len(records)) / epsilon

    return release  # type: ignore[return-value]


local_noise = with_noise(lambda size: (UPPER - LOWER) / (size + 1))
global_noise = with_noise(lambda _size: UPPER - LOWER)


def judged(release: Release, epsilon: float, attack: LocalSensitivity | None = None) -> list[Finding]:
    target = Target.mean(partial(release, epsilon=epsilon), epsilon=epsilon, bounds=(LOWER, UPPER))
    return audit(target, [attack or LocalSensitivity()], trials=50_000, seed=9, spend_all=True)


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
@pytest.mark.parametrize("size", [1, 30, 32_561])
@pytest.mark.parametrize("answers", [10, 1_000, 100_000])
def test_estimated_size_converges_to_the_true_one(epsilon: float, size: int, answers: int) -> None:
    """The mean of m exponentials deviates by 7/√m relatively with probability below 1e-9 from 1000 answers on."""
    rng = np.random.default_rng(4)
    rows = 200 if answers == 10 else 1
    drawn = local_noise(np.full(size, LOWER), rows * answers, rng, epsilon=epsilon).reshape(rows, answers)
    estimates = size_of_scale(estimated_scale(drawn, LOWER), LOWER, UPPER, epsilon)
    assert estimates.shape == (rows,)
    # The median of many rows is as good as more answers.
    tolerance = 7 / math.sqrt(rows * answers)
    assert float(np.median(estimates + 1)) == pytest.approx(size + 1, rel=max(tolerance, 0.25 if rows > 1 else 0))


def test_scale_and_size_are_read_off_exactly_where_the_noise_is_exactly_its_scale() -> None:
    scale = (UPPER - LOWER) / (12 + 1) / 0.5
    rows = np.array([[3 + scale, 3 - scale], [3 - 2 * scale, 3.0]])
    assert estimated_scale(rows, 3.0) == pytest.approx(scale)
    assert estimated_scale(rows, np.array([[3.0], [3.0]])) == pytest.approx(scale)
    assert estimated_scale(np.array([3 - scale, 3 + 2 * scale]), 3.0) == pytest.approx([scale, 2 * scale])
    assert size_of_scale(scale, LOWER, UPPER, 0.5) == pytest.approx(12)
    assert size_of_scale([scale, 0.0], LOWER, UPPER, 0.5) == pytest.approx([12, math.inf])
    assert np.isnan(estimated_scale(np.array([[3.0, math.nan]]), 3.0)).all()


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_noise_scaled_to_the_data_is_caught(epsilon: float) -> None:
    findings = judged(local_noise, epsilon)
    assert len(findings) == 4
    assert Verdict.VIOLATED in {finding.verdict for finding in findings}
    accused = next(finding for finding in findings if finding.verdict is Verdict.VIOLATED)
    assert accused.epsilon_lower > accused.answers * epsilon


def test_the_textbooks_own_mean_is_caught() -> None:
    release = partial(naive_local_sensitivity_mean, upper=100.0, epsilon=1.0)
    target = Target.mean(release, epsilon=1.0, bounds=(0.0, 100.0))
    findings = audit(target, [LocalSensitivity()], trials=50_000, seed=9, spend_all=True)
    assert Verdict.VIOLATED in {finding.verdict for finding in findings}


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_noise_scaled_to_the_bounds_is_not_accused(epsilon: float) -> None:
    """Each finding is a false alarm with probability at most 1e-6, at this fixed seed."""
    for finding in judged(global_noise, epsilon):
        assert finding.verdict in (Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE)


def test_advantage_is_the_difference_of_the_tails_of_the_two_scales() -> None:
    """One answer: P[|noise| > t] = e^(−t/λ) on either side; 0.02 is over 6 standard deviations of 50 000 trials."""
    (finding,) = judged(local_noise, 1.0, LocalSensitivity(sizes=(1,), answers=(1,)))
    tails = [(math.exp(-factor * 2 / 2.5), math.exp(-factor * 3 / 2.5)) for factor in TAIL_FACTORS]
    near = [
        (p, q)
        for p, q in tails
        if abs(finding.first.estimate - p) < 0.02 * math.sqrt(p)
        and abs(finding.second.estimate - q) < 0.02 * math.sqrt(q)
    ]
    assert len(near) == 1
    # Only tails beyond twice the scale refute ε = 1.
    assert near[0][0] > math.e * near[0][1]


def test_pairs_are_one_record_at_the_lower_bound_apart() -> None:
    target = Target.mean(partial(local_noise, epsilon=1.0), epsilon=1.0, bounds=(LOWER, UPPER))
    scenarios = list(LocalSensitivity().scenarios(target, lambda *_: np.empty(0)))
    assert [(len(one.pair.first), len(one.pair.second), one.answers) for one in scenarios] == [
        (1, 2, 1),
        (1, 2, 8),
        (256, 257, 1),
        (256, 257, 8),
    ]
    assert all(set(one.pair.first) | set(one.pair.second) == {LOWER} for one in scenarios)


def test_a_claim_that_promises_nothing_of_eight_answers_is_untestable_there_and_judged_elsewhere() -> None:
    target = Target.mean(partial(global_noise, epsilon=1.0), epsilon=1.0, delta=0.2, bounds=(LOWER, UPPER))
    findings = audit(target, [LocalSensitivity()], trials=2_000)
    by_answers = {finding.answers: finding for finding in findings if finding.counts is not None}
    assert set(by_answers) == {1}
    others = [finding for finding in findings if finding.counts is None]
    assert {finding.verdict for finding in others} == {Verdict.UNTESTABLE}
    assert {finding.reason for finding in others} == {"the claim promises nothing of 8 answers together"}
