"""Every path of a law is played twice: in the search, and again on plain integers before its mass counts.

The search hands out integers whose bits are not decided yet, and replaces each called sampler by its law. The second
play hands out plain integers, and gives the outcomes of called samplers at once. One source serves all runs, as in
production code. If a sampler can tell the difference, keeps state or draws elsewhere, its outcome or its draws differ
in the second play, and it is refused.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterable
from operator import index
from typing import Any, NoReturn

from attacklab.draws.errors import LawError, LooksAtDraws, NotDeterministic, SamplerFailed
from attacklab.draws.tape import Drawn, Leaf, Span
from attacklab.laws.names import Names
from attacklab.laws.outcomes import tag
from attacklab.model.errors import passes_through
from attacklab.model.random_bits import RandomBits
from attacklab.model.releases import in_one_process

#: Names that code reads are noted in the first `NOTED` leaves, then in every `NOTED`-th leaf: noting takes time.
NOTED = 16

#: How many points inside the decided intervals of a leaf are played, besides their ends.
_INNER = 64

#: The first number of a pair in a script whose second is the outcome of a called sampler.
_OUTCOME = -1

Script = list[tuple[int, Any]]
"""The draws of a run: pairs (number of bits, their value), or (`_OUTCOME`, the outcome of a called sampler)."""


class PlainBits(RandomBits):
    """A source of bits that gives the draws of a script: bits as plain integers, and outcomes of called samplers."""

    def __init__(self) -> None:
        self.stopped: BaseException | None = None
        self._script: Script = []
        self._at = 0

    def load(self, script: Script) -> None:
        """Start a new run, on this script."""
        self.stopped = None
        self._script = script
        self._at = 0

    def close(self) -> None:
        """End the run: raise if it was stopped or left draws of the script over; refuse all further draws."""
        reason, self.stopped = self.stopped, NotDeterministic("the sampler draws after its run; draw before it returns")
        if reason is not None:
            raise reason
        if self._at < len(self._script):
            raise NotDeterministic(
                "the sampler drew less when played again on the same bits; let it draw from `bits` alone"
            )

    def stop(self, reason: LawError) -> NoReturn:
        """Raise `reason`, which `close` raises again if the sampler handles it."""
        self.stopped = reason
        raise reason

    def take(self, count: int) -> int:
        """Return the next bits of the script; stop the run if it does not have `count` bits there."""
        if self.stopped is not None:
            raise self.stopped
        at = self._at
        if at >= len(self._script) or self._script[at][0] != index(count):
            self.stop(
                NotDeterministic(
                    "the sampler drew something else when played again on the same bits, as plain integers; "
                    "let it keep no state, and draw from `bits` alone"
                )
            )
        self._at = at + 1
        return int(self._script[at][1])

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Return the next draw of the script if it is an outcome; otherwise run the sampler."""
        return self._next_outcome() if self._gives_outcome() else super().call(sampler, *arguments)

    def repeat(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Return the next draw of the script if it is an outcome; otherwise run rounds until one is accepted."""
        return self._next_outcome() if self._gives_outcome() else super().repeat(sampler, *arguments)

    def _gives_outcome(self) -> bool:
        if self.stopped is not None:
            raise self.stopped
        return self._at < len(self._script) and self._script[self._at][0] == _OUTCOME

    def _next_outcome(self) -> Any:
        self._at += 1
        return self._script[self._at - 1][1]


class Replays:
    """Runs samplers again on the draws of leaves. One object serves all laws of an enumeration: runs share a source."""

    def __init__(self, names: Names) -> None:
        self._rng = random.Random(20_240)
        self._source = PlainBits()
        self._names = names
        self.leaves = 0

    def check(
        self, name: str, sampler: Callable[..., Any], arguments: tuple[Any, ...], leaf: Leaf, known: Hashable
    ) -> None:
        """Run the sampler on the draws of a leaf, at and between the ends of intervals; raise if the outcome differs.

        `known` is the tag of the outcome; None if the outcome is an integer that the leaf gives as a range.
        """
        self.leaves += 1
        is_noted = self.leaves <= NOTED or self.leaves % NOTED == 0
        for at, values in enumerate(self._points(leaf)):
            expected = known if leaf.returned is None else tag(values[leaf.returned])
            with self._names.noted() if is_noted and not at else contextlib.nullcontext():
                self._play(name, sampler, arguments, _script(leaf, values), expected)

    def _points(self, leaf: Leaf) -> Iterable[tuple[int, ...]]:
        """Return values for the draws of a leaf: all possible ones if they are few, else the ends and some between."""
        lows = tuple(event.low for event in leaf.events)
        if not leaf.is_wide:
            return (lows,)
        highs = tuple(event.high - 1 for event in leaf.events)
        if math.prod(high + 1 - low for low, high in zip(lows, highs, strict=True)) <= _INNER + 2:
            return itertools.product(*(range(event.low, event.high) for event in leaf.events))
        between = (tuple(self._rng.randrange(event.low, event.high) for event in leaf.events) for _ in range(_INNER))
        return itertools.chain((lows, highs), between)

    def _play(
        self, name: str, sampler: Callable[..., Any], arguments: tuple[Any, ...], script: Script, expected: Hashable
    ) -> None:
        outcome = self._outcome(name, sampler, arguments, script)
        if outcome == expected:
            return
        if self._outcome(name, sampler, arguments, script) != outcome:
            raise NotDeterministic(
                f"{name} gave another outcome when played again on the same bits; let it draw from `bits` alone, "
                "and keep nothing between runs"
            )
        raise LooksAtDraws(
            f"{name} gave another outcome when played again on the same bits, as plain integers; let it do nothing "
            "with what `take` returns but compare it and calculate, and keep nothing between runs or rounds"
        )

    def _outcome(self, name: str, sampler: Callable[..., Any], arguments: tuple[Any, ...], script: Script) -> Hashable:
        self._source.load(script)
        try:
            with in_one_process():
                value = sampler(*arguments, self._source)
        except BaseException as error:
            if passes_through(error):
                raise
            if self._source.stopped is None:
                raise SamplerFailed(f"{name} raised {error!r} on plain integers; let it accept them") from error
            value = None
        self._source.close()
        return tag(value)


def _script(leaf: Leaf, values: tuple[int, ...]) -> Script:
    """Return the script of a run in which the events of a leaf have these values."""
    script: Script = []
    for event, value in zip(leaf.events, values, strict=True):
        if type(event) is Drawn:
            script.append((event.width, value))
        else:
            outcome = event.law.values[event.branch]  # type: ignore[union-attr]
            script.append((_OUTCOME, value if isinstance(outcome, Span) else outcome))
    return script
