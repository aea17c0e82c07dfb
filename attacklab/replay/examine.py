"""One pair of neighbours: a run on each, compared draw by draw and number by number, and judged against the claim."""

from __future__ import annotations

import copy
import difflib
import functools
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.model.claims import Claim, PrivacyClaim
from attacklab.model.errors import passes_through, text_of
from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay import laws
from attacklab.replay.choices import Choice, Choices, Coins, units
from attacklab.replay.events import telling_event
from attacklab.replay.laws import (
    BITS,
    CATEGORICAL,
    OTHER,
    SAMPLING,
    SHIFT_LAWS,
    UNIFORM,
    UNKNOWN,
    Excess,
    Law,
    Sampling,
    near,
)
from attacklab.replay.outputs import Leaf, Raised, differences, is_float, leaves, number_of, shown, skeleton
from attacklab.replay.session import BEYOND, Affine, Call, Ids, Node, Script, Seen, Session, Site, rational
from attacklab.replay.traced import GEOMETRIC, SIGN

MOST_ALIGNED = 4096
OTHER_SEEDS = 24
"""How many further pairs of runs look for what noise that is not followed tells apart."""

DEPTHS = (0.03, 0.11, 0.27, 0.46, 0.62, 0.81, 0.94)
"""Uniform numbers that show by which formula they become noise."""

NOISES = (*SHIFT_LAWS, GEOMETRIC, SIGN, UNKNOWN, CATEGORICAL, OTHER)
TOO_LITTLE = "the noise is too small for how far the value moves"
SCALE = "the scale of the noise follows the data"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that differs between the runs on two neighbours.

    Attributes:
        flaw: what it shows, in one line.
        reason: what was measured.
        site: the line to look at; line 0 where it is to be looked for.
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
        differences: what is wrong.
        loss: the largest loss of what the outputs show, as far as it was measured.
        shifts: for each line that adds noise, how far its values move together.
        unjudged: what could not be judged, and why.
        sites: every line that drew noise, with what it drew.
        has_failed: whether both runs raised, so that nothing was compared.
    """

    differences: list[Difference] = field(default_factory=list)
    loss: Fraction | float = Fraction(0)
    shifts: dict[str, Fraction] = field(default_factory=dict)
    unjudged: list[str] = field(default_factory=list)
    sites: dict[str, str] = field(default_factory=dict)
    has_failed: bool = False


@dataclass(frozen=True)
class Moved:
    """A noisy number whose law is not the same on both inputs."""

    unit: int
    first: Law
    second: Law
    node: Node

    @property
    def pair(self) -> tuple[Law, Law]:
        """Its two laws."""
        return self.first, self.second

    @property
    def shift(self) -> Fraction:
        """How far its value moves."""
        return abs(self.first.centre - self.second.centre)

    @property
    def is_rescaled(self) -> bool:
        """Whether its noise has another scale."""
        return not alike(self.first.scale, self.second.scale)


@dataclass(frozen=True)
class Runs:
    """What is run: a function of one input and a generator, under hooks that are in place.

    Attributes:
        call: `call(input, rng)`.
        rng: makes the generator of a run.
    """

    call: Callable[[Any, Any], Any]
    rng: Callable[[int], Any]

    def run(self, input_: Any, session: Session) -> Session:
        """One run under watch, whose output the session keeps."""
        taken, generator = copy.deepcopy(input_), self.rng(session.seed)
        Session.current = session
        try:
            with np.errstate(all="ignore"):
                session.output = self.call(taken, generator)
        except BaseException as error:
            if passes_through(error):
                raise
            session.output = Raised(type(error).__name__, text_of(error))
        finally:
            Session.current = None
        return session


class Pair:
    """The examination of one pair.

    Args:
        runs: what is run.
        pair: the neighbours.
        claim: what is claimed.
        seed: of the draws.
    """

    def __init__(self, runs: Runs, pair: NeighbouringPair, claim: Claim, seed: int) -> None:
        self.runs, self.pair, self.claim, self.seed = runs, pair, claim, seed
        self.outcome = Outcome()
        self.aligned: dict[tuple[Any, ...], Ids] = {}
        self.first = runs.run(pair.first, Session(seed))
        self.chosen: dict[int, Any] = {}
        if self._sampling is not None and self._sampling.rate < 1:  # a record that is not in a sample shows nothing
            self.chosen = {number: functools.partial(_all_in, seen) for number, seen in _masks(self.first)}
            self.first = self.again({})
        self.second = self.again({}, second=True)

    def again(self, changed: dict[int, Any], *, second: bool = False, kept: bool = True) -> Session:
        """A run with some draws changed: the first again, or the second with or without what noise let out before."""
        changed = self.chosen | changed
        if not second:
            return self.runs.run(self.pair.first, Session(self.seed, None, changed))
        script = Script(self.first, self.aligned, kept)
        return self.runs.run(self.pair.second, Session(self.seed + 1, script, changed))

    def examine(self) -> Outcome:
        """Compare the two runs."""
        if isinstance(self.first.output, Raised) and isinstance(self.second.output, Raised):
            self.outcome.has_failed = True
            return self.outcome
        if not self._is_parallel():
            self._align()
        for call in (*self._noise(self.first), *self._noise(self.second)):
            self.outcome.sites.setdefault(str(call.site), described(call))
        self._compare_seeds()
        known = self._released()
        self._judge(known)
        if not self._is_refuted():
            self._compare_outputs()
        if not self._is_refuted():
            self._note_bits()
            self._note_unfollowed()
        return self.outcome

    def _is_refuted(self) -> bool:
        return any(one.is_certain for one in self.outcome.differences)

    def _add(self, **parts: Any) -> None:
        self.outcome.differences.append(Difference(**parts))

    def _noise(self, run: Session) -> list[Call]:
        return [call for call in run.calls if call.family in NOISES]

    def _is_parallel(self) -> bool:
        sides = [[(call.key, call.shape) for call in self._noise(run)] for run in (self.first, self.second)]
        return sides[0] == sides[1]

    def _align(self) -> None:
        """Pair up the draws of calls that are not made alike, by the values that noise is added to."""
        places: dict[Any, tuple[list[Call], list[Call]]] = defaultdict(lambda: ([], []))
        for side, run in enumerate((self.first, self.second)):
            for call in self._noise(run):
                places[call.key[:-1]][side].append(call)
        for sides in places.values():
            if [call.shape for call in sides[0]] == [call.shape for call in sides[1]]:
                continue
            drawn = [[unit for call in calls for unit in call.ids.reshape(-1).tolist()] for calls in sides]
            if max(map(len, drawn)) > MOST_ALIGNED:
                self.outcome.unjudged.append(f"{(sides[0] or sides[1])[0].site} draws too often to pair its draws up")
                continue
            values = [_values(run, own) for run, own in zip((self.first, self.second), drawn, strict=True)]
            taken, at = _matched(values[0], values[1], drawn[0]), 0
            for call in sides[1]:
                self.aligned[call.key] = np.array(taken[at : at + call.size], dtype=np.int64)
                at += call.size
        self.second = self.again({}, second=True)

    def _compare_seeds(self) -> None:
        for (site, what, one), (_, _, other) in zip(self.first.seeds, self.second.seeds, strict=False):
            if one != other:
                self._add(
                    flaw="the seed of the noise follows the data",
                    reason=f"{what} is seeded with {one!r} on the first input and with {other!r} on the second: "
                    "whoever guesses the input knows its noise",
                    site=site,
                    event="the output that this input gives with its seed",
                    excess=Excess("probability 1 against 0", str(self.claim)),
                )
                return

    def _released(self) -> list[Moved]:
        """The noisy numbers that the outputs hold, part by part, with their laws on both inputs."""
        sides = [_Holdings(run) for run in (self.first, self.second)]
        self.held: set[str] = set()
        self.shown: dict[int, Fraction] = {}
        before: dict[tuple[int, int], list[tuple[Node, int]]] = {}
        parts, moved = {leaf.path: leaf for leaf in sides[1].leaves}, []
        for leaf in sides[0].leaves:
            other = parts.get(leaf.path)
            found = sides[0].holding(leaf), None if other is None else sides[1].holding(other)
            if found[0] is None or found[1] is None:
                continue
            self.held.add(leaf.path)
            nodes = [found[0], found[1]]
            drawn = tuple(int(node.affine.ids.reshape(-1)[place]) for node, place in nodes)
            if (drawn[0], drawn[1]) in before:
                self._compare_reused(before[drawn[0], drawn[1]], nodes)
                continue
            before[drawn[0], drawn[1]] = nodes
            self.shown[drawn[0]] = self.shown[drawn[1]] = rational(number_of(leaf.value))
            pair = [run.law(*node) for run, node in zip((self.first, self.second), nodes, strict=True)]
            if pair[0] != pair[1]:
                moved.append(Moved(drawn[0], pair[0], pair[1], nodes[0][0]))
        return moved

    def _compare_reused(self, before: Sequence[tuple[Node, int]], after: Sequence[tuple[Node, int]]) -> None:
        """Two outputs of the same draw: a difference of the two has no noise."""
        bare = []
        for (one, where), (other, there) in zip(before, after, strict=True):
            (value, factor), (value_2, factor_2) = one.affine.exact(where), other.affine.exact(there)
            bare.append(value_2 - value * factor_2 / factor)
        if not alike(*bare):
            call = self.first.owner(int(after[0][0].affine.ids.reshape(-1)[after[0][1]]))[0]
            self._add(
                flaw="the same noise is added to two answers, and their difference shows the data",
                reason=f"one draw of {call.sampler} is added at {before[0][0].site} and again at {after[0][0].site}; "
                f"the difference of the two is {laws.text_of(bare[0])} on the first input and {laws.text_of(bare[1])} "
                "on the second, without noise: probability 1 against 0",
                site=after[0][0].site,
                event="the difference of the two answers",
                call=described(call),
                shift=abs(bare[0] - bare[1]),
                excess=Excess("probability 1 against 0", str(self.claim)),
            )

    def _judge(self, moved: Sequence[Moved]) -> None:
        """Add up what released numbers and choices lose; then look where hidden numbers go."""
        for one in moved:
            if one.first.family not in SHIFT_LAWS:
                self.outcome.unjudged.append(f"{one.node.site} adds noise whose law is not known")
        known = [one for one in moved if one.first.family in SHIFT_LAWS and one.second.family in SHIFT_LAWS]
        self._note_shifts(known)
        choices = Choices(self)
        self.outcome.unjudged += choices.unjudged
        self.outcome.loss = laws.loss_of([*(one.pair for one in known), *(one.pair for one in choices.found)])
        excess = self.excess([*(one.pair for one in known), *(one.pair for one in choices.found)])
        if excess is not None:
            shown_ = [choice for choice in choices.found if choices.is_revealed(choice)]
            excess = self.excess([*(one.pair for one in known), *(one.pair for one in shown_)])
            if excess is not None:
                self._add_loss(known, shown_, excess)
            else:
                kept = [one for one in choices.found if one not in shown_ and choices.is_revealed(one, floats=True)]
                self.outcome.unjudged += [f"{one.what} moves numbers of the output; they may show it" for one in kept]
        for difference in choices.thresholds():
            self._add(**difference)
        if not self._is_refuted():
            self._judge_hidden(known, choices.found)

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
            self._add(
                flaw="a choice by noise depends on the data more than is claimed",
                reason=f"{chosen.what}: an outcome has probability {one:.6g} on one input and {other:.6g} on the "
                f"other{most}",
                site=chosen.site,
                excess=excess,
                event="that outcome of the choice",
            )
            return
        self._add(**self._of_number(numbers[-1], most, excess), event="outputs in the tail of the noise, beyond both")

    def _of_number(self, worst: Moved, most: str, excess: Excess) -> dict[str, Any]:
        """A noisy number that loses too much, in words."""
        call, one, other = self.first.owner(worst.unit)[0], worst.first, worst.second
        parts: dict[str, Any] = {"excess": excess, "call": described(call), "shift": worst.shift}
        if max(abs(one.centre), abs(other.centre)) >= BEYOND:
            reason = f"the value at {worst.node.site} is not finite on one input only: every output shows which"
            return {
                **parts,
                "flaw": "a value that is not finite passes the noise",
                "site": worst.node.site,
                "reason": reason,
            }
        if worst.is_rescaled:
            scales = f"{laws.text_of(one.scale)} on the first input and {laws.text_of(other.scale)} on the second"
            is_drawn_so = call.scale_at(0) != self._second_scale(call)
            return {
                **parts,
                "flaw": SCALE,
                "reason": f"noise at {worst.node.site} has scale {scales}{most}",
                "site": call.site if is_drawn_so and not call.key[0].endswith("draws") else worst.node.site,
            }
        site, shift, scale = self._where_moved(worst)
        moved = f"the value at {site} moves by {laws.text_of(shift)}"
        reason = f"{moved} under {one.family} noise of scale {laws.text_of(scale)}{most}"
        return {**parts, "flaw": TOO_LITTLE, "reason": reason, "site": site, "shift": shift}

    def _where_moved(self, worst: Moved) -> tuple[Site, Fraction, Fraction]:
        """Where noise first met a value that moves, how far that one moves, and the scale of the noise there."""
        sides = [((node, place) for unit, node, place in run.elements() if unit == worst.unit) for run in self._both]
        for one, other in zip(*sides, strict=False):
            law, law_2 = self.first.law(*one), self.second.law(*other)
            if law != law_2 and law.scale == law_2.scale:
                return one[0].site, abs(law.centre - law_2.centre), law.scale
        return worst.node.site, worst.shift, worst.first.scale

    @property
    def _both(self) -> tuple[Session, Session]:
        return self.first, self.second

    def _second_scale(self, call: Call) -> Fraction | None:
        other = self.second._calls_by_key.get(call.key)
        return other.scale_at(0) if other is not None and other.size and call.size else None

    def excess(self, pairs: Sequence[tuple[Law, Law]]) -> Excess | None:
        """How outputs of these laws overstep the claim, of a sample where one was drawn; None where they do not."""
        if self._sampling is not None:
            return laws.excess_over(self.claim, pairs, self._sampling)
        if laws.excess_over(self.claim, pairs) is None:
            return None
        excess = laws.excess_of_shuffled(self.claim, pairs, self._parts)
        if excess is None:
            self.outcome.unjudged.append("noise is added to a sample that was drawn; what that hides has no law here")
        return excess

    @functools.cached_property
    def _sampling(self) -> Sampling | None:
        """The samples that are drawn; None where their law is not known."""
        orders = [number for number, call in enumerate(self.first.calls) if call.family == SAMPLING]
        masks = list(_masks(self.first))
        if orders and self._follows(orders):
            return None
        if not masks or not self._follows([number for number, _ in masks]):
            return Sampling()
        return Sampling(min(float(np.clip(_threshold(seen), 1e-9, 1)) for _, seen in masks), len(masks))

    def _follows(self, drawn: Sequence[int]) -> bool:
        """Whether values that noise is added to depend on some draws: on which records are drawn, or their order."""
        for input_, seed in itertools.product((self.pair.first, self.pair.second), range(77, 80)):
            base = self.runs.run(input_, Session(self.seed))
            spare = self.runs.run(input_, Session(self.seed + seed))
            if len(spare.calls) != len(base.calls):
                return True
            others = {number: functools.partial(_instead, spare.calls[number].raw) for number in drawn}
            run = self.runs.run(input_, Session(self.seed, None, others))
            before, after = ([near(node.affine.exact(at)[0]) for _, node, at in one.elements()] for one in (base, run))
            if len(before) != len(after) or not np.allclose(before, after, rtol=1e-9):
                return True
        return False

    @property
    def _parts(self) -> int:
        """How many noisy values of one kind the run adds noise to, as often as one line draws it."""
        counts = Counter((call.key[:-1], call.shape) for call in self.first.calls if call.family in SHIFT_LAWS)
        return max(counts.values(), default=1)

    def _hidden(self) -> list[Moved]:
        """Noisy numbers that move, and that the output does not hold as they are."""
        last: list[dict[int, tuple[Node, int]]] = [{}, {}]
        for side, run in enumerate((self.first, self.second)):
            for unit, node, place in run.elements():
                last[side][unit] = (node, place)
        gone = {*self.shown, *self.first.merged}
        hidden = []
        for unit, (node, place) in last[0].items():
            if unit in gone or unit not in last[1] or _made_alike(node, last[1][unit][0], self.first, self.second):
                continue
            pair = self.first.law(node, place), self.second.law(*last[1][unit])
            if pair[0] != pair[1] and {pair[0].family, pair[1].family} <= set(SHIFT_LAWS):
                hidden.append(Moved(unit, *pair, node))
        return hidden

    def _judge_hidden(self, known: Sequence[Moved], choices: Sequence[Choice]) -> None:
        """Numbers that went on into further computation: which parts of the output follow them?"""
        hidden = self._hidden()
        if not hidden:
            return
        self._note_shifts(hidden)
        broken = next((one for one in hidden if max(abs(one.first.centre), abs(one.second.centre)) >= BEYOND), None)
        if broken is not None:
            certain = Excess("probability 1 against 0", str(self.claim))
            self._add(**self._of_number(broken, "", certain), event="an output that is not finite")
            return
        looked = {*_looked_at(self.first)}
        looked -= {one.unit for one in hidden if one.unit in looked and self._is_followed(one)}
        counted = self._together(known, [one for one in hidden if one.unit not in looked], choices)
        self.outcome.loss = max(self.outcome.loss, laws.loss_of(counted), key=near)
        if self.excess(self._together(known, hidden, choices)) is None:
            return
        moving, even = self._responses()
        by_call: dict[int, list[Moved]] = defaultdict(list)
        for one in hidden:
            by_call[id(self.first.owner(one.unit)[0])].append(one)
        is_pure = isinstance(self.claim, PrivacyClaim) and not self.claim.delta
        shown_, spent = [], []
        for call, group in by_call.items():
            own = moving.get(call, set()).difference(self.held, *(moving[one] for one in moving if one != call))
            shown_ += group if len(own) >= len(group) and (is_pure or call in even) else []
            bare = [one for one in group if not one.first.scale and one.unit not in looked and self._is_followed(one)]
            spent += group if moving.get(call) else bare
        excess = self.excess([one.pair for one in (*known, *shown_)])
        is_certain = excess is not None
        excess = excess or self.excess(self._together(known, spent, choices))
        if excess is None or not spent:
            lost = [one for one in hidden if one.unit not in looked]
            if lost and self.excess(self._together(known, lost, choices)) is not None:
                self.outcome.unjudged.append(
                    f"{lost[0].node.site} adds noise to what moves, and its use is not followed"
                )
            return
        worst = max(spent, key=lambda one: (one.is_rescaled, near(laws.largest_loss(*one.pair))))
        lost_ = f": {excess.loss}, and the claim allows {excess.claimed}"
        mixed = "" if is_certain else "; the output mixes noisy numbers, so whether it shows as much is not known"
        parts = self._of_number(worst, lost_ + mixed, excess)
        if not worst.is_rescaled and self.excess([worst.pair]) is None:
            sites = ", ".join(dict.fromkeys(str(one.node.site) for one in (*known, *spent)))
            parts |= {
                "flaw": "the budget is spent more than once",
                "reason": f"noise at {sites} spends together{lost_[1:]}{mixed}",
            }
        self._add(**parts, is_certain=is_certain)

    def _is_followed(self, moved: Moved) -> bool:
        """Whether a number of the output moves with a noisy one, however little that one does."""
        call, at = self.first.owner(moved.unit)
        number = next((number for number, one in enumerate(self.first.calls) if one is call), None)
        if number is None or np.asarray(call.raw).dtype.kind != "f":
            return False
        step = 2.0**-20 * near(max(call.scale_at(at), moved.shift))
        output = self.again({number: {at: step}}).output
        return skeleton(output) == skeleton(self.first.output) and bool(differences(self.first.output, output))

    def _together(
        self, known: Sequence[Moved], spent: Sequence[Moved], choices: Sequence[Choice]
    ) -> list[tuple[Law, Law]]:
        """The laws of noisy numbers, and of choices by other noise than theirs."""
        drawn = {one.unit for one in spent}
        rest = [one.pair for one in choices if not drawn.intersection(units(one.group))]
        return [*(one.pair for one in (*known, *spent)), *rest]

    def _responses(self) -> tuple[dict[int, set[str]], set[int]]:
        """The parts of the first output that follow each call's noise, far out; and which calls they follow evenly."""
        base = {leaf.path: leaf.value for leaf in leaves(self.first.output)}
        moving: dict[int, set[str]] = {}
        even: set[int] = set()
        for number, call in enumerate(self.first.calls):
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
            if all(_is_even([0, 7.25, 14.5, 29.0], rows[path]) for path in moving[id(call)]):
                even.add(id(call))
        return moving, even

    def _note_shifts(self, moved: Sequence[Moved]) -> None:
        for one in moved:
            place = str(one.node.site)
            self.outcome.shifts[place] = self.outcome.shifts.get(place, Fraction(0)) + one.shift

    def _compare_outputs(self) -> None:
        """What differs in the output although every noisy number is the same."""
        parts = differences(self.first.output, self.second.output)
        if not parts or self._by_coins() or self._by_zero(parts):
            return
        families = {call.family for call in (*self.first.calls, *self.second.calls)}
        hiding = families - {*SHIFT_LAWS} | families & {UNIFORM}
        is_simple = not hiding and not any(
            seen.kind == "compare" for run in (self.first, self.second) for seen in run.seen
        )
        event = telling_event(self, parts, is_simple)
        if event is not None:
            raised = next((run.output for run in (self.first, self.second) if isinstance(run.output, Raised)), None)
            self._add(
                flaw="a part of the output has no noise, and shows the data"
                if raised is None
                else "the code fails on one of two neighbours",
                reason=event.reason + (f" ({raised.kind}: {raised.message[:120]})" if raised else ""),
                site=self._diverging_site(),
                event=event.words,
                excess=Excess(event.odds, str(self.claim)),
            )
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

    def _by_zero(self, parts: Sequence[tuple[Leaf | None, Leaf | None]]) -> bool:
        """Judge numbers by the laws that runs with the draws at 0 and at twice their size show, where they show one."""
        wanted = {(one or other).path for one, other in parts}  # type: ignore[union-attr]
        rows = [self._laws_by_zero(second, wanted) for second in (False, True)]
        if not rows[0] or not rows[1] or list(rows[0]) != list(rows[1]):
            return False
        moved = []
        for path, (one, call) in rows[0].items():
            moved.append(
                Moved(int(call.ids.reshape(-1)[0]), one, rows[1][path][0], Node(call.site, Affine(call.ids), None))
            )
        self._note_shifts(moved)
        pairs = [one.pair for one in moved]
        self.outcome.loss = max(self.outcome.loss, laws.loss_of(pairs), key=near)
        excess = self.excess(pairs)
        if excess is not None:
            worst = max(moved, key=lambda one: (one.is_rescaled, near(laws.largest_loss(*one.pair))))
            how = " (measured with the draw at 0)"
            parts_ = self._of_number(worst, f"{how}: {excess.loss}, and the claim allows {excess.claimed}", excess)
            diverging = self._diverging_site()
            if worst.is_rescaled and diverging.line:
                parts_["site"] = diverging
            self._add(**parts_, event="outputs in the tail of the noise, beyond both")
        return True

    def _laws_by_zero(self, second: bool, wanted: set[str]) -> dict[str, tuple[Law, Call]] | None:
        """The laws of some parts of an output, each a value and noise times a factor; None where they are no such."""
        run = self.again({}, second=second, kept=False)
        base = {leaf.path: number_of(leaf.value) for leaf in leaves(run.output)}
        rows: dict[str, tuple[Law, Call]] = {}
        for number, call in enumerate(run.calls):
            if call.family not in SHIFT_LAWS:
                continue
            at = DEPTHS if call.family == UNIFORM else (0, 2)
            sides = []
            for factor in at:
                changed = {number: (_filled if call.family == UNIFORM else _times)(factor)}
                output = self.again(changed, second=second, kept=False).output
                sides.append({leaf.path: number_of(leaf.value) for leaf in leaves(output)})
            moved = [path for path in base if len({base[path], *(side.get(path) for side in sides)}) > 1]
            raws = np.ravel(call.raw)
            if moved and len(moved) != len(raws):
                return None
            for place, path in enumerate(moved):
                numbers = [side.get(path, math.nan) for side in sides]
                if call.family == UNIFORM:
                    law = laws.fitted(DEPTHS, numbers)
                else:
                    law = _fitted(call, place, [numbers[0], base[path], numbers[1]])
                if path in rows or (law is None and path in wanted):
                    return None
                if law is not None and path in wanted:
                    rows[path] = (law, call)
        return dict(sorted(rows.items())) if set(rows) >= wanted else None

    def _by_coins(self) -> bool:
        """Judge an output that coins decide: which of them, flipped, give on one input what came out on the other?"""
        coins = Coins(self)
        choice = coins.choice()
        if choice is None:
            return False
        loss = laws.largest_loss(*choice.pair)
        self.outcome.loss = max(self.outcome.loss, loss, key=near)
        excess = laws.excess_over(self.claim, [choice.pair]) if loss > laws.LEAST_EXCESS else None
        if excess is not None:
            self._add_loss([], [choice], excess)
        return True

    def _note_bits(self) -> None:
        """Name what draws raw bits, where the output depends on them."""
        bits = [number for number, call in enumerate(self.first.calls) if call.family == BITS]
        if bits and differences(self.first.output, self.again(dict.fromkeys(bits, _complement)).output):
            call = self.first.calls[bits[0]]
            self.outcome.unjudged.append(
                f"{call.site} draws raw bits ({call.sampler}), whose use has no law here; prove or audit that part"
            )

    def _note_unfollowed(self) -> None:
        """Name noise of which nothing is seen but that other outcomes of it tell the inputs apart."""
        runs = self.first, self.second
        followed = {unit for run in runs for unit, *_ in run.elements()} | {*self.first.merged}
        followed |= {unit for run in runs for seen in run.seen for unit in _units_of(seen)}
        calls = [call for call in self._noise(self.first) if call.size and followed.isdisjoint(call.ids.ravel()[:1])]
        if not calls or self.outcome.unjudged:
            return
        for seed in range(self.seed + 200, self.seed + 200 + OTHER_SEEDS):
            first = self.runs.run(self.pair.first, Session(seed))
            second = self.runs.run(self.pair.second, Session(seed + 1, Script(first)))
            if differences(first.output, second.output):
                self.outcome.unjudged.append(f"{calls[0].site} draws noise whose use is not followed")
                return

    def _diverging_site(self) -> Site:
        """The first line where the runs do something else with noise, if there is one."""
        for one, other in zip(self.first.seen, self.second.seen, strict=False):
            plain = [repr([x for x in seen.operands if not isinstance(x, Affine)]) for seen in (one, other)]
            if one.kind in ("other", "compare") and plain[0] != plain[1]:
                return one.site
        for node, node_2 in zip(self.first.nodes, self.second.nodes, strict=False):
            if node.affine.steps and node_2.affine.steps:
                (step, operand), (step_2, operand_2) = node.affine.steps[-1], node_2.affine.steps[-1]
                if step == step_2 and step in "*/" and not np.array_equal(operand, operand_2):
                    return node.site
        return Site("", 0, "")


class _Holdings:
    """Which parts of an output are noisy numbers as they were made."""

    def __init__(self, run: Session) -> None:
        self.leaves = leaves(run.output)
        self._found: dict[Any, tuple[Node, int]] = {}
        wanted = {leaf.value for leaf in self.leaves if is_float(leaf.value)}
        tagged = {int(leaf.tag.ids) for leaf in self.leaves if leaf.tag is not None and leaf.tag.ids.size == 1}
        for unit, node, place in run.elements():
            number = node.result if np.ndim(node.result) == 0 else np.reshape(node.result, -1)[place]
            value = ("float", float(number).hex())
            if unit in tagged:
                self._found[unit, float(number)] = (node, place)
            if value in wanted and math.isfinite(number) and round(float(number), 4) != number:
                self._found[value] = (node, place)

    def holding(self, leaf: Leaf) -> tuple[Node, int] | None:
        """The noisy number that a part is."""
        if leaf.tag is not None and leaf.tag.ids.size == 1:
            found = self._found.get((int(leaf.tag.ids), number_of(leaf.value)))
            if found is not None:
                return found
        return self._found.get(leaf.value) if is_float(leaf.value) else None


def described(call: Call) -> str:
    """A draw in words: its source, what it was asked for and its shape."""
    asked = []
    for name, value in call.parameters:
        text = re.sub(r"\s+", " ", repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value))
        asked.append(f"{name}={text if len(text) <= 60 else f'{text[:57]}…'}")
    shape = "" if call.shape is None else f" of shape {call.shape}"
    file, line = call.site.inner
    inside = f" in {Path(file).name}:{line}" if line and (file, line) != call.site[:2] else ""
    return f"{call.sampler}({', '.join(asked)}){shape}{inside}"


def further(call: Call, step: float) -> Callable[[Any], Any]:
    """A change of a draw by so many scales, in whole numbers where it is an integer."""
    by = step * np.asarray(call.scale, dtype=float)
    by = np.ceil(by).astype(int) if np.asarray(call.raw).dtype.kind in "iu" else by
    return lambda raw: raw + by if isinstance(raw, np.ndarray) else type(raw)(raw + by)


def _masks(run: Session) -> Iterator[tuple[int, Seen]]:
    """Comparisons that draw a sample, a coin for each record, with the number of the call of the coins."""
    for seen in run.seen:
        sides = seen.operands
        if seen.kind == "compare" and np.size(seen.outcome) > 1 and len(sides) == 2:
            coins = next((one for one in sides if isinstance(one, Affine) and one.ids.size), None)
            number: Any = next((one for one in sides if not isinstance(one, Affine)), None)
            call = None if coins is None else run.owner(int(coins.ids.reshape(-1)[0]))[0]
            if call is not None and call.family == UNIFORM and np.size(number) == 1:
                yield next(place for place, one in enumerate(run.calls) if one is call), seen


def _threshold(mask: Seen) -> float:
    return next(float(np.ravel(one)[0]) for one in mask.operands if not isinstance(one, Affine))


def _all_in(mask: Seen, raw: Any) -> Any:
    """Coins with which a comparison is true for all records."""
    is_low = mask.operation.startswith("less") == isinstance(mask.operands[0], Affine)
    threshold = _threshold(mask)
    return threshold * raw if is_low else threshold + (1 - threshold) * raw


def _instead(new: Any, _raw: Any) -> Any:
    return new


def alike(one: Fraction, other: Fraction) -> bool:
    """Whether two numbers are the same but for what rounding does."""
    return abs(one - other) <= max(abs(one), abs(other)) * Fraction(1, 1 << 40)


def _values(run: Session, units: Sequence[int]) -> list[Any]:
    """The values that noise of these draws is added to first; None where there is none."""
    wanted, values = set(units), dict[int, Fraction]()
    for unit, node, place in run.elements():
        if unit in wanted and unit not in values:
            values[unit] = node.affine.exact(place)[0]
    return [values.get(unit) for unit in units]


def _matched(one: Sequence[Any], other: Sequence[Any], units: Sequence[int]) -> list[int]:
    """For each of the other's draws, the draw of the first with the same value in the same order; −1 for none."""
    taken = [-1] * len(other)
    matcher = difflib.SequenceMatcher(None, list(one), list(other), autojunk=False)
    for kind, low, high, low_2, high_2 in matcher.get_opcodes():
        size = min(high - low, high_2 - low_2) if kind in ("equal", "replace") else 0
        taken[low_2 : low_2 + size] = units[low : low + size]
    return taken


def _looked_at(run: Session) -> Iterator[int]:
    """Draws that are compared or selected by."""
    for seen in run.seen:
        if seen.kind != "other":
            yield from _units_of(seen)


def _units_of(seen: Seen) -> Iterator[int]:
    for operand in seen.operands:
        yield from operand.ids.reshape(-1).tolist() if isinstance(operand, Affine) else ()


def _made_alike(node: Node, other: Node, first: Session, second: Session) -> bool:
    """Whether two noisy values were made of the same numbers, which is found quickly."""
    if len(node.affine.steps) != len(other.affine.steps):
        return False
    calls = [run.owner(int(one.affine.ids.reshape(-1)[0]))[0] for run, one in ((first, node), (second, other))]
    return np.array_equal(calls[0].scale, calls[1].scale) and all(
        step == step_2 and np.array_equal(one, two)
        for (step, one), (step_2, two) in zip(node.affine.steps, other.affine.steps, strict=True)
    )


def _is_monotone(numbers: Sequence[float]) -> bool:
    """Whether numbers only rise, or only fall, and go on doing so at the end."""
    steps = np.diff(numbers)
    return bool((steps > 0).all() or (steps < 0).all())


def _is_even(at: Sequence[float], numbers: Sequence[float]) -> bool:
    """Whether a number moves in proportion to its noise, but for rounding."""
    slopes = np.diff(numbers) / np.diff(at)
    return bool(np.isfinite(slopes).all() and slopes.max() - slopes.min() <= 0.05 * np.abs(slopes).max())


def _fitted(call: Call, place: int, numbers: Sequence[float]) -> Law | None:
    """The law of a number by its values with a draw at 0, as it was, and at twice its size."""
    raw = float(np.ravel(call.raw)[place])
    if not raw or not _is_even([0, 1, 2], numbers):
        return None
    slope = (numbers[1] - numbers[0]) / raw
    factor = Fraction(1) if abs(abs(slope) - 1) < 1e-9 else abs(rational(slope))
    return Law(call.family, rational(numbers[0]), factor * call.scale_at(place))


def _filled(value: float) -> Callable[[Any], Any]:
    return lambda raw: np.full_like(raw, value) if isinstance(raw, np.ndarray) else value


def _times(factor: float) -> Callable[[Any], Any]:
    return lambda raw: raw * factor if isinstance(raw, np.ndarray) else type(raw)(raw * factor)


def _complement(raw: Any) -> Any:
    """Other bits of the same form."""
    if isinstance(raw, bytes):
        return bytes(255 - one for one in raw)
    if isinstance(raw, str):
        return raw[::-1]
    if isinstance(raw, np.ndarray):
        return raw[::-1] if raw.size > 1 else raw ^ 1
    return raw ^ ((1 << max(1, raw.bit_length())) - 1)
