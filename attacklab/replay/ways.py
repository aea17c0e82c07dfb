"""What an output tells, with its law on both inputs, by running each way through the code once.

The line of each draw is cut where its comparisons with numbers turn, and a choice or a die at each of its outcomes. In
a cell the code goes one way, and the ways are as probable as their cells. Runs with the draws elsewhere in their cells
show what moves inside them: that is a noisy number itself, rounded or in words, and is left out.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay.choices import Choice, law_of
from attacklab.replay.compare import differences_between
from attacklab.replay.laws import CATEGORICAL, CONTINUOUS, DISCRETE, EXPONENTIAL, SAMPLING, TABLE, UNIFORM, Law, near
from attacklab.replay.outputs import leaves
from attacklab.replay.paths import (
    Bound,
    argmax_law,
    bounds_of,
    grouped,
    interval,
    is_scan,
    numbers_of,
    sides_of,
    units_of,
)
from attacklab.replay.session import BEYOND, Affine, Call, Node, Seen, Session, Site, in_turn
from attacklab.replay.traced import SIGN

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

MOST_WAYS, MOST_DRAWS = 128, 4096
"""With more ways than that, draws that move nothing that differs are left out."""

MANY_DRAWS, LEAST_CHANCE = 8, 2.0**-50
"""A way of so many draws that is so rare belongs to a loop without end: no finite number of outcomes decides it."""

MIDDLE, DEPTHS = (0.5,), ((0.1, 0.83, 0.37), (0.83, 0.62, 0.1))
"""How deep in their cells draws are put, one after another; and how deep besides, to see what moves inside."""

FAR = 120.0
"""By so many scales more than all values are apart, one of them is made the largest."""

STEPS = (0.7, -1.3, 2.9, -0.4, 1.9)
"""By so many scales draws that nothing is compared with are moved, one after another."""

MOST_PLACED, NARROWEST = 16, Fraction(1, 1 << 40)
"""Of more uniform numbers it is not looked at where they lie; and of all that their intervals cover, the least part."""

MOST_ORDERED = 4
"""The orders of so many items are gone through."""

Place = tuple[int, int]
"""A draw: the number of its call, and its place in that."""

Parts = tuple[tuple[str, Any], ...]

SLIVER = 2.0**-40
"""A smaller part of the line of a uniform number is what rounding makes of an end."""

NEARLY = 1e-9
"""Where a comparison turns so near to an integer, rounding may have put it there."""


@dataclass(frozen=True)
class Cell:
    """A part of the line of a draw.

    Attributes:
        law: of the draw, around 0; of a choice, the law of a table.
        low: where it begins.
        high: where it ends.
        made: what came out, of noise that several draws make: to that, something can only be added.
        depth: how deep in it the draw is put, if that is not as deep as all are.
        winners: of a choice by noise, for each outcome the draw with which it comes: the number of its call, its place
            in that, and what is added to it.
        order: of how many items it is an order, whose draws are the places of these.
    """

    law: Law
    low: float
    high: float
    made: float = 0.0
    depth: float | None = None
    winners: tuple[tuple[int, int, float], ...] = ()
    order: int = 0

    @property
    def chance(self) -> float:
        """How probable it is."""
        return _chance(self.law, self.low, self.high)

    def at(self, depth: float) -> float:
        """A number inside, with so much of the cell's probability below it."""
        return _inside(self.law, self.low, self.high, depth)

    def cut(self, turns: Collection[float]) -> list[Cell]:
        """The cells between some numbers."""
        inside = sorted({turn for turn in turns if self.low < turn < self.high})
        cells = [replace(self, low=low, high=high) for low, high in itertools.pairwise([self.low, *inside, self.high])]
        least = SLIVER if self.law.family == UNIFORM else 0.0
        return [cell for cell in cells if cell.chance > least] or [self]


@functools.cache
def _orders(count: int) -> list[tuple[int, ...]]:
    return list(itertools.permutations(range(count)))


@functools.lru_cache(maxsize=4096)
def _chance(law: Law, low: float, high: float) -> float:
    if law.family == TABLE:
        return math.fsum(law.weights[math.ceil(low) : math.ceil(high)])
    return float(interval(law, low, high))


@functools.lru_cache(maxsize=4096)
def _inside(law: Law, low: float, high: float, depth: float) -> float:
    if law.family == TABLE:
        return math.floor(low + 0.5 + depth * (high - low))
    shape, scale = CONTINUOUS.get(law.family) or DISCRETE[law.family], near(law.scale)
    is_above = low > shape.median() * scale  # the smaller tail loses no digits
    ends = shape.sf([low / scale, high / scale]) if is_above else shape.cdf([low / scale, high / scale])
    share = ends[0] + depth * (ends[1] - ends[0])
    number = float(shape.isf(share) if is_above else shape.ppf(share)) * scale
    if law.family in DISCRETE:
        number = round(number)
        low, high = (end if math.isinf(end) else math.floor(end + up) for end, up in ((low, 1), (high, 0)))
    return min(max(number, low), high)


Way = Mapping[Place, Cell]


@dataclass(frozen=True)
class Ways:
    """What an output tells.

    Attributes:
        choice: it, with its laws on both inputs, and the draws that decide it.
        placed: uniform numbers in intervals that those choose; in which part of these they lie is told as well.
        moving: the parts of the output that move inside a cell, with the types of their values.
        told: the parts that are looked at; None for all.
        is_certain: whether nothing but these draws can change what is told.
        is_complete: whether it is the whole output.
        is_alike: whether the same draws decide on both inputs.
        outcomes: what is told, in the order of the laws.
        changes: what leads the first input each way; none where not all that is told is an outcome.
    """

    choice: Choice
    placed: frozenset[int]
    moving: frozenset[tuple[str, type]]
    told: frozenset[str] | None
    is_certain: bool
    is_complete: bool
    is_alike: bool
    outcomes: list[str]
    changes: list[Mapping[Any, Any]]

    def outcome_of(self, run: Session) -> str:
        """What the output of a run tells."""
        return repr([_coarse(_parts(run, self.told), self.moving)])

    def odds_of(self, outcome: str) -> tuple[float, float]:
        """How probable an outcome is on both inputs."""
        place = self.outcomes.index(outcome)
        return self.choice.pair[0].weights[place], self.choice.pair[1].weights[place]

    def decide(self, parts: Collection[str]) -> bool:
        """Whether some parts of the output are told, all of them."""
        is_moving = not {path for path, _ in self.moving}.isdisjoint(parts)
        return self.is_certain and not is_moving and (self.told is None or self.told.issuperset(parts))


class _Tree:
    """The ways through the code on one input."""

    def __init__(self, pair: Pair, input_: Any) -> None:
        self.pair, self.input = pair, input_
        self.settled: set[Place] = set()
        self.ends: list[tuple[Way, Session, list[Parts]]] = []
        self.thresholds: dict[Place, set[Any]] = defaultdict(set)
        self.lost: set[tuple[int | None, int]] = set()
        self.is_cut = True
        self.most_drawn = 0

    def run(self, way: Way, depths: Sequence[float] = MIDDLE, others: Collection[tuple[int, Call]] = ()) -> Session:
        """The run that goes this way, with draws so deep in their cells, and other ones moved."""
        return self.pair.runs.run(self.input, Session(self.pair.seed, None, self.changes(way, depths, others)))

    def changes(
        self, way: Way, depths: Sequence[float] = MIDDLE, others: Collection[tuple[int, Call]] = ()
    ) -> dict[int, Any]:
        """What leads this way."""
        changes: dict[int, Any] = {number: functools.partial(_moved, call) for number, call in others}
        put: dict[int, dict[int, float]] = defaultdict(dict)
        added: dict[int, dict[int, float]] = defaultdict(dict)
        for (number, at), cell, depth in zip(way, way.values(), itertools.cycle(depths)):
            inside = cell.at(depth if cell.depth is None else cell.depth)
            if cell.winners:
                winner, place, by = cell.winners[int(inside)]
                added[winner][place] = by
            elif cell.order:
                put[number].update(enumerate(_orders(cell.order)[int(inside)]))
            else:
                put[number][at] = inside - cell.made
        changes = in_turn(changes, {number: functools.partial(_put, values) for number, values in put.items()})
        return in_turn(changes, added)

    def cells(self, run: Session) -> dict[Place, list[Cell]] | None:
        """The draws of a run that decide something, each with its cells; None where they are not known."""
        turns: dict[int, set[float]] = defaultdict(set)
        thresholds: dict[int, set[Any]] = defaultdict(set)
        scans = self._scans(run)
        scanned = {unit for group in scans for bound in group for unit in units_of(bound)}
        for seen in run.seen:
            if seen.kind == "other":
                owners = [run.owner(unit) for unit in seen.draws()]
                self.lost |= {(run.number_of(call), at) for call, at in owners}
            for unit, number, threshold in () if scanned.issuperset(seen.draws()) else turns_of(run, seen):
                if math.isnan(number):
                    return None
                turns[unit].add(number)
                thresholds[unit].add((seen.site[:2], threshold))
        found: dict[Place, list[Cell]] = {}
        chosen = [*scanned, *(unit for seen in run.seen if seen.kind == "argmax" for unit in seen.draws())]
        if len({*chosen}) != len(chosen) or not turns.keys().isdisjoint(chosen):
            return None
        cells = [_choice_by_noise(run, seen) for seen in run.seen if seen.kind == "argmax"]
        for cell in (*cells, *(_choice_by_scan(run, group) for group in scans)):
            if cell is None:
                return None
            found[cell.winners[0][:2]] = cell.cut([place + 0.5 for place in range(len(cell.winners))])
        for number, call in run.movable():
            if not run.merged.isdisjoint(call.ids.flat):
                continue
            if call.weights and call.size == 1:
                count = len(call.weights)
                whole = Cell(Law(TABLE, weights=call.weights), -0.5, count - 0.5)
                found[number, 0] = whole.cut([place + 0.5 for place in range(count)])
                continue
            if (
                call.family == SAMPLING
                and 1 < call.size <= MOST_ORDERED
                and {*range(call.size)} == {*np.ravel(call.raw)}
            ):
                count = math.factorial(call.size)
                whole = Cell(Law(TABLE, weights=(1 / count,) * count), -0.5, count - 0.5, order=call.size)
                found[number, 0] = whole.cut([place + 0.5 for place in range(count)])
                continue
            if call.family not in (*CONTINUOUS, *DISCRETE) or call.family == TABLE:
                return None
            for at, unit in enumerate(call.ids.reshape(-1).tolist()):
                law = Law(call.family, scale=call.scale_at(at))
                if unit in chosen:
                    continue
                if unit in turns and law.scale > 0:
                    ends = (0.0, near(law.scale)) if law.family == UNIFORM else (-math.inf, math.inf)
                    made = float(np.ravel(call.raw)[at]) if number < 0 else 0.0
                    found[number, at] = Cell(law, *ends, made).cut(_edges(turns[unit], law))
                    self.thresholds[number, at] |= thresholds[unit]
                else:
                    self.is_cut = False
        self.most_drawn = max(self.most_drawn, sum(call.size for call in run.calls))
        return found

    def _scans(self, run: Session) -> list[list[Bound]]:
        """Comparisons of noisy values with each other, as `max` and `min` make them."""
        among = [bound for bound in bounds_of(run, {}) or [] if isinstance(bound.right, tuple)]
        return [group for group in grouped(among) if is_scan(group) and self.pair.always_scans(group)]

    def grow(self, told: frozenset[str] | None) -> bool:
        """Go all ways; gives whether that was possible."""
        ways: list[Way] = [{}]
        while ways:
            way = ways.pop()
            chance = math.prod(cell.chance for cell in way.values())
            self.pair.runs.is_endless |= len(way) > MANY_DRAWS and chance < LEAST_CHANCE
            if len(self.ends) + len(ways) >= MOST_WAYS or self.pair.runs.is_endless:
                return False
            runs = [self.run(way)]
            others = [(number, call) for number, call in runs[0].movable() if not call.weights]
            for depths in (*DEPTHS, ()):
                cells = self.cells(runs[-1])
                if cells is None:
                    return False
                place = next((place for place in cells if self._is_open(way, place, cells[place])), None)
                if place is not None:
                    inside = way[place].cut([cell.high for cell in cells[place]]) if place in way else cells[place]
                    ways += [{**way, place: cell} for cell in inside]
                    break
                if depths:
                    runs.append(self.run(way, depths, others))
            else:
                self.ends.append((way, runs[0], [_parts(run, told) for run in runs]))
        return True

    def _is_open(self, way: Way, place: Place, cells: Sequence[Cell]) -> bool:
        """Whether a way does not say in which cell a draw lies."""
        if place in self.settled:
            return False
        return len(way[place].cut([cell.high for cell in cells]) if place in way else cells) > 1

    def settle(self, told: frozenset[str]) -> None:
        """Let draws stay as they came that move none of these parts."""
        first = self.run({})
        cells = self.cells(first) or {}
        base, groups = _parts(first, told), [[place for place in cells if len(cells[place]) > 1]]
        for _ in range(MOST_WAYS):
            if not groups:
                break
            group = groups.pop()
            picks = [0] * len(group), [-1] * len(group), [self.pair.seed + 7 * number for number in range(len(group))]
            ways = [
                {place: cells[place][pick % len(cells[place])] for place, pick in zip(group, row, strict=True)}
                for row in picks
            ]
            if all(_parts(self.run(way), told) == base for way in ways):
                self.settled.update(group)
            elif len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]

    def intervals(self, place: Place) -> list[tuple[Fraction, Fraction]] | None:
        """Where a uniform number lies on each way; None where it is not drawn on all."""
        found = []
        for _, run, _ in self.ends:
            call = dict(run.movable()).get(place[0])
            is_drawn = call is not None and place[1] < call.size
            law = law_of(run, int(call.ids.flat[place[1]])) if is_drawn else None  # type: ignore[union-attr] # it is
            if law is None or law.family != UNIFORM or not law.scale:
                return None
            found.append((law.centre, law.centre + law.scale))
        return found

    def moves(self, places: Collection[Place], told: frozenset[str] | None) -> bool:
        """Whether parts of the output move when some draws alone do, inside their cells."""
        for way, _, parts in self.ends:
            moved = {place: replace(cell, depth=DEPTHS[0][0]) for place, cell in way.items() if place in places}
            if _parts(self.run({**way, **moved}), told) != parts[0]:
                return True
        return False


def ways_of(pair: Pair) -> Ways | None:
    """What the output of a pair tells; None where that is not decided by few draws, or not by them alone."""
    if pair.runs.is_endless or pair.runs.unread or pair.is_sampled:
        return None
    trees = [_Tree(pair, input_) for input_ in (pair.pair.first, pair.pair.second)]
    runs = [tree.run({}) for tree in trees]
    known = [tree.cells(run) for tree, run in zip(trees, runs, strict=True)]
    decisive = [{place: len(of) for place, of in (cells or {}).items() if len(of) > 1} for cells in known]
    calls = dict(runs[0].movable())
    draws = frozenset(int(calls[number].ids.flat[at]) for number, at in decisive[0])
    if not any(known) or max(map(len, decisive)) > MOST_DRAWS or not draws.isdisjoint(pair.shown):
        return None
    told = None
    if max(math.prod(one.values()) for one in decisive) > MOST_WAYS:
        told = frozenset(differences_between(pair))
        for tree in trees if told else ():
            tree.settle(told)
    if told == frozenset() or not all(tree.grow(told) for tree in trees):
        return None
    moving = {
        (path, type(value))
        for tree in trees
        for *_, (middle, *aside) in tree.ends
        for parts in aside
        for path, value in {*middle} ^ {*parts}
    }
    both = [tree.thresholds for tree in trees]
    compared = {place for place in both[0].keys() & both[1].keys() if both[0][place] != both[1][place]}
    if moving and compared and any(tree.moves(compared, told) for tree in trees):
        site, _ = _decision(pair)
        pair.outcome.unjudged.append(f"{site} compares a noisy number with the data, and the output shows it as well")
        return None
    uniform = [(number, at) for number, call in calls.items() if call.family == UNIFORM for at in range(call.size)]
    placed = {}
    for place in uniform if len(uniform) <= MOST_PLACED else ():
        ends = [tree.intervals(place) for tree in trees]
        if ends[0] and ends[1] and max(len({*ends[0]}), len({*ends[1]})) > 1:
            placed[place] = (ends[0], ends[1])
    cells = [_parts_of([*first, *second]) for first, second in placed.values()]
    odds = [_odds(tree, moving, [both[side] for both in placed.values()], cells) for side, tree in enumerate(trees)]
    if moving and odds[0].keys().isdisjoint(odds[1]):
        return None  # which no comparison explains
    outcomes = sorted({*odds[0], *odds[1]})
    laws = [Law(CATEGORICAL, weights=tuple(side.get(one, 0.0) for one in outcomes)) for side in odds]
    lost = (trees[0].lost | trees[1].lost) - placed.keys()
    site, what = _decision(pair)
    drawn = frozenset(int(calls[number].ids.flat[at]) for number, at in placed)
    site = ([node.site for unit, node, _ in pair.first.elements() if unit in drawn] or [site])[-1]
    is_exact = not any(cell.winners for tree in trees for way, *_ in tree.ends for cell in way.values())
    return Ways(
        Choice(site, (laws[0], laws[1]), f"{what} at {site}", decisive=draws, is_exact=is_exact),
        drawn,
        frozenset(moving),
        told,
        is_certain=not lost or max(tree.most_drawn for tree in trees) == 1,
        is_complete=not lost and told is None and not moving and all(tree.is_cut for tree in trees),
        is_alike=decisive[0].keys() == decisive[1].keys(),
        outcomes=outcomes,
        changes=[] if placed or told is not None else [trees[0].changes(way) for way, *_ in trees[0].ends],
    )


def turns_of(run: Session, seen: Seen) -> Iterator[tuple[int, float, Fraction]]:
    """For each number that draws are compared with: the draw, where that turns, and the number; NaN where none is."""
    if seen.kind not in ("compare", "search"):
        return
    one, other = seen.operands
    if seen.kind == "search":
        one = one.at((..., None))
    shape = np.broadcast_shapes(*(x.ids.shape if isinstance(x, Affine) else np.shape(x) for x in (one, other)))
    rows = [numbers_of(run, seen, operand, shape, {}) for operand in (one, other)]
    is_size = any(isinstance(operand, Affine) and operand.is_size for operand in (one, other))
    for left, right in zip(*rows, strict=True):
        if not isinstance(left, tuple):
            left, right = right, left
        if left[1].family in (TABLE, SIGN) and (not isinstance(right, tuple) or right[1].family in (TABLE, SIGN)):
            continue  # all their outcomes are gone through
        unit, law, factor = left
        if isinstance(right, tuple):
            if right != left:
                yield unit, math.nan, Fraction(0)
            continue
        for sign in (1, -1) if is_size else (1,):
            yield unit, near((sign * right - law.centre) / factor) if factor else math.nan, right


def _choice_by_noise(run: Session, seen: Seen) -> Cell | None:
    """The place of the largest, or the least, of noisy values, as a draw; None where it has no law."""
    (tag,) = seen.operands
    places = range(tag.ids.size)
    laws = [run.law(Node(seen.site, tag, None), place) for place in places]
    factors = [near(tag.exact(place)[1]) for place in places]
    is_one = np.size(seen.outcome) == 1
    return _choice_of(run, tag.ids.reshape(-1).tolist(), laws, factors, seen.operation == "argmin") if is_one else None


def _choice_by_scan(run: Session, group: Sequence[Bound]) -> Cell | None:
    """The same of noisy values that `max` or `min` goes through, in the order in which they were drawn."""
    sides = [side for bound in group for side in zip(sides_of(bound), bound.factors, strict=True)]
    values = sorted({unit: (law, near(factor)) for (unit, law), factor in sides}.items())
    return _choice_of(
        run,
        [unit for unit, _ in values],
        [law for _, (law, _) in values],
        [factor for _, (_, factor) in values],
        not is_scan(group, smallest=False),
    )


def _choice_of(
    run: Session, units: Sequence[int], laws: Sequence[Law], factors: Sequence[float], smallest: bool
) -> Cell | None:
    law, places = argmax_law(laws, smallest), range(len(units))
    calls = [run.owner(unit) for unit in units]
    numbers: list[Any] = [run.number_of(call) for call, _ in calls]
    values = [near(one.centre) for one in laws if abs(one.centre) < BEYOND]
    if law is None or None in numbers or not all(factors) or not values or any(one.family == UNIFORM for one in laws):
        return None
    far = max(values) - min(values) + FAR * max(near(one.scale) for one in laws)
    signs = [(-1 if smallest else 1) / factor for factor in factors]
    winners = tuple((number, at, sign * far) for number, (_, at), sign in zip(numbers, calls, signs, strict=True))
    return Cell(Law(TABLE, weights=law.weights), -0.5, len(places) - 0.5, winners=winners)


def _edges(turns: Collection[float], law: Law) -> list[float]:
    """Where the line of a draw is cut; an integer at which a comparison turns is a cell of its own."""
    if law.family not in DISCRETE:
        return [*turns]
    whole = [round(turn) if abs(turn - round(turn)) < NEARLY else math.floor(turn) + 0.5 for turn in turns]
    return [edge for turn in whole for edge in ((turn - 0.5, turn + 0.5) if isinstance(turn, int) else (turn,))]


def _put(values: Mapping[int, float], raw: Any) -> Any:
    """A draw with some numbers in it instead of its own."""
    changed = np.array(raw)
    for at, value in values.items():
        changed.reshape(-1)[at] = value
    return changed if isinstance(raw, np.ndarray) else changed.item()


def _moved(call: Call, raw: Any) -> Any:
    """A draw whose numbers are all others."""
    scales = np.broadcast_to(np.asarray(call.scale, dtype=float), np.shape(raw))
    by = np.resize(STEPS, np.shape(raw)) * scales
    if call.family == UNIFORM:
        moved = (raw + by) % scales
    elif call.family == EXPONENTIAL:
        moved = abs(raw + by)
    else:
        moved = raw + (np.ceil(by).astype(int) if np.asarray(raw).dtype.kind in "iu" else by)
    return np.asarray(moved) if isinstance(raw, np.ndarray) else np.asarray(moved).item()


def _parts(run: Session, told: frozenset[str] | None) -> Parts:
    """The parts of an output that are looked at."""
    return tuple((leaf.path, leaf.value) for leaf in leaves(run.output) if told is None or leaf.path in told)


Interval = tuple[Fraction, Fraction]


def _parts_of(intervals: Sequence[Interval]) -> list[Interval]:
    """The parts into which intervals cut each other; none where one is no more than what rounding makes of an end."""
    ends = sorted({end for interval in intervals for end in interval})
    return [both for both in itertools.pairwise(ends) if both[1] - both[0] > (ends[-1] - ends[0]) * NARROWEST]


def _coarse(parts: Parts, moving: Collection[tuple[str, type]]) -> list[tuple[str, Any]]:
    """The parts of an output but for what moves in them."""
    return [(path, "moves" if (path, type(value)) in moving else value) for path, value in parts]


def _odds(
    tree: _Tree,
    moving: Collection[tuple[str, type]],
    placed: Sequence[Sequence[Interval]],
    cells: Sequence[Sequence[Interval]],
) -> dict[str, float]:
    """How probable each output is, but for what moves in it, with the parts of their intervals that numbers lie in."""
    odds: dict[str, float] = defaultdict(float)
    for number, (way, _, (parts, *_)) in enumerate(tree.ends):
        coarse = _coarse(parts, moving)
        chance = math.prod(cell.chance for cell in way.values())
        shares = [
            [
                (str(cell), near((cell[1] - cell[0]) / (intervals[number][1] - intervals[number][0])))
                for cell in of
                if intervals[number][0] <= cell[0] and cell[1] <= intervals[number][1]
            ]
            for intervals, of in zip(placed, cells, strict=True)
        ]
        for lies in itertools.product(*shares):
            odds[repr([coarse, *(cell for cell, _ in lies)])] += chance * math.prod(share for _, share in lies)
    return odds


def _decision(pair: Pair) -> tuple[Site, str]:
    """Where the draws first decide something in another way on the second input; else where they first decide."""
    names = {"compare": "comparison", "search": "comparison", "categorical": "choice"}
    for one, other in zip(pair.first.seen, pair.second.seen, strict=False):
        sides = [
            (repr(seen.operands[0]) if seen.kind == "categorical" else [*turns_of(run, seen)])
            for run, seen in ((pair.first, one), (pair.second, other))
        ]
        if sides[0] != sides[1]:
            return one.site, names.get(one.kind, "comparison")
    known = [(seen.site, names[seen.kind]) for seen in pair.first.seen if seen.kind in names]
    return (known or [(pair.first.calls[0].site, "choice")])[0]
