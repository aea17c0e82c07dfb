"""Which samplers a process calls: those of numpy, of the standard library, and the operating system's random bytes."""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np

KEEP_STATE = {"seed", "get_state", "set_state", "getstate", "setstate", "spawn", "bit_generator", "VERSION"}
"""Public names of a generator that draw nothing."""


def watch_noise() -> list[str]:
    """Note, from now on and for as long as this process runs, each sampler that is called.

    Generators that exist already, and functions that were imported by name before, are not watched.

    Returns:
        The names of samplers in the order of their calls, such as `Generator.laplace`; the list grows.
    """
    drawn: list[str] = []

    def noted(owner: str, name: str, sampler: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(sampler)
        def noting(*arguments: Any, **named: Any) -> Any:
            drawn.append(f"{owner}.{name}")
            return sampler(*arguments, **named)

        return noting

    def samplers(owner: Any, names: Any, called: str) -> dict[str, Any]:
        public = [name for name in names if not name.startswith("_") and name not in KEEP_STATE]
        return {name: noted(called, name, vars(owner)[name]) for name in public if callable(vars(owner).get(name))}

    watched = {
        kind.__name__: type(kind.__name__, (kind,), samplers(kind, vars(kind), kind.__name__))
        for kind in (np.random.Generator, np.random.RandomState)
    }
    made, generator = np.random.default_rng, watched["Generator"]
    watched["default_rng"] = lambda seed=None: generator(made(seed).bit_generator)  # type: ignore[assignment]
    patches: list[tuple[Any, dict[str, Any]]] = [
        (np.random, watched | samplers(np.random, vars(np.random.RandomState), "numpy.random"))
    ]
    patches += [(random, samplers(random, [*vars(random.Random), "random", "getrandbits"], "random"))]
    patches += [(kind, samplers(kind, vars(kind), kind.__name__)) for kind in (random.SystemRandom, random.Random)]
    patches += [(os, samplers(os, ["urandom"], "os"))]
    for owner, replacements in patches:
        for name, replacement in replacements.items():
            setattr(owner, name, replacement)
    return drawn
