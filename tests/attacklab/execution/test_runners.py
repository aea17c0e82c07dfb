"""Where trials run: the same findings everywhere, and a process that dies fails the scenario that it worked for."""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.errors import TargetError
from attacklab.execution import processes, runners
from attacklab.execution.batches import BATCH_OUTPUTS, Bench, Role, Sample
from attacklab.execution.processes import ProcessWorkers, processors
from attacklab.execution.runners import Here, WhenLong
from attacklab.execution.workers import AHEAD, Workers
from attacklab.findings import Finding, Verdict
from attacklab.loading import load_target
from attacklab.referee import Advance, audit
from attacklab.targets import Target
from tests.attacklab.execution import process_targets as own
from tests.attacklab.execution.process_targets import Bets

TARGETS = str(Path(own.__file__))
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
TRIALS = 10 * BATCH_OUTPUTS


def timeless(findings: list[Finding]) -> list[Finding]:
    return [replace(finding, seconds=0.0) for finding in findings]


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessWorkers]:
    """Two processes for all tests that leave them as they were."""
    with ProcessWorkers(2) as workers:
        yield workers


class Backwards(Executor):
    """Runs what it was given latest first, and only when somebody waits for a result."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []
        self.ran = 0
        self.most_waiting = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = _Demanded(self)
        self.waiting.append((future, partial(fn, *args, **kwargs)))
        self.most_waiting = max(self.most_waiting, len(self.waiting))
        return future

    def run_all(self) -> None:
        while self.waiting:
            future, call = self.waiting.pop()
            if not future.cancelled():
                self.ran += 1
                future.set_result(call())


class _Demanded(Future[Any]):
    def __init__(self, executor: Backwards) -> None:
        super().__init__()
        self._executor = executor

    def result(self, timeout: float | None = None) -> Any:
        self._executor.run_all()
        return super().result(timeout)


@pytest.mark.parametrize(("target", "spend_all"), [(own.sound, False), (own.sound, True), (own.beyond, False)])
def test_the_same_seed_gives_the_same_findings_in_any_number_of_workers(
    target: Target, spend_all: bool, pool: ProcessWorkers
) -> None:
    settings: dict[str, Any] = {"trials": TRIALS, "seed": 5, "spend_all": spend_all}
    attacks = [Bets(("plain", "other")), Bets(name="second")]
    here = timeless(audit(target, attacks, **settings))
    assert {finding.verdict for finding in here} == {Verdict.VIOLATED if target is own.beyond else Verdict.NOT_DETECTED}
    assert timeless(audit(target, attacks, **settings, where=pool.runner)) == here
    with ThreadPoolExecutor(3) as threads:
        assert timeless(audit(target, attacks, **settings, where=Workers(threads, 3).runner)) == here
    for count in (1, 3, 8):
        assert timeless(audit(target, attacks, **settings, where=Workers(Backwards(), count).runner)) == here


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 8])
def test_the_same_seed_gives_the_same_findings_in_one_process_and_in_eight(count: int) -> None:
    attacks = [Bets(("plain", "other"))]
    for target in (own.sound, own.beyond):
        with ProcessWorkers(count) as workers:
            assert timeless(audit(target, attacks, trials=TRIALS, where=workers.runner)) == timeless(
                audit(target, attacks, trials=TRIALS)
            )


def test_batches_drawn_ahead_of_the_decision_are_bounded_thrown_away_and_not_begun() -> None:
    executor = Backwards()
    (finding,) = audit(own.beyond, [Bets()], trials=10**12, where=Workers(executor, 3).runner)
    (here,) = timeless(audit(own.beyond, [Bets()], trials=10**12))
    assert timeless([finding]) == [here]
    assert executor.most_waiting <= AHEAD * 3
    assert finding.counts is not None
    assert finding.counts.trials < 10_000
    assert executor.ran < 60  # of more than ten million batches


@pytest.mark.parametrize(("answers", "trials"), [(1, 1), (1, 63), (1, 1_000_003), (7, 400_001), (70_000, 100)])
@pytest.mark.parametrize("spend_all", [False, True])
def test_a_sample_is_cut_into_batches_of_bounded_size_that_add_up(answers: int, trials: int, spend_all: bool) -> None:
    sample = Sample(0, 0, "", Role.JUDGE, (0,), answers, trials, spend_all)
    batches = list(sample.batches())
    assert [batch.number for batch in batches] == list(range(len(batches)))
    assert list(itertools.accumulate(batch.rows for batch in batches)) == [batch.done for batch in batches]
    assert batches[-1].done == trials
    assert batches[-1].looked_at
    assert all(batch.rows * answers <= BATCH_OUTPUTS or batch.rows == 1 for batch in batches)
    assert sum(batch.looked_at for batch in batches) == 1 or not spend_all


def test_a_target_is_loaded_by_the_worker_and_must_be_the_same_version(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text(Path(TARGETS).read_text())
    load = partial(load_target, f"{path}:sound")
    target = load()
    with ProcessWorkers(1, load=load) as workers:
        found = audit(target, [Bets()], trials=2_000, where=workers.runner)
        assert timeless(found) == timeless(audit(target, [Bets()], trials=2_000))
        path.write_text(path.read_text() + "# edited\n")
        with pytest.raises(ValueError, match=r"a worker has version sha256:\w+ of noisy, not sha256:\w+"):
            audit(target, [Bets()], trials=2_000, seed=1, where=workers.runner)
        path.unlink()
        with pytest.raises(ValueError, match="a worker cannot load the target: there is no file"):
            audit(target, [Bets()], trials=2_000, seed=2, where=workers.runner)


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


def test_a_target_without_a_seed_is_not_mixed_up_across_processes() -> None:
    target = Target.dataset(own.unseeded, epsilon=1.0)
    outlines = Bench(target, [Bets()], 0).outlines(0)
    sample = Sample(0, 0, outlines[0].digest(), Role.JUDGE, (0,), 1, 10, spend_all=False)
    with pytest.raises(
        TargetError, match="unseeded gave different outputs when it was probed again with the same seed, so"
    ):
        list(Here(Bench(target, [Bets()], 0)).counts(sample, sample.batches()))


@LINUX
@pytest.mark.parametrize(
    ("release", "reason"),
    [
        (own.leaving, "leaving: a worker process exited with status 3"),
        (own.killed, "killed: a worker process was killed by SIGKILL"),
    ],
)
def test_a_process_that_dies_fails_its_scenario_and_no_other(release: Callable[..., Any], reason: str) -> None:
    attacks = [Bets(("plain", "deadly", "plain")), Bets(name="second")]
    with ProcessWorkers(2) as workers:
        findings = audit(Target.dataset(release, epsilon=1.0), attacks, trials=3_000, where=workers.runner)
    # The same numbers as those of a target that does not die.
    others = timeless(audit(own.sound, [Bets(("plain", "deadly", "plain")), Bets(name="second")], trials=3_000))
    assert [(finding.verdict, finding.reason) for finding in findings if finding.verdict is Verdict.ERROR] == [
        (Verdict.ERROR, reason)
    ]
    assert [finding.counts for finding in findings] == [
        None if number == 1 else other.counts for number, other in enumerate(others)
    ]


@LINUX
def test_a_process_that_dies_of_a_batch_that_is_not_needed_fails_nothing() -> None:
    """Batches of more than 300 trials kill; the evidence decides before the first of them."""
    target = Target.dataset(own.leaving_large_batches, epsilon=0.01)
    with ProcessWorkers(2) as workers:
        (finding,) = audit(target, [Bets()], trials=100_000, where=workers.runner)
        (undecided,) = audit(replace(target, claim=own.sound.claim), [Bets()], trials=100_000, where=workers.runner)
    assert finding.verdict is Verdict.VIOLATED
    assert timeless([finding]) == timeless(audit(target, [Bets()], trials=100_000))
    assert undecided.verdict is Verdict.ERROR
    assert undecided.reason.endswith("exited with status 4")


def test_batches_that_are_not_needed_and_do_not_end_hold_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of more than 300 trials hang; the evidence decides before the first of them, in either scenario."""
    monkeypatch.setattr(processes, "STALE_SECONDS", 0.05)
    target = Target.dataset(own.hanging_in_large_batches, epsilon=0.01)
    attacks = [Bets(("plain", "deadly")), Bets(name="second")]
    with ProcessWorkers(2) as workers:
        found = audit(target, attacks, trials=100_000, where=workers.runner)
    assert {finding.verdict for finding in found} == {Verdict.VIOLATED}
    assert timeless(found) == timeless(audit(target, attacks, trials=100_000))


def test_a_process_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    target = Target.dataset(own.killed_once, epsilon=1.0)
    with ProcessWorkers(2, load=partial(own.remembering, str(flag), own.killed_once)) as workers:
        found = audit(target, [Bets()], trials=5_000, where=workers.runner)
    assert flag.exists()
    sound = audit(own.sound, [Bets()], trials=5_000)
    assert [finding.counts for finding in found] == [finding.counts for finding in sound]


def test_an_executor_that_is_broken_fails_every_scenario() -> None:
    class Broken(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ARG002
            raise BrokenExecutor("gone")

    findings = audit(own.sound, [Bets(), Bets(name="second")], trials=10, where=Workers(Broken(), 1).runner)
    assert [finding.reason for finding in findings] == [
        "the workers are gone (BrokenExecutor: gone); start the audit again"
    ] * 2


def test_failures_of_the_target_come_back_as_they_were(pool: ProcessWorkers) -> None:
    target = Target.selection(own.noisy, epsilon=1.0)
    attack = _OnUtilities()
    (here,), (there,) = (audit(target, [attack], trials=10, where=where) for where in (Here, pool.runner))
    assert there.verdict is Verdict.ERROR
    assert "not indices" in there.reason
    assert timeless([there]) == timeless([here])


class _OnUtilities(Bets):
    def applies_to(self, target: Target) -> bool:
        return target.kind == "selection"


def test_a_long_sample_goes_on_in_workers_and_a_short_one_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def audited(trials: int) -> tuple[list[Finding], list[str], int]:
        said: list[str] = []
        executor = Backwards()
        where = WhenLong(Workers(executor, 2), say=said.append).runner
        return timeless(audit(own.sound, [Bets(("plain", "deadly"))], trials=trials, where=where)), said, executor.ran

    monkeypatch.setattr(runners, "WATCHED_SECONDS", 0.0)
    found, said, ran = audited(20_000)
    assert (said, ran) == ([], 0)
    assert found == timeless(audit(own.sound, [Bets(("plain", "deadly"))], trials=20_000))
    monkeypatch.setattr(runners, "LONG_SECONDS", 0.0)
    found, said, ran = audited(20_000)
    assert len(said) == 1
    assert said[0].endswith("continuing in 2 processes")
    assert ran > 0
    assert found == timeless(audit(own.sound, [Bets(("plain", "deadly"))], trials=20_000))


def test_every_batch_is_reported_in_order_wherever_it_runs(pool: ProcessWorkers) -> None:
    told: list[Advance] = []
    audit(own.sound, [Bets(("plain", "deadly"))], trials=3_000, where=pool.runner, report=told.append)
    samples = Counter((at.scenario, at.choosing, at.trials) for at in told)
    assert list(samples) == [(1, True, 300), (1, False, 3_000), (2, True, 300), (2, False, 3_000)]
    for key in samples:
        done = [at.done for at in told if (at.scenario, at.choosing, at.trials) == key]
        assert done == sorted(done)
        assert done[-1] == key[2]
    assert {(at.attack, at.scenarios) for at in told} == {("bets", 2)}


@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_workers_below_one_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"workers must be at least 1, not {count}"):
        ProcessWorkers(count)


def test_one_process_for_each_processor_is_the_default() -> None:
    assert ProcessWorkers().count == processors() >= 1
