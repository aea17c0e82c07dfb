"""What an output shows of noise itself, besides the noisy numbers that its laws are judged by.

The noise of the second run is moved by as much as the values move, so that every noisy number is the same in both. Then
the outputs are the same as well, unless something follows the noise, or the data, in another way.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay.compare import Moved, further
from attacklab.replay.laws import CONTINUOUS, SHIFT_LAWS, UNIFORM, near
from attacklab.replay.linear import SMALL_SHIFT, law_of_draw, moved_draw
from attacklab.replay.outputs import Leaf, leaves, number_of
from attacklab.replay.session import BEYOND, Affine, Node, Seen, Session, in_turn, rational

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

ROUNDS = 6

NEARBY = 2.0**-20
"""So many scales from an outcome of the noise lies another, at which a part of the output is to differ as well."""


Ends = dict[int, tuple[Fraction, Fraction]]


def bare_noise(pair: Pair) -> str | None:
    """In words, where noise is used or shown apart from the number that it makes noisy; None where it is not."""
    ends = _ends(pair.first, {}), _ends(pair.second, {})
    for seen, match in zip(pair.first.seen, pair.second.seen, strict=False):
        if seen.kind in ("compare", "argmax") and seen.kind == match.kind and not pair.redrawn.issuperset(seen.draws()):
            sides = [_turning(*side, pair.shown) for side in zip((seen, match), ends, strict=True)]
            if sides[0] != sides[1] and None not in sides:
                return (
                    f"{seen.site} compares more than the noisy number, so that its noise has not the law that was drawn"
                )
    second = _aligned(pair, _told(pair))
    if not isinstance(second, Session):
        return second
    far = _apart(pair.first.output, second.output)
    if far:
        return f"{far[0].path} follows the noise itself, besides the noisy numbers"
    moved = _moved(pair, second)
    if moved and pair.excess([one.pair for one in moved]) is not None:
        return f"{moved[0].node.site} draws noise that has to move further than the number it is added to"
    return None


def bare_part(pair: Pair) -> tuple[Leaf, Leaf] | None:
    """A part of the output that is another on each input although released numbers tell all noise; None if none is.

    Then the part follows the data for certain: on each input one outcome of the noise gives those numbers.
    """
    changes = None if pair.doubtful else _shifts(pair)
    if changes is None:
        return None
    found = []
    for step in (0.0, NEARBY):  # and at numbers nearby, for one outcome alone has no probability
        by = {number: further(call, step) for number, call in enumerate(pair.first.calls)}
        first = pair.again(by)
        second = pair.again(in_turn(by, changes), second=True, kept=False)
        sides = leaves(first.output), leaves(second.output)
        apart = [both for both in zip(*sides, strict=False) if _differ(*both)]
        paths = {path for path, _ in pair.rows} - {leaf.path for both in apart for leaf in both}
        is_told = all(_tells_each_draw(run, at, pair, paths) for at, run in enumerate((pair.first, pair.second)))
        if not is_told or any(one.path != other.path for one, other in apart):
            return None
        found += apart[:1]
    return found[0] if len(found) == 2 else None


def _differ(one: Leaf, other: Leaf) -> bool:
    size = max(abs(number_of(one.value)), abs(number_of(other.value)))
    return one != other and not _is_same(one, other, size if math.isfinite(size) else 0.0)


def _tells_each_draw(run: Session, side: int, pair: Pair, paths: Container[str]) -> bool:
    """Whether all that a run draws is noise of a density, and released numbers in some places tell each draw."""
    draws = [unit for call in run.calls for unit in call.ids.reshape(-1).tolist()]
    if not draws or any(call.family not in CONTINUOUS or call.family == UNIFORM for call in run.calls):
        return False
    held = [nodes[side] for path, nodes in pair.rows if path in paths]
    rows = [run.draws_of(int(node.affine.ids.flat[at])) for node, at in held]
    matrix = np.array([[row.get(draw, 0.0) for draw in draws] for row in rows])
    return len(rows) >= len(draws) and int(np.linalg.matrix_rank(matrix)) == len(draws)


def _shifts(pair: Pair) -> dict[int, dict[int, float]] | None:
    """By how much to move the draws of the second run so that noisy numbers are those of the first, by their calls."""
    changes: dict[int, dict[int, float]] = defaultdict(dict)
    first, second = _by_draw(pair.first), _by_draw(pair.second)
    for number, call in enumerate(pair.second.calls):
        for at, unit in enumerate(call.ids.reshape(-1).tolist()):
            for (node, place), (other, there) in zip(first.get(unit, ()), second.get(unit, ()), strict=False):
                (value, factor), (value_2, factor_2) = node.affine.exact(place), other.affine.exact(there)
                if not factor or factor != factor_2:
                    return None
                if value != value_2:
                    changes[number][at] = near((value - value_2) / factor)
                    break
    return dict(changes)


def _moved(pair: Pair, run: Session) -> list[Moved]:
    """By how much the draws of released numbers differ in a run from those of the record."""
    moved = []
    for call in run.calls:
        for unit, drawn in zip(call.ids.reshape(-1).tolist(), np.ravel(call.raw).tolist(), strict=True):
            if unit not in pair.shown or call.family not in SHIFT_LAWS:
                continue
            known, at = pair.first.owner(unit)
            law = law_of_draw(known, at)
            by = float(drawn - np.ravel(known.raw)[at])
            if abs(by) > SMALL_SHIFT * near(law.scale):
                moved.append(moved_draw(unit, known.site, law, by))
    return moved


def _apart(first: Any, second: Any) -> list[Leaf]:
    """The parts in which outputs differ by more than rounding."""
    one, other = leaves(first), leaves(second)
    size = max([abs(number) for leaf in one if math.isfinite(number := number_of(leaf.value))], default=0.0)
    far = [a for a, b in zip(one, other, strict=False) if a != b and not _is_same(a, b, size)]
    return [*far, *one[len(other) :], *other[len(one) :]]


def _is_same(leaf: Leaf, other: Leaf, size: float) -> bool:
    return leaf.path == other.path and (
        leaf.value == other.value or _is_close(number_of(leaf.value), number_of(other.value), size)
    )


def _told(pair: Pair) -> dict[int, int]:
    """Which noisy value of a draw tells of the data, counted from its last: that one, or the last that moves.

    What is made of a noisy number and the data may be the bare draw again, as an error of the answer is. Of those that
    move, it is the one that the output holds, if it holds one.
    """
    rows = [_by_draw(run) for run in (pair.first, pair.second)]
    told: dict[int, int] = {}
    for unit, values in rows[0].items():
        others = rows[1].get(unit, [])
        if len(values) == len(others):
            ends = [[node.affine.exact(place) for node, place in side] for side in (values, others)]
            moved = [at - len(values) for at, (one, other) in enumerate(zip(*ends, strict=True)) if one != other]
            held = [at for at in moved if _number(*values[at]) == pair.shown.get(unit)]
            told[unit] = (held or moved or [-1])[-1]
    return told


def _by_draw(run: Session) -> dict[int, list[tuple[Node, int]]]:
    """The noisy values of each draw, in order, each with the place of the draw in it."""
    values: dict[int, list[tuple[Node, int]]] = defaultdict(list)
    for unit, node, place in run.elements():
        values[unit].append((node, place))
    return values


def _number(node: Node, place: int) -> Fraction:
    return rational(np.reshape(node.result, -1)[place])


def _ends(run: Session, told: Mapping[int, int]) -> Ends:
    """The value and factor of each draw in its last noisy value, or in one before."""
    return {unit: node.affine.exact(place) for unit, (node, place) in _chosen(run, told)}


def _chosen(run: Session, told: Mapping[int, int]) -> Iterator[tuple[int, tuple[Node, int]]]:
    for unit, values in _by_draw(run).items():
        yield unit, values[max(told.get(unit, -1), -len(values))]


def _aligned(pair: Pair, told: Mapping[int, int]) -> Session | str | None:
    """A second run whose noisy numbers are those of the first.

    Args:
        pair: the examination of the pair.
        told: of each draw, which of its noisy values is to be the same.

    Returns:
        None where none move, or where noise was mixed or has no law that a shift keeps; what is wrong in words, where
        no shifts do it.
    """
    first, second = _ends(pair.first, told), _ends(pair.second, told)
    changes: dict[int, dict[int, Any]] = defaultdict(dict)
    apart = {
        unit: (value - second[unit][0]) / factor if factor and factor == second[unit][1] else BEYOND
        for unit, (value, factor) in first.items()
        if unit in second and (value, factor) != second[unit]
    }
    run, numbers, shared = pair.second, _numbers(pair.first, told), pair.shared.groups
    alone = pair.shown.keys() - {draw for group in shared for one in group.numbers for draw in one.sums[0]}
    fixed = pair.second.merged - alone
    sums = {unit for unit in numbers if len(pair.first.draws_of(unit)) > 1}
    wanted = {unit: number for unit, number in numbers.items() if unit in apart or unit not in fixed | sums}
    for _ in range(ROUNDS):
        if not apart:
            return run if changes else None
        for unit, by in apart.items():
            call, at = run.owner(unit)
            number, is_whole = run.number_of(call), np.asarray(call.raw).dtype.kind in "iu"
            is_kept = unit not in fixed and call.family != UNIFORM and abs(by) < BEYOND
            if number is None or not is_kept or (is_whole and by.denominator != 1):
                return None
            changes[number][at] = changes[number].get(at, 0) + (int(by) if is_whole else near(by))
        run = pair.again(changes, second=True, values=False)
        reached = _numbers(run, told)
        apart = {
            unit: rational((number - reached[unit][0]) / factor)
            for unit, (number, factor) in wanted.items()
            if unit in reached and factor and not _is_close(number, reached[unit][0])
        }
    return f"{pair.first.owner(min(apart))[0].site} draws noise that what it is added to follows" if apart else run


def _numbers(run: Session, told: Mapping[int, int]) -> dict[int, tuple[float, float]]:
    """A noisy number of each draw, and the factor of the draw in it."""
    return {
        unit: (float(np.reshape(node.result, -1)[place]), near(node.affine.exact(place)[1]))
        for unit, (node, place) in _chosen(run, told)
    }


def _is_close(one: float, other: float, size: float = 0.0) -> bool:
    """Whether two numbers of an arithmetic, double or single, are the same but for rounding."""
    if not math.isfinite(one) or not math.isfinite(other):
        return one == other
    error = 1e-5 if np.float32(one) == one != round(one) else 1e-11
    return abs(one - other) <= error * max(abs(one), abs(other), size)


def _turning(seen: Seen, ends: Ends, shown: Container[int]) -> list[Fraction] | None:
    """Where comparisons of draws turn, in what these make noisy in the end.

    None where all of them are looked at as they are in the end, and the output shows none of them.
    """
    rows = [list(_offsets(operand, np.shape(seen.outcome), ends, shown)) for operand in seen.operands]
    if not any(is_early for row in rows for _, is_early in row):
        return None
    if seen.kind == "argmax":
        return [offset - rows[0][0][0] for offset, _ in rows[0]]
    return [one - other for (one, _), (other, _) in zip(*rows, strict=True)]


def _offsets(
    operand: Any, shape: tuple[int, ...], ends: Ends, shown: Container[int]
) -> Iterator[tuple[Fraction, bool]]:
    if not isinstance(operand, Affine):
        yield from ((rational(number), False) for number in np.broadcast_to(operand, shape).reshape(-1))
        return
    places = np.arange(operand.ids.size).reshape(operand.ids.shape)
    if operand.ids.size < np.prod(shape):
        places = np.broadcast_to(places, shape)
    units = operand.ids.reshape(-1).tolist()
    for place in places.reshape(-1).tolist():
        value, factor = operand.exact(place)
        end, by = ends.get(units[place], (value, factor))
        yield (value - factor / by * end if by else value), units[place] in shown or (end, by) != (value, factor)
