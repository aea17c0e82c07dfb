"""Progress on standard error, and the options of the command line that say where an audit runs."""

from __future__ import annotations

import io
import itertools
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from attacklab import cli
from attacklab.auditing.referee import Advance
from attacklab.cli import audit, where
from attacklab.processes import runners as execution
from attacklab.processes import workers as processes
from attacklab.reporting import progress
from attacklab.reporting.progress import progress as shown
from tests.representatives import first_of_each

TARGET = """
import numpy as np
from attacklab.model.targets import Target

def noisy(answer, trials, rng):
    return answer + rng.laplace(0.0, 1.0, trials)

target = Target.noise(noisy, epsilon=1.0)

"""
LINE = "audit some.py:target --attack low_bit_laplace --trials 3000"


class Clock:
    """A clock that moves on by one second whenever it is read."""

    def __init__(self) -> None:
        self.now = itertools.count(0.0)

    def __call__(self) -> float:
        return next(self.now)


def advances(trials: int, step: int, attack: str = "bits") -> Iterator[Advance]:
    return (Advance(attack, 2, 3, False, done, trials) for done in range(step, trials + 1, step))


def test_lines_come_at_intervals_with_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.time, "monotonic", Clock())
    text = io.StringIO()
    with shown(Console(file=text, width=200)) as report:
        for at in advances(4_000_000, 100_000):
            report(at)
    lines = text.getvalue().splitlines()
    assert lines == [
        "bits 2/3, judging: 1,000,000 of 4,000,000 trials, 100,000 a second, at most 30 s left",
        "bits 2/3, judging: 2,000,000 of 4,000,000 trials, 100,000 a second, at most 20 s left",
        "bits 2/3, judging: 3,000,000 of 4,000,000 trials, 100,000 a second, at most 10 s left",
        "bits 2/3, judging: 4,000,000 of 4,000,000 trials, 100,000 a second, at most 0 s left",
    ]


def test_the_time_left_is_told_in_hours_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.time, "monotonic", Clock())
    text = io.StringIO()
    with shown(Console(file=text, width=200)) as report:
        for at in itertools.islice(advances(10**9, 10**5), 12):
            report(at)
    assert text.getvalue().endswith("100,000 a second, at most 3 h left\n")


def test_a_short_audit_says_nothing() -> None:
    text = io.StringIO()
    with shown(Console(file=text)) as report:
        for at in advances(100, 10):
            report(at)
    assert text.getvalue() == ""


def test_a_terminal_gets_a_bar_for_one_sample_at_a_time_that_disappears() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120)
    with shown(console) as report:
        for at in (*advances(50, 10), *advances(50, 10, attack="weights")):
            report(at)
    assert "weights 2/3, judging" in text.getvalue()
    assert text.getvalue().endswith("\x1b[2K")  # the line was erased


@pytest.fixture
def attacklab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    (tmp_path / "some.py").write_text(TARGET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attacklab", *line.split()])
        with pytest.raises(SystemExit) as raised:
            cli.main()
        out, err = capsys.readouterr()
        return int(raised.value.code or 0), out, err

    return run


def timeless(text: str) -> list[dict[str, Any]]:
    return [{**finding, "seconds": 0} for finding in json.loads(text)["findings"]]


@pytest.mark.few(0)
@pytest.mark.parametrize(
    "target",
    first_of_each(["some.py:target", "some.py:noisy --kind noise --epsilon 1", "some.py:target --isolate"], bool),
)
def test_workers_load_the_target_themselves_and_find_the_same(
    target: str, attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", math.inf)  # a slow machine's progress is not an error of the workers
    line = LINE.replace("some.py:target", target) + " --json -"
    _, here, _ = attacklab(line)
    status, there, err = attacklab(f"{line} --workers 2")
    assert (status, err) == (1, "")
    assert timeless(there) == timeless(here)


@pytest.mark.ci
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


def test_a_run_is_resumed_and_another_one_refused(attacklab: Any, tmp_path: Path) -> None:
    first = attacklab(f"{LINE} --resume run.jsonl --json first.json")
    assert (first[0], first[2]) == (1, "")
    status, _, err = attacklab(f"{LINE} --resume run.jsonl --json second.json")
    assert status == 1
    assert err.startswith("attacklab: run.jsonl: continuing after ")
    texts = [(tmp_path / name).read_text() for name in ("first.json", "second.json")]
    assert timeless(texts[0]) == timeless(texts[1])
    status, out, err = attacklab(f"{LINE} --resume run.jsonl --seed 1")
    assert (status, out) == (2, "")
    assert err == "attacklab: run.jsonl belongs to another run (seed 0 there, 1 here); choose another file\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--workers 2 --scheduler tcp://127.0.0.1:1", "--workers and --scheduler exclude each other"),
        ("--resume some.py", "some.py is not a checkpoint of an audit"),
        ("--resume .", "cannot write to .: it is a folder"),
        ("--workers 0", "greater than or equal to 1"),
    ],
)
def test_a_mistake_is_told_on_standard_error_with_status_two(options: str, message: str, attacklab: Any) -> None:
    status, out, err = attacklab(f"{LINE} {options}")
    assert (status, out) == (2, "")
    assert message in err


def test_an_interrupted_run_without_a_file_says_what_was_missing(
    attacklab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(audit, "audit", interrupted)
    assert attacklab(LINE) == (130, "", "attacklab: interrupted, nothing was saved; use --resume FILE next time\n")


def test_what_a_proof_does_is_told_every_ten_seconds_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with progress.status_line(Console(file=out, width=20)) as tell:
        for second in range(0, 25, 3):
            now[0] = float(second)
            tell(f"law [bold] at second {second}, a line that is longer than twenty columns")
    assert [line.partition(",")[0] for line in out.getvalue().splitlines()] == [
        "law [bold] at second 12",
        "law [bold] at second 24",
    ]


def test_what_a_proof_does_is_told_at_once_on_a_terminal() -> None:
    out = io.StringIO()
    with progress.status_line(Console(file=out, force_terminal=True, width=80)) as tell:
        tell("the law [of] the first input")
    assert "the law [of] the first input" in out.getvalue()
