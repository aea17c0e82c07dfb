"""Output laws by following every branch of the random bits, in rational numbers; an instrument of the tests alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction

from mechanisms.randomness import RandomBits

UNDECIDED = "undecided"
Law = dict[Hashable, Fraction]


class Branch(Exception):
    """The run goes on in several ways, each with its probability."""

    def __init__(self, law: Law) -> None:
        self.law = law


class Restarted(Exception):
    pass


class Stopped(Exception):
    pass


class Branching(RandomBits):
    """Bits and sub-samplers' outcomes as the path says; past its end, a `Branch`."""

    def __init__(self, path: tuple[Hashable, ...], smallest: Fraction, laws: dict[Hashable, Law]) -> None:
        self._path, self._position = path, 0
        self._smallest, self._laws = smallest, laws

    def take(self, count: int) -> int:
        drawn = 0
        for _ in range(count):
            drawn = drawn * 2 + self._next({0: Fraction(1, 2), 1: Fraction(1, 2)})
        return drawn

    def restart(self) -> None:
        raise Restarted

    def call(self, sampler: Callable[..., Hashable], *arguments: Hashable) -> Hashable:
        key = (sampler, *arguments)
        if key not in self._laws:
            self._laws[key] = law_of(sampler, *arguments, smallest=self._smallest, laws=self._laws)
        return self._next(self._laws[key])

    def _next(self, law: Law) -> Hashable:
        if self._position == len(self._path):
            raise Branch(law)
        self._position += 1
        outcome = self._path[self._position - 1]
        if outcome == UNDECIDED:
            raise Stopped
        return outcome


def law_of(
    sampler: Callable[..., Hashable],
    *arguments: Hashable,
    smallest: Fraction = Fraction(0),
    laws: dict[Hashable, Law] | None = None,
) -> Law:
    """Find the law of `sampler(*arguments, bits)`.

    Branches of probability below `smallest` count as UNDECIDED; at 0 the law is exact and the sampler must end or
    restart after finitely many bits.
    """
    laws = {} if laws is None else laws
    law: Law = defaultdict(Fraction)
    restarted = Fraction(0)
    branches: list[tuple[tuple[Hashable, ...], Fraction]] = [((), Fraction(1))]
    while branches:
        path, probability = branches.pop()
        if probability < smallest:
            law[UNDECIDED] += probability
            continue
        try:
            law[sampler(*arguments, Branching(path, smallest, laws))] += probability
        except Branch as branch:
            branches += [((*path, outcome), probability * share) for outcome, share in branch.law.items()]
        except Restarted:
            restarted += probability
        except Stopped:
            law[UNDECIDED] += probability
    return {outcome: probability / (1 - restarted) for outcome, probability in law.items()}
