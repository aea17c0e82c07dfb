"""One run of a program that asks for its randomness line by line: what is sent to it, and what it must write back.

A *script* is a run that is known beforehand, as steps: each a line that the program writes, with the reply to it if it
asks for one. All replies of a script are sent at once, before the program has asked for any, so that following it takes
no round trips; beyond the script's end the program is answered line by line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from attacklab.laws.errors import NeverEnds, NotDeterministic
from attacklab.laws.requests import BEGINNINGS, REJECTED, Draw, Event, NotInProtocol, Output, parse, shown
from attacklab.laws.uniform import below_or_rejected
from attacklab.model.random_bits import RandomBits

Step: TypeAlias = tuple[str, "str | None"]
"""A line that the program writes, and the reply to it; None if it asks for none."""


class ExternalProgram(Protocol):
    """A program under proof."""

    def begin(self, input_: Any, replies: Sequence[str]) -> None:
        """Ask for one run on this input, and send the replies to its first requests.

        Raises:
            TargetError: the program cannot be started, or the input cannot be sent.
        """

    def lines(self, most: int) -> list[str]:
        """The next lines that the program writes, without the newlines: at least one, at most so many.

        Raises:
            TargetError: it does not write one in time.
        """

    def send(self, replies: Sequence[str]) -> None:
        """Send the replies to its next requests."""

    def renew(self) -> None:
        """End the process; the next run begins in a fresh one."""


class Run:
    """One run.

    Args:
        program: the program.
        input_: what it is run on.
        script: how the run begins.
        most: the most lines beyond the script.

    Attributes:
        lines: how many lines there were beyond the script.

    Raises:
        NotDeterministic: the program departs from the script.
        TargetError: the program failed.
    """

    def __init__(self, program: ExternalProgram, input_: Any, script: Sequence[Step], most: int) -> None:
        self._program, self._most = program, most
        self.lines = 0
        self._known: list[str] = []
        program.begin(input_, [reply for _, reply in script if reply is not None])
        self._expect(script)

    def next(self) -> tuple[str, Event]:
        """The next line, and what it means.

        Raises:
            NeverEnds: there were too many.
            TargetError: the program failed, or the protocol does not have such a line.
        """
        self.lines += 1
        if self.lines > self._most:
            raise NeverEnds(
                f"the program wrote {self._most} lines in one run without an output; let it end, or allow more draws"
            )
        (line,) = self._program.lines(1)
        return line, parse(line)

    def reply(self, number: int) -> None:
        """Answer a request."""
        self._program.send([str(number)])

    def follow(self, script: Sequence[Step]) -> None:
        """Go on by a script, whose first line has been read.

        Raises:
            NotDeterministic: the program departs from it.
        """
        self._program.send([reply for _, reply in script if reply is not None])
        self._known.append(script[0][0])
        self._expect(script[1:])

    def finish(self, bits: RandomBits) -> Any:
        """Answer the rest of the run from `bits`, up to its output, and return that."""
        while True:
            _, event = self.next()
            if isinstance(event, Output):
                return event.outcome
            if isinstance(event, Draw):
                self.reply(drawn(event, bits))

    def _expect(self, script: Sequence[Step]) -> None:
        expected = [line for line, _ in script]
        at = 0
        while at < len(expected):
            lines = self._program.lines(len(expected) - at)
            if lines != expected[at : at + len(lines)]:
                right = next(i for i, line in enumerate(lines) if line != expected[at + i])
                self._known += expected[: at + right]
                raise self._departed(expected[at + right], lines[right])
            at += len(lines)
        self._known += expected

    def _departed(self, expected: str, line: str) -> NotDeterministic | NotInProtocol:
        parse(line)  # it may not even be a line of the protocol
        if self._known[-1:] == [REJECTED]:
            return not_begun_again(expected, line)
        begun: list[str] = []
        for known in self._known:
            if known.startswith(BEGINNINGS):
                begun.append(known)
            elif known.startswith("end "):
                begun.pop()
        change = f"wrote {shown(line)} where it had written {shown(expected)}"
        if begun:
            return NotDeterministic(
                f"inside {shown(begun[-1])} the program {change} after the same replies; a call or a round must depend "
                "on its name and arguments alone and keep no state: name all that it depends on, and draw from the lab "
                "alone"
            )
        return NotDeterministic(
            f"the program {change} after the same replies and the same ends of calls and rounds; let it draw from the "
            "lab alone, keep no state, and end each call and round with all that is used of it"
        )


def not_begun_again(expected: str, line: str) -> NotInProtocol:
    """The refusal of a program that went on after a rejected round."""
    return NotInProtocol(
        f"after a rejected round the program wrote {shown(line)}; it must begin the same round again, with "
        f"{shown(expected)}, however many were rejected"
    )


def drawn(draw: Draw, bits: RandomBits) -> int:
    """A random reply to a request, from its law."""
    if len(draw.shares) == 1:
        return draw.replies[bits.repeat(below_or_rejected, draw.count)]
    likelier = draw.shares[0]
    return draw.replies[0 if bits.repeat(below_or_rejected, int(likelier.denominator)) < likelier.numerator else 1]


def outcome(program: ExternalProgram, input_: Any, bits: RandomBits) -> Any:
    """One output of a program, its requests answered from `bits`.

    Raises:
        TargetError: the program failed, or wrote something that the protocol does not have.
    """
    return Run(program, input_, (), sys.maxsize).finish(bits)
