"""Replaces all generators and samplers by watched ones, and restores them afterwards."""

from __future__ import annotations

import contextlib
import functools
import gc
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from attacklab.draws import pythons
from attacklab.draws.everywhere import Undo, exchange
from attacklab.draws.numpys import (
    BASE_GENERATOR,
    BASE_STATE,
    WatchedGenerator,
    WatchedState,
    bits_of,
    held,
    watched_rng,
)
from attacklab.draws.places import is_users
from attacklab.draws.record import at_start
from attacklab.draws.torchs import torch_begins, torch_functions

_CACHE = functools._lru_cache_wrapper


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Watch every draw of this process until the end of the block.

    Each run begins with empty `lru_cache`s of the user's functions. At the end, the generators of numpy, and the
    default ones of `random` and torch, get their earlier states back.
    """
    undo: Undo = []
    caches = [one for one in gc.get_objects() if type(one) is _CACHE and is_users(one.__wrapped__)]
    at_start.append(lambda _: _clear(caches))
    try:
        _install(undo)
        yield
    finally:
        while undo:
            undo.pop()()
        at_start.clear()
        _clear(caches)


def _clear(caches: Iterable[Any]) -> None:
    for cache in caches:
        cache.cache_clear()


def _install(undo: Undo) -> None:
    generators = [one for one in gc.get_objects() if type(one) in (BASE_GENERATOR, BASE_STATE)]
    for one in generators:
        bits = bits_of(one)
        undo.append(functools.partial(setattr, bits, "state", bits.state))
    common = np.random.mtrand._rand
    watched = [held(one, is_common=one is common, own=generators) for one in generators]
    undo.append(functools.partial(random.setstate, random.getstate()))
    exchange(zip(generators, watched, strict=True), undo)
    classes = [(BASE_GENERATOR, WatchedGenerator), (BASE_STATE, WatchedState)]
    samplers: list[tuple[Any, Any]] = [*classes, (np.random.default_rng, watched_rng(np.random.default_rng))]
    bound = {name: getattr(random, name) for name in (*pythons.READERS, "seed", "setstate", "getstate")}
    for owner, name, function in pythons.methods():
        _set(owner, name, function, undo)
    samplers += [
        (before, functools.partial(getattr(random.Random, name), random._inst)) for name, before in bound.items()
    ]
    for owner, name, function in (*pythons.functions(), *torch_functions()):
        samplers += [] if isinstance(owner, type) else [(getattr(owner, name), function)]
        _set(owner, name, function, undo)
    exchange(samplers, undo, in_modules_only=True)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        undo.append(functools.partial(torch.set_rng_state, torch.get_rng_state()))
        at_start.append(torch_begins)


def _set(owner: Any, name: str, value: Callable[..., Any], undo: Undo) -> None:
    before, is_own = getattr(owner, name), name in vars(owner)
    setattr(owner, name, value)
    undo.append(functools.partial(setattr, owner, name, before) if is_own else functools.partial(delattr, owner, name))
