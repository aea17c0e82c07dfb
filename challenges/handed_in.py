"""A file that a student hands in, running in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.model.errors import UsageError
from attacklab.processes.failures import ChildError
from attacklab.processes.lines import ChildProcess, Limits
from challenges.catalogue import CHALLENGES, Challenge
from challenges.child import dumped, loaded, plain
from challenges.rules import parsed

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
            parsed(path.read_text("utf-8"))
        except UnicodeDecodeError:
            raise UsageError(f"{path}: is not text in UTF-8") from None
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
        self._path = path
        self._failed: UsageError | None = None
        command = [sys.executable, "-c", START, str(Path(__file__).parent.parent), str(path)]
        memory = MEMORY_BYTES if sys.platform == "linux" else None
        self._process = ChildProcess(command, Limits(seconds=seconds, memory_bytes=memory))
        try:
            file = self._asked("load")
            self.parts = set(file["parts"])
            number = file["plain"].get("challenge")
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(CHALLENGES):
                raise UsageError(f"{path}: must say which challenge it is for: challenge = 1, up to {len(CHALLENGES)}")
        except BaseException:
            self._process.close()
            raise
        self.verdict = file["plain"].get("verdict")
        self.number = number
        self.challenge: Challenge = CHALLENGES[number - 1]

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def pair(self) -> Any:
        """The two inputs of an attack."""
        return self._asked("pair")["pair"]

    def pairs(self) -> Any:
        """The pairs that go with a verdict."""
        return self._asked("pairs")["pairs"]

    def event(self, outputs: NDArray[Any]) -> NDArray[np.bool_]:
        """Which outputs lie in the event."""
        mask: NDArray[np.bool_] = self._asked("event", outputs=outputs)["mask"]
        return mask

    def draw(self, input_: Any, size: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], float]:
        """Outputs of the repair; the bits that each took; the seconds that they took.

        Raises:
            UsageError: it failed, or did not give one output for each that was asked for.
        """
        answer = self._asked("draw", number=self.number, input_=plain(input_), size=size, seed=seed)
        return answer["outputs"], answer["taken"], answer["seconds"]

    def first_unproved(self, pairs: Sequence[Any]) -> Any | None:
        """The first pair for which exact laws do not prove the claim of the repair; None if they do for all."""
        listed = [[plain(side) for side in two] for two in pairs]
        return self._asked("prove", number=self.number, pairs=listed)["unproved"]

    def _asked(self, do: str, **rest: Any) -> dict[str, Any]:
        if self._failed is not None:
            raise self._failed
        try:
            answer = loaded(self._process.ask_line(dumped({"do": do, **rest}).encode("ascii") + b"\n"))
        except ChildError as error:
            self._process.close()
            self._failed = UsageError(f"{self._path}: {error}")
            raise self._failed from error
        if "error" in answer:
            raise UsageError(f"{self._path}: {answer['error']}")
        return answer
