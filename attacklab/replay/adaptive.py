"""Numbers that follow earlier ones in other ways than by sums, as each iterate of a noisy descent does.

Where the numbers tell each draw, the draws of the second run are moved until its numbers are those of the first: what
they moved by is what the numbers lose, at this outcome. It may be more or less at others, so a few are looked at: what
is lost is at least what those draws lose that move by as much in all of them, and at most what the largest moves lose.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay.compare import held_numbers
from attacklab.replay.linear import FAR, ROUNDED, Floats, Group, law_of, moved_draw, sum_of
from attacklab.replay.outputs import leaves, number_of
from attacklab.replay.session import Script, Session, in_turn

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

OUTCOMES = 6
"""So many further outcomes of the noise are looked at."""

MOST_ITERATES = 64
"""More numbers than that are not looked at."""


def realigned(pair: Pair, group: Group) -> Group | None:
    """What numbers lose that share draws; None where they do not tell each draw, or no moves make them alike."""
    paths = [one.path for one in group.numbers]
    if len(paths) > MOST_ITERATES:
        return None
    own = _shifts(pair, pair.first, pair.chosen, paths, group)
    runs = (pair.runs.run(pair.pair.first, Session(pair.seed + 800 + number)) for number in range(OUTCOMES))
    others = [_shifts(pair, run, {}, paths, group) for run in runs]
    if own is None or any(one is None or [*one] != [*own] for one in others):
        return None
    sizes = np.abs([[*one.values()] for one in (own, *others) if one is not None])
    sites = {draw: one.nodes[0][0].site for one in group.numbers for draw in one.sums[0]}

    def moved(shifts: Floats) -> list[Any]:
        sides = zip(own, shifts.tolist(), strict=True)
        return [moved_draw(draw, sites[draw], law_of(pair.first, draw), by) for draw, by in sides if by]

    most, is_same = sizes.max(axis=0), np.isclose(sizes, sizes[0], rtol=1e-9, atol=0).all(axis=0)
    return replace(
        group,
        least=moved(np.where(is_same, sizes[0], 0.0)),
        most=[moved(most)],
        is_exact=bool(is_same.all()),
        is_adaptive=True,
    )


def _shifts(
    pair: Pair, first: Session, changes: Mapping[Any, Any], paths: Sequence[str], group: Group
) -> dict[int, float] | None:
    """By how much each draw has to move on the second input for numbers to be those of the first."""
    held = held_numbers(first)
    if not held.keys() >= {*paths}:
        return None
    sums = [sum_of(first, *held[path]) for path in paths]
    draws = sorted({draw for one in sums for draw in one})
    factors = np.array([[one.get(draw, 0.0) for draw in draws] for one in sums])
    if len(draws) > len(paths) or np.linalg.matrix_rank(factors) < len(draws):
        return None
    owners = [first.owner(draw) for draw in draws]
    wanted = _numbers(first, paths)
    error = FAR * (np.array([one.rounding for one in group.numbers]) + ROUNDED * 2.0**-52 * np.abs(wanted))
    shifts = np.zeros(len(draws))
    for _ in range(len(paths) + 2):
        moves: dict[int, dict[int, float]] = defaultdict(dict)
        for (call, at), by in zip(owners, shifts.tolist(), strict=True):
            number = first.number_of(call)
            if number is None or np.asarray(call.raw).dtype.kind != "f":
                return None
            moves[number][at] = by
        script = Script(first, {}, is_followed=True, has_values=False)
        second = pair.runs.run(pair.pair.second, Session(first.seed + 1, script, in_turn(changes, moves)))
        apart = wanted - _numbers(second, paths)
        if not np.isfinite(apart).all():
            return None
        if (np.abs(apart) <= error).all():
            return dict(zip(draws, shifts.tolist(), strict=True))
        shifts += np.linalg.lstsq(factors, apart, rcond=None)[0]
    return None


def _numbers(run: Session, paths: Sequence[str]) -> Floats:
    values = {leaf.path: number_of(leaf.value) for leaf in leaves(run.output)}
    return np.array([values.get(path, np.nan) for path in paths])
