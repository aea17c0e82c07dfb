"""Progress of audits and proofs on standard error: a bar or a status on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from attacklab.auditing.judge import Advance
from attacklab.model.plain_text import plain

Report: TypeAlias = Callable[[Advance], None]

LINE_SECONDS = 10.0
"""Time between two lines, and before the first, so that a short audit prints none."""


@contextlib.contextmanager
def progress(console: Console) -> Iterator[Report]:
    """Show progress while the context lasts.

    Args:
        console: where to show it.

    Yields:
        A function to be called with every advance of the audit.
    """
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), _Rate(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bars:
            yield _Bar(bars)
    else:
        yield _Lines(console)


@contextlib.contextmanager
def status_line(console: Console) -> Iterator[Callable[[str], None]]:
    """Show a line that says what is being done, while the context lasts.

    Yields:
        A function to be called with every new line.
    """
    if console.is_terminal:
        with console.status("") as status:
            yield lambda line: status.update(escape(plain(line)))
    else:
        yield _Now(console)


class _Now:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._told = time.monotonic()

    def __call__(self, line: str) -> None:
        if time.monotonic() - self._told >= LINE_SECONDS:
            self._console.print(plain(line), markup=False, highlight=False, soft_wrap=True)
            self._told = time.monotonic()


class _Bar:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._shown = ""

    def __call__(self, at: Advance) -> None:
        if _sample(at) != self._shown:  # rate and time left belong to one sample
            for task in self._bars.task_ids:
                self._bars.remove_task(task)
            self._shown = _sample(at)
            self._bars.add_task(self._shown, total=at.trials)
        self._bars.update(self._bars.task_ids[0], completed=at.done)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f} trials a second" if task.speed else "")


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._told = self._since = time.monotonic()
        self._before: Advance | None = None

    def __call__(self, at: Advance) -> None:
        now = time.monotonic()
        if self._before is None or _sample(at) != _sample(self._before):
            self._before, self._since = at, now
        if now - self._told < LINE_SECONDS:
            return
        line = f"{_sample(at)}: {at.done:,} of {at.trials:,} trials"
        if at.done > self._before.done:
            rate = (at.done - self._before.done) / (now - self._since)
            line += f", {rate:,.0f} a second, at most {_duration((at.trials - at.done) / rate)} left"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        self._told = self._since = now
        self._before = at


def _sample(at: Advance) -> str:
    doing = "choosing" if at.choosing else "judging"
    needed = "" if at.needed is None else f" (about {at.needed:,} trials needed)"
    return f"{at.attack} {at.scenario}/{at.scenarios}, {doing}{needed}"


def _duration(seconds: float) -> str:
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
