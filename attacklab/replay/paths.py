"""Noise that is only looked at: how probable is what its comparisons and selections gave, on each of two neighbours?

A comparison of one draw with a number is a coin. Draws that are compared with one draw that all of them share, as the
noisy threshold of a sparse vector, are integrated over that one. The largest of noisy values is a choice, with a law of
its own. What fits none of these is not judged, and is named.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacklab.replay.laws import (
    CATEGORICAL,
    CAUCHY,
    CONTINUOUS,
    DISCRETE,
    GUMBEL,
    SHIFT_LAWS,
    UNIFORM,
    Law,
    near,
    tails_of,
)
from attacklab.replay.session import Affine, Node, Seen, Session, Site, rational

POINTS, LEAST_POINTS, MOST_POINTS = 601, 121, 10_000
"""How many cells a grid has around a centre, and about how many in all."""

NODES, SHARES = np.polynomial.legendre.leggauss(3)
"""Where in a cell, from −1 to 1, an integral looks at what it integrates, and with what weight (Gauss and Legendre)."""

MOST = 64
"""How many comparisons are looked at one by one."""

MOST_STEPS = 1 << 20
"""So many values of integer noise are looked at at most."""

REACH = 60.0
"""How far an integral over noise goes, in scales."""

Floats = NDArray[np.float64]

FLIPPED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


@dataclass(frozen=True)
class Bound:
    """One comparison of noisy numbers: whether `left` lies above `right`.

    Attributes:
        left: a draw and the law of its noisy value.
        right: another, or a number that no draw is part of.
        above: whether it does.
        site: where they were compared.
        factors: by what each draw was multiplied before.
        given: the draws whose noisy numbers the output holds, and which are part of this as numbers.
    """

    left: tuple[int, Law]
    right: tuple[int, Law] | Fraction
    above: bool
    site: Site
    factors: tuple[Fraction, ...] = ()
    given: frozenset[int] = frozenset()


def bounds_of(run: Session, shown: Mapping[int, Fraction], skipped: Collection[int] = ()) -> list[Bound] | None:
    """All comparisons of a run that involve a hidden draw; None where one of them cannot be read.

    Args:
        run: the run.
        shown: the draws whose noisy numbers the output holds, and those numbers: whoever sees them can compare them.
        skipped: draws whose comparisons are left out.
    """
    bounds: list[Bound] = []
    told = {
        unit: (number, *node.affine.exact(place))
        for unit, node, place in run.elements()
        if (number := shown.get(unit)) is not None and rational(np.ravel(node.result)[place]) == number
    }
    for seen in run.seen:
        if seen.kind != "compare" or {*skipped}.issuperset(seen.draws()):
            continue
        outcome = np.asarray(seen.outcome)
        sides = [numbers_of(run, seen, operand, outcome.shape, told) for operand in seen.operands]
        if seen.operation in ("equal", "not_equal"):
            families = {number[1].family for side in sides for number in side if isinstance(number, tuple)}
            if outcome.any() == outcome.all() == (seen.operation == "not_equal") and families <= {*CONTINUOUS}:
                continue  # as it always comes
            return None
        if any(isinstance(operand, Affine) and operand.is_size for operand in seen.operands):
            return None
        given = told.keys() & {*seen.draws()}
        for left, right, came in zip(*sides, outcome.reshape(-1).tolist(), strict=True):
            operation = seen.operation
            if not isinstance(left, tuple):
                left, right, operation = right, left, FLIPPED[operation]
            if isinstance(left, tuple):
                factors = tuple(side[2] for side in (left, right) if isinstance(side, tuple))
                other = right[:2] if isinstance(right, tuple) else right
                is_above = came == operation.startswith("greater")
                bounds.append(Bound(left[:2], other, is_above, seen.site, factors, frozenset(given)))
    return bounds


def numbers_of(
    run: Session, seen: Seen, operand: Any, shape: tuple[int, ...], told: Mapping[int, tuple[Fraction, ...]]
) -> list[Any]:
    """A side of comparisons, one after another: a draw with its law and its factor, or a number.

    Of draws whose noisy numbers the output holds, `told` has those, with the value and the factor of the draw in them.
    """
    if not isinstance(operand, Affine):
        return [rational(number) for number in np.broadcast_to(operand, shape).reshape(-1)]
    places = np.broadcast_to(np.arange(operand.ids.size).reshape(operand.ids.shape), shape).reshape(-1).tolist()
    units = operand.ids.reshape(-1).tolist()
    node = Node(seen.site, operand, None)

    def number(place: int) -> Any:
        value, factor = operand.exact(place)
        if units[place] not in told:
            return units[place], run.law(node, place), factor
        known, centre, by = told[units[place]]
        return value + factor / by * (known - centre) if by else value

    return [*map(number, places)]


def grouped(bounds: Sequence[Bound]) -> list[list[Bound]]:
    """Comparisons that have no draw in common with those of another group."""
    parent: dict[int, int] = {}

    def root(unit: int) -> int:
        while parent.setdefault(unit, unit) != unit:
            unit = parent[unit]
        return unit

    for bound in bounds:
        if isinstance(bound.right, tuple):
            parent[root(bound.left[0])] = root(bound.right[0])
        else:
            root(bound.left[0])
    groups: defaultdict[int, list[Bound]] = defaultdict(list)
    for bound in bounds:
        groups[root(bound.left[0])].append(bound)
    return list(groups.values())


def probability(group: Sequence[Bound]) -> float | None:
    """How probable the outcomes of a group are together; None where its draws are not compared with a common one."""
    units = {unit for bound in group for unit in units_of(bound)}
    if any(law.family not in SHIFT_LAWS for bound in group for law in _laws(bound)):
        return None
    if len(units) == 1:
        if any(isinstance(bound.right, tuple) for bound in group):  # a draw is compared with itself
            return None
        return max(0.0, _between(group))
    if any(law.family == CAUCHY for bound in group for law in _laws(bound)):  # its tails reach beyond the grid
        return None
    hubs = set.intersection(*(set(units_of(bound)) for bound in group if isinstance(bound.right, tuple)))
    if not hubs:
        return None
    hub = min(
        hubs, key=lambda unit: sum(unit in units_of(bound) for bound in group if not isinstance(bound.right, tuple))
    )
    law = next(law for bound in group for unit, law in sides_of(bound) if unit == hub)
    at, masses = _grid(law, group)
    chances = np.ones_like(at)
    for unit in units - {hub}:
        chances *= _given(unit, hub, [bound for bound in group if unit in units_of(bound)], at)
    for bound in group:
        if units_of(bound) == [hub]:
            above = at > near(bound.right)
            chances *= above if bound.above else ~above
    return float((masses * chances).sum())


def _between(group: Sequence[Bound]) -> float:
    """P[the noisy number lies between all thresholds]."""
    law = group[0].left[1]
    low = max((near(one.right) for one in group if one.above), default=-math.inf)
    high = min((near(one.right) for one in group if not one.above), default=math.inf)
    return float(interval(law, low, high))


def interval(law: Law, low: Any, high: Any) -> Any:
    """P[low < noisy ≤ high]; the bounds may be arrays."""
    if not law.scale:
        centre = near(law.centre)
        return np.asarray((low < centre) & (centre <= high), dtype=float)
    centre = near(law.centre)
    ends = [tails_of(law, np.atleast_1d(np.asarray(end, dtype=float)) - centre) for end in (low, high)]
    by_upper, by_lower = ends[0][1] - ends[1][1], ends[1][0] - ends[0][0]
    masses = np.where(ends[0][1] < 0.5, by_upper, by_lower)
    return np.maximum(masses, 0.0) if np.ndim(low) or np.ndim(high) else float(max(masses[0], 0.0))


def _given(unit: int, hub: int, group: Sequence[Bound], at: Floats) -> Floats:
    """How probable a draw's comparisons are, given the value of the one that it shares with others."""
    low, high = np.full_like(at, -np.inf), np.full_like(at, np.inf)
    law = next(law for bound in group for number, law in sides_of(bound) if number == unit)
    for bound in group:
        threshold: Any = at if hub in units_of(bound) else near(bound.right)
        if bound.above == (bound.left[0] == unit):
            low = np.maximum(low, threshold)
        else:
            high = np.minimum(high, threshold)
    return np.asarray(interval(law, low, high))


def _grid(law: Law, group: Sequence[Bound]) -> tuple[Floats, Floats]:
    """Values of the shared draw with their masses, close together wherever a noisy value may lie."""
    thresholds = [near(bound.right) for bound in group if not isinstance(bound.right, tuple)]
    at, halves = _cells([one for bound in group for one in _laws(bound)], thresholds, near(law.scale))
    if law.family not in DISCRETE:
        return at, halves * _density(law, at)
    step, centre = near(law.step), near(law.centre)
    steps = np.arange(math.floor((at[0] - centre) / step), math.ceil((at[-1] - centre) / step) + 1)
    whole = centre + step * steps[:MOST_STEPS]
    return whole, interval(law, whole - step / 2, whole + step / 2)


def _cells(laws: Sequence[Law], thresholds: Sequence[float] = (), scale: float = 0.0) -> tuple[Floats, Floats]:
    """Numbers at which to look at functions of noisy values, and what to multiply those by to integrate them."""
    middles = {(near(one.centre), near(one.scale) or scale) for one in laws}
    ends = [centre + own for centre, own in middles if any(one.family == UNIFORM for one in laws)]
    spread = _spread(len(middles))
    edges = np.unique(np.concatenate([*(centre + spread * own for centre, own in middles), thresholds, ends]))
    edges = edges[np.abs(edges) < 1e300]
    halves = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + halves * (1 + NODES)).ravel(), (halves * SHARES).ravel()


def _density(law: Law, at: Floats) -> Floats:
    scale = near(law.scale)
    return np.asarray(CONTINUOUS[law.family].pdf((at - near(law.centre)) / scale) / scale)


def _spread(count: int) -> Floats:
    """Offsets from a centre in scales, dense near 0; fewer of them where the grid has many centres."""
    points = max(LEAST_POINTS, min(POINTS, MOST_POINTS // count))
    return np.sinh(np.linspace(-np.arcsinh(REACH), np.arcsinh(REACH), points))


def argmax_law(laws: Sequence[Law], smallest: bool = False) -> Law | None:
    """The law of the place of the largest of noisy values, or of the smallest."""
    if any(law.family not in CONTINUOUS or law.family == CAUCHY or not law.scale for law in laws):
        return None
    if not laws:
        return None
    scales = {law.scale for law in laws}
    if all(law.family == GUMBEL for law in laws) and len(scales) == 1 and not smallest:
        scale = scales.pop()
        top = max(law.centre for law in laws)
        weights = np.exp([near((law.centre - top) / scale) for law in laws])
        return Law(CATEGORICAL, weights=tuple((weights / weights.sum()).tolist()))
    at, halves = _cells(laws)
    masses = np.array([halves * _density(law, at) for law in laws])
    ends = (np.full_like(at, -np.inf), at) if not smallest else (at, np.full_like(at, np.inf))
    chances = np.array([interval(law, *ends) for law in laws])
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(chances, 1e-300))
    others = np.exp(logs.sum(axis=0) - logs)
    weights = (masses * others).sum(axis=1)
    return Law(CATEGORICAL, weights=tuple((weights / weights.sum()).tolist()))


class Selection(NamedTuple):
    """A choice of a run: its law, the draws that it rests on, and what came out."""

    seen: Seen
    law: Law | None
    draws: list[int]
    outcome: int


def selections(run: Session) -> list[Selection]:
    """The choices of a run."""
    chosen: list[Selection] = []
    for seen in run.seen:
        if seen.kind == "argmax":
            tag = seen.operands[0]
            units = tag.ids.reshape(-1).tolist()
            laws = [run.law(Node(seen.site, tag, None), place) for place in range(len(units))]
            single = np.size(seen.outcome) == 1
            law_ = argmax_law(laws, seen.operation == "argmin") if single else None
            chosen.append(Selection(seen, law_, units, int(np.ravel(seen.outcome)[0]) if single else -1))
        elif seen.kind == "categorical":
            weights, places = seen.operands
            law_ = Law(CATEGORICAL, weights=tuple(np.ravel(weights).tolist())) if np.size(places) == 1 else None
            chosen.append(Selection(seen, law_, [], int(np.ravel(places)[0])))
        elif seen.kind == "search":
            tag, ends = seen.operands
            for place, outcome in enumerate(np.ravel(seen.outcome).tolist()):
                law = run.law(Node(seen.site, tag, None), place)
                tails = tails_of(law, np.asarray(ends, dtype=float) - near(law.centre))[0]
                law_ = Law(CATEGORICAL, weights=tuple(np.diff(np.concatenate([[0.0], tails, [1.0]])).tolist()))
                chosen.append(Selection(seen, law_, tag.ids.reshape(-1).tolist(), outcome))
    return chosen


def scanned_law(group: Sequence[Bound]) -> Law | None:
    """The law of the place that Python's `max` or `min` over noisy values gives; None where this is no such scan."""
    if not is_scan(group):
        return None
    laws = {unit: law for bound in group for unit, law in sides_of(bound)}
    return argmax_law([laws[unit] for unit in sorted(laws)], not is_scan(group, smallest=False))


def winner_of(group: Sequence[Bound]) -> int:
    """Which of the draws of a scan, in the order in which they were made, has the largest value, or the least."""
    smallest = not is_scan(group, smallest=False)
    best = group[-1].left[0] if group[-1].above != smallest else units_of(group[-1])[1]
    return sorted({unit for bound in group for unit in units_of(bound)}).index(best)


def is_scan(group: Sequence[Bound], *, smallest: bool | None = None) -> bool:
    """Whether comparisons are those of Python's `max` or `min`: each of a new draw and the best of those before."""
    if smallest is None:
        return is_scan(group, smallest=False) or is_scan(group, smallest=True)
    seen: set[int] = set()
    best = None
    for bound in group:
        units = units_of(bound)
        if len({*units}) != 2 or (best is not None and seen.intersection(units) != {best}):
            return False
        seen.update(units)
        best = units[0] if bound.above != smallest else units[1]
    return bool(group)


def sides_of(bound: Bound) -> list[tuple[int, Law]]:
    """The draws of a comparison, with their laws."""
    return [bound.left, bound.right] if isinstance(bound.right, tuple) else [bound.left]


def units_of(bound: Bound) -> list[int]:
    """The numbers of the draws of a comparison."""
    return [unit for unit, _ in sides_of(bound)]


def _laws(bound: Bound) -> list[Law]:
    return [law for _, law in sides_of(bound)]
