"""A gambler's wealth while auditing randomized response that claims ε = 1 and spends less, as much or more."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attacklab.auditing.statistics.betting import evidence
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts

CLAIM = PrivacyClaim(1.0)
SOUND = 0.9
LEAKING = (1.05, 1.1, 1.15, 1.2, 1.3, 1.5)
SEEDS = (1, 2, 3)
TRIALS = 10_000
LOOK = 100
"""The gambler's wealth is noted each time after this many trials."""

ALPHAS = (0.05, 0.001, 1e-6)


def collect() -> dict[str, Any]:
    """Return the counts and the logarithm of the wealth at every look, for each mechanism and run."""
    return {
        "epsilon": CLAIM.epsilon,
        "look": LOOK,
        "trials": TRIALS,
        # Half of α goes to the evidence, as `betting.judge` has it.
        "levels": [{"alpha": alpha, "enough": round(math.log10(2 / alpha), 6)} for alpha in ALPHAS],
        "sound": {"spent": SOUND, "runs": [_run(SOUND, seed) for seed in SEEDS]},
        "leaking": [{"spent": spent, "runs": [_run(spent, seed) for seed in SEEDS]} for spent in LEAKING],
    }


def counts(spent: float, seed: int) -> list[Counts]:
    """Return for each look how often the mechanism has answered yes, on the truth yes and on the truth no."""
    honest = np.random.default_rng([seed, round(100 * spent)]).random((2, TRIALS)) < 1 / (1 + math.exp(-spent))
    first, second = honest[0], ~honest[1]
    rows = zip(*(np.cumsum(hits)[LOOK - 1 :: LOOK] for hits in (first, second, first & second)), strict=True)
    return [
        Counts(first=int(of_first), second=int(of_second), both=int(both), trials=(number + 1) * LOOK)
        for number, (of_first, of_second, both) in enumerate(rows)
    ]


def _run(spent: float, seed: int) -> dict[str, list[Any]]:
    looks = counts(spent, seed)
    return {
        "first": [look.first for look in looks],
        "second": [look.second for look in looks],
        "wealth": [round(evidence(CLAIM, look) / math.log(10), 4) for look in looks],
    }
