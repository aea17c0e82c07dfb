"""The command line in the process of the tests, in a folder of its own."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attacklab import cli
from attacklab.reporting import progress

Ran = tuple[int, str, str]


@pytest.fixture
def attacklab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Ran]:
    """Runs a line after `attacklab`; gives its exit status, and what it wrote to its output and its error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("COLUMNS", raising=False)  # workers of pytest-xdist have it
    monkeypatch.setattr(progress, "LINE_SECONDS", float("inf"))  # on a busy machine a command says how far it is

    def run(line: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["attacklab", *shlex.split(line)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run
