"""Holds the noise of noise.py to the requests in trace.json: `python consumer.py trace.json exact` (or `naive`)."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import noise


class Unlike(Exception):
    """The sampler does something else than the case says."""


class Replay:
    """Gives the replies of a case, and stops at the first request that is another one."""

    def __init__(self, requests: list[dict[str, str]]) -> None:
        self._requests = iter(requests)

    def _reply(self, request: str) -> int:
        expected = next(self._requests, {"request": "nothing", "reply": "0"})
        if request != expected["request"]:
            raise Unlike(f"asks for {request!r}, not {expected['request']!r}")
        return int(expected["reply"])

    def coin(self, probability: Fraction) -> int:
        """The reply to a coin."""
        return self._reply(f"coin {probability.numerator} {probability.denominator}")

    def below(self, bound: int) -> int:
        """The reply to an integer."""
        return self._reply(f"below {bound}")


def failures(file: dict[str, Any], rounded: noise.Rounded) -> int:
    """How many cases of discrete Laplace noise fail."""
    failed = 0
    for case in next(one["cases"] for one in file["groups"] if one["mechanism"] == "discrete_laplace"):
        try:
            output = noise.discrete_laplace(Fraction(case["parameters"]["scale"]), Replay(case["requests"]), rounded)
            if str(output) != case["output"]:
                raise Unlike(f"returns {output}, not {case['output']}")
        except Unlike as error:
            failed += 1
            print(f"case {case['id']} ({case['comment']}; {', '.join(case['flags'])}): {error}")
    return failed


if __name__ == "__main__":
    content = Path(sys.argv[1]).read_text(encoding="utf-8")
    sys.exit(bool(failures(json.loads(content), getattr(noise, sys.argv[2]))))
