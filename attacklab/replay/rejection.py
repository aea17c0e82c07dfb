"""A noisy number that is drawn again until it pleases: its law is that of the draw within what is accepted.

Each round draws once, and is like the one before; so the density of the number is that of the draw, over the
probability that a round is the last. Which numbers are accepted is seen by putting the draw between the places where
comparisons of it turn, and that the rounds are alike by making so many fail as hardly ever do.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attacklab.replay import laws
from attacklab.replay.compare import Holdings
from attacklab.replay.laws import CATEGORICAL, CONTINUOUS, UNIFORM, Law, near
from attacklab.replay.outputs import skeleton
from attacklab.replay.paths import interval
from attacklab.replay.session import Site, filled
from attacklab.replay.ways import turns_of

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

LEAST_LEFT, MOST_ROUNDS = 1e-12, 100
"""With what probability the rounds that are looked at may all fail, and how many those are at most."""

THIN = 2.0**-24
"""How wide the cells at the ends of what is accepted are, in scales: there the loss may be largest."""

WITHIN = 0.4142135623730951
"""Where between two turns a draw is put: a round number would not be known again in the output."""

DIGITS = 9
"""Ends of what is accepted are the same where so many digits of a scale do not tell them apart."""


class Redrawn(NamedTuple):
    """A number that is drawn again until it pleases: where that is seen, and the draws of all rounds of the first run.

    Its laws are those of the cell that it lies in, on both inputs; there are none where the rounds are not alike.
    """

    site: Site
    laws: tuple[Law, Law] | None = None
    draws: frozenset[int] = frozenset()


class _Rounds(NamedTuple):
    """The rounds on one input: the law of the number, between which ends it is accepted, and the calls that draw."""

    law: Law
    accepted: list[tuple[float, float]]
    calls: range


def redrawn(pair: Pair, unit: int) -> Redrawn | None:
    """The rounds of a number that the first output holds; None where it is drawn once."""
    site = next((seen.site for seen in pair.first.seen if seen.kind == "compare" and unit in seen.draws()), None)
    if site is None:
        return None
    held = Holdings(pair.first)
    found = [(leaf.path, held.holding(leaf)) for leaf in held.leaves]
    path = next((path for path, at in found if at and at[0].affine.ids.flat[at[1]] == unit), "")
    sides = [_rounds(pair, path, second) for second in (False, True)]
    first, second = sides
    if not isinstance(first, _Rounds) or not isinstance(second, _Rounds):
        return Redrawn(site) if any(sides) else None
    scale = near(first.law.scale)
    ends = [end for side in (first, second) for pair_ in side.accepted for end in pair_ if math.isfinite(end)]
    inner = {end + by for end in ends for by in (-THIN * scale, 0.0, THIN * scale)}
    inner |= {near(first.law.centre) + edge for edge in laws.edges_of(first.law, second.law).tolist()}
    edges = np.array([-math.inf, *sorted(inner), math.inf])
    inside = np.clip(edges[:-1], edges[1] - scale, None) / 2 + np.clip(edges[1:], None, edges[-2] + scale) / 2
    rows = []
    for side in (first, second):
        is_in = np.any([(low < inside) & (inside < high) for low, high in side.accepted], axis=0)
        masses = interval(side.law, edges[:-1], edges[1:]) * is_in
        rows.append(Law(CATEGORICAL, weights=tuple((masses / masses.sum()).tolist())))
    draws = frozenset(int(pair.first.calls[number].ids.flat[0]) for number in first.calls)
    return Redrawn(site, (rows[0], rows[1]), draws)


def _rounds(pair: Pair, path: str, second: bool) -> _Rounds | bool:
    """What one input shows, by other draws in the rounds; else whether it has rounds that the output does not tell."""

    def run(changes: Mapping[int, float]) -> tuple[int, list[Any], list[Any], float]:
        """The call that drew what the output holds, what is the same in all rounds, what is told of them, and the draw.

        Of a number of another kind, the call is −1.
        """
        made = pair.again({at: functools.partial(filled, to) for at, to in changes.items()}, second=second, kept=False)
        held = Holdings(made)
        told = skeleton(made.output)
        node, at = next((held.holding(leaf) for leaf in held.leaves if leaf.path == path), None) or (None, 0)
        if node is None:
            return -1, [], told, 0.0
        unit = int(node.affine.ids.flat[at])
        call, _ = made.owner(unit)
        is_one = call.size == 1 and call.family in CONTINUOUS and call.family != UNIFORM
        number = made.number_of(call) if is_one else None
        turns = [turn for seen in made.seen for one, turn, _ in turns_of(made, seen) if one == unit]
        parts = [(leaf.path, None if held.holding(leaf) else leaf.value) for leaf in held.leaves]
        alike = [made.law(node, at), near(node.affine.exact(at)[1]), turns, parts]
        return -1 if number is None else number, alike, told, float(np.ravel(call.raw)[0])

    begin, alike, told, raw = run({})
    last = begin
    law, by, turns = alike[:3] if begin >= 0 else (Law(""), 0.0, [])
    centre, scale = near(law.centre), near(law.scale)
    if not turns or not scale or not by or any(map(math.isnan, turns)):
        return False
    inner = sorted({*turns})
    reach = 2 * scale / abs(by)
    ends = [inner[0] - reach, *inner, inner[-1] + reach]
    middles = [low + (high - low) * WITHIN for low, high in itertools.pairwise(ends)]
    while begin and any(run({begin - 1: to})[:2] == (begin - 1, alike) for to in middles):
        begin -= 1
    came = [run({begin: to, begin + 1: raw}) for to in middles]
    numbers = [one[0] for one in came]
    if {*numbers} != {begin, begin + 1} or any(one[1] != alike for one in came):
        return any(one[0] > begin and one[2] == told for one in came)
    ends = [round((centre + by * edge) / scale, DIGITS) * scale for edge in (-math.inf, *inner, math.inf)]
    cells = [(min(both), max(both)) for both in itertools.pairwise(ends)]
    accepted = [cell for cell, number in zip(cells, numbers, strict=True) if number == begin]
    mass = math.fsum(float(interval(law, *cell)) for cell in accepted)
    rounds = math.ceil(math.log(LEAST_LEFT) / math.log1p(-mass)) if 0 < mass < 1 else MOST_ROUNDS + 1
    failing = dict.fromkeys(range(begin, begin + rounds), middles[numbers.index(begin + 1)])
    if rounds > MOST_ROUNDS or run({**failing, begin + rounds: raw})[:2] != (begin + rounds, alike):
        return True
    return _Rounds(law, accepted, range(begin, last + 1))
