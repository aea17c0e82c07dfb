"""Local sensitivity: n is read off the noise, noise scaled to the data is caught, noise scaled to the worst is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.attacks.base import Probe
from attacklab.attacks.local_sensitivity import (
    MOST_PAIRS,
    TAIL_FACTORS,
    LocalSensitivity,
    estimated_scale,
    jumps,
    size_of_scale,
)
from attacklab.auditing.referee import audit
from attacklab.model.domains import Domain, Graphs, Records
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Target
from experiments import targets
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
    return audit(target, [attack or LocalSensitivity()], trials=20_000, seed=9, spend_all=True)


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
    """One answer: P[|noise| > t] = e^(−t/λ) on either side; 0.035 is over 6 standard deviations of 20 000 trials."""
    (finding,) = judged(local_noise, 1.0, LocalSensitivity(sizes=(1,), answers=(1,)))
    tails = [(math.exp(-factor * 2 / 2.5), math.exp(-factor * 3 / 2.5)) for factor in TAIL_FACTORS]
    near = [
        (p, q)
        for p, q in tails
        if abs(finding.first.estimate - p) < 0.035 * math.sqrt(p)
        and abs(finding.second.estimate - q) < 0.035 * math.sqrt(q)
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
    assert finding.verdict is Verdict.VIOLATED
    assert finding.answers == 1
    assert finding.advantage.estimate == 1
    assert "bit for bit" in finding.event


def test_noise_that_never_vanishes_is_caught_by_its_tails() -> None:
    target = Target.dataset(to_all_or_nothing(middle, floor=0.25), **AS_DATASET)
    (finding,) = audit(target, [LocalSensitivity()], trials=20_000)
    assert finding.verdict is Verdict.VIOLATED
    assert "exceeds" in finding.event
    assert finding.epsilon_lower > 1


def test_a_sum_with_noise_scaled_to_its_largest_record_is_caught() -> None:
    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        kept = np.clip(records, 0, 5)
        return float(kept.sum()) + rng.laplace(0.0, kept.max(initial=0.0), trials)

    target = Target.sum(release, epsilon=1.0, bounds=(0.0, 5.0), relation="add-remove")
    assert [finding.verdict for finding in audit(target, [LocalSensitivity()], trials=2_000)] == [Verdict.VIOLATED]


def test_records_are_as_many_as_the_domain_has_and_of_its_type() -> None:
    seen: list[Any] = []

    def release(records: Any, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        seen.append(records)
        return middle(records) + rng.laplace(0.0, 1.0, trials)

    for least, most in ((0, 64), (2, 4), (15, 15), (1000, 1000)):
        seen.clear()
        domain = Domain(shape=Records(least=least, most=most), bounds=(-3, 9), integers=True)
        assert list(jumps(Target.dataset(release, epsilon=1.0, domain=domain), probe_of(release))) == []
        assert seen
        assert all(least <= len(records) <= most and records.dtype == np.int64 for records in seen)
        assert {-3, 9} == {value for records in seen for value in records.tolist()}
        assert len(seen) < MOST_PAIRS


def probe_of(release: Release) -> Probe:
    return lambda records, trials: release(records, trials, np.random.default_rng(1))


def triangles(graph: NDArray[np.bool_], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The number of triangles, with noise for the most of them that one edge of this graph can be in."""
    common = graph.astype(np.int64) @ graph
    noise = rng.laplace(0.0, common[np.triu_indices(len(graph), 1)].max(), trials)
    return np.asarray((common * graph).sum() / 6 + noise)


def test_graphs_are_told_apart_by_pairs_that_are_declared() -> None:
    edge = np.zeros((6, 6), dtype=bool)
    edge[0, 1] = edge[1, 0] = True
    path = edge.copy()
    path[1, 2] = path[2, 1] = True
    pairs = (NeighbouringPair.graphs(edge, path, Relation.EDGE),)
    domain = Domain(shape=Graphs(nodes=6))
    aware = Target.dataset(triangles, epsilon=1.0, domain=domain, relation=Relation.EDGE, pairs=pairs)
    (finding,) = audit(aware, [LocalSensitivity()], trials=2_000)
    assert (finding.verdict, finding.advantage.estimate) == (Verdict.VIOLATED, 1)
    unaware = replace(aware, pairs=())
    (finding,) = audit(unaware, [LocalSensitivity()], trials=2_000)
    assert finding.verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("epsilon", [0.1, 5.0])
def test_medians_are_told_apart_by_pairs_that_the_attack_finds(epsilon: float) -> None:
    (finding,) = audit(targets.naive_median(epsilon), [LocalSensitivity()], trials=20_000)
    assert (finding.verdict, finding.advantage.estimate) == (Verdict.VIOLATED, 1)


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


def test_noise_whose_scale_may_differ_by_as_much_as_is_claimed_is_not_accused() -> None:
    """Uniform noise in [0, 1) and in [0, 4) is (ln 4, 3/4)-close; a false alarm has probability 1e-12 a seed."""

    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.random(trials) * (4.0 if len(records) % 2 else 1.0)

    domain = Domain(shape=Records(), bounds=(LOWER, UPPER))
    target = Target.dataset(release, domain=domain, relation="add-remove", epsilon=math.log(4) + 1e-9, delta=0.75)
    for seed in range(5):
        (finding,) = audit(target, [LocalSensitivity()], trials=2_000, alpha=1e-12, seed=seed)
        assert finding.verdict not in (Verdict.VIOLATED, Verdict.ERROR, Verdict.NOT_APPLICABLE)


@pytest.mark.parametrize("outputs", [["a"] * 99, [(1.0, 2.0)] * 99, [None] * 99, [7.0] * 99, [math.inf] * 99])
def test_outputs_without_a_spread_are_nothing_to_try(outputs: list[Any]) -> None:
    def release(_: object, trials: int, __: np.random.Generator) -> list[Any]:
        return outputs[:trials]

    (finding,) = audit(Target.dataset(release, **AS_DATASET), [LocalSensitivity()], trials=1_000)
    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_datasets_on_which_a_target_fails_are_left_out() -> None:
    sound = to_all_or_nothing(middle)

    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        if records.mean() > 3:
            raise ZeroDivisionError
        return sound(records, trials, rng)

    (finding,) = audit(Target.dataset(release, **AS_DATASET), [LocalSensitivity()], trials=1_000)
    assert (finding.verdict, finding.advantage.estimate) == (Verdict.VIOLATED, 1)
