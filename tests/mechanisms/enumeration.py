"""Output laws by running a sampler on every bit string, in rational numbers; an instrument of the tests alone.

It shares no code with the instrument that proves claims, whose verdicts these tests are there to doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cache
from typing import Any

from mechanisms.randomness import RandomBits

Law = dict[Any, Fraction]
"""Outcome → a lower bound of its probability."""

_WIDE = 64
"""Bits from which on an integer is not decided at once."""


class _Fork(Exception):
    """A run needs a choice that its path does not make; holds the choices and their probabilities."""


class _Word:
    """A uniform integer in [low, high) that is compared, and decided no further than that."""

    def __init__(self, path: _Path, high: int) -> None:
        self._path, self._low, self._high = path, 0, high

    def _is_below(self, cut: int) -> bool:
        if not self._low < cut < self._high:
            return self._low < cut
        share = Fraction(cut - self._low, self._high - self._low)
        if self._path.choose(lambda: {True: share, False: 1 - share}):
            self._high = cut
            return True
        self._low = cut
        return False

    def __lt__(self, other: int) -> bool:
        return self._is_below(other)

    def __ge__(self, other: int) -> bool:
        return not self._is_below(other)

    def __gt__(self, other: int) -> bool:
        return not self._is_below(other + 1)

    def __int__(self) -> int:
        while self._high - self._low > 1:
            self._is_below((self._low + self._high) // 2)
        return self._low


class _Path(RandomBits):
    def __init__(self, choices: list[Any], law_of: Callable[..., Law]) -> None:
        self._choices = iter(choices)
        self._law_of = law_of

    def choose(self, law: Callable[[], Law]) -> Any:
        for choice in self._choices:
            return choice
        raise _Fork(law())

    def take(self, count: int) -> Any:
        if count >= _WIDE:
            return _Word(self, 1 << count)
        return self.choose(lambda: {value: Fraction(1, 1 << count) for value in range(1 << count)})

    def call(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        return self.choose(lambda: self._law_of(sampler, *arguments))

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        return self.choose(lambda: _accepted(self._law_of(sampler, *arguments)))


def law_of(sampler: Callable[..., Hashable], *arguments: object, smallest: Fraction = Fraction(0)) -> Law:
    """Find the law of `sampler(*arguments, bits)`, dropping every branch less probable than `smallest`.

    At 0 the law is exact, and the sampler must end after finitely many bits, but for loops by `repeat`, whose rejected
    mass is redistributed in proportion. Dropped mass stays missing, so that each probability is a lower bound and 1
    minus their sum bounds what any of them lacks.
    """

    @cache
    def known_law(sampler: Callable[..., Hashable], *arguments: object) -> Law:
        finished: defaultdict[Any, Fraction] = defaultdict(Fraction)
        pending: list[tuple[list[Any], Fraction]] = [([], Fraction(1))]
        while pending:
            choices, mass = pending.pop()
            try:
                finished[sampler(*arguments, _Path(choices, known_law))] += mass
            except _Fork as fork:
                pending.extend(
                    ([*choices, choice], mass * share)
                    for choice, share in fork.args[0].items()
                    if mass * share >= smallest
                )
        return dict(finished)

    return known_law(sampler, *arguments)


def _accepted(round_law: Law) -> Law:
    """The law of a rejection loop: rejected mass goes to the other outcomes in proportion."""
    return {
        outcome: mass / (1 - round_law.get(None, Fraction(0)))
        for outcome, mass in round_law.items()
        if outcome is not None
    }
