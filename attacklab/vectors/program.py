"""A program under test, in any language: one line of JSON for each request, one line back.

docs/reference/vectors.md has the requests of each type. `{"skip": true}` says that the program has no such mechanism,
and `{"error": "..."}` that the mechanism failed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attacklab.errors import TargetError
from attacklab.isolation.failures import ChildError, ChildFailure
from attacklab.isolation.process import ChildProcess, Limits
from attacklab.isolation.wire import read_object


class Skipped(Exception):
    """The program does not have what it was asked for."""


class Failed(Exception):
    """The mechanism failed on this input; the message is the program's."""


class VectorProgram:
    """A program that answers requests about vectors; started when first asked, and again after it failed.

    Args:
        command: the program and its arguments.
        limits: what it may use.
    """

    def __init__(self, command: Sequence[str], limits: Limits) -> None:
        self._command, self._limits = list(command), limits
        self._process: ChildProcess | None = None

    def __call__(self, request: Mapping[str, Any], *forms: Sequence[str]) -> Mapping[str, Any]:
        """Ask once.

        Args:
            request: JSON values.
            forms: the fields of an answer, for each form that it may have.

        Returns:
            The answer, in one of these forms.

        Raises:
            Skipped: the program has no such mechanism.
            Failed: the mechanism failed.
            TargetError: the program did not answer as it must.
        """
        if self._process is None:
            self._process = ChildProcess(self._command, self._limits)
        try:
            answer = read_object(self._process.ask_line(json.dumps(request).encode() + b"\n"))
            if answer == {"skip": True}:
                raise Skipped
            if set(answer) == {"error"}:
                raise Failed(" ".join(str(answer["error"]).split()))
            if set(answer) not in map(set, forms):
                expected, held = " or ".join(" and ".join(form) for form in forms), ", ".join(answer) or "nothing"
                raise ChildError(ChildFailure.GARBAGE, f"an answer holds {expected}, not {held[:80]}")
        except TargetError:
            self.close()
            raise
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None
