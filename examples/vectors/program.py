"""Serves discrete Laplace noise to `attacklab vectors --exec 'python program.py exact'` (or `naive`).

One request is one line of JSON, and so is its answer; docs/reference/vectors.md describes them. The noise is that of
Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential Privacy', algorithms 1 and 2.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Take = Callable[[int], int]
"""Gives an integer of so many random bits, the first of them the most significant."""


def below(bound: int, take: Take) -> int:
    """An integer uniform below a bound."""
    while (drawn := take((bound - 1).bit_length())) >= bound:
        pass
    return drawn


def exact(probability: Fraction, take: Take) -> bool:
    """A coin of this probability."""
    return below(probability.denominator, take) < probability.numerator


def naive(probability: Fraction, take: Take) -> bool:
    """The flaw: a double of 53 bits below another one, which shows heads a little too often or too rarely."""
    return take(53) / 2**53 < float(probability)


def bernoulli_exp(gamma: Fraction, coin: Callable[..., bool], take: Take) -> bool:
    """True with probability e^−γ."""
    while gamma > 1:
        if not bernoulli_exp(Fraction(1), coin, take):
            return False
        gamma -= 1
    failure = 1
    while coin(gamma / failure, take):
        failure += 1
    return failure % 2 == 1


def discrete_laplace(scale: Fraction, coin: Callable[..., bool], take: Take) -> str:
    """N with probability proportional to e^(−|n|/scale)."""
    while True:
        rest = below(scale.numerator, take)
        if not bernoulli_exp(Fraction(rest, scale.numerator), coin, take):
            continue
        whole = 0
        while bernoulli_exp(Fraction(1), coin, take):
            whole += 1
        magnitude = (rest + scale.numerator * whole) // scale.denominator
        is_negative = take(1)
        if magnitude or not is_negative:
            return str(-magnitude if is_negative else magnitude)


def answer(request: dict[str, Any], coin: Callable[..., bool]) -> dict[str, Any]:
    """The answer to a request."""
    runs = {"bernoulli_exp": ("gamma", bernoulli_exp), "discrete_laplace": ("scale", discrete_laplace)}
    if request["mechanism"] not in runs or request["type"] not in ("law", "tape"):
        return {"skip": True}
    name, run = runs[request["mechanism"]]
    parameter = Fraction(request["parameters"][name])
    if request["type"] == "law":
        seeded = random.Random(request["seed"])
        return {"outputs": [run(parameter, coin, seeded.getrandbits) for _ in range(request["trials"])]}
    left = request["bits"]

    def take(count: int) -> int:
        nonlocal left
        if count > len(left):
            raise EOFError
        drawn, left = left[:count], left[count:]
        return int(drawn or "0", 2)

    try:
        output = run(parameter, coin, take)
    except EOFError:
        return {"error": "it takes more bits than there are"}
    return {"output": output, "bits_used": str(len(request["bits"]) - len(left))}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), {"exact": exact, "naive": naive}[sys.argv[1]])), flush=True)
