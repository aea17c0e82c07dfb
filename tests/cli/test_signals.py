"""The program `attacklab` as a process: its status, and how signals end it."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from attacklab.cli.audit import _interruptible
from attacklab.cli.messages import Status
from attacklab.model.findings import Interrupted
from tests.processes.looking import wait_until
from tests.running import ROOT

pytestmark = pytest.mark.slow

MAIN = [sys.executable, "-c", "from attacklab.cli import main; main()"]
POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has other signals")

TARGETS = """
import time

def waits(answer, trials, rng):
    open("began", "w").close()
    for _ in range(6000):  # a signal that comes just before a sleep is handled after it
        time.sleep(0.01)
"""


@POSIX
@pytest.mark.parametrize(
    ("number", "status", "group"), [(signal.SIGINT, 130, True), (signal.SIGTERM, -signal.SIGTERM, False)]
)
def test_a_signal_ends_the_command(tmp_path: Path, number: signal.Signals, status: int, group: bool) -> None:
    (tmp_path / "targets.py").write_text(TARGETS)
    line = "audit targets.py:waits --kind noise --epsilon 1 --attack generator_seed --trials 100"
    where: Any = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "start_new_session": True}
    with subprocess.Popen([*MAIN, *line.split()], stderr=subprocess.PIPE, text=True, **where) as process:  # noqa: S603
        assert wait_until((tmp_path / "began").exists, seconds=60)
        (os.killpg if group else os.kill)(process.pid, number)
        _, told = process.communicate(timeout=30)
    assert process.returncode == status, told
    assert "Traceback" not in told
    assert ("interrupted, nothing was saved" in told) is (number is signal.SIGINT)


@pytest.mark.parametrize(("refutes", "said"), [(True, "what was refuted by then"), (False, "nothing was saved")])
def test_ctrl_c_shows_what_was_refuted_by_then(refutes: bool, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[Any] = []
    finding: Any = SimpleNamespace(refutes=refutes)
    with pytest.raises(typer.Exit) as ended, _interruptible(shown.extend):
        raise Interrupted([finding])
    assert shown == [finding] * refutes
    assert ended.value.exit_code == Status.INTERRUPTED
    assert said in capsys.readouterr().err
