"""Amplification as programs get it wrong: a batch of fixed size, a sample with repetitions, a shuffle that stops short.

Each is written for a theorem whose sampling it does not do (README.md, 'The flaw'). The noise is numpy's Laplace.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, positive

Answers = NDArray[np.int64]


def naive_poisson_count(
    records: Answers, trials: int, rng: np.random.Generator, *, epsilon: float, rate: float
) -> NDArray[np.float64]:
    """Count the yeses of a batch whose size is the rate times the number of records, and add Laplace noise."""
    size = round(rate * len(records))
    order = rng.random((count("trials", trials, least=0), len(records))).argsort(axis=1)
    counts = np.asarray(records)[order[:, :size]].sum(axis=1)
    return np.asarray(counts + rng.laplace(0.0, 1 / float(positive("epsilon", epsilon)), trials))


def naive_sampled_count(
    records: Answers, trials: int, rng: np.random.Generator, *, epsilon: float, size: int
) -> NDArray[np.float64]:
    """Count the yeses of a sample drawn with `choice` as numpy has it by default, which is with replacement.

    Arguments, result and errors as in `naive_poisson_count`, but there is at least one record, and `size` are drawn.
    """
    drawn = rng.choice(np.asarray(records), (count("trials", trials, least=0), size))
    return np.asarray(drawn.sum(axis=1) + rng.laplace(0.0, 1 / float(positive("epsilon", epsilon)), trials))


def naive_shuffled_response(
    records: Answers, trials: int, rng: np.random.Generator, *, epsilon: float
) -> NDArray[np.int64]:
    """Randomize each answer, then shuffle all but the last: the loop starts one place too low."""
    truth = np.tile(np.asarray(records), (count("trials", trials, least=0), 1))
    answers = np.where(rng.random(truth.shape) < 1 / (1 + math.exp(epsilon)), 1 - truth, truth)
    rows = np.arange(trials)
    for last in range(len(records) - 2, 0, -1):
        other = rng.integers(0, last, trials, endpoint=True)
        kept = answers[rows, other].copy()
        answers[rows, other] = answers[:, last]
        answers[:, last] = kept
    return answers
