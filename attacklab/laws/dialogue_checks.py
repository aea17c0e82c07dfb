"""What a program must stand before the laws that its dialogue gave are believed.

1. Every leaf of every tree is run again, twice, in two random orders, each time in fresh processes, among runs on the
   inputs asked about before. Those of calls and rounds are run so for each new input, wherever their laws were found:
   first where the call is met first, then at all places of a run that meets it most often. Other calls and rounds on
   the way end in the same values by other replies, where there are any, and behind other rejected rounds; what the
   program writes must not change.
2. Loops are run with every number of rejected rounds that their law counts; in doubling steps once that takes long.
3. Plain runs with random replies: wherever they come through known places, they must do what is known. After them the
   same process stands some thousands of known runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeAlias

from attacklab.laws.external_program import ExternalProgram, Run, Step, departure, drawn, not_begun_again
from attacklab.laws.requests import REJECTED, Begin, Draw, End, NotInProtocol, Output, shown
from attacklab.laws.scopes import Place, Scope, ScopeLaw
from attacklab.model.random_bits import SeededBits

_FRESH = 4
"""How many runs of a pass are each the first of a process."""

_OTHERS = 256
"""How many runs of a pass, at most, are on inputs asked about before."""

_CONTEXTS = 4
"""How many leaves are kept that come through a value of a call or a loop."""

_FEW = 16
_TIMES = 4
"""Each number of rejected rounds is tried once, and so often if there are few."""

_REJECTED_LINES = 200_000
"""Once the runs with many rejected rounds have come to so many lines, the number doubles from run to run."""

_PLAIN = 500
"""How many plain runs there are at most."""

_PLAIN_LINES = 50_000
"""They end when they have come to so many lines."""

_ENDURED = 4096
"""One process stands at least so many runs, to show what it counts or stores."""

_ENDURED_LINES = 100_000
"""It stands fewer if they come to so many lines."""

_Job: TypeAlias = "tuple[Scope, Place, dict[ScopeLaw, Place]]"
"""A scope and a leaf of it; and the leaves by which calls and rounds on the way are to end."""


class Checks:
    """The checks of what one search found.

    Args:
        program: the program.
        used: the laws of calls and rounds that the runs come through, and those that the search found.
        whole: the whole runs, those of the search first.
        most_lines: the most lines of one run.
        report: called before each run with the number of runs to come, and the mass left open.
    """

    def __init__(
        self,
        program: ExternalProgram,
        used: Sequence[ScopeLaw],
        whole: Sequence[Scope],
        most_lines: int,
        report: Callable[[int, float], None],
    ) -> None:
        self._program, self._used, self._whole = program, used, whole
        self._most_lines, self._report = most_lines, report
        self._randomness, self._bits = Random(0), SeededBits(0)
        self._open = float(whole[0].left)
        self._owners = {law.scope: law for law in used}
        self._contexts: dict[ScopeLaw, dict[int, list[tuple[Scope, Place]]]] = {}
        self._fullest: dict[ScopeLaw, dict[int, tuple[int, Scope, Place]]] = {}
        for scope in (whole[0], *self._owners):
            for leaf in _leaves(scope):
                met = Counter((place.event, rank) for place, rank in leaf.before() if isinstance(place.event, ScopeLaw))
                for (law, rank), times in met.items():
                    kept = self._contexts.setdefault(law, {}).setdefault(rank, [])
                    if len(kept) < _CONTEXTS:
                        kept.append((scope, leaf))
                    fullest = self._fullest.setdefault(law, {})
                    if rank not in fullest or fullest[rank][0] < times:
                        fullest[rank] = times, scope, leaf

    def run(self) -> None:
        """Run all checks; the program ends in a fresh process.

        Raises:
            NotDeterministic: the program did something else than before.
            TargetError: it failed.
        """
        others: list[_Job] = [(scope, leaf, {}) for scope in self._whole[1:] for leaf in _leaves(scope)]
        for everywhere in (False, True):
            jobs: list[_Job] = [(self._whole[0], leaf, {}) for leaf in _leaves(self._whole[0])]
            jobs += [self._job(law, leaf, everywhere) for law in self._used for leaf in _leaves(law.scope)]
            order = jobs + self._randomness.sample(others, min(_OTHERS, len(others)))
            self._randomness.shuffle(order)
            for number, job in enumerate(order):
                if number <= _FRESH:
                    self._program.renew()
                self._report(len(order) - number, self._open)
                self._replay(job, _Ways(self._randomness, job[2], everywhere=everywhere))
        for law in self._used:
            self._reject(law)
        runs = lines = 0
        while runs < _PLAIN and lines < _PLAIN_LINES:
            self._report(0, self._open)
            runs, lines = runs + 1, lines + self._plain(self._randomness.choice(self._whole))
        lines = 0
        known: list[_Job] = [(scope, leaf, {}) for scope in self._whole for leaf in _leaves(scope)]
        while runs < _ENDURED and lines < _ENDURED_LINES:
            self._report(0, self._open)
            runs += 1
            lines += self._replay(self._randomness.choice(known), _Ways(self._randomness, {}))
        self._program.renew()

    def _job(self, law: ScopeLaw, leaf: Place, everywhere: bool) -> _Job:
        """A run that comes through a leaf of a call or a round, once or as often as any run, or else its scope."""
        ways: dict[ScopeLaw, Place] = {}
        current, end = law, leaf
        while current in self._contexts:
            ways[current] = end
            known = self._contexts[current]
            rank = self._randomness.choice(list(known)) if end.line == REJECTED else current.values.index(end.line)
            if rank not in known:
                break
            scope, end = self._fullest[current][rank][1:] if everywhere else self._randomness.choice(known[rank])
            if scope not in self._owners:
                return scope, end, ways
            current = self._owners[scope]
        return law.scope, leaf, {}

    def _reject(self, law: ScopeLaw) -> None:
        """Run loops with more and more rejected rounds, up to what the law counts."""
        rejections, lines = min(1, law.rejections if law.count else 0), 0
        while rejections:
            for _ in range(_TIMES if rejections <= _FEW else 1):
                leaf = self._randomness.choice(law.leaves(self._randomness.randrange(law.count)))
                job = self._job(law, leaf, False)
                self._report(0, self._open)
                lines += self._replay(job, _Ways(self._randomness, job[2], {law: rejections}))
            if rejections == law.rejections:
                return
            further = rejections + 1 if lines < _REJECTED_LINES else 2 * rejections
            rejections = min(further, law.rejections)

    def _replay(self, job: _Job, ways: _Ways) -> int:
        """Run to a leaf again, and count the lines."""
        scope, leaf, _ = job
        script = [*scope.prefix, *scope.script(leaf, ways.through)]
        if leaf.line == REJECTED:
            script.append((scope.line, None))
        run = Run(self._program, scope.input, script, self._most_lines)
        if scope.line:
            run.finish(self._bits)
        return len(script)

    def _plain(self, whole: Scope) -> int:
        """Run once with random replies, follow the run in the trees as far as they are known, and count its lines."""
        run = Run(self._program, whole.input, (), self._most_lines)
        begun: list[tuple[str, Place | None]] = []
        place: Place | None = whole.start
        while True:
            line, event = run.next()
            if place is not None and place.event is None:
                place = None
            if place is not None and place.line != line:
                raise departure([first for first, _ in begun], place.line, line)
            if isinstance(event, Output):
                return run.lines
            if isinstance(event, Draw):
                reply = drawn(event, self._bits)
                run.reply(reply)
                place = None if place is None else place.children.get(event.replies.index(reply))
            elif isinstance(event, Begin):
                begun.append((line, place))
                place = None if place is None else _law_at(place).scope.start
            else:
                place = self._after(line, event, begun, run)

    def _after(self, line: str, event: End, begun: list[tuple[str, Place | None]], run: Run) -> Place | None:
        """Where a run goes on after the end of a call or a round."""
        if not begun or begun[-1][0].startswith("begin round ") != event.is_round:
            raise NotInProtocol(f"the program wrote {shown(line)}, but did not begin that; end what was begun last")
        first, outer = begun[-1]
        if line == REJECTED:
            again, _ = run.next()
            if again != first:
                raise not_begun_again(first, again)
            return None if outer is None else _law_at(outer).scope.start
        begun.pop()
        if outer is None or line not in _law_at(outer).values:
            return None
        return outer.children.get(_law_at(outer).values.index(line))


class _Ways:
    """Ways through calls and loops to given values, at random.

    Args:
        randomness: what chooses.
        leaves: the leaves to end by where a law is met first; that of a rejected round precedes an accepted one.
        rejections: how many rounds to reject where a loop is met first.
        everywhere: end by `leaves` wherever a law is met.
    """

    def __init__(
        self,
        randomness: Random,
        leaves: dict[ScopeLaw, Place],
        rejections: dict[ScopeLaw, int] | None = None,
        *,
        everywhere: bool = False,
    ) -> None:
        self._randomness, self._everywhere = randomness, everywhere
        self._leaves = {law: leaf for law, leaf in leaves.items() if leaf.line != REJECTED}
        self._rejected = {law: leaf for law, leaf in leaves.items() if leaf.line == REJECTED}
        self._rejections = rejections or {}

    def through(self, law: ScopeLaw, rank: int) -> list[Step]:
        """The steps through a call or a loop to its value of the given rank."""
        steps: list[Step] = []
        if (once := self._rejected.get(law)) is not None:
            if not self._everywhere:
                del self._rejected[law]
            steps += law.scope.script(once, self.through)
        for _ in range(self._rejections.pop(law, self._few()) if law.rejected else 0):
            steps += law.scope.script(self._one_of(law.rejected), self.through)
        leaf = self._leaves.get(law)
        if leaf is not None and leaf.line == law.values[rank]:
            if not self._everywhere:
                del self._leaves[law]
        else:
            leaf = self._one_of(law.leaves(rank))
        return [*steps, *law.scope.script(leaf, self.through)]

    def _one_of(self, leaves: Sequence[Place]) -> Place:
        """Any of some leaves, but mostly one of the first, which are the likeliest and the shortest."""
        if len(leaves) > 1 and self._randomness.getrandbits(2):
            return leaves[min(self._few(), len(leaves) - 1)]
        return self._randomness.choice(leaves)

    def _few(self) -> int:
        count = 0
        while count < 4 and self._randomness.getrandbits(1):
            count += 1
        return count


def _leaves(scope: Scope) -> Iterator[Place]:
    for leaves in scope.leaves.values():
        yield from leaves


def _law_at(place: Place) -> ScopeLaw:
    assert isinstance(place.event, ScopeLaw)  # noqa: S101 - its line begins a call or a round
    return place.event
