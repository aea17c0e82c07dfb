"""Where the time of a call goes: how long its parts take, each without the parts that it calls itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeAlias

from bench.common.timing import Work

Parts: TypeAlias = Mapping[str, tuple[tuple[Any, str], ...]]
"""What each part is called → the owners (modules or classes) and names of the functions that make it."""

REST = "all else"


def nanoseconds_of(work: Work, parts: Parts, *, runs: int) -> dict[str, float]:
    """Measure how long the parts of a piece of work take.

    Args:
        work: the call.
        parts: its parts; a function that stands under several names must be listed under each.
        runs: how often to run it.

    Returns:
        Nanoseconds by part, `REST` among them, of the run that took least, the clock's own time included.
    """
    least: dict[str, int] = {}
    for _ in range(runs):
        spent = dict.fromkeys([*parts, REST], 0)
        with _timed(parts, spent):
            started = time.perf_counter_ns()
            work()
            whole = time.perf_counter_ns() - started
        spent[REST] = whole - sum(spent.values())
        if not least or whole < sum(least.values()):
            least = spent
    return dict(least)


@contextmanager
def _timed(parts: Parts, spent: dict[str, int]) -> Iterator[None]:
    """Have functions note the time that they take for as long as the context is open."""
    inner = [0]
    before = [(owner, name, vars(owner)[name]) for places in parts.values() for owner, name in places]

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            above, inner[0] = inner[0], 0
            started = time.perf_counter_ns()
            try:
                return function(*arguments, **options)
            finally:
                taken = time.perf_counter_ns() - started
                spent[part] += taken - inner[0]
                inner[0] = above + taken

        return call

    try:
        for part, places in parts.items():
            for owner, name in places:
                setattr(owner, name, timed(part, vars(owner)[name]))
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
