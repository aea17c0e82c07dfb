"""A program under proof in a process of its own, which asks for its randomness line by line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from attacklab.isolation.failures import ChildError, ChildFailure
from attacklab.isolation.process import ChildProcess, Limits
from attacklab.isolation.wire import proof_request_line


class Conversation:
    """A partner of `attacklab.laws.dialogue`: a program, started when first needed and again after `renew`.

    Args:
        command: the program and its arguments.
        limits: what the process may use; its seconds are the timeout of one line.
        kind: what the inputs are.
    """

    def __init__(self, command: Sequence[str], limits: Limits, kind: str) -> None:
        self._command, self._limits, self._kind = tuple(command), limits, kind
        self._running: ChildProcess | None = None
        self._lines: list[str] = []

    def begin(self, input_: Any, replies: Sequence[str]) -> None:
        """Ask for one run; see `attacklab.laws.external_program.Partner`."""
        request = proof_request_line(self._kind, input_)
        if self._running is None or self._running.owner != os.getpid():
            self._running = ChildProcess(self._command, self._limits)
        if self._lines:
            raise ChildError(ChildFailure.GARBAGE, f"it wrote {self._lines[0]!r} after the output of a run")
        self._running.require_nothing_left("before the request")
        self._running.tell(request + _sent(replies))

    def lines(self, most: int) -> list[str]:
        """The next lines of the program."""
        if not self._lines:
            text = self._process.lines(self._limits.seconds)
            try:
                self._lines = text.decode("ascii").split("\n")[:-1]
            except UnicodeDecodeError as error:
                shown = text[error.start : error.start + 40]
                raise ChildError(ChildFailure.GARBAGE, f"its lines are not ASCII: {shown!r}") from None
        lines, self._lines = self._lines[:most], self._lines[most:]
        return lines

    def send(self, replies: Sequence[str]) -> None:
        """Answer the program's next requests."""
        self._process.tell(_sent(replies))

    def renew(self) -> None:
        """End the process; a later run starts it again."""
        if self._running is not None:
            self._running.close()
            self._running = None
        self._lines = []

    @property
    def _process(self) -> ChildProcess:
        assert self._running is not None  # noqa: S101 - a run has begun
        return self._running


def _sent(replies: Sequence[str]) -> bytes:
    return "".join(f"{reply}\n" for reply in replies).encode()
