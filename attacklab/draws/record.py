"""Runs a release once, with fresh draws or with the draws of another run, and records all draws."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
import io
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attacklab.draws.laws import Law
from attacklab.draws.places import NOWHERE, Site, here
from attacklab.model.errors import passes_through, text_of

_GENERATOR = np.random.Generator  # the class as it is without watching

MOST_GIVEN = 1 << 16
"""At most this many items are read from an output that is an iterator."""

Key = tuple[Site, str, int]
"""Identifies a draw across runs: its line, its sampler, and the number of earlier draws by this sampler there."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One random number of a run, or an array of them.

    Attributes:
        key: identifies the draw across runs.
        law: the distribution of the draw.
        scale: the scale of the noise, a number or an array; 1 if the law has no scale.
        value: the drawn noise at location 0; the indices, if the law is `CHOICE` or `ORDER`.
        parameters: other parameters of the law: the weights of a choice, or the arguments of the sampler.
        among: the values that a choice can take; empty if they are not known.
        state: a hash of the generator's state before the draw; None if nobody can set it, or the run repeats another.
        may_be_fixed: whether code may have fixed the generator's state: by a seed, or by reading or setting the state.
        is_known: whether the generator was made before the run, and may have been seeded with a number.
        seeded: the line that seeded the generator in this run; `NOWHERE` if there is none.
    """

    key: Key
    law: Law
    scale: Any
    value: Any
    parameters: tuple[Any, ...] = ()
    among: range = range(0)
    state: int | None = None
    may_be_fixed: bool = False
    is_known: bool = False
    seeded: Site = NOWHERE

    @property
    def site(self) -> Site:
        """The line of code that made the draw."""
        return self.key[0]

    @property
    def source(self) -> str:
        """The name of the sampler."""
        return self.key[1]


@dataclass(frozen=True)
class Raised:
    """Stands for the output of a run that raised an exception.

    Attributes:
        kind: the name of the exception's type.
        message: the exception's message.
    """

    kind: str
    message: str


@dataclass(frozen=True, eq=False)
class Run:
    """The output of a run, and its draws.

    Attributes:
        output: what the release returned, or a `Raised`.
        draws: the draws, in order.
        unmatched: if the run repeats another one, the number of draws that only one of the two has.
    """

    output: Any
    draws: tuple[Draw, ...]
    unmatched: int = 0

    def by_key(self) -> dict[Key, int]:
        """Return the index in `draws` for each key."""
        return {draw.key: place for place, draw in enumerate(self.draws)}


@dataclass(frozen=True, eq=False)
class Draws:
    """How the draws of a run are chosen.

    Attributes:
        seed: the seed of all fresh draws.
        repeated: the run whose draws are repeated; None if all draws are fresh.
        changes: new values for some repeated draws, by their index in that run.
        known: draws that are not repeated, because the code itself seeds them and so draws them alike.
    """

    seed: int
    repeated: Run | None = None
    changes: Mapping[int, Any] = field(default_factory=dict)
    known: frozenset[Key] = frozenset()

    @classmethod
    def fresh(cls, seed: int) -> Draws:
        """Return a plan with fresh draws only."""
        return cls(seed)

    @classmethod
    def repeat(
        cls, run: Run, changes: Mapping[int, Any] | None = None, *, seed: int = 0, known: frozenset[Key] = frozenset()
    ) -> Draws:
        """Return a plan that repeats the draws of a run, some of them changed. Draws that it lacks are fresh."""
        return cls(seed, run, changes or {}, known)


class Asked(NamedTuple):
    """A call of a sampler, split into the draw itself and what the sampler makes of it.

    Attributes:
        law: the distribution of the draw.
        sample: draws a value at location 0.
        scale: the scale of the noise.
        parameters: other parameters of the law.
        then: turns the drawn value into what the sampler returns.
        among: the values that a choice can take; empty if they are not known.
    """

    law: Law
    sample: Callable[[], Any]
    scale: Any = 1.0
    parameters: tuple[Any, ...] = ()
    then: Callable[[Any], Any] = lambda drawn: drawn
    among: range = range(0)


class Recorder:
    """Chooses and records the draws of the run that is under way."""

    def __init__(self, draws: Draws) -> None:
        self._plan = draws
        self._places = {} if draws.repeated is None else draws.repeated.by_key()
        self._seen: Counter[tuple[Site, str]] = Counter()
        self._unmatched = 0
        self._is_inside = False
        self.made: list[Draw] = []
        self.begun: set[int] = set()
        self.fresh = _GENERATOR(np.random.PCG64(draws.seed))

    @property
    def tells_states(self) -> bool:
        """Whether the states of generators are recorded. They are unless the run repeats another one."""
        return self._plan.repeated is None

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Do not record the draws that a sampler makes by calling other samplers."""
        before, self._is_inside = self._is_inside, True
        try:
            yield
        finally:
            self._is_inside = before

    def draw(self, source: str, asked: Asked, **generator: Any) -> Any:
        """Make and record a draw, and return what the sampler returns. `generator` holds further fields of `Draw`."""
        site = here()
        key = (site, source, self._seen[site, source])
        self._seen[site, source] += 1
        with self.inside():
            value = self._chosen(key, asked.sample())
        kept = value.copy() if isinstance(value, np.ndarray) else value
        self.made.append(Draw(key, asked.law, asked.scale, kept, asked.parameters, asked.among, **generator))
        with self.inside():
            return asked.then(value)

    def _chosen(self, key: Key, fresh: Any) -> Any:
        """Return the value of a draw: the changed one, else the one from the repeated run, else `fresh`."""
        if self._plan.repeated is None or key in self._plan.known:
            return fresh
        place = self._places.get(key)
        if place is None:
            self._unmatched += 1
            return fresh
        before = self._plan.changes.get(place, self._plan.repeated.draws[place].value)
        return _instead_of(fresh, before)

    def ended(self, output: Any) -> Run:
        """Return the finished run with this output."""
        missed = sum(key not in self._plan.known for key in self._places) - len(self.made) + self._unmatched
        return Run(output, tuple(self.made), self._unmatched + max(0, missed))


_current: list[Recorder] = []

at_start: list[Callable[[Recorder], object]] = []
"""Functions to call before each run while draws are watched."""


def current() -> Recorder | None:
    """Return the recorder for a draw being made; None outside runs, and inside another sampler's draw."""
    return _current[-1] if _current and not _current[-1]._is_inside else None


def run(release: Callable[[Any, np.random.Generator], Any], input_: Any, draws: Draws) -> Run:
    """Run a release once on a copy of an input, with a generator of its own.

    Args:
        release: `release(input, rng)` gives one output.
        input_: the input.
        draws: how its draws are chosen.

    Raises:
        Exception: the input can't be copied.
    """
    taken = copy.deepcopy(input_)
    recorder = Recorder(draws)
    for begin in at_start:
        begin(recorder)
    generator = np.random.Generator(np.random.PCG64(int(recorder.fresh.integers(1 << 62))))
    recorder.begun.add(id(generator.bit_generator))
    _current.append(recorder)
    try:
        with np.errstate(all="ignore"):
            output = _drained(release(taken, generator))
    except BaseException as error:
        if passes_through(error):
            raise
        output = Raised(type(error).__name__, text_of(error))
    finally:
        _current.pop()
    return recorder.ended(output)


def _instead_of(fresh: Any, before: Any) -> Any:
    """Return an earlier value in the shape and type of a fresh one. A longer fresh array keeps its last values."""
    if isinstance(fresh, np.ndarray):
        made, flat = fresh.copy(), np.ravel(before)
        size = min(made.size, flat.size)
        made.reshape(-1)[:size] = flat[:size]
        return made
    if type(fresh) in (float, int) and np.size(before) == 1:
        return type(fresh)(np.ravel(before)[0])
    return before


def _drained(output: Any, depth: int = 8) -> Any:
    """Return an output with its iterators read into lists, after awaiting it if it is a coroutine."""
    if inspect.iscoroutine(output):
        output = asyncio.run(output)
    if isinstance(output, Iterator) and not isinstance(output, io.IOBase):
        output = list(itertools.islice(output, MOST_GIVEN))
    if not depth:  # it may hold itself
        return output
    if type(output) in (list, tuple):
        return type(output)(_drained(value, depth - 1) for value in output)
    return {key: _drained(value, depth - 1) for key, value in output.items()} if type(output) is dict else output
