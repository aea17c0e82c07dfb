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


class _Fork(Exception):
    """A run needs a choice that its path does not make; holds the choices and their probabilities."""


class _Path(RandomBits):
    def __init__(self, choices: list[Any], law_of: Callable[..., Law]) -> None:
        self._choices = iter(choices)
        self._law_of = law_of

    def _choose(self, law: Callable[[], Law]) -> Any:
        for choice in self._choices:
            return choice
        raise _Fork(law())

    def take(self, count: int) -> int:
        return self._choose(lambda: {value: Fraction(1, 1 << count) for value in range(1 << count)})

    def call(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        return self._choose(lambda: self._law_of(sampler, *arguments))

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        return self._choose(lambda: _accepted(self._law_of(sampler, *arguments)))


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
