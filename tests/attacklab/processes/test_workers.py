"""Workers of any executor: batches ahead of a decision, targets that cannot travel, executors that break."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

import numpy as np
import pytest

from attacklab.findings import Verdict
from attacklab.processes.batches import Bench
from attacklab.processes.workers import AHEAD, ProcessWorkers, Workers
from attacklab.referee import audit
from attacklab.targets import Target
from tests.attacklab.processes import process_targets as own
from tests.attacklab.processes.process_targets import Bets
from tests.attacklab.processes.shared import Backwards, timeless


def test_batches_drawn_ahead_of_the_decision_are_bounded_thrown_away_and_not_begun() -> None:
    executor = Backwards()
    (finding,) = audit(own.beyond, [Bets()], trials=10**12, where=Workers(executor, 3).runner)
    (here,) = timeless(audit(own.beyond, [Bets()], trials=10**12))
    assert timeless([finding]) == [here]
    assert executor.most_waiting <= AHEAD * 3
    assert finding.counts is not None
    assert finding.counts.trials < 10_000
    assert executor.ran < 60  # of more than ten million batches


def test_a_target_that_cannot_be_pickled_runs_here_and_that_is_said() -> None:
    pids = set()

    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        pids.add(os.getpid())
        return own.noisy(records, trials, rng)

    said: list[str] = []
    (finding,) = audit(
        Target.dataset(release, epsilon=1.0, name="closure"),
        [Bets()],
        trials=100,
        where=ProcessWorkers(2, say=said.append).runner,
    )
    assert finding.verdict is not Verdict.ERROR
    assert pids == {os.getpid()}
    assert len(said) == 1
    assert said[0].startswith("closure cannot be sent to another process (")
    with pytest.warns(
        UserWarning,
        match=r"closure cannot be sent to another process \(.*\), so it runs in this one; to use workers, define",
    ):
        ProcessWorkers(2).runner(Bench(Target.dataset(release, epsilon=1.0, name="closure"), [], 0))


def test_an_executor_that_is_broken_fails_every_scenario() -> None:
    class Broken(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ARG002
            raise BrokenExecutor("gone")

    findings = audit(own.sound, [Bets(), Bets(name="second")], trials=10, where=Workers(Broken(), 1).runner)
    assert [finding.reason for finding in findings] == [
        "the workers are gone (BrokenExecutor: gone); start the audit again"
    ] * 2
