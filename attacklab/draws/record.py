"""One run: what was drawn in it, with fresh draws or with those of another run."""

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
"""If an output is an iterator, at most this many of its items are read."""

Key = tuple[Site, str, int]
"""What identifies a draw across runs: its line, its source, and how many draws of both came before."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One random number of a run, or an array of them.

    Attributes:
        key: what it is known by in other runs.
        law: how it is distributed.
        scale: of the noise, a number or an array; 1 where the law has none.
        value: what was drawn, at location 0; of a choice or an order, the places.
        parameters: what else its law follows from: the weights of a choice, the arguments of another law.
        among: what a choice can give.
        state: tells the state of the generator before it was asked; None where nobody can set it.
        may_be_fixed: whether the generator was seeded with a number, or its state set or read.
        is_known: whether the generator came with a seed that the record can't tell from a number in the code.
        seeded: the line that seeded its generator in this run.
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
        """The line that drew it."""
        return self.key[0]

    @property
    def source(self) -> str:
        """The name of the sampler."""
        return self.key[1]


@dataclass(frozen=True)
class Raised:
    """Stands for the output of a run that raised.

    Attributes:
        kind: the name of the exception's type.
        message: what it said.
    """

    kind: str
    message: str


@dataclass(frozen=True, eq=False)
class Run:
    """What a run gave, and what was drawn in it.

    Attributes:
        output: what it gave, or a `Raised`.
        draws: in their order.
        unmatched: how many draws one of the two runs has and the other has not, where draws were repeated.
    """

    output: Any
    draws: tuple[Draw, ...]
    unmatched: int = 0

    def by_key(self) -> dict[Key, int]:
        """The place of each draw."""
        return {draw.key: place for place, draw in enumerate(self.draws)}


@dataclass(frozen=True, eq=False)
class Draws:
    """How the draws of a run are chosen.

    Attributes:
        seed: of all that is drawn afresh.
        repeated: the run whose draws are repeated.
        changes: other values for some of them, by their place in that run.
        known: draws that are made as the code makes them, because their seed is in the code.
    """

    seed: int
    repeated: Run | None = None
    changes: Mapping[int, Any] = field(default_factory=dict)
    known: frozenset[Key] = frozenset()

    @classmethod
    def fresh(cls, seed: int) -> Draws:
        """Draws of their own."""
        return cls(seed)

    @classmethod
    def repeat(
        cls,
        run: Run,
        changes: Mapping[int, Any] | None = None,
        *,
        seed: int = 0,
        known: frozenset[Key] = frozenset(),
    ) -> Draws:
        """The draws of a run, with some changes; what it did not draw is drawn afresh."""
        return cls(seed, run, changes or {}, known)


class Asked(NamedTuple):
    """What a sampler is asked for.

    Attributes:
        law: of what is drawn.
        sample: draws it, at location 0.
        scale: of the noise.
        parameters: what else the law follows from.
        then: makes what the sampler returns of what was drawn.
        among: what a choice can give.
    """

    law: Law
    sample: Callable[[], Any]
    scale: Any = 1.0
    parameters: tuple[Any, ...] = ()
    then: Callable[[Any], Any] = lambda drawn: drawn
    among: range = range(0)


class Recorder:
    """The run that is under way."""

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
        """Whether the states of generators are recorded: they are in a run that repeats no other."""
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
        """What a sampler returns in this run; what is known of its generator goes into the `Draw`."""
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
        """The value of a draw: the changed one, else the one from the repeated run, else a fresh one."""
        if self._plan.repeated is None or key in self._plan.known:
            return fresh
        place = self._places.get(key)
        if place is None:
            self._unmatched += 1
            return fresh
        before = self._plan.changes.get(place, self._plan.repeated.draws[place].value)
        return _instead_of(fresh, before)

    def ended(self, output: Any) -> Run:
        """The run, once it gave its output."""
        missed = sum(key not in self._plan.known for key in self._places) - len(self.made) + self._unmatched
        return Run(output, tuple(self.made), self._unmatched + max(0, missed))


_current: list[Recorder] = []

at_start: list[Callable[[Recorder], object]] = []
"""What is called before each run while draws are watched."""


def current() -> Recorder | None:
    """The run that is to see the draw being made; None where there is none, or a sampler draws from another."""
    return _current[-1] if _current and not _current[-1]._is_inside else None


def run(release: Callable[[Any, np.random.Generator], Any], input_: Any, draws: Draws) -> Run:
    """Run a release once on a copy of an input, with a generator of its own.

    Args:
        release: `release(input, rng)` gives one output.
        input_: what it is run on.
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
    """An earlier value in the shape and type of a fresh one. If the fresh array is longer, its last values are kept."""
    if isinstance(fresh, np.ndarray):
        made, flat = fresh.copy(), np.ravel(before)
        size = min(made.size, flat.size)
        made.reshape(-1)[:size] = flat[:size]
        return made
    if type(fresh) in (float, int) and np.size(before) == 1:
        return type(fresh)(np.ravel(before)[0])
    return before


def _drained(output: Any, depth: int = 8) -> Any:
    """An output whose parts are all drawn, where it gives them one after another, or only once it is awaited."""
    if inspect.iscoroutine(output):
        output = asyncio.run(output)
    if isinstance(output, Iterator) and not isinstance(output, io.IOBase):
        output = list(itertools.islice(output, MOST_GIVEN))
    if not depth:  # it may hold itself
        return output
    if type(output) in (list, tuple):
        return type(output)(_drained(value, depth - 1) for value in output)
    return {key: _drained(value, depth - 1) for key, value in output.items()} if type(output) is dict else output
