"""A file that a student hands in, running in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from attacklab.model.errors import UsageError
from attacklab.processes.failures import ChildError
from attacklab.processes.lines import ChildProcess, Limits
from challenges import child
from challenges.catalogue import CHALLENGES, Challenge

Answer = TypeVar("Answer")

SECONDS = 120.0
"""How long one request may take."""
MEMORY_BYTES = 4 << 30
START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from challenges.child import main; main()"


class HandedIn:
    """The file, loaded.

    Args:
        path: the file.
        seconds: how long one request may take.

    Attributes:
        number: of its challenge.
        challenge: that challenge.
        parts: which of the names that a file may define it defines.
        verdict: its verdict, if it has one.

    Raises:
        UsageError: it cannot be read, breaks a rule, or does not name a challenge; in one line.
    """

    def __init__(self, path: Path, *, seconds: float = SECONDS) -> None:
        try:
            self._source = path.read_text("utf-8")
        except UnicodeDecodeError:
            raise UsageError(f"{path}: is not text in UTF-8") from None
        self._path = path
        self._failed: UsageError | None = None
        command = [sys.executable, "-c", START, str(Path(__file__).parent.parent)]
        memory = MEMORY_BYTES if sys.platform == "linux" else None
        self._process = ChildProcess(command, Limits(seconds=seconds, memory_bytes=memory))
        try:
            self.parts, plain = self.ask(child.load)
            number = plain.get("challenge")
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(CHALLENGES):
                raise UsageError(f"{path}: must say which challenge it is for: challenge = 1, up to {len(CHALLENGES)}")
        except BaseException:
            self.close()
            raise
        self.verdict = plain.get("verdict")
        self.number = number
        self.challenge: Challenge = CHALLENGES[number - 1]

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def ask(self, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """What a function of `child` answers, which gets the text of the file and these arguments.

        Raises:
            UsageError: the file failed, or took too long; then it is not asked again.
        """
        if self._failed is not None:
            raise self._failed
        try:
            line = self._process.ask_line(child.dumped((function, (self._source, *arguments))))
        except ChildError as error:
            self.close()
            self._failed = UsageError(f"{self._path}: {error}")
            raise self._failed from error
        outcome, answer = child.loaded(line)
        if outcome == "failed":
            raise UsageError(f"{self._path}: {answer}")
        read: Answer = answer
        return read
