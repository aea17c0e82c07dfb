"""Numbers that noise chooses to show: judged path by path, each with how probable it is.

What is decided and the numbers that follow it have one law together: the probability of the path, times the law of the
numbers on it. Numbers that are shown alike on all paths are not looked at here: they are noise of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from attacklab.replay import laws
from attacklab.replay.choices import Choice, Choices, way_of
from attacklab.replay.compare import Moved, held_numbers, stepped
from attacklab.replay.laws import SHIFT_LAWS, Law, near
from attacklab.replay.outputs import skeleton
from attacklab.replay.session import Script, Session, filled, in_turn

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair
    from attacklab.replay.ways import Ways

FRESH = 8
"""So many other draws show whether numbers are shown alike on all paths, and whether the output tells the path."""

MOST_DECIDING, STEPS = 16, (-6.0, -0.7, 0.7, 6.0)
"""So many draws that decide something are moved besides, one by one, by so many scales."""


class Branch(NamedTuple):
    """A path.

    Attributes:
        pair: the pair on it.
        numbers: what it shows.
        choices: what came out of those that lead there.
        rest: how probable what else came out is.
        is_steady: whether its numbers are shown alike on all paths.
    """

    pair: Pair
    numbers: list[Moved]
    choices: list[Choice]
    rest: list[tuple[Law, Law]]
    is_steady: bool = False

    @property
    def pairs(self) -> list[tuple[Law, Law]]:
        """The laws of all that is lost on it."""
        return [*(one.pair for one in self.numbers), *(one.pair for one in self.choices), *self.rest]


class _Sides(NamedTuple):
    """Runs of both inputs, the second with what noise let out on the first; and one of the second alone."""

    first: Session
    second: Session
    apart: Session

    @property
    def shown(self) -> Any:
        """The numbers that the outputs hold and that move: by where they are, their laws but for what is alike."""
        sides = held_numbers(self.first), held_numbers(self.second)
        both = sides[0].keys() & sides[1].keys()
        found = {path: (self.first.law(*sides[0][path]), self.second.law(*sides[1][path])) for path in both}
        return {path: _told(*pair) for path, pair in found.items() if pair[0] != pair[1]}


def branches_of(pair: Pair, choices: Choices, known: Sequence[Moved]) -> list[Branch] | str | None:
    """The paths on which numbers are shown; in words why they are not known.

    Args:
        pair: the examination of the pair.
        choices: what noise decides.
        known: the numbers that the first output shows.

    Returns:
        None where one choice at most is made, and the numbers are shown alike whatever comes out. Else the one path of
        the runs; or all of them, where few draws decide.
    """
    run, ways = pair.first, pair.ways
    if pair.is_sampled or choices.redrawn or not (_deciding(pair) or any(call.weights for call in run.calls)):
        return None
    if not known and len(choices.found) < 2:
        return None
    own, *others = [_sides(pair, *draws) for draws in _draws(pair)]
    is_steady = all(one.shown == own.shown for one in others)
    if is_steady and (len(choices.found) < 2 or not pair.is_pure):
        return None
    site = known[-1].node.site if known else choices.found[-1].site
    if ways is not None and ways.choice in choices.found and ways.changes and not is_steady:
        return _of_ways(pair, ways) or f"{site} shows a number that noise chooses, and the output does not tell which"
    same = [one for one in others if skeleton(one.first.output) == skeleton(run.output)]
    ends = [one.first for one in same]
    ends += [one.apart for one in others if skeleton(one.apart.output) == skeleton(run.output)]
    is_told = (
        all(one.shown == own.shown for one in same)
        and len({way_of(pair, one, _kept(pair)) for one in [run, *ends]}) == 1
    )
    is_free = pair.is_pure or _shown(pair).isdisjoint(_deciding(pair))  # else a shown number has its law on the path
    chance = choices.chance_of_the_rest() if is_told and is_free else None
    if chance is None or not all(one.came for one in choices.found):
        return None if is_steady else f"{site} shows a number as noise decides, and how probable that is is not known"
    came = [one.as_it_came for one in choices.found]
    rest = [] if pair.is_pure else [(laws.outcome_of(chance), laws.outcome_of(chance))]
    return [Branch(pair, [*known], came, rest, is_steady)]


def _of_ways(pair: Pair, ways: Ways) -> list[Branch]:
    """All paths of an output that few draws decide; none where one output comes of paths that show other numbers."""
    found, shown = dict[str, Branch](), dict[str, Any]()
    for changes in ways.changes:
        sides = _sides(pair, pair.seed, changes)
        outcome = ways.outcome_of(sides.first)
        if shown.setdefault(outcome, sides.shown) != sides.shown:
            return []
        if outcome not in ways.outcomes:
            return []
        if outcome not in found:
            one = pair.with_draws(changes)
            found[outcome] = Branch(one, one.released(), [_came(ways, outcome)], [])
    rest = [Branch(pair, [], [_came(ways, outcome)], []) for outcome in ways.outcomes if outcome not in found]
    return [*found.values(), *rest]


def _came(ways: Ways, outcome: str) -> Choice:
    return replace(ways.choice, came=ways.odds_of(outcome)).as_it_came


def _kept(pair: Pair) -> set[int]:
    """The draws of shown numbers, where a pure ε is claimed: whoever holds the numbers knows what they decide."""
    return _shown(pair) if pair.is_pure else set()


def _shown(pair: Pair) -> set[int]:
    return {draw for unit in pair.shown for draw in (unit, *pair.first.draws_of(unit))}


def _deciding(pair: Pair) -> list[int]:
    """The draws that decide something, and that nothing shows; not those that are looked at for being a number."""
    seen = [one for one in pair.first.seen if one.kind != "other" and one.operation not in ("equal", "not_equal")]
    return list(dict.fromkeys(draw for one in seen for draw in one.draws() if draw not in _kept(pair)))


def _draws(pair: Pair) -> Iterator[tuple[int, Mapping[Any, Any]]]:
    """Seeds and changes of draws: the pair's own; fresh ones; its own but for a draw that decides something."""
    run = pair.first
    yield pair.seed, pair.chosen
    calls = [run.owner(unit)[0] for unit in _kept(pair) if run.number_of(run.owner(unit)[0]) is not None]
    kept = {call.key: functools.partial(_instead, call.raw) for call in calls}
    yield from ((pair.seed + 400_000 + number, kept) for number in range(FRESH))
    for unit in _deciding(pair)[:MOST_DECIDING]:
        call, at = run.owner(unit)
        number = run.number_of(call)
        if number is not None:
            yield from ((pair.seed, in_turn(pair.chosen, {number: {at: stepped(call, at, step)}})) for step in STEPS)
    for number, call in enumerate(run.calls):
        for outcome in range(min(len(call.weights), MOST_DECIDING)) if call.size == 1 else ():
            yield pair.seed, in_turn(pair.chosen, {number: functools.partial(filled, outcome)})


def _sides(pair: Pair, seed: int, changes: Mapping[Any, Any]) -> _Sides:
    inputs = pair.pair.first, pair.pair.second
    first = pair.runs.run(inputs[0], Session(seed, None, changes))
    second = pair.runs.run(inputs[1], Session(seed + 1, Script(first), changes))
    return _Sides(first, second, pair.runs.run(inputs[1], Session(seed, None, changes)))


def _instead(new: Any, _raw: Any) -> Any:
    return new


def _told(first: Law, second: Law) -> tuple[Any, ...]:
    """What two laws lose, as far as it can be compared with what others do."""
    if not {first.family, second.family} <= {*SHIFT_LAWS}:
        return first.family, second.family
    numbers = near(first.scale), near(second.scale), near(first.centre - second.centre)
    return first.family, second.family, *(f"{number:.9g}" for number in numbers), first.weights, second.weights
