"""The hooks of a replay: put in place for its runs, and taken away after them.

What was imported by name before (`from numpy.random import laplace`), and generators that were made before, are
exchanged where the user's modules, closures and objects hold them.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import random
import secrets
import sys
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from attacklab.libraries import samplers
from attacklab.model.random_bits import SeededBits, SystemBits
from attacklab.replay.session import Session, is_users
from attacklab.replay.sources import (
    BASE_GENERATOR,
    BASE_STATE,
    PYTHON,
    WatchedGenerator,
    WatchedState,
    begun,
    bits_behind,
    bits_of,
    inside,
    integer,
    method_of,
    rvs_of,
    sampler_of,
    seeded,
    tensors,
    watch,
    watched,
)
from attacklab.replay.traced import plain

DEEPEST = 6
"""How far generators are looked for in objects that hold objects."""

MOST_ITEMS = 4096
"""Of a longer container, the first are looked at."""

_HOOKS = [f"attacklab.replay.{name}" for name in ("hooks", "sources", "tensors")]
_default_rng = np.random.default_rng
_seed_python = random.Random.seed
_PYTHON = [
    name for name in dir(random.Random) if name[0] != "_" and name.islower() and not name.endswith(("seed", "state"))
]


class _MadeGenerator(WatchedGenerator):
    """What `numpy.random.Generator` is meanwhile."""

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self.stream = seeded("Generator", bit_generator)


class _MadeState(WatchedState):
    """What `numpy.random.RandomState` is meanwhile."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(seed)
        self.stream = seeded("RandomState", seed)


def _made_rng(seed: Any = None) -> Any:
    session = watched()
    if session is None:
        return _default_rng(seed)
    stream = seeded("default_rng", seed)
    with inside(session):  # without a seed it asks the system for one
        return watch(_default_rng(plain(seed)), stream)


def _seeded_python(self: Any, a: Any = None, *rest: Any, **named: Any) -> None:
    if watched() is not None:
        self.stream, self.drawn = seeded("random.seed", a), 0
    _seed_python(self, plain(a), *rest, **named)


def _note_process() -> None:
    """A process that is forked draws where its parent does not see it."""
    session = Session.current
    if session is not None:
        session.unread.append("another process")


os.register_at_fork(before=_note_process)


class Hooks:
    """The hooks, in place between `install` and `remove`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._instead: dict[int, tuple[Any, Any]] = {}
        self._watched: set[str] = set()

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
            legacy.stream, legacy.drawn = seeded("numpy.random.seed", value), 0
            state.seed(plain(value))

        self._set(np.random, "seed", seed)
        for name, made in (("default_rng", _made_rng), ("Generator", _MadeGenerator), ("RandomState", _MadeState)):
            self._set(np.random, name, made)
        for name in _PYTHON:
            for kind in (random.Random, random.SystemRandom):
                if kind is random.Random or name in vars(kind):
                    self._set(kind, name, method_of(name, f"random.{name}", getattr(random.Random, name), PYTHON))
            self._set(random, name, functools.partial(getattr(random.Random, name), random._inst))
        self._set(random.Random, "seed", _seeded_python)
        self._set(random, "seed", functools.partial(_seeded_python, random._inst))
        raw: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
            (secrets, "randbits", integer),
            (secrets, "randbelow", lambda rng, most: integer(rng, most.bit_length() + 64) % most),
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
        generic = importlib.import_module("scipy.stats._distn_infrastructure").rv_generic
        self._set(generic, "rvs", rvs_of(generic.rvs))

    def install_libraries(self) -> bool:
        """Put hooks into the libraries that are imported by now; whether there were any that had none."""
        new = [place for place in samplers() if place not in self._watched and place.partition(":")[0] in sys.modules]
        for place in new:
            module_name, _, path = place.partition(":")
            *outer, name = path.split(".")
            owner = functools.reduce(getattr, outer, sys.modules[module_name])
            if hasattr(owner, name):
                label = f"{module_name}.{path}"
                self._set(owner, name, sampler_of(label, getattr(owner, name), samplers()[place]))
        if "torch:normal" in new:
            torch, made = sys.modules["torch"], tensors()
            self._set(torch, "Generator", made.WatchedTorchGenerator)
            self._set(torch, "manual_seed", functools.partial(made.seed_global, torch.manual_seed))
        self._watched.update(new)
        return bool(new)

    @property
    def libraries(self) -> list[str]:
        """The libraries that hooks are in, or would be if they were imported differently."""
        return sorted({place.partition(":")[0].partition(".")[0] for place in self._watched})

    def reach(self, function: Any) -> None:
        """Exchange what the user's modules hold already, and what a function reaches: closures, objects, containers."""
        self._into(function, set(), 0)
        for module in list(sys.modules.values()):
            if isinstance(module, ModuleType) and _is_users_module(module.__name__):
                self._exchange(vars(module), is_code=True)

    def remove(self) -> None:
        """Take the hooks away."""
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

    def _replacement(self, value: Any, *, is_code: bool = False) -> Any:
        """What stands for a value; of a generator that the code itself holds, its seed is that of the code."""
        if id(value) not in self._instead and type(value) in (BASE_GENERATOR, BASE_STATE):
            made = watch(value)
            if is_code:
                made.begun = begun(value)
                bits = bits_behind(value)
                self._undo.append(functools.partial(setattr, bits, "state", bits.state))
            self._instead[id(value)] = (made, value)
        if id(value) not in self._instead and isinstance(value, MethodType):
            owner = self._replacement(value.__self__, is_code=is_code)
            is_exchanged = owner is not value.__self__ or isinstance(owner, random.Random)
            return getattr(owner, value.__name__, value) if is_exchanged else value
        return self._instead.get(id(value), (value,))[0]

    def _exchange(self, held: Any, *, is_code: bool = False) -> None:
        items = list(held.items()) if isinstance(held, dict) else list(enumerate(held[:MOST_ITEMS]))
        for name, value in items:
            new = self._replacement(value, is_code=is_code)
            if new is not value:
                held[name] = new
                self._undo.append(functools.partial(held.__setitem__, name, value))

    def _into(self, value: Any, seen: set[int], depth: int, *, is_code: bool = False, is_global: bool = False) -> None:
        """Exchange what a value holds, and what its parts hold.

        Args:
            value: a function, an object or a container.
            seen: what was looked into before, by its identity.
            depth: how many values hold this one.
            is_code: whether it is a container of the code, whose generators the code seeded.
            is_global: whether it was reached from a variable of a module, of which the user's own objects alone matter.
        """
        if isinstance(value, ModuleType) and _is_users_module(value.__name__):
            value, is_code, is_global = vars(value), True, True
        if id(value) in seen or depth > DEEPEST or isinstance(value, ModuleType | type):
            return
        seen.add(id(value))
        if type(value) in (dict, list):
            held = list(value.values() if isinstance(value, dict) else value[:MOST_ITEMS])
            self._exchange(value, is_code=is_code)
            for part in held:
                if _is_users_own(part):
                    is_container = type(part) in (dict, list)
                    self._into(part, seen, depth + 1, is_code=is_code and is_container, is_global=is_global)
            return
        parts = [getattr(value, "__self__", None), getattr(value, "__func__", None)]
        if isinstance(value, functools.partial):
            parts += [value.func, *value.args, *value.keywords.values()]
            self._exchange(value.keywords)
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # an empty cell
                content = cell.cell_contents
                parts.append(content)
                cell.cell_contents = self._replacement(content)
                self._undo.append(functools.partial(setattr, cell, "cell_contents", content))
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            seen.add(id(attributes))
            parts += attributes.values()
            self._exchange(attributes)
        for part in parts:
            is_own = _is_users_own(part)
            if is_own or (not is_global and (callable(part) or hasattr(part, "__dict__"))):
                self._into(part, seen, depth + 1, is_global=is_global)
        if isinstance(value, FunctionType):
            self._into_code(value, seen, depth + 1)

    def _into_code(self, function: FunctionType, seen: set[int], depth: int) -> None:
        """Exchange a function's defaults and globals, and what the globals of the user's own functions hold."""
        defaults, names = function.__defaults__, function.__globals__
        if names.get("__name__") in _HOOKS:
            return
        if defaults:
            function.__defaults__ = tuple(self._replacement(one, is_code=True) for one in defaults)
            self._undo.append(functools.partial(setattr, function, "__defaults__", defaults))
        if function.__kwdefaults__:
            self._exchange(function.__kwdefaults__, is_code=True)
        if _is_users_own(function):
            self._into(names, seen, depth, is_code=True, is_global=True)
        elif id(names) not in seen:
            seen.add(id(names))
            self._exchange(names)


def _is_users_own(value: Any) -> bool:
    """Whether a value may hold a generator of the user's: a container, or a part or an object of their code."""
    if isinstance(value, FunctionType):
        return is_users(value.__code__.co_filename)
    if isinstance(value, ModuleType):
        return _is_users_module(value.__name__)
    return type(value) in (dict, list, MethodType, functools.partial) or _is_users_module(type(value).__module__)


def _is_users_module(name: Any) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None) if isinstance(name, str) else None
    return is_users(file) if file else name == "__main__"
