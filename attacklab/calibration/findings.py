"""What calibration found at one set of arguments, and its record: schema `attacklab/calibration/1`.

Arguments and returned numbers travel as hex floats. The ends of the certified bound are longer than doubles, so that
a shortfall of less than one unit in the last place is told: they stand as an integer significand and a power of two,
`0x1fp-3`, which `float.fromhex` reads too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gmpy2

from attacklab.calibration.quantities import Argument
from attacklab.model.findings import Verdict, environment
from attacklab.model.intervals import Interval

SCHEMA = "attacklab/calibration/1"


@dataclass(frozen=True, kw_only=True)
class CalibrationFinding:
    """What is known of one number that the formula `name` of a quantity returned at some parameters.

    The verdict is VIOLATED where the number is proved to be unsafe, PROVED where it is proved to be safe, INCONCLUSIVE
    between the two, NOT_APPLICABLE where the formula refused the arguments, ERROR where it failed. Where it returned no
    number, there is no bound either.
    """

    quantity: str
    name: str
    parameters: Mapping[str, Argument]
    returned: float | None
    bound: Interval | None
    verdict: Verdict
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON values."""
        return {
            "quantity": self.quantity,
            "name": self.name,
            "parameters": encoded(self.parameters),
            "returned": None if self.returned is None else self.returned.hex(),
            "bound": None if self.bound is None else [_end_text(self.bound.lower), _end_text(self.bound.upper)],
            "verdict": str(self.verdict),
            "reason": self.reason,
        }

    @property
    def deviation(self) -> float:
        """How far the number is on the unsafe side at least, as a part of the bound; 0 where it is not refuted."""
        if self.verdict is not Verdict.VIOLATED or self.returned is None or self.bound is None:
            return 0.0
        return deviation(self.returned, self.bound)


def deviation(number: float, bound: Interval) -> float:
    """How far a number is from a bound at least, as a part of its nearer end; 0 inside of it."""
    if bound.lower <= number <= bound.upper:
        return 0.0
    is_below = number < bound.lower
    end = bound.lower if is_below else bound.upper
    if end == 0 or not math.isfinite(number):
        return math.inf
    nearest = Interval(end, end)
    return ((nearest - number if is_below else number - nearest) / Interval(abs(end), abs(end))).below()


def encoded(parameters: Mapping[str, Argument]) -> dict[str, Any]:
    """Arguments as plain JSON values: hex floats, integers, and lists of hex floats."""
    return {name: _encoded(value) for name, value in parameters.items()}


def _encoded(value: Argument) -> Any:
    if isinstance(value, tuple):
        return [number.hex() for number in value]
    return value.hex() if isinstance(value, float) else value


def record(findings: Sequence[CalibrationFinding]) -> dict[str, Any]:
    """The JSON record of some findings."""
    return {"schema": SCHEMA, "environment": environment(), "findings": [finding.to_json() for finding in findings]}


def _end_text(end: Any) -> str:
    if not gmpy2.is_finite(end):
        return "inf" if end > 0 else "-inf"
    significand, exponent = end.as_mantissa_exp()
    return f"{'-' if significand < 0 else ''}0x{int(abs(significand)):x}p{int(exponent):+d}"
