"""A sequential test by betting on a kernel's witness function.

An (ε, 0)-private pair has a total variation of at most tanh(ε/2), so that its distance in the kernel's space (MMD) is
at most √2·tanh(ε/2) where the kernel lies in [0, 1]. A bettor stakes a share λ of its wealth on each pair of outputs:
the payoff is f(X) − f(Y) − √2·tanh(ε/2) for a witness f of norm 1. Under the claim wealth is not expected to grow, and
exceeds 1/α at any time with probability at most α (Ville). The bound is the largest ε at which it does.

In small form: the witness is fitted once on the learning outputs, in the span of some of them, where the authors'
moves with each output; wealth is the mean over stakes of a grid, where theirs follows online Newton steps.

Source: González, Dulce-Rubio, Ramdas and Ribero 2025, 'Sequentially Auditing Differential Privacy' (arXiv 2509.07055).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy

from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs
from bench.common.peer_methods.outputs import Drawn

LANDMARKS = 64
"""The witness is a combination of the kernel at so many learning outputs, half of either input."""

FITTED_ON = 1 << 16
"""At most so many learning outputs of either input fit the witness."""

RIDGE = 1e-3
STAKES = 0.3 * 8.0 ** -np.arange(4.0)
"""The largest leaves some wealth whatever happens: a payoff is at least −√2 − √2."""

STEPS = 12
BATCH = 1 << 14
LARGEST = 10.0


def kernel_betting(drawn: Drawn, alpha: float, _rng: np.random.Generator) -> float:
    """A lower bound on ε.

    Args:
        drawn: the outputs.
        alpha: the probability that the bound is too large.
    """
    landmarks = np.concatenate([_rows(side[: LANDMARKS // 2]) for side in drawn.learning])
    sample = np.concatenate([_rows(side[: 1 << 12]) for side in drawn.learning])
    scale = np.where(sample.std(axis=0) > 0, sample.std(axis=0), 1.0) * math.sqrt(sample.shape[1])
    gram = _kernel(landmarks / scale, landmarks / scale)
    learned = [
        np.mean([values.mean(axis=0) for values in _values(side[LANDMARKS:FITTED_ON], landmarks, scale)], axis=0)
        for side in drawn.learning
    ]
    weights = scipy.linalg.solve(gram + RIDGE * np.eye(len(gram)), learned[0] - learned[1], assume_a="pos")
    weights = weights / math.sqrt(weights @ gram @ weights)
    of_first, of_second = (
        np.concatenate([values @ weights for values in _values(side, landmarks, scale)]) for side in drawn.judging
    )
    return _bound(of_first - of_second, alpha)


def _bound(gains: Doubles, alpha: float) -> float:
    low, high = 0.0, LARGEST
    for _ in range(STEPS):
        middle = (low + high) / 2
        payoffs = gains - math.sqrt(2) * math.tanh(middle / 2)
        logs = np.array([np.cumsum(np.log1p(stake * payoffs)) for stake in STAKES])
        most = float(scipy.special.logsumexp(logs, axis=0).max()) - math.log(len(STAKES))
        low, high = (middle, high) if most >= math.log(1 / alpha) else (low, middle)
    return low


def _rows(outputs: Outputs) -> Doubles:
    return outputs.reshape(len(outputs), -1).astype(np.float64)


def _kernel(rows: Doubles, landmarks: Doubles) -> Doubles:
    """The Gaussian kernel of width 1, in [0, 1]."""
    squares = (rows**2).sum(axis=1)[:, np.newaxis] + (landmarks**2).sum(axis=1) - 2 * rows @ landmarks.T
    return np.asarray(np.exp(-np.maximum(squares, 0) / 2))


def _values(outputs: Outputs, landmarks: Doubles, scale: Doubles) -> Iterator[Doubles]:
    for start in range(0, len(outputs), BATCH):
        yield _kernel(_rows(outputs[start : start + BATCH]) / scale, landmarks / scale)
