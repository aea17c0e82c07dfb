"""Nothing that mechanisms keep from one release to the next depends on a private input, or on what was drawn.

Whoever releases after others would otherwise see in the time whether they had asked the same, and memory would keep it.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import mechanisms
from attacklab.random_bits import SeededBits
from mechanisms.gaussian.privacy import gaussian_delta
from mechanisms.gaussian.trade_off import discrete_gaussian_mu
from tests.mechanisms.releases import PUBLIC, RUNS, found

TAKEN = found()
INPUTS: dict[str, tuple[Any, ...]] = {
    "answer": (0.3, -1.7, 2),
    "answers": ([0.5, 3.0, 1.25], [7.0, -1.0, 0.0, 2.0, 2.0], [1]),
    "truth": (False, True),
    "utilities": ([0.0, 1.25, 3.0], [2.0, 1.0, -0.75], [0, Fraction(1, 3), 2**60]),
    "records": ([0.5, 3.0, 1.25], [7.0, -1.0, 0.0, 2.0, 2.0], [1]),
}
"""Private inputs by what a mechanism takes; those that it refuses by type are left out."""

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
    for parameter in PUBLIC:
        state[repr(parameter)] = repr(vars(parameter))
    return state


def test_the_finder_finds_a_cache_in_a_module_and_its_keys() -> None:
    discrete_gaussian_mu(sigma=1)
    found_mu = [cache for cache in caches() if cache.__qualname__ == "discrete_gaussian_mu"]
    assert found_mu == [discrete_gaussian_mu]
    assert any("sigma" in repr(key) for key in keys_of(discrete_gaussian_mu))


@pytest.mark.few(28)
@pytest.mark.parametrize("name", RUNS)
def test_what_is_kept_after_a_release_tells_neither_the_private_input_nor_what_was_drawn(name: str) -> None:
    states = []
    # Caches without parameters are tables that take long and depend on nothing.
    cleared = [cache for cache in caches() if inspect.signature(cache).parameters]
    for given in INPUTS[TAKEN[name]]:
        for seed in (0, 1, 2):
            for cache in cleared:
                cache.cache_clear()
            bits = SeededBits(seed)
            try:
                for _ in range(6):
                    RUNS[name](given, bits)
            except TypeError:
                break
            states.append(kept())
    assert len(states) >= 3
    assert all(state == states[1] for state in states[2:])  # the first one found the tables unmade


def test_a_call_that_is_finished_leaves_no_cache_behind() -> None:
    """Draws by inversion look up their tails in a cache of their own, which ends with them."""
    before = len(caches())
    for name in ("exact_rounded_gaussian", "exact_discrete_gaussian_fast"):
        RUNS[name](0.3, SeededBits(3))
    gaussian_delta(1, sigma=2)
    gc.collect()
    assert len(caches()) == before
