"""How targets are made of mechanisms: naive ones as they are, exact ones with a path to run and a path to prove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, wraps
from typing import Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from attacklab.random_bits import SeededBits
from attacklab.targets import Target
from mechanisms.grid import Grid

GRID = Grid(-2)
"""The public grid of exact additive mechanisms: a quarter."""

Parameters = ParamSpec("Parameters")


def named(make: Callable[Parameters, Target]) -> Callable[Parameters, Target]:
    """Give each target that a function makes the name of that function."""

    @wraps(make)
    def make_named(*arguments: Parameters.args, **options: Parameters.kwargs) -> Target:
        return replace(make(*arguments, **options), name=make.__name__)

    return make_named


def selection(mechanism: Callable[..., Any], epsilon: float) -> Target:
    """Make a target of a selection mechanism that takes its ε as a parameter."""
    return Target.selection(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def noise(mechanism: Callable[..., Any], epsilon: float) -> Target:
    """Make a target of an additive mechanism that takes its ε as a parameter."""
    return Target.noise(partial(mechanism, epsilon=epsilon), epsilon=epsilon)


def exact_by_both_paths(
    make: Callable[..., Target],
    fast: Callable[..., NDArray[Any]],
    reference: Callable[..., Any],
    parameters: Mapping[str, Any],
    **claim: Any,
) -> Target:
    """Make a target of an exact mechanism that has a fast path, which is run, and a reference path, which is proved.

    Args:
        make: `Target.noise` or another constructor.
        fast: `fast(input, trials, bits, **parameters)`.
        reference: `reference(input, bits, **parameters)`.
        parameters: of the mechanism.
        **claim: what else the constructor takes.
    """
    return make(exactly(fast, **parameters), **claim).exact(partial(reference, **parameters))


def exact_by_reference(make: Callable[..., Target], sampler: Callable[..., Any], **claim: Any) -> Target:
    """Make a target of an exact mechanism whose reference path `sampler(input, bits)` is run too, a draw at a time."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        bits = SeededBits(rng)
        return np.array([sampler(input_, bits) for _ in range(trials)])

    return make(release, **claim).exact(sampler)


def exactly(mechanism: Callable[..., Any], **parameters: Any) -> Callable[..., NDArray[Any]]:
    """Return a fast exact mechanism as a release: its random bits come from the generator that it is given."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        released: NDArray[Any] = mechanism(input_, trials, SeededBits(rng), **parameters)
        return released

    return release
