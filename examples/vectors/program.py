"""Serves the noise of noise.py to `attacklab vectors check --exec 'python program.py exact'` (or `naive`).

One request is one line of JSON, and so is its answer; docs/reference/vectors.md describes them.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import noise


class Seeded:
    """Pseudorandom coins, for tests only."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def coin(self, probability: Fraction) -> int:
        """1 with the probability."""
        return int(self.below(probability.denominator) < probability.numerator)

    def below(self, bound: int) -> int:
        """An integer."""
        return self._random.randrange(bound)


class Replayed:
    """Gives the replies that it is told, and keeps the requests."""

    def __init__(self, replies: list[str]) -> None:
        self._replies = iter(replies)
        self.requests: list[str] = []

    def _reply(self, request: str) -> int:
        self.requests.append(request)
        return int(next(self._replies))

    def coin(self, probability: Fraction) -> int:
        """The next reply."""
        return self._reply(f"coin {probability.numerator} {probability.denominator}")

    def below(self, bound: int) -> int:
        """The next reply."""
        return self._reply(f"below {bound}")


def answer(request: dict[str, Any], rounded: noise.Rounded) -> dict[str, Any]:
    """The answer to a request."""
    runs: dict[str, Callable[[Any], Any]] = {
        "bernoulli_exp": lambda source: noise.bernoulli_exp(Fraction(given["gamma"]), source, rounded),
        "discrete_laplace": lambda source: str(noise.discrete_laplace(Fraction(given["scale"]), source, rounded)),
    }
    if request["mechanism"] not in runs or request["type"] not in ("law", "trace"):
        return {"skip": True}
    given, run = request["parameters"], runs[request["mechanism"]]
    if request["type"] == "law":
        source = Seeded(request["seed"])
        return {"outputs": [run(source) for _ in range(request["trials"])]}
    replayed = Replayed(request["replies"])
    try:
        output = run(replayed)
    except StopIteration:
        return {"error": "it asks for more than there are replies"}
    return {"requests": replayed.requests, "output": output}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), getattr(noise, sys.argv[1]))), flush=True)
