"""Utilities as the exponential mechanism in base e takes them, for every vector of any length.

What is shown: utilities are clamped, the best is the greatest of them, and the doubles that levels are found by lie
as far below `top` as the utilities lie below the best, each rounded once.

Two ways lead there: a list of exact numbers, which are unknown here, and an array of doubles, of which the whole array
alone can be asked for: its least and its greatest element, its elements clamped, its distances from a number. Neither
shows how many there are, but to count bits of that number for the depth of levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore, plain, same
from checker.kinds.lending import lent
from checker.kinds.levels import Levels
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
    """The deepest level: 63 less the number of bits of the number of outcomes."""


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


def require_levelled(of: Callable[..., Any], scale: Scale, known: Levels, parameters: dict[str, Any]) -> int:
    """Check that utilities are clamped, the best is the greatest, and levels are found by the distances from it.

    Args:
        of: LevelledUtilities.of.
        scale: the range of utilities.
        known: the rate and the factor of levels.
        parameters: what `of` takes beside utilities.

    Returns:
        How many ways were looked at.

    Raises:
        Refused: a vector, whatever its length, is taken for something else, or looked at otherwise.
    """
    ways = 0
    for utilities in unknown_vectors((1, 2, 3), unknown):
        looked = partial(_list_way, of=of, scale=scale, given=utilities, parameters=parameters, known=known)
        for _, found in explore(looked, DEPTH):
            ways += _ended(found)
    for _, found in explore(lambda way: _array_way(way, of, scale, parameters, known), DEPTH):
        ways += _ended(found)
    return ways


def _ended(found: Any) -> int:
    if found is Cut:
        raise Refused(f"utilities are compared more than {DEPTH} times")
    return 1


def _taken(of: Callable[..., Any], parameters: dict[str, Any], read: Any, known: Levels, **names: Any) -> Any:
    """Run `of` on what is read of some values, and return what it made."""
    values = object()

    def reader(_: str, given: Any, *, signalling: bool = False) -> Any:
        if given is not values or type(signalling) is not bool:
            raise Refused("something other than the utilities is read")
        return read

    def counted(given: Any) -> _Length:
        if given is not read:
            raise Refused("something other than the utilities is counted")
        return _Length()

    with lent(of, exact_numbers=reader, len=counted, **names):
        found = of(values, **parameters)
    if type(found.depth) is not _Depth:
        raise Refused("levels are not as deep as the number of utilities allows")
    if found.factor != known.factor or type(found.factor) is not float or plain(found.rate) != known.rate:
        raise Refused("the factor of levels or the rate are others than those that were found")
    return found


def _list_way(
    way: Way, of: Callable[..., Any], scale: Scale, given: tuple[Any, ...], parameters: dict[str, Any], known: Levels
) -> None:
    NOW[0] = Facts(way)
    rounded: list[list[Any]] = []

    def nearest_doubles(distances: Iterable[Any]) -> int:
        rounded.append(list(distances))
        return len(rounded) - 1

    found = _taken(of, parameters, list(given), known, nearest_doubles=nearest_doubles)
    own = [scale.clamped(one) for one in given]
    best = max(own)
    if len(rounded) != 1 or found.doubles != 0 or not same(rounded[0], [one - best for one in own]):
        raise Refused(f"levels of {given!r} are found by {rounded!r:.200}")
    if type(found.top) is not float or found.top != 0:
        raise Refused(f"distances below 0 are taken below {found.top!r:.100}")
    if not same(list(found.utilities), own) or not same(found.best, best):
        raise Refused(f"{given!r} are taken for {found.utilities!r:.200}, {found.best!r:.100} the best of them")


def _array_way(way: Way, of: Callable[..., Any], scale: Scale, parameters: dict[str, Any], known: Levels) -> None:
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
    found = _taken(
        of,
        parameters,
        given,
        known,
        np=numpy,
        quiet=lambda one: _Vector(way, ("quiet", one.expression), facts),
        float=lambda value: value if type(value) is _Extreme else float(value),
    )
    within = {("min", ">=", scale.low), ("max", "<=", scale.high)} <= facts
    clamped = ("fmin", ("fmax", ("quiet", ("given",)), low), high)
    taken, best = found.utilities, found.best
    if type(taken) is not _Vector or taken.expression not in ([("given",), clamped] if within else [clamped]):
        raise Refused("doubles are taken for others than the nearest of the range, and NaN for its lower end")
    if type(best) is not _Extreme or best.which != "max" or best.of.expression != taken.expression:
        raise Refused("the best utility is not the greatest")
    if found.doubles is not taken or found.top is not best:
        raise Refused("levels of doubles are found by something else than the distances from the best")
