"""The source of randomness that a sampler is run on when its law is sought.

A `Tape` answers the draws of one run: as decided, as far as the path that it was given goes, and beyond its end with
the likeliest branch, leaving the others on the `Frontier` as further paths to run. So each run ends in an outcome, in a
restart or in a path put aside, and the law needs no more runs than that.

It has the interface of a source of random bits (`take`, `words`, `restart`, `call`) and nothing else for a mechanism
to know it by.
"""

from __future__ import annotations

import heapq
import math
import numbers
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import CodeType, FrameType
from typing import Any

import numpy as np
from gmpy2 import mpq, mpz
from numpy.typing import NDArray

from attacklab.laws.errors import LawError, MisplacedRestart, NotDeterministic

#: A path is put aside when it is this much lighter than the heaviest one waiting: often enough for the order to be
#: nearly that of mass, seldom enough for few runs to be repeated only to go on.
_LIGHTER = 2.0**-8

#: The decisions that led somewhere, last first: a linked list whose tails are shared, or None at the root.
Path = tuple["Path", int] | None


@dataclass(frozen=True, slots=True)
class Span:
    """An integer uniform in [low, high)."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Found:
    """The law of a sampler as its callers fork on it: heaviest value first.

    A value that is a `Span` stands for every integer in it.

    Args:
        values: what the sampler returns.
        work: what was counted on the way to each value.
        shares: their exact masses (`gmpy2.mpq`).
        weights: the same as floats.
    """

    values: tuple[Any, ...]
    work: tuple[int, ...]
    shares: tuple[Any, ...]
    weights: tuple[float, ...]


class Stop(BaseException):
    """The end of a run that gives no outcome; no `Exception`, so that mechanisms do not handle it."""


class Restarted(Stop):
    """The sampler is back where it was called."""


class PutAside(Stop):
    """The run goes on later, if at all."""


class Frontier:
    """The paths not run yet, heaviest first.

    An entry is a fork and one of its branches, and stands for the lighter branches of that fork as well: they follow
    when it is taken. Above `limit` entries the lighter half is given up.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._heap: list[tuple[float, int, Path, int]] = []
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def heaviest(self) -> float:
        """The weight of the heaviest path, 0 when there is none."""
        return -self._heap[0][0] if self._heap else 0.0

    def push(self, weight: float, fork: Path, branch: int) -> None:
        """Add the path that takes `branch` (or a lighter one) at `fork`."""
        self._pushed += 1
        heapq.heappush(self._heap, (-weight, self._pushed, fork, branch))
        if len(self._heap) > self._limit:
            self._heap.sort()
            del self._heap[-(-self._limit // 2) :]

    def pop(self) -> tuple[Path, int]:
        """Take the heaviest path."""
        _, _, fork, branch = heapq.heappop(self._heap)
        return fork, branch


class Tape:
    """The randomness of one run.

    Args:
        decided: the branches to take, first to last.
        frontier: where the branches not taken go; None to repeat a run, which must then end within `decided`.
        find: gives the law of a sampler at given arguments.
        draws: the most draws in one run.
        counted: what `work` counts: "bits", "calls" or nothing.
        base: the code that runs the sampler: frames above it are the sampler's.
    """

    __slots__ = (
        "_at", "_base", "_callers", "_counted", "_decided", "_draws", "_find", "_frontier", "_halvings", "_share",
        "_weight", "path", "stopped", "work",
    )  # fmt: skip

    def __init__(
        self,
        decided: Sequence[int],
        frontier: Frontier | None,
        *,
        path: Path,
        find: Callable[[Callable[..., Any], tuple[Any, ...]], Found],
        draws: int,
        counted: str | None,
        base: CodeType,
    ) -> None:
        self.path = path
        self.work = 0
        self.stopped: BaseException | None = None
        self._decided = decided
        self._frontier = frontier
        self._find = find
        self._draws = draws
        self._counted = counted
        self._base = base
        self._at = 0
        self._callers: list[FrameType] | None = None
        self._share = mpq(1)
        self._halvings = 0
        self._weight = 1.0

    @property
    def mass(self) -> Any:
        """The probability of the decisions taken so far (`gmpy2.mpq`)."""
        return self._share / (1 << self._halvings)

    @property
    def exhausted(self) -> bool:
        """Whether every decision given has been used."""
        return self._at >= len(self._decided)

    def take(self, count: int) -> Any:
        """Draw bits: an int, or a `UniformInteger` that is decided no further than it is looked at."""
        if count < 0:
            raise ValueError(f"count must be at least 0, not {count}")
        self._note_draw()
        if self._counted == "bits":
            self.work += count
        if count == 1:
            self._halvings += 1
            return self._branch((0.5, 0.5))
        return UniformInteger(self, 0, 1 << count) if count else 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words of 64 bits, each of them decided to the last bit."""
        return np.array([int(self.take(64)) for _ in range(count)], dtype=np.uint64)

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Draw from the law of `sampler`."""
        self._note_draw()
        try:
            found = self._find(sampler, arguments)
        except LawError as error:
            self.stop(error)
        branch = self._branch(found.weights) if len(found.values) > 1 else 0
        self._share *= found.shares[branch]
        self.work += found.work[branch] + (self._counted == "calls")
        value = found.values[branch]
        return UniformInteger(self, value.low, value.high) if isinstance(value, Span) else value

    def restart(self) -> None:
        """End the run, or go on with it when work has been counted, which a restart does not undo."""
        if self.stopped is not None:
            raise self.stopped
        if self.work:
            return
        frame: FrameType | None = sys._getframe(1)
        if self._callers is not None and not any(frame is caller for caller in self._callers):
            self.stop(
                MisplacedRestart(
                    f"{sys._getframe(1).f_code.co_name} marked a restart, but was entered after the first draw: "
                    "run it by `call`, so that it has a law of its own"
                )
            )
        self.stop(Restarted())

    def stop(self, reason: BaseException) -> None:
        """End the run, whatever the sampler makes of exceptions."""
        self.stopped = reason
        raise reason

    def close(self, reason: BaseException) -> None:
        """Let nothing more be drawn."""
        self._callers = None
        if self.stopped is None:
            self.stopped = reason

    def split(self, integer: UniformInteger, cut: int) -> bool:
        """Decide whether `integer` lies below `cut`, which is inside its span."""
        size = integer.high - integer.low
        below = cut - integer.low
        heavier, likely = max((below, True), (size - below, False))
        weight = heavier / size
        is_likely = not self._branch((weight, 1.0 - weight if weight < 1.0 else (size - heavier) / size))
        self._share *= mpq(heavier if is_likely else size - heavier, size)
        return likely if is_likely else not likely

    def _note_draw(self) -> None:
        """Remember, at the first draw, which functions were entered before it."""
        if self.stopped is not None:
            raise self.stopped
        if self._callers is None:
            callers = []
            frame: FrameType | None = sys._getframe(2)
            while frame is not None and frame.f_code is not self._base:
                callers.append(frame)
                frame = frame.f_back
            self._callers = callers

    def _branch(self, weights: Sequence[float]) -> int:
        """Decide a fork."""
        if self.stopped is not None:
            raise self.stopped
        at = self._at
        self._at = at + 1
        frontier = self._frontier
        if at < len(self._decided):
            branch = self._decided[at]
            if branch >= len(weights):
                self.stop(NotDeterministic("the sampler drew differently when run again on the same bits"))
            if at + 1 == len(self._decided) and frontier is not None and branch + 1 < len(weights):
                assert self.path is not None
                frontier.push(self._weight * weights[branch + 1], self.path[0], branch + 1)
        else:
            if frontier is None:
                self.stop(NotDeterministic("the sampler drew more when run again on the same bits"))
            assert frontier is not None
            branch = 0
            weight = self._weight * weights[0]
            if at >= self._draws:
                self.stop(PutAside())
            if weight < _LIGHTER * frontier.heaviest:
                frontier.push(weight, self.path, 0)
                self.stop(PutAside())
            frontier.push(self._weight * weights[1], self.path, 1)
            self.path = (self.path, 0)
        self._weight *= weights[branch]
        return branch


class UniformInteger:
    """An integer uniform in [low, high), decided no further than it is looked at.

    Comparing it with a number decides that comparison alone: one fork, however wide the span. Used in any other way it
    is decided to the last value, by halves.
    """

    __slots__ = ("high", "low", "tape")

    def __init__(self, tape: Tape, low: int, high: int) -> None:
        self.tape = tape
        self.low = low
        self.high = high

    def _below(self, cut: int) -> bool:
        if cut <= self.low:
            return False
        if cut >= self.high:
            return True
        if self.tape.split(self, cut):
            self.high = cut
            return True
        self.low = cut
        return False

    def __index__(self) -> int:
        while self.high - self.low > 1:
            self._below((self.low + self.high) // 2)
        return self.low

    def __lt__(self, other: Any) -> bool:
        return self._below(_integer(math.ceil, other))

    def __ge__(self, other: Any) -> bool:
        return not self._below(_integer(math.ceil, other))

    def __le__(self, other: Any) -> bool:
        return self._below(_integer(math.floor, other) + 1)

    def __gt__(self, other: Any) -> bool:
        return not self._below(_integer(math.floor, other) + 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, numbers.Number):
            return False
        if not isinstance(other, numbers.Real) or other != (value := _integer(math.floor, other)):
            return False
        return not self._below(value) and self._below(value + 1)

    def __hash__(self) -> int:
        return hash(int(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(int(self), name)

    def __mpz__(self) -> Any:
        return mpz(int(self))

    def __mpq__(self) -> Any:
        return mpq(int(self))
