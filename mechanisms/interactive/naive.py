"""The same session by a service that asks whether anything is left of its budget, and not whether enough is.

So the last answer may cost more than what is left: this adversary gets two answers, of 3 units each, for a budget of 4
units.
"""

from __future__ import annotations

import math

import numpy as np

from mechanisms.core.numbers import count
from mechanisms.interactive.exact import BUDGET, offers


def naive_query_session(
    secret: bool, trials: int, rng: np.random.Generator, *, epsilon: float
) -> list[tuple[int, ...]]:
    """Return the answers of `trials` sessions with the adversary of `exact.py`."""
    return [_session(bool(secret), rng, epsilon / BUDGET) for _ in range(count("trials", trials, least=0))]


def _session(secret: bool, rng: np.random.Generator, unit: float) -> tuple[int, ...]:
    answers: list[int] = []
    spent = 0
    while spent < BUDGET:
        price = offers(answers)[0]
        spent += price
        answers.append(int(secret != (rng.random() < 1 / (1 + math.exp(unit * price)))))
    return tuple(answers)
