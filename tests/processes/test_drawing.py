"""Where outputs are drawn: the same findings in any executor; who dies is known; nothing is left over or held up."""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacklab import Target, Verdict
from attacklab.auditing.drawing import AHEAD, Draws, Request
from attacklab.auditing.referee import audit
from attacklab.auditing.samples import BATCH_OUTPUTS
from attacklab.cli.where import Processes
from attacklab.loading.targets import load_target
from tests.processes import process_targets as own
from tests.processes.process_targets import Bets, Fails, timeless

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with Processes(2) as executor:
        yield executor


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


def test_the_same_seed_gives_the_same_findings_in_any_executor(processes: Executor) -> None:
    settings: dict[str, Any] = {"trials": 2 * BATCH_OUTPUTS, "seed": 5}
    attacks = [Bets(("plain", "other")), Bets(name="second")]
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(1) as standard:
        for target, verdict in ((own.sound, Verdict.NOT_DETECTED), (own.beyond, Verdict.VIOLATED)):
            here = timeless(audit(target, attacks, **settings))
            assert {finding.verdict for finding in here} == {verdict}
            for executor in (processes, standard, threads, Backwards()):
                assert timeless(audit(target, attacks, **settings, executor=executor)) == here


class _OnUtilities(Bets):
    def applies_to(self, target: Target) -> bool:
        return target.kind == "selection"


def test_failures_and_refusals_of_the_target_and_of_an_attack_are_the_same_elsewhere(processes: Executor) -> None:
    cases: list[tuple[Target, list[Any]]] = [
        (Target.selection(own.noisy, epsilon=1.0), [_OnUtilities()]),
        (Target.dataset(own.refusing, epsilon=0.5), [Bets()]),
        (own.sound, [Fails(), Bets(), Fails(name="two")]),
    ]
    found = []
    for target, attacks in cases:
        found.append(timeless(audit(target, attacks, trials=300)))
        assert timeless(audit(target, attacks, trials=300, executor=processes)) == found[-1]
    (failed,), (refused,), (first, _, *_, last) = found
    assert failed.verdict is Verdict.ERROR
    assert "not indices" in failed.reason
    assert refused.verdict is not Verdict.ERROR
    assert first.reason.startswith("attack bets raised ZeroDivisionError: a mistake (process_targets.py:")
    assert last.reason.startswith("attack two raised TwoPartError: two parts (process_targets.py:")


def test_an_audit_moves_to_the_executor_after_its_time_here_and_finds_the_same() -> None:
    def audited(here_seconds: float) -> tuple[Any, int]:
        executor = Backwards()
        settings: dict[str, Any] = {"trials": 20_000, "executor": executor, "here_seconds": here_seconds}
        return timeless(audit(own.sound, [Bets(("plain", "deadly"))], **settings)), executor.ran

    here, ran = audited(60.0)
    assert ran == 0
    moved, ran = audited(1e-6)
    assert ran > 0
    assert moved == here


def test_draws_ahead_of_the_decision_are_bounded_given_up_and_not_begun() -> None:
    executor = Backwards()
    (finding,) = audit(own.beyond, [Bets()], trials=10**12, executor=executor)
    assert timeless([finding]) == timeless(audit(own.beyond, [Bets()], trials=10**12))
    assert executor.most_waiting <= AHEAD
    assert finding.samples is not None
    assert finding.samples.counts.trials < 10_000
    assert executor.ran < 3 * AHEAD  # of more than ten million


def test_calls_that_were_given_up_are_not_logged_as_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    with Processes(1) as executor:
        executor.submit(int).result()
        for future in [executor.submit(time.sleep, 60.0) for _ in range(40)]:
            future.cancel()
    assert not caplog.records


def test_a_closure_is_sent_and_what_cannot_be_sent_runs_here_and_that_is_said(processes: Executor) -> None:
    def audited(held: Any) -> tuple[set[float], list[str]]:
        pids: set[float] = set()
        said: list[str] = []

        def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
            assert held is not None
            pids.add(os.getpid())
            return own.noisy(records, trials, rng)

        target = Target.dataset(release, epsilon=1.0, name="closure")
        (finding,) = audit(target, [Bets()], trials=100, executor=processes, say=said.append)
        assert finding.verdict is not Verdict.ERROR
        return pids, said

    assert audited("text") == (set(), [])
    pids, (told,) = audited(threading.Lock())
    assert pids == {os.getpid()}
    assert told.startswith("closure cannot be sent to another process: TypeError: cannot pickle '_thread.lock' object")


@dataclass(frozen=True)
class Output:
    value: float


def test_outputs_of_a_class_of_ones_own_are_of_that_class_here_and_others_are_an_error(processes: Executor) -> None:
    """Also where the class is sent by value: an event that asks for the class must hold the output."""

    @dataclass(frozen=True)
    class Inner:
        value: float

    seed = np.random.SeedSequence(1)
    for kind in (Output, Inner):
        target = Target.dataset(lambda *_, kind=kind: [kind(1.0)], epsilon=1.0)
        assert Draws(target, processes)(Request([1], 1, seed)).outputs[0] == kind(1.0)
    held = Target.dataset(lambda _records, trials, _rng: [threading.Lock()] * trials, epsilon=1.0, name="locks")
    (finding,) = audit(held, [Bets()], trials=300, executor=processes)
    assert finding.verdict is Verdict.ERROR
    assert finding.reason.startswith("an output of locks cannot be sent to another process: TypeError: cannot pickle")


def test_a_target_is_loaded_by_the_worker_and_must_be_the_same_version(tmp_path: Path, processes: Executor) -> None:
    path = tmp_path / "file.py"
    path.write_text(Path(own.__file__).read_text())
    load = partial(load_target, f"{path}:sound")
    target = load()
    found = audit(target, [Bets()], trials=2_000, executor=processes, load=load)
    assert timeless(found) == timeless(audit(target, [Bets()], trials=2_000))
    path.write_text(path.read_text() + "# edited\n")
    processes.shutdown()  # what a process has loaded stays loaded
    (finding,) = audit(target, [Bets()], trials=2_000, executor=processes, load=load)
    assert finding.verdict is Verdict.ERROR
    assert re.match(r"a worker has version sha256:\w+ of noisy, not sha256:\w+", finding.reason)
    path.unlink()
    (finding,) = audit(target, [Bets()], trials=2_000, executor=processes, load=load)
    assert finding.verdict is Verdict.ERROR
    assert finding.reason.startswith("a worker cannot load the target: there is no file")


def test_a_worker_that_dies_fails_its_scenario_and_no_other(processes: Executor) -> None:
    attacks = [Bets(("plain", "deadly", "plain")), Bets(name="second")]
    others = timeless(audit(own.sound, attacks, trials=3_000))
    findings = audit(Target.dataset(own.leaving, epsilon=1.0), attacks, trials=3_000, executor=processes)
    (reason,) = (finding.reason for finding in findings if finding.verdict is Verdict.ERROR)
    assert reason.startswith("leaving: a worker process died (TerminatedWorkerError: ")
    assert "EXIT(3)" in reason
    expected = [None if number == 1 else other.evidence for number, other in enumerate(others)]
    assert [finding.evidence for finding in findings] == expected


def test_a_worker_that_dies_once_costs_nothing(tmp_path: Path, processes: Executor) -> None:
    flag = tmp_path / "died"
    target = Target.dataset(own.killed_once, epsilon=1.0)
    load = partial(own.remembering, str(flag), own.killed_once)
    found = audit(target, [Bets()], trials=500, executor=processes, load=load)
    assert flag.exists()
    assert [one.evidence for one in found] == [one.evidence for one in audit(own.sound, [Bets()], trials=500)]
