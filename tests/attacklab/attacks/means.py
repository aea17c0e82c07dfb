"""Means that the tests of attacks share, and a check of the pairs that attacks make for them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks import Attack
from attacklab.findings import Finding, Verdict
from attacklab.referee import audit
from attacklab.targets import Target
from mechanisms.core.grid import Grid
from mechanisms.local_sensitivity.exact import exact_sum_over_count
from mechanisms.local_sensitivity.naive import naive_sum_over_count
from tests.attacklab.attacks.making import exactly

BOUNDS = (0.0, 100.0)


def mean_target(release: Callable[..., Any], **parameters: Any) -> Target:
    return Target.mean(partial(release, epsilon=1.0, **parameters), bounds=BOUNDS, epsilon=1.0, name="mean")


SOUND_TERM = exact_sum_over_count(epsilon=1, lower=BOUNDS[0], upper=BOUNDS[1], grid=Grid(-14))
SOUND = Target.mean(exactly(SOUND_TERM.many), bounds=BOUNDS, epsilon=1.0, name="exact sum over count")


def judged(target: Target, attack: Attack, trials: int = 4_000) -> list[Finding]:
    return audit(target, [attack], trials=trials, seed=5, spend_all=True)


def verdicts(target: Target, attack: Attack, trials: int = 4_000) -> list[Verdict]:
    return [finding.verdict for finding in judged(target, attack, trials)]


def mirrored() -> Target:
    """The textbook's mean of records below 0: it clips from below only."""

    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return -np.asarray(naive_sum_over_count(-records, trials, rng, upper=BOUNDS[1], epsilon=1.0))

    return Target.mean(release, bounds=(-BOUNDS[1], -BOUNDS[0]), epsilon=1.0, name="mirrored")


def moves_by_one_record_at_most(attack: Attack) -> bool:
    """Whether the real sums of every pair, clipped, are no further apart than one record can move them."""
    for scenario in attack.scenarios(SOUND, lambda records, trials: np.full(trials, np.sum(records))):
        first, second = (
            sum(map(Fraction, np.clip(side, *BOUNDS).tolist())) for side in (scenario.pair.first, scenario.pair.second)
        )
        if abs(first - second) > BOUNDS[1]:
            return False
    return True
