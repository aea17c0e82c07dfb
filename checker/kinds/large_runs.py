"""Runs on many outcomes, one of all: every reply is chosen by a seed, none stays open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Published, Recorder, Replayer, same
from checker.kinds.unknowns import NOW, ChanceWay, Facts
from checker.kinds.words_of_proposals import PREFIX, Words, WordSource
from checker.models.selection import Scale

MANY = 10_000
"""How many outcomes there are."""

SEED = 3
"""With it permute-and-flip goes through 9,660 outcomes."""


@dataclass
class _ChanceRecorder(Recorder):
    """Chooses every reply by chance, a coin's first outcome far more often than its second."""

    def take(self, count: int) -> Any:
        """Reply with uniform bits."""
        reply = self.way.choose(1 << count)
        self.said.append((("take", count), reply))
        return reply

    def _asked(self, verb: str, sampler: Published, arguments: tuple[Any, ...]) -> Any:
        outcomes = sampler.outcomes(*arguments)
        if len(outcomes) == 2:
            reply = outcomes[int(self.way.choose(2 * MANY) == 0)]
        else:
            reply = outcomes[self.way.choose(len(outcomes))]
        self.said.append(((verb, sampler, arguments), reply))
        return reply


def require_same_on_many(
    sampler: Callable[..., Any], model: Callable[..., Any], *arguments: Any, seed: int = SEED
) -> int:
    """Check that a sampler asks and returns what an algorithm does, on one way; what they call is not compared.

    Args:
        sampler: the mechanism's.
        model: the checker's own.
        *arguments: of both.
        seed: chooses the way.

    Returns:
        How many requests were compared.

    Raises:
        Refused: they differ.
    """
    way = ChanceWay(seed)
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


def require_some_words(fast: Callable[..., Any], utilities: Any, words: Words, error: Fraction) -> int:
    """Check what a fast path selects from many outcomes at edges of a part of them, at once and one by one.

    Args:
        fast: `fast(utilities, trials, bits)`.
        utilities: the utilities.
        words: what each word does.
        error: how far the fast path's filter reaches.

    Returns:
        How many words were tried.

    Raises:
        Refused: a word selects something else.
    """
    compared = 0
    for by_level in (True, False):
        whole, some = replace(words, by_level=by_level), replace(words, by_level=by_level)
        some.rounds[:] = whole.rounds[:: len(words.levels) // 150]
        edges = some.edges(error)
        tried = edges if by_level else edges[: len(edges) - 2 * (1 << PREFIX) : 23]
        compared += len(tried)
        expected, source = whole.meant(tried, 0), WordSource(list(tried), 0)
        found = [] if not by_level else fast(utilities, len(expected), source).tolist()
        while len(found) < len(expected):
            found += fast(utilities, 1, source).tolist()
        if found != expected:
            raise Refused(f"of {len(words.levels)} outcomes words select {found!r:.100}, not {expected!r:.100}")
    return compared
