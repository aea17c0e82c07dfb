"""How many trials there is time for: real targets give from two to five million outputs a second.

Each attack is given the trials that its own pair and its own events leave time for. The number is rounded down to 1, 2
or 5 times a power of ten, so that small differences in speed change nothing; given that number, findings depend on the
seed alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacklab.attacks import ATTACKS
from attacklab.attacks.base import Attack, Scenario
from attacklab.execution import Say
from attacklab.findings import Finding
from attacklab.inference import share_of_alpha
from attacklab.referee import DEFAULT_ALPHA, audit
from attacklab.targets import Outputs, Target, TargetError

MEASURED_SECONDS = 0.1
"""How long a scenario is timed for, at the least."""

DEFAULT_SECONDS = 10.0
"""What the trials of one event may take where nothing else is asked for."""

FEWEST_TRIALS, MOST_TRIALS = 10, 1_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast an attack on a target goes.

    Attributes:
        trials_per_second: trials drawn, of both inputs, and judged a second, where it is slowest.
        trials: how many of either input there is time for.
    """

    trials_per_second: float
    trials: int


def paced_audit(
    target: Target,
    attacks: Sequence[Attack] = ATTACKS,
    *,
    seconds: float = DEFAULT_SECONDS,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
    say: Say = lambda _: None,
    **rest: Any,
) -> list[Finding]:
    """Run attacks against a target, with as many trials each as there is time for.

    Args:
        target: the implementation.
        attacks: which attacks.
        seconds: how long the trials of one event may take, about.
        alpha: the probability of any false alarm in the whole run, were the claim true; split evenly over the attacks
            that apply.
        seed: what all randomness is derived from.
        say: is told, in one line an attack, the measured rate and the trials.
        **rest: what else `audit` takes, `trials` and `checkpoint` excepted.

    Returns:
        One finding a scenario, in the order of the attacks.

    Raises:
        ValueError: `seconds`, `alpha` or `seed` is out of range.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"seconds must be finite and greater than 0, not {seconds}")
    share = share_of_alpha(alpha, max(1, sum(attack.applies_to(target) for attack in attacks)))
    findings: list[Finding] = []
    for attack in attacks:
        pace = pace_of(target, attack, seconds=seconds, seed=seed) if attack.applies_to(target) else None
        if pace:
            say(f"{target.name}, {attack.name}: {pace.trials_per_second:.2g} trials a second, so up to {pace.trials}")
        trials = pace.trials if pace else FEWEST_TRIALS
        findings += audit(target, [attack], trials=trials, alpha=share, seed=seed, say=say, **rest)
    return findings


def pace_of(target: Target, attack: Attack, *, seconds: float, seed: int = 0) -> Pace | None:
    """Measure how fast an attack on a target goes.

    Args:
        target: the implementation.
        attack: one that applies to it.
        seconds: how long the trials of one event may take, about.
        seed: what the randomness of the measured outputs is derived from; none of them is judged.

    Returns:
        The pace of the slowest scenario, or None where there is none, or where the target fails before it can be timed.
    """
    rng = np.random.default_rng(seed)

    def probe(input_: object, trials: int) -> Outputs:
        return target.outputs(input_, trials, rng)

    try:
        scenarios = [one for one in attack.scenarios(target, probe) if target.covers(one.pair)]
        slowest = max((_seconds_a_trial(target, scenario, rng) for scenario in scenarios), default=None)
    except TargetError:
        return None
    if slowest is None:
        return None
    return Pace(1 / slowest, rounded_down(min(max(seconds / slowest, FEWEST_TRIALS), MOST_TRIALS)))


def rounded_down(number: float) -> int:
    """The largest of 1, 2, 5, 10, 20, 50, … that is no larger than a number of at least 1."""
    power: int = 10 ** math.floor(math.log10(number))
    return power * max(factor for factor in (1, 2, 5) if factor * power <= number)


def _seconds_a_trial(target: Target, scenario: Scenario, rng: np.random.Generator) -> float:
    """How long both sides of a trial take, and to decide all the events for them."""
    trials = 1
    while True:
        started = time.perf_counter()
        _draw(target, scenario, trials, rng)
        spent = time.perf_counter() - started
        if spent >= MEASURED_SECONDS:
            return spent / trials
        trials *= 2


def _draw(target: Target, scenario: Scenario, trials: int, rng: np.random.Generator) -> None:
    for side in (scenario.pair.first, scenario.pair.second):
        outputs = target.outputs(side, trials * scenario.answers, rng, sees_failures=scenario.sees_failures)
        rows = outputs.reshape(trials, scenario.answers, *outputs.shape[1:]) if scenario.answers > 1 else outputs
        for event in scenario.events:
            event.contains(rows)
