"""Make releases, targets and scenarios: shared by the tests of attacks."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Attack, Scenario
from attacklab.model.random_bits import SeededBits
from attacklab.model.targets import Outputs, Target

Release: TypeAlias = Callable[..., Any]


def exactly(mechanism: Callable[..., NDArray[Any]], **parameters: Any) -> Callable[..., NDArray[Any]]:
    """A mechanism that takes random bits as a release, which takes a generator."""

    def release(input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any]:
        return mechanism(input_, trials, SeededBits(rng), **parameters)

    return release


def selection_of(release: Release, epsilon: float, sensitivity: float = 1.0) -> Target:
    """A selection whose release takes its parameters."""
    bound = partial(release, epsilon=epsilon, sensitivity=sensitivity)
    return Target.selection(bound, epsilon=epsilon, sensitivity=sensitivity)


def scenarios_of(attack: Attack, target: Target) -> list[Scenario]:
    """The scenarios that an attack makes for a target; every probe of one input sees the same outputs."""

    def probe(input_: Any, trials: int) -> Outputs:
        return target.outputs(input_, trials, np.random.default_rng(5))

    return list(attack.scenarios(target, probe))
