"""The theorem on the exponential mechanism that takes the same bits and makes the same comparisons for every database.

Weights are integers W(0), W(1), … of levels with W(l) ≥ W(l + 1) ≥ q·W(l) ≥ 1. An outcome's depth is the number of
whole levels that its utility lies below the top of the range; its level is how much deeper it is than the best outcome,
or the last level if that is less. A neighbour moves a depth by `steps` at most: so w_o/T changes by R = q^(−2·steps) at
most, or by q^(−steps) where utilities move the same way. An outcome has more than p − 2 and fewer than p + 2 of 2^k
tickets, p = w_o·2^k/T ≥ 2^spare, and (R·p + 2)/(p − 2) falls with p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from checker.core.certificate import Certificate, Conclusion, Refused
from checker.core.tape import Cut, explore, same
from checker.kinds.claims import pure_epsilon, require_neighbours
from checker.kinds.large_runs import MANY, many_utilities, require_same_on_many
from checker.kinds.private_vectors import require_reading, unknown_vectors
from checker.kinds.ratios import shown, within
from checker.kinds.unknowns import Interval, Linear, UnknownDialogues, instead, unknown
from checker.models import fixed_work
from checker.theorems.selection import APART, TOGETHER, doubles, exact_ones, many, reading_unknowns, scale_of

DEPTH = 400
LEMMAS = ("fixed-work", "whole-levels", "reading", "clamping-utilities", "outcomes", "doubles-to-levels")
WINDOWS = 256
"""How many stretches of levels doubles are tried on; more are left out evenly."""

_NEAR = (0, 1, 2, 3, 5, 8, 13)
"""Levels from either end that are tried in threes."""


def exponential_fixed_work(certificate: Certificate) -> Conclusion:
    """Show that a selection by tickets keeps ε, and that the bits and the comparisons are as many for all utilities.

    Functions: `reference(utilities, bits, **parameters)`. Parameters: work, utility_range, sensitivity.
    """
    parameters = certificate.arguments()
    moves = 1 if require_neighbours(certificate, APART, TOGETHER) == TOGETHER else 2
    epsilon, work = pure_epsilon(certificate), parameters["work"]
    ratio = _ratio(work, moves)
    if not within(ratio, epsilon):
        raise Refused(f"the mechanism may lose {shown(ratio)}, more than {epsilon}")
    levels = _Levels(certificate.function("reference"), parameters)
    tried: list[Any] = []
    counts = dict[str, int]()
    for stage in (levels.require_few, levels.require_doubles, levels.require_many):
        stage()
        for selector in levels.selectors():
            if not any(selector is one for one in tried):
                tried.append(selector)
                _require_tickets(selector, work, levels.spread, counts)
    return Conclusion(
        f"{epsilon}-DP for any number of outcomes and every pair of {certificate.neighbours} (at most {shown(ratio)}), "
        "by as many bits and comparisons for all utilities",
        LEMMAS,
        levels.counts() | counts | {"vectors read": require_reading()},
    )


def _ratio(work: Any, moves: int) -> Fraction:
    """Return (R·2^spare + 2)/(2^spare − 2)."""
    numbers = (work.eta.x, work.eta.y, work.eta.z, work.steps, work.precision, work.spare)
    if not all(type(one) is int and one > 0 for one in numbers) or not work.eta.x < 2**work.eta.y:
        raise Refused(f"the parameters of fixed work are {numbers}")
    if work.spare < 2:
        raise Refused("an outcome may have no ticket")
    greatest: Fraction = Fraction(2**work.eta.y, work.eta.x) ** (work.eta.z * work.steps * moves)
    least: int = 1 << work.spare
    return (greatest * least + 2) / (least - 2)


class _Levels:
    """Checks that utilities, whatever they are, are rounded down to levels, by which an outcome is selected.

    Args:
        reference: `reference(utilities, bits, **parameters)`.
        parameters: the public ones.
    """

    def __init__(self, reference: Callable[..., Any], parameters: dict[str, Any]) -> None:
        self._mechanism, self._module = partial(reference, **parameters), reference.__module__.partition(".")[2]
        self._work, self._scale = parameters["work"], scale_of(parameters)
        self.spread = self._work.steps * self._scale.spread
        self._deepest = len(fixed_work.weights_of(self._work, self.spread)) - 1
        watched = (fixed_work.ticketed,)
        self._dialogues = UnknownDialogues(depth=DEPTH, apart=watched, watched=watched)
        self._large = self._doubles = 0

    def _model(self, utilities: Sequence[Any], bits: Any) -> Any:
        depths = [divmod(one * self._work.steps, 1)[0] for one in self._scale.shortfalls(utilities)]
        best = min(depths)
        levels = tuple(min(one - best, self._deepest) for one in depths)
        return bits.call(fixed_work.ticketed, self._work, self.spread, levels)

    def require_few(self) -> None:
        """Check one and two unknown utilities, and special values beside one."""
        with _reading_unknowns(self._module):
            for utilities in unknown_vectors((1, 2), unknown):
                self._dialogues.same(self._mechanism, self._model, utilities)

    def require_many(self) -> None:
        """Check three unknown utilities, many known ones, and some doubles as they are read."""
        within_range = Interval(self._scale.low, self._scale.high)
        three = tuple(unknown(f"v{index} in {within_range}", within_range) for index in range(3))
        with _reading_unknowns(self._module):
            self._dialogues.same(self._mechanism, self._model, three)
            for utilities in many(self._scale):
                self._dialogues.same_by_chance(self._mechanism, self._model, utilities, ways=3)
            self._large += require_same_on_many(self._mechanism, self._model, many_utilities(self._scale))
        for given in doubles(self._scale):
            self._dialogues.same_by_chance(self._mechanism, self._of_doubles, given, ways=3)

    def _of_doubles(self, utilities: Sequence[float], bits: Any) -> Any:
        return self._model(exact_ones(utilities), bits)

    def require_doubles(self) -> None:
        """Check doubles at the edges of levels, and next to these: between two edges the level stays the same."""
        width = max(self._deepest, 1)
        starts = range(0, self.spread + 1, width)
        chosen = starts if len(starts) <= WINDOWS else [starts[len(starts) * at // WINDOWS] for at in range(WINDOWS)]
        for start in chosen:
            levels = range(start, min(start + width, self.spread) + 1)
            edges = [float(self._scale.high - self._scale.sensitivity * one / self._work.steps) for one in levels]
            beside = [math.nextafter(edge, end) for edge in edges for end in (-math.inf, math.inf)]
            given = [*edges, *beside]
            asked = _Asked()
            self._mechanism(given, asked)
            expected = _Asked()
            self._model(exact_ones(given), expected)
            if not same(asked.arguments, expected.arguments):
                raise Refused(f"doubles about level {start} go to {asked.arguments[2:]!r:.200}")
            self._doubles += len(given)

    def selectors(self) -> list[Any]:
        """Return who was called to select by level."""
        found: list[Any] = []
        for one, _ in self._dialogues.asked[id(fixed_work.ticketed)]:
            found += [] if any(one is other for other in found) else [one]
        return found

    def counts(self) -> dict[str, int]:
        """Return how much was compared."""
        runs = {"runs": self._dialogues.runs, "runs cut off": self._dialogues.cut}
        return runs | {"large": self._large, "doubles": self._doubles}


class _Asked:
    """A source that writes down the arguments of the one call, and returns the first outcome."""

    arguments: tuple[Any, ...] = ()

    def call(self, sampler: Any, *arguments: Any) -> int:  # noqa: ARG002
        if self.arguments:
            raise Refused("a selection calls twice")
        self.arguments = arguments
        return 0


@contextmanager
def _reading_unknowns(module: str) -> Iterator[None]:
    """Let the mechanism of a module read unknown numbers as what they are."""

    def read(name: str, values: Any) -> Any:  # noqa: ARG001
        if not all(isinstance(value, Linear | float | Fraction) for value in values):
            raise Refused(f"{values!r:.200} is read instead of the utilities")
        return list(values)

    with reading_unknowns(), instead(module, "exact_numbers", read):
        yield


def _require_tickets(selector: Any, work: Any, spread: int, counts: dict[str, int]) -> None:
    """Check who selects by level: every ticket's outcome, the bits and the comparisons.

    All pairs of levels are tried, and some others of three and of many outcomes.
    """
    runs = 0
    compared: set[int] = set()
    for levels in _level_vectors(work, spread):
        if len(levels) < MANY:
            runs += _same_tickets(selector, work, spread, levels)
        bits, firsts = fixed_work.tickets_of(work, spread, levels)
        for ticket in (0, (1 << bits) - 1, *firsts[:1], *(first - 1 for first in firsts[-1:])):
            source = _Tickets(ticket)
            outcome = selector(work, spread, levels, source)
            if type(outcome) is not int or outcome != sum(ticket >= first for first in firsts):
                raise Refused(f"ticket {ticket} of 2^{bits} selects {outcome!r} at levels {levels!r:.100}")
            if (source.bits, source.comparisons) != (bits, len(firsts)):
                raise Refused(
                    f"{source.bits} bits and {source.comparisons} comparisons are made, not {bits}, {len(firsts)}"
                )
        compared.add(len(levels))
    counts["tickets of levels"] = runs
    counts["numbers of outcomes"] = len(compared)


def _same_tickets(selector: Any, work: Any, spread: int, levels: tuple[int, ...]) -> int:
    """Check that every ticket selects what it selects in the model; return how many runs that took."""
    given, dialogues, runs = (work, spread, levels), UnknownDialogues(), 0
    for _, called in explore(lambda way: dialogues.run(way, selector, fixed_work.ticketed, given), DEPTH):
        if called is Cut or called:
            raise Refused(f"at levels {levels!r:.100} more is asked for than a ticket")
        runs += 1
    return runs


def _level_vectors(work: Any, spread: int) -> list[tuple[int, ...]]:
    last = len(fixed_work.weights_of(work, spread)) - 1
    ends = sorted({min(one, last) for one in _NEAR} | {max(last - one, 0) for one in _NEAR})
    each = range(last + 1) if last < MANY else ends
    found: list[tuple[int, ...]] = [(0,)]
    found += [pair for level in each for pair in ((0, level), (level, 0))]
    found += [vector for vector in product(ends, repeat=3) if 0 in vector]
    for size in (4, 5, 8, 9, 16, 17, 40, 200, MANY):
        found.append(tuple(7 * index % 499 % (last + 1) for index in range(size)))
        found.append(tuple(0 if index else last for index in range(size)))
        found.append(tuple(last if index else 0 for index in range(size)))
    return found


class _Tickets:
    """A source whose one ticket is known; it counts the bits that are taken and the comparisons with the ticket."""

    def __init__(self, ticket: int) -> None:
        self._ticket = ticket
        self.bits = self.comparisons = 0

    def take(self, count: int) -> _Ticket:
        """Return the ticket."""
        self.bits += count
        return _Ticket(self, self._ticket)


class _Ticket:
    """An integer that can be compared, and no more."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, source: _Tickets, value: int) -> None:
        self._source, self._value = source, value

    def _compared(self, result: bool) -> bool:
        self._source.comparisons += 1
        return result

    def __ge__(self, other: Any) -> bool:
        return self._compared(self._value >= other)

    def __lt__(self, other: Any) -> bool:
        return self._compared(self._value < other)

    def __gt__(self, other: Any) -> bool:
        return self._compared(self._value > other)

    def __le__(self, other: Any) -> bool:
        return self._compared(self._value <= other)
