"""Where trials run: the same findings everywhere; who dies is known; nothing is left over and nothing held up."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab.auditing.judge import Advance
from attacklab.auditing.referee import audit
from attacklab.model.domains import Domain
from attacklab.model.errors import AttackError, TargetError, UsageError
from attacklab.model.findings import Finding, Verdict
from attacklab.model.loading import load_target
from attacklab.model.targets import Target
from attacklab.processes import runners, worker, workers
from attacklab.processes.batches import BATCH_OUTPUTS, Bench
from attacklab.processes.failures import ChildError, ChildFailure
from attacklab.processes.runners import InProcess, ParallelWhenSlow, Runner
from attacklab.processes.workers import AHEAD, ProcessWorkers, Workers, processors
from tests.system.attacklab.processes import process_targets as own
from tests.system.attacklab.processes.looking import ends, group, is_alive, numbers, wait_until
from tests.system.attacklab.processes.process_targets import Bets, Fails, timeless

ROOT = str(Path(__file__).parents[4])
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


class Backwards(Executor):
    """Runs its calls only when somebody waits for a result, and the latest first."""

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


def test_the_same_seed_gives_the_same_findings_in_any_number_of_workers() -> None:
    settings: dict[str, Any] = {"trials": 2 * BATCH_OUTPUTS, "seed": 5}
    attacks = [Bets(("plain", "other")), Bets(name="second")]
    with ProcessWorkers(2) as processes:
        for target, verdict in ((own.sound, Verdict.NOT_DETECTED), (own.beyond, Verdict.VIOLATED)):
            here = timeless(audit(target, attacks, **settings))
            assert {finding.verdict for finding in here} == {verdict}
            for where in (processes, Workers(Backwards(), 8)):
                assert timeless(audit(target, attacks, **settings, where=where.runner)) == here


@pytest.mark.parametrize("count", [1, 2])
def test_a_time_is_kept_while_scenarios_are_looked_for_in_workers(tmp_path: Path, count: int) -> None:
    """It is told by the outputs drawn, at 10 ms each; 1 s leaves 100, and each attack draws a few at the least."""
    kept = tmp_path / "drawn"
    target = Target.noise(partial(own.slow, kept=kept), epsilon=1.0, domain=Domain(integers=True))
    with ProcessWorkers(count) as processes:
        findings = audit(target, seconds=1.0, where=processes.runner)
    assert sum(map(int, kept.read_text().split())) < 300
    unreached = [finding for finding in findings if finding.reason.startswith("there is no time left to look")]
    assert unreached
    assert {finding.verdict for finding in unreached} == {Verdict.INCONCLUSIVE}


def test_every_batch_is_reported_in_order_wherever_it_runs() -> None:
    told: list[Advance] = []
    where = Workers(Backwards(), 2).runner
    audit(own.sound, [Bets(("plain", "deadly"))], trials=3_000, where=where, report=told.append)
    samples = Counter((at.scenario, at.choosing, at.trials) for at in told)
    assert list(samples) == [(1, True, 300), (1, False, 3_000), (2, True, 300), (2, False, 3_000)]
    for key in samples:
        done = [at.done for at in told if (at.scenario, at.choosing, at.trials) == key]
        assert done == sorted(done)
        assert done[-1] == key[2]
    assert {(at.attack, at.scenarios) for at in told} == {("bets", 2)}


class _OnUtilities(Bets):
    def applies_to(self, target: Target) -> bool:
        return target.kind == "selection"


def test_failures_and_refusals_of_the_target_and_of_an_attack_come_back_as_they_were() -> None:
    cases: list[tuple[Target, list[Any]]] = [
        (Target.selection(own.noisy, epsilon=1.0), [_OnUtilities()]),
        (Target.dataset(own.refusing, epsilon=0.5), [Bets()]),
        (own.sound, [Fails(), Bets(), Fails(name="two")]),
    ]
    found = []
    with ProcessWorkers(1) as processes:
        for target, attacks in cases:
            found.append(timeless(audit(target, attacks, trials=300)))
            assert timeless(audit(target, attacks, trials=300, where=processes.runner)) == found[-1]
    (failed,), (refused,), (first, _, *_, last) = found
    assert failed.verdict is Verdict.ERROR
    assert "not indices" in failed.reason
    assert refused.verdict is not Verdict.ERROR
    assert first.reason.startswith("attack bets raised ZeroDivisionError: a mistake (process_targets.py:")
    assert last.reason.startswith("attack two raised TwoPartError: two parts (process_targets.py:")


def test_what_goes_wrong_in_a_worker_is_raised_here_and_tells_where_it_was() -> None:
    class Unknown(Exception):
        """No other process can find it."""

    cases: list[tuple[BaseException, type[Exception]]] = [
        (ZeroDivisionError("a mistake"), ZeroDivisionError),
        (Unknown("parts"), RuntimeError),
        (SystemExit("an end"), TargetError),
        (ChildError(ChildFailure.CRASH, "killed"), TargetError),
        (AttackError("two"), AttackError),
    ]
    for error, kind in cases:
        raised = worker._portable(error)
        assert isinstance(raised, kind)  # of its own class, where that can be pickled
        assert str(error) in str(raised)
        assert raised.__notes__[0].startswith("In another process:\n")


def test_a_long_sample_goes_on_in_workers_and_a_short_one_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def audited(trials: int) -> tuple[list[Finding], list[str], int]:
        said: list[str] = []
        executor = Backwards()
        where = partial(ParallelWhenSlow, backend=Workers(executor, 2), say=said.append)
        return timeless(audit(own.sound, [Bets(("plain", "deadly"))], trials=trials, where=where)), said, executor.ran

    monkeypatch.setattr(runners, "WATCHED_SECONDS", 0.0)
    found, said, ran = audited(20_000)
    assert (said, ran) == ([], 0)
    assert found == timeless(audit(own.sound, [Bets(("plain", "deadly"))], trials=20_000))
    monkeypatch.setattr(runners, "LONG_SECONDS", 0.0)
    again, (told,), ran = audited(20_000)
    assert told.endswith("continuing in 2 processes")
    assert ran > 0
    assert again == found


def test_a_backend_needs_nothing_but_a_count_and_a_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        count = 3

        def runner(self, bench: Bench) -> Runner:
            benches.append(bench)
            return InProcess(bench)

    benches: list[Bench] = []
    monkeypatch.setattr(runners, "WATCHED_SECONDS", 0.0)
    monkeypatch.setattr(runners, "LONG_SECONDS", 0.0)
    audit(own.sound, [Bets()], trials=20_000, where=partial(ParallelWhenSlow, backend=Elsewhere(), say=lambda _: None))
    assert [bench.target for bench in benches] == [own.sound]


def test_batches_drawn_ahead_of_the_decision_are_bounded_thrown_away_and_not_begun() -> None:
    executor = Backwards()
    (finding,) = audit(own.beyond, [Bets()], trials=10**12, where=Workers(executor, 3).runner)
    assert timeless([finding]) == timeless(audit(own.beyond, [Bets()], trials=10**12))
    assert executor.most_waiting <= AHEAD * 3
    assert finding.counts is not None
    assert finding.counts.trials < 10_000
    assert executor.ran < 60  # of more than ten million batches


def test_a_closure_is_sent_and_what_cannot_be_sent_runs_here_and_that_is_said() -> None:
    def audited(held: Any) -> tuple[set[float], list[str]]:
        pids: set[float] = set()
        said: list[str] = []

        def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
            assert held is not None
            pids.add(os.getpid())
            return own.noisy(records, trials, rng)

        target = Target.dataset(release, epsilon=1.0, name="closure")
        with ProcessWorkers(1, say=said.append) as processes:
            (finding,) = audit(target, [Bets()], trials=100, where=processes.runner)
        assert finding.verdict is not Verdict.ERROR
        return pids, said

    assert audited("text") == (set(), [])
    pids, (told,) = audited(threading.Lock())
    assert pids == {os.getpid()}
    assert told.startswith("closure cannot be sent to another process (TypeError: cannot pickle '_thread.lock' object)")


def test_a_target_is_loaded_by_the_worker_and_must_be_the_same_version(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text(Path(own.__file__).read_text())
    load = partial(load_target, f"{path}:sound")
    target = load()
    with ProcessWorkers(1, load=load) as processes:
        found = audit(target, [Bets()], trials=2_000, where=processes.runner)
        assert timeless(found) == timeless(audit(target, [Bets()], trials=2_000))
        path.write_text(path.read_text() + "# edited\n")
        with pytest.raises(UsageError, match=r"a worker has version sha256:\w+ of noisy, not sha256:\w+"):
            audit(target, [Bets()], trials=2_000, seed=1, where=processes.runner)
        path.unlink()
        with pytest.raises(UsageError, match="a worker cannot load the target: there is no file"):
            audit(target, [Bets()], trials=2_000, seed=2, where=processes.runner)


@LINUX
def test_a_process_that_dies_fails_its_scenario_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a fork keeps open all that it had open."""
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.05)
    attacks = [Bets(("plain", "deadly", "plain")), Bets(name="second")]
    others = timeless(audit(own.sound, attacks, trials=3_000))
    with ProcessWorkers(1) as processes:
        findings = audit(Target.dataset(own.forking, epsilon=1.0), attacks, trials=3_000, where=processes.runner)
    reasons = [finding.reason for finding in findings if finding.verdict is Verdict.ERROR]
    assert reasons == ["forking: a worker process exited with status 3"]
    expected = [None if number == 1 else other.counts for number, other in enumerate(others)]
    assert [finding.counts for finding in findings] == expected


@LINUX
def test_a_process_that_dies_or_hangs_in_a_batch_that_is_not_needed_fails_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batches of more than 300 trials do; the evidence decides before the first of them."""
    monkeypatch.setattr(workers, "STALE_SECONDS", 0.05)
    for release in (own.leaving_large_batches, own.hanging_in_large_batches):
        target = Target.dataset(release, epsilon=0.01)
        with ProcessWorkers(1) as processes:
            found = audit(target, [Bets(("plain", "deadly"))], trials=100_000, where=processes.runner)
        assert {finding.verdict for finding in found} == {Verdict.VIOLATED}
        assert timeless(found) == timeless(audit(target, [Bets(("plain", "deadly"))], trials=100_000))


def test_a_process_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    target = Target.dataset(own.killed_once, epsilon=1.0)
    with ProcessWorkers(1, load=partial(own.remembering, str(flag), own.killed_once)) as processes:
        found = audit(target, [Bets()], trials=500, where=processes.runner)
    assert flag.exists()
    assert [finding.counts for finding in found] == [
        finding.counts for finding in audit(own.sound, [Bets()], trials=500)
    ]


@LINUX
def test_no_process_and_no_descriptor_is_left_when_the_workers_are_closed() -> None:
    def audited(target: Target) -> list[int]:
        with ProcessWorkers(1) as processes:
            audit(target, [Bets(("plain", "deadly", "plain"))], trials=1_000, where=processes.runner)
            left = [pid for leader in processes.pids() for pid in group(leader)]
            assert len(left) == 2  # the process and its guard
            assert all(map(is_alive, left))
        assert processes.pids() == []
        return left

    audited(own.sound)  # opens what stays open, such as the source of random seeds
    open_before = numbers("/proc/self/fd")
    assert ends(*audited(Target.dataset(own.leaving, epsilon=1.0)))
    assert numbers("/proc/self/fd") == open_before


PROGRAM = """
from attacklab.processes.workers import ProcessWorkers
from attacklab.auditing.referee import audit
from attacklab.model.targets import Target
from tests.system.attacklab.processes.process_targets import Bets, holding, printing

def release(records, trials, rng):
    return printing(records, trials, rng)

with ProcessWorkers(1) as workers:
    for each in (release, holding):
        (finding,) = audit(Target.dataset(each, epsilon=1.0), [Bets(("deadly",))], trials=500, where=workers.runner)
        print(finding.verdict.value, flush=True)
"""


@LINUX
def test_a_function_of_the_program_itself_runs_in_workers_and_none_outlives_a_program_that_is_killed(
    tmp_path: Path,
) -> None:
    """Not even one that lets no other thread of its process run; and what a target prints goes to standard error."""
    held = tmp_path / "held"
    held.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, "program.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ROOT, "HOLDING": str(held)},
        cwd=tmp_path,
        text=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "not detected\n"
        assert wait_until(lambda: len(numbers(held)) == 1, 60.0)
        left = [pid for leader in map(int, numbers(held)) for pid in group(leader)]
        program.kill()
        assert program.communicate()[1].startswith("rubbish\nmore of it\n")
    assert len(left) == 2
    assert ends(*left)


@LINUX
def test_executors_that_fork_have_processes_of_their_own() -> None:
    """The processes that this one keeps would give their answers to whichever fork reads first."""
    here = timeless(audit(own.sound, [Bets()], trials=3_000))
    with ThreadPoolExecutor(1) as threads:
        assert timeless(audit(own.sound, [Bets()], trials=3_000, where=Workers(threads, 1).runner)) == here
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as forks:
        assert timeless(audit(own.sound, [Bets()], trials=3_000, where=Workers(forks, 2).runner)) == here


def test_an_executor_that_is_broken_fails_every_scenario() -> None:
    class Broken(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ARG002
            raise BrokenExecutor("gone")

    findings = audit(own.sound, [Bets(), Bets(name="second")], trials=10, where=Workers(Broken(), 1).runner)
    assert [finding.reason for finding in findings] == [
        "the workers are gone (BrokenExecutor: gone); start the audit again"
    ] * 2


def test_a_number_of_workers_below_one_is_refused_and_one_for_each_processor_is_the_default() -> None:
    for count in (0, -1):
        with pytest.raises(UsageError, match=f"workers must be at least 1, not {count}"):
            ProcessWorkers(count)
    assert ProcessWorkers().count == processors() >= 1


def test_where_there_are_no_process_groups_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with ProcessWorkers(1) as processes, pytest.raises(UsageError, match="need a POSIX system, not Windows"):
        audit(replace(own.sound), [Bets()], trials=100, where=processes.runner)
    assert processes.pids() == []
