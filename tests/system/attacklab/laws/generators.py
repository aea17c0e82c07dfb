"""Programs under proof that are generators in this process: they yield a line, and get the reply if they asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

Lines: TypeAlias = Generator[str, int, None]


class Generated:
    """A program of a dialogue, made of a function that starts a fresh process: one that makes the program's runs.

    Attributes:
        runs: how many runs there were.
        processes: how many processes there were.
    """

    def __init__(self, process: Callable[[], Callable[[Any], Lines]]) -> None:
        self._process = process
        self._program: Callable[[Any], Lines] | None = None
        self._replies: deque[str] = deque()
        self.runs = self.processes = 0

    def begin(self, input_: Any, replies: Sequence[str]) -> None:
        if self._program is None:
            self._program = self._process()
            self.processes += 1
        self.runs += 1
        self._lines, self._asked = self._program(input_), False
        self._replies = deque(replies)

    def lines(self, most: int) -> list[str]:  # noqa: ARG002 - at most one at a time
        line = self._lines.send(int(self._replies.popleft())) if self._asked else next(self._lines)
        self._asked = line.startswith(("take ", "coin ", "below "))
        return [line]

    def send(self, replies: Sequence[str]) -> None:
        self._replies.extend(replies)

    def renew(self) -> None:
        self._program = None


def stateless(program: Callable[[Any], Lines]) -> Generated:
    """A program that keeps nothing from run to run."""
    return Generated(lambda: program)
