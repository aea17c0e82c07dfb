"""A file that a student hands in, running in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError
from attacklab.processes.failures import ChildError
from attacklab.processes.lines import ChildProcess, Limits
from challenges import child
from challenges.catalogue import CHALLENGES, Challenge

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
            self.parts, plain = self._asked(child.load)
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

    def pair(self) -> Any:
        """The two inputs of an attack."""
        return self._asked(child.pair)

    def pairs(self) -> Any:
        """The pairs that go with a verdict."""
        return self._asked(child.pairs)

    def event(self, outputs: NDArray[Any]) -> NDArray[np.bool_]:
        """Which outputs lie in the event."""
        mask: NDArray[np.bool_] = self._asked(child.members, outputs)
        return mask

    def draw(self, input_: Any, seeds: Sequence[int]) -> tuple[NDArray[Any], NDArray[Any], float]:
        """Outputs of the repair, a block for each seed; the bits that each took; the seconds that they took.

        Raises:
            UsageError: it failed, or did not give one output for each that was asked for.
        """
        outputs, bits, seconds = self._asked(child.repaired, self.number, child.plain(input_), seeds)
        return outputs, bits, seconds

    def first_unproved(self, pairs: Sequence[Any]) -> Any | None:
        """The first pair for which exact laws do not prove the claim of the repair; None if they do for all."""
        return self._asked(child.unproved, self.number, [[child.plain(side) for side in two] for two in pairs])

    def _asked(self, function: Callable[..., Any], *arguments: Any) -> Any:
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
        return answer
