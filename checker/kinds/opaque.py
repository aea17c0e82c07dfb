"""Values that a mechanism may hand on and add to but not look at: what is shown for one of them holds for all.

If a sampler runs with an opaque answer A and an opaque noise N, and returns what a public map makes of A + N, then it
does so for every answer and every noise: nothing that it did depended on either.
"""

from __future__ import annotations

from typing import Any

from checker.core.certificate import Refused


class Opaque:
    """A sum of named unknowns and an integer; it can be added to and handed on, and nothing else."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look
    __array_ufunc__ = None

    def __init__(self, *unknowns: str, plus: int = 0) -> None:
        self.unknowns, self.plus = tuple(sorted(unknowns)), plus

    def __add__(self, other: Any) -> Opaque:
        if isinstance(other, Opaque):
            return Opaque(*self.unknowns, *other.unknowns, plus=self.plus + other.plus)
        if type(other) is int:
            return Opaque(*self.unknowns, plus=self.plus + other)
        return NotImplemented

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        raise Refused("an answer or a noise is compared")

    def __bool__(self) -> bool:
        raise Refused("an answer or a noise is taken for true or false")

    def __repr__(self) -> str:
        return " + ".join(self.unknowns) + (f" + {self.plus}" if self.plus else "")

    def same(self, other: object) -> bool:
        """Whether another value is the same sum."""
        return type(other) is Opaque and (self.unknowns, self.plus) == (other.unknowns, other.plus)


class Seen:
    """The value of a public map at an opaque place: `Seen("value", A + N)` for grid.value(A + N)."""

    def __init__(self, function: str, *places: Any) -> None:
        self.function, self.places = function, places

    def __repr__(self) -> str:
        return f"{self.function}{self.places}"

    def same(self, other: object) -> bool:
        """Whether another value is that of the same map at the same place."""
        if type(other) is not Seen or (self.function, len(self.places)) != (other.function, len(other.places)):
            return False
        return all(one.same(two) for one, two in zip(self.places, other.places, strict=True))


class OpaqueGrid:
    """A public grid that only says what is asked of it: `nearest` of the one answer is A, `value` is not computed.

    Args:
        real: the mechanism's grid, asked for whatever depends on public parameters alone.
        answer: the opaque answer.
    """

    def __init__(self, real: Any, answer: Opaque) -> None:
        self._real, self._answer = real, answer

    def nearest(self, answer: Any) -> Opaque:
        """Return the opaque number of steps of the answer."""
        if answer is not self._answer:
            raise Refused("something other than the answer is rounded to the grid")
        return Opaque("nearest(answer)")

    def value(self, steps: Any) -> Seen:
        """Return a note of the place that was asked for."""
        return Seen("value", steps)

    def __getattr__(self, name: str) -> Any:
        if name not in ("rounded_sensitivity", "noise_steps", "step"):
            raise Refused(f"the grid is asked for {name}")
        return getattr(self._real, name)
