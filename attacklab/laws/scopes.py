"""What is known of a program under proof: the runs, calls and rounds that were explored, and the laws of the last two.

A *scope* is a whole run on one input, one call or one round. It has a `Place` wherever the program wrote a line that
matters: it drew, called, ended. The lines of a call or a round name its law, so equal lines share one scope.

A rejection loop is made of rounds, and k rejected ones before an accepted one have R^k times its mass. Nobody can look
into a program to see that it does not count its rejections. So the series is summed only as far as loops are really
run (`Scope.rejections`); the rest, R^(k+1), which is tiny, stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from gmpy2 import mpq

from attacklab.laws.external_program import Step
from attacklab.laws.law import total
from attacklab.laws.requests import REJECTED, Draw, End, Event, Output

MOST_REJECTIONS = 4096
"""The most rejected rounds in a row that are run and counted."""

Through: TypeAlias = Callable[["Scope", int], list[Step]]
"""Gives the steps through a call or a loop to its value of the given rank."""

_GRAIN = 1 << 256
"""Masses of a law that is not closed are rounded down to multiples of 1 over this."""


class Place:
    """A place in a scope.

    Attributes:
        parent: the place before it, or None at the scope's begin.
        rank: which of the parent's branches leads here, likeliest first.
        mass: the probability to come here within the scope (`gmpy2.mpq`).
        line: what the program writes here, once known; that of a call or a round is its first line.
        event: what that means: a draw, an end, an output; or the call or the round.
    """

    __slots__ = ("event", "line", "mass", "parent", "rank")

    def __init__(self, parent: Place | None, rank: int) -> None:
        self.parent, self.rank = parent, rank
        self.mass: Any = mpq(1) if parent is None else parent.mass * parent.share(rank)
        self.line = ""
        self.event: Draw | End | Output | Scope | None = None

    @property
    def branches(self) -> int:
        """How many branches it has."""
        return self.event.count if isinstance(self.event, Draw | Scope) else 0

    def share(self, rank: int) -> Any:
        """The probability of a branch."""
        assert isinstance(self.event, Draw | Scope)  # noqa: S101 - only they have branches
        return self.event.share(rank)

    def before(self) -> list[tuple[Place, int]]:
        """The places before it, first to last, each with the rank of the branch taken."""
        path = []
        place: Place | None = self
        while place is not None and place.parent is not None:
            path.append((place.parent, place.rank))
            place = place.parent
        path.reverse()
        return path

    def scopes(self) -> Iterator[tuple[Scope, int]]:
        """The calls and loops on the way here, each with the rank of its value."""
        return ((place.event, rank) for place, rank in self.before() if isinstance(place.event, Scope))


class Scope:
    """A run on one input, a call or a round. A call or a round has a law once it is explored.

    Attributes:
        input: the input of the run in which it is explored.
        line: its first line; "" for a whole run.
        prefix: the run up to that line.
        leaves: the places where it ends, by the line that ends it.
        left: the mass whose end is not known.
        count: how many values a call, or a loop of such rounds, has.
        values: the lines that end it, without the one of a rejected round, likeliest first.
        shares: the probabilities of the values.
        rejected: where a round is rejected.
        rejections: how many rejected rounds are counted at most.
    """

    def __init__(self, input_: Any, line: str, prefix: Sequence[Step]) -> None:
        self.input, self.line, self.prefix = input_, line, tuple(prefix)
        self.leaves: dict[str, list[Place]] = {}
        self.left = mpq(1)
        self.count, self.rejections = 0, 0
        self.values: list[str] = []
        self.shares: list[Any] = []
        self.rejected: list[Place] = []
        self._scripts: dict[Place, list[Step]] = {}
        self._shortest: dict[int, list[Step]] = {}

    @property
    def is_round(self) -> bool:
        """Whether it is one round of a rejection loop."""
        return self.line.startswith("begin round ")

    def ends_with(self, event: Event) -> bool:
        """Whether an event may end this scope."""
        if isinstance(event, End):
            return bool(self.line) and event.is_round == self.is_round
        return isinstance(event, Output) and not self.line

    def add(self, leaf: Place) -> None:
        """Note where it ended."""
        self.leaves.setdefault(leaf.line, []).append(leaf)
        self.left -= leaf.mass

    def all_leaves(self) -> Iterator[Place]:
        """The places where it ends."""
        for leaves in self.leaves.values():
            yield from leaves

    def find_law(self, unresolved: Any) -> None:
        """Sum up the law of the explored call, or of a loop of such rounds, with so much of a loop left open."""
        masses = {line: total(leaf.mass for leaf in leaves) for line, leaves in self.leaves.items()}
        self.rejected = self.leaves.get(REJECTED, []) if self.is_round else []
        self.rejections, series = _series(masses.pop(REJECTED) if self.rejected else mpq(0), unresolved)
        self.values = sorted(masses, key=lambda line: (-masses[line], line))
        is_closed = not self.left and not self.rejected
        self.shares = [masses[line] if is_closed else _rounded_down(masses[line] * series) for line in self.values]
        self.count = len(self.values)

    def share(self, rank: int) -> Any:
        """The probability of the value of this rank."""
        return self.shares[rank]

    def script(self, leaf: Place, through: Through) -> list[Step]:
        """The steps from its first line to its last, which is at `leaf`."""
        if leaf in self._scripts:
            return self._scripts[leaf]
        first: list[Step] = [(self.line, None)] if self.line else []
        script = [*first, *script_to(leaf, through), (leaf.line, None)]
        if not any(leaf.scopes()):
            self._scripts[leaf] = script
        return script

    def shortest(self, rank: int) -> list[Step]:
        """The first known way to the value of this rank, without a rejected round."""
        if rank not in self._shortest:
            self._shortest[rank] = self.script(self.leaves[self.values[rank]][0], Scope.shortest)
        return self._shortest[rank]


def scopes_used(whole: Scope, further: Sequence[Scope]) -> list[Scope]:
    """The calls and rounds that a whole run may come through, within each other too, and further ones."""
    used = dict.fromkeys(further)
    waiting = [whole, *used]
    for scope in waiting:
        for leaf in scope.all_leaves():
            new = [inner for inner, _ in leaf.scopes() if inner not in used]
            used |= dict.fromkeys(new)
            waiting += dict.fromkeys(new)
    return list(used)


def script_to(place: Place, through: Through) -> list[Step]:
    """The steps from a scope's begin to a place in it, whose own line is not among them."""
    steps: list[Step] = []
    for at, rank in place.before():
        if isinstance(at.event, Scope):
            steps += through(at.event, rank)
        elif isinstance(at.event, Draw):
            steps.append((at.line, str(at.event.replies[rank])))
    return steps


def _rounded_down(mass: Any) -> Any:
    """A mass with a small denominator."""
    return mpq(int(mass * _GRAIN), _GRAIN)


def _series(rejected: Any, unresolved: Any) -> tuple[int, Any]:
    """How many rejections to count, and the sum of their masses' series."""
    count, series, term = 0, mpq(1), mpq(1)
    while (term := _rounded_down(term * _rounded_down(rejected))) and count < MOST_REJECTIONS:
        count, series = count + 1, series + term
        if term <= unresolved:
            break
    return count, series
