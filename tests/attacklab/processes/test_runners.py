"""Where trials run: the same findings everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from attacklab.findings import Finding, Verdict
from attacklab.processes import runners
from attacklab.processes.batches import BATCH_OUTPUTS, Bench
from attacklab.processes.runners import Here, Runner, WhenLong
from attacklab.processes.workers import ProcessWorkers, Workers
from attacklab.referee import Advance, audit
from attacklab.targets import Target
from tests.attacklab.processes import process_targets as own
from tests.attacklab.processes.process_targets import Bets
from tests.attacklab.processes.shared import Backwards, timeless

TRIALS = 10 * BATCH_OUTPUTS


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessWorkers]:
    """Two processes for all tests that leave them as they were."""
    with ProcessWorkers(2) as workers:
        yield workers


ALL = pytest.param(own.sound, True, marks=pytest.mark.slow)


@pytest.mark.few(1)
@pytest.mark.parametrize(("target", "spend_all"), [(own.sound, False), (own.beyond, False), ALL])
def test_the_same_seed_gives_the_same_findings_in_any_number_of_workers(
    target: Target, spend_all: bool, pool: ProcessWorkers
) -> None:
    settings: dict[str, Any] = {"trials": TRIALS, "seed": 5, "spend_all": spend_all}
    attacks = [Bets(("plain", "other")), Bets(name="second")]
    here = timeless(audit(target, attacks, **settings))
    assert {finding.verdict for finding in here} == {Verdict.VIOLATED if target is own.beyond else Verdict.NOT_DETECTED}
    assert timeless(audit(target, attacks, **settings, where=pool.runner)) == here
    with ThreadPoolExecutor(2) as threads:
        assert timeless(audit(target, attacks, **settings, where=Workers(threads, 3).runner)) == here
    for count in (1, 8):
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


class Elsewhere:
    """A backend with nothing but what the protocol asks for."""

    count = 3

    def __init__(self) -> None:
        self.benches: list[Bench] = []

    def runner(self, bench: Bench) -> Runner:
        self.benches.append(bench)
        return Here(bench)


def test_a_backend_needs_nothing_but_a_count_and_a_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "WATCHED_SECONDS", 0.0)
    monkeypatch.setattr(runners, "LONG_SECONDS", 0.0)
    said: list[str] = []
    backend = Elsewhere()
    found = audit(own.sound, [Bets()], trials=20_000, where=WhenLong(backend, say=said.append).runner)
    assert timeless(found) == timeless(audit(own.sound, [Bets()], trials=20_000))
    assert [bench.target for bench in backend.benches] == [own.sound]
    assert [line.rpartition("; ")[2] for line in said] == ["continuing in 3 processes"]
