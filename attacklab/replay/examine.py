"""One pair of neighbours: a run on each, compared call by call and number by number, and judged against the claim."""

from __future__ import annotations

import copy
import difflib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.model.claims import Claim, PrivacyClaim
from attacklab.model.errors import passes_through, text_of
from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay import laws, paths
from attacklab.replay.laws import CATEGORICAL, SHIFT_LAWS, UNIFORM, UNKNOWN, Excess, Law
from attacklab.replay.outputs import Leaf, Raised, differences, leaves, shown
from attacklab.replay.session import NEW, Affine, Call, Ids, Node, Script, Session, Site, rational
from attacklab.replay.sources import BITS, OTHER, SAMPLING
from attacklab.replay.traced import GEOMETRIC, SIGN

FRESH = 3
"""How many other draws are tried where a part of an output may not depend on any."""

MOST_COINS = 64
MOST_ALIGNED = 4096
SELECTION_SLACK = 1e-4
"""What integrals over noise may be off by, as a share."""

NOISES = (*SHIFT_LAWS, GEOMETRIC, SIGN, UNKNOWN, CATEGORICAL, OTHER)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that differs between the runs on two neighbours.

    Attributes:
        flaw: what it shows, in one line.
        reason: what was measured.
        site: the line to look at.
        is_certain: whether it refutes the claim; else it is a note.
        excess: what is lost and what is claimed, where that can be said.
        call: the draw.
        shift: how far apart the two values are that noise is added to.
        event: outputs that are more probable than the claim allows, in words.
    """

    flaw: str
    reason: str
    site: Site
    is_certain: bool = True
    excess: Excess | None = None
    call: str = ""
    shift: Fraction | None = None
    event: str = ""


@dataclass
class Outcome:
    """What the runs on a pair showed.

    Attributes:
        differences: what is wrong, the worst first.
        loss: what the outputs lose together, as far as it was measured; in the unit of a pure ε.
        shifts: for each line that adds noise: the largest shift, its norm, and the scale.
        unjudged: what could not be judged, and why.
        sites: every line that drew noise, with its law.
    """

    differences: list[Difference] = field(default_factory=list)
    loss: Fraction | float = Fraction(0)
    shifts: dict[str, Fraction] = field(default_factory=dict)
    unjudged: list[str] = field(default_factory=list)
    sites: dict[str, str] = field(default_factory=dict)
    paths: frozenset[Any] = frozenset()


@dataclass(frozen=True)
class Target:
    """What is run: a function of one input and a generator, under hooks that are in place.

    Attributes:
        call: `call(input, rng)`.
        rng: makes the generator of a run.
    """

    call: Callable[[Any, Any], Any]
    rng: Callable[[int], Any]

    def run(self, input_: Any, session: Session) -> Session:
        """One run under watch, whose output the session keeps."""
        taken = copy.deepcopy(input_)
        Session.current = session
        try:
            with np.errstate(all="ignore"):
                session.output = self.call(taken, self.rng(session.seed))
        except BaseException as error:
            if passes_through(error):
                raise
            session.output, session.raised = Raised(type(error).__name__, text_of(error)), text_of(error)
        finally:
            Session.current = None
        return session


class Pair:
    """The examination of one pair.

    Args:
        target: what is run.
        pair: the neighbours.
        claim: what is claimed.
        seed: of the draws.
    """

    def __init__(self, target: Target, pair: NeighbouringPair, claim: Claim, seed: int) -> None:
        self.target, self.pair, self.claim, self.seed = target, pair, claim, seed
        self.outcome = Outcome()

    def examine(self) -> Outcome:
        """Run the target on both, and compare."""
        self.first = self.target.run(self.pair.first, Session(self.seed))
        self.second = self.target.run(self.pair.second, Session(self.seed + 1, Script(self.first)))
        self.aligned: dict[tuple[Any, ...], Ids] = {}
        if not self._is_parallel():
            self._align()
        self._note_sites()
        self._compare_seeds()
        pairs = self._released()
        self._judge(pairs)
        if not self._certain():
            self._compare_outputs()
        self.outcome.differences.sort(key=lambda one: not one.is_certain)
        return self.outcome

    def _certain(self) -> bool:
        return any(one.is_certain for one in self.outcome.differences)

    def _add(self, **parts: Any) -> None:
        self.outcome.differences.append(Difference(**parts))

    def _noise_calls(self, run: Session) -> list[Call]:
        return [call for call in run.calls if call.family in NOISES]

    def _is_parallel(self) -> bool:
        sides = [[(call.key, call.shape) for call in self._noise_calls(run)] for run in (self.first, self.second)]
        return sides[0] == sides[1]

    def _align(self) -> None:
        """Pair up the draws of calls that are not made alike, by the values that noise is added to."""
        places: dict[Any, tuple[list[Call], list[Call]]] = defaultdict(lambda: ([], []))
        for side, run in enumerate((self.first, self.second)):
            for call in self._noise_calls(run):
                places[call.key[:-1]][side].append(call)
        for one, other in places.values():
            if [call.shape for call in one] == [call.shape for call in other]:
                continue
            if max(sum(call.size for call in one), sum(call.size for call in other)) > MOST_ALIGNED:
                self.outcome.unjudged.append(f"{(one or other)[0].site}: draws too many to pair up one by one")
                continue
            units = [[unit for call in calls for unit in _units_of(call)] for calls in (one, other)]
            values = [self._values(run, side) for run, side in zip((self.first, self.second), units, strict=True)]
            taken = _matched(*values, units[0])
            at = 0
            for call in other:
                self.aligned[call.key] = np.array(taken[at : at + call.size], dtype=np.int64)
                at += call.size
        if self.aligned:
            self.second = self.target.run(self.pair.second, Session(self.seed + 1, Script(self.first, self.aligned)))

    def _values(self, run: Session, units: Sequence[int]) -> list[Any]:
        """The values that noise of these draws is added to first; None where there is none."""
        wanted, values = set(units), {}
        for unit, node, place in run.elements():
            if unit in wanted and unit not in values:
                values[unit] = node.affine.exact(place)[0]
        return [values.get(unit) for unit in units]

    def _note_sites(self) -> None:
        for call in (*self._noise_calls(self.first), *self._noise_calls(self.second)):
            self.outcome.sites.setdefault(str(call.site), described(call))
        bits = [call for call in self.first.calls if call.family == BITS]
        if bits:
            self.outcome.unjudged.append(
                f"{bits[0].site} draws raw bits ({bits[0].sampler}), whose use has no law here; prove or audit that part"
            )
        self.outcome.paths = frozenset((call.key[0], call.key[1]) for call in self.first.calls)

    def _compare_seeds(self) -> None:
        for (site, what, one), (_, _, other) in zip(self.first.seeds, self.second.seeds, strict=False):
            if one != other:
                self._add(
                    flaw="the seed of the noise follows the data",
                    reason=f"{what} is seeded with {one!r} on the first input and with {other!r} on the second: "
                    "whoever can guess the input knows its noise",
                    site=site,
                    event="the output that this input gives with its seed",
                )
                return

    def _released(self) -> list[tuple[Law, Law, Node, Node, int, int]]:
        """The noisy numbers that the outputs hold, part by part, with their laws on both inputs."""
        sides = [_Holdings(run) for run in (self.first, self.second)]
        released: dict[tuple[int, int], tuple[Law, Law, Node, Node, int, int]] = {}
        again: list[tuple[Law, Law, Node, Node, int, int]] = []
        parts = {leaf.path: leaf for leaf in sides[1].leaves}
        for leaf in sides[0].leaves:
            other = parts.get(leaf.path)
            held = [side.holding(one) for side, one in zip(sides, (leaf, other), strict=True) if one is not None]
            if len(held) == 2 and held[0] is not None and held[1] is not None:
                (node, place), (node_2, place_2) = held
                units = int(node.affine.ids.reshape(-1)[place]), int(node_2.affine.ids.reshape(-1)[place_2])
                entry = (self.first.law(node, place), self.second.law(node_2, place_2), node, node_2, place, place_2)
                if units in released:
                    again.append(entry)
                else:
                    released[units] = entry
        self._compare_reused(released, again)
        self.shown = {unit for unit, _ in released}
        return list(released.values())

    def _compare_reused(self, released: dict[Any, Any], again: Sequence[Any]) -> None:
        """Two outputs of the same draw: their difference has no noise."""
        for _, _, node, node_2, place, place_2 in again:
            units = int(node.affine.ids.reshape(-1)[place]), int(node_2.affine.ids.reshape(-1)[place_2])
            _, _, before, before_2, at, at_2 = released[units]
            bare = []
            for (one, where), (other, there) in (((before, at), (node, place)), ((before_2, at_2), (node_2, place_2))):
                value, factor = one.affine.exact(where)
                value_2, factor_2 = other.affine.exact(there)
                bare.append((value_2 - value * factor_2 / factor, factor_2 / factor))
            if not _near(bare[0][0], bare[1][0]):
                call = self.first.owner(units[0])[0]
                self._add(
                    flaw="the same noise is added to two answers, and their difference shows the data",
                    reason=f"one draw of {call.sampler} ({call.site}) is added at {before.site} and again at "
                    f"{node.site}; without noise the two differ by {laws.text_of(bare[0][0])} on the first input and "
                    f"by {laws.text_of(bare[1][0])} on the second",
                    site=node.site,
                    event="the difference of the two answers",
                    call=described(call),
                    shift=abs(bare[0][0] - bare[1][0]),
                )
                return

    def _judge(self, released: Sequence[Any]) -> None:
        """Add up what released numbers lose, what is shown of hidden ones, and what choices lose."""
        moved = [entry for entry in released if entry[0] != entry[1]]
        pairs = [(entry[0], entry[1]) for entry in moved]
        for one, other, node, *_ in moved:
            if UNKNOWN in (one.family, other.family) or one.family not in SHIFT_LAWS:
                self.outcome.unjudged.append(f"{node.site} adds noise whose law is not known ({one.family})")
        known = [entry for entry in moved if entry[0].family in SHIFT_LAWS and entry[1].family in SHIFT_LAWS]
        for one, other, node, *_ in known:
            place = str(node.site)
            shift = abs(one.centre - other.centre)
            self.outcome.shifts[place] = self.outcome.shifts.get(place, Fraction(0)) + shift
        known_pairs = [(entry[0], entry[1]) for entry in known]
        hidden = self._hidden()
        choices = self._choices()
        self.outcome.loss = laws.loss_of([*known_pairs, *choices])
        sampled = self._sampling()
        if sampled is None and (known or choices):
            self.outcome.unjudged.append("noise is added to a sample that was drawn; what that hides is not known")
        del pairs
        self._judge_together(known, choices, sampled)
        if not self._certain() and hidden:
            self._judge_hidden(known, hidden, sampled)

    def _judge_together(self, known: Sequence[Any], choices: Sequence[tuple[Law, Law]], sampled: float | None) -> None:
        pairs = [*((entry[0], entry[1]) for entry in known), *choices]
        excess = self._excess(pairs, sampled)
        if excess is None or not known:
            return
        scales = [entry for entry in known if not _near(entry[0].scale, entry[1].scale)]
        total = ""
        if len(pairs) > 1 and self._excess(pairs[:1], sampled) is None:
            total = f"; together {len(pairs)} noisy numbers lose {excess.loss}"
        worst = max(scales or known, key=lambda entry: float(min(laws.largest_loss(*entry[:2]), Fraction(10**9))))
        one, other, node, _, place, _ = worst
        call = self.first.owner(int(node.affine.ids.reshape(-1)[place]))[0]
        shift = abs(one.centre - other.centre)
        if scales:
            flaw = "the scale of the noise follows the data"
            reason = (
                f"noise at {node.site} has scale {laws.text_of(one.scale)} on the first input and "
                f"{laws.text_of(other.scale)} on the second"
            )
            site = node.site if call.scale_at(0) == self.second_scale(call) else call.site
        else:
            flaw = "the noise is too small for how far the value moves"
            together = sum(
                (abs(entry[0].centre - entry[1].centre) for entry in known if str(entry[2].site) == str(node.site)),
                Fraction(0),
            )
            norm = f" (L1 {laws.text_of(together)} over all numbers of that line)" if together != shift else ""
            reason = (
                f"the value at {node.site} moves by {laws.text_of(shift)}{norm} under {one.family} noise of scale "
                f"{laws.text_of(one.scale)}"
            )
            site = node.site
        self._add(
            flaw=flaw,
            reason=f"{reason}{total}: {excess.loss}, and the claim allows {excess.claimed}",
            site=site,
            excess=excess,
            call=described(call),
            shift=shift,
            event="outputs in the tail of the noise, beyond both values",
        )

    def second_scale(self, call: Call) -> Fraction | None:
        """The scale of the same call in the second run."""
        other = self.second._calls_by_key.get(call.key)
        return other.scale_at(0) if other is not None and other.size and call.size else None

    def _excess(self, pairs: Sequence[tuple[Law, Law]], sampled: float | None = 1.0) -> Excess | None:
        if sampled is None:
            return None
        excess = laws.excess_over(self.claim, pairs)
        if excess is None or sampled >= 1:
            return excess
        loss = float(laws.loss_of(pairs))
        amplified = loss if loss > 500 else math.log1p(sampled * math.expm1(loss))
        if (
            isinstance(self.claim, PrivacyClaim)
            and not self.claim.delta
            and amplified > self.claim.epsilon * (1 + laws.ROUNDING_SLACK)
        ):
            return Excess(f"ε = {amplified:.6g} of a sample of rate {sampled:.4g}", excess.claimed, epsilon=amplified)
        if self.claim.delta_at(0.0) >= 1:
            return None
        for epsilon in self.claim.points:
            inner = math.log1p(math.expm1(min(epsilon, 500.0)) / sampled)
            delta, allowed = sampled * laws.delta_at(pairs, inner), self.claim.at(epsilon).delta
            if delta > allowed * (1 + laws.ROUNDING_SLACK) + laws.LEAST_EXCESS:
                return Excess(f"δ = {delta:.4g} at ε = {epsilon:.4g}", f"δ = {allowed:.4g}", delta=delta, at=epsilon)
        return None

    def _sampling(self) -> float | None:
        """The rate at which records are sampled: 1 where they are not, None where it is not known."""
        if any(call.family == SAMPLING for call in self.first.calls):
            return None
        rates = [1.0]
        for seen in self.first.seen:
            if seen.kind == "compare" and np.size(seen.outcome) > 1:
                coin = next((one for one in seen.operands if isinstance(one, Affine)), None)
                plain = next((one for one in seen.operands if not isinstance(one, Affine)), None)
                if coin is not None and plain is not None and coin.ids.size:
                    call = self.first.owner(int(coin.ids.reshape(-1)[0]))[0]
                    if call.family == UNIFORM and np.size(plain) == 1:
                        rates.append(float(np.clip(np.ravel(plain)[0], 1e-9, 1)))
        return min(rates)

    def _hidden(self) -> list[tuple[int, Law, Law, Node]]:
        """Noisy numbers that move, and that the output does not hold as they are."""
        last: list[dict[int, tuple[Node, int]]] = [{}, {}]
        for side, run in enumerate((self.first, self.second)):
            for unit, node, place in run.elements():
                last[side][unit] = (node, place)
        hidden = []
        for unit, (node, place) in last[0].items():
            if (
                unit in last[1]
                and unit not in self.shown
                and not _alike(node, last[1][unit][0], self.first, self.second)
            ):
                pair = self.first.law(node, place), self.second.law(*last[1][unit])
                if pair[0] != pair[1]:
                    hidden.append((unit, *pair, node))
        return hidden

    def _looked_at(self, run: Session) -> set[int]:
        """Draws that are compared or selected by."""
        units: set[int] = set()
        for seen in run.seen:
            if seen.kind != "other":
                for operand in seen.operands:
                    if isinstance(operand, Affine):
                        units.update(operand.ids.reshape(-1).tolist())
        return units

    def _judge_hidden(self, known: Sequence[Any], hidden: Sequence[Any], sampled: float | None) -> None:
        """Numbers that went on into further computation: which parts of the output follow them?"""
        looked = self._looked_at(self.first)
        other = [entry for entry in hidden if entry[0] not in looked and entry[1].family in SHIFT_LAWS]
        if not other:
            return
        parts, affine = self._responses({id(self.first.owner(unit)[0]) for unit, *_ in other})
        by_call: dict[int, list[Any]] = defaultdict(list)
        for entry in other:
            by_call[id(self.first.owner(entry[0])[0])].append(entry)
        pure = isinstance(self.claim, PrivacyClaim) and not self.claim.delta
        shown: list[tuple[Law, Law]] = []
        spent: list[Any] = []
        for number, entries in by_call.items():
            own = parts.get(number, set()) - set().union(*(parts[one] for one in parts if one != number))
            own -= {leaf.path for leaf in self.first_leaves if leaf.path in self.held}
            if len(own) >= len(entries) and (pure or number in affine):
                shown += [(one, two) for _, one, two, _ in entries]
            if parts.get(number):
                spent += entries
        pairs = [*((entry[0], entry[1]) for entry in known), *shown]
        excess = self._excess(pairs, sampled)
        is_certain = excess is not None
        if excess is None:
            excess = self._excess([*((entry[0], entry[1]) for entry in known), *((e[1], e[2]) for e in spent)], sampled)
        for _, one, two, node in other:
            place = str(node.site)
            self.outcome.shifts[place] = self.outcome.shifts.get(place, Fraction(0)) + abs(one.centre - two.centre)
        if excess is None or not (spent or shown):
            return
        worst = max(spent or other, key=lambda entry: float(min(laws.largest_loss(*entry[1:3]), Fraction(10**9))))
        unit, one, two, node = worst
        call = self.first.owner(unit)[0]
        scales = not _near(one.scale, two.scale)
        alone = self._excess([(one, two)], sampled) is not None
        flaw = (
            "the scale of the noise follows the data"
            if scales
            else (
                "the noise is too small for how far the value moves" if alone else "the budget is spent more than once"
            )
        )
        sites = ", ".join(dict.fromkeys(str(entry[3].site) for entry in spent))
        self._add(
            flaw=flaw,
            reason=f"noise of {one.family} at {sites} together spends {excess.loss}, and the claim allows {excess.claimed}"
            + ("" if not scales else f" (scale {laws.text_of(one.scale)} against {laws.text_of(two.scale)})")
            + ("" if is_certain else "; whether the output shows as much is not known, as it mixes what is noisy"),
            site=node.site,
            is_certain=is_certain,
            excess=excess,
            call=described(call),
            shift=abs(one.centre - two.centre),
        )

    def _responses(self, wanted: set[int]) -> tuple[dict[int, set[str]], set[int]]:
        """The parts of the first output that move with each call's noise, further and further out; which do so evenly."""
        self.first_leaves = leaves(self.first.output)
        holdings = _Holdings(self.first)
        self.held = {leaf.path for leaf in self.first_leaves if holdings.holding(leaf) is not None}
        base = {leaf.path: leaf.value for leaf in self.first_leaves}
        moving: dict[int, set[str]] = {}
        affine: set[int] = set()
        for number, call in enumerate(self.first.calls):
            if call.family not in SHIFT_LAWS or call.family == UNIFORM:
                continue
            values = []
            for step in (7.25, 14.5, 29.0):
                run = self._changed(self.pair.first, {number: _shifted(call, step)})
                values.append({leaf.path: leaf.value for leaf in leaves(run.output)})
            if call.family == laws.GAUSSIAN or id(call) in wanted or values:
                rising = {path for path in base if _monotone([base[path], *(side.get(path) for side in values)])}
                moving[id(call)] = rising
                ends = [[_number_of(side.get(path)) for side in (base, *values)] for path in rising]
                if all(_even(numbers) for numbers in ends):
                    affine.add(id(call))
        return moving, affine

    def _changed(self, input_: Any, changed: dict[int, Any], script: Script | None = None) -> Session:
        seed = self.seed if script is None else self.seed + 1
        return self.target.run(input_, Session(seed, script, changed))

    def _choices(self) -> list[tuple[Law, Law]]:
        """The laws of choices and of comparisons that noise decides, on both inputs; with findings of their own."""
        found: list[tuple[Law, Law]] = []
        one, other = paths.selections(self.first), paths.selections(self.second)
        of_selections: set[int] = set()
        for (seen, law, units), (seen_2, law_2, _) in zip(one, other, strict=False):
            of_selections.update(units)
            if seen.site[:2] != seen_2.site[:2] or law is None or law_2 is None:
                self.outcome.unjudged.append(f"{seen.site} chooses by noise in a way that has no law here")
                continue
            if len(law.weights) != len(law_2.weights):
                self.outcome.unjudged.append(f"{seen.site} chooses among {len(law.weights)} and {len(law_2.weights)}")
                continue
            loss = laws.largest_loss(law, law_2)
            if seen.kind == "search" and float(min(loss, Fraction(1))) < 1e-6:
                continue
            self._judge_choice(seen.site, (law, law_2), f"{seen.kind} at {seen.site}")
            found.append((law, law_2))
        bounds = [paths.bounds_of(run) for run in (self.first, self.second)]
        if bounds[0] is None or bounds[1] is None:
            self.outcome.unjudged.append("noise is compared for equality, which has no law here")
            return found
        groups = [
            paths.grouped([b for b in side if b.left[0] not in of_selections]) for side in bounds if side is not None
        ]
        seconds = {frozenset(_group_units(group)): group for group in groups[1]}
        for group in groups[0]:
            match = seconds.get(frozenset(_group_units(group)))
            if match is None or len(match) != len(group):
                self._unmatched(group)
                continue
            pair = self._group_laws(group, match)
            if pair is not None and pair[0] != pair[1]:
                self._judge_choice(group[0].site, pair, f"comparison at {group[0].site}")
                found.append(pair)
        known = {frozenset(_group_units(group)) for group in groups[0]}
        for units, group in seconds.items():
            if units not in known:
                self._unmatched(group, is_second=True)
        return found

    def _group_laws(self, group: list[paths.Bound], match: list[paths.Bound]) -> tuple[Law, Law] | None:
        """The laws of what some comparisons show, on both inputs."""
        if _same_bounds(group, match):
            return None
        chances = [paths.probability(side) for side in (group, match)]
        if chances[0] is None or chances[1] is None:
            if paths.is_scan(group) and paths.is_scan(match):
                scanned = [paths.scanned_law(side) for side in (group, match)]
                if scanned[0] is not None and scanned[1] is not None:
                    return scanned[0], scanned[1]
            self.outcome.unjudged.append(f"{group[0].site} compares noisy values in a way that has no law here")
            return None
        best = (_coin(chances[0]), _coin(chances[1]))
        if len({unit for bound in group for unit in paths._units(bound)}) > 1 and len(group) <= MOST_COINS:
            best = max(
                [best, *self._other_paths(group, match)], key=lambda pair: float(min(laws.largest_loss(*pair), 1e9))
            )
        return best

    def _other_paths(self, group: list[paths.Bound], match: list[paths.Bound]) -> Iterable[tuple[Law, Law]]:
        """The outcomes that lean the most to one input: made to happen, and kept where the output shows them."""
        for sign in (1, -1):
            wanted = []
            for one, other in zip(group, match, strict=True):
                lean = _lean(one) - _lean(other)
                wanted.append(sign * lean > 0 if lean else False)
            changed = self._steered(group, wanted)
            run = self._changed(self.pair.first, changed)
            again = self.target.run(self.pair.second, Session(self.seed + 1, Script(run)))
            sides = [paths.bounds_of(side) for side in (run, again)]
            if sides[0] is None or sides[1] is None:
                continue
            kept = self._revealed(run, sides[0], changed)
            units = {unit for bound in group for unit in paths._units(bound)}
            picked = [
                [side[place] for place in kept if place < len(side) and side[place].left[0] in units]
                for side in sides
                if side
            ]
            if len(picked) == 2 and picked[0] and len(picked[0]) == len(picked[1]):
                chances = [paths.probability(side) for side in picked]
                if chances[0] is not None and chances[1] is not None:
                    yield _coin(chances[0]), _coin(chances[1])

    def _steered(self, group: list[paths.Bound], wanted: Sequence[bool]) -> dict[int, Any]:
        """Changes of draws with which comparisons come out as wanted, if each has a draw of its own."""
        counts: dict[int, int] = defaultdict(int)
        for bound in group:
            for unit in paths._units(bound):
                counts[unit] += 1
        shifts: dict[int, dict[int, float]] = defaultdict(dict)
        numbers = {id(call): number for number, call in enumerate(self.first.calls)}
        for bound, above in zip(group, wanted, strict=True):
            unit = min(paths._units(bound), key=lambda one: counts[one])
            law = dict(paths._sides(bound))[unit]
            call, at = self.first.owner(unit)
            if id(call) in numbers and counts[unit] == 1:
                up = above == (bound.left[0] == unit)
                distance = abs(_lean(bound)) + 60 * float(law.scale or 1)
                shifts[numbers[id(call)]][at] = distance if up else -distance
        return {number: _placed(places) for number, places in shifts.items()}

    def _revealed(self, run: Session, bounds: list[paths.Bound], changed: dict[int, Any]) -> list[int]:
        """The comparisons that the output shows: those without which it would be another."""
        if len(bounds) > MOST_COINS:
            return []
        shown_ = []
        base = [leaf.value for leaf in leaves(run.output)]
        for place in range(len(bounds)):
            flipped = [bound.above != (number == place) for number, bound in enumerate(bounds)]
            steered = self._steered([*bounds], flipped)
            other = self._changed(self.pair.first, {**changed, **steered})
            if [leaf.value for leaf in leaves(other.output)] != base:
                shown_.append(place)
        return shown_

    def _judge_choice(self, site: Site, pair: tuple[Law, Law], what: str) -> None:
        excess = self._excess([pair], self._sampling() or 1.0) if pair[0] != pair[1] else None
        if excess is None:
            return
        loss = laws.largest_loss(*pair)
        if (
            isinstance(self.claim, PrivacyClaim)
            and not self.claim.delta
            and float(min(loss, 1e9)) <= self.claim.epsilon * (1 + SELECTION_SLACK)
        ):
            return
        ratio = _worst_ratio(pair)
        self._add(
            flaw="a choice by noise depends on the data more than is claimed",
            reason=f"{what}: an outcome has probability {ratio[0]:.6g} on one input and {ratio[1]:.6g} on the other: "
            f"{excess.loss}, and the claim allows {excess.claimed}",
            site=site,
            excess=excess,
            event="that outcome of the choice",
        )

    def _unmatched(self, group: list[paths.Bound], is_second: bool = False) -> None:
        """Comparisons that only one input has: a key that one person brings, and what hides it."""
        run, input_ = (self.second, self.pair.second) if is_second else (self.first, self.pair.first)
        units = set(_group_units(group))
        if any(run.owner(unit)[0].family == UNIFORM for unit in units) or len(group) > 1:
            return
        bound = group[0]
        chance = paths.probability(group)
        if chance is None or not isinstance(bound.right, Fraction):
            return
        other = (self.first if is_second else self.second).output
        above = chance if bound.above else 1 - chance
        steer = {up: self._forced(run, input_, bound, up, is_second) for up in (True, False)}
        without = [leaf.path for leaf in leaves(other)]
        same = {up: [leaf.path for leaf in leaves(output)] == without for up, output in steer.items()}
        if same[True] and same[False]:
            return
        shown_chance = above if same[False] else (1 - above if same[True] else 1.0)
        allowed = self.claim.delta_at(self.claim.nominal.epsilon)
        if shown_chance > allowed * (1 + laws.ROUNDING_SLACK) + laws.LEAST_EXCESS * 0.01:
            law = bound.left[1]
            excess = Excess(
                f"δ = {shown_chance:.6g}", f"δ = {allowed:.6g}", delta=shown_chance, at=self.claim.nominal.epsilon
            )
            self._add(
                flaw="a part of the output that only one person brings is shown too often",
                reason=f"a noisy value of {laws.text_of(law.centre)} that only one input has is compared with "
                f"{laws.text_of(bound.right)} at {bound.site}, and shown with probability {shown_chance:.6g}; "
                f"the claim allows δ = {allowed:.6g}",
                site=bound.site,
                excess=excess,
                event="the output has that part",
            )

    def _forced(self, run: Session, input_: Any, bound: paths.Bound, up: bool, is_second: bool) -> Any:
        unit, law = bound.left
        call, at = run.owner(unit)
        number = next((place for place, one in enumerate(run.calls) if one is call), None)
        if number is None:
            return None
        distance = abs(_lean(bound)) + 60 * float(law.scale or 1)
        place = at
        if call.key in self.aligned:
            place = self.aligned[call.key].reshape(-1).tolist().index(unit) if unit < NEW else at
        script = Script(self.first, self.aligned) if is_second else None
        return self._changed(input_, {number: _placed({place: distance if up else -distance})}, script).output

    def _compare_outputs(self) -> None:
        """What differs in the output although every noisy number is the same."""
        parts = differences(self.first.output, self.second.output)
        if not parts:
            return
        seeds = range(self.seed + 100, self.seed + 100 + FRESH)
        again = [
            [self.target.run(side, Session(seed)) for seed in seeds] for side in (self.pair.first, self.pair.second)
        ]
        if isinstance(self.first.output, Raised) or isinstance(self.second.output, Raised):
            self._compare_failures(again)
            return
        fresh = [[{leaf.path: leaf.value for leaf in leaves(run.output)} for run in side] for side in again]
        fixed = []
        for one, other in parts:
            path = (one or other).path  # type: ignore[union-attr]
            values = [{repr(side.get(path, "—")) for side in runs} for runs in fresh]
            here = [repr(leaf.value if leaf else "—") for leaf in (one, other)]
            if all(found == {value} for found, value in zip(values, here, strict=True)):
                fixed.append((one, other))
        if fixed:
            self._add_fixed(fixed)
            return
        if self._by_zero(parts) or self._by_coins():
            return
        families = {call.family for call in (*self.first.calls, *self.second.calls)}
        hides = families & {BITS, SAMPLING, CATEGORICAL, OTHER, UNKNOWN, UNIFORM, GEOMETRIC, SIGN}
        one, other = parts[0]
        site = self._diverging_site()
        if hides or not self._is_parallel() or any(seen.kind == "compare" for seen in self.first.seen):
            self.outcome.unjudged.append(
                f"{(one or other).path} differs with the same noise, and {', '.join(sorted(hides)) or 'control flow'} may hide it"  # type: ignore[union-attr]
            )
            return
        self._add(
            flaw="the output depends on the data besides through what is noisy",
            reason=f"with every noisy number the same, {(one or other).path} is {shown(one.value if one else None)} on the "  # type: ignore[union-attr]
            f"first input and {shown(other.value if other else None)} on the second",
            site=site,
            is_certain=False,
            event=f"values of {(one or other).path}",  # type: ignore[union-attr]
        )

    def _compare_failures(self, again: Sequence[Sequence[Session]]) -> None:
        """One input makes the code fail, the other does not."""
        fails = [
            [isinstance(run.output, Raised) for run in (base, *side)]
            for base, side in zip((self.first, self.second), again, strict=True)
        ]
        if not any(all(one) and not any(other) for one, other in (fails, fails[::-1])):
            if fails[0] != fails[1]:
                self.outcome.unjudged.append("the code fails on some runs, and not alike on both inputs")
            return
        failed = self.first if all(fails[0]) else self.second
        self._add(
            flaw="the code fails on one of two neighbours",
            reason=f"it raises {failed.output.kind}: {failed.output.message[:120]}",
            site=self._diverging_site(),
            event="the code fails",
            excess=Excess("probability 1 against 0", "no such event"),
        )

    def _add_fixed(self, parts: Sequence[tuple[Leaf | None, Leaf | None]]) -> None:
        one, other = parts[0]
        path = (one or other).path  # type: ignore[union-attr]
        sides = [shown(leaf.value) if leaf else "missing" for leaf in (one, other)]
        self._add(
            flaw="a part of the output has no noise, and shows the data",
            reason=f"{path} is {sides[0]} on the first input and {sides[1]} on the second, whatever the noise: "
            "probability 1 against 0",
            site=self._diverging_site(),
            event=f"{path} is {sides[0]}",
            excess=Excess("probability 1 against 0", str(self.claim)),
        )

    def _by_zero(self, parts: Sequence[tuple[Leaf | None, Leaf | None]]) -> bool:
        """Judge numbers by the laws that runs with the draws at 0 and at twice their size show; whether that was possible."""
        measured: list[list[tuple[str, Law, Site, Call]]] = []
        for run, input_, script in (
            (self.first, self.pair.first, None),
            (self.second, self.pair.second, Script(self.first, self.aligned)),
        ):
            rows = self._laws_by_zero(run, input_, script, {(one or other).path for one, other in parts})  # type: ignore[union-attr]
            if rows is None:
                return False
            measured.append(rows)
        if [row[0] for row in measured[0]] != [row[0] for row in measured[1]] or not measured[0]:
            return False
        pairs = [(one[1], other[1]) for one, other in zip(*measured, strict=True)]
        for (_, law, site, _), (_, law_2, _, _) in zip(*measured, strict=True):
            self.outcome.shifts[str(site)] = self.outcome.shifts.get(str(site), Fraction(0)) + abs(
                law.centre - law_2.centre
            )
        self.outcome.loss = max(float(self.outcome.loss), float(laws.loss_of(pairs)))
        excess = self._excess(pairs, self._sampling())
        if excess is not None:
            place = max(range(len(pairs)), key=lambda at: float(min(laws.largest_loss(*pairs[at]), Fraction(10**9))))
            path, one, site, call = measured[0][place]
            other = measured[1][place][1]
            scales = not _near(one.scale, other.scale)
            self._add(
                flaw="the scale of the noise follows the data"
                if scales
                else "the noise is too small for how far the value moves",
                reason=f"{path} is {laws.text_of(one.centre)} and {laws.text_of(other.centre)} with the draw at 0, under "
                f"{one.family} noise of scale {laws.text_of(one.scale)}"
                + (f" and {laws.text_of(other.scale)}" if scales else "")
                + f": {excess.loss}, and the claim allows {excess.claimed}",
                site=self._diverging_site() if scales and call.scale_at(0) == self.second_scale(call) else site,
                excess=excess,
                call=described(call),
                shift=abs(one.centre - other.centre),
                event="outputs in the tail of the noise, beyond both values",
            )
        return True

    def _laws_by_zero(
        self, run: Session, input_: Any, script: Script | None, wanted: set[str]
    ) -> list[tuple[str, Law, Site, Call]] | None:
        base = {leaf.path: leaf.value for leaf in leaves(run.output)}
        rows: dict[str, tuple[str, Law, Site, Call]] = {}
        for number, call in enumerate(run.calls):
            if call.family not in SHIFT_LAWS or call.family == UNIFORM:
                continue
            sides = []
            for factor in (0.0, 2.0):
                changed = {number: lambda raw, factor=factor: raw * factor}
                script_again = None if script is None else Script(_Unkept(script.record), script.aligned)
                outputs = self.target.run(input_, Session(run.seed, script_again, changed)).output
                sides.append({leaf.path: leaf.value for leaf in leaves(outputs)})
            free = base
            if script is not None:
                free = {
                    leaf.path: leaf.value
                    for leaf in leaves(
                        self.target.run(
                            input_, Session(run.seed, Script(_Unkept(script.record), script.aligned))
                        ).output
                    )
                }
            moved = [path for path in free if free[path] != sides[0].get(path) and path in wanted]
            raws = np.ravel(call.raw)
            if moved and len(moved) != len(raws):
                return None
            for at, path in enumerate(moved):
                numbers = [_number_of(side.get(path)) for side in (sides[0], free, sides[1])]
                if path in rows or not _even(numbers) or not raws[at]:
                    return None
                centre, slope = numbers[0], (numbers[1] - numbers[0]) / float(raws[at])
                step = Fraction(1) if abs(slope - 1) < 1e-9 else rational(slope)
                rows[path] = (path, Law(call.family, rational(centre), abs(step) * call.scale_at(at)), call.site, call)
        return [rows[path] for path in sorted(rows)] if rows and set(rows) >= wanted else None

    def _by_coins(self) -> bool:
        """Judge an output that coins decide: which coin, flipped, gives on one input what came out on the other?"""
        bounds = paths.bounds_of(self.second)
        if not bounds or len(bounds) > MOST_COINS or any(isinstance(one.right, tuple) for one in bounds):
            return False
        wanted = [leaf.value for leaf in leaves(self.first.output)]
        numbers = {id(call): number for number, call in enumerate(self.second.calls)}
        for bound in bounds:
            call, at = self.second.owner(bound.left[0])
            chance = paths.probability([bound])
            if call.family != UNIFORM or id(call) not in numbers or not chance or chance >= 1:
                continue
            threshold = float(bound.right)  # type: ignore[arg-type]
            raw = threshold / 2 if bound.above else (1 + threshold) / 2
            script = Script(_Unkept(self.first), self.aligned)
            run = self.target.run(self.pair.second, Session(self.seed + 1, script, {numbers[id(call)]: _set(at, raw)}))
            if [leaf.value for leaf in leaves(run.output)] == wanted:
                pair = _coin(chance), _coin(1 - chance)
                self.outcome.loss = max(float(self.outcome.loss), float(laws.largest_loss(*pair)))
                self._judge_choice(bound.site, pair, f"randomized response at {bound.site}")
                return True
        return False

    def _diverging_site(self) -> Site:
        """The first line where the runs do something else with noise; else the last line that touches noise."""
        for one, other in zip(self.first.seen, self.second.seen, strict=False):
            plain = [
                [np.asarray(x).tolist() for x in seen.operands if not isinstance(x, Affine)] for seen in (one, other)
            ]
            if one.kind == "other" and repr(plain[0]) != repr(plain[1]):
                return one.site
        for node, node_2 in zip(self.first.nodes, self.second.nodes, strict=False):
            if node.affine.steps and node_2.affine.steps:
                (step, one_), (step_2, two_) = node.affine.steps[-1], node_2.affine.steps[-1]
                if step == step_2 and step in "*/" and not np.array_equal(one_, two_):
                    return node.site
        return Site("", 0, "")


class _Unkept:
    """A record whose draws are taken, and not what the code made of them."""

    def __init__(self, record: Session) -> None:
        self._calls_by_key = {key: call for key, call in record._calls_by_key.items() if call.raw is not None}
        self._kept: dict[Any, Any] = {}
        self._record = record

    def owner(self, unit: int) -> tuple[Call, int]:
        return self._record.owner(unit)

    def _elementwise(self, kind: str, ids: Ids, computed: Any) -> Any:
        return computed


class _Holdings:
    """Which parts of an output are noisy numbers as they were made."""

    def __init__(self, run: Session) -> None:
        self.leaves = leaves(run.output)
        self._by_tag: dict[tuple[int, int], tuple[Node, int]] = {}
        self._by_value: dict[str, tuple[Node, int]] = {}
        wanted = {leaf.value[1] for leaf in self.leaves if _is_float(leaf.value)}
        for unit, node, place in run.elements():
            self._by_tag[unit, len(node.affine.steps)] = (node, place)
            number = node.result if np.ndim(node.result) == 0 else np.reshape(node.result, -1)[place]
            text = float(number).hex()
            if text in wanted and _is_telling(float(number)):
                self._by_value[text] = (node, place)

    def holding(self, leaf: Leaf) -> tuple[Node, int] | None:
        """The noisy number that a part is."""
        if leaf.tag is not None and leaf.tag.ids.size == 1:
            found = self._by_tag.get((int(leaf.tag.ids.reshape(-1)[0]), len(leaf.tag.steps)))
            if found is not None:
                return found
        return self._by_value.get(leaf.value[1]) if _is_float(leaf.value) else None


def described(call: Call) -> str:
    """A draw in words: its source, its law, what it was asked for and its shape."""
    asked = ", ".join(f"{name}={_short(value)}" for name, value in call.parameters)
    shape = "" if call.shape is None else f" of shape {call.shape}"
    return f"{call.sampler}({asked}){shape}"


def _short(value: Any) -> str:
    text = re.sub(r"\s+", " ", repr(value.tolist() if isinstance(value, np.ndarray) else value))
    return text if len(text) <= 60 else f"{text[:57]}…"


def _units_of(call: Call) -> list[int]:
    return list(range(call.first, call.first + call.size))


def _matched(one: Sequence[Any], other: Sequence[Any], units: Sequence[int]) -> list[int]:
    """For each of the other's draws, the draw of the first with the same value in the same order; −1 for none."""
    taken = [-1] * len(other)
    matcher = difflib.SequenceMatcher(None, list(one), list(other), autojunk=False)
    for tag, low, high, low_2, high_2 in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and high - low == high_2 - low_2):
            taken[low_2:high_2] = units[low:high]
        elif tag == "replace":
            size = min(high - low, high_2 - low_2)
            taken[low_2 : low_2 + size] = units[low : low + size]
    return taken


def _near(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= max(abs(one), abs(other)) * Fraction(1, 1 << 40)


def _alike(node: Node, other: Node, first: Session, second: Session) -> bool:
    """Whether two noisy values were made of the same numbers, which is found quickly."""
    if node is other or len(node.affine.steps) != len(other.affine.steps):
        return node is other
    call, call_2 = (run.owner(int(one.affine.ids.reshape(-1)[0]))[0] for run, one in ((first, node), (second, other)))
    return np.array_equal(call.scale, call_2.scale) and all(
        step == step_2 and np.array_equal(one, two)
        for (step, one), (step_2, two) in zip(node.affine.steps, other.affine.steps, strict=True)
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and value[0] == "float"


def _is_telling(number: float) -> bool:
    """Whether a float has so many digits that another number is not it by chance."""
    return math.isfinite(number) and round(number, 4) != number


def _number_of(value: Any) -> float:
    if _is_float(value):
        return float.fromhex(value[1])
    return float(value) if isinstance(value, int) else math.nan


def _monotone(values: Sequence[Any]) -> bool:
    """Whether numbers only rise, or only fall, and go on doing so at the end."""
    numbers = [_number_of(value) for value in values]
    steps = [after - before for before, after in zip(numbers, numbers[1:], strict=False)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _even(numbers: Sequence[float]) -> bool:
    """Whether equal steps of the noise (or 0, 1 and 2 times it) move a number by equal amounts, but for rounding."""
    steps = [after - before for before, after in zip(numbers, numbers[1:], strict=False)]
    return all(math.isfinite(step) for step in steps) and max(steps) - min(steps) <= 0.05 * max(map(abs, steps))


def _shifted(call: Call, step: float) -> Callable[[Any], Any]:
    scale = np.asarray(call.scale, dtype=float)
    by = np.ceil(step * scale) if _is_whole(call.raw) else step * scale
    return lambda raw: (
        raw + (by.astype(int) if _is_whole(raw) else by) if isinstance(raw, np.ndarray) else type(raw)(raw + by)
    )


def _is_whole(raw: Any) -> bool:
    return np.asarray(raw).dtype.kind in "iu"


def _placed(shifts: dict[int, float]) -> Callable[[Any], Any]:
    """A change of some numbers of a draw."""

    def change(raw: Any) -> Any:
        if not isinstance(raw, np.ndarray):
            return type(raw)(raw + shifts.get(0, 0.0))
        moved = raw.copy()
        for place, by in shifts.items():
            moved.reshape(-1)[place] += by
        return moved

    return change


def _set(place: int, value: float) -> Callable[[Any], Any]:
    def change(raw: Any) -> Any:
        if not isinstance(raw, np.ndarray):
            return value
        moved = raw.copy()
        moved.reshape(-1)[place] = value
        return moved

    return change


def _group_units(group: Sequence[paths.Bound]) -> list[int]:
    return [unit for bound in group for unit in paths._units(bound)]


def _same_bounds(group: Sequence[paths.Bound], match: Sequence[paths.Bound]) -> bool:
    return all(one.left == other.left and one.right == other.right for one, other in zip(group, match, strict=True))


def _coin(chance: float) -> Law:
    chance = min(1.0, max(0.0, chance))
    return Law(CATEGORICAL, weights=(chance, 1 - chance))


def _lean(bound: paths.Bound) -> float:
    """How far the left of a comparison lies above the right, without noise."""
    right = bound.right[1].centre if isinstance(bound.right, tuple) else bound.right
    return float(bound.left[1].centre - right)


def _worst_ratio(pair: tuple[Law, Law]) -> tuple[float, float]:
    sides = list(zip(pair[0].weights, pair[1].weights, strict=True))
    return max(
        sides,
        key=lambda both: (
            math.inf if min(both) == 0 < max(both) else abs(math.log(max(both[0], 1e-300) / max(both[1], 1e-300)))
        ),
    )
