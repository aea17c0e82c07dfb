"""DP-Sniper: the event that a logistic regression's posterior exceeds a threshold, with a probability of at least c.

Outputs at the threshold itself belong to the event with a probability q, so that the event's probability under the
input that shows it less is c exactly. Some of the learning outputs fit the regression, the others choose t, q and
which input shows the event more. The bound is that of two Clopper–Pearson bounds, each at half of α.

The authors fit by stochastic gradient descent; here the likelihood is maximised. They search for the pair, too.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', sections 4 and 5 (algorithm 1, with c = 0.01; the bound of lemma 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.floats import Doubles
from bench.common.peer_methods.logistic import FITTED_ON, Logistic, fitted
from bench.common.peer_methods.outputs import Drawn

LEAST = 0.01
"""c: the event's probability under the input that shows it less."""


@dataclass(frozen=True, slots=True)
class Attack:
    """The event: a score above a threshold, or at it with a probability.

    Attributes:
        sign: 1 if outputs of the first input have larger scores, −1 if the second input's count as that.
        threshold: t, of scores.
        at_threshold: q.
    """

    sign: float
    threshold: float
    at_threshold: float

    def hits(self, scores: Doubles, rng: np.random.Generator) -> int:
        """How many outputs of these scores are in the event."""
        signed = self.sign * scores
        tied = int(np.count_nonzero(signed == self.threshold))
        return int(np.count_nonzero(signed > self.threshold)) + int(rng.binomial(tied, self.at_threshold))


def attack_on(less: Doubles, sign: float) -> Attack:
    """The event of probability c among the scores of the input that shows it less."""
    ordered = np.sort(sign * less)[::-1]
    wanted = LEAST * len(ordered)
    threshold = float(ordered[min(len(ordered) - 1, math.ceil(wanted) - 1)])
    above, tied = np.count_nonzero(ordered > threshold), np.count_nonzero(ordered == threshold)
    return Attack(sign, threshold, min(1.0, float((wanted - above) / tied)))


def dp_sniper(drawn: Drawn, alpha: float, rng: np.random.Generator) -> float:
    """A lower bound on ε.

    Args:
        drawn: the outputs.
        alpha: the probability that the bound is too large.
        rng: decides on outputs at the threshold.
    """
    used = min(FITTED_ON, len(drawn.learning[0]) // 2)
    model = fitted(*(side[:used] for side in drawn.learning))
    chosen = max(
        (_seen(model, drawn, used, sign, alpha, rng) for sign in (1.0, -1.0)), key=lambda of_direction: of_direction[0]
    )[1]
    counts = [chosen.hits(model(side), rng) for side in drawn.judging]
    return _bound(counts, chosen.sign, len(drawn.judging[0]), alpha)


def _seen(
    model: Logistic, drawn: Drawn, used: int, sign: float, alpha: float, rng: np.random.Generator
) -> tuple[float, Attack]:
    """What the other learning outputs show of the best event in a direction."""
    scores = [model(side[used:]) for side in drawn.learning]
    attack = attack_on(scores[1 if sign > 0 else 0], sign)
    return _bound([attack.hits(side, rng) for side in scores], sign, len(scores[0]), alpha), attack


def _bound(counts: list[int], sign: float, trials: int, alpha: float) -> float:
    more, less = counts if sign > 0 else counts[::-1]
    lower, _ = clopper_pearson(more, trials, alpha)
    _, upper = clopper_pearson(less, trials, alpha)
    return max(0.0, math.log(lower / upper)) if lower > 0 else 0.0
