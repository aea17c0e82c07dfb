"""One pair of neighbours: a run on each, compared draw by draw and number by number."""

from __future__ import annotations

import difflib
import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from attacklab.model.claims import Claim
from attacklab.model.neighbours import NeighbouringPair
from attacklab.replay import laws, samples
from attacklab.replay.laws import (
    CATEGORICAL,
    OTHER,
    SHIFT_LAWS,
    UNIFORM,
    UNKNOWN,
    Excess,
    Law,
    Sampling,
    near,
)
from attacklab.replay.outputs import Leaf, differences, is_float, leaves, number_of
from attacklab.replay.runs import Runs
from attacklab.replay.session import Affine, Call, Ids, Node, Script, Session, Site, in_turn, rational
from attacklab.replay.traced import GEOMETRIC, SIGN

MOST_ALIGNED = 4096
"""Draws of one line beyond these are not paired up."""

ENDS = (0.01, 0.99)
"""Uniform numbers are moved between these shares of their scale."""

FEW_SEEDS = 6
"""How many further runs look whether what has no noise is the same in them."""

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
        is_chosen: whether it rests on what noise decides, so that fresh outputs have to show it before it is said.
        excess: what is lost and what is claimed, where that can be said.
        call: the draw.
        shift: how far apart the two values are that noise is added to.
        event: outputs that are more probable than the claim allows, in words.
        part: where in the output that is, and the value there, if it is one value.
        drawn: where the noise is drawn that has the scale in question, or that decides.
        met: where it meets the value.
    """

    flaw: str
    reason: str
    site: Site
    is_certain: bool = True
    is_counted: bool = False
    is_chosen: bool = False
    excess: Excess | None = None
    call: str = ""
    shift: Fraction | None = None
    event: str = ""
    part: tuple[str, Any] | None = None
    drawn: tuple[Site, ...] = ()
    met: Site | None = None


class Gap(NamedTuple):
    """The difference of two parts of an output: that of the second and so many times the first."""

    ratio: Fraction
    value: Fraction


@dataclass
class Outcome:
    """What the runs on a pair showed.

    Attributes:
        differences: what is wrong.
        loss: the largest loss of what the outputs show, as far as it was measured.
        shifts: for each line that adds noise, how far its values move together.
        unjudged: what could not be judged, and why.
        sites: every line that drew noise, with what it drew.
        gaps: by the places of two answers with the same noise, their difference, which is the same on both inputs, and
            what is to be said where it is another one on another pair.
        raised: what both runs raised, so that nothing was compared.
        variants: with how many other draws both inputs were run.
    """

    differences: list[Difference] = field(default_factory=list)
    loss: Fraction | float = Fraction(0)
    shifts: dict[str, Fraction] = field(default_factory=dict)
    unjudged: list[str] = field(default_factory=list)
    sites: dict[str, str] = field(default_factory=dict)
    gaps: dict[tuple[str, str], tuple[Gap, Difference]] = field(default_factory=dict)
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
    """A noisy number whose law is not the same on both inputs.

    Attributes:
        unit: the number of its draw.
        first: its law on the first input, without ends.
        second: and on the second.
        node: where it was made.
        ends: what the output clips it to.
    """

    unit: int
    first: Law
    second: Law
    node: Node
    ends: tuple[float, float] = laws.ENDLESS

    @property
    def pair(self) -> tuple[Law, Law]:
        """The two laws of what the output shows."""
        return laws.clipped(self.first, self.second, self.ends)

    @property
    def shift(self) -> Fraction:
        """How far its value moves."""
        return abs(self.first.centre - self.second.centre)

    @property
    def is_rescaled(self) -> bool:
        """Whether its noise has another scale."""
        return not alike(self.first.scale, self.second.scale)


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
            self.chosen |= samples.decided(samples.masks_of(self.first), lambda _: False)
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

    def released(self) -> list[Moved]:
        """The noisy numbers that the outputs hold, part by part, with their laws on both inputs."""
        sides = [Holdings(run) for run in (self.first, self.second)]
        self.held: set[str] = set()
        used = [{unit for unit, *_ in run.elements()} for run in (self.first, self.second)]
        self.shown: dict[int, Fraction] = {}
        self.rows: list[tuple[str, tuple[tuple[Node, int], tuple[Node, int]]]] = []
        before: dict[tuple[int, int], tuple[str, list[tuple[Node, int]]]] = {}
        bare: dict[int, tuple[str, list[tuple[Node, int]]]] = {}
        noise: dict[int, str] = {}
        parts, moved = {leaf.path: leaf for leaf in sides[1].leaves}, []
        for leaf in sides[0].leaves:
            other = parts.get(leaf.path)
            found = sides[0].holding(leaf), None if other is None else sides[1].holding(other)
            if found[0] is None or found[1] is None:
                if _is_bare(leaf):
                    unit = int(leaf.tag.ids)  # type: ignore[union-attr] # it has one
                    node = Node(self.first.owner(unit)[0].site, leaf.tag, None)  # type: ignore[arg-type]
                    bare[unit] = leaf.path, [(node, 0)] * 2
                    if other is not None and _is_bare(other) and int(other.tag.ids) == unit:  # type: ignore[union-attr]
                        noise[unit] = leaf.path
                continue
            self.held.add(leaf.path)
            nodes = [found[0], found[1]]
            drawn = tuple(int(node.affine.ids.reshape(-1)[place]) for node, place in nodes)
            if drawn[0] != drawn[1] and {*drawn} <= used[0] & used[1]:
                continue  # they stand in another order, which noise may have chosen
            if (drawn[0], drawn[1]) in before:
                if not self._compare_reused(before[drawn[0], drawn[1]], (leaf.path, nodes)):
                    self.rows.append((leaf.path, (found[0], found[1])))
                continue
            before[drawn[0], drawn[1]] = leaf.path, nodes
            self.rows.append((leaf.path, (found[0], found[1])))
            self.shown[drawn[0]] = self.shown[drawn[1]] = rational(number_of(leaf.value))
            pair = [run.law(*node) for run, node in zip((self.first, self.second), nodes, strict=True)]
            if pair[0] != pair[1]:
                moved.append(Moved(drawn[0], pair[0], pair[1], nodes[0][0]))
        self.doubtful = sides[0].doubtful | sides[1].doubtful
        for (unit, unit_2), (path, nodes) in before.items():
            if unit == unit_2 and unit in bare:
                of_noise, ends = bare[unit]
                at_site = [(replace(node, site=nodes[0][0].site), at) for node, at in ends]
                self._compare_reused((of_noise, at_site), (path, nodes))
        self.rows += [(path, (*bare[unit][1],)) for unit, path in noise.items() if (unit, unit) not in before]  # type: ignore[misc]
        return moved

    def _compare_reused(
        self, before: tuple[str, Sequence[tuple[Node, int]]], after: tuple[str, Sequence[tuple[Node, int]]]
    ) -> bool:
        """Two outputs of the same draw: a difference of the two has no noise; gives whether it shows the data.

        Where it does not, the two tell one noisy number.
        """
        (path, nodes), (path_2, nodes_2) = before, after
        gaps, size = list[Gap](), Fraction(0)
        for (one, where), (other, there) in zip(nodes, nodes_2, strict=True):
            (value, factor), (value_2, factor_2) = one.affine.exact(where), other.affine.exact(there)
            gaps.append(Gap(factor_2 / factor, value_2 - value * factor_2 / factor))
            size = max(size, abs(value_2), abs(value * factor_2 / factor))
        apart = abs(gaps[0].value - gaps[1].value)
        call, site = self.first.owner(int(nodes_2[0][0].affine.ids.reshape(-1)[nodes_2[0][1]]))[0], nodes_2[0][0].site
        told = Difference(
            flaw="the same noise is added to two answers, and their difference shows the data",
            reason=f"one draw of {call.sampler} is added at {nodes[0][0].site} and again at {site}; the difference of "
            f"the two is {laws.text_of(gaps[0].value)} on the first input and {laws.text_of(gaps[1].value)} on the "
            "second, without noise",
            site=site,
            is_certain=False,
            event="the difference of the two answers",
            call=described(call),
            shift=apart,
        )
        is_bare = not alike(Fraction(0), apart, size)
        sums = [([{path: -near(gap.ratio), path_2: sign} for sign in (1.0, -1.0)], near(gap.value)) for gap in gaps]
        if not is_bare:
            self.outcome.gaps[path, path_2] = gaps[0], told
        elif (self._sampling is not None and self._sampling.rate < 1) or self.stays(sums, near(apart)):
            excess = Excess("probability 1 against 0", str(self.claim))
            reason = f"{told.reason}: {excess.loss}"
            self.outcome.differences.append(replace(told, reason=reason, is_certain=True, excess=excess))
            return True
        return False

    def stays(self, sums: Sequence[tuple[Sequence[Mapping[str, float]], float]], apart: float) -> bool:
        """Whether a sum of parts of the output has no noise: whether it is what it is with other draws as well.

        Args:
            sums: for the first input, or for both, the weights of the parts, or several where a part may have lost its
                sign, and what the sum is.
            apart: how far the sum moves; what is nearer than a quarter of that is the same.
        """
        for (rows, known), input_ in zip(sums, (self.pair.first, self.pair.second), strict=False):
            for number in range(FEW_SEEDS):
                run = self.runs.run(input_, Session(self.seed + 700 + number))
                values = {leaf.path: number_of(leaf.value) for leaf in leaves(run.output)}
                totals = [sum(by * values.get(path, math.nan) for path, by in weights.items()) for weights in rows]
                if not any(abs(total - known) < apart / 4 for total in totals):
                    return False
        return True

    def _second_scale(self, call: Call) -> Fraction | None:
        other = self.second._calls_by_key.get(call.key)
        return other.scale_at(0) if other is not None and other.size and call.size else None

    @functools.cached_property
    def _sampling(self) -> Sampling | None:
        """The samples that are drawn; None where their law is not known."""
        return samples.law_of(self)

    @functools.cached_property
    def _coins(self) -> list[int]:
        """The calls of uniform numbers that are compared one by one, and draw no sample that is known."""
        return samples.coins_of(self.first)

    @property
    def _parts(self) -> int:
        """How many noisy values of one kind the run adds noise to, as often as one line draws it."""
        counts = Counter((call.key[:-1], call.shape) for call in self.first.calls if call.family in SHIFT_LAWS)
        return max(counts.values(), default=1)

    def _hidden(self) -> list[Moved]:
        """Noisy numbers that move, and that the output does not hold as they are: of each draw, the last that moves."""
        values: list[dict[int, list[tuple[Node, int]]]] = [defaultdict(list), defaultdict(list)]
        for side, run in enumerate((self.first, self.second)):
            for unit, node, place in run.elements():
                values[side][unit].append((node, place))
        gone = {*self.shown, *self.first.merged}
        hidden: list[Moved] = []
        for unit, nodes in values[0].items():
            others = values[1].get(unit, [])
            for (node, place), other in zip(nodes[::-1], others[::-1], strict=False) if unit not in gone else ():
                if made_alike(node, other[0], self.first, self.second):
                    continue
                pair = self.first.law(node, place), self.second.law(*other)
                if pair[0] != pair[1]:
                    is_known = {pair[0].family, pair[1].family} <= set(SHIFT_LAWS)
                    (hidden if is_known else self.vague).append(Moved(unit, *pair, node))
                    break
                if len(nodes) != len(others):
                    break
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


def held_numbers(run: Session) -> dict[str, tuple[Node, int]]:
    """The noisy numbers that an output holds as they were made, by where in it they are."""
    holdings = Holdings(run)
    found = {leaf.path: holdings.holding(leaf) for leaf in holdings.leaves}
    return {path: one for path, one in found.items() if one is not None}


class Holdings:
    """Which parts of an output are noisy numbers as they were made.

    Attributes:
        leaves: the parts.
        doubtful: where those are that several noisy numbers have the value of, which are made in different steps.
    """

    def __init__(self, run: Session) -> None:
        self.leaves = leaves(run.output)
        self.doubtful: set[str] = set()
        self._found: dict[Any, list[tuple[Node, int]]] = defaultdict(list)
        wanted = {leaf.value for leaf in self.leaves if is_float(leaf.value)}
        tagged = {int(leaf.tag.ids) for leaf in self.leaves if leaf.tag is not None and leaf.tag.ids.size == 1}
        for unit, node, place in run.elements():
            number = node.result if np.ndim(node.result) == 0 else np.reshape(node.result, -1)[place]
            value = ("float", float(number).hex())
            if unit in tagged:
                self._found[unit, float(number)].append((node, place))
            if value in wanted and math.isfinite(number) and round(float(number), 4) != number:
                self._found[value].append((node, place))

    def holding(self, leaf: Leaf) -> tuple[Node, int] | None:
        """The noisy number that a part is; None where several are the same number, and nothing tells which it is."""
        if leaf.tag is not None and leaf.tag.ids.size == 1:
            found = self._found.get((int(leaf.tag.ids), number_of(leaf.value)), [])
            made_so = [one for one in found if one[0].affine.exact(one[1]) == leaf.tag.exact(0)]
            if found:
                return (made_so or found)[-1]
        found = self._found.get(leaf.value, []) if is_float(leaf.value) else []
        if len({repr(_steps_at(node, place)) for node, place in found}) > 1:
            self.doubtful.add(leaf.path)
        return found[-1] if len({node.affine.exact(place) for node, place in found}) == 1 else None


def _is_bare(leaf: Leaf) -> bool:
    """Whether a part of an output is a draw as it is."""
    return leaf.tag is not None and not leaf.tag.steps and leaf.tag.ids.size == 1


def _steps_at(node: Node, place: int) -> Sequence[tuple[str, Any]]:
    return node.affine.moved(lambda numbers: np.ravel(numbers)[place]).steps


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


def alike(one: Fraction, other: Fraction, size: Fraction = Fraction(0)) -> bool:
    """Whether two numbers are the same but for what rounding does to them, or to numbers of some size."""
    return abs(one - other) <= max(abs(one), abs(other), size) * Fraction(1, 1 << 40)


def further(call: Call, step: float) -> Callable[[Any], Any]:
    """A change of a draw by so many scales, in whole numbers where it is an integer."""
    by = step * np.asarray(call.scale, dtype=float)
    by = np.ceil(by).astype(int) if np.asarray(call.raw).dtype.kind in "iu" else by
    return lambda raw: raw + by if isinstance(raw, np.ndarray) else type(raw)(raw + by)


def stepped(call: Call, at: int, step: float) -> Any:
    """What is added to a draw to move it by so many scales; of a uniform one, what it is instead, a tenth as far."""
    if call.family == UNIFORM:
        scale = near(call.scale_at(at))
        return float(np.clip(np.ravel(call.raw)[at] + scale * step / 10, ENDS[0] * scale, ENDS[1] * scale))
    moved = np.broadcast_to(further(call, step)(call.raw) - call.raw, call.shape or (1,))
    return moved.reshape(-1)[at].item()


def described(call: Call) -> str:
    """A draw in words: its source, what it was asked for and its shape."""
    asked = []
    for name, value in call.parameters:
        text = re.sub(r"\s+", " ", repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value))
        asked.append(f"{name}={text if len(text) <= 60 else f'{text[:57]}…'}")
    shape = "" if call.shape is None else f" of shape {call.shape}"
    return f"{call.sampler}({', '.join(asked)}){shape}{call.site.within}"
