"""Worker processes: who dies is known, nothing is left over, and what the target does stays there."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from attacklab.errors import UsageError
from attacklab.processes import worker_process
from attacklab.processes.workers import ProcessWorkers, Workers
from attacklab.referee import audit
from attacklab.targets import Target
from tests.attacklab.processes import process_targets as own
from tests.attacklab.processes.process_targets import Bets, Fails
from tests.attacklab.processes.shared import timeless

ROOT = str(Path(__file__).parents[3])
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def names(folder: Path | str) -> list[str]:
    """The entries whose names are numbers, such as processes and descriptors."""
    return [entry.name for entry in Path(folder).iterdir() if entry.name.isdecimal()]


def group(leader: int) -> list[int]:
    """All processes of a group, the guard included."""
    return [pid for pid in map(int, names("/proc")) if _group_of(pid) == leader]


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def wait_until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Runs a program in a process of its own, which is killed in the end."""
    started: list[subprocess.Popen[str]] = []

    def run(text: str, **variables: str) -> subprocess.Popen[str]:
        path = tmp_path / "program.py"
        path.write_text(text)
        process = subprocess.Popen(  # noqa: S603 - the program above
            [sys.executable, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": ROOT, **variables},
            cwd=tmp_path,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.ci
@LINUX
def test_a_process_that_lets_no_thread_run_does_not_outlive_one_that_is_killed(
    script: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    text = """
from attacklab.processes.workers import ProcessWorkers
from attacklab.referee import audit
from attacklab.targets import Target
from tests.attacklab.processes.process_targets import Bets, holding

if __name__ == "__main__":
    audit(Target.dataset(holding, epsilon=1.0), [Bets(("deadly",))], trials=10**6, where=ProcessWorkers(2).runner)
"""
    held = tmp_path / "held"
    held.mkdir()
    process = script(text, HOLDING=str(held))
    assert wait_until(lambda: len(names(held)) == 2, 60.0)
    pids = [*map(int, names(held))]
    left = [pid for leader in pids for pid in group(leader)]
    assert len(left) == 4
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(map(alive, left)))


@pytest.mark.ci
@LINUX
def test_no_process_and_no_descriptor_is_left_when_the_workers_are_closed() -> None:
    def audited(target: Target) -> list[int]:
        with ProcessWorkers(2) as workers:
            audit(target, [Bets(("plain", "deadly", "plain"))], trials=1_000, where=workers.runner)
            left = [pid for leader in workers.pids() for pid in group(leader)]
            assert len(left) == 4  # each with its guard
            assert all(map(alive, left))
        assert workers.pids() == []
        return left

    audited(own.sound)  # opens what stays open, such as the source of random seeds
    open_before = names("/proc/self/fd")
    for target in (own.sound, Target.dataset(own.leaving, epsilon=1.0)):
        left = audited(target)
        assert wait_until(lambda left=left: not any(map(alive, left)))
    assert names("/proc/self/fd") == open_before


@pytest.mark.ci
@LINUX
def test_a_death_shows_even_if_a_fork_keeps_everything_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "LOOK_SECONDS", 0.05)
    with ProcessWorkers(1) as workers:
        _, deadly = audit(
            Target.dataset(own.forking, epsilon=1.0), [Bets(("plain", "deadly"))], trials=1_000, where=workers.runner
        )
    assert deadly.reason == "forking: a worker process exited with status 3"


@pytest.mark.ci
def test_a_process_that_is_not_needed_for_a_while_ends_and_another_one_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_process, "IDLE_SECONDS", 0.0)
    here = timeless(audit(own.sound, [Bets()], trials=300))
    with ProcessWorkers(1) as workers:
        found = audit(own.sound, [Bets()], trials=300, where=workers.runner)
    assert timeless(found) == here


def test_what_an_attack_raises_in_a_worker_is_the_error_that_it_is_here() -> None:
    attacks = [Fails(), Bets(), Fails(name="two")]
    here = timeless(audit(own.sound, attacks, trials=300))
    assert here[0].reason.startswith("attack bets raised ZeroDivisionError: a mistake (process_targets.py:")
    assert here[-1].reason.startswith("attack two raised TwoPartError: two parts (process_targets.py:")
    with ProcessWorkers(1) as workers:
        assert timeless(audit(own.sound, attacks, trials=300, where=workers.runner)) == here


def test_what_goes_wrong_in_a_worker_is_raised_here_and_tells_where_it_was() -> None:
    class Unknown(Exception):
        """No other process can find it."""

    for error, kind in ((ZeroDivisionError("a mistake"), ZeroDivisionError), (Unknown("parts"), RuntimeError)):
        raised = worker_process._portable(error)
        assert type(raised) is kind
        assert str(error) in str(raised)
        assert raised.__notes__[0].startswith("In a worker process:\n")


@pytest.mark.ci
def test_what_a_target_prints_goes_to_standard_error(script: Callable[..., subprocess.Popen[str]]) -> None:
    text = """
from attacklab.processes.workers import ProcessWorkers
from attacklab.referee import audit
from attacklab.targets import Target
from tests.attacklab.processes.process_targets import Bets, printing

if __name__ == "__main__":
    with ProcessWorkers(1) as workers:
        print([finding.verdict.value for finding in
               audit(Target.dataset(printing, epsilon=1.0), [Bets()], trials=500, where=workers.runner)])
"""
    out, err = script(text).communicate(timeout=60)
    assert out == "['not detected']\n"
    assert err.startswith("rubbish\nmore of it\n")


PROGRAM = """
from attacklab.processes.workers import ProcessWorkers
from attacklab.referee import audit
from attacklab.targets import Target
from tests.attacklab.processes.process_targets import Bets

def release(records, trials, rng):
    return records.sum() + rng.laplace(0.0, 1.0, trials)

def main():
    with ProcessWorkers(1) as workers:
        (finding,) = audit(Target.dataset(release, epsilon=1.0), [Bets()], trials=500, where=workers.runner)
    print(finding.verdict.value, finding.reason)

"""


@pytest.mark.ci
def test_a_function_of_the_program_itself_is_found(script: Callable[..., subprocess.Popen[str]]) -> None:
    out, err = script(PROGRAM + "if __name__ == '__main__':\n    main()\n").communicate(timeout=60)
    assert err == ""
    assert out.startswith("not detected ")


@pytest.mark.ci
def test_a_program_that_would_start_processes_without_end_is_told_how_to_start_them(
    script: Callable[..., subprocess.Popen[str]],
) -> None:
    out, err = script(PROGRAM + "main()\n").communicate(timeout=60)
    assert out == "error release: a worker process exited with status 1\n"
    assert "UsageError: importing this program starts worker processes, so each of them would start more; " in err
    assert "put what it runs under: if __name__ == '__main__':" in err


@pytest.mark.ci
@LINUX
def test_workers_that_were_forked_have_processes_of_their_own() -> None:
    """The processes that this one keeps would give their answers to whichever fork reads first."""
    here = timeless(audit(own.sound, [Bets()], trials=3_000))
    with ThreadPoolExecutor(1) as threads:
        assert timeless(audit(own.sound, [Bets()], trials=3_000, where=Workers(threads, 1).runner)) == here
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as forks:
        assert timeless(audit(own.sound, [Bets()], trials=3_000, where=Workers(forks, 2).runner)) == here


def test_a_target_that_kills_whoever_waits_for_it_breaks_an_executor_and_that_is_said() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        found: list[Any] = audit(
            Target.dataset(own.kills_its_worker, epsilon=1.0),
            [Bets(("plain", "deadly", "plain"))],
            trials=1_000,
            where=Workers(pool, 1).runner,
        )
    assert [finding.reason.startswith("the workers are gone (BrokenProcessPool: ") for finding in found] == [
        False,
        True,
        True,
    ]


def test_where_there_are_no_process_groups_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with ProcessWorkers(1) as workers, pytest.raises(UsageError, match="need a POSIX system, not Windows"):
        audit(own.sound, [Bets()], trials=100, where=workers.runner)
    assert workers.pids() == []
