"""Every leaf of a law is played again on plain integers before it counts.

A law is found with undecided integers and with called laws in the place of called samplers. The replay hands out plain
integers, and gives the outcomes of called samplers at once; in the fresh process it also runs called samplers and
rejection loops for real. One source serves all runs, as in production code. A sampler that can tell the difference,
keeps state, or draws elsewhere then gives another outcome, or draws something else, and is refused.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import index
from typing import Any, NoReturn

from attacklab.laws.errors import LawError, LooksAtDraws, NotDeterministic, SamplerFailed
from attacklab.laws.foreign_calls import ForeignCalls
from attacklab.laws.outcomes import tag
from attacklab.laws.tape import Chosen, Drawn, Leaf, Span
from attacklab.model.errors import passes_through
from attacklab.model.random_bits import RandomBits

#: How many points inside the decided intervals of a leaf are played, besides their ends.
_INNER = 64

#: How many runs are played in another process, at least.
_PLAYS = 512

#: How often a called sampler that is run for real takes another leaf than its heaviest, or rejects rounds first.
_SHARE = 1 / 4

#: Stands in a script where a called sampler's outcome is given at once.
_OUTCOME = -1

Script = list[tuple[int, Any]]
"""What a run draws: how many bits, and what they are; or an outcome."""


class PlainBits(RandomBits):
    """A source that gives the bits of a script, as plain integers, and the outcomes in it."""

    def __init__(self) -> None:
        self.stopped: BaseException | None = None
        self._script: Script = []
        self._at = 0

    def load(self, script: Script) -> None:
        """Take a new script."""
        self.stopped = None
        self._script = script
        self._at = 0

    def close(self) -> None:
        """Raise what stopped the run; refuse all further draws."""
        reason, self.stopped = self.stopped, NotDeterministic("the sampler draws after its run; draw before it returns")
        if reason is not None:
            raise reason
        if self._at < len(self._script):
            raise NotDeterministic(
                "the sampler drew less when played again on the same bits; let it draw from `bits` alone"
            )

    def stop(self, reason: LawError) -> NoReturn:
        """End the run, even if the sampler handles exceptions."""
        self.stopped = reason
        raise reason

    def take(self, count: int) -> int:
        """The next bits of the script."""
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
        """The next outcome of the script, or else what the sampler gives."""
        return self._next_outcome() if self._gives_outcome() else super().call(sampler, *arguments)

    def repeat(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """The next outcome of the script, or else that of the first round that is accepted."""
        return self._next_outcome() if self._gives_outcome() else super().repeat(sampler, *arguments)

    def _gives_outcome(self) -> bool:
        if self.stopped is not None:
            raise self.stopped
        return self._at < len(self._script) and self._script[self._at][0] == _OUTCOME

    def _next_outcome(self) -> Any:
        self._at += 1
        return self._script[self._at - 1][1]


class Replays:
    """Plays leaves again. One object serves all laws of an enumeration, so that all runs share a source."""

    def __init__(self) -> None:
        self._rng = random.Random(20_240)
        self._source = PlainBits()
        self._watch = ForeignCalls()

    def check(
        self,
        name: str,
        sampler: Callable[..., Any],
        arguments: tuple[Any, ...],
        leaf: Leaf,
        known: Hashable,
        *,
        watched: bool,
    ) -> None:
        """Play a leaf at both ends and at points inside of each of its intervals.

        Args:
            name: what to call the sampler.
            sampler: what is run.
            arguments: with what.
            leaf: what is drawn.
            known: the tag of the outcome; None if it is the integer that the leaf leaves undecided.
            watched: whether to watch for foreign calls.

        Raises:
            LawError: the sampler does not do what the leaf says.
        """
        for at, values in enumerate(self._points(leaf)):
            expected = known if leaf.returned is None else tag(values[leaf.returned])
            script = self._laid_out(leaf, values, inline=False)
            if at or not watched:
                self._play(name, sampler, arguments, script, expected)
            else:
                with self._watch.refused(self._source.stop):
                    self._play(name, sampler, arguments, script, expected)

    def scripts(self, leaves: list[tuple[Leaf, Hashable]]) -> Iterator[tuple[Script, Hashable]]:
        """Runs that end in these leaves, down to the bits of what they call, and the tags of their outcomes."""
        for leaf, known in leaves:
            values = self._values(leaf)
            yield self._laid_out(leaf, values), known if leaf.returned is None else tag(values[leaf.returned])

    def check_scripts(
        self,
        name: str,
        sampler: Callable[..., Any],
        arguments: tuple[Any, ...],
        played: Sequence[tuple[Script, Hashable]],
    ) -> None:
        """Play runs again, in another order; each several times if they are few."""
        if not played:
            return
        for _ in range(max(1, _PLAYS // len(played))):
            for script, expected in self._rng.sample(played, len(played)):
                self._play(name, sampler, arguments, script, expected)

    def _points(self, leaf: Leaf) -> Iterable[tuple[int, ...]]:
        """Values for the draws of a leaf: all of them if they are few, else the ends and some between."""
        lows = tuple(event.low for event in leaf.events)
        if not leaf.is_wide:
            return (lows,)
        highs = tuple(event.high - 1 for event in leaf.events)
        if math.prod(high + 1 - low for low, high in zip(lows, highs, strict=True)) <= _INNER + 2:
            return itertools.product(*(range(event.low, event.high) for event in leaf.events))
        return itertools.chain((lows, highs), (self._values(leaf) for _ in range(_INNER)))

    def _values(self, leaf: Leaf) -> tuple[int, ...]:
        if not leaf.is_wide:
            return tuple(event.low for event in leaf.events)
        between = self._rng.randrange
        return tuple(
            event.low if event.high - event.low == 1 else between(event.low, event.high) for event in leaf.events
        )

    def _script(self, leaf: Leaf) -> Script:
        return self._laid_out(leaf, self._values(leaf))

    def _laid_out(self, leaf: Leaf, values: tuple[int, ...], *, inline: bool = True) -> Script:
        """What a run draws that draws these values; if called samplers are run inline, down to their bits."""
        script: Script = []
        for event, value in zip(leaf.events, values, strict=True):
            if type(event) is Drawn:
                script.append((event.width, value))
            elif inline:
                script += self._chosen(event, value)  # type: ignore[arg-type]
            else:
                outcome = event.law.values[event.branch]  # type: ignore[union-attr]
                script.append((_OUTCOME, value if isinstance(outcome, Span) else outcome))
        return script

    def _chosen(self, event: Chosen, value: int) -> Script:
        law = event.law
        script: Script = []
        if law.rejected and self._rng.random() < _SHARE:
            for _ in range(self._rng.choice((1, 2))):
                script += self._script(self._rng.choice(law.rejected))
        leaves = law.leaves[event.branch]
        leaf = self._rng.choice(leaves) if self._rng.random() < _SHARE else leaves[0]
        values = self._values(leaf)
        if leaf.returned is not None:
            values = (*values[: leaf.returned], value, *values[leaf.returned + 1 :])
        return script + self._laid_out(leaf, values)

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
            value = sampler(*arguments, self._source)
        except BaseException as error:
            if passes_through(error):
                raise
            if self._source.stopped is None:
                raise SamplerFailed(f"{name} raised {error!r} when played again on plain integers") from error
            value = None
        self._source.close()
        return tag(value)
