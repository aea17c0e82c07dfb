"""What noise decides: comparisons and choices, their laws on both inputs, and what the output tells of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.replay import laws, paths
from attacklab.replay.compare import NOISES
from attacklab.replay.laws import GUMBEL, UNIFORM, Excess, Law, near
from attacklab.replay.outputs import leaves, skeleton
from attacklab.replay.paths import Bound, sides_of, units_of
from attacklab.replay.session import Script, Session, Site

if TYPE_CHECKING:
    from attacklab.replay.compare import Moved
    from attacklab.replay.judge import Pair
    from attacklab.replay.ways import Ways

QUADRATURE_ERROR = Fraction(1, 20_000)
"""Integrals over shared noise are nearer to the truth than this part of it, up to gaps of 12 scales."""


@dataclass(frozen=True)
class Choice:
    """Something that noise decides, with its laws on both inputs.

    Attributes:
        site: where.
        pair: the two laws.
        what: it in words.
        group: the comparisons that it is made of, if it is made of any.
        decisive: the draws that decide it, where no comparisons are given.
        is_exact: whether its laws were found without integrals.
        came: how probable on both inputs what came out in the first run is; empty where that is not known.
    """

    site: Site
    pair: tuple[Law, Law]
    what: str
    group: tuple[Bound, ...] = field(default=(), compare=False)
    decisive: frozenset[int] = field(default=frozenset(), compare=False)
    is_exact: bool = field(default=False, compare=False)
    came: tuple[float, ...] = field(default=(), compare=False)

    @property
    def draws(self) -> set[int]:
        """The draws that are known to decide it."""
        return {*units(self.group), *self.decisive}

    @property
    def given(self) -> set[int]:
        """The draws whose noisy numbers the output holds, and on which its laws rest."""
        return {unit for bound in self.group for unit in bound.given}

    @property
    def certain_pair(self) -> tuple[Law, Law]:
        """The two laws as near to each other as the error of integrals allows."""
        return self.pair if self.is_exact else _nearer(self.pair)

    @property
    def as_it_came(self) -> Choice:
        """What came out alone, with probabilities as near to each other as that."""
        pair = laws.outcome_of(self.came[0]), laws.outcome_of(self.came[1])
        return replace(self, pair=pair if self.is_exact else _nearer(pair), is_exact=True)

    @property
    def is_unbounded(self) -> bool:
        """Whether one input alone has one of the outcomes."""
        return laws.largest_loss(*self.pair) == math.inf

    def worst(self) -> tuple[float, float]:
        """The probabilities of the outcome that tells the most, and of those the most probable one."""
        sides = list(zip(self.pair[0].weights, self.pair[1].weights, strict=True))
        return max(sides, key=lambda both: (near(laws.largest_ratio(both[:1], both[1:])), max(both)))


def _nearer(pair: tuple[Law, Law]) -> tuple[Law, Law]:
    """Two laws of a choice that are nearer to each other by the error of integrals."""
    apart = float(QUADRATURE_ERROR)
    sides = []
    for own, other in (pair, pair[::-1]):
        weights = [
            max(p * (1 - apart), min(p, q)) if p > q else min(p * (1 + apart), max(p, q))
            for p, q in zip(own.weights, other.weights, strict=True)
        ]
        sides.append(Law(own.family, weights=tuple(weights)) if weights else own)
    return sides[0], sides[1]


class Choices:
    """The choices of the two runs of a pair.

    Attributes:
        found: those whose laws are not the same on both inputs.
        unjudged: what has no law here.
        placed: draws that are judged here.
        redrawn: those of numbers that are drawn again until they please.
    """

    def __init__(self, pair: Pair, moved: Sequence[Moved]) -> None:
        self.pair = pair
        self.found: list[Choice] = []
        self.unjudged: list[str] = []
        self.placed: set[int] = set()
        self.redrawn: set[int] = set()
        self._alone: list[tuple[Bound, bool]] = []
        self._still: list[list[Bound]] = []
        self._chance = 1.0
        if pair.ways is not None and self._keep_ways(pair.ways):
            return
        self._leave_out(moved)
        self._redraw(moved)
        chosen = self._selections()
        sides = [paths.bounds_of(run, pair.shown, self.redrawn) for run in (pair.first, pair.second)]
        if sides[0] is None or sides[1] is None:
            self.unjudged.append("noise is compared in a way that has no law here")
            return
        groups = [
            {
                frozenset(units(group)): group
                for group in paths.grouped([one for one in side if one.left[0] not in chosen])
            }
            for side in sides
            if side is not None
        ]
        for key, group in groups[0].items():
            match = groups[1].get(key)
            if match is not None and len(match) == len(group):
                self._compare(group, match)
        for is_second, (own, other) in enumerate((groups, groups[::-1])):
            self._alone += [
                (group[0], bool(is_second)) for key, group in own.items() if key not in other and len(group) == 1
            ]

    def _leave_out(self, moved: Sequence[Moved]) -> None:
        """Leave out uniform numbers where draws decide something: perhaps the intervals that they lie in."""
        for one in moved if any(True for _ in looked_at(self.pair.first)) else ():
            if one.first.family == one.second.family == UNIFORM:
                self.placed.add(one.unit)
                self.unjudged.append(f"{one.node.site} adds to a uniform number, in an interval that noise may choose")

    def _redraw(self, moved: Sequence[Moved]) -> None:
        """Keep the laws of numbers that are drawn again until they please."""
        from attacklab.replay.rejection import redrawn  # which imports this

        for one in moved:
            found = redrawn(self.pair, one.unit) if one.unit in self.pair.shown else None
            if found is not None and found.laws is None:
                self.unjudged.append(
                    f"{found.site} lets a number that is shown be drawn again, in rounds that are not alike"
                )
            elif found is not None and found.laws is not None:
                self.redrawn |= found.draws
                what = f"number that is drawn again until it is accepted at {found.site}"
                self._keep(Choice(found.site, found.laws, what, decisive=found.draws, is_exact=True))
        self.placed |= self.redrawn

    def _selections(self) -> set[int]:
        """Keep choices with a law of their own; gives the draws that they rest on."""
        chosen: set[int] = set()
        sides = [paths.selections(run) for run in (self.pair.first, self.pair.second)]
        for (seen, law, drawn, outcome), (seen_2, law_2, *_) in zip(*sides, strict=False):
            is_reused = law is not None and not chosen.isdisjoint(drawn)  # only Gumbel noise forgets what it decided
            if is_reused and any(self.pair.first.owner(unit)[0].family != GUMBEL for unit in drawn):
                law = None
            chosen.update(drawn)
            if (
                seen.kind == "categorical"
                and law is law_2 is None
                and np.array_equal(*(one.operands[0] for one in (seen, seen_2)))
            ):
                self._chance = 0.0  # many at once, that come as they do on either input
            elif (
                law is None
                or law_2 is None
                or seen.site[:2] != seen_2.site[:2]
                or len(law.weights) != len(law_2.weights)
            ):
                self.unjudged.append(f"{seen.site} chooses by noise in a way that has no law here")
            else:
                what, came = f"{seen.kind} at {seen.site}", (law.weights[outcome], law_2.weights[outcome])
                is_exact = {self.pair.first.owner(unit)[0].family for unit in drawn} <= {GUMBEL}
                self._keep(Choice(seen.site, (law, law_2), what, (), frozenset(drawn), is_exact, came))
        return chosen

    def _keep(self, choice: Choice) -> None:
        loss = near(laws.largest_loss(*choice.pair))
        if loss > 1e-9:
            self.found.append(choice)
        elif choice.came:
            self._chance *= choice.came[0]

    def _compare(self, group: list[Bound], match: list[Bound]) -> None:
        if all(one.left == other.left and one.right == other.right for one, other in zip(group, match, strict=True)):
            self._still.append(group)
            return
        what = f"comparison at {group[0].site}"
        chances = [paths.probability(side) for side in (group, match)]
        is_scan = len(group) > 1 and all(map(paths.is_scan, (group, match))) and self.pair.always_scans(group)
        if is_scan or chances[0] is None or chances[1] is None:
            scanned = [paths.scanned_law(side) for side in (group, match)]
            if scanned[0] is None or scanned[1] is None:
                self.unjudged.append(f"{group[0].site} compares noisy values in a way that has no law here")
            else:
                winner = paths.winner_of(group)
                came = scanned[0].weights[winner], scanned[1].weights[winner]
                draws = frozenset(units(group))
                self._keep(Choice(group[0].site, (scanned[0], scanned[1]), what, decisive=draws, came=came))
            return
        best = laws.coin(chances[0]), laws.coin(chances[1])
        if 1 < len(group) <= paths.MOST and self._may_exceed(group, match):
            others = (self._leaning(group, match, sign) for sign in (1, -1))
            best = max([best, *filter(None, others)], key=lambda pair: near(laws.largest_loss(*pair)))
        self._keep(Choice(group[0].site, best, what, tuple(group), came=(chances[0], chances[1])))

    def _keep_ways(self, ways: Ways) -> bool:
        """Keep what the output tells by the draws that decide it; whether nothing but they can change that."""
        if ways.is_certain:
            self.placed |= ways.placed
            self._keep(ways.choice)
        elif self.pair.excess([ways.choice.pair]) is not None:
            self.unjudged.append(f"{ways.choice.site} compares values with noise, which other draws may hide")
        return ways.is_certain

    def _may_exceed(self, group: list[Bound], match: list[Bound]) -> bool:
        """Whether the draws of these comparisons together could lose more than is claimed."""
        pairs: dict[int, tuple[Law, Law]] = {}
        for one, other in zip(group, match, strict=True):
            pairs |= {
                unit: (law, law_2) for (unit, law), (_, law_2) in zip(sides_of(one), sides_of(other), strict=True)
            }
            if not isinstance(one.right, tuple) and one.right != other.right:
                return True
        return self.pair.excess(list(pairs.values())) is not None or any(
            one.right != two.right for one, two in zip(group, match, strict=True)
        )

    def _leaning(self, group: list[Bound], match: list[Bound], sign: int) -> tuple[Law, Law] | None:
        """The outcomes that lean the most to one input, made to happen, as far as the output shows them."""
        leans = [sign * (lean(one) - lean(other)) for one, other in zip(group, match, strict=True)]
        toward = steered(self.pair.first, group, [one > 0 for one in leans])
        pair = self.pair
        first = pair.again(toward)
        second = pair.runs.run(pair.pair.second, Session(pair.seed + 1, Script(first)))
        sides = [paths.bounds_of(run, pair.shown) for run in (first, second)]
        if sides[0] is None or sides[1] is None or len(sides[0]) != len(sides[1]) or len(sides[0]) > paths.MOST:
            return None
        base = skeleton(first.output)
        told = []
        for place, bound in enumerate(sides[0]):
            flip = steered(first, sides[0], [one.above != (number == place) for number, one in enumerate(sides[0])])
            if set(units_of(bound)) & set(units(group)) and skeleton(pair.again({**toward, **flip}).output) != base:
                told.append(place)
        chances = [paths.probability([side[place] for place in told]) for side in sides if side and told]
        if len(chances) < 2 or chances[0] is None or chances[1] is None:
            return None
        return laws.coin(chances[0]), laws.coin(chances[1])

    def is_revealed(self, choice: Choice, *, floats: bool = False) -> bool:
        """Whether the output tells how a comparison came out: another outcome gives another than a number in it.

        Args:
            choice: of which the comparisons are.
            floats: whether another number counts too.
        """
        if not choice.group:
            return True
        base = skeleton(self.pair.first.output, floats=floats)
        for place, bound in enumerate(choice.group):
            if len(set(units(choice.group))) == 1:
                changes = steered(self.pair.first, [bound], [not bound.above])
            else:
                wanted = [one.above != (number == place) for number, one in enumerate(choice.group)]
                changes = steered(self.pair.first, choice.group, wanted)
            if skeleton(self.pair.again(changes).output, floats=floats) != base:
                return True
        return False

    def is_alone(self, choice: Choice) -> bool:
        """Whether no other draw decides anything: a coin that is tossed besides, or a further round, hides more."""
        if self.pair.ways is not None and self.pair.ways.choice is choice:
            return True
        run = self.pair.first
        drawn = {int(unit) for call in run.calls if call.weights and call.site != choice.site for unit in call.ids.flat}
        others = {*looked_at(run), *drawn} - choice.draws - self.pair.shown.keys()
        return not others and not self.pair.runs.is_endless

    def thresholds(self) -> Iterator[dict[str, Any]]:
        """Findings of comparisons that only one input has: a key that one person brings, and what hides it."""
        runs = self.pair.first, self.pair.second
        drawn = [{unit for call in run.calls if call.family in NOISES for unit in call.ids.flat} for run in runs]
        for bound, is_second in self._alone:
            if not drawn[not is_second] <= drawn[is_second]:
                self.pair.outcome.unjudged.append(f"{bound.site} compares noise that is drawn on one input alone")
                continue
            chance = self._chance_shown(bound, is_second)
            allowed = self.pair.claim.delta_at(self.pair.claim.nominal.epsilon)
            if chance is not None and chance > allowed * (1 + laws.ROUNDING_SLACK) + 2.0**-52:
                value = laws.text_of(bound.left[1].centre)
                yield {
                    "flaw": "a part of the output that only one person brings is shown too often",
                    "reason": f"a value of {value}, which only one input has, is compared at {bound.site} with "
                    f"{laws.text_of(bound.right)} under noise, and shown with probability {chance:.6g}; "  # type: ignore[arg-type]
                    f"the claim allows δ = {allowed:.6g}",
                    "site": bound.site,
                    "excess": Excess(
                        f"δ = {chance:.6g}", f"δ = {allowed:.6g}", None, chance, self.pair.claim.nominal.epsilon
                    ),
                    "event": "the output has that part",
                }

    def chance_of_the_rest(self) -> float | None:
        """How probable it is that all that is decided alike on both inputs came out as it did; None if not known."""
        chance = self._chance
        for group in self._still:
            one = paths.probability(group)
            scanned = paths.scanned_law(group) if one is None else None
            if one is None and scanned is None:
                return None
            chance *= one if scanned is None else scanned.weights[paths.winner_of(group)]  # type: ignore[operator] # one is there
        return chance

    def _chance_shown(self, bound: Bound, is_second: bool) -> float | None:
        """How probable it is that a comparison of one input alone shows in the output; None where it never does."""
        pair = self.pair
        run, other = (pair.second, pair.first) if is_second else (pair.first, pair.second)
        (unit, law), chance = bound.left, paths.probability([bound])
        call, at = run.owner(unit)
        number = run.number_of(call)
        if chance is None or number is None or law.family == UNIFORM or not isinstance(bound.right, Fraction):
            return None
        above = chance if bound.above else 1 - chance
        without = [leaf.path for leaf in leaves(other.output)]
        same = {}
        for up in (True, False):
            output = pair.again({number: {at: beyond(bound, unit, up)}}, second=is_second, kept=not is_second).output
            same[up] = [leaf.path for leaf in leaves(output)] == without
        if same[True] and same[False]:
            return None
        if not same[False] and not same[True]:
            pair.outcome.unjudged.append(f"{bound.site} compares noise on one input alone, with more that differs")
            return None
        return above if same[False] else 1 - above


def way_of(pair: Pair, run: Session, skipped: Collection[int]) -> tuple[Any, ...]:
    """How all that noise decides came out in a run: of values that `max` or `min` goes through, which one it gave.

    Args:
        pair: whose run it is.
        run: the run.
        skipped: draws whose comparisons are left out.
    """
    chosen: list[tuple[Any, ...]] = [(one.seen.site[:3], one.outcome) for one in paths.selections(run)]
    bounds = paths.bounds_of(run, {}, skipped)
    if bounds is None:
        compared = [one for one in run.seen if one.kind == "compare" and not {*skipped}.issuperset(one.draws())]
        return (*chosen, *((one.site[:3], *np.ravel(one.outcome).tolist()) for one in compared))
    for group in paths.grouped(bounds):
        if len(group) > 1 and paths.is_scan(group) and pair.always_scans(group):
            chosen.append((group[0].site[:3], paths.winner_of(group)))
        else:
            chosen += [(bound.site[:3], bound.above) for bound in group]
    return tuple(chosen)


def law_of(run: Session, unit: int) -> Law | None:
    """The law of a draw where it is used last; None where it is not used at all."""
    used = [(node, place) for one, node, place in run.elements() if one == unit]
    return run.law(*used[-1]) if used else None


def steered(run: Session, group: Sequence[Bound], wanted: Sequence[bool]) -> dict[int, dict[int, float]]:
    """Changes of draws with which comparisons come out as wanted, as far as each has a draw of its own."""
    counts: dict[int, int] = defaultdict(int)
    for unit in units(group):
        counts[unit] += 1
    changes: dict[int, dict[int, float]] = defaultdict(dict)
    for bound, above in zip(group, wanted, strict=True):
        unit = min(units_of(bound), key=counts.__getitem__)
        call, at = run.owner(unit)
        number = run.number_of(call)
        if number is not None and (counts[unit] == 1 or len(counts) == 1):
            changes[number][at] = beyond(bound, unit, above == (bound.left[0] == unit))
    return dict(changes)


def looked_at(run: Session) -> Iterator[int]:
    """Draws that are compared or selected by."""
    for seen in run.seen:
        if seen.kind != "other":
            yield from seen.draws()


def units(group: Sequence[Bound]) -> list[int]:
    """The draws of some comparisons, each as often as it is compared."""
    return [unit for bound in group for unit in units_of(bound)]


def lean(bound: Bound) -> float:
    """How far the left of a comparison lies above the right, without noise."""
    return near(bound.left[1].centre - (bound.right[1].centre if isinstance(bound.right, tuple) else bound.right))


def beyond(bound: Bound, unit: int, up: bool) -> float:
    """What to add to a draw so that it decides a comparison, whatever the other side is.

    Of a uniform draw, what it is instead.
    """
    place = units_of(bound).index(unit)
    law, factor = sides_of(bound)[place][1], near(bound.factors[place])
    if law.family == UNIFORM and isinstance(bound.right, Fraction):
        threshold = min(1.0, max(0.0, near((bound.right - law.centre) / law.scale)))
        return ((1 + threshold) / 2 if up else threshold / 2) * near(law.scale) / (factor or 1.0)
    distance = abs(lean(bound)) + 60 * max(near(one.scale) for _, one in sides_of(bound)) + 60 * near(law.scale)
    return math.copysign(distance, 1 if up else -1) / (factor or 1.0)
