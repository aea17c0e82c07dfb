"""The law of any sampler, found by running it on all of its bits, with a bound for what is left open.

What is called with arguments that can be compared has its law found once. A loop that rejects is a geometric series:
an outcome of the round of mass a has a/(1 − r) if the round is rejected with mass r. Runs whose mass is below `CUT` are
cut off. So every mass that is found is a lower bound, and what is missing from 1 is the mass left open. Leaves
are run again on plain integers, with loops that loop, and must lead to the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import LISTED_BITS, Cut, Uniform, Way, explore
from checker.enclosures.elementary import down

CUT = Fraction(1, 1 << 80)
BITS = 160
DEPTH = 20_000
REPLAYED = 40
"""Leaves of at most so many requests are replayed whole; of longer ones, the laws that they are made of were."""

MOST_RUNS = 100_000
"""The most runs for one law; a sampler that needs more is refused."""

Takes = tuple[tuple[int, int | None], ...]
"""How many bits were taken, and which; None where they are the outcome, an open integer."""


class Spread(Uniform):
    """An open integer that becomes each of its values in turn where one is needed, as an index."""

    def __index__(self) -> int:
        if self.high - self.low > 1 << LISTED_BITS:
            raise TypeError("an integer of many values is used as an index")
        if self.high - self.low > 1:
            self.low += self._way.choose(self.high - self.low)
            self.high = self.low + 1
        return self.low


@dataclass(frozen=True)
class Open:
    """An outcome that is an open integer of [low, high)."""

    low: int
    high: int


@dataclass(frozen=True)
class Leaf:
    """An outcome of a law.

    Args:
        outcome: it.
        mass: a lower bound of its probability.
        takes: bits that lead to it: without a rejection, and with one in each loop.
    """

    outcome: Any
    mass: Fraction
    takes: tuple[Takes, Takes]


@dataclass(frozen=True)
class Law:
    """What a sampler returns with which probability.

    Args:
        leaves: the outcomes, by type and value.
        rejection: for a loop, bits that it rejects.
    """

    leaves: dict[Any, Leaf]
    rejection: Takes = ()

    @cached_property
    def open(self) -> Fraction:
        """The mass that no outcome is known to have."""
        return 1 - sum((leaf.mass for leaf in self.leaves.values()), Fraction(0))

    @cached_property
    def listed(self) -> tuple[Leaf, ...]:
        """The leaves in order."""
        return tuple(self.leaves.values())


def tag(value: Any) -> Any:
    """Return what two values have in common if they are alike in type and in each bit."""
    if isinstance(value, tuple | list):
        return (type(value).__name__, *map(tag, value))
    hash(value)
    return (type(value), value.hex() if isinstance(value, float) else value)


@dataclass
class Laws:
    """The laws found so far."""

    found: dict[Any, Law] = field(default_factory=dict)
    runs: int = 0

    def of(self, sampler: Callable[..., Any], *arguments: Any) -> Law:
        """Return the law of `sampler(*arguments, bits)`, its outcomes single values.

        Raises:
            Refused: it is not a function of its bits, or has too many runs.
            TypeError: it computes with bits in a way that is not followed.
        """
        return self._explored(sampler, arguments, single=True)

    def called(self, sampler: Callable[..., Any], arguments: tuple[Any, ...], *, loops: bool) -> Law:
        """Return the law of what is called or repeated, from memory if it was found before.

        Raises:
            TypeError: an argument cannot be compared.
        """
        key = (loops, sampler, tag(arguments))
        if key not in self.found:
            law = self._explored(sampler, arguments, single=False)
            self.found[key] = _repeated(law) if loops else law
        return self.found[key]

    def _explored(self, sampler: Callable[..., Any], arguments: tuple[Any, ...], *, single: bool) -> Law:
        leaves: dict[Any, Leaf] = {}

        def run(way: Way) -> tuple[_Source, Any]:
            source = _Source(way, self)
            outcome = sampler(*arguments, source)
            return source, outcome.__index__() if single and isinstance(outcome, Spread) else outcome

        for count, (_, result) in enumerate(explore(run, DEPTH)):
            if count >= MOST_RUNS:
                raise Refused(f"{sampler!r} has more than {MOST_RUNS} runs")
            self.runs += 1
            if result is Cut:
                continue
            source, outcome = result
            takes = source.takes(outcome)
            if isinstance(outcome, Spread):
                outcome = Open(outcome.low, outcome.high)
            for variant in {variant for variant in takes if len(variant) <= REPLAYED}:
                _replay(sampler, arguments, variant, outcome)
            name = tag(outcome)
            before = leaves[name].mass if name in leaves else 0
            leaves[name] = Leaf(outcome, before + source.mass, takes)
        return _rounded(Law(leaves))


def _rounded(law: Law) -> Law:
    """Round the masses of a law down to `BITS` bits, unless it is closed."""
    if not law.open:
        return law
    leaves = {n: Leaf(leaf.outcome, down(leaf.mass, BITS), leaf.takes) for n, leaf in law.leaves.items()}
    return Law(leaves, law.rejection)


def _repeated(law: Law) -> Law:
    """Return the law of a loop whose round has this one: None is drawn again."""
    rejected = law.leaves.get(tag(None), Leaf(None, Fraction(0), ((), ())))
    accepted = {name: leaf for name, leaf in law.leaves.items() if leaf.outcome is not None}
    if not accepted:
        raise Refused("every round of a loop is rejected")
    ends = 1 - rejected.mass
    leaves = {n: Leaf(leaf.outcome, leaf.mass / ends, leaf.takes) for n, leaf in accepted.items()}
    return _rounded(Law(leaves, rejected.takes[0]))


@dataclass
class _Piece:
    """A part of a run: bits that were taken, or a leaf that was chosen; `spread` is the integer, if it is open."""

    spread: Spread | None
    takes: tuple[Takes, Takes]

    def filled(self, variant: int, outcome: Any) -> Takes:
        """Return the bits, with those that are the outcome of the whole run left out."""
        value = None if self.spread is None or self.spread is outcome else self.spread.low
        return tuple((count, value if known is None else known) for count, known in self.takes[variant])


class _Source:
    """The bits of one run."""

    def __init__(self, way: Way, laws: Laws) -> None:
        self._way, self._laws = way, laws
        self._known = Fraction(1)
        self._pieces: list[_Piece] = []

    @property
    def mass(self) -> Fraction:
        """The probability of what was chosen so far."""
        found = self._known
        for piece in self._pieces:
            if piece.spread is not None:
                found *= Fraction(piece.spread.high - piece.spread.low, piece.spread.size)
        return found

    def takes(self, outcome: Any) -> tuple[Takes, Takes]:
        """Return bits that lead to this run's outcome, without and with rejections."""
        plain, looping = (
            tuple(one for piece in self._pieces for one in piece.filled(variant, outcome)) for variant in (0, 1)
        )
        return plain, looping

    def take(self, count: int) -> Any:
        """Reply with uniform bits."""
        self._cut()
        if count > LISTED_BITS:
            return self._spread(0, 1 << count, (((count, None),),) * 2)
        chosen = self._way.choose(1 << count) if count else 0
        self._pieces.append(_Piece(None, (((count, chosen),),) * 2))
        self._known /= 1 << count
        return chosen

    def call(self, sampler: Any, *arguments: Any) -> Any:
        """Reply with an outcome of a sampler; one whose arguments cannot be compared runs here."""
        try:
            tag(arguments)
        except TypeError:
            return sampler(*arguments, self)
        return self._chosen(self._laws.called(sampler, arguments, loops=False))

    def repeat(self, sampler: Any, *arguments: Any) -> Any:
        """Reply with an outcome of a round that is not a rejection."""
        return self._chosen(self._laws.called(sampler, arguments, loops=True))

    def _chosen(self, law: Law) -> Any:
        self._cut()
        leaves = law.listed
        if not leaves:
            raise Refused("nothing that a sampler can return is within reach")
        index = self._way.choose(len(leaves) + (law.open > 0))
        if index == len(leaves):
            raise Cut
        leaf = leaves[index]
        self._known *= leaf.mass
        takes = (leaf.takes[0], law.rejection + leaf.takes[1])
        if isinstance(leaf.outcome, Open):
            return self._spread(leaf.outcome.low, leaf.outcome.high, takes)
        self._pieces.append(_Piece(None, takes))
        return leaf.outcome

    def _spread(self, low: int, high: int, takes: tuple[Takes, Takes]) -> Spread:
        spread = Spread(self._way, high - low)
        spread.low, spread.high = low, high
        self._pieces.append(_Piece(spread, takes))
        return spread

    def _cut(self) -> None:
        if self.mass < CUT:
            raise Cut


class _Plain:
    """Plain bits, for a sampler that runs as it does for everybody."""

    def __init__(self, takes: Takes, value: int) -> None:
        self.left = [(count, value if known is None else known) for count, known in takes]

    def take(self, count: int) -> int:
        if not self.left or self.left[0][0] != count:
            raise Refused(f"{count} bits are asked for where a run before asked for {self.left[:1]}")
        return self.left.pop(0)[1]

    def call(self, sampler: Any, *arguments: Any) -> Any:
        return sampler(*arguments, self)

    def repeat(self, sampler: Any, *arguments: Any) -> Any:
        while (outcome := sampler(*arguments, self)) is None:
            pass
        return outcome


def _replay(sampler: Any, arguments: tuple[Any, ...], takes: Takes, outcome: Any) -> None:
    """Check that plain bits lead to the outcome; of an open one, to its ends."""
    for value in {outcome.low, outcome.high - 1} if isinstance(outcome, Open) else {0}:
        expected = value if isinstance(outcome, Open) else outcome
        source = _Plain(takes, value)
        found = sampler(*arguments, source)
        if tag(found) != tag(expected) or source.left:
            raise Refused(f"plain bits lead {sampler!r} to {found!r}, not {expected!r}")
