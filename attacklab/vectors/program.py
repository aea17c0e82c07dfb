"""A program under test, in any language: one line of JSON for each request, one line back.

docs/reference/vectors.md has the requests of each type. `{"skip": true}` says that the program has no such mechanism,
and `{"error": "..."}` that the mechanism failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attacklab.processes.lines import Program


class Skipped(Exception):
    """The program does not have what it was asked for."""


class Failed(Exception):
    """The mechanism failed on this input; the message is the program's."""


class VectorProgram(Program):
    """A program that answers requests about vectors."""

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
        answer = self.ask_object(request)
        if answer == {"skip": True}:
            raise Skipped
        if set(answer) == {"error"}:
            raise Failed(" ".join(str(answer["error"]).split()))
        if set(answer) not in map(set, forms):
            expected, held = " or ".join(" and ".join(form) for form in forms), ", ".join(answer) or "nothing"
            raise self.garbage(f"an answer holds {expected}, not {held[:80]}")
        return answer
