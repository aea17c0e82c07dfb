"""Targets that other processes load by name, for the tests of execution and of checkpoints."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Outputs, Target

Floats = NDArray[np.float64]

PAIR = NeighbouringPair.records([0], [1], Relation.SUBSTITUTE)
DEADLY = NeighbouringPair.records([7], [8], Relation.SUBSTITUTE)


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


def _above(threshold: float) -> Event:
    def contains(outputs: Outputs) -> NDArray[np.bool_]:
        return np.asarray(outputs > threshold, dtype=bool)

    return Event(f"above {threshold!r}", contains)


def noisy(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    return records.sum() + rng.laplace(0.0, 1.0, trials)


def slow(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    time.sleep(0.02)
    return noisy(records, trials, rng)


def leaving(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    if records[0] == 7:
        os._exit(3)
    return noisy(records, trials, rng)


def killed(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    if records[0] == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return noisy(records, trials, rng)


def leaving_large_batches(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    if trials > 300:
        os._exit(4)
    return noisy(records, trials, rng)


def hanging_in_large_batches(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    if trials > 300:
        time.sleep(600)
    return noisy(records, trials, rng)


def killed_once(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:
    flag = Path(os.environ["KILLED_ONCE"])
    if records[0] == 1 and not flag.exists():
        flag.touch()
        os._exit(5)
    return noisy(records, trials, rng)


def unseeded(records: NDArray[Any], trials: int, rng: np.random.Generator) -> Floats:  # noqa: ARG001
    return records.sum() + np.random.default_rng().laplace(0.0, 1.0, trials)


sound = Target.dataset(noisy, epsilon=1.0)
beyond = Target.dataset(noisy, epsilon=0.2)
lagging = Target.dataset(slow, epsilon=1.0)
