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
from collections.abc import Callable, Mapping
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from attacklab.libraries import samplers
from attacklab.model.random_bits import SeededBits, SystemBits
from attacklab.replay.seeds import (
    BASE_GENERATOR,
    BASE_STATE,
    begun,
    bits_behind,
    forget,
    is_seeded_in,
    note_seed,
    note_state,
    open_state,
    seeds_of,
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

_HOOKS = [f"attacklab.replay.{name}" for name in ("hooks", "sources", "tensors")]
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
        super().__init__(seed)
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
        self._undo: list[Callable[[], None]] = []
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
            self._undo.append(functools.partial(forget, made.GLOBAL))
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

    def _replacement(self, value: Any, *, is_code: bool = False, maker: type | None = None) -> Any:
        """What stands for a value.

        Args:
            value: a generator, or what may hold one.
            is_code: whether the code itself holds it: then a generator's seed is that of the code.
            maker: the class of the object that holds it: so it is where that class seeds it with this number.
        """
        if id(value) not in self._instead and type(value) in (BASE_GENERATOR, BASE_STATE):
            made, bits = watch(value), bits_behind(value)
            known = begun(value)
            if is_code or (maker is not None and known is not None and is_seeded_in(maker, known.value)):
                seeds_of(made).begun = known
            self._undo.append(functools.partial(setattr, bits, "state", bits.state))
            self._instead[id(value)] = (made, value)
        if isinstance(value, random.Random) and value is not random._inst:
            self._begin_python(value, is_code, maker)
        if type(value) is tuple and any(type(part) in (BASE_GENERATOR, BASE_STATE, tuple) for part in value):
            parts = tuple(self._replacement(part, is_code=is_code, maker=maker) for part in value)
            return parts if any(new is not part for new, part in zip(parts, value, strict=True)) else value
        if id(value) not in self._instead and isinstance(value, MethodType | BuiltinMethodType):
            owner = self._replacement(value.__self__, is_code=is_code, maker=maker)
            is_exchanged = owner is not value.__self__ or isinstance(owner, random.Random)
            return getattr(owner, value.__name__, value) if is_exchanged else value
        return self._instead.get(id(value), (value,))[0]

    def _begin_python(self, generator: random.Random, is_code: bool, maker: type | None) -> None:
        """Keep the seed of one of Python's generators, if the code made it."""
        seeds, is_systems = seeds_of(generator), isinstance(generator, random.SystemRandom)
        known = None if is_systems or seeds.begun is not None else begun(generator)
        if known is not None and (is_code or (maker is not None and is_seeded_in(maker, known.value))):
            seeds.begun = known
            self._undo.append(functools.partial(_set_python_state, generator, known.state))

    def _exchange(self, held: Any, *, is_code: bool = False, maker: type | None = None) -> None:
        items = list(held.items()) if isinstance(held, dict) else list(enumerate(held[:MOST_ITEMS]))
        for name, value in items:
            new = self._replacement(value, is_code=is_code, maker=maker)
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
        if id(value) in seen or depth > DEEPEST or isinstance(value, ModuleType):
            return
        seen.add(id(value))
        if type(value) in _CONTAINERS:
            held = list(value.values() if isinstance(value, dict) else value[:MOST_ITEMS])
            if type(value) is not tuple:  # else whoever holds it holds another
                self._exchange(value, is_code=is_code)
            for part in held:
                if _is_users_own(part):
                    is_container = type(part) in _CONTAINERS
                    self._into(part, seen, depth + 1, is_code=is_code and is_container, is_global=is_global)
            return
        parts = [getattr(value, name, None) for name in ("__self__", "__func__", "__wrapped__")]
        if isinstance(value, _CACHE):
            self._caches[id(value)] = value
        if isinstance(value, functools.partial):
            parts += [value.func, *value.args, *value.keywords.values()]
            partial: Any = value
            before = partial.__reduce__()[2]
            new = [self._replacement(part, is_code=is_global) for part in (value.func, value.args)]
            keywords = {name: self._replacement(part, is_code=is_global) for name, part in value.keywords.items()}
            partial.__setstate__((*new, keywords, before[3]))
            self._undo.append(functools.partial(partial.__setstate__, before))
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):  # an empty cell
                content = cell.cell_contents
                parts.append(content)
                cell.cell_contents = self._replacement(content, is_code=is_global)
                self._undo.append(functools.partial(setattr, cell, "cell_contents", content))
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            seen.add(id(attributes))
            parts += attributes.values()
            self._exchange(attributes, maker=None if isinstance(value, FunctionType) else type(value))
        kind = value if isinstance(value, type) else type(value)
        if _is_users_module(kind.__module__):
            parts += [] if kind is value else [kind]
            parts += self._exchange_attributes(kind, vars(kind))
            if kind is not value:
                slots = {name: getattr(value, name) for name in _slots(kind) if hasattr(value, name)}
                parts += self._exchange_attributes(value, slots)
        for part in parts:
            is_own = _is_users_own(part)
            if is_own or (not is_global and (callable(part) or hasattr(part, "__dict__"))):
                self._into(part, seen, depth + 1, is_global=is_global)
        if isinstance(value, FunctionType):
            self._into_code(value, seen, depth + 1)

    def _exchange_attributes(self, owner: Any, attributes: Mapping[str, Any]) -> list[Any]:
        """Exchange what a class has as attributes, or an object in slots; gives what they are."""
        is_class = isinstance(owner, type)
        set_ = type.__setattr__ if is_class else object.__setattr__
        for name, value in list(attributes.items()):
            new = self._replacement(value, is_code=is_class, maker=type(owner))
            if new is not value:
                set_(owner, name, new)
                self._undo.append(functools.partial(set_, owner, name, value))
        return list(attributes.values())

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
        for one in (*(defaults or ()), *(function.__kwdefaults__ or {}).values()):
            if isinstance(one, functools.partial):
                self._into(one, seen, depth, is_code=True, is_global=True)
        if _is_users_own(function):
            self._into(names, seen, depth, is_code=True, is_global=True)
        elif id(names) not in seen:
            seen.add(id(names))
            self._exchange(names)


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


def _slots(kind: type) -> list[str]:
    return [name for of in kind.__mro__ for name in np.atleast_1d(vars(of).get("__slots__", ())).tolist()]


def _is_users_module(name: Any) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None) if isinstance(name, str) else None
    return is_users(file) if file else name == "__main__"
