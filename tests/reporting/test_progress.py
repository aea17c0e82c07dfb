"""Progress on standard error: a line every ten seconds, or a status on a terminal that disappears."""

import io
import time

import pytest
from rich.console import Console

from attacklab.reporting.progress import status_line


def test_elsewhere_than_on_a_terminal_a_line_is_told_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    out = io.StringIO()
    with status_line(Console(file=out, width=20)) as tell:
        for second in range(0, 25, 3):
            now[0] = float(second)
            tell(f"law [bold] at second {second}, a line that is longer than twenty columns")
    assert out.getvalue().splitlines() == [
        "law [bold] at second 12, a line that is longer than twenty columns",
        "law [bold] at second 24, a line that is longer than twenty columns",
    ]


def test_on_a_terminal_it_is_told_at_once_and_disappears() -> None:
    out = io.StringIO()
    with status_line(Console(file=out, force_terminal=True, width=80)) as tell:
        tell("the law [of] 2/3")
    assert "the law [of] 2/3" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")  # the line was erased
