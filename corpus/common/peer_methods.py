"""A black-box method by others, written anew in small form, so that it can be given the same outputs as ours.

It takes outputs, α and a generator, and gives a lower bound on ε that is too large with probability at most α.

*DP-Sniper* (Bichsel, Steffen, Bogunovic and Vechev 2021, sections 4 and 5, algorithm 1, c = 0.01, lemma 1): the event
that a logistic regression's posterior exceeds a threshold, which outputs at the threshold join with a probability q, so
that it has probability c under the input that shows it less. The authors fit by stochastic gradient descent; here the
likelihood is maximised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs
from corpus.common.peer_mechanisms import NOT_ABOVE, NOTHING, STOPPED

Release = Callable[[Doubles, int, np.random.Generator], Outputs]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Outputs of both inputs of a pair: to find an event from, and to be looked at once by what was found."""

    learning: tuple[Outputs, Outputs]
    judging: tuple[Outputs, Outputs]


class Recorder:
    """A release that remembers its outputs by input."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._outputs: dict[bytes, list[Outputs]] = {}  # what was drawn from last stands last

    def __call__(self, answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
        """As the release itself."""
        outputs = self._release(answers, trials, rng)
        key = np.asarray(answers, dtype=np.float64).tobytes()
        self._outputs[key] = [*self._outputs.pop(key, []), outputs]
        return outputs

    def drawn(self, judging: int) -> Drawn:
        """The outputs of the pair that was drawn from last: so many judged, and all before them were learned from."""
        sides = [np.concatenate(outputs) for outputs in list(self._outputs.values())[-2:]]
        first, second = (side[-min(map(len, sides)) :] for side in sides)
        return Drawn((first[:-judging], second[:-judging]), (first[-judging:], second[-judging:]))


SYMBOLS = (NOT_ABOVE, STOPPED, NOTHING)
"""Numbers that stand for a symbol in vectors: they become flags, and 0 takes their place among the numbers."""

STEPS, SMALLEST_STEP = 100, 1e-5
LEARNED_ON = 1 << 18
"""At most so many outputs of either input fit the regression, half of those to learn from."""

RIDGE = 1.0
"""The weight of the penalty: as much as one more output."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A fitted regression over standardised numbers and flags."""

    flagged: tuple[tuple[int, float], ...]
    centre: Doubles
    scale: Doubles
    weights: Doubles

    def __call__(self, outputs: Outputs) -> Doubles:
        """The logit of the posterior probability that each output is the first input's."""
        encoded = (_encoded(outputs, self.flagged) - self.centre) / self.scale
        return np.asarray(encoded @ self.weights[1:] + self.weights[0])


def fitted(first: Outputs, second: Outputs) -> Logistic:
    """The regression of largest penalised likelihood.

    By Newton's steps with a bound in place of the curvature, the same at every step (Böhning and Lindsay 1988).
    """
    outputs = np.concatenate([first, second])
    rows = outputs.reshape(len(outputs), -1)
    flagged = [(place, symbol) for place in range(rows.shape[1]) for symbol in SYMBOLS if rows.shape[1] > 1]
    flagged = [flag for flag in flagged if (rows[:, flag[0]] == flag[1]).any()]
    encoded = _encoded(outputs, tuple(flagged))
    centre, scale = encoded.mean(axis=0), encoded.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    columns = np.column_stack([np.ones(len(encoded)), (encoded - centre) / scale])
    labels = np.repeat([1.0, 0.0], [len(first), len(second)])
    weights = np.zeros(columns.shape[1])
    bound = scipy.linalg.cho_factor(columns.T @ columns / 4 + RIDGE * np.eye(len(weights)))
    for _ in range(STEPS):
        gradient = columns.T @ (labels - scipy.special.expit(columns @ weights)) - RIDGE * weights
        step = scipy.linalg.cho_solve(bound, gradient)
        weights = weights + step
        if np.abs(step).max() < SMALLEST_STEP:
            break
    return Logistic(tuple(flagged), centre, scale, weights)


def _encoded(outputs: Outputs, flagged: tuple[tuple[int, float], ...]) -> Doubles:
    rows = outputs.reshape(len(outputs), -1).astype(np.float64)
    flags = np.array([rows[:, place] == symbol for place, symbol in flagged]).reshape(len(flagged), len(rows)).T
    for column, (place, _) in enumerate(flagged):
        rows[flags[:, column], place] = 0.0
    return np.hstack([rows, flags])


LEAST = 0.01
"""c: the event's probability under the input that shows it less."""


@dataclass(frozen=True, slots=True)
class Attack:
    """The event: a score times a sign above a threshold, or at it with a probability."""

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
    """A lower bound on ε by DP-Sniper's event."""
    used = min(LEARNED_ON, len(drawn.learning[0]) // 2)
    model = fitted(*(side[:used] for side in drawn.learning))
    scores = [model(side[used:]) for side in drawn.learning]
    attacks = [attack_on(scores[1 if sign > 0 else 0], sign) for sign in (1.0, -1.0)]
    shown = [_bound([it.hits(side, rng) for side in scores], it.sign, len(scores[0]), alpha) for it in attacks]
    chosen = attacks[shown.index(max(shown))]
    counts = [chosen.hits(model(side), rng) for side in drawn.judging]
    return _bound(counts, chosen.sign, len(drawn.judging[0]), alpha)


def _bound(counts: list[int], sign: float, trials: int, alpha: float) -> float:
    (lower, _), (_, upper) = (clopper_pearson(hits, trials, alpha) for hits in (counts if sign > 0 else counts[::-1]))
    return max(0.0, math.log(lower / upper)) if lower > 0 else 0.0


METHODS = {"DP-Sniper": dp_sniper}
