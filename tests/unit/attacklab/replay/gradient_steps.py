"""A step of private training on a model of 100 weights, sound and in five broken ways, each marked `# flaw`."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from attacklab.model.claims import GaussianDP

WEIGHTS = np.linspace(-1.0, 1.0, 100)
CLIP, SIGMA, EXPECTED = 1.0, 2.0, 4
FEATURES = np.random.default_rng(0).normal(size=(40, 100))
ONE_EMPTY = np.vstack([FEATURES[:-1], np.zeros(100)])
SHORT, SHORTER = FEATURES[:5], FEATURES[:4]
CLAIM: dict[str, Any] = {"claim": GaussianDP(CLIP / SIGMA)}
PARTS = 10
SHUFFLED_CLAIM: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-4}


def clipped(x: Any, dtype: Any = np.float64) -> Any:
    """The gradient of a squared error for each record, no longer than the clip."""
    gradients = ((x @ WEIGHTS - 1.0)[:, None] * x).astype(dtype)
    norms = np.sqrt((gradients * gradients).sum(axis=1, dtype=dtype)).astype(dtype)
    factors = np.minimum(dtype(1.0), (dtype(CLIP) / np.maximum(norms, dtype(1e-6))).astype(dtype))
    return (gradients * factors[:, None]).astype(dtype)


def sound_step(x: Any, rng: Any) -> Any:
    total = (1 - 2.0**-30) * clipped(x).sum(axis=0)
    return WEIGHTS - 0.1 * (total + rng.normal(0, SIGMA * CLIP, 100)) / EXPECTED


def real_batch_size(x: Any, rng: Any) -> Any:
    total = clipped(x).sum(axis=0)
    return WEIGHTS - 0.1 * (total + rng.normal(0, SIGMA * CLIP, 100)) / len(x)  # flaw


def noise_before_averaging(x: Any, rng: Any) -> Any:
    total = clipped(x).sum(axis=0)
    return WEIGHTS - 0.1 * (total + rng.normal(0, SIGMA * CLIP / EXPECTED, 100))  # flaw


def gradients_in_bfloat16(x: Any, rng: Any) -> Any:
    total = clipped(x, ml_dtypes.bfloat16).astype(float).sum(axis=0)
    return WEIGHTS - 0.1 * (total + rng.normal(0, SIGMA * CLIP, 100)) / EXPECTED  # flaw


def one_key_for_two_sums(x: Any, rng: Any) -> Any:
    sums, key = [], int(rng.integers(1 << 62))
    for features in (x, x[:, ::-1]):
        drawn = np.random.default_rng(key)
        sums.append(clipped(features).sum(axis=0) + drawn.normal(0, 3 * SIGMA * CLIP, 100))  # flaw
    return sums


def shuffled_parts(x: Any, rng: Any) -> Any:
    order, size = rng.permutation(len(x)), math.ceil(len(x) / PARTS)
    noisy = []
    for place in range(PARTS):
        batch = x[order[place * size : (place + 1) * size]]
        noisy.append(clipped(batch).sum(axis=0) + rng.normal(0, 0.4 * CLIP, 100))  # flaw
    return noisy


def poisson_parts(x: Any, rng: Any) -> Any:
    noisy = []
    for _ in range(PARTS):
        batch = x[rng.random(len(x)) < 1 / PARTS]
        noisy.append(clipped(batch).sum(axis=0) + rng.normal(0, 1.0 * CLIP, 100))
    return noisy
