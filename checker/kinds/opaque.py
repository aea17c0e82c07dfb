"""Values that a mechanism may hand on and add to but not look at: what is shown for one of them holds for all.

If a sampler runs with an opaque answer A and an opaque noise N, and returns what a public map makes of A + N, then it
does so for every answer and every noise: nothing that it did depended on either.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import plain


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

    def __str__(self) -> str:
        raise Refused("an answer or a noise is written as text")

    def __format__(self, _: str) -> str:
        raise Refused("an answer or a noise is written as text")

    def __repr__(self) -> str:
        return " + ".join(self.unknowns) + (f" + {self.plus}" if self.plus else "")

    def same(self, other: object) -> bool:
        """Whether another value is the same sum."""
        return type(other) is Opaque and (self.unknowns, self.plus) == (other.unknowns, other.plus)


class OpaqueReal:
    """A linear form of unknown real numbers: such forms can be added, scaled and rounded down, and nothing else.

    Args:
        terms: the coefficient of each unknown by its name; that of "" is the rational number without one.
    """

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look
    __array_ufunc__ = None

    def __init__(self, terms: Mapping[str, Fraction]) -> None:
        self.terms = {name: terms[name] for name in sorted(terms) if terms[name]}

    @classmethod
    def unknown(cls, name: str) -> OpaqueReal:
        """Return one unknown number."""
        return cls({name: Fraction(1)})

    def __add__(self, other: Any) -> OpaqueReal:
        others = other.terms if isinstance(other, OpaqueReal) else {"": plain(other)}
        names = {*self.terms, *others}
        return OpaqueReal({name: self.terms.get(name, Fraction(0)) + others.get(name, 0) for name in names})

    __radd__ = __add__

    def __mul__(self, other: Any) -> OpaqueReal:
        return OpaqueReal({name: coefficient * plain(other) for name, coefficient in self.terms.items()})

    __rmul__ = __mul__

    def __floor__(self) -> Opaque:
        return Opaque(f"⌊{self!r}⌋")

    def __sub__(self, other: Any) -> OpaqueReal:
        if not isinstance(other, Opaque) or not other.same(self.__floor__()):
            raise Refused("something other than its floor is subtracted from an unknown number")
        return OpaqueReal.unknown(f"({self!r} − ⌊{self!r}⌋)")

    def __eq__(self, other: object) -> bool:
        raise Refused("an unknown number is compared")

    def __bool__(self) -> bool:
        raise Refused("an unknown number is taken for true or false")

    def __repr__(self) -> str:
        return " + ".join(f"{coefficient}·{name}".rstrip("·") for name, coefficient in self.terms.items())

    def same(self, other: object) -> bool:
        """Whether another value is the same form."""
        return type(other) is OpaqueReal and self.terms == other.terms


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

    def steps_to(self, answer: Any) -> OpaqueReal:
        """Return the opaque number of steps of the answer, unrounded."""
        if answer is not self._answer:
            raise Refused("something other than the answer is brought to the grid")
        return OpaqueReal.unknown("steps")

    def values(self, steps: Any) -> Seen:
        """Return a note of the places that were asked for."""
        return Seen("values", steps)

    def value(self, steps: Any) -> Seen:
        """Return a note of the place that was asked for."""
        return Seen("value", steps)

    def __getattr__(self, name: str) -> Any:
        if name not in ("rounded_sensitivity", "noise_steps", "step"):
            raise Refused(f"the grid is asked for {name}")
        return getattr(self._real, name)
