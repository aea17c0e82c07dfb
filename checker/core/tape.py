"""Runs of a sampler on all replies: its law where it is finite, and its dialogue beside that of a published algorithm.

A sampler asks a source for bits, for a call of another sampler, or for a round to be repeated. `Dialogues` runs the
checker's own copy of an algorithm and a mechanism's sampler on the same replies. It demands the same requests, with
equal arguments and in the same order, and the same outcome. What is called returns every outcome in turn and is
compared with its own copy later, so that nothing has to be known of any law to compare two samplers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from numbers import Rational
from typing import Any

from checker.core.certificate import PACKAGE, Refused

LONG_WAYS = (20, 100, 1000)
"""How often a run is made to choose alike before it may end: loops are followed so far at least."""

LISTED_BITS = 8
"""Replies of at most so many bits are tried one by one; longer ones stay open until something is compared with them."""


class Cut(Exception):
    """A run asked for more than is looked at."""


class Way:
    """The choices of one run; the same choices lead the same way again."""

    def __init__(self, path: list[list[int]], depth: int) -> None:
        self._path, self._depth = path, depth
        self.taken = 0
        self.uniforms: list[Uniform] = []

    def choose(self, count: int) -> int:
        """Choose one of `count` ways on."""
        if self.taken == len(self._path):
            if self.taken >= self._depth:
                raise Cut
            self._path.append([0, count])
        chosen, ways = self._path[self.taken]
        if ways != count:
            raise Refused("the sampler is not a function of its bits")
        self.taken += 1
        return chosen

    def uniform(self, count: int) -> int | Uniform:
        """Return `count` uniform bits as an integer: each in turn if they are few, and an open one if they are many."""
        uniform = Uniform(self, 1 << count)
        self.uniforms.append(uniform)
        if count > LISTED_BITS:
            return uniform
        uniform.low = self.choose(1 << count) if count else 0
        uniform.high = uniform.low + 1
        return uniform.low

    @property
    def mass(self) -> Fraction:
        """The probability of this way, if nothing was called."""
        found = Fraction(1)
        for uniform in self.uniforms:
            found *= Fraction(uniform.high - uniform.low, uniform.size)
        return found


class LongWay(Way):
    """One way that chooses the first (or the last) of all ways on, over and over, and then the last (or the first)."""

    def __init__(self, length: int, *, first: bool) -> None:
        super().__init__([], 0)
        self._length, self._first = length, first

    def choose(self, count: int) -> int:
        """Choose one of `count` ways on."""
        self.taken += 1
        if self.taken > self._length + LISTED_BITS:
            raise Cut
        return 0 if (self.taken <= self._length) is self._first else count - 1


class Uniform:
    """An integer of [low, high) of which nothing else is known; a comparison goes both ways, one after the other.

    Every other operation is a TypeError, and so a refusal.
    """

    __hash__ = None  # type: ignore[assignment] # a look-up would be a comparison that no way shows

    def __init__(self, way: Way, size: int) -> None:
        self._way, self.size = way, size
        self.low, self.high = 0, size

    def below(self, bound: Fraction | int) -> bool:
        """Whether it is below a number."""
        cut = -int(-Fraction(bound) // 1)
        if cut >= self.high:
            return True
        if cut <= self.low or self._way.choose(2):
            self.low = max(self.low, cut)
            return False
        self.high = cut
        return True

    def __lt__(self, other: Any) -> bool:
        return self.below(plain(other))

    def __ge__(self, other: Any) -> bool:
        return not self.below(plain(other))

    def __le__(self, other: Any) -> bool:
        return self.below(plain(other).__floor__() + 1)

    def __gt__(self, other: Any) -> bool:
        return not self.below(plain(other).__floor__() + 1)

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        return plain(other).denominator == 1 and self >= other and self <= other

    def __ne__(self, other: object) -> bool:
        return not self == other


def plain(value: Any) -> Fraction:
    """Take an integer or a rational of any type."""
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    raise TypeError(f"a reply was compared with a {type(value).__name__}")


def explore(run: Callable[[Way], Any], depth: int) -> Iterator[tuple[Way, Any]]:
    """Run once for each way through its choices; where it chooses more than `depth` times, the result is `Cut`."""
    path: list[list[int]] = []
    while True:
        way = Way(path, depth)
        try:
            result = run(way)
        except Cut:
            result = Cut
        if way.taken != len(path):
            raise Refused("the sampler is not a function of its bits")
        yield way, result
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        path[-1][0] += 1


@dataclass(frozen=True)
class Published:
    """The checker's copy of a published sampler, which a request can name.

    Args:
        function: `function(*arguments, bits)`.
        outcomes: `outcomes(*arguments)`: what it can return, or as much of that as is tried; a range of more than 256
            integers is one open reply.
    """

    function: Callable[..., Any]
    outcomes: Callable[..., Sequence[Any]]

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        return self.function(*arguments)


def published(outcomes: Callable[..., Sequence[Any]]) -> Callable[[Callable[..., Any]], Published]:
    """Make a copy of a published sampler one that a request can name; see `Published`."""
    return lambda function: Published(function, outcomes)


@dataclass
class Recorder:
    """The source of the algorithm's run: chooses the replies and writes down what was asked."""

    way: Way
    said: list[tuple[Any, Any]] = field(default_factory=list)

    def take(self, count: int) -> Any:
        """Reply with uniform bits."""
        reply = self.way.uniform(count)
        self.said.append((("take", count), reply))
        return reply

    def call(self, sampler: Any, *arguments: Any) -> Any:
        """Reply with an outcome of a published sampler; any other runs here."""
        return self._asked("call", sampler, arguments) if isinstance(sampler, Published) else sampler(*arguments, self)

    def repeat(self, sampler: Published, *arguments: Any) -> Any:
        """Reply with an outcome of the round that is not a rejection."""
        return self._asked("repeat", sampler, arguments)

    def _asked(self, verb: str, sampler: Published, arguments: tuple[Any, ...]) -> Any:
        outcomes = sampler.outcomes(*arguments)
        if isinstance(outcomes, range) and outcomes.stop > 1 << LISTED_BITS:
            reply: Any = Uniform(self.way, outcomes.stop)
        else:
            reply = outcomes[self.way.choose(len(outcomes))]
        self.said.append(((verb, sampler, arguments), reply))
        return reply


@dataclass
class Replayer:
    """The source of the mechanism's run: demands the same requests, gives the same replies and notes who was called."""

    said: list[tuple[Any, Any]]
    called: list[tuple[Any, Published, tuple[Any, ...]]] = field(default_factory=list)
    at: int = 0

    def take(self, count: int) -> Any:
        """Reply as the algorithm was replied to."""
        return self._next(("take", count), (count,))

    def words(self, count: int) -> Any:
        """Reply with words as the mechanisms' own protocol makes them of `take`."""
        return importlib.import_module(f"{PACKAGE}.randomness").RandomBits.words(self, count)

    def call(self, sampler: Any, *arguments: Any) -> Any:
        """Reply as the algorithm was replied to."""
        return self._next(("call", sampler, arguments), arguments)

    def repeat(self, sampler: Any, *arguments: Any) -> Any:
        """Reply as the algorithm was replied to."""
        return self._next(("repeat", sampler, arguments), arguments)

    def _next(self, request: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        if self.at == len(self.said):
            raise Refused(f"the sampler asks on: {request}; the algorithm does not")
        asked, reply = self.said[self.at]
        if asked[0] != request[0] or not same(asked[-1] if len(asked) > 2 else asked[1:], arguments):
            raise Refused(f"the sampler asks {request}, the algorithm {asked}")
        self.at += 1
        if len(asked) > 2:
            self.called.append((request[1], asked[1], asked[2]))
        return reply


@dataclass
class Dialogues:
    """Comparisons of samplers with published algorithms, and of all that they call.

    Args:
        depth: how many choices of a run are looked at.
        arguments: with how many different arguments each called sampler is compared.

    Attributes:
        runs: how many runs ended alike.
        cut: how many were cut off at `depth`.
    """

    depth: int = 12
    arguments: int = 64
    runs: int = 0
    cut: int = 0
    _seen: dict[tuple[int, int], list[tuple[Any, ...]]] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)

    def same(self, sampler: Callable[..., Any], model: Callable[..., Any], *arguments: Any) -> None:
        """Check that a sampler asks and returns what the algorithm does, and so do all that it calls.

        Raises:
            Refused: they differ.
        """
        waiting = [(sampler, model, arguments)]
        while waiting:
            one, other, given = waiting.pop()
            before = self._seen.setdefault((id(one), id(other)), [])
            if len(before) >= self.arguments or any(same(given, old) for old in before):
                continue
            before.append(given)
            self._kept.append((one, other))  # ids stay theirs
            waiting += self._compare(one, other, given, long=len(before) <= 2)

    def _compare(self, one: Any, other: Any, given: tuple[Any, ...], *, long: bool) -> list[Any]:
        """Compare two samplers on one tuple of arguments; return whom they called."""
        called: list[Any] = []
        for _, calls in explore(lambda way: self.run(way, one, other, given), self.depth):
            self.cut += calls is Cut
            self.runs += calls is not Cut
            called += [] if calls is Cut else calls
        for length, first in product(LONG_WAYS if long else (), (True, False)):
            with suppress(Cut):
                self.run(LongWay(length, first=first), one, other, given)
                self.runs += 1
        return called

    def run(self, way: Way, one: Any, other: Any, given: tuple[Any, ...]) -> list[Any]:
        """Compare two samplers on one way; return whom they called, as sampler, algorithm and arguments."""
        return _both(way, one, other, given)


def _both(way: Way, sampler: Any, model: Any, arguments: tuple[Any, ...]) -> list[tuple[Any, Published, Any]]:
    recorder = Recorder(way)
    expected = model(*arguments, recorder)
    replayer = Replayer(recorder.said)
    try:
        outcome = sampler(*arguments, replayer)
    except TypeError as error:
        raise Refused(f"{sampler!r} computes with a reply: {error}") from error
    if replayer.at != len(recorder.said):
        raise Refused(f"the algorithm asks on: {recorder.said[replayer.at][0]}; {sampler!r} does not")
    if type(outcome) is not type(expected) or not same(outcome, expected):
        raise Refused(f"on {recorder.said} {sampler!r} returns {outcome!r}, the algorithm {expected!r}")
    return replayer.called


def law(sampler: Callable[..., Any], arguments: tuple[Any, ...], *, depth: int) -> tuple[dict[Any, Fraction], Fraction]:
    """Find the law of a sampler that takes bits only, by running it on all of them.

    Returns:
        The probability of each outcome, by its type and its value, and what is left open by runs that were cut off.
    """
    masses: dict[Any, Fraction] = {}
    for way, outcome in explore(lambda way: sampler(*arguments, Recorder(way)), depth):
        if isinstance(outcome, Uniform):
            raise Refused("a law was asked of a sampler that returns an open reply")
        if outcome is not Cut:
            tag = (type(outcome).__name__, outcome)
            masses[tag] = masses.get(tag, Fraction(0)) + way.mass
    return masses, 1 - sum(masses.values(), Fraction(0))


def same(one: Any, other: Any) -> bool:
    """Say whether two values are equal and of the same kind: rationals of any type, or of the very same type.

    What has a method `same` is asked itself.
    """
    if isinstance(one, Uniform) or isinstance(other, Uniform):
        return one is other
    if hasattr(type(one), "same"):
        return bool(one.same(other))
    if isinstance(one, tuple | list) and type(one) is type(other):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is not type(other):
        exact = all(isinstance(value, Rational) and not isinstance(value, bool) for value in (one, other))
        return bool(exact and plain(one) == plain(other))
    if isinstance(one, float):
        return bool(one.hex() == other.hex())
    return bool(one == other)
