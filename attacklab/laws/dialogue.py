"""The output law of a program that asks for its randomness line by line.

The program runs on every sequence of replies, the heaviest first. It may announce calls and rounds by name and
arguments; the law of those is found once, where they are first met, and then reused: to reach a value elsewhere, the
program gets the replies that led to it before. So nothing is ever assumed without a real run, and what the program
writes must be the same to the letter. Before a law is given out, `dialogue_checks` runs every leaf again.

Source: as for `enumerate_law`; the difference is that the program is a black box, of which only its lines are known.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from gmpy2 import mpq

from attacklab.laws.dialogue_checks import Checks
from attacklab.laws.enumeration import CALLED, IMMATERIAL, REPORTED, ROUNDING, Limits, Progress
from attacklab.laws.errors import LawError, NeverEnds
from attacklab.laws.external_program import ExternalProgram, Run, Step, not_begun_again
from attacklab.laws.law import Law, total
from attacklab.laws.requests import REJECTED, Begin, Draw, End, NotInProtocol, Output, shown
from attacklab.laws.scopes import Place, Scope, scopes_used, script_to
from attacklab.laws.tape import LIGHTER, Frontier
from attacklab.model.errors import UsageError
from attacklab.model.random_bits import SeededBits

MOST_VALUES = 1 << 16
"""The most values of one draw: each is a run of its own, since nobody sees how the program compares them."""

MOST_NESTED = 50
"""How deep calls and rounds may lie within each other."""

_CLOSING = 512
"""This many runs are spent on closing a law, even when little enough is open."""

_CLOSING_CALLED = 32
"""The same, for a call or a round."""


class _Waiting(Frontier[Place]):
    """The branches that are still to run, heaviest first; an entry also stands for the lighter ones of its place."""

    def push_branch(self, place: Place, rank: int) -> None:
        """Add a branch, if the place has so many."""
        if rank < place.branches:
            self.push(float(place.mass * place.share(rank)), place, rank)

    def pop_place(self) -> Place:
        """The end of the heaviest branch."""
        place, rank = self.pop()
        self.push_branch(place, rank + 1)
        return Place(place, rank)


class Dialogue:
    """Finds the laws of one program, and keeps what it learns of calls and rounds from one input to the next.

    Args:
        program: the program.
        seconds: how long the search for one law may take, its checks apart; what is unresolved then stays so.

    Raises:
        UsageError: `seconds` is not greater than 0.
    """

    def __init__(self, program: ExternalProgram, *, seconds: float = math.inf) -> None:
        if not seconds > 0:
            raise UsageError(f"seconds must be greater than 0, not {seconds}")
        self._program, self._seconds = program, seconds
        self._known: dict[str, Scope] = {}
        self._whole: list[Scope] = []

    def law(
        self, input_: Any, *, limits: Limits | None = None, progress: Callable[[Progress], None] | None = None
    ) -> Law:
        """The law of the program's output on one input.

        Args:
            input_: what the program is run on.
            limits: when to end; the runs of the checks are not counted.
            progress: called now and then.

        Raises:
            NotDeterministic: the program did something else on the same replies, or in another run, or after other
                replies with which a call or a round had ended in the same value.
            NotInProtocol: it wrote something that the protocol does not have.
            NeverEnds: no run within the limits gave an outcome.
            LawError: it draws an integer of too many values, or calls itself by the same line.
            TargetError: its process failed.
        """
        search = _Search(self._program, input_, self._known, limits or Limits(), progress, self._seconds)
        try:
            whole = search.whole()
            used = scopes_used(whole, [self._known[line] for line in search.found])
            Checks(self._program, used, [whole, *self._whole], search.most_lines, search.report).run()
        except BaseException:
            self._program.renew()
            for line in search.found:
                del self._known[line]
            raise
        self._whole.append(whole)
        grain = search.target / ROUNDING if whole.left else 0
        return Law(_with_masses(whole, grain))


def _with_masses(whole: Scope, grain: Any) -> Iterator[tuple[Any, Any]]:
    """The outcomes, with their masses in multiples of `grain` (0: exact)."""
    for leaves in whole.leaves.values():
        mass = total(leaf.mass for leaf in leaves)
        assert isinstance(leaves[0].event, Output)  # noqa: S101 - a whole run ends so
        yield leaves[0].event.outcome, mass // grain * grain if grain else mass


class _Search:
    """The search for the law of one input."""

    def __init__(
        self,
        program: ExternalProgram,
        input_: Any,
        known: dict[str, Scope],
        limits: Limits,
        progress: Callable[[Progress], None] | None,
        seconds: float,
    ) -> None:
        self._program, self._input, self._known, self._limits = program, input_, known, limits
        self._progress, self._bits = progress, SeededBits(0)
        self._deadline = time.monotonic() + seconds
        self._runs = 0
        self._sought: list[str] = []
        self.target = mpq(limits.unresolved)
        self.most_lines = limits.draws
        self.found: list[str] = []
        """The first lines of the calls and rounds whose laws were found."""

    def whole(self) -> Scope:
        """Explore all runs."""
        scope = Scope(self._input, "", ())
        self._explore(scope, self.target)
        if not scope.leaves:
            raise NeverEnds(f"the program gave no output in {self._runs} runs; check that it ends, or allow more runs")
        return scope

    def report(self, waiting: int, unresolved: float) -> None:
        """Report progress, every so many runs."""
        self._runs += 1
        if self._progress is not None and self._runs % REPORTED == 1:
            self._progress(Progress(self._runs, len(self._known), waiting, unresolved, "the program"))

    def _explore(self, scope: Scope, target: Any) -> None:
        waiting = _Waiting(self._limits.tapes)
        place, first = Place(None, 0), self._runs
        while True:
            self._visit(scope, place, waiting)
            left = self._limits.runs - self._runs
            if not len(waiting) or left <= 0 or time.monotonic() > self._deadline:
                return
            is_enough = scope.left <= target or waiting.heaviest * left <= IMMATERIAL * float(target)
            if is_enough and self._runs - first >= (_CLOSING_CALLED if scope.line else _CLOSING):
                return
            place = waiting.pop_place()

    def _visit(self, scope: Scope, place: Place, waiting: _Waiting) -> None:
        """Run to a place that is not known yet, and on along the heaviest branches."""
        while (unknown := self._run(scope, place, waiting)) is not None:
            place, line, prefix = unknown
            self._find(line, prefix)

    def _run(self, scope: Scope, place: Place, waiting: _Waiting) -> tuple[Place, str, list[Step]] | None:
        """Run on from a place; returns where the law of a call or a round must be found first, with its first line."""
        self.report(len(waiting), float(scope.left))
        first: list[Step] = [(scope.line, None)] if scope.line else []
        script = [*scope.prefix, *first, *script_to(place, Scope.shortest)]
        run = Run(self._program, self._input, script, self.most_lines)
        while True:
            place.line, event = run.next()
            if isinstance(event, Begin):
                known = self._known.get(place.line)
                if known is None:
                    run.finish(self._bits)
                    return place, place.line, script
                if not known.count:
                    run.finish(self._bits)
                    return None
                place.event = known
                steps = known.shortest(0)
                run.follow(steps)
                script += steps
            elif isinstance(event, Draw):
                if event.count > MOST_VALUES:
                    raise LawError(
                        f"the program wrote {shown(place.line)}, a draw of more than {MOST_VALUES} values; let it ask "
                        "for a coin, or for fewer bits at a time"
                    )
                place.event = event
                if float(place.mass * event.share(0)) < waiting.heaviest * LIGHTER:
                    waiting.push_branch(place, 0)
                    run.reply(event.replies[0])
                    run.finish(self._bits)
                    return None
                run.reply(event.replies[0])
                script.append((place.line, str(event.replies[0])))
            else:
                self._end(scope, place, event, run)
                return None
            waiting.push_branch(place, 1)
            place = Place(place, 0)

    def _end(self, scope: Scope, place: Place, event: End | Output, run: Run) -> None:
        if not scope.ends_with(event):
            within = f"inside {shown(scope.line)}" if scope.line else "outside any call or round"
            raise NotInProtocol(f"the program wrote {shown(place.line)} {within}; end what was begun last, and only it")
        place.event = event
        scope.add(place)
        if isinstance(event, Output):
            return
        if place.line == REJECTED and (line := run.next()[0]) != scope.line:
            raise not_begun_again(scope.line, line)
        run.finish(self._bits)

    def _find(self, line: str, prefix: list[Step]) -> None:
        """Find the law of a call or a round."""
        if line in self._sought:
            raise LawError(f"{shown(line)} lies within itself, so its law cannot be found; leave the inner begin out")
        if len(self._sought) >= MOST_NESTED:
            raise LawError(f"{shown(line)} lies within {MOST_NESTED} calls and rounds; leave the inner begins out")
        self._sought.append(line)
        scope = Scope(self._input, line, prefix)
        closer = self.target * mpq(CALLED) / 2
        self._explore(scope, closer)
        self._sought.pop()
        scope.find_law(closer)
        self._known[line] = scope
        self.found.append(line)
