"""What calibration found at one set of arguments, and its record: schema `attacklab/calibration/1`.

Arguments and returned numbers travel as hex floats. The ends of the certified bound are longer than doubles, so that
a shortfall of less than one unit in the last place is told: they stand as an integer significand and a power of two,
`0x1fp-3`, which `float.fromhex` reads too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import gmpy2

from attacklab.calibration.quantities import Argument
from attacklab.model.errors import UsageError
from attacklab.model.findings import Verdict, environment, read_of_schema
from attacklab.model.intervals import Interval

SCHEMA = "attacklab/calibration/1"


@dataclass(frozen=True, kw_only=True)
class CalibrationFinding:
    """What is known of one number that a formula returned.

    Attributes:
        quantity: what the formula computes.
        name: of the formula.
        parameters: the arguments that it was given.
        returned: its number; None where it returned none.
        bound: the certified bound; None where the formula returned no number.
        verdict: VIOLATED where the number is proved to be unsafe, PROVED where it is proved to be safe, INCONCLUSIVE
            between the two, NOT_APPLICABLE where the formula refused the arguments, ERROR where it failed.
        reason: one line in plain words: why the verdict is what it is.
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

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CalibrationFinding:
        """Read a finding.

        Raises:
            ValueError: a field is missing, unknown or malformed.
        """
        names = {field.name for field in fields(cls)}
        if set(data) != names:
            raise UsageError(f"not a calibration finding: its fields must be {', '.join(sorted(names))}")
        try:
            return cls(
                quantity=data["quantity"],
                name=data["name"],
                parameters={name: _decoded(value) for name, value in data["parameters"].items()},
                returned=None if data["returned"] is None else float.fromhex(data["returned"]),
                bound=None if data["bound"] is None else Interval(*map(_end, data["bound"])),
                verdict=Verdict(data["verdict"]),
                reason=data["reason"],
            )
        except (TypeError, AttributeError, ValueError) as error:
            raise UsageError(f"not a calibration finding: {error}") from error

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
    return {
        name: [number.hex() for number in value]
        if isinstance(value, tuple)
        else value.hex()
        if isinstance(value, float)
        else value
        for name, value in parameters.items()
    }


def record(findings: Sequence[CalibrationFinding], **rest: Any) -> dict[str, Any]:
    """The JSON record of some findings."""
    return {
        "schema": SCHEMA,
        "environment": environment(),
        "findings": [finding.to_json() for finding in findings],
        **rest,
    }


def read_record(path: Path) -> dict[str, Any]:
    """Read a record; its findings come as `CalibrationFinding`.

    Raises:
        ValueError: it is not a record of this schema; the message names the file.
    """
    data = read_of_schema(path, SCHEMA)
    try:
        return {**data, "findings": [CalibrationFinding.from_json(finding) for finding in data["findings"]]}
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} holds a malformed finding: {error}") from error


def _decoded(value: Any) -> Argument:
    if isinstance(value, list):
        return tuple(float.fromhex(number) for number in value)
    return float.fromhex(value) if isinstance(value, str) else int(value)


def _end_text(end: Any) -> str:
    if not gmpy2.is_finite(end):
        return "inf" if end > 0 else "-inf"
    significand, exponent = end.as_mantissa_exp()
    return f"{'-' if significand < 0 else ''}0x{int(abs(significand)):x}p{int(exponent):+d}"


def _end(text: str) -> Any:
    if text in ("inf", "-inf"):
        return gmpy2.mpfr(text)
    significand, separator, exponent = text.partition("p")
    if not separator:
        raise ValueError(f"{text!r} is not an end of an interval; write it like 0x1fp-3")
    whole, power = int(significand, 16), int(exponent)
    bits = max(abs(whole).bit_length(), 2)
    with gmpy2.context(precision=bits):
        scaled = gmpy2.mul_2exp if power >= 0 else gmpy2.div_2exp
        return scaled(gmpy2.mpfr(whole), abs(power))
