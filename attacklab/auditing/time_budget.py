"""How many trials a time leaves room for: real targets give from two to five million outputs a second.

Every scenario is rehearsed before it is judged: a few trials are timed and thrown away. That says how many trials of an
attack its share of the seconds leaves time for, in steps (1, 2, 5, 10, 20, …), so that small differences in speed
change nothing. Given those numbers, findings depend on the seed alone.

Finding scenarios takes outputs as well. It may take half of what is left of the seconds; an attack that needs more is
inconclusive, and says so.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attacklab.auditing.attacks.base import Attack, Learning
from attacklab.auditing.judge import PlannedScenario, is_testable
from attacklab.auditing.statistics.choosing import choosing_trials
from attacklab.model.claims import Claim
from attacklab.model.errors import LabFault, OutOfTime, Refused, TargetError
from attacklab.model.targets import Release
from attacklab.processes.batches import FIRST_LOOK, Role, Sample

MEASURED = 1_000
"""The most trials that a scenario is rehearsed with."""

STEPS: tuple[int, ...] = (*(factor * 10**power for power in range(6) for factor in (1, 2, 5)), 1_000_000)
"""The numbers of trials that there may be time for."""

REHEARSING_SHARE = 50
"""A scenario is rehearsed until that takes its share of the seconds, divided by this."""

SLOW_SHARE = 10
"""An attack has only one scenario rehearsed if that takes more than its share of the seconds, divided by this."""

MISJUDGED = 10
"""A trial is taken to cost no less than this part of the mean that was measured, whatever seems to be a call's cost."""


class Meter:
    """A release whose time is taken; while scenarios are looked for, it draws nothing for which there is no time.

    Args:
        release: the release.
        seconds: how long it may draw.
    """

    def __init__(self, release: Release, seconds: float) -> None:
        self._release, self._seconds = release, seconds
        self._spent, self._fastest, self._rate_is_unknown = 0.0, math.inf, True
        self._kept: float | None = None
        self._is_doubted = True
        """Whether the rate is measured again before it first leaves no time: both outputs it is from may be held up."""

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Any:
        """The release's outputs.

        Raises:
            OutOfTime: there is no time for so many, while scenarios are looked for.
        """
        if self._kept is not None:
            self._require_time(self._kept, input_, trials, rng)
        return self._timed(input_, trials, rng)

    def _require_time(self, kept: float, input_: Any, trials: int, rng: np.random.Generator) -> None:
        if trials > 1 and self._rate_is_unknown:
            self._rehearse(input_, trials, rng)
        if not self._affords(trials, kept) and self._is_doubted and self._fastest < self.left:
            self._is_doubted = False
            self._timed(copy.deepcopy(input_), 1, copy.deepcopy(rng))
        if not self._affords(trials, kept):
            raise OutOfTime(
                f"there is no time left to look for what it tries: the target takes {self._fastest:.2g} s for an "
                "output; allow more seconds"
            )

    def _affords(self, trials: int, kept: float) -> bool:
        needed = trials * self._fastest if math.isfinite(self._fastest) else 0.0
        return self.left > 0 and self.left - needed >= kept

    def _rehearse(self, input_: Any, trials: int, rng: np.random.Generator) -> None:
        """Find the rate from ever longer calls, so that what a call costs is not taken for what an output costs."""
        self._timed(copy.deepcopy(input_), 1, copy.deepcopy(rng))  # what the first call costs is not seen again
        self._rate_is_unknown, size, before = False, 1, self._spent
        while size < trials and self._spent - before < self._seconds / REHEARSING_SHARE:
            self._timed(copy.deepcopy(input_), size, copy.deepcopy(rng))
            size *= 4

    def _timed(self, input_: Any, trials: int, rng: np.random.Generator) -> Any:
        started = time.perf_counter()
        try:
            return self._release(input_, trials, rng)
        finally:
            elapsed = time.perf_counter() - started
            self._spent += elapsed
            self._fastest = min(self._fastest, elapsed / trials)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._seconds - self._spent)

    @contextlib.contextmanager
    def charging(self) -> Iterator[None]:
        """While outputs are drawn and judged, maybe in other processes: all of the time counts."""
        started, before = time.perf_counter(), self._spent
        try:
            yield
        finally:
            self._spent = max(self._spent, before + time.perf_counter() - started)

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """While scenarios are looked for: half of the seconds that are left now are kept."""
        self._kept = self.left / 2
        try:
            yield
        finally:
            self._kept = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What judging a scenario costs, in seconds: each trial, and besides each batch of them."""

    trial: float
    batch: float
    answers: int

    def of(self, trials: int) -> float:
        """The seconds that so many trials take."""
        sample = Sample(0, 0, "", Role.JUDGE, (0,), self.answers, trials, spend_all=False)
        return trials * self.trial + self.batch * sum(1 for _ in sample.batches())


def rehearsed(planned: Sequence[PlannedScenario], seconds: float, alpha: float, meter: Meter) -> list[Cost]:
    """What the scenarios of an attack cost, as far as that could be measured; those that no sample could decide do not.

    Args:
        planned: the scenarios.
        seconds: how long the attack may take.
        alpha: at which it is judged.
        meter: is told of the time that this takes.
    """
    costs: list[Cost] = []
    testable = [scenario for scenario in planned if scenario.claim and is_testable(scenario.claim, STEPS[-1], alpha)]
    with contextlib.suppress(TargetError, LabFault):  # judging reports it
        for place, scenario in enumerate(testable, start=1):
            started = time.perf_counter()
            enough = seconds / (REHEARSING_SHARE * len(testable))
            with meter.charging():
                try:
                    costs.append(_timed(scenario, enough))
                except Refused:  # as it will be judged then
                    costs.append(_timed(scenario, enough, one_by_one=True))
            if time.perf_counter() - started > seconds / SLOW_SHARE:
                return costs + [replace(costs[-1], answers=later.outline.answers) for later in testable[place:]]
    return costs


def _timed(planned: PlannedScenario, enough: float, *, one_by_one: bool = False) -> Cost:
    """The cost of one scenario, from ever longer samples until one took `enough` seconds."""

    def seconds(trials: int) -> float:
        sample = planned.sample(Role.CHOOSE, (0,), trials, spend_all=True, one_by_one=one_by_one)
        started = time.perf_counter()
        for _ in planned.judge.runner.counts(sample, sample.batches()):
            pass
        return time.perf_counter() - started

    # A first call takes longer, and any may be held up.
    shortest = elapsed = min(seconds(1) for _ in range(2))
    trials = 1
    while trials == 1 or (elapsed < enough and trials < MEASURED):
        trials *= 2
        elapsed = seconds(trials)
        if elapsed > 2 * trials * shortest:
            elapsed = min(elapsed, seconds(trials))
    if elapsed < 2 * shortest and trials < FIRST_LOOK:  # most of it does not depend on the number of trials
        trials = FIRST_LOOK
        elapsed = seconds(trials)
    trial = max((elapsed - shortest) / (trials - 1), elapsed / trials / MISJUDGED)
    return Cost(trial, max(0.0, elapsed - trial * trials), planned.outline.answers)


def affordable(costs: Sequence[Cost], attack: Attack, claim: Claim, seconds: float) -> int:
    """How many trials there is time for, one of `STEPS`: to find scenarios that are learned, to choose and to judge.

    Args:
        costs: of the scenarios, at least one.
        attack: the attack.
        claim: what is claimed of one output.
        seconds: how long it may take.
    """
    output = sum(cost.trial / (2 * cost.answers) for cost in costs) / len(costs)

    def needed(trials: int) -> float:
        learning = output * attack.within(trials).looks if isinstance(attack, Learning) else 0.0
        judging = (cost.of(choosing_trials(claim.composed(cost.answers), trials)) + cost.of(trials) for cost in costs)
        return learning + sum(judging)

    return max(step for step in STEPS if step == STEPS[0] or needed(step) <= seconds)
