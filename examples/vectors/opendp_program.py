"""Serves integer noise of OpenDP to `attacklab vectors check --exec 'python opendp_program.py'`.

OpenDP draws from the generator of a cryptographic library inside its own binary, so it gets neither bits nor requests
nor a seed from outside: only samples can be had of it. Its scales are doubles, and its outputs integers of 64 bits;
cases of other scales are skipped.
"""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction
from typing import Any

import opendp.prelude as dp

FARTHEST = 1 << 50
"""At larger scales the ends of 64 bits are reached."""

dp.enable_features("contrib")


def _measurement(mechanism: str, given: dict[str, str]) -> Any:
    """The measurement of these parameters; None if its scale is not a double."""
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    if mechanism == "discrete_laplace":
        scale = Fraction(given["scale"])
        is_double = Fraction(float(scale)) == scale <= FARTHEST
        return dp.m.make_laplace(space, dp.l1_distance(T="i64"), float(scale)) if is_double else None
    if mechanism == "discrete_gaussian":
        root = math.sqrt(Fraction(given["variance"]))
        is_double = Fraction(root) ** 2 == Fraction(given["variance"])
        return dp.m.make_gaussian(space, dp.l2_distance(T=float), root) if is_double else None
    return None


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    measurement = _measurement(request["mechanism"], request["parameters"]) if request["type"] == "law" else None
    if measurement is None:
        return {"skip": True}
    return {"outputs": [str(one) for one in measurement([0] * request["trials"])]}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
