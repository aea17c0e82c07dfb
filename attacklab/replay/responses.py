"""Noise that is not followed from step to step: what each draw does to each part of the output, found by moving draws.

Where every draw moves parts of its own, each of those has the law of its draw, scaled. Where parts are sums of several
draws, the output is a matrix times the draws, and data that moves it is as good as a shift of the draws themselves.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay import laws, linear
from attacklab.replay.compare import Moved, further
from attacklab.replay.laws import (
    DISCRETE,
    EXPONENTIAL,
    LAPLACE,
    SHIFT_LAWS,
    SYMMETRIC,
    TABLE,
    UNIFORM,
    Law,
    near,
)
from attacklab.replay.outputs import leaves, number_of
from attacklab.replay.session import Affine, Call, Node, Session, filled, in_turn, rational
from attacklab.replay.traced import GEOMETRIC

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

DEPTHS = (0.03, 0.11, 0.27, 0.46, 0.62, 0.81, 0.94)
"""Uniform numbers that show by which formula they become noise."""

MULTIPLES = (0, 2, 3, 11, 37)
"""Multiples of a draw that show its part in a number; if it is rounded or clipped, they are not in proportion."""

OPPOSITE = (-1, -7, -31)
"""And of a draw of either sign, which show whether the sign is kept."""

FAR = (-60.0, -7.25, 7.25, 60.0)
"""Draws that are moved by so many scales show whether noise decides something."""

LEAST_SCALE = Fraction(1, 1 << 16)
"""Scales measured by further runs that differ by a smaller share are one scale, in numbers of 24 bits."""

UNITS = (1.0, 0.1, 0.01)
"""To multiples of these, noise may be rounded before it is added."""

OTHER_OUTCOMES = (50_000, 50_001)
"""Added to the seed: under these draws every part has to follow its noise by the same factor."""

TOGETHER = (1, 0, 2, 3, 11, -7)
"""Multiples of all draws at once under which an output moves in proportion, if it holds sums of them."""

MOST_MIXED = 64
"""So many draws at most are moved one by one to see which sums of them the output holds."""

NEAR = (-0.3, -0.1, 0.1, 0.3)
"""Draws of so many scales show how a number follows them that is clipped further out."""

LEAST_INSIDE = 3
"""So many draws are to leave a number inside the ends that it is clipped to."""

UNSEEN = (-math.inf, math.inf)

Changes = Mapping[int, Any]
Run = Callable[[Changes], Session]


@dataclass(frozen=True)
class Shifts:
    """What the data moves, as noisy numbers.

    Attributes:
        moved: the numbers with their laws on both inputs.
        is_exact: whether the output shows all of them; else it may hide more than they do.
        bare: a sum of parts of the output in which the noise cancels, and which differs between the inputs, as its
            terms; empty if there is none.
    """

    moved: list[Moved]
    is_exact: bool = True
    bare: Sequence[linear.Term] = ()


@dataclass(frozen=True)
class Part:
    """A part of an output that one draw moves.

    Attributes:
        call: which drew it.
        at: which of its draws it is.
        factor: by how much the part follows it; 0 where that is not in proportion.
        law: of the part, before it is clipped; None where it has none.
        ends: what it is clipped to; infinite where that was not seen.
        reached: the least and the largest that it was.
    """

    call: Call
    at: int
    factor: float
    law: Law | None
    ends: tuple[float, float] = UNSEEN
    reached: tuple[float, float] = (0.0, 0.0)

    def is_clipped_as(self, other: Part) -> bool:
        """Whether nothing shows that it is clipped to other ends than another part."""
        lower, upper = zip(self.ends, other.ends, strict=True)
        least, most = min(self.reached[0], other.reached[0]), max(self.reached[1], other.reached[1])
        return (lower[0] == lower[1] or max(lower) <= least) and (upper[0] == upper[1] or min(upper) >= most)


def shifts_of(pair: Pair, wanted: set[str] | None) -> Shifts | None:
    """How the noise of some parts of the output hides what moves them; None where that has no law here.

    Args:
        pair: of which the outputs are.
        wanted: where the parts are; None for all that noise moves.
    """
    sides, first, second, is_steady = _measured(pair)
    if wanted is None and any(_decides(runs[0]) for runs in sides):
        return None
    if first is None or second is None:
        return _mixed(pair, sides, wanted)
    wanted = {*first} if wanted is None else wanted
    if not is_steady or not wanted <= first.keys():
        return None
    return _own(first, second, wanted) or _mixed(pair, sides, wanted)


@functools.lru_cache(maxsize=1)
def _measured(pair: Pair) -> tuple[list[list[Run]], dict[str, Part] | None, dict[str, Part] | None, bool]:
    """Runs of both inputs with some seeds, the parts that noise moves in the first, and whether all show the same."""
    seeds = [pair.seed, *(pair.seed + other for other in OTHER_OUTCOMES)]
    sides = [[_run(pair, second, seed) for seed in seeds] for second in (False, True)]
    first, second = (_parts(runs[0]) for runs in sides)
    if first is None or second is None or first.keys() != second.keys():
        return sides, first, second, False
    for side, runs in zip((first, second), sides, strict=True):
        for run in runs[1:]:
            again = _parts(run)
            if again is None or again.keys() != side.keys() or any(map(_differ, side.values(), again.values())):
                return sides, first, second, False
    return sides, first, second, True


def _decides(run: Run) -> bool:
    """Whether noise changes a text in the output, or which parts the output has."""
    first = run({})
    base = _words(first)
    return any(
        _words(run({number: further(call, step)})) != base
        for number, call in first.independent()
        if call.family in SHIFT_LAWS and call.family != UNIFORM and call.size
        for step in FAR
        if step > 0 or call.family != EXPONENTIAL
    )


def _words(run: Session) -> list[tuple[str, Any]]:
    numbers = [(leaf, number_of(leaf.value)) for leaf in leaves(run.output)]
    return [(leaf.path, leaf.value if number != number else None) for leaf, number in numbers]


def _differ(one: Part, other: Part) -> bool:
    """Whether one part of the output has noise of another size under other draws."""
    if one.law is None or other.law is None:
        return one.law is not other.law
    return one.law.family != other.law.family or not _is_near(one.law.scale, other.law.scale)


def _is_near(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= one * LEAST_SCALE


def _run(pair: Pair, second: bool, seed: int) -> Run:
    input_ = pair.pair.second if second else pair.pair.first
    return lambda changes: pair.runs.run(input_, Session(seed, None, in_turn(pair.chosen, changes)))


def _own(first: Mapping[str, Part], second: Mapping[str, Part], wanted: set[str]) -> Shifts | None:
    """The laws of parts that follow a draw each; a part that says the same of a draw as one before adds nothing."""
    moved: dict[tuple[int, int], tuple[Moved, float]] = {}
    is_clipped = False
    for path in sorted(first, key=lambda path: (path not in wanted, path)):
        one, other = first[path], second[path]
        place = int(one.call.ids.reshape(-1)[one.at])
        if one.law is None or other.law is None:
            if path in wanted or (id(one.call), one.at) in moved:
                return None
            continue
        if not one.is_clipped_as(other):
            return None
        is_clipped = is_clipped or {one.ends, other.ends} != {UNSEEN}
        law = replace(other.law, scale=one.law.scale) if _is_near(one.law.scale, other.law.scale) else other.law
        new = Moved(place, one.law, law, Node(one.call.site, Affine(one.call.ids), None))
        apart = near(law.centre - one.law.centre) / (one.factor or 1.0)
        known = moved.get((id(one.call), one.at))
        if known is None:
            if path in wanted:
                moved[id(one.call), one.at] = new, apart
        elif known[0].is_rescaled or new.is_rescaled or not math.isclose(known[1], apart, rel_tol=1e-6, abs_tol=1e-9):
            return None
    return Shifts([one for one, _ in moved.values()], is_exact=not is_clipped)


def _parts(run: Run) -> dict[str, Part] | None:
    """The parts of an output that noise moves, each with its draw; None where one follows several."""
    first = run({})
    base = _numbers(first)
    owned: list[tuple[int, Call, dict[str, int]]] = []
    for number, call in first.independent():
        if call.family not in (*SHIFT_LAWS, GEOMETRIC) or not call.size:
            continue
        owners = _owners(run, number, call, base)
        if call.family == GEOMETRIC and owners:
            return None  # two of them may make noise that has a law
        alone = {path: place for path, place in owners.items() if place is not None}
        if len(alone) < len(owners) or any(not alone.keys().isdisjoint(others) for *_, others in owned):
            return None
        owned += [(number, call, alone)] if alone else []
    rows = [DEPTHS if call.family == UNIFORM else multiples_of(call) for _, call, _ in owned]
    sides = [
        _numbers(
            run(
                {
                    number: _scaled(number, call, at[turn % len(at)])
                    for (number, call, _), at in zip(owned, rows, strict=True)
                }
            )
        )
        for turn in range(max(map(len, rows), default=0))
    ]
    parts: dict[str, Part] = {}
    lawless: list[tuple[str, int, Call, list[float]]] = []
    for (number, call, owners_), at in zip(owned, rows, strict=True):
        for path, place in owners_.items():
            numbers = [side.get(path, math.nan) for side in sides[: len(at)]]
            if call.family == UNIFORM:
                parts[path] = Part(call, place, 0.0, laws.fitted(DEPTHS, numbers))
                continue
            reached = min(numbers), max(numbers)
            parts[path] = Part(call, place, *_fitted(call, place, numbers), UNSEEN, reached)
            if parts[path].law is None and call.family in SYMMETRIC and number >= 0:
                lawless.append((path, number, call, numbers))
    moved = {number: call for _, number, call, _ in lawless}
    closer = [
        _numbers(run({number: _near(call, share) for number, call in moved.items()})) for share in NEAR if lawless
    ]
    for path, _, call, numbers in lawless:
        numbers += [side.get(path, math.nan) for side in closer]
        parts[path] = _clipped(call, parts[path].at, numbers) or parts[path]
    return dict(sorted(parts.items()))


def _numbers(run: Session) -> dict[str, float]:
    return {leaf.path: number_of(leaf.value) for leaf in leaves(run.output)}


def _scaled(number: int, call: Call, factor: float) -> Any:
    """A change that puts a call's draws at multiples of their sizes; of uniform ones, what they are instead."""
    if number < 0:  # what is added to noise that was made of several draws
        return dict(enumerate((factor * _sizes(call) - np.ravel(call.raw)).tolist()))
    if call.family == UNIFORM:
        return functools.partial(filled, factor)
    is_whole = np.asarray(call.raw).dtype.kind in "iu"
    values = np.reshape(factor * _sizes(call), np.shape(call.raw))
    return lambda raw: values if isinstance(raw, np.ndarray) else int(values) if is_whole else float(values)


def _sizes(call: Call) -> Any:
    """The draws of a call; for those that are 0, a number of their scale."""
    raw = np.ravel(call.raw)
    scales = (
        np.broadcast_to(np.asarray(call.scale, dtype=float), raw.shape)
        if np.size(call.scale) == 1
        else np.ravel(np.broadcast_to(np.asarray(call.scale, dtype=float), call.shape or ()))
    )
    return np.where(raw == 0, 1 if raw.dtype.kind in "iu" else scales, raw)


def _owners(run: Run, number: int, call: Call, base: Mapping[str, float]) -> dict[str, int | None]:
    """The parts that a call moves, each with the one of its draws that does so; None where several do.

    The draws with a 0 in a binary digit of their place are moved, then those with a 1, digit by digit.
    """
    places = np.arange(call.size)
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    digits = max(1, (call.size - 1).bit_length())
    for digit in range(digits):
        for value in (0, 1):
            chosen = places[(places >> digit) & 1 == value].tolist()
            for path in _moved(run, number, call, chosen, base) if chosen else ():
                found[path].append((digit, value))
    everywhere, owners = list(range(digits)), dict[str, int | None]()
    for path, told in found.items():
        place = sum(value << digit for digit, value in told)
        owners[path] = place if [digit for digit, _ in told] == everywhere and place < call.size else None
    return owners


def _moved(run: Run, number: int, call: Call, chosen: Sequence[int], base: Mapping[str, float]) -> list[str]:
    """The parts of the output that move when some draws of a call do."""
    output = _numbers(run({number: {at: _step(call, at) for at in chosen}}))
    return [path for path in base if output.get(path, math.nan) != base[path] and base[path] == base[path]]


def _step(call: Call, at: int) -> Any:
    """What is added to a draw to see what it moves; of a uniform one, what it is instead."""
    raw = np.ravel(call.raw)
    if call.family == UNIFORM:
        return 0.81 if raw[at] < 0.5 else 0.27
    sign = -1 if raw[at] > 0 and call.family in SYMMETRIC else 1  # it may be clipped on its own side
    return sign * (7 if raw.dtype.kind in "iu" else 7.25 * near(call.scale_at(at)))


def _mixed(pair: Pair, sides: Sequence[Sequence[Run]], wanted: set[str] | None) -> Shifts | None:
    """The shifts of draws that move the output as the data does, where it holds sums of draws in proportion."""
    matrices = [[_matrix(run) for run in runs] for runs in sides]
    known, other = matrices[0][0], matrices[1][0]
    if known is None or other is None or not (wanted or set()) <= {*known.paths}:
        return None
    for one, base in [(one, side[0]) for side in matrices for one in side]:
        if one is None or base is None or one.paths != known.paths or one.factors.shape != known.factors.shape:
            return None
        least = 1e-9 * np.abs(known.factors).max()
        if not np.allclose(one.factors, known.factors, rtol=float(LEAST_SCALE), atol=least):
            return None
        if (np.abs(one.values - base.values) > linear.FAR * (one.rounding + base.rounding)).any():
            return None
    rounding = known.rounding + other.rounding
    found = linear.explained(known.factors, other.values - known.values, known.laws, rounding, is_pure=pair.is_pure)
    if found is None:
        return None
    if found.bare is not None:
        values = zip(known.paths, found.bare.tolist(), known.values.tolist(), other.values.tolist(), strict=True)
        return Shifts([], bare=[linear.Term(*one) for one in values])
    units = [int(call.ids.reshape(-1)[at]) for call, at in known.draws]

    def moved(shifts: linear.Floats) -> list[Moved]:
        sides = zip(units, known.draws, known.laws, shifts.tolist(), strict=True)
        return [linear.moved_draw(unit, call.site, law, by) for unit, (call, _), law, by in sides if by]

    for shifts in found.most:
        if pair.excess([one.pair for one in moved(shifts)]) is None:
            return Shifts(moved(shifts), is_exact=found.is_exact)
    return Shifts(
        moved(found.least), is_exact=found.is_exact or pair.excess([one.pair for one in moved(found.least)]) is not None
    )


@dataclass(frozen=True)
class _Matrix:
    """An output as a matrix times draws.

    Attributes:
        paths: the parts that they move.
        values: those without noise.
        factors: a row for each part, and a column for each draw.
        draws: they, each with its place in its call.
        laws: theirs.
        rounding: how large the error of each value is at most.
    """

    paths: list[str]
    values: linear.Floats
    factors: linear.Floats
    draws: list[tuple[Call, int]]
    laws: list[Law]
    rounding: linear.Floats


def _matrix(run: Run) -> _Matrix | None:
    first = run({})
    calls = [
        (number, call) for number, call in first.independent() if call.family in (*SHIFT_LAWS, GEOMETRIC) and call.size
    ]
    draws = [(number, call, at) for number, call in calls for at in range(call.size) if _step(call, at)]
    if len(draws) > MOST_MIXED or any(call.family == UNIFORM for _, call in calls):
        return None
    base, *scaled = [_numbers(run({number: _scaled(number, call, by) for number, call in calls})) for by in TOGETHER]
    still = _numbers(first)
    moved = [_numbers(run({number: {at: _step(call, at)}})) for number, call, at in draws]
    paths = [
        path for path in base if any(side.get(path) != still.get(path) for side in moved) and base[path] == base[path]
    ]
    rows = [[base[path], *(side.get(path, math.nan) for side in scaled)] for path in paths]
    if not rows or not all(is_even(TOGETHER, row, float(LEAST_SCALE)) for row in rows):
        return None
    columns = [
        [(side.get(path, math.nan) - still[path]) / _step(call, at) for path in paths]
        for side, (_, call, at) in zip(moved, draws, strict=True)
    ]
    used = [(call, at) for (_, call, at), column in zip(draws, columns, strict=True) if any(column)]
    factors = np.array([column for column in columns if any(column)]).T
    kept, made = linear.in_pairs(factors, [linear.law_of_draw(call, at) for call, at in used])
    if any(law.family == GEOMETRIC for law in made):
        return None
    numbers, at = np.array(rows), np.array(TOGETHER)
    slopes = (numbers[:, -2:-1] - numbers[:, -1:]) / (at[-2] - at[-1])
    error = np.abs(numbers - numbers[:, 1:2] - slopes * at).max(axis=1)
    rounding = error + linear.ROUNDED * 2.0**-52 * np.abs(numbers).max(axis=1)
    return _Matrix(paths, numbers[:, 1], factors[:, kept], [used[place] for place in kept], made, rounding)


def multiples_of(call: Call) -> list[int]:
    """By what a draw is multiplied to see how a number follows it: of a small one, by so much that it is large."""
    sizes = [float(np.max(np.abs(of), initial=0.0)) for of in (call.scale, call.raw)]
    by = math.ceil(min(1e6, max(1.0, sizes[0] / (sizes[1] or math.inf))))
    return [one * by for one in MULTIPLES + (() if call.family == EXPONENTIAL else OPPOSITE)]


def is_even(at: Sequence[float], numbers: Sequence[float], share: float = 0.05) -> bool:
    """Whether a number moves in proportion to its noise, but for rounding."""
    slopes = np.diff(numbers) / np.diff(at)
    return bool(np.isfinite(slopes).all() and slopes.max() - slopes.min() <= share * np.abs(slopes).max())


def _fitted(call: Call, place: int, numbers: Sequence[float]) -> tuple[float, Law | None]:
    """By how much a number follows a draw, and its law: from its values with the draw at multiples of its size."""
    at = [by * near(_sizes(call)[place]) for by in multiples_of(call)]
    if call.family == LAPLACE and is_even(np.abs(at).tolist(), numbers, float(LEAST_SCALE)):
        call, at = replace(call, family=EXPONENTIAL), np.abs(at).tolist()  # its size alone
    if not is_even(at, numbers, float(LEAST_SCALE)):
        return _rounded(call, place, np.array(at), np.array(numbers))
    slope = (numbers[1] - numbers[0]) / (at[1] - at[0])
    if not slope:
        return 0.0, None
    factor = Fraction(1) if abs(abs(slope) - 1) < 1e-9 else abs(rational(slope)) * (1 + 8 * LEAST_SCALE)
    step = factor if call.family in DISCRETE else Fraction(1)
    value, weights = rational(numbers[0]), call.weights
    if call.family == TABLE and slope < 0:
        value, weights = value - factor * (len(weights) - 1), weights[::-1]
    return slope, Law(call.family, value, factor * call.scale_at(place), weights, step)


def _near(call: Call, share: float) -> Any:
    """A change that puts a call's draws at so many of their scales, in whole numbers where they are."""
    scales = np.broadcast_to(np.asarray(call.scale, dtype=float), call.shape or ())
    if np.asarray(call.raw).dtype.kind in "iu":
        scales = np.rint(scales * share / min(NEAR, key=abs))
        return lambda raw: scales.astype(int) if isinstance(raw, np.ndarray) else int(scales)
    return lambda raw: scales * share if isinstance(raw, np.ndarray) else float(scales * share)


def _clipped(call: Call, place: int, numbers: Sequence[float]) -> Part | None:
    """A part that follows a draw in proportion and is clipped; None where it does something else.

    Args:
        call: which drew.
        place: the draw in it.
        numbers: the part, with the draw at multiples of its size and near 0.
    """
    near_ = [np.ravel(_near(call, share)(call.raw)) for share in NEAR]
    at = np.array(
        [*(by * _sizes(call)[place] for by in multiples_of(call)), *(one[place] for one in near_)], dtype=float
    )
    values = np.array(numbers)
    order = np.argsort(at)
    at, values = at[order], values[order]
    steps = np.diff(at) > 0
    slopes = np.diff(values)[steps] / np.diff(at)[steps]
    if not np.isfinite(values).all() or not slopes.any():
        return None
    slope = slopes[np.argmax(np.abs(slopes))]
    inside = values - slope * at
    centre = float(np.median(inside[1:][np.isclose(np.diff(values), slope * np.diff(at)) & (np.diff(at) > 0)]))
    low, high = float(values.min()), float(values.max())
    line = centre + slope * at
    error = 1e-9 * float(np.abs(line).max())
    is_inside = np.abs(line - values) <= error
    if not np.allclose(np.clip(line, low, high), values, rtol=0, atol=error) or is_inside.sum() < LEAST_INSIDE:
        return None
    ends = low if (line < low - error).any() else -math.inf, high if (line > high + error).any() else math.inf
    factor = Fraction(1) if abs(abs(slope) - 1) < 1e-9 else abs(rational(slope)) * (1 + 8 * LEAST_SCALE)
    step = factor if call.family in DISCRETE else Fraction(1)
    law = Law(call.family, rational(centre), factor * call.scale_at(place), (), step)
    return Part(call, place, float(slope), law, ends, (low, high))


def _rounded(call: Call, place: int, at: Any, numbers: Any) -> tuple[float, Law | None]:
    """By how much a number follows a draw that is rounded to an integer, and its law."""
    if not np.isfinite(numbers).all():
        return 0.0, None
    steps = numbers - numbers[0]
    for unit in UNITS:
        noise = Law(call.family, scale=call.scale_at(place) / rational(unit))
        for how in laws.ROUNDINGS:
            for sign in (1, -1):  # the noise is symmetric, so that only what is rounded has a sign
                if np.allclose(steps / unit, how(sign * at / unit), rtol=0, atol=1e-6) and steps.any():
                    law, step = laws.rounded(noise, how), rational(unit)
                    if law is None:
                        return 0.0, None
                    centre = law.centre * step + rational(numbers[0])
                    return sign * unit, replace(law, centre=centre, scale=step, step=step)
    return 0.0, None
