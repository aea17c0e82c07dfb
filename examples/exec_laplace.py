"""The textbook's Laplace mechanism as a program of its own, for `attacklab audit --exec`.

It reads one JSON request a line and answers each with one line, floats as hex strings (docs/reference/protocol.md). It
imports nothing from attacklab: this could be any program. It claims ε = 1 for an answer of sensitivity 1, and its
floats break that claim (Mironov 2012): which doubles can come out depends on the true answer.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from typing import Any

SCALE = 1.0
WORD = (1 << 64) - 1


def words(seed: int) -> Iterator[int]:
    """SplitMix64 (Steele, Lea and Flood 2014): 64 bits at a time, all derived from the seed."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & WORD
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & WORD
        yield mixed ^ (mixed >> 31)


def laplace(answer: float, trials: int, seed: int) -> list[float]:
    """The answer plus Laplace noise: a random sign, times the logarithm of a uniform number in (0, 1]."""
    source = words(seed)
    outputs = []
    for _ in range(trials):
        word = next(source)
        uniform = ((word >> 11) + 1) * 2.0**-53
        noise = -SCALE * math.log(uniform)
        outputs.append(answer + noise if word & 1 else answer - noise)
    return outputs


def main() -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["kind"] == "noise":
            answer = request["input"]  # a float is a string; an integer is rounded to a float, as in any textbook
            answer = float.fromhex(answer) if isinstance(answer, str) else float(answer)
            outputs = laplace(answer, request["trials"], request["seed"])
            reply: dict[str, Any] = {"outputs": [output.hex() for output in outputs]}
        else:
            reply = {"error": f"the Laplace mechanism adds noise; it does not answer {request['kind']} requests"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
