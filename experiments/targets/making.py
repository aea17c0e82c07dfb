"""Making targets out of mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.targets import Release, Target
from mechanisms.grid import Grid
from mechanisms.randomness import SeededBits

GRID = Grid(-2)
"""The public grid of exact additive mechanisms: a quarter."""


def selection(mechanism: Callable[..., Any], epsilon: float) -> Target:
    """A selection mechanism that takes its ε as a parameter."""
    return Target.selection(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def noise(mechanism: Callable[..., Any], epsilon: float) -> Target:
    """An additive mechanism that takes its ε as a parameter."""
    return Target.noise(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def exactly(mechanism: Callable[..., Any], **parameters: Any) -> Callable[..., NDArray[Any]]:
    """A fast exact mechanism as a release: its random bits come from the generator that it is given."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        released: NDArray[Any] = mechanism(input_, trials, SeededBits(rng), **parameters)
        return released

    return release


def one_by_one(sampler: Callable[..., Any]) -> Release:
    """A reference path, one draw at a time, as a release."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        bits = SeededBits(rng)
        return np.array([sampler(input_, bits) for _ in range(trials)])

    return release
