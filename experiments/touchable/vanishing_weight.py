"""Weights e^(ε·u/2) near the end of the doubles, for utilities u in steps of a quarter, as multiples of 2^−1074."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gmpy2

from attacklab.model.claims import PrivacyClaim
from experiments.zero_rounding import ideal_advantage

EPSILON = 0.5
FIRST, LAST = -2940, -2984
"""The utilities of the better outcome between which the slider runs; the other outcome is 1 behind."""

STEP = Fraction(1, 4)


def collect() -> dict[str, Any]:
    """Return the weight of every utility in units of the smallest double, and the ideal probability and advantage."""
    count = int((FIRST - (LAST - 1)) / STEP) + 1
    return {
        "epsilon": EPSILON,
        "first": FIRST,
        "last": LAST,
        "step": float(STEP),
        "weights": [weight(FIRST - number * STEP) for number in range(count)],
        "ideal_probability": round(1 / (1 + math.exp(-EPSILON / 2)), 6),
        "ideal_advantage": round(ideal_advantage(EPSILON, 2), 6),
        "ceiling": round(PrivacyClaim(EPSILON).ceiling, 6),
    }


def weight(utility: Fraction) -> int:
    """Return the double nearest to e^(ε·u/2), in units of 2^−1074, for a weight below the normal doubles."""
    with gmpy2.context(precision=200):
        exact = gmpy2.exp(gmpy2.mpfr(float(utility)) * EPSILON / 2) * gmpy2.mpfr(2) ** 1074
        return int(gmpy2.rint(exact))
