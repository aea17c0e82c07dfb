"""The hooks of a replay: put in place for its runs, and taken away after them.

What was imported by name before (`from numpy.random import laplace`), and generators that were made before, are
exchanged where the user's modules, closures and objects hold them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
import os
import random
import secrets
import sys
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from attacklab.libraries import samplers
from attacklab.model.random_bits import SeededBits, SystemBits
from attacklab.replay import opendp
from attacklab.replay.keys import hooks_of
from attacklab.replay.outputs import slots_of
from attacklab.replay.seeds import (
    BASE_GENERATOR,
    BASE_STATE,
    begun,
    forget,
    is_seeded_in,
    note_seed,
    note_state,
    open_state,
    seeds_of,
    set_state,
    state_of,
)
from attacklab.replay.session import Session, is_users
from attacklab.replay.sources import (
    PYTHON,
    WatchedGenerator,
    WatchedState,
    below,
    bits_of,
    inside,
    integer,
    method_of,
    rvs_of,
    sampler_of,
    tensors,
    watch,
    watched,
)
from attacklab.replay.traced import followed, plain

DEEPEST = 6
"""How far generators are looked for in objects that hold objects."""

_CONTAINERS = (dict, list, tuple)
_CACHE = functools._lru_cache_wrapper

MOST_ITEMS = 4096
"""Of a longer container, the first are looked at."""

_default_rng = np.random.default_rng
_seed_python, _python_state, _set_python_state = random.Random.seed, random.Random.getstate, random.Random.setstate
_PYTHON = [
    name for name in dir(random.Random) if name[0] != "_" and name.islower() and not name.endswith(("seed", "state"))
]


class _MadeGenerator(WatchedGenerator):
    """What `numpy.random.Generator` is meanwhile."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        note_seed(self, "Generator", bit_generator)


class _MadeState(WatchedState):
    """What `numpy.random.RandomState` is meanwhile."""

    def __init__(self, seed: Any = None) -> None:
        session = watched()
        with inside(session) if session else contextlib.nullcontext():  # it asks the system before it takes the seed
            super().__init__(plain(seed))
        note_seed(self, "RandomState", seed)


def _made_rng(seed: Any = None) -> Any:
    session = watched()
    if session is None:
        return _default_rng(seed)
    with inside(session):  # without a seed it asks the system for one
        made = watch(_default_rng(plain(seed)))
    if made is not seed:
        note_seed(made, "default_rng", seed)
    return made


def _seeded_python(self: Any, a: Any = None, *rest: Any, **named: Any) -> None:
    _seed_python(self, plain(a), *rest, **named)
    note_seed(self, "random.seed", a)


def _read_python(self: Any) -> Any:
    open_state(self)
    return _python_state(self)


def _set_python(self: Any, state: Any) -> None:
    open_state(self)
    _set_python_state(self, state)
    note_state(self)


def _note_process() -> None:
    """A process that is forked draws where its parent does not see it."""
    session = Session.current
    if session is not None:
        session.unread.append("another process")


os.register_at_fork(before=_note_process)


class Hooks:
    """The hooks, in place between `install` and `remove`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []
        self._instead: dict[int, tuple[Any, Any]] = {}
        self._watched: set[str] = set()
        self._caches: dict[int, Any] = {}

    def install(self) -> None:
        """Put the hooks in place."""
        state = np.random.mtrand._rand
        legacy = watch(state)
        self._undo.append(functools.partial(state.set_state, state.get_state()))
        self._undo.append(functools.partial(random.setstate, random.getstate()))
        for name in dir(np.random):
            if getattr(getattr(np.random, name), "__self__", None) is state and hasattr(WatchedState, name):
                self._set(np.random, name, getattr(legacy, name))
        self._set(np.random.mtrand, "_rand", legacy)

        def seed(value: Any = None) -> None:
            state.seed(plain(value))
            note_seed(legacy, "numpy.random.seed", value)

        self._set(np.random, "seed", seed)
        for name, made in (("default_rng", _made_rng), ("Generator", _MadeGenerator), ("RandomState", _MadeState)):
            self._set(np.random, name, made)
        for name in _PYTHON:
            for kind in (random.Random, random.SystemRandom):
                if kind is random.Random or name in vars(kind):
                    self._set(kind, name, method_of(name, f"random.{name}", getattr(random.Random, name), PYTHON))
            self._set(random, name, functools.partial(getattr(random.Random, name), random._inst))
        for name, hook in (("seed", _seeded_python), ("getstate", _read_python), ("setstate", _set_python)):
            self._set(random.Random, name, hook)
            self._set(random, name, functools.partial(hook, random._inst))
        self._undo.append(functools.partial(forget, random._inst))
        raw: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
            (secrets, "randbits", integer),
            (secrets, "token_bytes", lambda rng, count=32: rng.bytes(count)),
            (secrets, "token_hex", lambda rng, count=32: rng.bytes(count).hex()),
            (os, "urandom", lambda rng, count: rng.bytes(count)),
            (random, "_urandom", lambda rng, count: rng.bytes(count)),
            *((bits, "take", lambda rng, _, count: integer(rng, count)) for bits in (SeededBits, SystemBits)),
            *(
                (bits, "words", lambda rng, _, count: rng.bit_generator.random_raw(count))
                for bits in (SeededBits, SystemBits)
            ),
        )
        for place, name, fresh in raw:
            self._set(place, name, bits_of(f"{getattr(place, '__name__', place)}.{name}", getattr(place, name), fresh))
        self._set(secrets, "randbelow", sampler_of("secrets.randbelow", secrets.randbelow, below))
        for name in ("log", "sqrt", "sin", "cos"):
            self._set(math, name, followed(name, getattr(math, name)))
        generic = importlib.import_module("scipy.stats._distn_infrastructure").rv_generic
        self._set(generic, "rvs", rvs_of(generic.rvs))

    def install_libraries(self) -> bool:
        """Put hooks into the libraries that are imported by now; whether there were any that had none."""
        readers = {**samplers(), **opendp.READERS}
        new = [place for place in readers if place not in self._watched and place.partition(":")[0] in sys.modules]
        for place in new:
            module_name, _, path = place.partition(":")
            *outer, name = path.split(".")
            owner: Any = sys.modules[module_name]
            for part in outer:
                owner = getattr(owner, part, None)  # which older versions may not have
            if hasattr(owner, name):
                label = f"{module_name}.{path}"
                self._set(owner, name, sampler_of(label, getattr(owner, name), readers[place]))
        if "torch:normal" in new:
            torch, made = sys.modules["torch"], tensors()
            self._set(torch, "Generator", made.WatchedTorchGenerator)
            self._set(torch, "manual_seed", functools.partial(made.seed_global, torch.manual_seed))
            self._undo.append(functools.partial(forget, made.GLOBAL))
        if "jax.random:normal" in new:
            for name, hook in hooks_of(sys.modules["jax.random"]):
                self._set(sys.modules["jax.random"], name, hook)
        self._watched.update(new)
        return bool(new)

    @property
    def libraries(self) -> list[str]:
        """The libraries that hooks are in, or would be if they were imported differently."""
        return sorted({place.partition(":")[0].partition(".")[0] for place in self._watched})

    def reach(self, function: Any) -> None:
        """Exchange what the user's modules hold already, and what a function reaches: closures, objects, containers."""
        self._exchanged(function, {}, 0)
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and _is_users_module(module.__name__):
                self._exchanged(vars(module), {}, DEEPEST, seeder=CODE)

    def forget_calls(self) -> None:
        """Let functions that keep what they gave begin anew, as in a process of its own."""
        for cache in self._caches.values():
            cache.cache_clear()

    def remove(self) -> None:
        """Take the hooks away."""
        self.forget_calls()
        while self._undo:
            self._undo.pop()()

    def _set(self, place: Any, name: str, value: Any) -> None:
        before, is_own = getattr(place, name), name in vars(place)
        setattr(place, name, value)
        if isinstance(place, ModuleType):
            self._instead[id(before)] = (value, before)
        self._undo.append(
            functools.partial(setattr, place, name, before) if is_own else functools.partial(delattr, place, name)
        )

    def _exchanged(
        self, value: Any, seen: dict[int, Any], depth: int, *, seeder: type | None = None, is_global: bool = False
    ) -> Any:
        """What stands for a value, once all that it holds is exchanged.

        Args:
            value: a sampler, a generator, or what may hold one.
            seen: what stands for the values that were looked into before, by their identity.
            depth: how many values hold this one.
            seeder: `CODE` if the code itself seeds a generator that is held here; the class that does so where its
                source says so; None if a caller does.
            is_global: whether it was reached from a variable of a module, of which the user's own objects alone matter.
        """
        instead = self._replacement(value, seeder)
        if instead is not value or id(value) in seen or depth > DEEPEST:
            return seen.get(id(value), instead)
        seen[id(value)] = value
        if isinstance(value, _CACHE):
            self._caches[id(value)] = value
        parts = []
        for part, put, by, is_variable in _places(value, seeder, is_global=is_global):
            new = part
            with contextlib.suppress(Exception):  # whatever the class of a part raises where it is looked into
                is_searched = not (type(value) in _CONTAINERS or is_variable or isinstance(part, ModuleType))
                if _is_users_own(part) or (is_searched and (callable(part) or hasattr(part, "__dict__"))):
                    new = self._exchanged(part, seen, depth + 1, seeder=by, is_global=is_variable)
                else:
                    new = self._replacement(part, by)
            parts.append(new)
            if new is not part and put is not None:
                put(new)
                self._undo.append(functools.partial(put, part))
        if type(value) is tuple and any(new is not part for new, part in zip(parts, value, strict=True)):
            seen[id(value)] = tuple(parts)  # which whoever holds it takes
        return seen[id(value)]

    def _replacement(self, value: Any, seeder: type | None) -> Any:
        """What stands for a sampler, a generator, or a method of one; anything else as it is."""
        is_pythons = isinstance(value, random.Random) and value is not random._inst
        if id(value) not in self._instead and (is_pythons or type(value) in (BASE_GENERATOR, BASE_STATE)):
            made, known = watch(value), begun(value)
            if known is not None and (seeder is CODE or (seeder is not None and is_seeded_in(seeder, known.value))):
                seeds_of(made).begun = known
            self._undo += [functools.partial(set_state, value, state_of(value)), functools.partial(forget, made)]
            self._instead[id(value)] = (made, value)
        if id(value) not in self._instead and isinstance(value, MethodType | BuiltinMethodType):
            owner = self._replacement(value.__self__, seeder)
            is_exchanged = owner is not value.__self__ or isinstance(owner, random.Random)
            return getattr(owner, value.__name__, value) if is_exchanged else value
        return self._instead.get(id(value), (value,))[0]


class CODE:
    """Stands for the user's code as what seeds a generator."""


class _Place(NamedTuple):
    """Where a value holds another: what is there, what puts something else there, and what `Hooks` asks about it."""

    value: Any
    put: Callable[[Any], object] | None = None
    seeder: type | None = None
    is_global: bool = False


def _places(value: Any, seeder: type | None, *, is_global: bool) -> Iterator[_Place]:
    """All that a value holds, in which a generator or a sampler may be."""
    if type(value) is tuple:
        yield from (_Place(part, None, seeder, is_global) for part in value)
        return
    if type(value) in _CONTAINERS:
        for key, part in list(value.items() if isinstance(value, dict) else enumerate(value[:MOST_ITEMS])):
            yield _Place(part, functools.partial(value.__setitem__, key), seeder, is_global)
        return
    if isinstance(value, ModuleType):
        yield _Place(vars(value), None, CODE, True)
        return
    by_module = CODE if is_global else None
    for name in ("__self__", "__func__", "__wrapped__"):
        yield _Place(getattr(value, name, None), None, None, is_global)
    if isinstance(value, functools.partial):
        yield _Place(value.func, functools.partial(_set_in_partial, value, 0), by_module, is_global)
        yield _Place(value.args, functools.partial(_set_in_partial, value, 1), by_module, is_global)
        yield _Place(value.keywords, None, by_module, is_global)
    for cell in getattr(value, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # an empty cell
            yield _Place(cell.cell_contents, functools.partial(setattr, cell, "cell_contents"), by_module, is_global)
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        maker = None if isinstance(value, FunctionType) else type(value)
        for name, part in list(attributes.items()):
            yield _Place(part, functools.partial(attributes.__setitem__, name), maker, is_global)
    if isinstance(value, FunctionType) and not str(value.__globals__.get("__name__")).startswith(__package__):
        yield _Place(value.__defaults__, functools.partial(setattr, value, "__defaults__"), CODE, is_global)
        yield _Place(value.__kwdefaults__, None, CODE, is_global)
        yield _Place(value.__globals__, None, CODE if _is_users_own(value) else None, True)
    kind = value if isinstance(value, type) else type(value)
    if _is_users_module(kind.__module__):
        is_class = kind is value
        held = dict(vars(kind)) if is_class else {name: getattr(value, name) for name in slots_of(value)}
        set_ = type.__setattr__ if is_class else object.__setattr__
        for name, part in held.items():
            yield _Place(part, functools.partial(set_, value, name), CODE if is_class else kind, is_global)
        if not is_class:
            yield _Place(kind, None, None, is_global)


def given_to(function: Any, depth: int = 5, seeder: type | None = None) -> Iterator[int | str | bytes | float]:
    """The plain values that a caller gave a function: what is bound to it, and what its object and closure hold."""
    for place in _places(function, seeder, is_global=False) if depth else ():
        with contextlib.suppress(Exception):  # as where generators are looked for
            if isinstance(place.value, int | str | bytes | float):
                yield from () if place.seeder is CODE else (place.value,)
            elif not place.is_global:
                yield from given_to(place.value, depth - 1, place.seeder)


def _set_in_partial(function: Any, place: int, part: Any) -> None:
    state = list(function.__reduce__()[2])
    state[place] = part
    function.__setstate__(tuple(state))


def _is_users_own(value: Any) -> bool:
    """Whether a value may hold a generator of the user's: a container, or a part or an object of their code."""
    if isinstance(value, FunctionType):
        return is_users(value.__code__.co_filename)
    if isinstance(value, _CACHE):
        return _is_users_own(value.__wrapped__)
    if isinstance(value, ModuleType):
        return _is_users_module(value.__name__)
    if isinstance(value, type):
        return _is_users_module(value.__module__)
    return type(value) in (*_CONTAINERS, MethodType, functools.partial) or _is_users_module(type(value).__module__)


def _is_users_module(name: Any) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None) if isinstance(name, str) else None
    return is_users(file) if file else name == "__main__"
