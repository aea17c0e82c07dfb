"""Where an audit draws: a long one takes to processes, finds the same, and leaves none behind."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attacklab.cli import where
from attacklab.reporting import progress

pytestmark = pytest.mark.slow

TARGET = """
import os
import numpy as np
from attacklab.model.targets import Target

def noisy(answer, trials, rng):
    with open("drew", "a") as file:
        file.write(f"{os.getpid()}\\n")
    print("rubbish")
    return answer + rng.laplace(0.0, 1.0, trials)

target = Target.noise(noisy, epsilon=1.0)
"""
LINE = "audit some.py:target --attack low_bit_laplace --trials 3000"


@pytest.fixture(autouse=True)
def written_target(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(TARGET)


def timeless(text: str) -> list[dict[str, Any]]:
    return [{**finding, "seconds": 0} for finding in json.loads(text)["findings"]]


def test_a_long_audit_takes_to_processes_and_says_so_by_its_progress_only(
    attacklab: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    line = f"{LINE} --json - --trials 300000"
    _, here, _ = attacklab(line)
    assert set((tmp_path / "drew").read_text().split()) == {str(os.getpid())}
    monkeypatch.setattr(where, "LONG_SECONDS", 1e-9)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    _, there, err = attacklab(line)
    assert timeless(there) == timeless(here)
    assert "low_bit_laplace 1/1, judging (about " in err
    assert len(set((tmp_path / "drew").read_text().split())) > 1


@pytest.fixture
def cluster() -> Iterator[str]:
    """The address of a Dask scheduler with one worker."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 0, "processes": False, "dashboard_address": None, "protocol": "tcp", "host": "127.0.0.1"}
    with distributed.LocalCluster(**options) as local:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", local.scheduler_address]
        with subprocess.Popen(  # noqa: S603 - this Python
            [*command, "--nthreads", "1", "--no-dashboard"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as worker:
            with distributed.Client(local.scheduler_address, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=60)
            yield local.scheduler_address
            worker.terminate()


def test_a_cluster_finds_the_same_and_keeps_running(attacklab: Any, cluster: str) -> None:
    _, here, _ = attacklab(f"{LINE} --json -")
    for _ in range(2):
        _, there, _ = attacklab(f"{LINE} --json - --workers {cluster}")
        assert timeless(there) == timeless(here)


def test_a_scheduler_needs_dask_and_the_message_says_how_to_get_it(
    attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, _, err = attacklab(f"{LINE} --workers tcp://127.0.0.1:1")
    assert status == 2
    assert "a scheduler needs Dask, which is not installed: in a clone, pip install '.[dask]'" in " ".join(err.split())
