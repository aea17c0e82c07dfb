"""Noisy numbers that share draws, judged together: they are y = c(D) + M·z, with independent draws z of known laws.

With M the same on both inputs, data that moves c by Δ is as good as draws that move by s, where M·s = Δ:

- Δ outside the range of M: some sum of the numbers has no noise, and is another one on either input;
- all draws Gaussian: μ² is the least ‖s‖² in units of the draws' σ, exactly;
- one s alone: the numbers tell each draw but for what it moved by, so they lose what the shifts of s lose;
- several: each of them bounds the loss from above, as y follows from draws so moved. From below it is bounded by the
  draws that the numbers tell alone, and by sums of the numbers that hold Gaussian draws alone. A pure ε of noise with
  exponential tails is the least Σ|s|/b, a linear programme: the solution of the dual one is a sum of the numbers whose
  tails lose as much.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from attacklab.model.claims import Claim
from attacklab.replay import laws
from attacklab.replay.compare import FEW_SEEDS, Moved, alike, held_numbers
from attacklab.replay.laws import (
    DISCRETE,
    DISCRETE_LAPLACE,
    EXPONENTIAL,
    GAUSSIAN,
    LAPLACE,
    LOGISTIC,
    SHIFT_LAWS,
    TABLE,
    Excess,
    Law,
    near,
)
from attacklab.replay.outputs import leaves, number_of
from attacklab.replay.session import BEYOND, Affine, Call, Node, Session, Site
from attacklab.replay.traced import GEOMETRIC

if TYPE_CHECKING:
    from attacklab.replay.judge import Pair

Floats = NDArray[np.float64]

OF_TWO = {EXPONENTIAL: LAPLACE, GEOMETRIC: DISCRETE_LAPLACE}
"""The law of the difference of two draws of one law."""

NO_NOISE, LEAST_NOISE = 1e-12, 1e-7
"""Sums of the numbers with less noise than the first have none, in shares of the most that one has.

Those with less than the second have too little to tell it from none by doubles, and are not judged.
"""

ROUNDED = 256
"""So many roundings of its last digit are taken for what rounding may have done to a number."""

MOST_DRAWS = 512
"""Numbers that hang together by more draws than that are not judged together."""

MOST_TERMS = 6
"""So many terms of a sum are told."""

FAR = 64.0
"""What is so many times as large as rounding makes it is not rounding."""

SMALL_SHIFT = 1e-9
"""A draw that moves by less, in units of its scale and of the largest shift, does not move."""


@dataclass(frozen=True)
class Explained:
    """What moves numbers that share draws, as shifts of the draws, each in the order of these.

    Attributes:
        least: the numbers lose at least what these lose.
        most: the numbers lose at most what any of these lose; empty where no bound is known.
        bare: the weights of a sum of the numbers that has no noise, and differs; None where there is none.
    """

    least: Floats
    most: tuple[Floats, ...] = ()
    bare: Floats | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the two bounds are one."""
        return any(one is self.least for one in self.most)


def explained(
    factors: Floats, apart: Floats, draws: Sequence[Law], rounding: Floats, *, is_pure: bool
) -> Explained | None:
    """The shifts of draws that stand for a move of what they are added to; None where rounding leaves it open.

    Args:
        factors: M, a row for each number and a column for each draw.
        apart: Δ, how far each number moves without its noise.
        draws: their laws, without a factor.
        rounding: how large the error of each of Δ is at most.
        is_pure: whether the claim is a pure ε.
    """
    scales = np.array([near(law.scale) for law in draws])
    sized = factors * scales
    norms = np.linalg.norm(sized, axis=1)
    norms[norms == 0] = 1.0
    sized, apart, rounding = sized / norms[:, None], apart / norms, rounding / norms
    left, sizes, right = np.linalg.svd(sized, full_matrices=False)
    is_noise = sizes > NO_NOISE * sizes.max(initial=0.0)
    if (sizes[is_noise] < LEAST_NOISE * sizes.max(initial=0.0)).any():
        return None
    left, sizes, right = left[:, is_noise], sizes[is_noise], right[is_noise]
    seen = left.T @ apart
    evenly = right.T @ (seen / sizes)
    rest = apart - left @ seen
    gap, error = float(rest @ rest), float(np.abs(rest) @ rounding) * (1 + float(np.abs(evenly).sum()))
    if gap > FAR * error:
        weights = rest / norms
        largest = weights[np.abs(weights).argmax()]
        return Explained(np.zeros(len(draws)), (), np.round(weights / largest, 9))
    if gap > error:
        return None
    evenly = _cleared(evenly)
    families = np.array([law.family for law in draws])
    is_gaussian, has_law = families == GAUSSIAN, np.isin(families, SHIFT_LAWS)
    if is_gaussian.all() or (len(sizes) == len(draws) and not evenly[~has_law].any()):
        return _exactly(evenly * scales)
    if len(sizes) == len(draws):
        return Explained(np.where(has_law, evenly, 0.0) * scales)
    sums = left.T @ sized
    lightly = _least_sum(sums, seen, has_law & ~is_gaussian)
    if is_pure and lightly is not None and np.isin(families, (LAPLACE, LOGISTIC, GAUSSIAN)).all():
        return _exactly(lightly * scales)
    is_told = np.isclose((right**2).sum(axis=0), 1.0, rtol=0, atol=1e-9)
    least = np.where(is_told & has_law & ~is_gaussian, evenly, 0.0)
    free = linalg.null_space(sized[:, ~is_gaussian].T, rcond=1e-9).T
    least[is_gaussian] = _cleared(np.linalg.lstsq(free @ sized[:, is_gaussian], free @ apart, rcond=1e-9)[0])
    most = [lightly, _least_sum(sums, seen, has_law), None if evenly[~has_law].any() else evenly]
    return Explained(least * scales, tuple(one * scales for one in most if one is not None))


def _exactly(shifts: Floats) -> Explained:
    return Explained(shifts, (shifts,))


def _least_sum(sums: Floats, seen: Floats, is_used: NDArray[np.bool_]) -> Floats | None:
    """The shifts of some draws with the least sum of sizes, in units of their scales; None where there are none."""
    used = sums[:, is_used]
    if not is_used.any():
        return None
    found = optimize.linprog(np.ones(2 * used.shape[1]), A_eq=np.hstack([used, -used]), b_eq=seen, method="highs")
    if not found.success:
        return None
    by = found.x[: used.shape[1]] - found.x[used.shape[1] :]
    is_moved = np.abs(by) > SMALL_SHIFT * np.abs(by).max(initial=0.0)
    exact, *_ = np.linalg.lstsq(used[:, is_moved], seen, rcond=None)
    if not np.allclose(used[:, is_moved] @ exact, seen, rtol=1e-9, atol=1e-9 * np.abs(seen).max(initial=0.0)):
        return None
    shifts, places = np.zeros(len(is_used)), np.flatnonzero(is_used)[is_moved]
    shifts[places] = exact
    return shifts


def _cleared(shifts: Floats) -> Floats:
    return np.where(np.abs(shifts) > SMALL_SHIFT * max(1.0, np.abs(shifts).max(initial=0.0)), shifts, 0.0)


def in_pairs(columns: Floats, draws: Sequence[Law]) -> tuple[list[int], list[Law]]:
    """The columns that stand for all, with their laws: two draws of one side that are always subtracted make one."""
    kept: list[int] = []
    made: list[Law] = []
    for place, law in enumerate(draws):
        for at, before in enumerate(kept):
            is_alike = law == made[at] and law.family in OF_TWO
            if is_alike and np.array_equal(columns[:, place], -columns[:, before]):
                made[at] = Law(OF_TWO[law.family], law.centre, law.scale)
                break
        else:
            kept.append(place)
            made.append(law)
    return kept, made


def are_alike(one: Floats, other: Floats) -> bool:
    """Whether two matrices have the same columns but for rounding, in any order."""
    if one.shape != other.shape:
        return False
    size = np.abs(one).max(initial=0.0)
    first, second = (sorted(np.round(matrix / (size or 1.0), 9).T.tolist()) for matrix in (one, other))
    return bool(np.allclose(first, second, rtol=0, atol=1e-8))


@dataclass(frozen=True)
class Number:
    """A released number on both inputs, as a value and a sum of draws.

    Attributes:
        path: where in the output it is.
        nodes: the noisy values that it is, each with the place in it.
        values: it without its noise.
        sums: its noise: by the number of each draw, the factor.
        is_whole: whether nothing was taken away from the sum, as its sign.
        rounding: how large the error of how far it moves is at most.
    """

    path: str
    nodes: tuple[tuple[Node, int], tuple[Node, int]]
    values: tuple[Fraction, Fraction]
    sums: tuple[dict[int, float], dict[int, float]]
    is_whole: bool
    rounding: float


@dataclass
class Group:
    """Released numbers that share draws, and what they lose together.

    Attributes:
        numbers: they.
        least: draws that move: the numbers lose at least what these lose.
        most: sets of such draws: the numbers lose at most what any of these lose.
        is_exact: whether the two bounds are one.
        terms: a sum in which the noise cancels, and which differs between the inputs; empty if there is none.
        is_adaptive: whether numbers also follow earlier ones, so that the moves of the draws were found by trying.
    """

    numbers: list[Number]
    least: list[Moved] = field(default_factory=list)
    most: list[list[Moved]] = field(default_factory=list)
    is_exact: bool = False
    terms: list[Term] = field(default_factory=list)
    is_adaptive: bool = False

    @property
    def site(self) -> Site:
        """Where the last of the numbers is made."""
        return self.numbers[-1].nodes[0][0].site

    @property
    def units(self) -> set[int]:
        """By which numbers its noisy values are known on the first input."""
        return {int(node.affine.ids.reshape(-1)[place]) for node, place in (one.nodes[0] for one in self.numbers)}


class Shared:
    """The released numbers of a pair that share draws, or hold sums of draws that have no law of their own.

    Args:
        pair: whose runs were compared.
        placed: draws that are judged elsewhere.

    Attributes:
        unsteady_paths: where the numbers are that follow other noise and were left out of their groups.
    """

    def __init__(self, pair: Pair, placed: set[int]) -> None:
        self.pair = pair
        self.groups = [
            found
            for numbers in _groups(pair)
            if placed.isdisjoint(draw for one in numbers for draw in one.sums[0])
            and (found := _judged(pair, numbers)) is not None
        ]
        self.unsteady_paths: set[str] = set()
        self._others: list[tuple[Session, dict[str, tuple[Node, int]]]] | None = None
        if self.astray() is not None:
            from attacklab.replay.adaptive import realigned  # which imports this

            self.groups = [realigned(pair, group) or group for group in self.groups]

    @property
    def units(self) -> set[int]:
        """The numbers of the noisy values that are judged here."""
        return set().union(*(group.units for group in self.groups))

    @property
    def loose(self) -> list[Group]:
        """The groups whose bounds are not one."""
        return [group for group in self.groups if not group.is_exact]

    @property
    def least(self) -> list[Moved]:
        """Draws that move, of all groups: the outputs lose at least what these lose."""
        return [one for group in self.groups for one in group.least]

    def bounds_above(self, known: Sequence[Moved]) -> list[list[tuple[Law, Law]]]:
        """Bounds from above on what known numbers lose with those of all groups; none where a group has none."""
        least = {id(one) for group in self.groups for one in group.least}
        rest = [one.pair for one in known if id(one) not in least]
        counts = [len(group.most) for group in self.groups]
        sides = [
            [one for group in self.groups for one in group.most[min(way, len(group.most) - 1)]]
            for way in range(max(counts, default=1) if all(counts) else 0)
        ]
        return [[*rest, *(one.pair for one in side)] for side in sides]

    def astray(self) -> str | None:
        """A released number that is not the same once the draws are moved back, in words; None where all are.

        Then it follows the draws, or the data, in another way than the sums tell.
        """
        first, second, changes = self.pair.first, self.pair.second, dict[int, dict[int, Any]]()
        groups = [one for one in self.groups if one.most and len(one.numbers) > 1 and not one.is_adaptive]
        for one in [one for group in groups for one in group.most[0]]:
            call, at = second.owner(one.unit)
            place, by = second.number_of(call), one.first.centre - one.second.centre
            if place is None:
                return None
            is_whole = np.asarray(call.raw).dtype.kind in "iu"
            changes.setdefault(place, {})[at] = int(by) if is_whole else near(by)
        if not changes:
            return None
        run = self.pair.again(changes, second=True, values=False)
        sides = [{leaf.path: number_of(leaf.value) for leaf in leaves(side.output)} for side in (first, run)]
        for number in itertools.chain(*(group.numbers for group in groups)):
            before, after = (side.get(number.path, math.nan) for side in sides)
            if not abs(after - before) <= FAR * (number.rounding + ROUNDED * 2.0**-52 * abs(before)):
                return f"{number.path} follows the noise in another way than the sums of draws that it is made of"
        return None

    def unsteady(self) -> list[Moved]:
        """The draws of groups in which their factors follow other noise."""
        return [one for group in self.groups if group.least and not self.is_steady(group) for one in group.least]

    def steadied(self) -> list[Moved]:
        """Draws that move the numbers of such groups whose own factors are the same: all of them lose no less."""
        found = []
        for group in self.groups:
            if group.least and not self.is_steady(group):
                numbers = [one for one in group.numbers if self.is_steady(Group([one]))]
                self.unsteady_paths |= {one.path for one in group.numbers} - {one.path for one in numbers}
                rest = _judged(self.pair, numbers)
                found += rest.least if rest is not None and not rest.terms else []
        return found

    def is_steady(self, group: Group) -> bool:
        """Whether the factors of the draws are the same whatever is drawn: else the law of the numbers is a mixture."""
        if self._others is None:
            seeds = range(self.pair.seed + 400, self.pair.seed + 400 + FEW_SEEDS)
            runs = [self.pair.runs.run(self.pair.pair.first, Session(seed)) for seed in seeds]
            self._others = [(run, held_numbers(run)) for run in runs]
        for run, held in self._others:
            known = [one for one in group.numbers if one.path in held]
            sums = [sum_of(run, *held[one.path]) for one in known]
            if not are_alike(_sized(self.pair.first, [one.sums[0] for one in known]), _sized(run, sums)):
                return False
        return True

    def bare_sums(self) -> list[dict[str, Any]]:
        """Findings of sums of released numbers that have no noise."""
        bare = [group for group in self.groups if group.terms]
        unsteady = [group for group in bare if not self.is_steady(group) or not self._is_bare(group.terms)]
        self.pair.outcome.unjudged += [
            f"the noise of answers at {group.site} cancels out in a sum of them" for group in unsteady
        ]
        return [bare_sum(group.terms, group.site, self.pair.claim) for group in bare if group not in unsteady]

    def _is_bare(self, terms: Sequence[Term]) -> bool:
        """Whether a sum of parts is on either input what it is without noise, with other draws as well."""
        weights = {one.path: one.weight for one in terms}
        sides = sum(one.weight * one.first for one in terms), sum(one.weight * one.second for one in terms)
        return self.pair.stays([([weights], side) for side in sides], abs(sides[0] - sides[1]))


class Term(NamedTuple):
    """A part of the output in a sum of them: where it is, its weight, and its values on both inputs without noise."""

    path: str
    weight: float
    first: float
    second: float


def bare_sum(terms: Sequence[Term], site: Site, claim: Claim) -> dict[str, Any]:
    """The finding of a sum of parts of the output that has no noise."""
    told = [one for one in terms if abs(one.weight) > SMALL_SHIFT]
    sides = sum(one.weight * one.first for one in told), sum(one.weight * one.second for one in told)
    text = " ".join(f"{'-' if one.weight < 0 else '+'} {abs(one.weight):.4g}·{one.path}" for one in told[:MOST_TERMS])
    return {
        "flaw": "the noise of several answers cancels out in a sum of them, which shows the data",
        "reason": f"{text.removeprefix('+ ')}{' …' if len(told) > MOST_TERMS else ''} has no noise: it is "
        f"{laws.text_of(sides[0])} on the first input and {laws.text_of(sides[1])} on the second: "
        "probability 1 against 0",
        "site": site,
        "event": "that sum of the answers",
        "shift": Fraction(abs(sides[0] - sides[1])),
        "excess": Excess("probability 1 against 0", str(claim)),
    }


def _groups(pair: Pair) -> list[list[Number]]:
    """Released numbers that hang together by draws, where one rule for each does not do."""
    held = [[*pair.first.draws_of(int(node.affine.ids.flat[place]))] for _, ((node, place), _) in pair.rows]
    columns = {draw: place for place, draw in enumerate(dict.fromkeys(itertools.chain(*held)))}
    if not columns or len(columns) == len(held) == sum(map(len, held)):
        return []
    ends = np.array([(row, columns[draw]) for row, draws in enumerate(held) for draw in draws]).T
    graph = sparse.csr_array((np.ones(ends.shape[1]), ends), shape=(len(held), len(columns)))
    _, labels = sparse.csgraph.connected_components(sparse.block_array([[None, graph], [graph.T, None]]), False)
    groups: dict[int, list[int]] = {}
    for row, label in enumerate(labels[: len(held)].tolist()):
        groups.setdefault(label, []).append(row)
    several = [rows for rows in groups.values() if len(rows) > 1 or len(held[rows[0]]) > 1]
    numbers = [[_number(pair, *pair.rows[row]) for row in rows] for rows in several]
    return [group for group in numbers if len(group) > 1 or pair.first.law(*group[0].nodes[0]).family not in SHIFT_LAWS]


def _number(pair: Pair, path: str, nodes: tuple[tuple[Node, int], tuple[Node, int]]) -> Number:
    sums = sum_of(pair.first, *nodes[0]), sum_of(pair.second, *nodes[1])
    values = nodes[0][0].affine.exact(nodes[0][1])[0], nodes[1][0].affine.exact(nodes[1][1])[0]
    kind = np.asarray(nodes[0][0].result).dtype
    digit = float(np.finfo(kind).eps) if kind.kind == "f" else 2.0**-52
    spread = sum(abs(by) * near(law_of(pair.first, draw).scale) for draw, by in sums[0].items())
    rounding = ROUNDED * digit * max(near(abs(values[0])), near(abs(values[1])), spread)
    return Number(path, nodes, values, sums, not any(node.affine.is_size for node, _ in nodes), rounding)


def sum_of(run: Session, node: Node, place: int) -> dict[int, float]:
    """The noise of a number, by the number of each draw."""
    exact = node.affine.exact(place)[1]
    factor = float(exact) if abs(exact) < BEYOND else math.inf
    draws = run.draws_of(int(node.affine.ids.reshape(-1)[place]))
    return {draw: factor * by for draw, by in draws.items()}


def law_of_draw(call: Call, at: int) -> Law:
    """The law of a draw without the value that it is added to."""
    return Law(call.family, Fraction(0), call.scale_at(at), call.weights if call.family == TABLE else ())


def law_of(run: Session, draw: int) -> Law:
    """The law of a draw, by its number."""
    return law_of_draw(*run.owner(draw))


def _sized(run: Session, sums: Sequence[dict[int, float]]) -> Floats:
    """Sums of draws as a matrix, in units of the draws' scales."""
    draws = list(dict.fromkeys(draw for one in sums for draw in one))
    sizes = [near(law_of(run, draw).scale) for draw in draws]
    return np.array([[one.get(draw, 0.0) * by for draw, by in zip(draws, sizes, strict=True)] for one in sums])


def _judged(pair: Pair, numbers: list[Number]) -> Group | None:
    """What a group loses; None where nothing of it moves, or its values are not finite."""
    if max((abs(value) for one in numbers for value in one.values), default=0) >= BEYOND:
        return None
    draws = list(dict.fromkeys(draw for one in numbers for draw in one.sums[0]))
    whole = [one for one in numbers if one.is_whole]
    if not whole:
        return None
    is_alike = len(draws) <= MOST_DRAWS and all(_is_alike(pair, one) for one in numbers)
    factors = np.array([[one.sums[0].get(draw, 0.0) for draw in draws] for one in whole]).reshape(-1, len(draws))
    if not np.isfinite(factors).all():
        return Group(numbers, _apart(pair, numbers))
    kept, made = in_pairs(factors, [law_of(pair.first, draw) for draw in draws])
    apart = np.array([near(one.values[1] - one.values[0]) for one in whole])
    rounding = np.array([one.rounding for one in whole])
    if is_alike and len(whole) == len(numbers) and (np.abs(apart) <= rounding).all():
        return Group(numbers, [], [[]], True)
    found = explained(factors[:, kept], apart, made, rounding, is_pure=pair.is_pure) if is_alike else None
    if found is None:
        return Group(numbers, _apart(pair, numbers))
    sites = {draw: one.nodes[0][0].site for one in numbers for draw in one.sums[0]}

    def moved(shifts: Floats) -> list[Moved]:
        sides = zip([draws[place] for place in kept], made, shifts.tolist(), strict=True)
        return [moved_draw(draw, sites[draw], law, by) for draw, law, by in sides if by]

    bare = [] if found.bare is None else found.bare.tolist()
    terms = [Term(one.path, weight, *map(near, one.values)) for one, weight in zip(whole, bare, strict=False)]
    most = [moved(one) for one in found.most] if len(whole) == len(numbers) else []
    return Group(whole, moved(found.least), most, found.is_exact and bool(most), terms)


def moved_draw(unit: int, site: Site, law: Law, shift: float) -> Moved:
    """A draw that moves by so much, which is a whole number of steps but for rounding where it is discrete."""
    by = Fraction(round(shift, 9)) if law.family in DISCRETE else Fraction(shift)
    return Moved(unit, law, replace(law, centre=by), Node(site, Affine(np.array(unit)), None))


def _is_alike(pair: Pair, number: Number) -> bool:
    """Whether a number holds the same draws on both inputs, with the same factors and scales."""
    one, other = number.sums
    return one.keys() == other.keys() and all(
        np.isclose(by, other[draw], rtol=2.0**-40, atol=0)
        and law_of(pair.first, draw).family == law_of(pair.second, draw).family
        and alike(law_of(pair.first, draw).scale, law_of(pair.second, draw).scale)
        for draw, by in one.items()
    )


def _apart(pair: Pair, numbers: Sequence[Number]) -> list[Moved]:
    """Numbers of a group that share no draw on either input, so that their losses add up."""
    found = []
    for number in numbers:
        first, second = pair.first.law(*number.nodes[0]), pair.second.law(*number.nodes[1])
        if first != second and {first.family, second.family} <= {*SHIFT_LAWS}:
            node, place = number.nodes[0]
            found.append((Moved(int(node.affine.ids.flat[place]), first, second, node), number))
    kept, used = list[Moved](), (set[int](), set[int]())
    for moved, number in sorted(found, key=lambda both: near(laws.largest_loss(*both[0].pair)), reverse=True):
        if all(side.isdisjoint(draws) for side, draws in zip(used, number.sums, strict=True)):
            kept.append(moved)
            for side, draws in zip(used, number.sums, strict=True):
                side.update(draws)
    return kept
