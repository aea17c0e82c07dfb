"""The command line on real libraries: named by library and mechanism, run in environments of their own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

BUILD = "make .environments/opendp-0.16.0/.ready"


@pytest.mark.parametrize(
    ("line", "status", "messages"),
    [
        ("list", 0, [f"here, {np.__version__}", f"opendp-0.16.0 not built; {BUILD}"]),
        ("audit numpy:laplace --in-env opendp-0.16.0", 2, [f"has not been built; build it: {BUILD}"]),
        ("audit numpy:laplace --in-env nowhere", 2, ["'nowhere' is neither an environment nor a path to a Python"]),
        ("audit --exec cat --kind noise --epsilon 1 --in-env /bin/sh", 2, ["leave --in-env out"]),
    ],
)
def test_environments_are_listed_and_mistakes_end_in_one_line(
    attacklab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, status: int, messages: list[str]
) -> None:
    (tmp_path / "environments").mkdir()
    for name in ("opendp-0.16.0", "read-me"):
        (tmp_path / "environments" / f"{name}.txt").touch()
    monkeypatch.setenv("COLUMNS", "200")
    ended, out, err = attacklab(line)
    said, other = (err, out) if status else (out, err)
    assert (ended, other) == (status, "")
    assert all(message in " ".join(said.split()) for message in messages)
    assert "read-me" not in said
    assert not status or said.count("\n") == 1
