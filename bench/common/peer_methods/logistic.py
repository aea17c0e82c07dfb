"""The logistic regression of the input over an output, as DP-Sniper's classifier is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs
from bench.common.peer_mechanisms import NOT_ABOVE, NOTHING, STOPPED

SYMBOLS = (NOT_ABOVE, STOPPED, NOTHING)
"""Numbers that stand for a symbol in vectors: they become flags, and 0 takes their place among the numbers."""

STEPS, SMALLEST_STEP = 100, 1e-5
FITTED_ON = 1 << 18
"""At most so many outputs of either input fit the regression, and at most half of those to learn from."""

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

    Args:
        first: outputs of the first input, one a row.
        second: the same of the second input.
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
