"""Local sensitivity: n is read off the noise, noise scaled to the data is caught, noise scaled to the worst is not."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import Domain, Finding, Records, Target, Verdict
from attacklab.attacks import LocalSensitivity
from attacklab.attacks.local_sensitivity import MOST_PAIRS, estimated_scale, jumps, size_of_scale
from attacklab.auditing.referee import audit
from experiments import targets

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


def judged(release: Release, epsilon: float, attack: LocalSensitivity | None = None) -> list[Finding]:
    target = Target.mean(partial(release, epsilon=epsilon), epsilon=epsilon, bounds=(LOWER, UPPER))
    return audit(target, [attack or LocalSensitivity()], trials=20_000, seed=9, spend_all=True)


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
    assert accused.shown.epsilon_lower > accused.samples.answers * epsilon


def to_all_or_nothing(statistic: Callable[[NDArray[np.float64]], float], floor: float = 0.0) -> Release:
    """Noise scaled to how far one record at a bound, more or instead of another, or one fewer, moves a statistic."""

    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        records = np.clip(records, LOWER, UPPER)
        fewer = [np.delete(records, place) for place in range(len(records)) if len(records) > 1]
        near = [*fewer, *(np.append(rest, bound) for rest in (records, *fewer) for bound in (LOWER, UPPER))]
        moves = max(abs(statistic(changed) - statistic(records)) for changed in near)
        return float(statistic(records)) + rng.laplace(0.0, max(moves, floor), trials)

    return release


def middle(records: NDArray[np.float64]) -> float:
    return float(np.sort(records)[(len(records) - 1) // 2])


STATISTICS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "lower median": middle,
    "upper median": lambda records: float(np.sort(records)[len(records) // 2]),
    "mean of two medians": lambda records: float(np.median(records)),
    "upper quartile": lambda records: float(np.quantile(records, 0.75, method="lower")),
    "second largest": lambda records: float(np.sort(records)[-min(2, len(records))]),
    "range of the middle half": lambda records: float(np.ptp(np.quantile(records, (0.25, 0.75)))),
}
AS_DATASET: dict[str, Any] = {"epsilon": 1.0, "domain": Domain(shape=Records(), bounds=(LOWER, UPPER))}


@pytest.mark.parametrize(
    ("name", "relation"), list(zip(STATISTICS, [None, "add-remove", "substitute"] * 2, strict=True))
)
def test_one_answer_tells_on_which_side_of_a_jump_a_dataset_is(name: str, relation: str | None) -> None:
    target = Target.dataset(to_all_or_nothing(STATISTICS[name]), relation=relation, **AS_DATASET)
    (finding,) = audit(target, [LocalSensitivity()], trials=2_000)
    assert (finding.verdict, finding.samples.answers) == (Verdict.VIOLATED, 1)
    assert finding.shown.advantage.estimate == 1
    assert "bit for bit" in finding.shown.event


def test_noise_that_never_vanishes_is_caught_by_its_tails() -> None:
    target = Target.dataset(to_all_or_nothing(middle, floor=0.25), **AS_DATASET)
    (finding,) = audit(target, [LocalSensitivity()], trials=20_000)
    assert finding.verdict is Verdict.VIOLATED
    assert "exceeds" in finding.shown.event
    assert finding.shown.epsilon_lower > 1


def test_records_are_as_many_as_the_domain_has_and_of_its_type() -> None:
    seen: list[Any] = []

    def release(records: Any, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        seen.append(records)
        return middle(records) + rng.laplace(0.0, 1.0, trials)

    for least, most in ((0, 64), (2, 4), (15, 15), (1000, 1000)):
        seen.clear()
        domain = Domain(shape=Records(least=least, most=most), bounds=(-3, 9), integers=True)
        probe = partial(release, rng=np.random.default_rng(1))
        assert list(jumps(Target.dataset(release, epsilon=1.0, domain=domain), probe)) == []
        assert seen
        assert all(least <= len(records) <= most and records.dtype == np.int64 for records in seen)
        assert {-3, 9} == {value for records in seen for value in records.tolist()}
        assert len(seen) < MOST_PAIRS


SOUND = (
    targets.exact_median_smooth,
    targets.exact_median_ptr,
    targets.exact_quantile,
    targets.exact_age_sum,
    targets.exact_bounded_mean,
    targets.exact_sum_over_count,
)


@pytest.mark.parametrize("make", SOUND)
def test_exact_twins_are_not_accused(make: Callable[[float], Target]) -> None:
    """A false alarm has probability at most 1e-12 a target and seed, of which there are 12."""
    for seed in range(2):
        findings = audit(make(0.5), [LocalSensitivity()], trials=1_000, alpha=1e-12, seed=seed)
        assert not {Verdict.VIOLATED, Verdict.ERROR} & {finding.verdict for finding in findings}
