"""Short pipelines for the tests of alignments: sound ones that look broken, and the faults of earlier rules.

Each row: what it is called, the release, two inputs, the claimed ε, and what may be said of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from attacklab.align.examine import Status

Body = Callable[[Any, np.random.Generator], Any]


class Row(NamedTuple):
    """A pipeline, and what its alignment may say."""

    name: str
    body: Body
    first: Any
    second: Any
    epsilon: float
    allowed: tuple[Status, ...]


NEITHER = (Status.ALIGNED, Status.OPEN)
ALIGNED, OPEN = (Status.ALIGNED,), (Status.OPEN,)
VIOLATED, SUSPECTED = (Status.VIOLATED,), (Status.SUSPECTED,)

SHORT, LONG = np.array([0.2, 0.9, 0.4]), np.array([0.2, 0.9, 0.4, 1.0])


def mutated(x: list[float], rng: np.random.Generator) -> float:
    """It empties its own input."""
    total = 0.0
    while x:
        total += min(1.0, max(0.0, x.pop()))
    return total + rng.laplace(0, 1)


def quotient(x: Any, rng: np.random.Generator) -> float:
    """A noisy sum over a noisy count."""
    return float((np.clip(x, 0, 1).sum() + rng.laplace(0, 2)) / max(1.0, len(x) + rng.laplace(0, 2)))


ROWS = [
    Row("rounded", lambda x, rng: round(len(x) + rng.laplace(0, 1)), LONG, SHORT, 1.0, ALIGNED),
    Row("clamped", lambda x, rng: max(0.0, len(x) + rng.laplace(0, 1)), LONG, SHORT, 1.0, ALIGNED),
    Row("quotient", quotient, LONG, SHORT, 1.0, ALIGNED),
    Row("quotient, too dear", quotient, LONG, SHORT, 0.9, OPEN),
    Row("weights", lambda x, rng: rng.choice(2, p=x), np.array([0.5, 0.5]), np.array([0.4, 0.6]), 0.3, ALIGNED),
    Row("input of its own", mutated, LONG.tolist(), SHORT.tolist(), 1.0, ALIGNED),
    Row("die cast", lambda x, rng: x if int(rng.integers(0, 4)) < 3 else 1 - x, 0, 1, 1.1, NEITHER),
    Row("Gaussian", lambda x, rng: len(x) + rng.normal(0, 9), LONG, SHORT, 1.0, VIOLATED),
    Row("scale of the data", lambda x, rng: len(x) + rng.laplace(0, len(x)), LONG, SHORT, 1.0, VIOLATED),
    Row("bare count", lambda x, rng: (len(x) + rng.laplace(0, 1), len(x)), LONG, SHORT, 1.0, SUSPECTED),
    Row(
        "NaN among records",
        lambda x, rng: np.sum(x) + rng.laplace(0, 1),
        SHORT,
        np.append(SHORT, np.nan),
        1.0,
        SUSPECTED,
    ),
    Row("error on one", lambda x, rng: max(x.tolist()) + rng.laplace(0, 1), np.ones(1), np.ones(0), 1.0, SUSPECTED),
    Row("fixed seed", lambda x, _: len(x) + np.random.default_rng(3).laplace(0, 1), LONG, SHORT, 1.0, SUSPECTED),
    Row("rounded, half", lambda x, rng: round(len(x) + rng.laplace(0, 0.5)), LONG, SHORT, 1.0, OPEN),
    Row("raises on both", lambda *_: [][1], LONG, SHORT, 1.0, OPEN),
    Row("too many coins", lambda x, rng: (rng.random(99).sum() < 0) * len(x), LONG, SHORT, 1.0, OPEN),
]
"""What the alignment says; whatever it suspects is put to samples before anything is said of the claim."""
