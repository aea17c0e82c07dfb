"""Where an audit runs: a long one takes to processes, finds the same, and says so on standard error only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attacklab.cli import where
from attacklab.processes import runners as execution
from attacklab.processes import workers as processes
from attacklab.reporting import progress

TARGET = """
import numpy as np
from attacklab.model.targets import Target

def noisy(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

target = Target.noise(noisy, epsilon=1.0)
"""
LINE = "audit some.py:target --attack low_bit_laplace --trials 3000"


@pytest.fixture(autouse=True)
def written_target(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text(TARGET)


def timeless(text: str) -> list[dict[str, Any]]:
    return [{**finding, "seconds": 0} for finding in json.loads(text)["findings"]]


def test_a_long_audit_takes_to_processes_and_says_so_on_standard_error_only(
    attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"{LINE} --json - --spend-all --trials 300000"
    _, here, err = attacklab(line)
    assert err == ""
    monkeypatch.setattr(execution, "WATCHED_SECONDS", 0.0)
    monkeypatch.setattr(execution, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(where, "processors", lambda: 2)
    monkeypatch.setattr(processes, "processors", lambda: 2)
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    _, there, err = attacklab(line)
    assert timeless(there) == timeless(here)
    assert err.count("trials a second this sample takes up to") == 1
    assert "continuing in 2 processes" in err
    assert "low_bit_laplace 1/1, judging (about " in err


def test_a_number_of_workers_below_one_is_refused(attacklab: Any) -> None:
    status, out, err = attacklab(f"{LINE} --workers 0")
    assert (status, out) == (2, "")
    assert "greater than or equal to 1" in err
