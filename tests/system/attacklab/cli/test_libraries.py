"""The command line on real libraries: named by library and mechanism, run in environments of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def known(attacklab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - it is run there
    (tmp_path / "environments").mkdir()
    for name in ("opendp-0.16.0", "read-me"):
        (tmp_path / "environments" / f"{name}.txt").touch()
    monkeypatch.setenv("COLUMNS", "200")


def test_libraries_are_listed_with_where_they_are_and_how_to_build_those_that_are_not(attacklab: Any) -> None:
    status, out, _err = attacklab("list")
    assert status == 0
    assert f"here, {np.__version__}" in out
    assert "environment opendp-0.16.0 is not built; build it with: make .environments/opendp-0.16.0/.ready" in out
    assert "read-me" not in out


def test_a_mechanism_in_another_interpreter_is_audited_and_replayed_there(attacklab: Any) -> None:
    line = f"audit numpy:laplace --in-env {sys.executable} --attack precision --trials 4000 --json -"
    status, out, err = attacklab(line)
    assert (status, err) == (1, "")
    found = json.loads(out)["findings"]
    assert {one["target_version"] for one in found} == {f"numpy {np.__version__}"}
    assert f"--in-env {sys.executable}" in found[0]["replay"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "audit numpy:laplace --in-env opendp-0.16.0",
            "has not been built; build it: make .environments/opendp-0.16.0/.ready",
        ),
        ("audit numpy:laplace --in-env nowhere", "'nowhere' is neither an environment nor a path to a Python"),
        ("audit --exec cat --kind noise --epsilon 1 --in-env /bin/sh", "leave --in-env out"),
    ],
)
def test_mistakes_end_in_one_line(attacklab: Any, line: str, message: str) -> None:
    status, out, err = attacklab(line)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
