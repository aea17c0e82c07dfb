"""How many trials a time leaves room for: real targets give from two to five million outputs a second.

Every scenario is rehearsed before it is judged: a few trials are timed and thrown away. That says how many trials of an
attack its share of the seconds leaves time for, in steps (1, 2, 5, 10, 20, …), so that small differences in speed
change nothing. Given those numbers, findings depend on the seed alone.

Finding scenarios takes outputs as well. It may take half of what is left of the seconds; an attack that needs more is
inconclusive, and says so.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attacklab.attacks.base import Attack, Learning
from attacklab.auditing.judge import PlannedScenario, is_testable
from attacklab.auditing.meter import REHEARSING_SHARE, Meter
from attacklab.auditing.samples import FIRST_LOOK, Role, counted
from attacklab.auditing.statistics.choosing import choosing_trials
from attacklab.model.claims import Claim
from attacklab.model.errors import LabFault, Refused, TargetError

MEASURED = 1_000
"""The most trials that a scenario is rehearsed with."""

STEPS: tuple[int, ...] = tuple(factor * 10**power for power in range(7) for factor in (1, 2, 5))
"""The numbers of trials that there may be time for."""

SLOW_SHARE = 10
"""An attack has only one scenario rehearsed if that takes more than its share of the seconds, divided by this."""

MISJUDGED = 10
"""A trial is taken to cost no less than this part of the mean that was measured, whatever seems to be a call's cost."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What judging a scenario costs, in seconds: each trial, and besides each batch of them."""

    trial: float
    batch: float
    planned: PlannedScenario

    def of(self, trials: int) -> float:
        """The seconds that so many trials take."""
        sample = self.planned.sample(Role.JUDGE, (), trials, spend_all=False)
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
                return costs + [replace(costs[-1], planned=later) for later in testable[place:]]
    return costs


def _timed(planned: PlannedScenario, enough: float, *, one_by_one: bool = False) -> Cost:
    """The cost of one scenario, from ever longer samples until one took `enough` seconds."""

    def seconds(trials: int) -> float:
        sample = planned.sample(Role.CHOOSE, planned.events[:1], trials, spend_all=True, one_by_one=one_by_one)
        started = time.perf_counter()
        for _ in counted(sample, planned.judge.draws, planned.judge.seed):
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
    return Cost(trial, max(0.0, elapsed - trial * trials), planned)


def affordable(
    costs: Sequence[Cost], attack: Attack, claim: Claim, seconds: float, meter: Meter, planned: Attack
) -> int:
    """How many trials there is time for, one of `STEPS`: to find scenarios that are learned, to choose and to judge.

    Args:
        costs: of the scenarios that could be rehearsed.
        attack: the attack; of one that learns its scenarios, few outputs may have shown none.
        claim: what is claimed of one output.
        seconds: how long it may take.
        meter: knows how long an output takes.
        planned: the attack of the size in which it has looked for the scenarios.
    """
    if not (costs or isinstance(attack, Learning)):
        return STEPS[0]
    output = sum(cost.trial / (2 * cost.planned.answers) for cost in costs) / len(costs) if costs else meter.output

    def needed(trials: int) -> float:
        learning = 0.0
        if isinstance(attack, Learning) and (larger := attack.within(trials)) != planned:
            learning = output * larger.looks
        choosing = (choosing_trials(claim.composed(cost.planned.answers), trials) for cost in costs)
        return learning + sum(cost.of(most) + cost.of(trials) for cost, most in zip(costs, choosing, strict=True))

    return max(step for step in STEPS if step == STEPS[0] or needed(step) <= seconds)
