"""Processes of this machine: one that dies fails its own scenario only, and one that hangs holds nothing up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from attacklab.findings import Verdict
from attacklab.loading import load_target
from attacklab.processes import workers as processes
from attacklab.processes.workers import ProcessWorkers, processors
from attacklab.referee import audit
from attacklab.targets import Target
from tests.attacklab.processes import process_targets as own
from tests.attacklab.processes.process_targets import Bets
from tests.attacklab.processes.shared import timeless

TARGETS = str(Path(own.__file__))
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


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


@LINUX
def test_a_refusal_in_a_process_is_the_refusal_that_it_is_here() -> None:
    target = Target.dataset(own.refusing, epsilon=0.5)
    with ProcessWorkers(1) as workers:
        found = audit(target, [Bets()], trials=5_000, where=workers.runner)
    assert timeless(found) == timeless(audit(target, [Bets()], trials=5_000))
    assert found[0].verdict is not Verdict.ERROR


@pytest.mark.few(0)
@LINUX
@pytest.mark.parametrize(
    ("release", "reason"),
    [
        (own.leaving, "leaving: a worker process exited with status 3"),
        pytest.param(own.killed, "killed: a worker process was killed by SIGKILL", marks=pytest.mark.slow),
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


@pytest.mark.ci
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


@pytest.mark.ci
def test_batches_that_are_not_needed_and_do_not_end_hold_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of more than 300 trials hang; the evidence decides before the first of them, in either scenario."""
    monkeypatch.setattr(processes, "STALE_SECONDS", 0.05)
    target = Target.dataset(own.hanging_in_large_batches, epsilon=0.01)
    attacks = [Bets(("plain", "deadly"))]
    with ProcessWorkers(2) as workers:
        found = audit(target, attacks, trials=100_000, where=workers.runner)
    assert {finding.verdict for finding in found} == {Verdict.VIOLATED}
    assert timeless(found) == timeless(audit(target, attacks, trials=100_000))


@pytest.mark.ci
def test_a_process_that_dies_once_costs_nothing(tmp_path: Path) -> None:
    flag = tmp_path / "died"
    target = Target.dataset(own.killed_once, epsilon=1.0)
    with ProcessWorkers(2, load=partial(own.remembering, str(flag), own.killed_once)) as workers:
        found = audit(target, [Bets()], trials=5_000, where=workers.runner)
    assert flag.exists()
    sound = audit(own.sound, [Bets()], trials=5_000)
    assert [finding.counts for finding in found] == [finding.counts for finding in sound]


@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_workers_below_one_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"workers must be at least 1, not {count}"):
        ProcessWorkers(count)


def test_one_process_for_each_processor_is_the_default() -> None:
    assert ProcessWorkers().count == processors() >= 1
