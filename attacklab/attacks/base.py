"""What an attack is: what the adversary knows, the pairs it picks and the events it bets on.

An attack is a frozen dataclass with the members of `Attack`; it never runs a target itself. Where it has to look at the
target's outputs before it can pick a pair, the referee hands it a probe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.floats import Floats, Format, format_of
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Outputs, Target

Probe: TypeAlias = Callable[[Any, int], Outputs]
"""`probe(input, trials)`: outputs of the target, drawn apart from those that any event is judged on."""

FEW = 8
"""Outputs in binary32 that are all bfloat16 numbers by chance with probability 2^−128."""


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs: the adversary's decision, and nothing else.

    Attributes:
        description: the set in words.
        contains: which of the outputs (one a row) lie in it, as a bool array.
    """

    description: str
    contains: Callable[[Outputs], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A neighbouring pair and the events that the adversary may bet on.

    Attributes:
        pair: the two inputs.
        events: candidates; a first sample chooses among them and tells how many trials the chosen one will take, a
            second one judges it.
        answers: how many answers the adversary collects before it decides; an event then sees rows of that many.
        sees_failures: whether the adversary also sees how the target failed: then an output may be NaN, or the
            `Failure` of a release that raised. Otherwise either ends the attack with an ERROR finding.

    Raises:
        ValueError: there is no event, or `answers` is less than 1.
    """

    pair: NeighbouringPair
    events: tuple[Event, ...]
    answers: int = 1
    sees_failures: bool = False

    def __post_init__(self) -> None:
        if not self.events:
            raise ValueError("a scenario needs at least one event")
        if self.answers < 1:
            raise ValueError(f"answers of a scenario must be at least 1, not {self.answers}")


class Attack(Protocol):
    """An attack on one flaw."""

    @property
    def name(self) -> str:
        """Its name on the command line and in findings."""
        ...

    @property
    def flaw(self) -> str:
        """The flaw it looks for, in one line."""
        ...

    def applies_to(self, target: Target) -> bool:
        """Whether the target is of a kind that can have the flaw."""
        ...

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The pairs and events to try on this target.

        Raises:
            TargetError: the target failed while it was probed.
        """
        ...


def released_format(probe: Probe, input_: Any) -> Format:
    """The format of a target's outputs, by a look at a few."""
    return format_of(probe(input_, FEW))


def as_floats(outputs: Outputs) -> NDArray[np.float64]:
    """Outputs that may be failures as doubles, every bit kept, with NaN for a failure."""
    return outputs.astype(np.float64)


def as_released(outputs: Outputs) -> Floats:
    """Outputs in the floating-point format that they came in; as doubles where they may be failures or are integers."""
    return outputs if outputs.dtype.kind == "f" else as_floats(outputs)


def only_from(
    outputs: Outputs, *, here: float, there: float, reachable: Callable[[Any, float], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Which outputs can come from one answer and not from another.

    Args:
        outputs: of a target of additive noise.
        here: the answer that they can come from.
        there: the other one, of which only those are asked that can come from the first.
        reachable: `reachable(outputs, answer)`, which outputs can come from an answer.
    """
    values = as_released(outputs)
    inside = reachable(values, here)
    rest = np.flatnonzero(inside)
    inside[rest] = ~reachable(values[rest], there)
    return inside


def laplace_scale(target: Target) -> float:
    """The scale λ of a target's noise, if it is Laplace noise."""
    return target.noise_scale or target.sensitivity / target.claim.epsilon


def bounds_of(target: Target) -> tuple[float, float]:
    """The bounds of a record of a sum or mean."""
    assert target.bounds is not None  # noqa: S101 - sums and means have bounds
    return target.bounds
