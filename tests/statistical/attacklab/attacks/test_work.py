"""Work: a loop as long as the noise is caught by counted bits, fixed work is not. No test here looks at a clock."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab.auditing.attacks.work import Work, work_events
from attacklab.auditing.referee import audit
from attacklab.model.findings import Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from mechanisms.laplace.exact import exact_two_sided_geometric
from mechanisms.laplace.naive import naive_two_sided_geometric

RANGE = 7
ANSWERS = NeighbouringPair(4, 3, None)  # Integers; `NeighbouringPair.answers` would turn them into doubles


def naive(epsilon: float) -> Target:
    return Target.noise(partial(naive_two_sided_geometric, epsilon=epsilon), epsilon=epsilon).covering_work()


def fixed(epsilon: float) -> Target:
    term = exact_two_sided_geometric(epsilon=epsilon, lower=0, upper=RANGE)
    return Target.noise(naive_two_sided_geometric, epsilon=epsilon).exact(term.release).covering_work()


def judged(target: Target, trials: int = 5_000) -> Finding:
    (finding,) = audit(target, [Work(ANSWERS)], trials=trials, seed=4, spend_all=True)
    return finding


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_loop_as_long_as_the_noise_is_caught(epsilon: float) -> None:
    """Output plus draws has the answer's parity, so the advantage is 1 less the mass that the probes did not see.

    That mass is below 0.05 on average, and larger by 0.15 with probability at most e^(−2000·0.15²) < 1e-19 (McAllester
    and Ortiz 2003, missing mass).
    """
    finding = judged(naive(epsilon))
    assert finding.verdict is Verdict.VIOLATED
    assert finding.event.startswith("output and work")
    assert 0.8 <= finding.advantage.estimate <= 1.0


def test_output_and_draws_of_the_loop_have_the_parity_of_the_answer() -> None:
    for answer in (3, 4):
        outputs = naive(1.0).outputs(answer, 500, np.random.default_rng(1))
        assert set((outputs["output"] + outputs["work"] // 64) % 2) == {answer % 2}


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_fixed_work_is_not_accused(epsilon: float) -> None:
    """A false alarm has probability at most 1e-6, at this fixed seed."""
    finding = judged(fixed(epsilon), 1_000)
    assert finding.verdict is Verdict.NOT_DETECTED
    works = fixed(epsilon).outputs(3, 50, np.random.default_rng(1))["work"]
    assert len(set(works)) == 1


def test_work_that_depends_on_the_dataset_alone_is_caught_by_a_half_line() -> None:
    def slow(answer: int, trials: int, rng: np.random.Generator) -> np.ndarray:
        return np.array([len(rng.random(int(rng.integers(1, 8)) + 4 * answer)) * 0.0 for _ in range(trials)])

    pair = NeighbouringPair(1, 0, None)
    target = Target.noise(slow, epsilon=0.1).covering_work()
    (finding,) = audit(target, [Work(pair)], trials=2_000, seed=4)
    assert finding.verdict is Verdict.VIOLATED
    assert finding.event.startswith(("the work is at least", "output and work"))


def records(outputs: list[Any], work: list[int]) -> np.ndarray:
    values = np.array(outputs)
    seen = np.empty(len(work), dtype=[("output", values.dtype), ("work", np.int64)])
    seen["output"], seen["work"] = values, work
    return seen


def test_bets_are_half_lines_of_work_and_the_likelier_combinations() -> None:
    first, second = records([1, 1, 2, 2], [10, 10, 20, 20]), records([1, 2, 2, 1], [20, 10, 10, 20])
    *half_lines, combinations, alone = work_events(first, second)
    assert not alone.contains(first).any()  # each output is as frequent for either input
    assert [event.description for event in half_lines] == ["the work is at least 20"]
    assert half_lines[0].contains(first).tolist() == [False, False, True, True]
    assert combinations.contains(first).all()
    assert not combinations.contains(second).any()
    unseen = records([0, None, 3], [10, 10, 99])
    assert combinations.contains(unseen).tolist() == [False, False, True]


def test_many_values_are_cut_into_bins_and_failures_have_one_of_their_own() -> None:
    rng = np.random.default_rng(0)
    first = records(list(rng.normal(0, 1, 3000)), list(rng.integers(0, 10_000, 3000)))
    second = records(list(rng.normal(3, 1, 3000)), list(rng.integers(0, 10_000, 3000)))
    *half_lines, combinations, alone = work_events(first, second)
    assert alone.contains(first).mean() > 0.85
    assert len(half_lines) == 63
    assert combinations.contains(first).mean() > 0.85
    assert combinations.contains(second).mean() < 0.15
    failing = records([None, 1.0], [5, 5])
    *_, only, _ = work_events(failing[:1], failing[1:])
    assert only.contains(failing).tolist() == [True, False]


def test_a_claim_on_outputs_alone_is_not_judged_by_work() -> None:
    plain = Target.dataset(partial(naive_two_sided_geometric, epsilon=1.0), epsilon=1.0)
    (finding,) = audit(plain, [Work(ANSWERS)], trials=100)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "the claim says nothing of the work of an output" in finding.reason
    assert finding.alpha is None
