"""An output that finitely many outcomes decide: its law on both inputs, by running each way through the code once.

A choice of one among some, a die, and a uniform number that is compared with thresholds are branchings. Where there are
many, those that move no part in which the two outputs differ stay as they came.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay import paths
from attacklab.replay.choices import Choice
from attacklab.replay.compare import differences_between
from attacklab.replay.laws import CATEGORICAL, TABLE, UNIFORM, Law, near
from attacklab.replay.outputs import leaves
from attacklab.replay.session import Script, Session, filled
from attacklab.replay.traced import SIGN

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

MOST_RUNS, MOST_BRANCHINGS = 700, 4096
LEAST_CHANCE = 2.0**-50
"""A way that is so rare belongs to a loop that has no end: no finite number of outcomes decides it."""

FEW_BRANCHINGS = 8
"""With more of them in one run, those that move nothing that differs are left out."""

Place = tuple[int, int, Any]
"""A draw: the number of its call, its place in that, and how probable its outcomes are, or its scale if it is uniform.
"""

Chosen = Mapping[Place, tuple[float, float]]
"""The share of its law in which each draw lies."""


class _Tree:
    """The ways through the code on one input."""

    def __init__(self, pair: Pair, *, second: bool) -> None:
        self.pair, self.second, self.runs = pair, second, 0
        self.settled: set[Place] = set()

    def run(self, chosen: Chosen, depth: float = 0.5) -> Session:
        """The run that goes this way, with uniform numbers so deep in their intervals."""
        self.runs += 1
        changes: dict[int, Any] = defaultdict(dict)
        for (number, at, odds), (low, high) in chosen.items():
            share = low + depth * (high - low)
            if isinstance(odds, tuple):
                outcome = int(np.searchsorted(np.cumsum(odds)[:-1], share, "right"))
                changes[number] = functools.partial(filled, outcome)
            else:
                changes[number][at] = share * odds
        pair, script = self.pair, Script(self.pair.first, is_followed=False) if self.second else None
        input_ = pair.pair.second if self.second else pair.pair.first
        return pair.runs.run(input_, Session(pair.seed + self.second, script, {**pair.chosen, **changes}))

    def branchings(self, run: Session) -> dict[Place, list[float]] | None:
        """Where the law of each draw is cut, as shares of it; None where a draw has another use."""
        bounds = paths.bounds_of(run, {}, (TABLE, SIGN))
        if bounds is None:
            return None
        cuts: dict[Place, list[float]] = defaultdict(list)
        numbers = {id(call): number for number, call in enumerate(run.calls)}
        for bound in bounds:
            (_unit, law), (call, at) = bound.left, run.owner(bound.left[0])
            if isinstance(bound.right, tuple) or call.family != UNIFORM or not bound.factors[0]:
                return None
            scale = call.scale_at(at)
            share = near((bound.right - law.centre) / bound.factors[0] / scale)
            cuts[numbers[id(call)], at, near(scale)].append(share)
        for number, call in enumerate(run.calls):
            if call.weights and call.size == 1:
                cuts[number, 0, call.weights] = np.cumsum(call.weights)[:-1].tolist()
            elif call.family != UNIFORM or any(
                (number, at, near(call.scale_at(at))) not in cuts for at in range(call.size)
            ):
                return None
        return cuts

    def law(self, told: frozenset[str] | None) -> dict[Any, float] | None:
        """How probable each output is in some of its parts; None where that is not known."""
        odds: dict[Any, float] = defaultdict(float)
        ways: list[tuple[Chosen, float]] = [({}, 1.0)]
        while ways:
            chosen, chance = ways.pop()
            self.pair.runs.is_endless |= chance < LEAST_CHANCE
            if self.runs > MOST_RUNS or self.pair.runs.is_endless:
                return None
            run = self.run(chosen)
            cuts = self.branchings(run)
            if cuts is None:
                return None
            place = next((one for one in cuts if one not in self.settled and _inside(chosen, one, cuts[one])), None)
            if place is None:
                parts = _parts(run, told)
                if parts != _parts(self.run(chosen, 0.3), told):
                    return None  # numbers are used in another way than to be compared
                odds[repr(parts)] += chance
                continue
            low, high = chosen.get(place, (0.0, 1.0))
            ends = [low, *_inside(chosen, place, cuts[place]), high]
            for start, end in itertools.pairwise(ends):
                ways.append(({**chosen, place: (start, end)}, chance * (end - start) / (high - low)))
        return odds

    def settle(self, told: frozenset[str]) -> bool:
        """Let draws stay as they came that move none of these parts; whether all draws can be moved."""
        first = self.run({})
        cuts = self.branchings(first) or {}
        base, groups = _parts(first, told), [list(cuts)]
        while groups and self.runs < MOST_RUNS:
            group = groups.pop()
            spans = [list(itertools.pairwise([0.0, *_inside({}, place, cuts[place]), 1.0])) for place in group]
            picks = [[0] * len(group), [-1] * len(group), [self.pair.seed + 7 * number for number in range(len(group))]]
            ways = [
                {place: at[pick % len(at)] for place, at, pick in zip(group, spans, row, strict=True)} for row in picks
            ]
            if all(_parts(self.run(way), told) == base for way in ways):
                self.settled.update(group)
            elif len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
        return bool(cuts)


def choice_of(pair: Pair) -> Choice | None:
    """The output as a choice with its laws on both inputs; None where no finite number of outcomes decides it."""
    trees = [_Tree(pair, second=second) for second in (False, True)]
    told = None
    cuts = trees[0].branchings(pair.first)
    if not cuts or len(cuts) > MOST_BRANCHINGS or pair.runs.is_endless:
        return None
    if len(cuts) > FEW_BRANCHINGS:
        told = frozenset(differences_between(pair))
        if not told or not all(tree.settle(told) for tree in trees):
            return None
    first = trees[0].law(told)
    second = None if first is None else trees[1].law(told)
    if first is None or second is None:
        return None
    outcomes = sorted({*first, *second})
    pairs = [Law(CATEGORICAL, weights=tuple(side.get(one, 0.0) for one in outcomes)) for side in (first, second)]
    site = pair.first.seen[0].site if pair.first.seen else pair.first.calls[0].site
    return Choice(site, (pairs[0], pairs[1]), f"randomized response at {site}")


def _parts(run: Session, told: frozenset[str] | None) -> list[Any]:
    return [(leaf.path, leaf.value) for leaf in leaves(run.output) if told is None or leaf.path in told]


def _inside(chosen: Chosen, place: Place, cuts: list[float]) -> list[float]:
    low, high = chosen.get(place, (0.0, 1.0))
    return sorted({cut for cut in cuts if low < cut < high})


def _picked(group: Sequence[Place], spans: Sequence[list[tuple[float, float]]], picks: Sequence[int]) -> Chosen:
    return {place: at[pick % len(at)] for place, at, pick in zip(group, spans, picks, strict=True)}
