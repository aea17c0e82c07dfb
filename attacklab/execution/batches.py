"""What runs, wherever it runs: an attack's scenarios, and the samples drawn for them batch by batch.

All randomness of a batch is derived from the seed, the attack's name, the scenario, the role of the sample, the side of
the pair and the batch's number, and how a sample is cut into batches depends on its size alone. So a batch has the same
counts in whichever process it is drawn. Only counts of events leave that process: no code has to travel.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import itertools
import json
import math
import traceback
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Attack, Event, Probe, Scenario
from attacklab.errors import AttackError, TargetError
from attacklab.findings import Counts, described_pair
from attacklab.targets import Outputs, Target, described, in_one_line

BATCH_OUTPUTS = 1 << 16
"""Outputs drawn at a time: large enough to hide the cost of a call, small enough that memory stays constant."""

KEPT_BYTES = 1 << 24
"""The C library of Linux returns freed blocks to the system, and new pages cost more than the outputs in them: a fast
release takes four times as long. It keeps blocks up to the size of the largest one that was ever freed."""

FIRST_LOOK = 64
GROWTH = 1.25
"""The evidence is looked at after `FIRST_LOOK` trials, and then each time their number has grown by this factor."""


class Role(enum.IntEnum):
    """What outputs are drawn for; samples of different roles share no randomness."""

    PROBE = 0
    CHOOSE = 1
    JUDGE = 2


@dataclass(frozen=True, slots=True)
class Outline:
    """A scenario in plain values.

    Attributes:
        pair: the two inputs, as `described_pair` gives them.
        events: the candidates in words.
        answers: how many answers the adversary collects in one trial.
    """

    pair: dict[str, Any]
    events: tuple[str, ...]
    answers: int

    @classmethod
    def of(cls, scenario: Scenario) -> Outline:
        """The outline of a scenario."""
        descriptions = tuple(event.description for event in scenario.events)
        return cls(described_pair(scenario.pair), descriptions, scenario.answers)

    def digest(self) -> str:
        """A text that tells this scenario from any other."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of a sample.

    Attributes:
        number: its place in the sample, from 0.
        rows: its trials.
        done: the sample's trials up to the end of this batch.
        looked_at: whether the evidence is looked at after it.
    """

    number: int
    rows: int
    done: int
    looked_at: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """Trials to draw for one role in one scenario.

    Attributes:
        attack: the attack's place among those that run.
        scenario: the scenario's place among those of the attack.
        outline: the digest of the scenario's outline.
        role: what it is for.
        events: the places of the events to count.
        answers: outputs of each input in one trial.
        trials: the most to draw.
        spend_all: whether the evidence is looked at after the last trial only.
    """

    attack: int
    scenario: int
    outline: str
    role: Role
    events: tuple[int, ...]
    answers: int
    trials: int
    spend_all: bool

    def batches(self) -> Iterator[Batch]:
        """All of it, in order."""
        step = max(1, BATCH_OUTPUTS // self.answers)
        done = number = 0
        while done < self.trials:
            look = self.trials if self.spend_all else min(self.trials, max(FIRST_LOOK, math.ceil(done * GROWTH)))
            while done < look:
                rows = min(step, look - done)
                done += rows
                yield Batch(number, rows, done, done == look)
                number += 1


@contextlib.contextmanager
def _naming(attack: Attack) -> Iterator[None]:
    """Turn whatever an attack's own code raises into an error that names the attack and the line."""
    try:
        yield
    except (TargetError, AttackError):
        raise
    except Exception as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        place = f"{Path(last.filename).name}:{last.lineno}"
        raise AttackError(f"attack {attack.name} raised {in_one_line(error)} ({place})") from error


def applies(attack: Attack, target: Target) -> bool:
    """Whether an attack applies to a target.

    Raises:
        AttackError: the attack raised an exception.
    """
    with _naming(attack):
        return attack.applies_to(target)


class Bench:
    """A target, attacks and a seed: all that scenarios and counts derive from.

    Args:
        target: the implementation; only this class runs its release.
        attacks: the attacks, known by their places from here on.
        seed: the source of all randomness.
    """

    def __init__(self, target: Target, attacks: Sequence[Attack], seed: int) -> None:
        np.empty(KEPT_BYTES, dtype=np.uint8)  # freed at once, for the reason given there
        self.target, self.attacks, self.seed = target, tuple(attacks), seed
        self._scenarios: dict[int, tuple[Scenario, ...]] = {}
        self._digests: dict[int, tuple[str, ...]] = {}

    def outlines(self, attack: int) -> tuple[Outline, ...]:
        """Find the scenarios of an attack on pairs that the claim covers.

        Raises:
            TargetError: the target failed while it was probed.
            AttackError: the attack failed.
        """
        probe = prober(self.target, self.seed, self.attacks[attack].name)
        with _naming(self.attacks[attack]):
            found = self.attacks[attack].scenarios(self.target, probe)
            scenarios = tuple(scenario for scenario in found if self.target.covers(scenario.pair))
            outlines = tuple(map(Outline.of, scenarios))
        self._scenarios[attack] = scenarios
        self._digests[attack] = tuple(outline.digest() for outline in outlines)
        return outlines

    def counts(self, sample: Sample, batch: Batch) -> tuple[Counts, ...]:
        """Draw one batch and count each event of the sample in it.

        Raises:
            TargetError: the target failed, or its scenarios differ from those for which the sample was planned.
            AttackError: an event did not give one decision a trial.
        """
        if sample.attack not in self._scenarios:
            self.outlines(sample.attack)
        if self._digests[sample.attack][sample.scenario : sample.scenario + 1] != (sample.outline,):
            raise TargetError(
                f"{self.target.name} gave different outputs when it was probed again with the same seed, so "
                f"{self.attacks[sample.attack].name} chose another pair; draw all randomness from the given generator, "
                "or audit it in one process and without a checkpoint"
            )
        scenario = self._scenarios[sample.attack][sample.scenario]
        events = [scenario.events[place] for place in sample.events]
        with _naming(self.attacks[sample.attack]):
            drawn = self._outputs(scenario, sample, batch)
            name = self.attacks[sample.attack].name
            inside = [[_inside(name, event, outputs) for event in events] for outputs in drawn]
        return tuple(Counts.of(*sides) for sides in zip(*inside, strict=True))

    def _outputs(self, scenario: Scenario, sample: Sample, batch: Batch) -> Iterator[Outputs]:
        """Outputs for the first and for the second input, one row a trial."""
        for side, input_ in enumerate((scenario.pair.first, scenario.pair.second)):
            outputs = self.target.outputs(
                input_,
                batch.rows * scenario.answers,
                _rng(self.seed, self.attacks[sample.attack].name, sample.scenario, sample.role, side, batch.number),
                sees_failures=scenario.sees_failures,
            )
            rows = (batch.rows, scenario.answers, *outputs.shape[1:])
            yield outputs.reshape(rows) if scenario.answers > 1 else outputs


def prober(target: Target, seed: int, name: str) -> Probe:
    """What draws outputs to look at, apart from all that any event is judged on.

    Args:
        target: the implementation.
        seed: what all randomness is derived from.
        name: of the attack, or whatever else looks; probes of other names are independent.
    """
    numbers = itertools.count(1)

    def probe(input_: object, trials: int) -> Outputs:
        return target.outputs(input_, trials, _rng(seed, name, next(numbers), Role.PROBE, 0, 0))

    return probe


def _rng(seed: int, name: str, number: int, role: Role, side: int, batch: int) -> np.random.Generator:
    # By the attack's name, so that a finding does not depend on which other attacks run.
    key = (zlib.crc32(name.encode()), number, int(role), side, batch)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _inside(attack: str, event: Event, outputs: Outputs) -> NDArray[np.bool_]:
    inside: Any = event.contains(outputs)
    if isinstance(inside, np.ndarray) and inside.shape == (len(outputs),) and inside.dtype == np.bool_:
        return inside
    gave = f"{inside.dtype}{inside.shape}" if isinstance(inside, np.ndarray) else described(inside)
    raise AttackError(f"attack {attack}: event {event.description!r} gave {gave}, not one bool a trial")
