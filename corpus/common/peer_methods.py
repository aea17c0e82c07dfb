"""A black-box method by others, written anew in small form, so that it can be given the same outputs as ours.

It takes outputs, α and a generator. It returns a lower bound on ε that is too large with probability at most α.

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
    """Outputs of both inputs of a pair: `learning` to find an event, and `judging` to count it in, once."""

    learning: tuple[Outputs, Outputs]
    judging: tuple[Outputs, Outputs]


class Recorder:
    """A release that remembers its outputs by input."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._outputs: dict[bytes, list[Outputs]] = {}  # what was drawn from last stands last

    def __call__(self, answers: Doubles, trials: int, rng: np.random.Generator) -> Outputs:
        """Return outputs of the release, and remember them."""
        outputs = self._release(answers, trials, rng)
        key = np.asarray(answers, dtype=np.float64).tobytes()
        self._outputs[key] = [*self._outputs.pop(key, []), outputs]
        return outputs

    def drawn(self, judging: int) -> Drawn:
        """Return the outputs of the last pair: the last `judging` of each input for judging, the rest for learning."""
        sides = [np.concatenate(outputs) for outputs in list(self._outputs.values())[-2:]]
        first, second = (side[-min(map(len, sides)) :] for side in sides)
        return Drawn((first[:-judging], second[:-judging]), (first[-judging:], second[-judging:]))


SYMBOLS = (NOT_ABOVE, STOPPED, NOTHING)
"""Numbers that stand for a symbol in vectors. Each becomes a flag, and 0 takes its place among the numbers."""

STEPS, SMALLEST_STEP = 100, 1e-5
LEARNED_ON = 1 << 18
"""The regression is fitted to at most this many outputs of each input, and at most half of the learning outputs."""

RIDGE = 1.0
"""The weight of the ridge penalty: as much as one more output."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A fitted logistic regression over standardised numbers and flags."""

    flagged: tuple[tuple[int, float], ...]
    centre: Doubles
    scale: Doubles
    weights: Doubles

    def __call__(self, outputs: Outputs) -> Doubles:
        """Return for each output the logit of the posterior probability that it came from the first input."""
        encoded = (_encoded(outputs, self.flagged) - self.centre) / self.scale
        return np.asarray(encoded @ self.weights[1:] + self.weights[0])


def fitted(first: Outputs, second: Outputs) -> Logistic:
    """Return the regression of largest penalised likelihood, for outputs of the first and of the second input.

    It takes Newton steps with a constant bound in place of the Hessian (Böhning and Lindsay 1988).
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
"""c, the event's probability under the input for which it is less likely."""


@dataclass(frozen=True, slots=True)
class Attack:
    """The event sign·score > `threshold`, or equality and a coin that shows heads with probability `at_threshold`."""

    sign: float
    threshold: float
    at_threshold: float

    def hits(self, scores: Doubles, rng: np.random.Generator) -> int:
        """Return how many outputs with these scores are in the event; coins are drawn from `rng`."""
        signed = self.sign * scores
        tied = int(np.count_nonzero(signed == self.threshold))
        return int(np.count_nonzero(signed > self.threshold)) + int(rng.binomial(tied, self.at_threshold))


def attack_on(less: Doubles, sign: float) -> Attack:
    """Return the event that has probability c among `less`, the scores of the input for which it is less likely."""
    ordered = np.sort(sign * less)[::-1]
    wanted = LEAST * len(ordered)
    threshold = float(ordered[min(len(ordered) - 1, math.ceil(wanted) - 1)])
    above, tied = np.count_nonzero(ordered > threshold), np.count_nonzero(ordered == threshold)
    return Attack(sign, threshold, min(1.0, float((wanted - above) / tied)))


def dp_sniper(drawn: Drawn, alpha: float, rng: np.random.Generator) -> float:
    """Return a lower bound on ε by DP-Sniper's event; it is wrong with probability at most α."""
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
