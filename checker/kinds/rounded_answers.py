"""Several answers that may be rounded to a public grid, each to an unknown integer of its own, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Way
from checker.kinds.lending import Token
from checker.kinds.opaque import Seen
from checker.kinds.unknowns import UnknownDialogues


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


class Steps:
    """A sum of unknown integers and a known one: it can be added to, handed on, and compared by ≥ with another.

    A comparison goes both ways, one after the other, and the same way again within a run.
    """

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look
    __array_ufunc__ = None

    def __init__(self, *unknowns: str, plus: int = 0) -> None:
        self.unknowns, self.plus = tuple(sorted(unknowns)), plus

    def __add__(self, other: Any) -> Steps:
        if isinstance(other, Steps):
            return Steps(*self.unknowns, *other.unknowns, plus=self.plus + other.plus)
        if type(other) is int:
            return Steps(*self.unknowns, plus=self.plus + other)
        return NotImplemented

    __radd__ = __add__

    def __ge__(self, other: Any) -> bool:
        if not isinstance(other, Steps):
            raise Refused("unknown steps are compared with known ones")
        way, known = _RUN[0]
        key = (self.unknowns, self.plus, other.unknowns, other.plus)
        if key not in known:
            known[key] = not way.choose(2)
        return known[key]

    def __eq__(self, other: object) -> bool:
        raise Refused("unknown steps are compared otherwise than by ≥")

    def __bool__(self) -> bool:
        raise Refused("unknown steps are taken for true or false")

    def __repr__(self) -> str:
        return " + ".join(self.unknowns) + (f" + {self.plus}" if self.plus else "")

    def same(self, other: object) -> bool:
        """Whether another value is the same sum."""
        return type(other) is Steps and (self.unknowns, self.plus) == (other.unknowns, other.plus)


_RUN: list[tuple[Way, dict[Any, bool]]] = []
"""The run that is under way, its only element: its choices, and how comparisons went."""


class StepsDialogues(UnknownDialogues):
    """Comparisons of samplers that compute with `Steps`."""

    def run(self, way: Way, one: Any, other: Any, given: tuple[Any, ...]) -> list[Any]:
        """Compare two samplers on one way; return whom they called."""
        _RUN[:] = [(way, {})]
        return super().run(way, one, other, given)
