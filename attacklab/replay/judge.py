"""What differs between the runs on a pair, judged against the claim."""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from attacklab.model.claims import PrivacyClaim
from attacklab.replay import laws, paths
from attacklab.replay.branches import Branch, branches_of
from attacklab.replay.choices import Choice, Choices, looked_at
from attacklab.replay.compare import (
    ENDS,
    NOISES,
    Compared,
    Difference,
    Moved,
    Outcome,
    alike,
    described,
    differences_between,
    further,
    stepped,
)
from attacklab.replay.coupled import bare_noise, bare_part
from attacklab.replay.events import CERTAIN, ENOUGH, telling_event
from attacklab.replay.laws import (
    BITS,
    CATEGORICAL,
    SHIFT_LAWS,
    UNIFORM,
    Excess,
    Law,
    near,
)
from attacklab.replay.linear import Shared, bare_sum
from attacklab.replay.outputs import OPAQUE, Leaf, Raised, differences, is_float, leaves, number_of, shown, skeleton
from attacklab.replay.paths import Bound
from attacklab.replay.responses import is_even, shifts_of
from attacklab.replay.session import BEYOND, Affine, Call, Script, Session, Site, in_turn, is_users
from attacklab.replay.ways import Ways, ways_of

FRESH_RUNS = 12
"""So many runs say whether draws are always compared as `max` and `min` do."""

FEW_SEEDS = 6
"""How many further runs look for a scale of noise that follows other noise."""

MOST_TOLD = 64
"""At most this many draws are moved, one by one, by these steps, to see which parts of the output follow each."""

STEPS = (-0.7, 0.7)

OFTEN = 12
"""So many further runs show how often a part of the output is bare."""

FARTHEST = (-2000.0, -1000.0, 1000.0, 2000.0)
"""Noise so many scales out shows whether a number is clipped."""

MOST_OWN = 16
"""The draws of so many calls are moved, one call after another, to see whether numbers follow them."""

LEAST_ASTRAY, SHORT_FORMATS = 1e-5, ((8, 2.0**-7), (11, 2.0**-10))
"""How nearly they have to; and numbers of so few bits, as bfloat16 and binary16 have."""

MOST_NAMED = 3
"""So many calls that lose noise are named."""

MIXED = "; the output mixes noisy numbers, so whether it shows as much is not known"
TOO_LITTLE = "the noise is too small for how far the value moves"
SCALE = "the scale of the noise follows the data"


class Pair(Compared):
    """A pair whose differences are judged.

    Attributes:
        late: what refutes the claim, at a line that other draws may tell better.
        counted: what noisy numbers and choices were judged together, each with its draw.
        is_open: whether other noisy numbers may show more, as a choice rests on those that the output holds.
    """

    late: Difference | None = None
    is_open = False
    counted: Sequence[tuple[int, tuple[Law, Law]]] = ()

    @functools.cached_property
    def _scans(self) -> dict[tuple[Site, int], bool]:
        return {}

    def examine(self) -> Outcome:
        """Compare the two runs."""
        if isinstance(self.first.output, Raised) and self.first.output == self.second.output:
            self.outcome.raised = f"{self.first.output.kind}: {self.first.output.message[:160]}"
            return self.outcome
        for call in (*self.first.calls, *self.second.calls):
            self.outcome.sites.setdefault(str(call.site), described(call))
        self._compare_seeds()
        known = self.released()
        self._judge(known)
        if not any(one.is_certain and one.excess and one.excess.is_sure for one in self.outcome.differences):
            self._compare_outputs()
        if self._sampling is not None:
            self.outcome.loss = self._sampling.amplified(self.outcome.loss)
        if not self.outcome.is_refuted and not (self.shared.loose and self.rows and self._add_bare_part()):
            self._note_asked_otherwise()
            self._note_bare_noise()
            self._note_told_twice()
            self._note_unseen()
        return self.outcome

    @functools.cached_property
    def ways(self) -> Ways | None:
        """What the output tells, if few draws decide it."""
        return ways_of(self)

    @property
    def is_pure(self) -> bool:
        """Whether a pure ε is claimed."""
        return isinstance(self.claim, PrivacyClaim) and not self.claim.delta

    @property
    def is_sampled(self) -> bool:
        """Whether a sample of known rate is drawn."""
        return self._sampling is not None and self._sampling.rate < 1

    def with_draws(self, changes: Mapping[Any, Any]) -> Pair:
        """The same pair with some draws changed."""
        made = Pair(self.runs, self.pair, self.claim, self.seed, changes)
        made.ways = self.ways
        return made

    def always_scans(self, group: Sequence[Bound]) -> bool:
        """Whether other draws are compared one after another with the best so far as well, which no sorting does."""
        key = group[0].site, len(group)
        if key not in self._scans:
            runs = (self.runs.run(self.pair.first, Session(self.seed + 600 + number)) for number in range(FRESH_RUNS))
            bounds = ([bound for bound in paths.bounds_of(run, {}) or [] if bound.site == key[0]] for run in runs)
            self._scans[key] = all(
                any(len(one) == key[1] and paths.is_scan(one) for one in paths.grouped(side)) for side in bounds
            )
        return self._scans[key]

    @functools.cached_property
    def _few_laws(self) -> list[dict[Any, Law]]:
        """The laws of noisy numbers in further runs of the first input: by their draw, and by draw and line."""
        found: list[dict[Any, Law]] = []
        for number in range(FEW_SEEDS):
            run = self.runs.run(self.pair.first, Session(self.seed + 400 + number))
            found.append({})
            for unit, node, place in run.elements():
                found[-1][unit] = found[-1][unit, node.site] = run.law(node, place)
        return found

    def _is_mixed(self, moved: Moved) -> bool:
        """Whether other draws give noise another scale: then its law is a mixture, which may hide more."""
        if not moved.node.affine.steps:
            return False
        found = [laws_.get((moved.unit, moved.node.site)) or laws_.get(moved.unit) for laws_ in self._few_laws]
        known = moved.first.family, moved.first.scale
        return any((law.family, law.scale) != known for law in found if law is not None)

    def _judge(self, moved: Sequence[Moved]) -> None:
        """Add up what released numbers and choices lose; then look where hidden numbers go."""
        hidden = self._hidden()
        if self.ways is not None and self.ways.is_complete:
            moved, hidden, self.vague, self.rows = [], [], [], []
        choices = Choices(self, [*moved, *hidden])
        moved, hidden = ([one for one in side if one.unit not in choices.placed] for side in (moved, hidden))
        self.redrawn = choices.redrawn
        self.shared = shared = Shared(self, choices.placed)
        self.together = {one.path for group in shared.groups for one in group.numbers if one.values[0] != one.values[1]}
        for told in shared.bare_sums():
            self._add(**told)
        units = shared.units
        moved = [*(one for one in moved if one.unit not in units), *shared.least]
        known = [one for one in moved if one.first.family in SHIFT_LAWS and one.second.family in SHIFT_LAWS]
        self._note_shifts(known)
        self.outcome.unjudged += choices.unjudged
        self.outcome.loss = laws.loss_of([*(one.pair for one in known), *(one.pair for one in choices.found)])
        excess = self.excess([*(one.pair for one in known), *(one.pair for one in choices.found)])
        vague = [one for one in moved if one not in known]
        branches = branches_of(self, choices, known) if excess is not None else None
        if isinstance(branches, str):
            self.outcome.unjudged.append(branches)
            hidden, known = [*hidden, *known], []
        elif branches is not None and self._judge_branches(branches, hidden):
            known = []
        elif excess is not None:
            known = self._with_ends(known)
            mixed = [one for one in known if self._is_mixed(one)] + shared.unsteady()
            known = [*(one for one in known if one not in mixed), *shared.steadied()]
            vague = [*vague, *mixed]
            self.outcome.unjudged += [f"the scale of the noise at {one.node.site} follows other noise" for one in mixed]
            astray = self._astray(known)
            if astray is not None:
                if choices.found or not self._by_zero(None):
                    self._note_mixed([*known, *hidden], astray)
                return
            shown_ = []
            for choice in choices.found:
                is_alone, is_revealed = choices.is_alone(choice), choices.is_revealed(choice)
                if is_alone and is_revealed:
                    shown_.append(choice)
                elif not is_alone and (choice.is_unbounded or is_revealed):
                    self.outcome.unjudged.append(f"{choice.what}: other draws may hide how it came out")
            if len(shown_) > 1:  # what comes out of one may depend on what came out of those before
                shown_ = [one.as_it_came for one in shown_ if one.came]
            given = {unit for one in shown_ for unit in one.given}
            free = [one for one in shown_ if not one.given]
            excess = self.excess([*(one.pair for one in known), *(one.certain_pair for one in free)])
            if excess is not None:
                self._add_loss(known, free, excess)
            elif given and (excess := self._excess_where_shown(known, shown_, given)) is not None:
                self._add_loss([one for one in known if one.unit not in given], shown_, excess)
            elif given:
                self.is_open, what = True, next(one.what for one in shown_ if one.given)
                self.outcome.unjudged.append(f"{what} rests on a noisy number that the output holds")
            else:
                self.outcome.loss = laws.loss_of([*(one.pair for one in known), *(one.pair for one in choices.found)])
                counted = {one.site for one in shown_}
                kept = [
                    one for one in choices.found if one.site not in counted and choices.is_revealed(one, floats=True)
                ]
                self.outcome.unjudged += [f"{one.what} moves numbers of the output; they may show it" for one in kept]
        self.counted = self._together(known, [], choices.found)
        for difference in choices.thresholds():
            self._add(**difference, is_chosen=True)
        if not self.outcome.is_refuted:
            self._judge_hidden(hidden, known, choices.found)
            self._judge_vague(known, vague, shared)

    def _with_ends(self, known: Sequence[Moved]) -> list[Moved]:
        """Noisy numbers with the ends that the output clips them to: noise far out shows as noise further out does."""
        sides: list[dict[str, float]] = []
        for far in FARTHEST:
            changes: dict[int, dict[int, float]] = defaultdict(dict)
            for one in known:
                call, at = self.first.owner(one.unit)
                number = self.first.number_of(call)
                if number is not None and call.family != UNIFORM:
                    changes[number][at] = stepped(call, at, far)
            sides.append({leaf.path: number_of(leaf.value) for leaf in leaves(self.again(changes).output)})
        ends: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for path, ((node, place), _) in self.rows:
            below, low, high, above = (side.get(path, math.nan) for side in sides)
            least, most = (low if below == low else -math.inf), (high if high == above else math.inf)
            if node.affine.exact(place)[1] < 0:
                least, most = (high if high == above else -math.inf), (low if below == low else math.inf)
            ends[int(node.affine.ids.reshape(-1)[place])].append((least, most) if least < most else laws.ENDLESS)
        return [
            replace(one, ends=(min(low for low, _ in ends[one.unit]), max(high for _, high in ends[one.unit])))
            if one.unit in ends
            else one
            for one in known
        ]

    def _judge_branches(self, branches: Sequence[Branch], hidden: Sequence[Moved]) -> bool:
        """Keep what the worst path loses; gives whether that is all that can be said.

        Args:
            branches: the paths that are known; where it is one, others may lose more.
            hidden: noisy numbers whose use is not followed.
        """
        worst = max(branches, key=lambda branch: near(laws.loss_of(branch.pairs)))
        if len(branches) > 1 and not self.is_pure:
            excess = laws.excess_over_paths(self.claim, [branch.pairs for branch in branches])
        else:
            excess = self.excess(worst.pairs)
        if worst.is_steady and excess is None:
            return False
        self.outcome.loss = laws.loss_of(worst.pairs)
        if excess is not None:
            found = worst.pair.outcome.differences
            count = len(found)
            worst.pair._add_loss(worst.numbers, worst.choices, excess)
            new = [replace(one, is_counted=True) for one in found[count:]]  # the path is counted for
            del found[count:]
            self.outcome.differences += new
        elif len(branches) == 1 or {one.unit for one in hidden}.difference(looked_at(self.first)):
            site = next((one.numbers[-1].node.site for one in branches if one.numbers), worst.choices[0].site)
            self.outcome.unjudged.append(f"{site} shows a number as noise decides, and other ways may lose more")
        return True

    def _note_mixed(self, moved: Sequence[Moved], is_again: bool) -> None:
        """Note what is spent where the output mixes it with other noise; not of one noise alone that is used again."""
        excess = self.excess([one.pair for one in moved])
        if excess is None or (is_again and len(moved) == 1):
            self.outcome.unjudged.append(f"{moved[0].node.site} adds noise to a number that follows it already")
        else:
            self._add_spent(moved, moved, excess, is_certain=False)

    def _astray(self, moved: Sequence[Moved]) -> bool | None:
        """Whether parts with the noise of some numbers follow it otherwise than those do; None where they do not.

        False where they follow noise that no part holds. Either shows that a cast, such as `float()`, lost noise on its
        way into a value.
        """
        run, held = self.first, set[int]()
        accused = {draw for one in moved for draw in run.draws_of(one.unit)}
        rows: list[tuple[str, dict[int, float], set[int]]] = []
        for path, ((node, place), _) in self.rows:
            if path in self.shared.unsteady_paths:
                continue
            unit, factor = int(node.affine.ids.flat[place]), near(node.affine.exact(place)[1])
            draws = {draw: factor * by for draw, by in run.draws_of(unit).items()}
            if not accused.isdisjoint(draws) and not node.affine.is_size:
                rows.append((path, draws, draws.keys() & held))  # those that numbers before it tell may do what they do
            held |= {unit, *draws}
        noise = [
            call
            for number, call in run.independent()
            if call.family in SHIFT_LAWS and call.family != UNIFORM and not call.sampler.startswith("multiply")
            if number >= 0 or run.merged.isdisjoint(call.ids.flat)  # else it is a step on the way to other noise
        ]
        own = [call for call in noise if not accused.isdisjoint(call.ids.flat)]
        rest = [call for call in noise if held.isdisjoint(call.ids.flat)]
        before = {leaf.path: number_of(leaf.value) for leaf in leaves(run.output)}
        for calls in [*([call] for call in own[:MOST_OWN]), rest] if rows else ():
            units = [(unit, call, at) for call in calls for at, unit in enumerate(call.ids.ravel().tolist())]
            by = {unit: stepped(call, at, STEPS[0]) for unit, call, at in units}
            after = {leaf.path: number_of(leaf.value) for leaf in leaves(self._with_moved(by).output)}
            for path, draws, told in rows:
                wanted = sum(factor * by.get(draw, 0.0) for draw, factor in draws.items())
                size = abs(before[path]) + abs(wanted) + sum(map(abs, draws.values()))
                is_own = not by.keys().isdisjoint(draws) and by.keys().isdisjoint(told)
                apart = abs(after.get(path, math.nan) - before[path] - wanted)
                error = _format_error(before[path], after.get(path, math.nan))
                if (is_own or calls is rest) and math.isfinite(size) and not apart <= error * size:
                    return is_own
        return None

    def _excess_where_shown(
        self, known: Sequence[Moved], choices: Sequence[Choice], given: Collection[int]
    ) -> Excess | None:
        """How outputs with the shown numbers of this run overstep a pure ε; choices rest on some of those numbers."""
        pairs = [
            (laws.at_number(one.first, self.shown[one.unit]), laws.at_number(one.second, self.shown[one.unit]))
            if one.unit in given
            else one.pair
            for one in known
        ]
        return self.excess([*pairs, *(one.certain_pair for one in choices)]) if self.is_pure else None

    def _add_loss(self, known: Sequence[Moved], choices: Sequence[Choice], excess: Excess) -> None:
        numbers = sorted(known, key=lambda one: (one.is_rescaled, near(laws.largest_loss(*one.pair))))
        chosen = max(choices, key=lambda one: near(laws.largest_loss(*one.pair)), default=None)
        count = len(known) + len(choices)
        together = f", with {count - 1} more that move" if count > 1 else ""
        most = f"{together}: {excess.loss}, and the claim allows {excess.claimed}"
        if chosen is not None and (
            not numbers or laws.largest_loss(*chosen.pair) > laws.largest_loss(*numbers[-1].pair)
        ):
            one, other = chosen.worst()
            # then another line shows the data
            is_shown = (
                chosen.is_unbounded and self.ways is not None and self.ways.choice is chosen and self.ways.is_alike
            )
            parts = differences(self.first.output, self.second.output) if is_shown else []
            leaf = next((leaf for both in parts for leaf in both if leaf is not None), None)
            told = Difference(
                flaw="a choice by noise depends on the data more than is claimed",
                reason=f"{chosen.what}: an outcome has probability {one:.6g} on one input and {other:.6g} on the "
                f"other{most}",
                site=chosen.site if leaf is None else self._diverging_site(),
                excess=excess,
                event="that outcome of the choice",
                part=None if leaf is None else (leaf.path, leaf.value),
                is_counted=bool(chosen.decisive),
                is_chosen=True,
                drawn=() if leaf is not None else self._drawn(chosen.draws) or (chosen.site,),
            )
            if is_shown and leaf is None:
                self.late = told
            else:
                self.outcome.differences.append(told)
            return
        is_clipped = numbers[-1].pair != (numbers[-1].first, numbers[-1].second)
        event = "the outputs whose odds differ most" if is_clipped else "outputs in the tail of the noise, beyond both"
        self._add(**self._of_number(numbers[-1], most, excess), event=event, is_chosen=bool(choices))

    def _of_number(self, worst: Moved, most: str, excess: Excess) -> dict[str, Any]:
        """A noisy number that loses too much, in words."""
        call, one, other = self.first.owner(worst.unit)[0], worst.first, worst.second
        parts: dict[str, Any] = {"excess": excess, "call": described(call), "shift": worst.shift}
        if max(abs(one.centre), abs(other.centre)) >= BEYOND:
            reason = f"the value at {worst.node.site} is not finite on one input only: every output shows which"
            return {
                "flaw": "a value that is not finite passes the noise",
                "site": worst.node.site,
                "reason": reason,
                "call": described(call),
                "excess": Excess("probability 1 against 0", str(self.claim)),
                "met": worst.node.site,
            }
        if worst.is_rescaled:
            scales = f"{laws.text_of(one.scale)} on the first input and {laws.text_of(other.scale)} on the second"
            is_drawn_so = call.scale_at(0) != self._second_scale(call)
            return {
                **parts,
                "flaw": SCALE,
                "reason": f"noise at {worst.node.site} has scale {scales}{most}",
                "site": call.site if is_drawn_so and not call.key[0].endswith("draws") else self._where_moved(worst)[0],
                "drawn": self._drawn([worst.unit]) if is_drawn_so else (),
            }
        site, shift, scale = self._where_moved(worst)
        if not worst.node.affine.steps and not alike(shift * worst.first.scale, worst.shift * scale):
            shift, scale = worst.shift, worst.first.scale  # which other numbers tell more of, or less
        drawn = call.site if is_users(call.site.file) else site
        apart = f", drawn at {drawn}" if drawn[:2] != site[:2] else ""
        moved = f"the value at {site} moves by {laws.text_of(shift)}"
        reason = f"{moved} under {one.family} noise of scale {laws.text_of(scale)}{apart}{most}"
        parts |= {"drawn": self._drawn([worst.unit]), "met": site}
        is_one_draw = not call.key[0].endswith("draws")
        if is_one_draw and drawn.function == site.function:  # else a helper draws, for any scale
            site = drawn
        return {**parts, "flaw": TOO_LITTLE, "reason": reason, "site": site, "shift": shift}

    def _drawn(self, draws: Collection[int]) -> tuple[Site, ...]:
        """The lines that draw some noise, or what it is a sum of."""
        parts = [part for draw in draws for part in self.first.draws_of(draw)]
        return tuple(dict.fromkeys(self.first.owner(part)[0].site for part in parts))

    def excess(self, pairs: Sequence[tuple[Law, Law]]) -> Excess | None:
        """How outputs of these laws overstep the claim, of a sample where one was drawn; None where they do not."""
        if self.ways is not None and self.ways.is_complete:
            return laws.excess_over(self.claim, pairs)
        if self._sampling is not None:
            return laws.excess_over(self.claim, pairs, self._sampling)
        if laws.excess_over(self.claim, pairs) is None:
            return None
        excess = None if self._coins else laws.excess_of_shuffled(self.claim, pairs, self._parts)
        if excess is None:
            self.outcome.unjudged.append(
                "a sample or an order is drawn that values follow; what that hides has no law here"
            )
        return excess

    def _judge_vague(self, known: Sequence[Moved], released: Sequence[Moved], shared: Shared) -> None:
        """Numbers whose noise has no law here: what the largest of the draws that it is made of hides, all hide."""
        vague = [*released, *self.vague]
        if not vague and not shared.loose:
            return
        bounds = [(laws.alone(one.first), laws.alone(one.second)) for one in vague]
        has_law = all(law.family in SHIFT_LAWS for pair in bounds for law in pair)
        for way in shared.bounds_above(known) if has_law else ():
            pairs = [*way, *bounds]
            if self.excess(pairs) is None:
                self.outcome.loss = max(self.outcome.loss, laws.loss_of(pairs), key=near)
                return
        self.outcome.unjudged += [f"{one.node.site} adds noise whose law is not known" for one in vague]
        self.outcome.unjudged += [
            f"{group.site} adds noise that answers share, and what it hides is not known" for group in shared.loose
        ]

    def _judge_hidden(self, hidden: Sequence[Moved], known: Sequence[Moved], choices: Sequence[Choice]) -> None:
        """Numbers that went on into further computation: which parts of the output follow them?"""
        if not hidden:
            return
        self._note_shifts(hidden)
        broken = next((one for one in hidden if max(abs(one.first.centre), abs(one.second.centre)) >= BEYOND), None)
        if broken is not None:
            certain = Excess("probability 1 against 0", str(self.claim))
            self._add(**self._of_number(broken, "", certain), event="an output that is not finite")
            return
        looked = {*looked_at(self.first)}
        compared = [one for one in hidden if one.unit in looked]
        if self._are_followed(compared):
            looked -= {one.unit for one in compared if self._are_followed([one])}
        self.counted = self._together(known, [one for one in hidden if one.unit not in looked], choices)
        self.outcome.loss = max(self.outcome.loss, laws.loss_of(_pairs(self.counted)), key=near)
        if self.excess(_pairs(self._together(known, hidden, choices))) is None:
            return
        moving, even = self._responses()
        by_call: dict[int, list[Moved]] = defaultdict(list)
        for one in hidden:
            by_call[id(self.first.owner(one.unit)[0])].append(one)
        shown_, spent = list[Moved](), list[Moved]()
        again = self._with_moved({one.unit: stepped(*self.first.owner(one.unit), STEPS[0]) for one in hidden}, True)
        differing = {*differences_between(self), *_differing(self.first, again)}
        for call, group in by_call.items():
            others = (moving[one] for one in moving if one != call)
            if any(self._is_used_again(one) for one in group):
                differing |= moving.get(call, set())
            own = moving.get(call, set()).difference(self.held, differing, *others)
            shown_ += group if len(own) >= len(group) and (self.is_pure or call in even) else []
            bare = [one for one in group if not one.first.scale and one.unit not in looked]
            bare = [one for one in bare if self._are_followed([one])]
            spent += bare if differing.intersection(moving.get(call, ())) or not moving.get(call) else group
        excess = self.excess([one.pair for one in (*known, *shown_)])
        is_certain = excess is not None
        if not is_certain and not choices and self._by_zero(None):
            return
        excess = excess or self.excess(_pairs(self._together(known, spent, choices)))
        if excess is None or not spent:
            lost = [one for one in hidden if one.unit not in looked]
            if lost and self.excess(_pairs(self._together(known, lost, choices))) is not None:
                self.outcome.unjudged.append(
                    f"{lost[0].node.site} adds noise to what moves, and its use is not followed"
                )
            return
        self._add_spent(spent, [*known, *spent], excess, is_certain=is_certain)

    def _add_spent(
        self, spent: Sequence[Moved], together: Sequence[Moved], excess: Excess, *, is_certain: bool
    ) -> None:
        """Find what numbers spend, at the worst of them; a note where the output mixes them."""
        worst = max(spent, key=lambda one: (one.is_rescaled, near(laws.largest_loss(*one.pair))))
        lost = f": {excess.loss}, and the claim allows {excess.claimed}"
        mixed = "" if is_certain else MIXED
        parts = self._of_number(worst, lost + mixed, excess)
        if not worst.is_rescaled and self.excess([worst.pair]) is None:
            places = [self._where_moved(one)[0] for one in together]
            sites = ", ".join(dict.fromkeys(f"{site}{site.within}" for site in places))
            parts |= {
                "flaw": "the budget is spent more than once",
                "reason": f"noise at {sites} spends together{lost[1:]}{mixed}",
            }
        self._add(**parts, is_certain=is_certain)

    def _is_used_again(self, moved: Moved) -> bool:
        """Whether the draw of a hidden number is used in other ways after it first met the data."""
        runs = self.first, self.second
        sides = [[run.law(node, place) for unit, node, place in run.elements() if unit == moved.unit] for run in runs]
        losses = [near(laws.largest_loss(*pair)) for pair in zip(*sides, strict=False)]
        met = itertools.dropwhile(lambda loss: not loss, losses)
        return not all(math.isclose(loss, near(laws.largest_loss(*moved.pair))) for loss in met)

    def _are_followed(self, moved: Sequence[Moved]) -> bool:
        """Whether a number of the output moves with some noisy ones, however little those do."""
        changes: dict[int, dict[int, float]] = defaultdict(dict)
        for one in moved:
            call, at = self.first.owner(one.unit)
            number = self.first.number_of(call)
            if number is not None and np.asarray(call.raw).dtype.kind == "f":
                changes[number][at] = 2.0**-20 * near(max(call.scale_at(at), one.shift))
        output = self.again(changes).output if changes else self.first.output
        return skeleton(output) == skeleton(self.first.output) and bool(differences(self.first.output, output))

    def _together(
        self, known: Sequence[Moved], spent: Sequence[Moved], choices: Sequence[Choice]
    ) -> list[tuple[int, tuple[Law, Law]]]:
        """The laws of noisy numbers, each with its draw, and of choices by other noise than theirs, with −1."""
        drawn = {one.unit for one in spent}
        rest = [(-1, one.pair) for one in choices if drawn.isdisjoint(one.draws)]
        return [*((one.unit, one.pair) for one in (*known, *spent)), *rest]

    def _responses(self) -> tuple[dict[int, set[str]], set[int]]:
        """The parts of the first output that follow each call's noise, far out; and which calls they follow evenly."""
        base = {leaf.path: leaf.value for leaf in leaves(self.first.output)}
        moving: dict[int, set[str]] = {}
        even: set[int] = set()
        for number, call in self.first.independent():
            if call.family not in SHIFT_LAWS or call.family == UNIFORM:
                continue
            far = [
                {leaf.path: leaf.value for leaf in leaves(self.again({number: further(call, step)}).output)}
                for step in (7.25, 14.5, 29.0)
            ]
            rows = {
                path: [number_of(value), *(number_of(side.get(path)) for side in far)] for path, value in base.items()
            }
            moving[id(call)] = {path for path, row in rows.items() if _is_monotone(row)}
            if all(is_even([0, 7.25, 14.5, 29.0], rows[path]) for path in moving[id(call)]):
                even.add(id(call))
        return moving, even

    def _note_shifts(self, moved: Sequence[Moved]) -> None:
        for one in moved:
            place = str(one.node.site)
            self.outcome.shifts[place] = self.outcome.shifts.get(place, Fraction(0)) + one.shift

    def _compare_outputs(self) -> None:
        """What differs in the output although every noisy number is the same."""
        parts = [both for both in differences(self.first.output, self.second.output) if not self._is_judged(*both)]
        if parts and self.runs.unread:
            unread = ", ".join(sorted(self.runs.unread))
            self.outcome.unjudged.append(f"{unread} draws in a way that cannot be read, which may hide what differs")
            return
        if not parts or self._by_ways(parts):
            return
        is_alike = all(one and other and is_float(one.value) == is_float(other.value) for one, other in parts)
        if is_alike and self._by_zero({(one or other).path for one, other in parts}):  # type: ignore[union-attr]
            return
        families = {call.family for call in (*self.first.calls, *self.second.calls)}
        hiding = families - {*SHIFT_LAWS} | families & {UNIFORM}
        if [call.key for call in self.again({}).calls] != [call.key for call in self.first.calls]:
            self.outcome.unjudged.append("a second run on an input draws otherwise: noise is kept between runs")
            return
        hiding |= {*map("noise that is not followed after {}".format, self._losses())}
        is_simple = not hiding and not self.first.seen and not self.second.seen
        event = telling_event(self, parts, is_simple)
        if event is not None:
            both = (self.first.output, self.pair.first), (self.second.output, self.pair.second)
            failures = [output for output, _ in both if isinstance(output, Raised)]
            if not all(self.runs.fails_unwatched(one, self.seed) for output, one in both if isinstance(output, Raised)):
                self.outcome.unjudged.append(f"{failures[0].kind} is raised where noise is watched, and not elsewhere")
                return
            reason, words = event.reason, event.words
            if len(failures) == 1 and event.odds == CERTAIN:
                inputs = ("first", "second") if isinstance(self.first.output, Raised) else ("second", "first")
                words = f"{failures[0].kind} is raised"
                reason = (
                    f"{words} on the {inputs[0]} input and not on the {inputs[1]}, in all runs of either: {CERTAIN}"
                )
            raised = f" ({failures[0].kind}: {failures[0].message[:120]})" if failures else ""
            self._add(
                flaw=(
                    "a part of the output has no noise, and shows the data",
                    "the code fails on one of two neighbours",
                    "the message of an error has no noise, and shows the data",
                )[len(failures)],
                reason=reason + raised,
                site=self._diverging_site(),
                event=words,
                part=event.part,
                is_counted=True,
                excess=Excess(event.odds, str(self.claim)),
            )
            return
        if self._add_bare_part():
            return
        one, other = parts[0]
        path = (one or other).path  # type: ignore[union-attr]
        if not is_simple or not self._is_parallel():
            self.outcome.unjudged.append(
                f"{path} differs with the same noise, and {', '.join(sorted(hiding)) or 'a comparison'} may hide that"
            )
            return
        sides = [shown(leaf.value) if leaf else "missing" for leaf in (one, other)]
        self._add(
            flaw="the output depends on the data besides through what is noisy",
            reason=f"with every noisy number the same, {path} is {sides[0]} on the first input and {sides[1]} on the "
            "second",
            site=self._diverging_site(),
            is_certain=False,
            event=f"values of {path}",
        )

    def _add_bare_part(self) -> bool:
        """Find a part of the output that follows the data though released numbers tell all noise; whether there is."""
        bare = bare_part(self)
        if bare is None or not self._is_often_bare():
            return False
        part, instead = bare
        flaw, site = "a part of the output has no noise, and shows the data", Site("", 0, "")
        if part.path in self.held:
            node, place = next(nodes[0] for path, nodes in self.rows if path == part.path)
            draws = self.first.draws_of(int(node.affine.ids.flat[place]))
            flaw = "the same noise is added to several answers, which together show the data"
            site = self.first.owner(min(draws))[0].site
        self._add(
            flaw=flaw,
            reason=f"where the noisy numbers are the same, {part.path} is {shown(part.value)} on the first input "
            f"and {shown(instead.value)} on the second: probability 1 against 0",
            site=site,
            event=f"{part.path} is {shown(part.value)} beside these noisy numbers",
            part=(part.path, part.value),
            excess=Excess("probability 1 against 0", str(self.claim)),
        )
        return True

    def _is_often_bare(self) -> bool:
        """Whether a part of the output is bare with a larger probability than δ, by as much evidence as counts need.

        Where δ is 0, any probability is larger.
        """
        if not isinstance(self.claim, PrivacyClaim) or not self.claim.delta:
            return True
        count = 0
        for number in range(OFTEN):
            other = Pair(self.runs, self.pair, self.claim, self.seed + 800 + number)
            other.released()
            count += bare_part(other) is not None
        return bool(-stats.binom.logsf(count - 1, OFTEN, self.claim.delta) >= ENOUGH)

    def _is_judged(self, one: Leaf | None, other: Leaf | None) -> bool:
        """Whether a part moves as the numbers do with which it shares draws."""
        return one is not None and other is not None and one.path in self.together

    def _by_ways(self, parts: Sequence[tuple[Leaf | None, Leaf | None]]) -> bool:
        """Whether what differs was judged by the draws that decide it."""
        paths = {(one or other).path for one, other in parts}  # type: ignore[union-attr]
        return self.ways is not None and self.ways.decide(paths)

    def _by_zero(self, paths: set[str] | None) -> bool:
        """Judge parts, or all that noise moves, by the noise that moves them, where moving the draws shows how."""
        shifts = shifts_of(self, paths)
        if shifts is None:
            return False
        moved = shifts.moved
        if shifts.bare:
            self._add(**bare_sum(shifts.bare, self._diverging_site(), self.claim))
            return True
        self._note_shifts(moved)
        pairs = [one.pair for one in moved]
        excess = self.excess(pairs)
        if excess is not None and not shifts.is_exact:
            self.outcome.unjudged.append(f"{moved[0].node.site} adds noise that the output shows only in part")
            return True
        units = {one.unit for one in moved}
        rest = [pair for unit, pair in self.counted if unit not in units]
        if excess is None and paths is not None and rest and self.excess([*pairs, *rest]) is not None:
            if not self._by_zero(None):
                self.outcome.unjudged.append(f"{moved[0].node.site} adds noise to what moves, besides other numbers")
            return True
        self.outcome.loss = (
            laws.loss_of(pairs) if paths is None else max(self.outcome.loss, laws.loss_of(pairs), key=near)
        )
        if excess is not None:
            worst = max(moved, key=lambda one: (one.is_rescaled, near(laws.largest_loss(*one.pair))))
            how = " (measured by moving the draws)"
            parts_ = self._of_number(worst, f"{how}: {excess.loss}, and the claim allows {excess.claimed}", excess)
            call, diverging = self.first.owner(worst.unit)[0], self._diverging_site()
            if worst.is_rescaled and (diverging.line or call.scale_at(0) == self._second_scale(call)):
                parts_["site"] = diverging
            self._add(**parts_, event="outputs in the tail of the noise, beyond both")
        return True

    def _losses(self) -> list[str]:
        """Calls and casts, of the first input else of the second, after which noise is not followed."""
        for run in (self.first, self.second):
            lost = [f"{seen.operation} at {seen.site}" for seen in run.seen if seen.kind == "other"]
            if lost:
                return list(dict.fromkeys(lost))[:MOST_NAMED]
        sites = [str(call.site) for call in self._unfollowed()]
        return [f"a cast, such as int() or float(), of what {site} draws" for site in dict.fromkeys(sites)][:MOST_NAMED]

    def _unfollowed(self) -> list[Call]:
        """Draws of which nothing is seen after them."""
        runs = self.first, self.second
        followed = {unit for run in runs for unit, *_ in run.elements()} | {*self.first.merged}
        followed |= {unit for run in runs for seen in run.seen for unit in seen.draws()}
        drawn = [call for call in self.first.calls if call.family in (*NOISES, BITS) and call.size]
        return [call for call in drawn if followed.isdisjoint(call.ids.ravel()[:1])]

    def _note_asked_otherwise(self) -> None:
        """Name draws that nothing is added to, and that are asked for with other parameters on the second input."""
        runs = self.first, self.second
        judged = {unit for run in runs for unit, *_ in run.elements()} | {*self.first.merged}
        judged |= {unit for run in runs for unit in looked_at(run)}
        matches = {call.key: call for call in self.second.calls}
        for call in self.first.calls:
            match = matches.get(call.key)
            is_judged = call.family in (UNIFORM, CATEGORICAL) or not judged.isdisjoint(call.ids.ravel()[:1])
            if match is None or is_judged or call.family not in (*NOISES, BITS):
                continue
            if repr((call.scale, call.parameters, call.weights)) != repr(
                (match.scale, match.parameters, match.weights)
            ):
                asked = f"{described(call)} on one input and {described(match)} on the other"
                self.outcome.unjudged.append(f"{call.site} draws {asked}")

    def _note_bare_noise(self) -> None:
        """Name noise that is used or shown apart from what it makes noisy."""
        parts = differences(self.first.output, self.second.output)
        if self.outcome.unjudged or not all(self._is_judged(*both) for both in parts):
            return
        said = self.shared.astray() or bare_noise(self)
        is_open = any(seen.kind != "other" for seen in (*self.first.seen, *self.second.seen))
        if said is not None and (is_open or not self._by_zero(None)):
            self.outcome.unjudged.append(said)

    def _note_told_twice(self) -> None:
        """Name noise that several parts tell, where no rule looks at them together.

        Three cases: a draw of a sum moves several parts, of which one at least is rounded, text or the like; a draw is
        compared with other noise and moves a part besides; a uniform draw decides one part and moves another.
        """
        run, held = self.first, {path for path, _ in self.rows} - self.doubtful
        sums, compared, coins = run.draws_of_sums(), *_compared(run)
        compared -= self.shown.keys()
        if self.outcome.unjudged:
            return
        if len(sums | compared | coins) > MOST_TOLD:
            if not held.issuperset(self._moved_by(sums | compared | coins, STEPS[0])):
                self.outcome.unjudged.append(
                    f"more than {MOST_TOLD} draws hang together, which are not moved one by one"
                )
            return
        moved: dict[str, set[int]] = defaultdict(set)
        decided: dict[int, set[str]] = defaultdict(set)
        for draw in sums | compared | coins:
            for step in STEPS:
                for path in self._moved_by({draw}, step):
                    moved[path].add(draw)
            call, at = run.owner(draw)
            number = run.number_of(call)
            for share in ENDS if number is not None and draw in coins else ():
                decided[draw].update(_differing(run, self.again({number: {at: share * near(call.scale_at(at))}})))
        for one, other_ in itertools.combinations(moved, 2):
            shared = moved[one] & moved[other_]
            if shared & sums and len(moved[one] | moved[other_]) > 1 and not held.issuperset((one, other_)):
                self.outcome.unjudged.append(f"{one} and {other_} hold the same noise, with other noise besides")
                return
        for path, draws in moved.items():
            if draws & compared or any(decided[draw] - {path} for draw in draws & coins):
                self.outcome.unjudged.append(f"{path} shows noise that decides a comparison as well")
                return

    def _moved_by(self, draws: Collection[int], step: float) -> list[str]:
        """The parts of the first output that move when draws do, with all comparisons as they came out."""
        return _differing(
            self.first, self._with_moved({draw: stepped(*self.first.owner(draw), step) for draw in draws})
        )

    def _with_moved(self, by: Mapping[int, Any], has_values: bool = False) -> Session:
        """The first run with some draws moved, with all comparisons as they came out, and perhaps all noisy values."""
        changes: dict[int, dict[int, Any]] = defaultdict(dict)
        for draw, step in by.items():
            call, at = self.first.owner(draw)
            number = self.first.number_of(call)
            if number is not None:
                changes[number][at] = step
        kept = Script(self.first, {}, is_followed=True, has_values=has_values)
        return self.runs.run(self.pair.first, Session(self.seed, kept, in_turn(self.chosen, changes)))

    def _note_unseen(self) -> None:
        """Name what draws unseen, and parts of the output that cannot be looked into."""
        if self.runs.unread and not self.outcome.unjudged:
            self.outcome.unjudged.append(f"{', '.join(sorted(self.runs.unread))} draws in a way that cannot be read")
        for leaf in (*leaves(self.first.output), *leaves(self.second.output)):
            if isinstance(leaf.value, tuple) and leaf.value[:1] == (OPAQUE,):
                self.outcome.unjudged.append(f"{leaf.path} is a {leaf.value[1]}, which cannot be looked into")


def _format_error(*numbers: float) -> float:
    """How nearly numbers can follow noise in the shortest format that holds them all."""
    for bits, error in SHORT_FORMATS:
        if all(math.isfinite(one) and (math.frexp(one)[0] * 2**bits).is_integer() for one in numbers):
            return error
    return LEAST_ASTRAY


def _pairs(counted: Sequence[tuple[int, tuple[Law, Law]]]) -> list[tuple[Law, Law]]:
    return [pair for _, pair in counted]


def _compared(run: Session) -> tuple[set[int], set[int]]:
    """The draws that are compared with other draws, and the uniform ones that are compared with numbers."""
    with_noise, coins = set[int](), set[int]()
    for seen in run.seen:
        if seen.kind == "compare" and seen.operation not in ("equal", "not_equal"):
            draws = {*seen.draws()}
            is_with_noise = all(isinstance(one, Affine) for one in seen.operands)
            with_noise |= draws if is_with_noise else set()
            coins |= {draw for draw in draws if run.owner(draw)[0].family == UNIFORM}
    return with_noise, coins


def _differing(run: Session, other: Session) -> list[str]:
    """The parts of an output that another one has not with the same value."""
    values = {leaf.path: leaf.value for leaf in leaves(other.output)}
    return [leaf.path for leaf in leaves(run.output) if values.get(leaf.path) != leaf.value]


def _is_monotone(numbers: Sequence[float]) -> bool:
    """Whether numbers only rise, or only fall, and go on doing so at the end."""
    steps = np.diff(numbers)
    return bool((steps > 0).all() or (steps < 0).all())
