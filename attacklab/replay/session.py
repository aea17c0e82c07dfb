"""One run under watch: which noise was drawn, where it went, and on a neighbour the same outcomes again.

A run is recorded with fresh draws. A run on a neighbour takes each draw from the record, and more than that: where the
code adds a value to a draw, compares it or selects by it, it goes on with what came out in the record. So whatever
still differs afterwards depends on the data in another way than through what the noise let out.
"""

from __future__ import annotations

import functools
import math
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacklab.replay.laws import (
    AND_MORE,
    DISCRETE,
    DISCRETE_LAPLACE,
    GAUSSIAN,
    LAPLACE,
    SYMMETRIC,
    TABLE,
    UNIFORM,
    UNKNOWN,
    Law,
)

Ids = NDArray[np.int64]

NEW = 1 << 40
"""Draws of a run that its record does not have are numbered from here."""

BEYOND = Fraction(2) ** 1018
"""What NaN and the infinities stand for is larger."""

_LIBRARY = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_PACKAGES = ("site-packages", "dist-packages")
_HERE = str(Path(__file__).parent)
_LAB = str(Path(__file__).parent.parent)
_SAMPLERS = (
    *("numpy/", "scipy/", "torch/", "jax/", "jaxlib/", "pandas/", "opendp/", "random.py", "secrets.py"),
    "diffprivlib/mechanisms/",
)
"""What draws noise or computes for others: the line of interest is that of who calls it."""

_OWN, _SKIPPED, _PART, _USER = range(4)


class Site(NamedTuple):
    """Where something happened: the innermost line of the user's, and the innermost one that draws or computes."""

    file: str
    line: int
    function: str
    inner: tuple[str, int] = ("", 0)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def within(self) -> str:
        """The line of a library that was at work, in words that follow a place; empty where it was the user's own."""
        file, line = self.inner
        if not line or (file, line) == self[:2]:
            return ""
        packages = (file.split(f"/{folder}/")[-1] for folder in _PACKAGES if f"/{folder}/" in file)
        return f" (in {next(packages, Path(file).name)}:{line})"


def _kind_of(file: str, known: dict[str, int] = {}) -> int:  # noqa: B006 - a cache
    kind = known.get(file)
    if kind is None:
        if file.startswith(_HERE):
            kind = _OWN
        elif file.startswith("<"):
            kind = _USER if file.startswith(("<ipython", "<stdin", "<cell")) else _SKIPPED
        elif file.startswith(_LAB) and "libraries" not in file:
            kind = _SKIPPED
        else:
            places = [file[len(folder) + 1 :] for folder in _LIBRARY if file.startswith(folder)]
            places += [
                place.split(f"{folder}/")[-1] for place in (file, *places) for folder in _PACKAGES if folder in place
            ]
            is_sampler = bool(places) and min(places, key=len).startswith(_SAMPLERS)
            kind = (_SKIPPED if is_sampler else _PART) if places else _USER
        known[file] = kind
    return kind


def is_users(file: str) -> bool:
    """Whether a source file is the user's own, not a library's."""
    return _kind_of(file) == _USER


def here() -> Site:
    """The place of the call that is being made."""
    frame, found = sys._getframe(1), None
    inner: tuple[str, int] | None = None
    while frame is not None:
        kind = _kind_of(frame.f_code.co_filename)
        if kind >= _PART:
            found = frame
            inner = inner or (frame.f_code.co_filename, frame.f_lineno)
        if kind == _USER or (kind == _OWN and inner is not None):
            break
        frame = frame.f_back  # type: ignore[assignment]
    if found is None or inner is None:
        return Site("?", 0, "?")
    return Site(found.f_code.co_filename, found.f_lineno, found.f_code.co_name, inner)


@dataclass(slots=True)
class Call:
    """A draw from a watched source.

    Attributes:
        site: where it was made.
        key: what finds it in another run: its source, its place, and which call from there it is.
        sampler: the source, as code names it.
        family: the law of the noise, or what else is drawn.
        parameters: what the source was asked for, as it stands in findings.
        scale: of the noise, for the laws that have one.
        shape: of what was drawn; None for a number.
        raw: what was drawn, without its location.
        ids: the numbers of its draws.
        weights: how probable the outcomes 0, 1, … of a choice or of integer noise are.
    """

    site: Site
    key: tuple[Any, ...]
    sampler: str
    family: str
    parameters: tuple[Any, ...]
    scale: Any
    shape: tuple[int, ...] | None
    raw: Any
    ids: Ids
    weights: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """How many draws it has."""
        return math.prod(self.shape or ())

    def scale_at(self, place: int) -> Fraction:
        """The scale of one of its draws."""
        scale = np.asarray(self.scale)
        flat = scale if scale.ndim == 0 else np.broadcast_to(scale, self.shape or ()).reshape(-1)[place]
        return rational(flat)


@dataclass(slots=True)
class Affine:
    """Noise after steps that add plain numbers to it, or multiply it by them.

    Attributes:
        ids: the numbers of the draws, in the shape of the value.
        steps: operations "+", "-", "*", "/" or "r-" and their operands, in order; "abs" last, if it is its size alone.
    """

    ids: Ids
    steps: tuple[tuple[str, Any], ...] = ()

    @property
    def is_size(self) -> bool:
        """Whether the sign was taken away."""
        return bool(self.steps) and self.steps[-1][0] == "abs"

    def exact(self, place: int) -> tuple[Fraction, Fraction]:
        """The value and the factor of the noise of one number, as rationals; what is not finite stays what it is."""
        value, factor, infinite = Fraction(0), Fraction(1), None
        for step, operand in self.steps[: -1 if self.is_size else None]:
            flat = operand if np.ndim(operand) == 0 else np.broadcast_to(operand, self.ids.shape).reshape(-1)[place]
            number = rational(flat)
            infinite = number if infinite is None and abs(number) >= BEYOND else infinite
            if step == "+":
                value += number
            elif step == "-":
                value -= number
            elif step == "r-":
                value, factor = number - value, -factor
            else:
                by = number if step == "*" else 1 / number
                value, factor = value * by, factor * by
        return value if infinite is None else infinite, factor

    def moved(self, move: Callable[[Any], Any]) -> Affine:
        """The same noise after something that moves numbers, as `move` does it to an array."""
        steps = (
            (step, operand if np.ndim(operand) == 0 else move(np.broadcast_to(operand, self.ids.shape)))
            for step, operand in self.steps
        )
        return Affine(np.asarray(move(self.ids)), tuple(steps))

    def at(self, key: Any) -> Affine:
        """Some of its numbers, by an index."""
        return self.moved(lambda numbers: numbers[key])


@dataclass(slots=True)
class Node:
    """A noisy value: what came out where the code added something to a draw, or multiplied it."""

    site: Site
    affine: Affine
    result: Any


@dataclass(slots=True)
class Seen:
    """A place where noise was looked at: a comparison, a selection, or a computation that ends what is followed.

    Attributes:
        kind: compare, argmax, search, categorical or other.
        site: where.
        operation: what was done.
        operands: the other numbers, and noise as `Affine`.
        outcome: what came out.
    """

    kind: str
    site: Site
    operation: str
    operands: tuple[Any, ...]
    outcome: Any

    def draws(self) -> Iterator[int]:
        """The numbers of the draws that were looked at."""
        for operand in self.operands:
            yield from operand.ids.reshape(-1).tolist() if isinstance(operand, Affine) else ()


def rational(number: Any) -> Fraction:
    """A finite number of any type as a fraction; of another number, its worst: a value far away.

    NaN and the infinities have none, so they stand for numbers beyond any that a double holds. Of a complex number it
    is the real part, which is what samplers take.
    """
    if isinstance(number, np.generic | np.ndarray):
        number = number.item() if number.dtype.kind in "biufcO" else float(number)
    number = number.real if isinstance(number, complex) else number
    try:
        return Fraction(number)
    except (OverflowError, ValueError):
        return BEYOND * (3 if number != number else 2 if number > 0 else -2)
    except TypeError:
        return Fraction(float(number))


@dataclass(slots=True)
class Script:
    """What a run on a neighbour takes from a record.

    Attributes:
        record: the run whose outcomes it takes.
        aligned: for calls that were paired up one number at a time: the draws' numbers in the record, −1 for none.
        is_followed: whether also what the code made of the draws is taken; else the draws alone.
        has_values: whether, of that, noisy values are taken; else only how comparisons and selections came out.
    """

    record: Session
    aligned: Mapping[tuple[Any, ...], Ids] = field(default_factory=dict)
    is_followed: bool = True
    has_values: bool = True


class _Sum(NamedTuple):
    """Noise that is a sum: as how many-th it was made, the factor of each part, and the ends of its draws' numbers."""

    order: int
    parts: dict[int, float]
    span: tuple[int, int]


class Session:
    """A run under watch.

    Args:
        seed: of the draws that the record does not have.
        script: what to take from a record; None to record.
        changed: by the number of a call, or by its key, what is made of its draw, to see what an output depends on: a
            function, or for some of its numbers what is added to them (to uniform ones: what they are instead), or
            several of those in turn. Noise that was made of several draws has numbers below 0.

    Attributes:
        keys: of each key of JAX, as the stream of its draws, the seed that it was derived from in this run.
        known: streams of draws that everybody knows, as their seed is fixed: they are no noise.
        is_plain: whether draws are handed over as plain numbers, which are not followed.
    """

    current: Session | None = None

    def __init__(self, seed: int, script: Script | None = None, changed: Mapping[Any, Any] | None = None) -> None:
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.seed = seed
        self.script = script
        self.changed = changed or {}
        self.calls: list[Call] = []
        self.made: list[Call] = []
        self.nodes: list[Node] = []
        self.seen: list[Seen] = []
        self.seeds: list[tuple[Site, str, Any]] = []
        self.states: dict[str, Any] = {}
        self.keys: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.known: set[Any] = set()
        self.is_plain = False
        self.unread: list[str] = []
        self.inside = 0
        self.output: Any = None
        self._units = 0 if script is None else NEW
        self._owners: dict[int, tuple[Call, int]] = {}
        self._unlisted: list[Call] = []
        self.merged: set[int] = set()
        self._remade: set[int] = set()
        self._sums: dict[int, _Sum] = {}
        self._keys: defaultdict[tuple[Any, ...], int] = defaultdict(int)
        self._counts: defaultdict[tuple[Any, ...], int] = defaultdict(int)
        self._kept: dict[tuple[Any, ...], tuple[Ids, Any]] = {}
        self._calls_by_key: dict[tuple[Any, ...], Call] = {}
        self._streams: dict[tuple[Any, ...], Call] = {}
        self._numbers: dict[int, int] = {}

    def draw(
        self,
        sampler: str,
        family: str,
        real: Callable[[], Any],
        *,
        scale: Any = 0,
        parameters: tuple[Any, ...] = (),
        weights: tuple[float, ...] = (),
        stream: tuple[Any, ...] | None = None,
    ) -> tuple[Any, Ids]:
        """A draw, from the record or fresh, and the numbers of what was drawn.

        Args:
            sampler: the source, as code names it.
            family: the law.
            real: draws afresh.
            scale: of the noise.
            parameters: what the source was asked for.
            weights: how probable its outcomes 0, 1, … are, where it has few.
            stream: what makes two draws the same one: a generator's seed, and how much was drawn from it before.
        """
        site = here()
        place = (sampler, site[:3], site.inner)
        key = (*place, self._keys[place])
        self._keys[place] += 1
        fresh = real()
        shape = tuple(np.shape(fresh)) if isinstance(fresh, np.ndarray) else None
        recorded = None if self.script is None else self.script.record._calls_by_key.get(key)
        same = self._streams.get(stream) if stream else None
        if same is not None and same.shape != shape:
            same = None
        if same is not None:
            raw, ids = same.raw, same.ids
        elif self.script is not None and key in self.script.aligned:
            ids, raw = self._taken(self.script.aligned[key].reshape(shape or ()), fresh)
        elif recorded is not None and recorded.shape == shape and _kind(recorded.raw) == _kind(fresh):
            raw, ids = recorded.raw, recorded.ids
        else:
            raw, ids = fresh, self._numbered(shape)
        for known in () if same else {len(self.calls), key} & self.changed.keys():
            raw = _changed(raw, self.changed[known], family == UNIFORM)
        call = Call(site, key, sampler, family, parameters, scale, shape, raw, ids, weights)
        self.calls.append(call)
        self._calls_by_key[key] = call
        if stream:
            self._streams.setdefault(stream, call)
        self._unlisted.append(call)
        return _copied(raw), ids

    def _numbered(self, shape: tuple[int, ...] | None) -> Ids:
        """The numbers of draws that no other has."""
        first, size = self._units, math.prod(shape or ())
        self._units += max(size, 1)
        return first + np.arange(size, dtype=np.int64).reshape(shape or ())

    def _taken(self, ids: Ids, fresh: Any) -> tuple[Ids, Any]:
        """Draws of the record in places, and fresh ones where there is none."""
        assert self.script is not None  # noqa: S101 - for mypy
        record, raw, taken = self.script.record, np.array(fresh, copy=True), ids.copy()
        flat, chosen = raw.reshape(-1), taken.reshape(-1)
        for place, unit in enumerate(ids.reshape(-1).tolist()):
            if unit < 0:
                chosen[place] = self._numbered(None)
            else:
                call, at = record.owner(unit)
                flat[place] = np.asarray(call.raw).reshape(-1)[at]
        return taken, (raw if isinstance(fresh, np.ndarray) else raw.item())

    def synthetic(self, sampler: str, family: str, scale: Any, parents: Ids, made: Any) -> tuple[Ids, Any]:
        """The numbers of noise that is made of two draws, the same ones for the same two; and what is added to it."""
        site = here()
        self.merged.update(parents.reshape(-1).tolist())
        if family in (LAPLACE, DISCRETE_LAPLACE) or not sampler.startswith(("add", "subtract")):
            self._remade.update(parents.reshape(-1).tolist())  # it is noise of another law, and no sum any more
        place = (sampler, site[:3], tuple(parents.reshape(-1)[:4].tolist()))
        key = (*place, self._keys[place])
        self._keys[place] += 1
        shape = parents.shape[1:] or None
        is_followed = self.script is not None and self.script.is_followed
        recorded = self.script.record._calls_by_key.get(key) if self.script is not None and is_followed else None
        ids = recorded.ids if recorded is not None and recorded.shape == shape else self._numbered(shape)
        self._calls_by_key[key] = call = Call(site, key, sampler, family, (), scale, shape, made, ids)
        self.made.append(call)
        self._unlisted.append(call)
        return ids, _changed(np.zeros(ids.shape), self.changed.get(-len(self.made), {}), False)

    def movable(self) -> list[tuple[int, Call]]:
        """The draws that may be changed one by one, with their numbers: not those of which others were made."""
        drawn = [(number, call) for number, call in enumerate(self.calls) if self.merged.isdisjoint(call.ids.flat)]
        return drawn + [(-place, call) for place, call in enumerate(self.made, 1)]

    def independent(self) -> list[tuple[int, Call]]:
        """The draws that may be changed one by one, with their numbers: not the sums of others, but these."""
        drawn = [(number, call) for number, call in enumerate(self.calls) if self._remade.isdisjoint(call.ids.flat)]
        made = [
            (-place, call)
            for place, call in enumerate(self.made, 1)
            if call.family in (LAPLACE, DISCRETE_LAPLACE) or self._sums.keys().isdisjoint(call.ids.flat)
        ]
        return drawn + made

    def number_of(self, call: Call) -> int | None:
        """By which number `changed` has a call; None for one of another run."""
        if not self._numbers:
            made = enumerate(self.made, 1)
            self._numbers = {id(one): number for number, one in enumerate(self.calls)}
            self._numbers |= {id(one): -number for number, one in made}
        return self._numbers.get(id(call))

    def kept(self, kind: str, ids: Ids, computed: Any, *, is_once: bool = False) -> Any:
        """An outcome: of this run where it is recorded, that of the record elsewhere, as far as draws are the same.

        Args:
            kind: what is done with the draws.
            ids: their numbers.
            computed: what comes out on this input.
            is_once: whether the first outcome of these draws alone is taken: a draw hides one value, not two.
        """
        if not ids.size:
            return computed
        place = (kind, int(ids.flat[0]), ids.size)
        key = (*place, self._counts[place])
        self._counts[place] += 1
        result = computed
        if is_once and (key[-1] or (self.script is not None and not self.script.has_values)):
            return computed
        if self.script is not None and self.script.is_followed:
            known = self.script.record._kept.get(key)
            if known is not None and np.array_equal(known[0], ids) and np.shape(known[1]) == np.shape(computed):
                result = known[1]
        self._kept[key] = (ids, _copied(result))  # the code may go on to write to it
        return result

    def add_node(self, affine: Affine, result: Any) -> Any:
        """Keep a noisy value; gives what the code goes on with."""
        kept = result
        if affine.ids.size == 1 or np.unique(affine.ids).size == affine.ids.size:  # else one draw hides many numbers
            kept = self.kept(f"node{len(affine.steps)}", affine.ids, result, is_once=True)
        self.nodes.append(Node(here(), affine, _copied(kept)))
        return kept

    def add_seen(self, kind: str, operation: str, ids: Ids, operands: tuple[Any, ...], outcome: Any) -> Any:
        """Keep that noise was looked at; gives what the code goes on with."""
        kept = outcome if kind == "other" else self.kept(f"{kind} {operation}", ids, outcome)
        self.seen.append(Seen(kind, here(), operation, tuple(map(_copied, operands)), _copied(kept)))
        return kept

    def owner(self, unit: int) -> tuple[Call, int]:
        """The call that made a draw of this number, and which of its draws it is."""
        for call in self._unlisted:
            for place, one in enumerate(call.ids.reshape(-1).tolist()):
                self._owners.setdefault(one, (call, place))
        self._unlisted.clear()
        return self._owners[unit]

    def draws_of(self, unit: int) -> dict[int, float]:
        """Noise as a sum of draws that are no sums: by the number of each draw, its factor."""
        total, sizes, pending = {unit: 1.0}, {unit: 1.0}, [unit] if unit in self._sums else []
        while pending:
            made = max(pending, key=lambda one: self._sums[one].order)  # all that holds it was made later
            pending.remove(made)
            factor = total.pop(made)
            for part, by in self._sums[made].parts.items():
                if part in self._sums and part not in total:
                    pending.append(part)
                total[part] = total.get(part, 0.0) + factor * by
                sizes[part] = max(sizes.get(part, 0.0), abs(factor * by))
        return {draw: by for draw, by in total.items() if abs(by) > 2.0**-40 * sizes[draw]}

    def draws_of_sums(self) -> set[int]:
        """The draws that sums of several draws are made of."""
        sums = [self.draws_of(unit) for unit in self._sums]
        return {draw for draws in sums if len(draws) > 1 for draw in draws}

    def law_of_sum(self, parts: Mapping[int, float]) -> tuple[str, float] | None:
        """The family and the scale of a sum of noise whose parts share draws; None where they share none."""
        (low, high), (low_2, high_2) = (self._span(part) for part in parts)
        if high < low_2 or high_2 < low:
            return None
        sides = [{draw: factor * by for draw, by in self.draws_of(part).items()} for part, factor in parts.items()]
        if sides[0].keys().isdisjoint(sides[1]):
            return None
        owned = [(*self.owner(draw), sum(side.get(draw, 0.0) for side in sides)) for draw in {**sides[0], **sides[1]}]
        if any(call.family != GAUSSIAN for call, *_ in owned):
            return UNKNOWN, 0.0
        return GAUSSIAN, math.hypot(*(float(call.scale_at(at)) * by for call, at, by in owned))

    def add_sum(self, unit: int, parts: dict[int, float]) -> None:
        """Keep that noise is a sum of other noise, by the number of each part, its factor."""
        ends = [end for part in parts for end in self._span(part)]
        self._sums[unit] = _Sum(len(self._sums), parts, (min(ends), max(ends)))

    def _span(self, unit: int) -> tuple[int, int]:
        """The least and the largest number of the draws of a sum."""
        return self._sums[unit].span if unit in self._sums else (unit, unit)

    def law(self, node: Node, place: int) -> Law:
        """The law of one number of a noisy value, given all that came before it."""
        call, at = self.owner(int(node.affine.ids.reshape(-1)[place]))
        value, factor = node.affine.exact(place)
        scale = call.scale_at(at) * abs(factor)
        weights: tuple[float, ...] = ()
        if call.family == TABLE:
            weights = call.weights if factor > 0 else call.weights[::-1]
            lowest = value if factor > 0 else value + factor * (len(weights) - 1)
            value, factor = lowest, abs(factor)
        is_kept = factor > 0 or call.family.removesuffix(AND_MORE) in SYMMETRIC
        family = call.family if is_kept and not node.affine.is_size else UNKNOWN
        return Law(family, value, scale, weights, abs(factor) if family in DISCRETE else Fraction(1))

    def elements(self) -> Iterator[tuple[int, Node, int]]:
        """The draws' numbers of every noisy value, with the value and the place in it."""
        for node in self.nodes:
            for place, unit in enumerate(node.affine.ids.reshape(-1).tolist()):
                yield unit, node, place


def filled(value: Any, raw: Any) -> Any:
    """One value in the shape of a draw."""
    return np.full_like(raw, value) if isinstance(raw, np.ndarray) else value


def in_turn(first: Mapping[Any, Any], then: Mapping[Any, Any]) -> dict[Any, Any]:
    """Changes of draws, and what is made of the draws after them."""
    both = {number: (first[number], then[number]) for number in first.keys() & then.keys()}
    return {**first, **then, **both}


def _changed(raw: Any, change: Any, is_uniform: bool) -> Any:
    if isinstance(change, tuple):
        return functools.reduce(lambda raw, one: _changed(raw, one, is_uniform), change, raw)
    if callable(change):
        return change(raw)
    moved = np.array(raw, copy=True).reshape(-1)
    for place, by in change.items():
        moved[place] = by if is_uniform else moved[place] + by
    return moved.reshape(np.shape(raw)) if isinstance(raw, np.ndarray) else moved[0].item()


def _copied(value: Any) -> Any:
    return np.array(value, copy=True) if isinstance(value, np.ndarray) else value


def _kind(value: Any) -> str:
    is_integer = type(value) is int  # of any size, which numpy has several types for
    return "i" if is_integer else np.asarray(value).dtype.kind
