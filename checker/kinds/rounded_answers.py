"""Several answers that may be rounded to a public grid, each to an unknown integer of its own, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.lending import Token
from checker.kinds.opaque import Seen


class RoundedAnswers:
    """A public grid that rounds these answers and no others.

    Args:
        real: the mechanism's grid, asked for whatever depends on public parameters alone.
        number: how many answers there are.
        unknown: `unknown(name)`: what stands for an integer that is not known.

    Attributes:
        answers: they.
        wholes: the integers that they are rounded to.
    """

    def __init__(self, real: Any, number: int, unknown: Callable[[str], Any]) -> None:
        self._real = real
        self.answers: Sequence[Token] = [Token() for _ in range(number)]
        self.wholes = [unknown(f"answer {index}") for index in range(number)]
        self._of = {id(answer): whole for answer, whole in zip(self.answers, self.wholes, strict=True)}

    def nearest(self, answer: Any) -> Any:
        """Return the unknown number of steps of an answer."""
        if id(answer) not in self._of:
            raise Refused("something other than an answer is rounded to the grid")
        return self._of[id(answer)]

    def value(self, steps: Any) -> Seen:
        """Return a note of the place that was asked for."""
        return Seen("value", steps)

    def __getattr__(self, name: str) -> Any:
        if name not in ("rounded_sensitivity", "noise_steps", "step", "steps_of"):
            raise Refused(f"the grid is asked for {name}")
        return getattr(self._real, name)
