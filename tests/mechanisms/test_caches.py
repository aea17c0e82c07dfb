"""Nothing that mechanisms keep from one release to the next depends on a private input, or on what was drawn.

Whoever releases after others would otherwise see in the time whether they had asked the same, and memory would keep it.
"""

import functools
import gc
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import mechanisms
from tests.mechanisms.terms import TERMS, data_of, outputs

pytestmark = pytest.mark.slow

INPUTS: dict[str, tuple[Any, ...]] = {
    "number": (0.3, -1.7, 2.0),
    "numbers": ([0.5, 3.0, 1.25, 0.0], [7.0, -1.0, 0.0, 2.0], [1.0, 0.0, 2.0**60, 1.0]),
    "keys": (["a"] * 9, ["b"], []),
    "bit": (False, True),
}
"""Private inputs by what a term's data are, of one type each: what is made when a type is first met tells no more."""

OLD: list[Any] = []
"""The caches that were there before these tests."""


@functools.cache
def modules() -> tuple[Any, ...]:
    found = pkgutil.walk_packages(mechanisms.__path__, "mechanisms.")
    return tuple(importlib.import_module(information.name) for information in found)


def found_caches() -> list[Any]:
    return [
        held
        for held in gc.get_objects()
        if type(held) is functools._lru_cache_wrapper and held.__module__.startswith("mechanisms.")
    ]


@pytest.fixture(scope="module", autouse=True)
def old() -> Iterator[None]:
    """Look once through what was there before these tests: what is frozen is in no later list of objects."""
    assert modules()
    OLD.extend(found_caches())
    gc.freeze()
    yield
    gc.unfreeze()
    OLD.clear()


def caches() -> list[Any]:
    """Every cache of functools that a module of the mechanisms made, wherever it is kept."""
    return OLD + found_caches()


def keys_of(cache: Any) -> set[Any]:
    """The keys that a cache holds: its only dictionary beside the one of its attributes."""
    (held,) = [
        referent for referent in gc.get_referents(cache) if isinstance(referent, dict) and referent is not vars(cache)
    ]
    assert len(held) == cache.cache_info().currsize
    return set(held)


def kept() -> dict[str, Any]:
    """The keys of caches, the containers of modules and the state of public parameters."""
    state: dict[str, Any] = {f"{cache.__module__}.{cache.__qualname__}": keys_of(cache) for cache in caches()}
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, dict | list | set) and not name.startswith("__"):
                state[f"{module.__name__}.{name}"] = repr(value)
    return state


@pytest.mark.parametrize("name", TERMS)
def test_what_is_kept_after_a_release_tells_neither_the_private_input_nor_what_was_drawn(name: str) -> None:
    states = []
    # Caches without parameters are tables that take long and depend on nothing.
    cleared = [cache for cache in caches() if inspect.signature(cache).parameters]
    for data in INPUTS[data_of(name)]:
        for seed in (0, 1, 2):
            for cache in cleared:
                cache.cache_clear()
            outputs(name, data, seed)
            states.append({**kept(), "term": pickle.dumps(TERMS[name])})
    assert all(state == states[1] for state in states[2:])  # the first one found the tables unmade
