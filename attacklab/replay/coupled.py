"""What an output shows of noise itself, besides the noisy numbers that its laws are judged by.

The noise of the second run is moved by as much as the values move, so that every noisy number is the same in both. Then
the outputs are the same as well, unless something follows the noise, or the data, in another way.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay.compare import Moved, further
from attacklab.replay.laws import SYMMETRIC, UNIFORM, Law, near
from attacklab.replay.outputs import Leaf, leaves, number_of
from attacklab.replay.session import BEYOND, Affine, Call, Node, Script, Seen, Session, rational

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

ROUNDS = 6

FAR_OUT = (-24.0, -16.0, 16.0, 24.0)
"""Scales by which a draw is moved to see how a number follows it where it is clipped on one side."""

TRIES = 24
"""Other draws with which a shift is to make the outputs the same."""


Ends = dict[int, tuple[Fraction, Fraction]]


def bare_noise(pair: Pair) -> str | None:
    """In words, where noise is used or shown apart from the number that it makes noisy; None where it is not."""
    ends = _ends(pair.first), _ends(pair.second)
    for seen, match in zip(pair.first.seen, pair.second.seen, strict=False):
        if seen.kind in ("compare", "argmax") and seen.kind == match.kind:
            sides = [_turning(*side) for side in zip((seen, match), ends, strict=True)]
            if sides[0] != sides[1] and None not in sides:
                return f"{seen.site} looks at noise before it is added, so that it has not the law that was drawn"
    second = _aligned(pair, *ends)
    if not isinstance(second, Session):
        return second
    far = _apart(pair.first.output, second.output)
    return f"{far[0].path} follows the noise itself, besides the noisy numbers" if far else None


def moved_by_shifts(pair: Pair, wanted: set[str]) -> list[Moved] | None:
    """The laws of numbers whose noise is not followed, where a shift of it makes the second output the first.

    So noise is judged that is rounded or clipped where it was added: if the outputs are the same, whatever is drawn,
    with noise that is further by a shift, they lose no more than that shift does.

    Args:
        pair: the examination of the pair.
        wanted: the parts in which the outputs differ.

    Returns:
        None where no shifts do it.
    """
    moved: list[Moved] = []
    changes: dict[int, dict[int, Any]] = defaultdict(dict)
    for number, call in pair.first.movable():
        if call.family not in SYMMETRIC:
            continue
        rows = [[_numbers_at(pair, number, call, by, second) for by in FAR_OUT] for second in (False, True)]
        paths = [path for path in rows[0][0] if path in wanted and len({side.get(path) for side in rows[0]}) > 1]
        if paths and len(paths) != call.size:
            return None
        for at, path in enumerate(paths):
            ends = [[side.get(path, math.nan) for side in row] for row in rows]
            shift = _shift_of(call, at, *ends)
            if shift is None:
                return None
            changes[number][at] = shift
            law = Law(call.family, rational(shift), call.scale_at(at))
            node = Node(call.site, Affine(call.ids), None)
            moved.append(Moved(int(call.ids.reshape(-1)[at]), law, replace(law, centre=Fraction(0)), node))
    is_all = bool(moved) and len(moved) == len(wanted)
    return moved if is_all and all(_agree(pair, changes, seed) for seed in range(TRIES)) else None


def _numbers_at(pair: Pair, number: int, call: Call, by: float, second: bool) -> dict[str, float]:
    """The numbers of an output with a draw so many scales further."""
    output = pair.again({number: further(call, by)}, second=second, kept=False).output
    return {leaf.path: number_of(leaf.value) for leaf in leaves(output)}


def _shift_of(call: Call, at: int, one: Sequence[float], other: Sequence[float]) -> Any:
    """How far a draw is to move so that a number is the same on both inputs, by numbers far out on either side."""
    raw = np.asarray(call.raw)
    steps = [float(np.ravel(further(call, by)(np.zeros(raw.shape, raw.dtype)))[at]) for by in FAR_OUT]
    for place in (0, 2):
        rise, gap = (one[place + 1] - one[place]) / (steps[place + 1] - steps[place]), one[place] - other[place]
        if 0.9 < abs(rise) < 1.1 and math.isfinite(gap):
            shift = math.copysign(1.0, rise) * gap
            is_whole = raw.dtype.kind in "iu"
            return None if is_whole and shift != round(shift) else round(shift) if is_whole else shift
    return None


def _agree(pair: Pair, changes: dict[int, dict[int, Any]], seed: int) -> bool:
    """Whether a second run with some draws moved has the output of the first, by other draws."""
    first = pair.runs.run(pair.pair.first, Session(pair.seed + 40_000 + 2 * seed))
    script = Script(first, is_followed=False)
    second = pair.runs.run(pair.pair.second, Session(pair.seed + 40_001 + 2 * seed, script, changes))
    return not _apart(first.output, second.output)


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


def _ends(run: Session) -> Ends:
    """The last value and factor of each draw."""
    return {unit: node.affine.exact(place) for unit, node, place in run.elements()}


def _aligned(pair: Pair, first: Ends, second: Ends) -> Session | str | None:
    """A second run whose noisy numbers are those of the first.

    Returns:
        None where none move, or where noise was mixed or has no law that a shift keeps; what is wrong in words, where
        no shifts do it.
    """
    changes: dict[int, dict[int, Any]] = defaultdict(dict)
    apart = {
        unit: (value - second[unit][0]) / factor if factor and factor == second[unit][1] else BEYOND
        for unit, (value, factor) in first.items()
        if unit in second and (value, factor) != second[unit]
    }
    run, wanted = pair.second, _numbers(pair.first)
    for _ in range(ROUNDS):
        if not apart:
            return run if changes else None
        for unit, by in apart.items():
            call, at = run.owner(unit)
            number, is_whole = run.number_of(call), np.asarray(call.raw).dtype.kind in "iu"
            is_kept = unit not in run.merged and call.family != UNIFORM and abs(by) < BEYOND
            if number is None or not is_kept or (is_whole and by.denominator != 1):
                return None
            changes[number][at] = changes[number].get(at, 0) + (int(by) if is_whole else near(by))
        run = pair.again(changes, second=True, values=False)
        reached = _numbers(run)
        apart = {
            unit: rational((number - reached[unit][0]) / factor)
            for unit, (number, factor) in wanted.items()
            if unit in reached and factor and not _is_close(number, reached[unit][0])
        }
    return f"{pair.first.owner(min(apart))[0].site} draws noise that what it is added to follows" if apart else run


def _numbers(run: Session) -> dict[int, tuple[float, float]]:
    """The last noisy number of each draw, and the factor of the draw in it."""
    return {
        unit: (float(np.reshape(node.result, -1)[place]), near(node.affine.exact(place)[1]))
        for unit, node, place in run.elements()
    }


def _is_close(one: float, other: float, size: float = 0.0) -> bool:
    """Whether two numbers of an arithmetic, double or single, are the same but for rounding."""
    error = 1e-5 if np.float32(one) == one != round(one) else 1e-11
    return abs(one - other) <= error * max(abs(one), abs(other), size)


def _turning(seen: Seen, ends: Ends) -> list[Fraction] | None:
    """Where comparisons of draws that go on to be added to something turn, in what they make noisy in the end.

    None where all of them are looked at as they are in the end.
    """
    rows = [list(_offsets(operand, np.shape(seen.outcome), ends)) for operand in seen.operands]
    if not any(is_early for row in rows for _, is_early in row):
        return None
    if seen.kind == "argmax":
        return [offset - rows[0][0][0] for offset, _ in rows[0]]
    return [one - other for (one, _), (other, _) in zip(*rows, strict=True)]


def _offsets(operand: Any, shape: tuple[int, ...], ends: Ends) -> Iterator[tuple[Fraction, bool]]:
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
        yield (value - factor / by * end if by else value), (end, by) != (value, factor)
