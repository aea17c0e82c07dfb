"""Targets that other processes load by name, for the tests of workers."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab import Finding, NeighbouringPair, Relation, Target
from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.model.targets import Outputs

Floats = NDArray[np.float64]

PAIR = NeighbouringPair.records([0], [1], Relation.SUBSTITUTE)
DEADLY = NeighbouringPair.records([7], [8], Relation.SUBSTITUTE)


def timeless(findings: list[Finding]) -> list[Finding]:
    """The findings without their times."""
    return [replace(finding, seconds=0.0) for finding in findings]


class TwoPartError(Exception):
    """An exception that cannot be unpickled."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


@dataclass(frozen=True)
class Bets:
    """An attack on datasets, after a look at the target: on a plain pair, or on one of which targets may die."""

    pairs: tuple[str, ...] = ("plain",)
    name: str = "bets"
    flaw: str = "any"

    def applies_to(self, target: Target) -> bool:
        return target.kind == "dataset"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - the protocol's form
        seen = float(probe(PAIR.first, 4).sum())
        for pair in self.pairs:
            events = (_above(0.5), _above(2.5), _above(9.0 + seen))
            yield Scenario(PAIR, events) if pair == "plain" else Scenario(DEADLY, (_above(7.5),))


@dataclass(frozen=True)
class Fails(Bets):
    """An attack with a mistake in it."""

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002
        raise ZeroDivisionError("a mistake") if self.name == "bets" else TwoPartError("two ", "parts")


def _above(threshold: float) -> Event:
    def contains(outputs: Outputs) -> NDArray[np.bool_]:
        return np.asarray(outputs > threshold, dtype=bool)

    return Event(f"above {threshold!r}", contains)


def noisy(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    return records.sum() + rng.laplace(0.0, 1.0, trials)


def refusing(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    outputs = noisy(records, trials, rng)
    if (outputs > 7).any():
        raise ValueError("too large")
    return outputs


def leaving(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    if records[0] == 7:
        os._exit(3)
    return noisy(records, trials, rng)


def killed_once(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    if records[0] == 1 and _is_first():
        os._exit(5)
    return noisy(records, trials, rng)


def _is_first() -> bool:
    """Whether no other process has asked before."""
    try:
        Path(os.environ["KILLED_ONCE"]).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def remembering(flag: str, release: Callable[..., Floats]) -> Target:
    """A target that leaves a trace of its death in a file."""
    os.environ["KILLED_ONCE"] = flag
    return Target.dataset(release, epsilon=1.0)


sound = Target.dataset(noisy, epsilon=1.0)
beyond = Target.dataset(noisy, epsilon=0.2)
