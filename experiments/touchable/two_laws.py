"""The exact laws of a noisy count on two databases, and what every interval of outputs betrays of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from attacklab.laws import Law, Limits, enumerate_law, trade_off
from attacklab.model.claims import PrivacyClaim
from mechanisms.laplace.exact import exact_dyadic_geometric

RATIO = Fraction(1, 2)
"""The probabilities halve with every further unit of noise."""

LARGEST = 12
ANSWER = 8
"""The true count on the first database."""

DISTANCES = (1, 2, 3, 4)
"""By how much the true count on the second database may be smaller."""

UNIT = Fraction(1, 4096)


def collect() -> dict[str, Any]:
    """Return laws and trade-off curves in units of 1/4096, the curve that the claim allows, and each interval's ε."""
    claim = PrivacyClaim(math.log(2))  # a factor of 2 at most, if the counts differ by 1
    first = _law(ANSWER)
    return {
        "unit": UNIT.denominator,
        "epsilon": round(claim.epsilon, 6),
        "allowed": [[0, 1], [round(1 / (1 + math.exp(claim.epsilon)), 6)] * 2, [1, 0]],
        "ceiling": round(claim.ceiling, 6),
        "answer": ANSWER,
        "first": _units(first),
        "pairs": [_pair(first, distance) for distance in DISTANCES],
    }


def needed(p: Fraction, q: Fraction) -> float:
    """Return the smallest ε that allows an event with these probabilities, and its complement, in both directions."""
    sides = [(p, q), (1 - p, 1 - q)]
    return max(abs(math.log(mass_p / mass_q)) if mass_q else 0.0 for mass_p, mass_q in sides)


def _law(answer: int) -> Law:
    term = exact_dyadic_geometric(ratio=RATIO, lower=0, upper=LARGEST)
    return enumerate_law(term.release, answer, limits=Limits(unresolved=Fraction(0))).map(int)


def _units(law: Law) -> list[int]:
    return [_in_units(law.mass(outcome)) for outcome in range(LARGEST + 1)]


def _in_units(mass: Any) -> int:
    return int(mass / UNIT)


def _pair(first: Law, distance: int) -> dict[str, Any]:
    second = _law(ANSWER - distance)
    p, q = ([Fraction(law.mass(outcome)) for outcome in range(LARGEST + 1)] for law in (first, second))
    return {
        "distance": distance,
        "second": _units(second),
        "curve": [[_in_units(error) for error in errors] for errors in trade_off(second, first)],
        "needed": [
            [
                round(needed(sum(p[low : high + 1], Fraction(0)), sum(q[low : high + 1], Fraction(0))), 6)
                for high in range(low, LARGEST + 1)
            ]
            for low in range(LARGEST + 1)
        ],
    }
