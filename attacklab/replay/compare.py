"""One pair of neighbours: a run on each, compared draw by draw and number by number."""

from __future__ import annotations

import asyncio
import copy
import difflib
import functools
import inspect
import io
import itertools
import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.model.claims import Claim
from attacklab.model.errors import passes_through, text_of
from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay import laws
from attacklab.replay.laws import (
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
from attacklab.replay.outputs import Leaf, Raised, differences, is_float, leaves, number_of
from attacklab.replay.session import Affine, Call, Ids, Node, Script, Seen, Session, Site, filled, in_turn, rational
from attacklab.replay.traced import GEOMETRIC, SIGN

MOST_GIVEN = 1 << 16
"""Of what an output gives one after another, no more is asked for."""

LEAST_RUNS = 100
"""So many are made, however long they take."""

MOST_ALIGNED = 4096
"""Draws of one line beyond these are not paired up."""

MOST_COINS = 64
"""With more coins for records, it is not looked at whether each record has its own."""

MOST_FURTHER = 8
"""So many coins that one input has more than the other are decided as well."""

ENDS = (2.0**-20, 1 - 2.0**-20)
"""Uniform numbers near the ends of their interval, which rare paths need."""

NOISES = (*SHIFT_LAWS, GEOMETRIC, SIGN, UNKNOWN, CATEGORICAL, OTHER)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that differs between the runs on two neighbours.

    Attributes:
        flaw: what it shows, in one line.
        reason: what was measured.
        site: the line to look at; line 0 where it is to be looked for.
        is_certain: whether it refutes the claim; else it is a note.
        is_counted: whether runs with fresh noise showed it, whatever the draws were that led to it.
        excess: what is lost and what is claimed, where that can be said.
        call: the draw.
        shift: how far apart the two values are that noise is added to.
        event: outputs that are more probable than the claim allows, in words.
        part: where in the output that is, and the value there, if it is one value.
    """

    flaw: str
    reason: str
    site: Site
    is_certain: bool = True
    is_counted: bool = False
    excess: Excess | None = None
    call: str = ""
    shift: Fraction | None = None
    event: str = ""
    part: tuple[str, Any] | None = None


@dataclass
class Outcome:
    """What the runs on a pair showed.

    Attributes:
        differences: what is wrong.
        loss: the largest loss of what the outputs show, as far as it was measured.
        shifts: for each line that adds noise, how far its values move together.
        unjudged: what could not be judged, and why.
        sites: every line that drew noise, with what it drew.
        raised: what both runs raised, so that nothing was compared.
        variants: with how many other draws both inputs were run.
    """

    differences: list[Difference] = field(default_factory=list)
    loss: Fraction | float = Fraction(0)
    shifts: dict[str, Fraction] = field(default_factory=dict)
    unjudged: list[str] = field(default_factory=list)
    sites: dict[str, str] = field(default_factory=dict)
    raised: str = ""
    variants: int = 0

    @property
    def is_refuted(self) -> bool:
        """Whether something refutes the claim."""
        return any(one.is_certain for one in self.differences)

    def take(self, other: Outcome) -> None:
        """Add what an outcome of other draws measured and could not judge; not its differences."""
        self.loss = max(self.loss, other.loss, key=near)
        for place, shift in other.shifts.items():
            self.shifts.setdefault(place, shift)
        self.unjudged += other.unjudged
        self.sites |= other.sites
        self.variants += other.variants


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


class TimeUp(Exception):
    """No more runs are to be made."""


@dataclass
class Runs:
    """What is run: a function of one input and a generator, under hooks that are in place.

    Attributes:
        call: `call(input, rng)`.
        rng: makes the generator of a run.
        begin: is called before a run.
        unread: what drew in ways that no reader reads: compiled code may do so unseen from then on.
        known: streams of draws that are no noise, as their seed is fixed.
        is_plain: whether draws are handed over as plain numbers, which are not followed.
        is_endless: whether a loop that draws was seen that has no longest run.
        count: how many there were.
        until: when no more are made, by the monotonic clock, once there were `LEAST_RUNS`.
    """

    call: Callable[[Any, Any], Any]
    rng: Callable[[int], Any]
    begin: Callable[[], None] = lambda: None
    unread: set[str] = field(default_factory=set)
    known: set[Any] = field(default_factory=set)
    is_plain: bool = False
    is_endless: bool = False
    count: int = 0
    until: float = math.inf

    def run(self, input_: Any, session: Session) -> Session:
        """One run under watch, whose output the session keeps.

        Raises:
            TimeUp: no more are to be made.
        """
        if self.count >= LEAST_RUNS and time.monotonic() > self.until:
            raise TimeUp
        self.count += 1
        taken, generator = copy.deepcopy(input_), self.rng(session.seed)
        self.begin()
        session.known, session.is_plain = self.known, self.is_plain
        Session.current = session
        try:
            with np.errstate(all="ignore"):
                session.output = _drained(self.call(taken, generator))
        except BaseException as error:
            if passes_through(error):
                raise
            session.output = Raised(type(error).__name__, text_of(error))
        finally:
            Session.current = None
            self.unread.update(session.unread)
        return session


def _drained(output: Any) -> Any:
    """An output whose parts were all drawn, where it gives them one after another, or only once it is awaited."""
    if inspect.iscoroutine(output):
        output = asyncio.run(output)
    if isinstance(output, Iterator) and not isinstance(output, io.IOBase):
        output = list(itertools.islice(output, MOST_GIVEN))
    if type(output) in (list, tuple):
        return type(output)(map(_drained, output))
    return {key: _drained(value) for key, value in output.items()} if type(output) is dict else output


class Compared:
    """The two runs of a pair, and what differs between them.

    Args:
        runs: what is run.
        pair: the neighbours.
        claim: what is claimed.
        seed: of the draws.
        chosen: by the number of a call, or by its key, what is made of its draw in every run.
    """

    def __init__(
        self, runs: Runs, pair: NeighbouringPair, claim: Claim, seed: int, chosen: Mapping[Any, Any] | None = None
    ) -> None:
        self.runs, self.pair, self.claim, self.seed = runs, pair, claim, seed
        self.outcome = Outcome()
        self.vague: list[Moved] = []
        self.aligned: dict[tuple[Any, ...], Ids] = {}
        self.chosen: dict[Any, Any] = dict(chosen or {})
        self.first = self.again({})
        if self._sampling is not None and self._sampling.rate < 1:  # a record that is not in a sample shows nothing
            self.chosen |= _decided(_masks(self.first), is_in=True)
            self.first = self.again({})
        self.second = self.again({}, second=True)
        if not self._is_parallel():
            self._align()

    def again(
        self, changed: Mapping[Any, Any], *, second: bool = False, kept: bool = True, values: bool = True
    ) -> Session:
        """A run with some draws changed: the first again, or the second.

        Args:
            changed: by the number of a call, what is made of its draw.
            second: whether the second input is run.
            kept: whether that run takes what noise let out before.
            values: whether, of that, it takes noisy values.
        """
        changed = in_turn(self.chosen, changed)
        if not second:
            return self.runs.run(self.pair.first, Session(self.seed, None, changed))
        script = Script(self.first, self.aligned, kept, values)
        return self.runs.run(self.pair.second, Session(self.seed + 1, script, changed))

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
        again = self.again({}).seeds if self.first.seeds != self.second.seeds else self.first.seeds
        for (site, what, one), (*_, same), (*_, other) in zip(self.first.seeds, again, self.second.seeds, strict=False):
            if one == same != other:  # one that differs on the same input follows the time, or a counter
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
        used = [{unit for unit, *_ in run.elements()} for run in (self.first, self.second)]
        self.shown: dict[int, Fraction] = {}
        before: dict[tuple[int, int], list[tuple[Node, int]]] = {}
        bare: dict[int, list[tuple[Node, int]]] = {}
        parts, moved = {leaf.path: leaf for leaf in sides[1].leaves}, []
        for leaf in sides[0].leaves:
            other = parts.get(leaf.path)
            found = sides[0].holding(leaf), None if other is None else sides[1].holding(other)
            if found[0] is None or found[1] is None:
                if leaf.tag is not None and not leaf.tag.steps and leaf.tag.ids.size == 1:
                    bare[int(leaf.tag.ids)] = [(Node(Site("", 0, ""), leaf.tag, None), 0)] * 2
                continue
            self.held.add(leaf.path)
            nodes = [found[0], found[1]]
            drawn = tuple(int(node.affine.ids.reshape(-1)[place]) for node, place in nodes)
            if drawn[0] != drawn[1] and {*drawn} <= used[0] & used[1]:
                continue  # they stand in another order, which noise may have chosen
            if (drawn[0], drawn[1]) in before:
                self._compare_reused(before[drawn[0], drawn[1]], nodes)
                continue
            before[drawn[0], drawn[1]] = nodes
            self.shown[drawn[0]] = self.shown[drawn[1]] = rational(number_of(leaf.value))
            pair = [run.law(*node) for run, node in zip((self.first, self.second), nodes, strict=True)]
            if pair[0] != pair[1]:
                moved.append(Moved(drawn[0], pair[0], pair[1], nodes[0][0]))
        for (unit, unit_2), nodes in before.items():
            if unit == unit_2 and unit in bare:
                self._compare_reused([(replace(node, site=nodes[0][0].site), at) for node, at in bare[unit]], nodes)
        return moved

    def _compare_reused(self, before: Sequence[tuple[Node, int]], after: Sequence[tuple[Node, int]]) -> None:
        """Two outputs of the same draw: a difference of the two has no noise."""
        bare = []
        for (one, where), (other, there) in zip(before, after, strict=True):
            (value, factor), (value_2, factor_2) = one.affine.exact(where), other.affine.exact(there)
            bare.append(value_2 - value * factor_2 / factor)
        is_bare = not alike(*bare)
        if is_bare or (_adds_apart(before, after) and bare[0]):
            call = self.first.owner(int(after[0][0].affine.ids.reshape(-1)[after[0][1]]))[0]
            self._add(
                flaw="the same noise is added to two answers, and their difference shows the data",
                reason=f"one draw of {call.sampler} is added at {before[0][0].site} and again at {after[0][0].site}; "
                f"the difference of the two is {laws.text_of(bare[0])} on the first input and {laws.text_of(bare[1])} "
                "on the second, without noise" + (": probability 1 against 0" if is_bare else ""),
                site=after[0][0].site,
                is_certain=is_bare,
                event="the difference of the two answers",
                call=described(call),
                shift=abs(bare[0] - bare[1]),
                excess=Excess("probability 1 against 0", str(self.claim)) if is_bare else None,
            )

    def _second_scale(self, call: Call) -> Fraction | None:
        other = self.second._calls_by_key.get(call.key)
        return other.scale_at(0) if other is not None and other.size and call.size else None

    @functools.cached_property
    def _sampling(self) -> Sampling | None:
        """The samples that are drawn; None where their law is not known."""
        orders = [number for number, call in enumerate(self.first.calls) if call.family == SAMPLING]
        masks = _masks(self.first)
        if (orders and self._follows(orders)) or (self._coins and self._follows(self._coins)):
            return None
        calls = enumerate(self.first.calls)
        if (
            not masks
            or not _noisy_values(self.first)
            or not self._follows([number for number, call in calls if call.key[:-1] in masks])
        ):
            return Sampling()
        is_one_by_one = any(np.size(group[0].outcome) == 1 for group in masks.values())
        out = _decided(masks, is_in=False)
        runs = [self.runs.run(input_, Session(self.seed, None, out)) for input_ in (self.pair.first, self.pair.second)]
        is_same = _noisy_values(runs[0]) == _noisy_values(runs[1])
        if is_one_by_one and not (is_same and self._is_one_coin(masks)):
            return None  # a record that is not drawn counts all the same, or it has several coins
        rates = [
            _threshold(seen) if _is_below(seen) else 1 - _threshold(seen) for one in masks.values() for seen in one
        ]
        samples = sum(len(group) if np.size(group[0].outcome) > 1 else 1 for group in masks.values())
        return Sampling(float(np.clip(min(rates), 1e-9, 1)), samples)

    def _is_one_coin(self, masks: Mapping[tuple[Any, ...], Sequence[Seen]]) -> bool:
        """Whether one coin decides for the record in question; taken to be so where there are many coins."""
        counts = {place: max(len(group), *(np.size(seen.outcome) for seen in group)) for place, group in masks.items()}
        if max(counts.values()) > MOST_COINS:
            return True
        everything = _decided(masks, is_in=True)
        inputs = self.pair.first, self.pair.second
        whole = [_noisy_values(self.runs.run(input_, Session(self.seed, None, everything))) for input_ in inputs]
        for at in range(max(counts.values()) + 1):
            left = everything | _left_out(masks, at)
            without = [_noisy_values(self.runs.run(input_, Session(self.seed, None, left))) for input_ in inputs]
            if any(map(_are_near, (without[0], without[0], whole[0]), (without[1], whole[1], without[1]))):
                return True
        return False

    @functools.cached_property
    def _coins(self) -> list[int]:
        """The calls of uniform numbers that are compared one by one, and draw no sample that is known."""
        used = {unit: len(node.affine.steps) for unit, node, _ in self.first.elements()}
        compared = [seen for seen in self.first.seen if seen.kind != "other"]
        operands = [one for seen in compared for one in seen.operands if _is_one_draw(one)]
        coins = {one.ids.item() for one in operands if used.get(one.ids.item(), 0) <= len(one.steps)}
        masks, owners = _masks(self.first), {id(self.first.owner(unit)[0]) for unit in coins}
        return [
            number
            for number, call in enumerate(self.first.calls)
            if call.family == UNIFORM and id(call) in owners and call.key[:-1] not in masks
        ]

    def _follows(self, drawn: Sequence[int]) -> bool:
        """Whether values that noise is added to depend on some draws: on which records are drawn, or their order."""
        for input_ in (self.pair.first, self.pair.second):
            base = self.runs.run(input_, Session(self.seed))
            spares = [self.runs.run(input_, Session(self.seed + seed)) for seed in range(77, 80)]
            if any(len(spare.calls) != len(base.calls) for spare in spares):
                return True
            numbers = [number for number in drawn if number < len(base.calls)]
            others: list[dict[int, Any]] = [{number: spare.calls[number].raw for number in numbers} for spare in spares]
            uniform = [number for number in numbers if base.calls[number].family == UNIFORM]
            others += [
                {number: filled(share * base.calls[number].scale, base.calls[number].raw) for number in uniform}
                for share in ENDS
            ]
            for raws in others:
                changes = {number: functools.partial(_instead, raw) for number, raw in raws.items()}
                run = self.runs.run(input_, Session(self.seed, None, changes))
                sides = [[near(node.affine.exact(at)[0]) for _, node, at in one.elements()] for one in (base, run)]
                if len(sides[0]) != len(sides[1]) or not np.allclose(sides[0], sides[1], rtol=1e-9):
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
        hidden: list[Moved] = []
        for unit, (node, place) in last[0].items():
            if unit in gone or unit not in last[1] or made_alike(node, last[1][unit][0], self.first, self.second):
                continue
            pair = self.first.law(node, place), self.second.law(*last[1][unit])
            if pair[0] != pair[1]:
                is_known = {pair[0].family, pair[1].family} <= set(SHIFT_LAWS)
                (hidden if is_known else self.vague).append(Moved(unit, *pair, node))
        return hidden

    def _where_moved(self, worst: Moved) -> tuple[Site, Fraction, Fraction]:
        """Where noise first met a value that moves, or got a scale that does; how far that value moves; its scale."""
        runs = self.first, self.second
        sides = [((node, place) for unit, node, place in run.elements() if unit == worst.unit) for run in runs]
        for one, other in zip(*sides, strict=False):
            law, law_2 = self.first.law(*one), self.second.law(*other)
            if law != law_2 and (law.scale != law_2.scale) == worst.is_rescaled:
                return one[0].site, abs(law.centre - law_2.centre), law.scale
        return worst.node.site, worst.shift, worst.first.scale

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


def differences_between(pair: Compared) -> set[str]:
    """The parts in which the outputs of a pair differ."""
    sides = differences(pair.first.output, pair.second.output)
    return {leaf.path for both in sides for leaf in both if leaf is not None}


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


def _adds_apart(before: Sequence[tuple[Node, int]], after: Sequence[tuple[Node, int]]) -> bool:
    """Whether two noisy values that move with the data were made apart, not the second of the first."""
    rows = [[_steps_at(*side) for side in sides] for sides in (before, after)]
    sides = [zip(*side, strict=False) for side in zip(*rows, strict=True)]
    shared = [list(itertools.takewhile(lambda both: both[0] == both[1], side)) for side in sides]
    return shared[0] == shared[1] and all(row[0] != row[1] for row in rows)


def _steps_at(node: Node, place: int) -> list[tuple[str, Any]]:
    return [
        (step, operand if np.ndim(operand) == 0 else np.broadcast_to(operand, node.affine.ids.shape).flat[place])
        for step, operand in node.affine.steps
    ]


def _noisy_values(run: Session) -> list[Fraction]:
    """The values that noise is added to; uniform numbers may be coins, and are left out."""
    elements = ((run.owner(unit)[0], node, at) for unit, node, at in run.elements())
    return [node.affine.exact(at)[0] for call, node, at in elements if call.family != UNIFORM]


def _are_near(one: Sequence[Fraction], other: Sequence[Fraction]) -> bool:
    """Whether two rows of values are the same but for rounding."""
    return len(one) == len(other) and np.allclose([*map(near, one)], [*map(near, other)], rtol=1e-9)


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


def _is_one_draw(operand: Any) -> bool:
    return isinstance(operand, Affine) and operand.ids.size == 1


def _masks(run: Session) -> dict[tuple[Any, ...], list[Seen]]:
    """Comparisons that draw a sample, a coin for each record, by the place where the coins are drawn.

    The coins are numbers of one array, or drawn one by one at one place and compared with one rate.
    """
    masks: dict[tuple[Any, ...], list[Seen]] = defaultdict(list)
    for seen in run.seen:
        sides = seen.operands
        if seen.kind == "compare" and len(sides) == 2:
            coins = next((one for one in sides if isinstance(one, Affine) and one.ids.size), None)
            number: Any = next((one for one in sides if not isinstance(one, Affine)), None)
            call = None if coins is None else run.owner(int(coins.ids.reshape(-1)[0]))[0]
            if call is not None and call.family == UNIFORM and np.size(number) == 1:
                masks[call.key[:-1]].append(seen)
    return {place: group for place, group in masks.items() if _is_sample(group)}


def _is_sample(group: Sequence[Seen]) -> bool:
    if any(np.size(seen.outcome) > 1 for seen in group):
        return all(np.size(seen.outcome) > 1 for seen in group)
    return len(group) > 1 and len({(seen.site, seen.operation, _threshold(seen)) for seen in group}) == 1


def _threshold(mask: Seen) -> float:
    return next(float(np.ravel(one)[0]) for one in mask.operands if not isinstance(one, Affine))


def _is_below(mask: Seen) -> bool:
    """Whether a record is drawn where its coin is below the threshold."""
    return mask.operation.startswith("less") == isinstance(mask.operands[0], Affine)


def _decided(masks: Mapping[tuple[Any, ...], Sequence[Seen]], *, is_in: bool) -> dict[tuple[Any, ...], Any]:
    """Changes of coins with which all records are in the sample, or none, by the keys of their calls."""
    return {
        (*place, number): functools.partial(_on_one_side, _threshold(group[0]), _is_below(group[0]) == is_in)
        for place, group in masks.items()
        for number in range(len(group) + MOST_FURTHER)
    }


def _left_out(masks: Mapping[tuple[Any, ...], Sequence[Seen]], at: int) -> dict[tuple[Any, ...], Any]:
    """Changes of coins with which one record is in no sample, and all others are."""
    changes = {}
    for place, group in masks.items():
        sides = _threshold(group[0]), _is_below(group[0])
        if np.size(group[0].outcome) == 1:
            changes[*place, at] = functools.partial(_on_one_side, sides[0], not sides[1])
        else:
            left = functools.partial(_on_two_sides, *sides, at)
            changes |= {(*place, number): left for number in range(len(group) + MOST_FURTHER)}
    return changes


def _on_two_sides(threshold: float, is_below: bool, at: int, raw: Any) -> Any:
    moved = np.array(_on_one_side(threshold, is_below, raw))
    moved.reshape(-1)[at : at + 1] = _on_one_side(threshold, not is_below, np.ravel(raw)[at : at + 1])
    return moved


def _on_one_side(threshold: float, is_below: bool, raw: Any) -> Any:
    return threshold * raw if is_below else threshold + (1 - threshold) * raw


def _instead(new: Any, _raw: Any) -> Any:
    return new


def made_alike(node: Node, other: Node, first: Session, second: Session) -> bool:
    """Whether two noisy values were made of the same numbers, which is found quickly."""
    if len(node.affine.steps) != len(other.affine.steps):
        return False
    if not node.affine.ids.size or not other.affine.ids.size:  # arrays that are empty on one input at least
        return node.affine.ids.size == other.affine.ids.size
    calls = [run.owner(int(one.affine.ids.reshape(-1)[0]))[0] for run, one in ((first, node), (second, other))]
    return np.array_equal(calls[0].scale, calls[1].scale) and all(
        step == step_2 and np.array_equal(one, two)
        for (step, one), (step_2, two) in zip(node.affine.steps, other.affine.steps, strict=True)
    )


def alike(one: Fraction, other: Fraction) -> bool:
    """Whether two numbers are the same but for what rounding does."""
    return abs(one - other) <= max(abs(one), abs(other)) * Fraction(1, 1 << 40)


def further(call: Call, step: float) -> Callable[[Any], Any]:
    """A change of a draw by so many scales, in whole numbers where it is an integer."""
    by = step * np.asarray(call.scale, dtype=float)
    by = np.ceil(by).astype(int) if np.asarray(call.raw).dtype.kind in "iu" else by
    return lambda raw: raw + by if isinstance(raw, np.ndarray) else type(raw)(raw + by)


def described(call: Call) -> str:
    """A draw in words: its source, what it was asked for and its shape."""
    asked = []
    for name, value in call.parameters:
        text = re.sub(r"\s+", " ", repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value))
        asked.append(f"{name}={text if len(text) <= 60 else f'{text[:57]}…'}")
    shape = "" if call.shape is None else f" of shape {call.shape}"
    return f"{call.sampler}({', '.join(asked)}){shape}{call.site.within}"
