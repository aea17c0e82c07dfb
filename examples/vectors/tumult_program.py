"""Serves samplers of Tumult Core to `attacklab vectors check --exec 'python tumult_program.py'`.

Its coins and uniform integers are functions of one module, which draw from one generator. For `law` that generator is a
seeded one; for `trace` the coins are replies. Its discrete Laplace noise draws the sign first, in another order than
the publication, so that only its coins of probability e^−γ make the requests of `trace.json`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from tmlt.core.random import discrete_gaussian as samplers

LAWS: dict[str, Callable[[dict[str, str]], Any]] = {
    "uniform_below": lambda given: samplers._sample_uniform(int(given["bound"])),
    "bernoulli": lambda given: bool(samplers._sample_bernoulli(Fraction(given["probability"]))),
    "bernoulli_exp": lambda given: bool(samplers._sample_bernoulli_exp(Fraction(given["gamma"]))),
    "discrete_laplace": lambda given: samplers._sample_dlaplace(Fraction(given["scale"])),
    "discrete_gaussian": lambda given: samplers.sample_dgauss(Fraction(given["variance"])),
}


def _drawn(name: str, given: dict[str, str], trials: int, seed: int) -> list[Any]:
    generator = np.random.default_rng(seed)
    with mock.patch.object(samplers, "prng", return_value=generator):
        outputs = [LAWS[name](given) for _ in range(trials)]
    return [one if isinstance(one, bool) else str(one) for one in outputs]


def _traced(given: dict[str, str], replies: list[str]) -> dict[str, Any]:
    left, requests = iter(replies), []

    def coin(p: Fraction) -> int:
        requests.append(f"coin {p.numerator} {p.denominator}")
        return int(next(left))

    with mock.patch.object(samplers, "_sample_bernoulli", coin):
        try:
            output = LAWS["bernoulli_exp"](given)
        except StopIteration:
            return {"error": "it asks for more than there are replies"}
    return {"requests": requests, "output": output}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    mechanism, given = request["mechanism"], request.get("parameters", {})
    if request["type"] == "law" and mechanism in LAWS:
        return {"outputs": _drawn(mechanism, given, request["trials"], request["seed"])}
    if request["type"] == "trace" and mechanism == "bernoulli_exp":
        return _traced(given, request["replies"])
    return {"skip": True}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
