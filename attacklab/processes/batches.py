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
import sys
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import FEW, Attack, Event, Scenario
from attacklab.attacks.failures import FAILS, answered, is_failure
from attacklab.attacks.features import hashes
from attacklab.auditing.meter import Meter
from attacklab.model.errors import AttackError, LabFault, OutsideDomain, TargetError
from attacklab.model.findings import SO_DID_EVERY_CALL, Counts, Severity, described_pair
from attacklab.model.random_bits import words_between
from attacklab.model.releases import misfit
from attacklab.model.targets import Failure, Kind, Outputs, Target, are_numbers, described, in_one_line

BATCH_OUTPUTS = 1 << 16
"""Outputs drawn at a time: large enough to hide the cost of a call, small enough that memory stays constant."""

KEPT_BYTES = 1 << 24
"""The C library of Linux returns freed blocks to the system, and new pages cost more than the outputs in them: a fast
release takes four times as long. It keeps blocks up to the size of the largest one that was ever freed."""

BATCH_BYTES = KEPT_BYTES
"""About the most bytes of outputs of one input in a batch, so that memory stays constant for large outputs too."""

NUMBER_BYTES = 8

DEEPEST_SIZED = 4
"""How many levels of nesting are counted in an output's size."""

REFUSES = Event(FAILS.description, FAILS.contains, flaw=FAILS.flaw)
"""The bet on failure that every scenario has besides its own, told apart from them by identity."""

REDRAWN = 64
"""How many outputs are drawn twice to see whether a seed replays a target."""

FIRST_LOOK = 64
GROWTH, CHOOSING_GROWTH = 1.5, 2.0
"""The evidence is looked at after `FIRST_LOOK` trials, and then each time their number has grown by this factor; while
choosing, when many events are looked at, by the second one."""

FIRST_BATCH = 1 << 12
"""A batch holds no more trials than this, or than were drawn before it, unless all trials are to be spent: so a target
that is slow is known to be so before it is asked for many outputs at once."""


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
        lines: the same as expressions of an output; empty where they take more than a line.
        flaws: the flaw that each shows; empty for the one that its attack looks for.
        answers: how many answers the adversary collects in one trial.
        severity: what it means if the claim does not hold on the pair.
        trials: the most that judge it; None for as many as the audit has.
        output_bytes: about how large an output is, by what the attack has probed.
    """

    pair: dict[str, Any]
    events: tuple[str, ...]
    lines: tuple[str, ...]
    flaws: tuple[str, ...]
    answers: int
    severity: Severity = Severity.CLAIM
    trials: int | None = None
    output_bytes: int = NUMBER_BYTES

    @classmethod
    def of(cls, scenario: Scenario, target: Target, output_bytes: int) -> Outline:
        """The outline of a scenario on a target."""
        events = ((event.description, event.line, event.flaw) for event in scenario.events)
        descriptions, lines, flaws = zip(*events, strict=True)
        severity = Severity.ROBUSTNESS if target.exceeds_sensitivity(scenario.pair) else Severity.CLAIM
        pair = described_pair(scenario.pair)
        return cls(
            pair,
            descriptions,
            lines,
            flaws,
            scenario.answers,
            severity,
            scenario.trials,
            output_bytes,
        )

    def digest(self) -> str:
        """A text that tells this scenario from any other; the size of outputs may vary from call to call."""
        known = asdict(replace(self, output_bytes=NUMBER_BYTES))
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]


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
        events: the places of the events to count; the place after the last is the event that the target fails.
        answers: outputs of each input in one trial.
        trials: the most to draw.
        spend_all: whether the evidence is looked at after the last trial only.
        output_bytes: about how large an output is; there are fewer in a batch if they are large.
        first_look: before so many trials the evidence is not looked at.
        one_by_one: whether each output is drawn by a call of its own, in which the target may fail.
    """

    attack: int
    scenario: int
    outline: str
    role: Role
    events: tuple[int, ...]
    answers: int
    trials: int
    spend_all: bool
    output_bytes: int = NUMBER_BYTES
    first_look: int = FIRST_LOOK
    one_by_one: bool = False

    def batches(self) -> Iterator[Batch]:
        """All of it, in order."""
        step = max(1, min(BATCH_OUTPUTS, BATCH_BYTES // self.output_bytes) // self.answers)
        done = number = 0
        for look in self._looks():
            while done < look:
                rows = min(step, look - done, look if self.spend_all else max(FIRST_BATCH, done))
                done += rows
                yield Batch(number, rows, done, done == look)
                number += 1

    def _looks(self) -> Iterator[int]:
        """After how many trials the evidence is looked at: always after some of the same numbers, and after all."""
        growth = CHOOSING_GROWTH if self.role is Role.CHOOSE else GROWTH
        look = self.trials if self.spend_all else FIRST_LOOK
        while look < self.trials:
            if look >= self.first_look:
                yield look
            look = math.ceil(look * growth)
        yield self.trials


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What was drawn of one input in a batch."""

    answered: Outputs  # of the trials in which no call raised, one row a trial
    raised: NDArray[np.bool_]
    failed: NDArray[np.bool_]  # the trials in which a call raised, or gave NaN
    refused: str | None = None  # what the first call said, where all raised


@contextlib.contextmanager
def _naming(attack: Attack) -> Iterator[None]:
    """Turn whatever an attack's own code raises into an error that names the attack and the line.

    What it computes with is somebody's outputs, so an infinity or a NaN on the way is no reason to warn.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (TargetError, LabFault):
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
        self._gives_numbers: bool | None = None

    def outlines(self, attack: int, meter: Meter | None = None) -> tuple[Outline, ...]:
        """Find the scenarios of an attack on pairs that the claim covers, up to where it finds no more in the domain.

        Args:
            attack: the attack's place.
            meter: draws the outputs that it looks at, if they have to keep to a time.

        Raises:
            TargetError: the target failed while it was probed.
            AttackError: the attack failed.
            OutOfTime: the meter leaves no time for what it would look at.
        """
        name = self.attacks[attack].name
        probe = Prober(self.target, self.seed, name, meter)
        with _naming(self.attacks[attack]):
            offered = self._scenarios_of(self.attacks[attack], probe)
            cast = (replace(scenario, pair=self.target.cast_pair(scenario.pair)) for scenario in offered)
            scenarios = tuple(scenario for scenario in cast if self.target.covers(scenario.pair))
            size = max(NUMBER_BYTES, probe.output_bytes or self._output_bytes(probe, scenarios))
            outlines = tuple(Outline.of(scenario, self.target, size) for scenario in scenarios)
        self._scenarios[attack] = scenarios
        self._digests[attack] = tuple(outline.digest() for outline in outlines)
        return outlines

    def scenarios(self, attack: int) -> tuple[Scenario, ...]:
        """The scenarios that `outlines` found."""
        return self._scenarios[attack]

    def _output_bytes(self, looked: Prober, scenarios: Sequence[Scenario]) -> int:
        """About how large the outputs of scenarios are that were found without a look at any; 0 where none is given."""
        probe = looked.apart(f"{looked.name}, size")
        if self.target.kind is Kind.DATASET:
            for scenario in scenarios:
                for input_ in (scenario.pair.first, scenario.pair.second):
                    with contextlib.suppress(TargetError):
                        probe(input_, 1)
        return probe.output_bytes

    def _scenarios_of(self, attack: Attack, probe: Prober) -> list[Scenario]:
        """What an attack finds; nothing if it looks at numbers, and the target gives something else for an answer."""
        target = self.target
        if target.kind is Kind.DATASET or getattr(attack, "whole_outputs", False):
            return _until_outside(partial(attack.scenarios, target, probe))
        probe.needs_numbers = True
        try:
            scenarios = _until_outside(partial(attack.scenarios, target, probe))
            if scenarios:
                self._require_numbers(scenarios[0].pair.first, probe)
        except _NotNumbers:
            return []
        return scenarios

    def _require_numbers(self, input_: Any, looked: Prober) -> None:
        """Raise, unless the target gives numbers; it is asked once, for the first input that any attack picks."""
        if self._gives_numbers is None:
            probe = looked.apart("form")
            try:
                self._gives_numbers = are_numbers(answered(probe, input_, FEW))
            except TargetError:  # what it gives where it does not fail is seen elsewhere
                return
        if not self._gives_numbers:
            raise _NotNumbers

    def counts(self, sample: Sample, batch: Batch) -> tuple[Counts, ...]:
        """Draw one batch and count each event of the sample in it.

        Raises:
            Refused: a call for many outputs raised. How many of them failed is not known, and that it was this batch
                says something of them: the sample has to be drawn anew, one output a call.
            TargetError: the target failed, or its scenarios differ from those for which the sample was planned.
            AttackError: an event did not give one decision a trial.
        """
        if sample.attack not in self._scenarios:
            self.outlines(sample.attack)
        if self._digests[sample.attack][sample.scenario : sample.scenario + 1] != (sample.outline,):
            raise TargetError(
                f"{self.target.name} gave different outputs when it was probed again with the same seed, so "
                f"{self.attacks[sample.attack].name} chose another pair; draw all randomness from the given generator, "
                "or audit it in one process"
            )
        scenario = self._scenarios[sample.attack][sample.scenario]
        events = [(*scenario.events, REFUSES)[place] for place in sample.events]
        name = self.attacks[sample.attack].name
        inside, refused = [], []
        with _naming(self.attacks[sample.attack]):
            for side, input_ in enumerate((scenario.pair.first, scenario.pair.second)):
                drawn = self._drawn(scenario, sample, batch, side, input_)
                inside.append([_inside_of(name, event, drawn) for event in events])
                refused.append(drawn.refused)
        if batch.number == 0 and None not in refused:
            raise TargetError(f"{refused[0]}{SO_DID_EVERY_CALL}")
        return tuple(Counts.of(*sides) for sides in zip(*inside, strict=True))

    def replays(self, attack: int, scenario: int) -> bool:
        """Whether the target gives the same outputs again under the same seed.

        It is tried on the first input of a scenario; where the scenarios were found in another process, and where the
        target fails, nothing is known, and this is true.
        """
        scenarios = self._scenarios.get(attack, ())
        if len(scenarios) <= scenario:
            return True
        input_ = scenarios[scenario].pair.first
        key = (self.attacks[attack].name, scenario, Role.PROBE, 0, 0)
        try:
            first, second = (self.target.outputs(input_, REDRAWN, _rng(self.seed, *key)) for _ in range(2))
            return bool(np.array_equal(hashes(first), hashes(second)))
        except TargetError:
            return True

    def _drawn(self, scenario: Scenario, sample: Sample, batch: Batch, side: int, input_: Any) -> _Drawn:
        count = batch.rows * scenario.answers
        key = (self.attacks[sample.attack].name, sample.scenario, sample.role, side, batch.number)
        rng = _rng(self.seed, *key, one_by_one=sample.one_by_one)
        alone = sample.one_by_one or scenario.sees_failures
        outputs = self.target.outputs(input_, count, rng, sees_failures=alone)
        failed = _any_of_row(_failed(outputs), batch.rows)
        raised = np.zeros(batch.rows, dtype=bool)
        refused = None
        if sample.one_by_one and not scenario.sees_failures:
            failures = np.fromiter((isinstance(output, Failure) for output in outputs), dtype=bool, count=count)
            raised = _any_of_row(failures, batch.rows)
            if failures.all():
                parts = (f"{outputs[0].kind}: {' '.join(outputs[0].message.split())}", misfit(self.target.release))
                refused = f"{self.target.name} raised {'; '.join(filter(None, parts))}"
            outputs = _as_released(outputs[~np.repeat(raised, scenario.answers)])
        return _Drawn(_in_rows(outputs, int((~raised).sum()), scenario.answers), raised, failed, refused)


def size_of(value: Any, depth: int = 0) -> int:
    """About how many bytes a value takes, with what it holds."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return int(value.nbytes)
    size = sys.getsizeof(value)
    if depth > DEEPEST_SIZED or not isinstance(value, list | tuple | set | frozenset | dict | np.ndarray):
        return size
    parts = itertools.chain.from_iterable(value.items()) if isinstance(value, dict) else value
    return size + sum(size_of(part, depth + 1) for part in parts)


class _NotNumbers(Exception):
    """An attack on numbers met outputs that are not numbers."""


def _until_outside(scenarios: Callable[[], Iterable[Scenario]]) -> list[Scenario]:
    """The scenarios up to the first that the attack cannot make in the target's domain."""
    collected = []
    with contextlib.suppress(OutsideDomain):
        for scenario in scenarios():
            collected.append(scenario)  # noqa: PERF402 - what came before an error is kept
    return collected


class Prober:
    """Draws outputs to look at, apart from all that any event is judged on.

    Args:
        target: the implementation.
        seed: what all randomness is derived from.
        name: of the attack, or whatever else looks; probes of other names are independent.
        meter: draws them, if they have to keep to a time.

    Attributes:
        name: as given.
        words: how many random words of 64 bits the target has taken from the generators that it was given.
        output_bytes: about how large its largest outputs were.
        needs_numbers: whether outputs that are not numbers are of no use to whoever looks.
    """

    def __init__(self, target: Target, seed: int, name: str, meter: Meter | None = None) -> None:
        self._target, self._seed, self.name, self._meter = target, seed, name, meter
        self._calls = 0
        self.needs_numbers = False
        self.words = self.output_bytes = 0

    def __call__(self, input_: object, trials: int) -> Outputs:
        """So many outputs for an input.

        Raises:
            OutsideDomain: the domain does not hold the input.
            TargetError: the target failed.
            OutOfTime: the meter leaves no time for so many.
            _NotNumbers: numbers are needed, and the outputs are something else.
        """
        cast = self._target.cast(input_)
        if not self._target.takes(cast):
            raise OutsideDomain(f"{self._target.name} was to be probed outside its domain")
        self._calls += 1
        rng = _rng(self._seed, self.name, self._calls, Role.PROBE, 0, 0)
        start = dict(rng.bit_generator.state)
        draw = partial(self._meter.draw, self._target.outputs) if self._meter else self._target.outputs
        outputs = draw(cast, trials, rng)
        self.words += words_between(start, dict(rng.bit_generator.state))
        if trials:
            few = outputs[:FEW]
            self.output_bytes = max(self.output_bytes, size_of(few) // len(few))
        if self.needs_numbers and not are_numbers(outputs):
            raise _NotNumbers
        return outputs

    def apart(self, name: str) -> Prober:
        """One of another name, which keeps to the same time."""
        return Prober(self._target, self._seed, name, self._meter)


def _rng(
    seed: int, name: str, number: int, role: Role, side: int, batch: int, *, one_by_one: bool = False
) -> np.random.Generator:
    # By the attack's name, so that a finding does not depend on which other attacks run.
    key = (zlib.crc32(name.encode()), number, int(role), side, batch, *([1] if one_by_one else []))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _in_rows(outputs: Outputs, rows: int, answers: int) -> Outputs:
    return outputs.reshape((rows, answers, *outputs.shape[1:])) if answers > 1 else outputs


def _any_of_row(flags: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
    return np.asarray(flags.reshape(rows, -1).any(axis=1))


def _failed(outputs: Outputs) -> NDArray[np.bool_]:
    """Which outputs stand for a call that raised, or are NaN; a missing one may be an answer."""
    if outputs.dtype == object:
        return np.fromiter((output is not None and is_failure(output) for output in outputs), bool, len(outputs))
    return np.isnan(outputs) if outputs.ndim == 1 and outputs.dtype.kind == "f" else np.zeros(len(outputs), dtype=bool)


def _as_released(outputs: Outputs) -> Outputs:
    """Outputs that were drawn one at a time in the form in which the release returns many."""
    forms = {
        (output.dtype, output.shape) if isinstance(output, np.generic | np.ndarray) else None for output in outputs
    }
    if len(forms) == 1 and None not in forms:
        return np.stack(list(outputs))
    return outputs


def _inside_of(attack: str, event: Event, drawn: _Drawn) -> NDArray[np.bool_]:
    """Which trials lie in an event; of those in which a call raised, only the event that the target fails holds any."""
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
    raise AttackError(f"attack {attack}: event {event.description!r} gave {gave}, not one bool a trial")
