"""What is known of a program under proof: the tree of each run, call and round, and the laws of calls and rounds.

A *scope* is a whole run on one input, one call or one round. Its tree has a `Place` wherever the program wrote a line
that matters: it drew, called, ended. The lines of a call or a round name its law, so equal lines share one tree.

A rejection loop is made of rounds, and k rejected ones before an accepted one have R^k times its mass. Nobody can look
into a program to see that it does not count its rejections. So the series is summed only as far as loops are really
run (`ScopeLaw.rejections`); the rest, R^(k+1), which is tiny, stays open.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gmpy2 import mpq

from attacklab.laws.external_program import Step
from attacklab.laws.law import total
from attacklab.laws.requests import REJECTED, Draw, End, Event, Output

MOST_REJECTIONS = 4096
"""The most rejected rounds in a row that are run and counted."""

Through: TypeAlias = Callable[["ScopeLaw", int], list[Step]]
"""Gives the steps through a call or a loop to its value of the given rank."""

_GRAIN = 1 << 256
"""Masses of a law that is not closed are rounded down to multiples of 1 over this."""


class Place:
    """A place in a scope's tree.

    Attributes:
        parent: the place before it, or None at the scope's begin.
        rank: which of the parent's branches leads here, likeliest first.
        mass: the probability to come here within the scope (`gmpy2.mpq`).
        line: what the program writes here, once known; that of a call or a round is its first line.
        event: what that means: a draw, an end, an output; or the law of the call or the round.
        children: the places after it, by rank.
    """

    __slots__ = ("children", "event", "line", "mass", "parent", "rank")

    def __init__(self, parent: Place | None, rank: int) -> None:
        self.parent, self.rank = parent, rank
        self.mass: Any = mpq(1) if parent is None else parent.mass * parent.share(rank)
        self.line = ""
        self.event: Draw | End | Output | ScopeLaw | None = None
        self.children: dict[int, Place] = {}
        if parent is not None:
            parent.children[rank] = self

    @property
    def branches(self) -> int:
        """How many branches it has."""
        return self.event.count if isinstance(self.event, Draw | ScopeLaw) else 0

    def share(self, rank: int) -> Any:
        """The probability of a branch."""
        assert isinstance(self.event, Draw | ScopeLaw)  # noqa: S101 - only they have branches
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


class Scope:
    """A run on one input, a call or a round.

    Attributes:
        input: the input of the run in which it is explored.
        line: its first line; "" for a whole run.
        prefix: the run up to that line.
        start: the root of its tree.
        leaves: the places where it ends, by the line that ends it.
        left: the mass whose end is not known.
    """

    def __init__(self, input_: Any, line: str, prefix: Sequence[Step]) -> None:
        self.input, self.line, self.prefix = input_, line, tuple(prefix)
        self.start = Place(None, 0)
        self.leaves: dict[str, list[Place]] = {}
        self.left = mpq(1)
        self._scripts: dict[Place, list[Step]] = {}

    def ends_with(self, event: Event) -> bool:
        """Whether an event may end this scope."""
        if isinstance(event, End):
            return bool(self.line) and event.is_round == self.is_round
        return isinstance(event, Output) and not self.line

    def script(self, leaf: Place, through: Through) -> list[Step]:
        """The steps from its first line to its last.

        Args:
            leaf: where it ends.
            through: the steps through a call or a loop to its value of the given rank.
        """
        if leaf in self._scripts:
            return self._scripts[leaf]
        first: list[Step] = [(self.line, None)] if self.line else []
        script = [*first, *script_to(leaf, through), (leaf.line, None)]
        if not any(isinstance(place.event, ScopeLaw) for place, _ in leaf.before()):
            self._scripts[leaf] = script
        return script

    @property
    def is_round(self) -> bool:
        """Whether it is one round of a rejection loop."""
        return self.line.startswith("begin round ")

    def add(self, leaf: Place) -> None:
        """Note where it ended."""
        self.leaves.setdefault(leaf.line, []).append(leaf)
        self.left -= leaf.mass


class ScopeLaw:
    """The law of a call, or of a loop of rounds, in the form in which its callers fork on it: likeliest value first.

    Attributes:
        scope: the call, or one round.
        count: how many values there are.
        values: the lines that end it, without the one of a rejected round.
        rejected: where a round is rejected.
        rejections: how many rejected rounds are counted at most.
        shares: the probabilities of the values.
    """

    __slots__ = ("_scripts", "count", "rejected", "rejections", "scope", "shares", "values")

    def __init__(self, scope: Scope, unresolved: Any) -> None:
        self.scope = scope
        masses = {line: total(leaf.mass for leaf in leaves) for line, leaves in scope.leaves.items()}
        self.rejected: list[Place] = scope.leaves.get(REJECTED, []) if scope.is_round else []
        self.rejections, series = _series(masses.pop(REJECTED) if self.rejected else mpq(0), unresolved)
        self.values = sorted(masses, key=lambda line: (-masses[line], line))
        is_closed = not scope.left and not self.rejected
        self.shares = [masses[line] if is_closed else rounded_down(masses[line] * series) for line in self.values]
        self.count = len(self.values)
        self._scripts: dict[int, list[Step]] = {}

    def share(self, rank: int) -> Any:
        """The probability of the value of this rank."""
        return self.shares[rank]

    def leaves(self, rank: int) -> list[Place]:
        """Where a call, or an accepted round, ends with the value of this rank."""
        return self.scope.leaves[self.values[rank]]

    def script(self, rank: int) -> list[Step]:
        """The first known way to the value of this rank, without a rejected round."""
        if rank not in self._scripts:
            self._scripts[rank] = self.scope.script(self.leaves(rank)[0], ScopeLaw.script)
        return self._scripts[rank]


def laws_used(whole: Scope, further: Sequence[ScopeLaw]) -> list[ScopeLaw]:
    """The laws of the calls and rounds that a whole run may come through, within each other too, and further ones."""
    used = dict.fromkeys(further)
    scopes = [whole, *(law.scope for law in used)]
    for scope in scopes:
        for leaf in itertools.chain.from_iterable(scope.leaves.values()):
            for place, _ in leaf.before():
                if isinstance(place.event, ScopeLaw) and place.event not in used:
                    used[place.event] = None
                    scopes.append(place.event.scope)
    return list(used)


def rounded_down(mass: Any) -> Any:
    """A mass with a small denominator."""
    return mpq(int(mass * _GRAIN), _GRAIN)


def script_to(place: Place, through: Through) -> list[Step]:
    """The steps from a scope's begin to a place in it.

    Args:
        place: the place, whose own line is not among the steps.
        through: the steps through a call or a loop to its value of the given rank.
    """
    steps: list[Step] = []
    for at, rank in place.before():
        if isinstance(at.event, ScopeLaw):
            steps += through(at.event, rank)
        elif isinstance(at.event, Draw):
            steps.append((at.line, str(at.event.replies[rank])))
    return steps


def _series(rejected: Any, unresolved: Any) -> tuple[int, Any]:
    """How many rejections to count, and the sum of their masses' series."""
    ratio = rounded_down(rejected)
    if not ratio:
        return 0, mpq(1)
    count, left = 0, mpq(1)
    while left > unresolved and count < MOST_REJECTIONS:
        count, left = count + 1, rounded_down(left * ratio)
    series, term = mpq(1), mpq(1)
    for _ in range(count):
        term = rounded_down(term * ratio)
        series += term
    return count, series
