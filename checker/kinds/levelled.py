"""Utilities as the exponential mechanism in base e takes them, for every vector of any length.

Two ways lead there: a list of exact numbers, which are unknown here, and an array of doubles, of which the whole array
alone can be asked for: its least and its greatest element, its elements clamped, its distances from a number. Neither
shows how many there are, but to count bits of that number for the depth of levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore, plain, same
from checker.kinds.lending import lent
from checker.kinds.private_vectors import unknown_vectors
from checker.kinds.unknowns import NOW, Facts, unknown
from checker.models.selection import Scale

DEPTH = 60

Fact = tuple[str, str, Fraction]
"""That the least ("min") or the greatest element is at least, or at most, a number."""


class _Length:
    """The number of outcomes, at least 1: it has bits, and nothing else can be asked of it."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not int or other > 0:
            raise TypeError("the number of outcomes is compared with something else than 0")
        return False

    def bit_length(self) -> _Bits:
        """Return how many bits it has."""
        return _Bits()


class _Bits:
    """The number of bits of the number of outcomes."""

    def __rsub__(self, other: object) -> _Depth:
        if other != 63 or type(other) is not int:
            raise Refused(f"levels are at most {other!r} less the bits of the number of outcomes deep")
        return _Depth()


class _Depth:
    """63 less the number of bits of the number of outcomes."""


class _Vector:
    """An array of doubles of any length, as an expression of the one that was read."""

    def __init__(self, way: Way, expression: tuple[Any, ...], facts: set[Fact]) -> None:
        self.way, self.expression, self.facts = way, expression, facts

    def min(self) -> _Extreme:
        """Return the least element, NaN if there is one."""
        return _Extreme(self, "min")

    def max(self) -> _Extreme:
        """Return the greatest element, NaN if there is one."""
        return _Extreme(self, "max")


class _Extreme:
    """The least or the greatest of an array: comparisons go both ways, and what they said is kept."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, of: _Vector, which: str) -> None:
        self.of, self.which = of, which

    def _compared(self, comparison: str, other: Any) -> bool:
        if type(other) is not float:
            raise TypeError(f"the {self.which} of utilities is compared with a {type(other).__name__}")
        chosen = self.of.way.choose(2) == 0
        if chosen and self.of.expression == ("given",):
            self.of.facts.add((self.which, comparison, Fraction(other)))
        return chosen

    def __ge__(self, other: Any) -> bool:
        return self._compared(">=", other)

    def __le__(self, other: Any) -> bool:
        return self._compared("<=", other)

    def __sub__(self, other: Any) -> _Vector:
        if type(other) is not _Vector:
            raise TypeError("something other than utilities is subtracted from the best one")
        return _Vector(other.way, ("subtract", (self.which, self.of.expression), other.expression), other.facts)


def require_levelled(of: Callable[..., Any], scale: Scale, rate: Fraction, parameters: dict[str, Any]) -> int:
    """Check that utilities are clamped, the best is the greatest, and levels are found by the distances from it.

    Args:
        of: LevelledUtilities.of.
        scale: the range of utilities.
        rate: what a gap is by distance.
        parameters: what `of` takes beside utilities.

    Returns:
        How many ways were looked at.

    Raises:
        Refused: a vector, whatever its length, is taken for something else, or looked at otherwise.
    """
    ways = 0
    for utilities in unknown_vectors((1, 2, 3), unknown):
        for _, found in explore(lambda way, given=utilities: _list_way(way, of, scale, given, parameters, rate), DEPTH):  # type: ignore[misc]
            ways += _ended(found)
    for _, found in explore(lambda way: _array_way(way, of, scale, parameters, rate), DEPTH):
        ways += _ended(found)
    return ways


def _ended(found: Any) -> int:
    if found is Cut:
        raise Refused(f"utilities are compared more than {DEPTH} times")
    return 1


def _taken(
    of: Callable[..., Any], parameters: dict[str, Any], read: Any, rate: Fraction, **names: Any
) -> tuple[Any, Any]:
    """Run `of` on what is read of some values; return what it made, and the distances that levels were found by."""
    values, exponents, levels = object(), object(), object()
    asked: list[tuple[Any, ...]] = []

    def reader(_: str, given: Any) -> Any:
        if given is not values:
            raise Refused("something other than the utilities is read")
        return read

    def levels_at(distances: Any, factor: Any, depth: Any) -> tuple[object, object]:
        asked.append((distances, factor, depth))
        return exponents, levels

    def counted(given: Any) -> _Length:
        if given is not read:
            raise Refused("something other than the utilities is counted")
        return _Length()

    with lent(of, exact_numbers=reader, levels_at=levels_at, len=counted, **names):
        found = of(values, **parameters)
    if len(asked) != 1 or type(asked[0][2]) is not _Depth or type(found.depth) is not _Depth:
        raise Refused("levels are not found once, to the depth that their number allows")
    if found.exponents is not exponents or found.levels is not levels or plain(found.rate) != rate:
        raise Refused("levels, exponents or the rate are others than those that were found")
    return found, asked[0][0]


def _list_way(
    way: Way, of: Callable[..., Any], scale: Scale, given: tuple[Any, ...], parameters: dict[str, Any], rate: Fraction
) -> None:
    NOW[0] = Facts(way)
    rounded: list[list[Any]] = []

    def nearest_doubles(distances: Iterable[Any]) -> int:
        rounded.append(list(distances))
        return len(rounded) - 1

    found, distances = _taken(of, parameters, list(given), rate, nearest_doubles=nearest_doubles)
    own = [scale.clamped(one) for one in given]
    best = max(own)
    if len(rounded) != 1 or distances != 0 or not same(rounded[0], [best - one for one in own]):
        raise Refused(f"levels of {given!r} are found by {rounded!r:.200}")
    if not same(list(found.utilities), own) or not same(found.best, best):
        raise Refused(f"{given!r} are taken for {found.utilities!r:.200}, {found.best!r:.100} the best of them")


def _array_way(way: Way, of: Callable[..., Any], scale: Scale, parameters: dict[str, Any], rate: Fraction) -> None:
    facts: set[Fact] = set()
    given = _Vector(way, ("given",), facts)
    low, high = float(scale.low), float(scale.high)

    def limit(name: str) -> Callable[..., _Vector]:
        def limited(one: Any, bound: Any) -> _Vector:
            if type(one) is not _Vector or type(bound) is not float:
                raise TypeError(f"{name} of something else than utilities and a number")
            return _Vector(way, (name, one.expression, bound), facts)

        return limited

    numpy = SimpleNamespace(fmin=limit("fmin"), fmax=limit("fmax"), errstate=import_module("numpy").errstate)
    found, distances = _taken(
        of,
        parameters,
        given,
        rate,
        np=numpy,
        float=lambda value: value if type(value) is _Extreme else float(value),
    )
    within = {("min", ">=", scale.low), ("max", "<=", scale.high)} <= facts
    clamped = ("fmin", ("fmax", ("given",), low), high)
    taken, best = found.utilities, found.best
    if type(taken) is not _Vector or taken.expression not in ([("given",), clamped] if within else [clamped]):
        raise Refused("doubles are taken for others than the nearest of the range, and NaN for its lower end")
    if type(best) is not _Extreme or best.which != "max" or best.of.expression != taken.expression:
        raise Refused("the best utility is not the greatest")
    expected = ("subtract", ("max", taken.expression), taken.expression)
    if type(distances) is not _Vector or distances.expression != expected:
        raise Refused("levels of doubles are found by something else than the distances from the best")
