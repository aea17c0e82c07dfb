"""Dask clusters as places where trials run: the same findings, whatever dies, and never an endless wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attacklab.processes import dask as backend
from attacklab.processes.dask import DaskWorkers
from tests.system.attacklab.processes import process_targets as own

ROOT = str(Path(__file__).parents[4])
TARGETS = str(Path(own.__file__))
SECONDS = 120

PROGRAM = """
import json, os, subprocess, sys
from functools import partial
import dask, distributed
from attacklab.processes import dask as backend
from attacklab.processes.dask import DaskWorkers
from attacklab.model.loading import load_target
from attacklab.auditing.referee import audit
from attacklab.model.targets import Target
from tests.system.attacklab.processes import process_targets as own
from tests.system.attacklab.processes.process_targets import Bets

ATTACKS = [Bets(("plain", "deadly", "plain")), Bets(name="second")]

def audited(address, target, load=None):
    with DaskWorkers(address, load=load) as workers:
        findings = audit(target, ATTACKS, trials=20_000, where=workers.runner)
    return [finding.to_json() for finding in findings]

class LoneWorkers:
    \"\"\"A scheduler in this process, and workers that nobody starts again.\"\"\"

    def __init__(self, count):
        self.cluster = distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=None, protocol="tcp", host="127.0.0.1"
        )
        self.address = self.cluster.scheduler_address
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address]
        command += ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
        self.workers = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(count)]

    def __enter__(self):
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=60)
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            worker.kill()
            worker.wait()
        self.cluster.close()
"""


def run(text: str, folder: Path, *arguments: str) -> Any:
    """What a program prints as JSON."""
    pytest.importorskip("distributed")
    path = folder / "program.py"
    path.write_text(PROGRAM + text)
    done = subprocess.run(  # noqa: S603 - the program above
        [sys.executable, str(path), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ROOT},
        cwd=folder,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def timeless(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**finding, "seconds": 0} for finding in findings]


def test_findings_are_those_made_here_and_no_lost_worker_is_waited_for(tmp_path: Path) -> None:
    """A batch that kills a Dask worker fails its scenario; when all workers are lost, the rest fails."""
    text = """
if __name__ == "__main__":
    backend.WORKERLESS_SECONDS = 0.5
    deadly, always = (Target.dataset(each, epsilon=1.0) for each in (own.kills_its_worker_once, own.kills_its_worker))
    load = partial(own.remembering, os.path.abspath("died"), own.kills_its_worker_once)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), LoneWorkers(2) as cluster:
        sound = partial(load_target, sys.argv[1])
        found = {
            "sound": audited(cluster.address, sound(), sound),
            "here": [finding.to_json() for finding in audit(sound(), ATTACKS, trials=20_000)],
            "deadly": audited(cluster.address, deadly, load),
        }
        dask.config.set({"distributed.scheduler.allowed-failures": 9})
        cluster.cluster.scheduler.allowed_failures = 9
        found["lost"] = audited(cluster.address, always)
    print(json.dumps(found))
"""
    results = run(text, tmp_path, f"{TARGETS}:sound")
    assert timeless(results["sound"]) == timeless(results["here"])
    deadly, lost = results["deadly"], results["lost"]
    assert [finding["verdict"] for finding in deadly] == ["not detected", "error", *["not detected"] * 2]
    assert deadly[1]["reason"] == "kills_its_worker_once: every Dask worker that tried a batch died (1 of them)"
    assert [finding["verdict"] for finding in lost] == ["not detected", *["error"] * 3]
    for finding in lost[1:]:
        assert finding["reason"].startswith("the Dask scheduler at tcp://127.0.0.1:")
        assert finding["reason"].endswith("has had no workers for 0.5 s; start the audit again")


def test_a_scheduler_needs_dask_and_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        ValueError, match=r"a scheduler needs Dask, which is not installed: pip install 'attacklab\[dask\]'"
    ):
        DaskWorkers("tcp://127.0.0.1:1")


def test_a_scheduler_that_does_not_answer_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(backend, "CONNECTING_SECONDS", 0.5)
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9") as raised:
        DaskWorkers("tcp://127.0.0.1:9")
    assert "\n" not in str(raised.value)
