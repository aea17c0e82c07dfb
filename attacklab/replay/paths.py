"""Noise that is only looked at: how probable is what its comparisons and selections gave, on each of two neighbours?

A comparison of one draw with a number is a coin. Draws that are compared with one draw that all of them share, as the
noisy threshold of a sparse vector, are integrated over that one. The largest of noisy values is a choice, with a law of
its own. What fits none of these is not judged, and is named.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.replay.laws import CATEGORICAL, DISCRETE_LAPLACE, GUMBEL, SHIFT_LAWS, Law, _tails
from attacklab.replay.session import Affine, Node, Seen, Session, Site, rational

POINTS = 4001
REACH = 60.0
"""How far an integral over noise goes, in scales."""

FLIPPED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


@dataclass(frozen=True)
class Bound:
    """One comparison of noisy numbers: whether `left` lies above `right`.

    Attributes:
        left: a draw and the law of its noisy value.
        right: another, or a number that no draw is part of.
        above: whether it does.
        site: where they were compared.
    """

    left: tuple[int, Law]
    right: tuple[int, Law] | Fraction
    above: bool
    site: Site


def bounds_of(run: Session) -> list[Bound] | None:
    """All comparisons of a run; None where one of them cannot be read."""
    bounds: list[Bound] = []
    for seen in run.seen:
        if seen.kind == "compare":
            if seen.operation in ("equal", "not_equal"):
                return None
            outcome = np.asarray(seen.outcome)
            for place in range(outcome.size):
                bounds.append(_bound(run, seen, place, bool(outcome.reshape(-1)[place])))
    return bounds


def _bound(run: Session, seen: Seen, place: int, outcome: bool) -> Bound:
    shape = np.shape(seen.outcome)
    sides: list[Any] = []
    for operand in seen.operands:
        if isinstance(operand, Affine):
            ids = np.broadcast_to(operand.ids, shape)
            where = place
            if operand.ids.shape != shape:
                numbers = np.broadcast_to(np.arange(operand.ids.size).reshape(operand.ids.shape), shape)
                where = int(numbers.reshape(-1)[place])
            sides.append((int(ids.reshape(-1)[place]), run.law(Node(seen.site, operand, None), where)))
        else:
            sides.append(rational(np.broadcast_to(operand, shape).reshape(-1)[place]))
    operation, (left, right) = seen.operation, sides
    if not isinstance(left, tuple):
        left, right, operation = right, left, FLIPPED[operation]
    return Bound(left, right, outcome == operation.startswith("greater"), seen.site)


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
    units = {unit for bound in group for unit in _units(bound)}
    if any(law.family not in SHIFT_LAWS for bound in group for law in _laws(bound)):
        return None
    if len(units) == 1:
        return max(0.0, _between(group))
    hubs = set.intersection(*(set(_units(bound)) for bound in group if isinstance(bound.right, tuple)))
    if not hubs:
        return None
    hub = min(
        hubs, key=lambda unit: sum(unit in _units(bound) for bound in group if not isinstance(bound.right, tuple))
    )
    law = next(law for bound in group for unit, law in _sides(bound) if unit == hub)
    at, masses = _grid(law, group)
    chances = np.ones_like(at)
    for unit in units - {hub}:
        chances *= _given(unit, hub, [bound for bound in group if unit in _units(bound)], at)
    for bound in group:
        if _units(bound) == [hub]:
            above = at > float(bound.right)  # type: ignore[arg-type]
            chances *= above if bound.above else ~above
    return float((masses * chances).sum())


def _between(group: Sequence[Bound]) -> float:
    """P[the noisy number lies between all thresholds]."""
    law = group[0].left[1]
    low = max((float(one.right) for one in group if one.above), default=-math.inf)  # type: ignore[arg-type]
    high = min((float(one.right) for one in group if not one.above), default=math.inf)  # type: ignore[arg-type]
    return _interval(law, low, high)


def _interval(law: Law, low: Any, high: Any) -> Any:
    """P[low < noisy ≤ high]; the bounds may be arrays."""
    if not law.scale:
        centre = float(law.centre)
        return np.asarray((low < centre) & (centre <= high), dtype=float)
    scale, centre = float(law.scale), float(law.centre)
    ends = [_tails(law.family, np.atleast_1d(np.asarray(end, dtype=float)) - centre, scale) for end in (low, high)]
    by_upper, by_lower = ends[0][1] - ends[1][1], ends[1][0] - ends[0][0]
    masses = np.where(ends[0][1] < 0.5, by_upper, by_lower)
    return np.maximum(masses, 0.0) if np.ndim(low) or np.ndim(high) else float(max(masses[0], 0.0))


def _given(unit: int, hub: int, group: Sequence[Bound], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """How probable a draw's comparisons are, given the value of the one that it shares with others."""
    low, high = np.full_like(at, -np.inf), np.full_like(at, np.inf)
    law = next(law for bound in group for number, law in _sides(bound) if number == unit)
    for bound in group:
        threshold: Any = at if hub in _units(bound) else float(bound.right)  # type: ignore[arg-type]
        if bound.above == (bound.left[0] == unit):
            low = np.maximum(low, threshold)
        else:
            high = np.minimum(high, threshold)
    return np.asarray(_interval(law, low, high))


def _grid(law: Law, group: Sequence[Bound]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middles and the masses of cells of the shared draw, fine wherever a noisy value may lie."""
    scale = float(law.scale)
    thresholds = [float(bound.right) for bound in group if not isinstance(bound.right, tuple)]
    spread = np.sinh(np.linspace(-np.arcsinh(REACH), np.arcsinh(REACH), POINTS))
    middles = {float(one.centre): float(one.scale) for bound in group for one in _laws(bound)}
    edges = np.unique(
        np.concatenate([*(centre + spread * (own or scale) for centre, own in middles.items()), thresholds])
    )
    edges = edges[np.abs(edges) < 1e300]
    masses = _interval(law, edges[:-1], edges[1:])
    return (edges[:-1] + edges[1:]) / 2, masses


def argmax_law(laws: Sequence[Law], smallest: bool = False) -> Law | None:
    """The law of the place of the largest of noisy values, or of the smallest."""
    if not laws or any(law.family not in SHIFT_LAWS or law.family == DISCRETE_LAPLACE or not law.scale for law in laws):
        return None
    scales = {law.scale for law in laws}
    if all(law.family == GUMBEL for law in laws) and len(scales) == 1 and not smallest:
        scale = scales.pop()
        top = max(law.centre for law in laws)
        weights = np.exp([float((law.centre - top) / scale) for law in laws])
        return Law(CATEGORICAL, weights=tuple((weights / weights.sum()).tolist()))
    centre = [float(law.centre) for law in laws]
    spread = np.sinh(np.linspace(-np.arcsinh(REACH), np.arcsinh(REACH), POINTS))
    edges = np.unique(np.concatenate([at + spread * float(law.scale) for at, law in zip(centre, laws, strict=True)]))
    middle = (edges[:-1] + edges[1:]) / 2
    masses = np.array([_interval(law, edges[:-1], edges[1:]) for law in laws])
    ends = (np.full_like(middle, -np.inf), middle) if not smallest else (middle, np.full_like(middle, np.inf))
    chances = np.array([_interval(law, *ends) for law in laws])
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(chances, 1e-300))
    others = np.exp(logs.sum(axis=0) - logs)
    weights = (masses * others).sum(axis=1)
    return Law(CATEGORICAL, weights=tuple((weights / weights.sum()).tolist()))


def selections(run: Session) -> list[tuple[Seen, Law | None, list[int]]]:
    """The choices of a run: each with its law, and the draws that it rests on."""
    chosen: list[tuple[Seen, Law | None, list[int]]] = []
    for seen in run.seen:
        if seen.kind == "argmax":
            tag = seen.operands[0]
            units = tag.ids.reshape(-1).tolist()
            laws = [run.law(Node(seen.site, tag, None), place) for place in range(len(units))]
            single = np.size(seen.outcome) == 1
            chosen.append((seen, argmax_law(laws, seen.operation == "argmin") if single else None, units))
        elif seen.kind == "categorical":
            chosen.append((seen, Law(CATEGORICAL, weights=tuple(np.ravel(seen.operands[0]).tolist())), []))
        elif seen.kind == "search":
            tag, ends = seen.operands
            laws = [run.law(Node(seen.site, tag, None), place) for place in range(tag.ids.size)]
            for law in laws:
                tails = _tails(law.family, np.asarray(ends, dtype=float) - float(law.centre), float(law.scale or 1))[0]
                weights = np.diff(np.concatenate([[0.0], tails, [1.0]]))
                chosen.append((seen, Law(CATEGORICAL, weights=tuple(weights.tolist())), tag.ids.reshape(-1).tolist()))
    return chosen


def is_scan(group: Sequence[Bound]) -> bool:
    """Whether comparisons are those of Python's `max` over noisy values: one fewer than there are values."""
    units = {unit for bound in group for unit in _units(bound)}
    return all(isinstance(one.right, tuple) for one in group) and len(group) == len(units) - 1 > 0


def scanned_law(group: Sequence[Bound]) -> Law | None:
    """The law of the place that such a scan gives."""
    laws = {unit: law for bound in group for unit, law in _sides(bound)}
    first = group[0]
    winners = [one.left[0] if one.above else one.right[0] for one in group]  # type: ignore[index]
    smallest = len(group) > 1 and winners[0] not in _units(group[1])
    del first
    return argmax_law([laws[unit] for unit in sorted(laws)], smallest)


def _sides(bound: Bound) -> list[tuple[int, Law]]:
    return [bound.left, bound.right] if isinstance(bound.right, tuple) else [bound.left]


def _units(bound: Bound) -> list[int]:
    return [unit for unit, _ in _sides(bound)]


def _laws(bound: Bound) -> list[Law]:
    return [law for _, law in _sides(bound)]
