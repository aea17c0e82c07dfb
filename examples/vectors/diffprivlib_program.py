"""Serves samplers of IBM's diffprivlib to `attacklab vectors check --exec 'python diffprivlib_program.py'`.

Its samplers take any `secrets.SystemRandom`, so they are given one: for `law` a seeded one; for `trace` one whose
numbers are decided only when they are compared, so that each comparison is a request for a coin. Without noise (ε = ∞)
`tools.sum` is the sum alone.
"""

from __future__ import annotations

import json
import math
import random
import secrets
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from diffprivlib import tools
from diffprivlib.mechanisms import GaussianDiscrete, Geometric
from diffprivlib.mechanisms.base import bernoulli_neg_exp

WORD = 1 << 53


class Seeded(secrets.SystemRandom):
    """Uniform numbers of 53 bits, as `SystemRandom` has them, of a seeded generator."""

    def __init__(self, seed: int) -> None:
        self._numbers = random.Random(seed)

    def random(self) -> float:
        """A number."""
        return self._numbers.random()


class Undecided:
    """A uniform number of 53 bits, compared once."""

    def __init__(self, reply: Callable[[str], int]) -> None:
        self._reply = reply

    def __le__(self, threshold: float) -> bool:
        count = min(WORD, math.floor(Fraction(threshold) * WORD) + 1)
        probability = Fraction(count, WORD)
        return bool(self._reply(f"coin {probability.numerator} {probability.denominator}"))


class Replayed(secrets.SystemRandom):
    """Gives the replies that it is told, and keeps the requests."""

    def __init__(self, replies: list[str]) -> None:
        self._replies = iter(replies)
        self.requests: list[str] = []

    def random(self) -> Any:
        """A number to compare."""
        return Undecided(self._answer)

    def _answer(self, request: str) -> int:
        self.requests.append(request)
        return int(next(self._replies))


def _coin(given: dict[str, str], source: secrets.SystemRandom) -> bool:
    return bool(bernoulli_neg_exp(float(Fraction(given["gamma"])), source))


def _laplace(given: dict[str, str], source: secrets.SystemRandom) -> int:
    scale = Fraction(given["scale"])
    return Geometric(epsilon=float(1 / scale), sensitivity=1, random_state=source).randomise(0)


def _gaussian(given: dict[str, str], source: secrets.SystemRandom) -> int:
    mechanism = GaussianDiscrete(epsilon=1.0, delta=0.5, random_state=source)
    mechanism._scale = math.sqrt(Fraction(given["variance"]))
    return mechanism.randomise(0)


LAWS = {"bernoulli_exp": _coin, "discrete_laplace": _laplace, "discrete_gaussian": _gaussian}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    kind, mechanism, given = request["type"], request["mechanism"], request.get("parameters", {})
    if kind == "law" and mechanism in LAWS:
        source = Seeded(request["seed"])
        drawn = [LAWS[mechanism](given, source) for _ in range(request["trials"])]
        return {"outputs": [one if isinstance(one, bool) else str(one) for one in drawn]}
    if kind == "trace" and mechanism == "bernoulli_exp":
        replayed = Replayed(request["replies"])
        try:
            output = _coin(given, replayed)
        except StopIteration:
            return {"error": "it asks for more than there are replies"}
        return {"requests": replayed.requests, "output": output}
    if kind == "sum" and request["format"] == "binary64":
        records = np.array([float.fromhex(one) for one in request["records"]])
        low, high = (float.fromhex(one) for one in request["bounds"])
        return {"value": float(tools.sum(records, epsilon=math.inf, bounds=(low, high))).hex()}
    return {"skip": True}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
