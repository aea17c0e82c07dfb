"""The source of randomness for a sampler whose law is sought.

A `Tape` answers the draws of one run. It repeats the decisions on the path that it was given; beyond the path's end it
takes the likeliest branch and leaves the other branches on the `Frontier`, as paths to run later. So each run ends in
an outcome or in a path put aside, and the law needs no more runs than that.

A `Tape` has the interface of a source of random bits (`take`, `words`, `call`, `repeat`) and nothing else by which a
mechanism could recognise it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from operator import index
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from attacklab.draws.errors import LawError, NotDeterministic
from attacklab.draws.uniform import UniformInteger, is_undecided

#: A path is put aside if its weight is below this share of the heaviest waiting path's weight. So loops end at some
#: point, while a sampler that looks at all bits of a word or two still reaches an outcome in every run.
LIGHTER = 2.0**-128

#: A sequence of decisions, last first: a linked list whose tails are shared, or None at the root.
Path = tuple["Path", int] | None


Fork = TypeVar("Fork")


@dataclass(frozen=True, slots=True)
class Span:
    """An integer uniform in [low, high)."""

    low: int
    high: int


class Drawn(NamedTuple):
    """`width` bits taken in a run. The run decided only that they are an integer in [low, high)."""

    width: int
    low: int
    high: int


#: A single bit taken, 0 or 1.
_BITS = (Drawn(1, 0, 1), Drawn(1, 1, 2))


class Chosen(NamedTuple):
    """A value drawn from the law of a called sampler: `law.values[branch]`; if it is a `Span`, within [low, high)."""

    law: Found
    branch: int
    low: int = 0
    high: int = 1


@dataclass(frozen=True, slots=True)
class Leaf:
    """All that was drawn in a run that ended in an outcome.

    Args:
        events: what was drawn, in order.
        is_wide: whether some event stands for a range of integers, not for a single one.
        returned: the index of the event whose integer is the outcome, if that is a `UniformInteger`; else None.
    """

    events: tuple[Drawn | Chosen, ...]
    is_wide: bool
    returned: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The law of a called sampler, from the most to the least probable value.

    A value that is a `Span` stands for every integer in it.

    Args:
        values: what the sampler returns.
        shares: their probabilities (`gmpy2.mpq`).
        weights: the same probabilities as floats.
    """

    values: tuple[Any, ...]
    shares: tuple[Any, ...]
    weights: tuple[float, ...]


class Stop(BaseException):
    """Raised to end a run without an outcome. It is not an `Exception`, so that mechanisms do not handle it."""


class PutAside(Stop):
    """Raised to put a run aside, to go on later or not at all."""


class Frontier(Generic[Fork]):
    """The paths that are still to run, heaviest first.

    An entry is a fork and one of its branches. It also stands for the lighter branches of that fork: they follow when
    it is taken. With more than `limit` entries, the lighter half is given up.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heap: list[tuple[float, int, Fork, int]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def heaviest(self) -> float:
        """The weight of the heaviest path; 0 if there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def push(self, weight: float, fork: Fork, branch: int) -> None:
        """Add the path that takes `branch` (or a lighter one) at `fork`."""
        self._pushed += 1
        heapq.heappush(self._heap, (-weight, self._pushed, fork, branch))
        if len(self._heap) > self._limit:
            self._heap.sort()
            del self._heap[-(-self._limit // 2) :]

    def pop(self) -> tuple[Fork, int]:
        """Take the heaviest path: a fork and its branch."""
        _, _, fork, branch = heapq.heappop(self._heap)
        return (fork, branch)


def _decisions(path: Path) -> list[int]:
    """Return the decisions on a path, first to last."""
    decisions = []
    while path is not None:
        path, decision = path
        decisions.append(decision)
    decisions.reverse()
    return decisions


#: find(sampler, arguments, is_loop) gives the law of a sampler (if `is_loop`, of the rejection loop of this round).
Find = Callable[[Callable[..., Any], tuple[Any, ...], bool], Found | None]


class Tape:
    """The randomness of one run.

    `called` lists the laws drawn from (of samplers and of rejection loops), each with the branch taken.

    Args:
        path: the decisions to repeat; from its end on, the likeliest branch is taken.
        frontier: where the branches not taken go.
        find: returns the law of a called sampler or rejection loop; None to run it with this tape instead.
        limit: the most draws in one run.
    """

    __slots__ = (
        "_at", "_decided", "_drawn", "_events", "_find", "_fork", "_frontier", "_halvings", "_limit", "_share",
        "_weight", "called", "path", "stopped",
    )  # fmt: skip

    def __init__(self, path: Path, frontier: Frontier[Path], find: Find, limit: int) -> None:
        self.path = path
        self.called: list[tuple[Found, int]] = []
        self.stopped: BaseException | None = None
        self._decided = _decisions(path)
        self._fork = path[0] if path else None
        self._frontier = frontier
        self._find = find
        self._limit = limit
        self._at = 0
        self._drawn = 0
        self._events: list[Any] = []
        self._share = mpq(1)
        self._halvings = 0
        self._weight = 1.0

    @property
    def coins(self) -> Any:
        """The probability of all decisions (`gmpy2.mpq`) except the choices of a branch in `called`."""
        return self._share / (1 << self._halvings)

    @property
    def mass(self) -> Any:
        """The probability of all decisions (`gmpy2.mpq`)."""
        return prod((law.shares[branch] for law, branch in self.called), start=self.coins)

    @property
    def draws(self) -> list[int]:
        """The decisions so far, first to last."""
        return _decisions(self.path)

    def leaf(self, value: Any) -> Leaf:
        """Return what was drawn in this run, in which the sampler returned `value`."""
        events: list[Drawn | Chosen] = []
        is_wide, returned = False, None
        for number, event in enumerate(self._events):
            if type(event) is Drawn:
                events.append(event)
                continue
            law, detail, drawn = event
            low, high = (drawn.low, drawn.high) if is_undecided(drawn) else (drawn, drawn + 1)
            is_wide = is_wide or high - low > 1
            events.append(Drawn(detail, low, high) if law is None else Chosen(law, detail, low, high))
            if drawn is value and is_undecided(drawn):
                returned = number
        return Leaf(tuple(events), is_wide, returned)

    def take(self, count: int) -> Any:
        """Draw `count` bits. Return an int, or a `UniformInteger`, which is decided only as far as it is used."""
        count = index(count)  # 1 << count overflows for integers of numpy
        if count < 0:
            raise ValueError(f"count must be at least 0, not {count}")
        self._note_draw()
        drawn: Any = 0
        if count == 1:
            self._halvings += 1
            drawn = self._branch((0.5, 0.5))
            self._events.append(_BITS[drawn])
            return drawn
        if count:
            drawn = UniformInteger(self, 0, 1 << count)
        self._events.append((None, count, drawn))
        return drawn

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw 64-bit words as plain integers."""
        return np.array([int(self.take(64)) for _ in range(count)], dtype=np.uint64)

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Draw from the law of `sampler`, or run it with this tape if its law is not known."""
        law = self._law_of(sampler, arguments, False)
        return sampler(*arguments, self) if law is None else self._draw_from(law)

    def repeat(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Draw from the law of a rejection loop with the round `sampler`, or run it if its law is not known."""
        law = self._law_of(sampler, arguments, True)
        if law is not None:
            return self._draw_from(law)
        while (outcome := sampler(*arguments, self)) is None:
            pass
        return outcome

    def _law_of(self, sampler: Callable[..., Any], arguments: tuple[Any, ...], is_loop: bool) -> Found | None:
        self._note_draw()
        try:
            return self._find(sampler, arguments, is_loop)
        except LawError as error:
            self.stop(error)

    def _draw_from(self, law: Found) -> Any:
        if not law.values:
            self.stop(PutAside())
        branch = self._branch(law.weights) if len(law.values) > 1 else 0
        self.called.append((law, branch))
        value = law.values[branch]
        drawn: Any = UniformInteger(self, value.low, value.high) if isinstance(value, Span) else 0
        self._events.append((law, branch, drawn))
        return drawn if isinstance(value, Span) else value

    def stop(self, reason: BaseException) -> NoReturn:
        """End the run, even if the sampler handles exceptions."""
        self.stopped = reason
        raise reason

    def close(self) -> BaseException | None:
        """Refuse all further draws, and return what stopped the run, if anything did."""
        reason = self.stopped
        if self._at < len(self._decided) and not isinstance(reason, LawError):
            reason = NotDeterministic(
                "the sampler drew less when run again on the same bits; let it draw from `bits` alone"
            )
        self.stopped = NotDeterministic(
            "the sampler uses a draw that it kept from an earlier run; draw anew in every run"
        )
        return reason

    def split(self, integer: UniformInteger, cut: int) -> bool:
        """Decide, and return, whether `integer` lies below `cut`, which is inside its span."""
        size = integer.high - integer.low
        below = cut - integer.low
        heavier, likely = max((below, True), (size - below, False))
        is_likely = not self._branch((heavier / size, (size - heavier) / size))
        self._share *= mpq(heavier if is_likely else size - heavier, size)
        return likely if is_likely else not likely

    def _note_draw(self) -> None:
        """Count a draw, and stop the run beyond the limit."""
        if self.stopped is not None:
            raise self.stopped
        self._drawn += 1
        if self._drawn > self._limit:
            self.stop(PutAside())

    def _branch(self, weights: Sequence[float]) -> int:
        """Return the branch to take at a fork: the next one of the path, or the likeliest beyond its end."""
        if self.stopped is not None:
            raise self.stopped
        at = self._at
        self._at = at + 1
        frontier = self._frontier
        if at < len(self._decided):
            branch = self._decided[at]
            if branch >= len(weights):
                self.stop(
                    NotDeterministic(
                        "the sampler drew differently when run again on the same bits; let it draw from `bits` alone"
                    )
                )
            if at + 1 == len(self._decided) and branch + 1 < len(weights):
                frontier.push(self._weight * weights[branch + 1], self._fork, branch + 1)
        else:
            branch = 0
            weight = self._weight * weights[0]
            if weight < LIGHTER * frontier.heaviest:
                frontier.push(weight, self.path, 0)
                self.stop(PutAside())
            frontier.push(self._weight * weights[1], self.path, 1)
            self.path = (self.path, 0)
        self._weight *= weights[branch]
        return branch
