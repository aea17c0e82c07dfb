"""Samples: trials of a scenario, drawn batch by batch, and how many of them lie in its events.

All randomness of a batch is derived from the seed, the attack's name, the scenario, the role of the sample, the side of
the pair and the batch's number, and how a sample is cut into batches depends on its size alone. So a batch has the same
counts in whichever process it is drawn.
"""

from __future__ import annotations

import contextlib
import enum
import math
import traceback
import zlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Scenario
from attacklab.attacks.failures import FAILS, is_failure
from attacklab.attacks.features import hashes
from attacklab.auditing.drawing import KEPT_BYTES, Draws, Request
from attacklab.model.errors import ArithmeticModeError, AttackError, LabFault, TargetError
from attacklab.model.findings import SO_DID_EVERY_CALL, Counts
from attacklab.model.releases import misfit
from attacklab.model.targets import Failure, Outputs, Target, described, in_one_line

BATCH_OUTPUTS = 1 << 16
"""Outputs drawn at a time: large enough to hide the cost of a call, small enough that memory stays constant."""

BATCH_BYTES = KEPT_BYTES
"""About the most bytes of outputs of one input in a batch, so that memory stays constant for large outputs too."""

NUMBER_BYTES = 8

REFUSES = Event(FAILS.description, FAILS.contains, flaw=FAILS.flaw)
"""The event that the target fails, which every scenario has besides its own events. It is compared by identity."""

REDRAWN = 64
"""How many outputs are drawn twice to see whether a seed replays a target."""

FIRST_LOOK = 64
GROWTH, CHOOSING_GROWTH = 1.5, 2.0
"""The evidence is looked at after `FIRST_LOOK` trials, and then each time their number has grown by the factor `GROWTH`
(by `CHOOSING_GROWTH` while an event is chosen, because then many events are looked at)."""

FIRST_BATCH = 1 << 12
"""A batch has at most max(`FIRST_BATCH`, number of trials before it) trials, unless all trials are to be spent. So a
slow target is noticed before it is asked for many outputs at once."""


class Role(enum.IntEnum):
    """What outputs are drawn for; samples of different roles share no randomness."""

    PROBE = 0
    CHOOSE = 1
    JUDGE = 2


@dataclass(frozen=True, slots=True)
class Batch:
    """A part of a sample."""

    number: int  # its place in the sample, from 0
    rows: int  # the number of trials in it
    done: int  # the number of trials in the sample up to the end of this batch
    looked_at: bool  # whether the evidence is looked at after it


@dataclass(frozen=True, slots=True)
class Sample:
    """Trials to draw for one role in one scenario."""

    attack: str
    scenario: Scenario
    number: int  # the scenario's place among those of the attack
    role: Role
    events: tuple[Event, ...]  # the events to count; `REFUSES` stands for a failure of the target
    trials: int  # the most trials to draw
    spend_all: bool  # whether the evidence is looked at after the last trial only
    output_bytes: int = NUMBER_BYTES  # about how large an output is; a batch holds fewer outputs if they are large
    first_look: int = FIRST_LOOK  # before this many trials the evidence is not looked at
    one_by_one: bool = False  # whether each output is drawn by a call of its own, in which the target may fail

    @property
    def alone(self) -> bool:
        """Whether the release is called once for each output."""
        return self.one_by_one or self.scenario.sees_failures

    def batches(self) -> Iterator[Batch]:
        """Yield the batches of the sample, in order."""
        step = max(1, min(BATCH_OUTPUTS, BATCH_BYTES // self.output_bytes) // self.scenario.answers)
        done = number = 0
        for look in self._looks():
            while done < look:
                rows = min(step, look - done, look if self.spend_all else max(FIRST_BATCH, done))
                done += rows
                yield Batch(number, rows, done, done == look)
                number += 1

    def _looks(self) -> Iterator[int]:
        """Yield the numbers of trials after which the evidence is looked at. They grow, and the last is `trials`."""
        growth = CHOOSING_GROWTH if self.role is Role.CHOOSE else GROWTH
        look = self.trials if self.spend_all else FIRST_LOOK
        while look < self.trials:
            if look >= self.first_look:
                yield look
            look = math.ceil(look * growth)
        yield self.trials


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The outputs for one input in a batch."""

    answered: Outputs  # the outputs of the trials in which no call raised, one row a trial
    raised: NDArray[np.bool_]  # for each trial, whether a call raised
    failed: NDArray[np.bool_]  # for each trial, whether a call raised or gave NaN
    refused: str | None = None  # the error of the first call, if every call raised


@contextlib.contextmanager
def naming(attack: str) -> Iterator[None]:
    """Turn whatever an attack's own code raises into an error that names the attack and the line.

    Numpy's warnings are off, because a target's outputs may be infinite or NaN.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (TargetError, LabFault, ArithmeticModeError):
        raise
    except Exception as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        place = f"{Path(last.filename).name}:{last.lineno}"
        raise AttackError(f"attack {attack} raised {in_one_line(error)} ({place})") from error


def counted(sample: Sample, draws: Draws, seed: int) -> Generator[tuple[Batch, tuple[Counts, ...]], None, None]:
    """Draw a sample batch by batch, and yield each batch with the counts of each event in it.

    Raises:
        Refused: a call for many outputs raised. How many of them failed is not known, and to leave the batch out would
            bias the counts. The sample has to be drawn anew, one output a call.
        TargetError: the target failed.
        AttackError: an event did not give one decision a trial.
    """
    inputs = (sample.scenario.pair.first, sample.scenario.pair.second)
    of_sample = partial(seed_of, seed, sample.attack, sample.number, sample.role, one_by_one=sample.one_by_one)
    drawn = draws.in_order(
        Request(input_, batch.rows * sample.scenario.answers, of_sample(side, batch.number), sample.alone)
        for batch in sample.batches()
        for side, input_ in enumerate(inputs)
    )
    with contextlib.closing(drawn):
        for batch in sample.batches():
            inside, refused = [], []
            for _ in inputs:
                outputs = next(drawn).outputs
                with naming(sample.attack):
                    side = _side(outputs, sample, batch.rows, draws.target)
                    inside.append([_inside_of(sample.attack, event, side) for event in sample.events])
                refused.append(side.refused)
            if batch.number == 0 and None not in refused:
                raise TargetError(f"{refused[0]}{SO_DID_EVERY_CALL}")
            yield batch, tuple(Counts.of(*sides) for sides in zip(*inside, strict=True))


def replays(sample: Sample, draws: Draws, seed: int) -> bool:
    """Whether the target gives the same outputs again under the same seed, on the first input. True if it raises."""
    redrawn = seed_of(seed, sample.attack, sample.number, Role.PROBE, 0, 0)
    request = Request(sample.scenario.pair.first, REDRAWN, redrawn)
    try:
        first, second = (draws(request).outputs for _ in range(2))
        return bool(np.array_equal(hashes(first), hashes(second)))
    except TargetError:
        return True


def _side(outputs: Outputs, sample: Sample, rows: int, target: Target) -> _Drawn:
    answers = sample.scenario.answers
    failed = _any_of_row(_failed(outputs), rows)
    raised = np.zeros(rows, dtype=bool)
    refused = None
    if sample.one_by_one and not sample.scenario.sees_failures:
        failures = np.fromiter((isinstance(output, Failure) for output in outputs), dtype=bool, count=len(outputs))
        raised = _any_of_row(failures, rows)
        if failures.all():
            parts = (f"{outputs[0].kind}: {' '.join(outputs[0].message.split())}", misfit(target.release))
            refused = f"{target.name} raised {'; '.join(filter(None, parts))}"
        outputs = _as_released(outputs[~np.repeat(raised, answers)])
    if answers > 1:
        outputs = outputs.reshape((int((~raised).sum()), answers, *outputs.shape[1:]))
    return _Drawn(outputs, raised, failed, refused)


def seed_of(
    seed: int, name: str, number: int, role: Role, side: int, batch: int, *, one_by_one: bool = False
) -> np.random.SeedSequence:
    """Derive the seed of a draw from the attack's name, so that a finding does not depend on the other attacks."""
    key = (zlib.crc32(name.encode()), number, int(role), side, batch, *([1] if one_by_one else []))
    return np.random.SeedSequence(seed, spawn_key=key)


def _any_of_row(flags: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
    return np.asarray(flags.reshape(rows, -1).any(axis=1))


def _failed(outputs: Outputs) -> NDArray[np.bool_]:
    """Return which outputs stand for a call that raised, or are NaN. None is an answer, not a failure."""
    if outputs.dtype == object:
        return np.fromiter((output is not None and is_failure(output) for output in outputs), bool, len(outputs))
    return np.isnan(outputs) if outputs.ndim == 1 and outputs.dtype.kind == "f" else np.zeros(len(outputs), dtype=bool)


def _as_released(outputs: Outputs) -> Outputs:
    """Stack outputs that were drawn one at a time into one array, if all are numpy values of one dtype and shape."""
    forms = {
        (output.dtype, output.shape) if isinstance(output, np.generic | np.ndarray) else None for output in outputs
    }
    if len(forms) == 1 and None not in forms:
        return np.stack(list(outputs))
    return outputs


def _inside_of(attack: str, event: Event, drawn: _Drawn) -> NDArray[np.bool_]:
    """Return for each trial whether it lies in an event. One in which a call raised lies only in a failure event."""
    if event is REFUSES:
        return drawn.failed
    inside = drawn.raised & (event == FAILS)
    if len(drawn.answered):
        inside[~drawn.raised] = _inside(attack, event, drawn.answered)
    return inside


def _inside(attack: str, event: Event, outputs: Outputs) -> NDArray[np.bool_]:
    inside: Any = event.contains(outputs)
    if isinstance(inside, np.ndarray) and inside.shape == (len(outputs),) and inside.dtype == np.bool_:
        return inside
    gave = f"{inside.dtype}{inside.shape}" if isinstance(inside, np.ndarray) else described(inside)
    raise AttackError(f"attack {attack}: event {event.description!r} gave {gave}, not one bool for each trial")
