"""Numbers of which nothing is known: what two functions make of them alike, they make alike of all numbers.

A symbol is a linear form: rational multiples of unknowns, of products and of floored quotients, and a constant. A
comparison goes both ways, one after the other, and the same comparison goes the same way again within a case.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore

DEPTH = 12
"""How many comparisons there may be in a case."""

Key = tuple[Any, ...]


class Cases:
    """What was decided in one case."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._decided: dict[Key, bool] = {}

    def unknown(self, name: str) -> Symbol:
        """Return the unknown of a name."""
        return Symbol(self, {("unknown", name): Fraction(1)}, Fraction(0))

    def decide(self, key: Key) -> bool:
        """Decide a comparison, as before if it was decided before."""
        if key not in self._decided:
            self._decided[key] = self._way.choose(2) == 1
        return self._decided[key]


def for_all(check: Callable[[Cases], None]) -> int:
    """Run a check in every case of its comparisons; return how many there were."""
    count = 0
    for _, result in explore(lambda way: check(Cases(way)), DEPTH):
        if result is Cut:
            raise Refused(f"there are more than {DEPTH} comparisons in a case")
        count += 1
    return count


class Symbol:
    """A linear form; see the module."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a comparison

    def __init__(self, cases: Cases, terms: dict[Key, Fraction], constant: Fraction) -> None:
        self._cases = cases
        self._terms = {key: factor for key, factor in terms.items() if factor}
        self._constant = constant

    @property
    def key(self) -> Key:
        """What tells it from other forms."""
        return (*sorted(self._terms.items(), key=repr), self._constant)

    def same(self, other: object) -> bool:
        """Whether another value is the same form."""
        return isinstance(other, Symbol) and self.key == other.key

    def _form(self, other: Any) -> Symbol | None:
        if isinstance(other, Symbol):
            return other
        if isinstance(other, int | Fraction):
            return Symbol(self._cases, {}, Fraction(other))
        return None

    def __add__(self, other: Any) -> Any:
        form = self._form(other)
        if form is None:
            return NotImplemented
        terms = dict(self._terms)
        for key, factor in form._terms.items():
            terms[key] = terms.get(key, Fraction(0)) + factor
        return Symbol(self._cases, terms, self._constant + form._constant)

    __radd__ = __add__

    def __neg__(self) -> Symbol:
        return Symbol(self._cases, {key: -factor for key, factor in self._terms.items()}, -self._constant)

    def __sub__(self, other: Any) -> Any:
        form = self._form(other)
        return NotImplemented if form is None else self + -form

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        form = self._form(other)
        if form is None:
            return NotImplemented
        if self._terms and form._terms:
            return self._atom("product", *sorted((self.key, form.key), key=repr))
        varying, factor = (self, form._constant) if not form._terms else (form, self._constant)
        terms = {key: factor * value for key, value in varying._terms.items()}
        return Symbol(self._cases, terms, factor * varying._constant)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * (1 / Fraction(other)) if isinstance(other, int | Fraction) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        form = self._form(other)
        return NotImplemented if form is None else self._atom("quotient", self.key, form.key)

    def __rfloordiv__(self, other: Any) -> Any:
        form = self._form(other)
        return NotImplemented if form is None else form // self

    def _atom(self, *key: Any) -> Symbol:
        return Symbol(self._cases, {key: Fraction(1)}, Fraction(0))

    def _negative(self) -> bool:
        if not self._terms:
            return self._constant < 0
        return self._cases.decide(("negative", self.key))

    def __lt__(self, other: Any) -> bool:
        return bool((self - other)._negative())

    def __gt__(self, other: Any) -> bool:
        return bool((-self + other)._negative())

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        difference = self - other
        if not difference._terms:
            return bool(difference._constant == 0)
        return bool(self._cases.decide(("zero", max(difference.key, (-difference).key, key=repr))))

    def __bool__(self) -> bool:
        return self != 0

    def __repr__(self) -> str:
        return f"Symbol{self.key}"


def require_equal(found: Any, expected: Any, what: str) -> None:
    """Check that two values are the same symbol, or equal rationals.

    Raises:
        Refused: they are not.
    """
    if isinstance(found, Symbol) or isinstance(expected, Symbol):
        equal = isinstance(found, Symbol) and found.same(expected)
    else:
        equal = all(isinstance(one, int | Fraction) for one in (found, expected)) and bool(found == expected)
    if not equal:
        raise Refused(f"{what} is {found!r}, not {expected!r}")
