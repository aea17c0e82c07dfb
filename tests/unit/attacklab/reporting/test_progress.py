"""Progress on standard error: lines at intervals, or a bar on a terminal."""

from __future__ import annotations

import io
import itertools
import time
from collections.abc import Iterator

import pytest
from rich.console import Console

from attacklab.auditing.judge import Advance
from attacklab.reporting import progress
from attacklab.reporting.progress import progress as shown


class Clock:
    """A clock that moves on by one second whenever it is read."""

    def __init__(self) -> None:
        self.now = itertools.count(0.0)

    def __call__(self) -> float:
        return next(self.now)


def advances(trials: int, step: int, attack: str = "bits") -> Iterator[Advance]:
    return (Advance(attack, 2, 3, False, done, trials) for done in range(step, trials + 1, step))


def test_lines_come_at_intervals_with_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", Clock())
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
    monkeypatch.setattr(time, "monotonic", Clock())
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


def test_what_a_proof_does_is_told_every_ten_seconds_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
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
