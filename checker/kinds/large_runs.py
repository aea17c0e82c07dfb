"""Runs on many outcomes, one of all: every reply is chosen by a seed, none stays open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Published, Recorder, Replayer, same
from checker.kinds.unknowns import NOW, ChanceWay, Facts
from checker.models.selection import Scale

MANY = 10_000
"""How many outcomes there are."""

SEED = 3
"""With it permute-and-flip goes through 9,660 outcomes."""


@dataclass
class _ChanceRecorder(Recorder):
    """Chooses every reply by chance, a coin's first outcome far more often than its second."""

    def _asked(self, verb: str, sampler: Published, arguments: tuple[Any, ...]) -> Any:
        outcomes = sampler.outcomes(*arguments)
        if len(outcomes) == 2:
            reply = outcomes[int(self.way.choose(2 * MANY) == 0)]
        else:
            reply = outcomes[self.way.choose(len(outcomes))]
        self.said.append(((verb, sampler, arguments), reply))
        return reply


def require_same_on_many(sampler: Callable[..., Any], model: Callable[..., Any], *arguments: Any) -> int:
    """Check that a sampler asks and returns what an algorithm does, on one way; what they call is not compared.

    Returns:
        How many requests were compared.

    Raises:
        Refused: they differ.
    """
    way = ChanceWay(SEED)
    NOW[0] = Facts(way)
    recorder = _ChanceRecorder(way)
    expected = model(*arguments, recorder)
    replayer = Replayer(recorder.said)
    found = sampler(*arguments, replayer)
    if replayer.at != len(recorder.said):
        raise Refused(f"the algorithm asks on after {replayer.at} requests; {sampler!r:.200} does not")
    if type(found) is not type(expected) or not same(found, expected):
        raise Refused(f"{sampler!r:.200} returns {found!r:.100}, the algorithm {expected!r:.100}")
    return replayer.at


def many_utilities(scale: Scale) -> tuple[Fraction, ...]:
    """Return as many utilities of a range, at 250 whole units of Δu below its top and at halves between them.

    The best one is alone; others are as low as the range goes where it is short.
    """
    units = [1 + Fraction(7 * index % 499, 2) for index in range(MANY)]
    units[MANY // 3] = Fraction(1, 2)
    return tuple(max(scale.high - one * scale.sensitivity, scale.low) for one in units)
