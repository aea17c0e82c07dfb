"""What a program must stand before the laws that its dialogue gave are believed.

1. Every leaf is run again, twice, in two random orders, each time in fresh processes, among runs on the inputs asked
   about before. Those of calls and rounds are run so for each new input, wherever their laws were found, at all places
   of the run that meets their value most often. Other calls and rounds on the way end in the same values by other
   replies, where there are any, and behind other rejected rounds; what the program writes must not change.
2. Loops are run with every number of rejected rounds that their law counts; in doubling steps once that takes long.
3. The same process stands some thousands of known runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeAlias

from attacklab.laws.external_program import ExternalProgram, Run, Step
from attacklab.laws.requests import REJECTED
from attacklab.laws.scopes import Place, Scope
from attacklab.model.random_bits import SeededBits

_FRESH = 4
"""How many runs of a pass are each the first of a process."""

_OTHERS = 256
"""How many runs of a pass, at most, are on inputs asked about before."""

_FEW = 16
_TIMES = 4
"""Each number of rejected rounds is tried once, and so often if there are few."""

_REJECTED_LINES = 200_000
"""Once the runs with many rejected rounds have come to so many lines, the number doubles from run to run."""

_ENDURED = 4096
"""One process stands at least so many runs, to show what it counts or stores."""

_ENDURED_LINES = 100_000
"""It stands fewer if they come to so many lines."""

_Job: TypeAlias = "tuple[Scope, Place, dict[Scope, Place]]"
"""A scope and a leaf of it; and the leaves by which calls and rounds on the way are to end."""


class Checks:
    """The checks of what one search found.

    Args:
        program: the program.
        used: the calls and rounds that the runs come through, and those that the search found.
        whole: the whole runs, those of the search first.
        most_lines: the most lines of one run.
        report: called before each run with the number of runs to come, and the mass left open.
    """

    def __init__(
        self,
        program: ExternalProgram,
        used: Sequence[Scope],
        whole: Sequence[Scope],
        most_lines: int,
        report: Callable[[int, float], None],
    ) -> None:
        self._program, self._used, self._whole = program, used, whole
        self._most_lines, self._report = most_lines, report
        self._randomness, self._bits = Random(0), SeededBits(0)
        self._fullest: dict[Scope, dict[int, tuple[int, Scope, Place]]] = {}
        for scope in (whole[0], *used):
            for leaf in scope.all_leaves():
                for (inner, rank), times in Counter(leaf.scopes()).items():
                    fullest = self._fullest.setdefault(inner, {})
                    if rank not in fullest or fullest[rank][0] < times:
                        fullest[rank] = times, scope, leaf

    def run(self) -> None:
        """Run all checks; the program ends in a fresh process.

        Raises:
            NotDeterministic: the program did something else than before.
            TargetError: it failed.
        """
        new: list[_Job] = [(self._whole[0], leaf, {}) for leaf in self._whole[0].all_leaves()]
        others: list[_Job] = [(scope, leaf, {}) for scope in self._whole[1:] for leaf in scope.all_leaves()]
        for _ in range(2):
            order = new + [self._job(scope, leaf) for scope in self._used for leaf in scope.all_leaves()]
            order += self._randomness.sample(others, min(_OTHERS, len(others)))
            self._randomness.shuffle(order)
            for number, job in enumerate(order):
                if number <= _FRESH:
                    self._program.renew()
                self._replay(job, len(order) - number)
        for scope in self._used:
            self._reject(scope)
        runs = lines = 0
        while runs < _ENDURED and lines < _ENDURED_LINES:
            runs, lines = runs + 1, lines + self._replay(self._randomness.choice(new + others))
        self._program.renew()

    def _job(self, scope: Scope, leaf: Place) -> _Job:
        """A run that comes through a leaf of a call or a round, or else that alone."""
        ways: dict[Scope, Place] = {}
        current, end = scope, leaf
        while current in self._fullest:
            ways[current] = end
            known = self._fullest[current]
            rank = self._randomness.choice(list(known)) if end.line == REJECTED else current.values.index(end.line)
            if rank not in known:
                break
            _, current, end = known[rank]
            if current is self._whole[0]:
                return current, end, ways
        return scope, leaf, {}

    def _reject(self, scope: Scope) -> None:
        """Run a loop with more and more rejected rounds, up to what its law counts."""
        rejections, lines = min(1, scope.rejections if scope.count else 0), 0
        while rejections:
            for _ in range(_TIMES if rejections <= _FEW else 1):
                value = self._randomness.choice(scope.values)
                job = self._job(scope, self._randomness.choice(scope.leaves[value]))
                lines += self._replay(job, rejections={scope: rejections})
            if rejections == scope.rejections:
                return
            further = rejections + 1 if lines < _REJECTED_LINES else 2 * rejections
            rejections = min(further, scope.rejections)

    def _replay(self, job: _Job, left: int = 0, *, rejections: dict[Scope, int] | None = None) -> int:
        """Run to a leaf again, and count the lines."""
        self._report(left, float(self._whole[0].left))
        scope, leaf, leaves = job
        ways = _Ways(self._randomness, leaves, rejections or {})
        script = [*scope.prefix, *scope.script(leaf, ways.through)]
        if leaf.line == REJECTED:
            script.append((scope.line, None))
        run = Run(self._program, scope.input, script, self._most_lines)
        if scope.line:
            run.finish(self._bits)
        return len(script)


class _Ways:
    """Ways through calls and loops to given values, at random.

    Args:
        randomness: what chooses.
        leaves: the leaves to end by; that of a rejected round precedes an accepted one.
        rejections: how many rounds to reject where a loop is met first.
    """

    def __init__(self, randomness: Random, leaves: dict[Scope, Place], rejections: dict[Scope, int]) -> None:
        self._randomness, self._leaves, self._rejections = randomness, leaves, rejections

    def through(self, scope: Scope, rank: int) -> list[Step]:
        """The steps through a call or a loop to its value of the given rank."""
        value, leaf = scope.values[rank], self._leaves.get(scope)
        ends = [leaf] if leaf is not None and leaf.line == REJECTED else []
        if scope.rejected:
            ends += [self._one_of(scope.rejected) for _ in range(self._rejections.pop(scope, self._few()))]
        ends.append(leaf if leaf is not None and leaf.line == value else self._one_of(scope.leaves[value]))
        return [step for end in ends for step in scope.script(end, self.through)]

    def _one_of(self, leaves: Sequence[Place]) -> Place:
        """Any of some leaves, but mostly one of the first, which are the likeliest and the shortest."""
        if len(leaves) > 1 and self._randomness.getrandbits(2):
            return leaves[min(self._few(), len(leaves) - 1)]
        return self._randomness.choice(leaves)

    def _few(self) -> int:
        """A number from 0 to 4, each half as likely as the one before."""
        return min(4, 32 - self._randomness.getrandbits(32).bit_length())
