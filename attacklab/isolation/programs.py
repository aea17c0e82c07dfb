"""The sampler of a target that is a program: its law, and single runs of it, by a dialogue with the program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from attacklab.isolation.conversation import Conversation
from attacklab.isolation.process import Limits
from attacklab.laws import Law, Progress
from attacklab.laws import Limits as SearchLimits
from attacklab.laws.dialogue import Dialogue
from attacklab.laws.external_program import outcome
from attacklab.random_bits import RandomBits


class ProgramSampler:
    """A sampler that runs in another process, for targets: `attacklab.laws.own.FindsItsLaw`.

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
