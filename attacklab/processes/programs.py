"""A program under proof in a process of its own, which asks for its randomness line by line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from attacklab.laws import Law, Progress
from attacklab.laws import Limits as SearchLimits
from attacklab.laws.dialogue import Dialogue
from attacklab.laws.external_program import outcome
from attacklab.model.random_bits import RandomBits
from attacklab.processes.failures import ChildError, ChildFailure
from attacklab.processes.lines import Limits, Program
from attacklab.processes.wire import proof_request_line


class Conversation(Program):
    """A program of `attacklab.laws.dialogue`.

    Args:
        command: the program and its arguments.
        limits: what the process may use; its seconds are the timeout of one line.
        kind: what the inputs are.
    """

    def __init__(self, command: Sequence[str], limits: Limits, kind: str) -> None:
        super().__init__(command, limits)
        self._kind = kind
        self._lines: list[str] = []

    def begin(self, input_: Any, replies: Sequence[str]) -> None:
        """Ask for one run; see `attacklab.laws.external_program.ExternalProgram`."""
        request = proof_request_line(self._kind, input_)
        if self._lines:
            raise ChildError(ChildFailure.GARBAGE, f"it wrote {self._lines[0]!r} after the output of a run")
        self.process.require_nothing_left("before the request")
        self.process.tell(request + _sent(replies))

    def lines(self, most: int) -> list[str]:
        """The next lines of the program."""
        if not self._lines:
            text = self.process.lines(self._limits.seconds)
            try:
                self._lines = text.decode("ascii").split("\n")[:-1]
            except UnicodeDecodeError as error:
                shown = text[error.start : error.start + 40]
                raise ChildError(ChildFailure.GARBAGE, f"its lines are not ASCII: {shown!r}") from None
        lines, self._lines = self._lines[:most], self._lines[most:]
        return lines

    def send(self, replies: Sequence[str]) -> None:
        """Answer the program's next requests."""
        self.process.tell(_sent(replies))

    def renew(self) -> None:
        """End the process; a later run starts it again."""
        self.close()
        self._lines = []


def _sent(replies: Sequence[str]) -> bytes:
    return "".join(f"{reply}\n" for reply in replies).encode()


class ProgramSampler:
    """A sampler that runs in another process, for targets: `attacklab.laws.has_law.HasLaw`.

    It may be pickled; each copy has a process of its own.

    Args:
        command: the program and its arguments.
        limits: what the process may use; its seconds are the timeout of one line.
        kind: what the inputs are.
    """

    def __init__(self, command: Sequence[str], limits: Limits, kind: str) -> None:
        self._made_of = tuple(command), limits, kind
        self._conversation = Conversation(*self._made_of)
        self._dialogue = Dialogue(self._conversation)
        self._lock = threading.Lock()

    asks_for_bits = True
    """Whether it draws here what its release draws elsewhere."""

    def __reduce__(self) -> tuple[Any, ...]:
        return ProgramSampler, self._made_of

    def __call__(self, input_: Any, bits: RandomBits) -> Any:
        """One output, drawn from `bits`.

        Raises:
            TargetError: the program failed, or does not keep to the protocol.
        """
        with self._lock:
            try:
                return outcome(self._conversation, input_, bits)
            except BaseException:
                self._conversation.renew()
                raise

    def law(self, input_: Any, *, limits: SearchLimits, progress: Callable[[Progress], None] | None = None) -> Law:
        """The law of the output; see `attacklab.laws.dialogue.Dialogue.law`."""
        with self._lock:
            return self._dialogue.law(input_, limits=limits, progress=progress)

    def close(self) -> None:
        """End the process; a later run starts it again."""
        with self._lock:
            self._conversation.renew()
