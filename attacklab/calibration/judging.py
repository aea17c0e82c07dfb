"""Check a formula against the certified bounds of a quantity. The record has the schema `attacklab/calibration/1`.

Arguments and returned numbers are written as hex floats. The ends of the certified bound are longer than doubles, so
that a shortfall of less than one unit in the last place shows. They are written as an integer significand and a power
of two, `0x1fp-3`, which `float.fromhex` reads too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

import gmpy2

from attacklab.calibration.quantities import Argument, Arguments, Quantity, Unsafe, quantity
from attacklab.model.errors import LabFault, UsageError
from attacklab.model.findings import Verdict, environment
from attacklab.model.intervals import Interval
from attacklab.model.targets import described, in_one_line

ROUNDING = 1e-12
"""If a number is unsafe by less than this share of the bound, the flaw counts as rounding alone."""


@dataclass(frozen=True, kw_only=True)
class CalibrationFinding:
    """The verdict on one number that the formula `name` for a quantity returned at some parameters.

    The verdict is VIOLATED where the number is proved to be unsafe, PROVED where it is proved to be safe, INCONCLUSIVE
    between the two, NOT_APPLICABLE where the formula refused the arguments, ERROR where it failed. Where it returned no
    number, `bound` is None.
    """

    quantity: str
    name: str
    parameters: Mapping[str, Argument]
    returned: float | None = None
    bound: Interval | None = None
    verdict: Verdict
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the finding as plain JSON values."""
        return {
            **vars(self),
            "parameters": {name: _hexadecimal(value) for name, value in self.parameters.items()},
            "returned": _hexadecimal(self.returned),
            "bound": self.bound and [_hexadecimal(self.bound.lower), _hexadecimal(self.bound.upper)],
            "verdict": str(self.verdict),
        }

    @property
    def is_rounding(self) -> bool:
        """Whether the number is refuted, but by less than `ROUNDING` of the bound."""
        return self.verdict is Verdict.VIOLATED and self.deviation < ROUNDING

    @property
    def deviation(self) -> float:
        """The least relative distance of a refuted number from the bound; 0 if it is not refuted."""
        if self.verdict is not Verdict.VIOLATED or self.returned is None or self.bound is None:
            return 0.0
        return _deviation(self.returned, self.bound)


def record(findings: Sequence[CalibrationFinding]) -> dict[str, Any]:
    """Return the JSON record of findings."""
    rows = [finding.to_json() for finding in findings]
    return {"schema": "attacklab/calibration/1", "environment": environment(), "findings": rows}


def calibrate(
    about: str | Quantity, function: Callable[..., object], *, name: str, grid: Iterable[Arguments] | None = None
) -> list[CalibrationFinding]:
    """Check a formula against certified bounds, without sampling. Return its findings, the worst refuted number first.

    Args:
        about: the quantity that the formula computes, or that quantity's name.
        function: the formula, called with keyword arguments. It raises `ValueError` to refuse them.
        name: the formula's name in the findings.
        grid: the sets of arguments to check; by default, the quantity's grid.

    Raises:
        UsageError: the formula needs a module that is not installed.
    """
    known = quantity(about) if isinstance(about, str) else about
    found = [_finding(known, function, name, arguments) for arguments in (known.grid if grid is None else grid)]
    return sorted(found, key=lambda finding: -finding.deviation)


def _finding(about: Quantity, function: Callable[..., object], name: str, arguments: Arguments) -> CalibrationFinding:
    finding = partial(CalibrationFinding, quantity=about.name, name=name, parameters=dict(arguments))
    try:
        answer = function(**arguments)
    except LabFault:
        raise
    except ImportError as error:
        raise UsageError(f"{name} cannot be called: {in_one_line(error)}") from error
    except ValueError as error:
        reason = f"the formula refused these arguments: {in_one_line(error)}"
        return finding(verdict=Verdict.NOT_APPLICABLE, reason=reason)
    except Exception as error:
        reason = f"the formula raised {in_one_line(error)}; make it refuse with a ValueError"
        return finding(verdict=Verdict.ERROR, reason=reason)
    number = _double(answer)
    if number is None:
        shown = "NaN" if isinstance(answer, Real) and answer != answer else described(answer)
        return finding(verdict=Verdict.ERROR, reason=f"the formula returned {shown}; it must return one double")
    exact = about.bound(arguments)
    short = exact + 0
    bound = exact if _judged(about, number, short)[0] is Verdict.INCONCLUSIVE else short
    verdict, reason = _judged(about, number, bound)
    return finding(returned=number, bound=bound, verdict=verdict, reason=reason)


def _double(answer: object) -> float | None:
    """Return the double that a formula returned; None if it is NaN or not exactly a double."""
    if isinstance(answer, bool) or not isinstance(answer, Real):
        return None
    try:
        number = float(answer)
    except OverflowError:
        return None
    return number if number == answer else None


def _judged(about: Quantity, number: float, bound: Interval) -> tuple[Verdict, str]:
    is_small = about.unsafe is Unsafe.TOO_SMALL
    known = f"{about.meaning} lies in [{bound.lower:.20Dg}, {bound.upper:.20Ug}]"
    if number < bound.lower if is_small else number > bound.upper:
        return Verdict.VIOLATED, f"{number!r} is {_how_far(about.unsafe, number, bound)}: {known}"
    if number >= bound.upper if is_small else number <= bound.lower:
        return Verdict.PROVED, f"{number!r} is safe{_looseness(number, bound)}: {known}"
    return Verdict.INCONCLUSIVE, f"neither proved safe nor unsafe: {known}, and so does {number!r}"


def _how_far(unsafe: Unsafe, number: float, bound: Interval) -> str:
    """Return text on how far, at least, a number outside the bound is on the unsafe side."""
    part, end = _deviation(number, bound), float(bound.lower if unsafe is Unsafe.TOO_SMALL else bound.upper)
    small, large = sorted((number, end))
    if part < ROUNDING:
        return f"{unsafe} by {part:.1e} of the bound, by rounding alone"
    if small > 0 and large >= 2 * small:
        return f"{large / small:,.4g} times {unsafe}"
    return f"{unsafe} by at least {100 * part:.2g} % of the bound"


def _looseness(number: float, bound: Interval) -> str:
    """Return text on how far a safe number is from the bound, if that is more than a thousandth; else empty."""
    small, large = sorted((number, float(bound.upper if number >= bound.upper else bound.lower)))
    return f", loose by {large / small - 1:.2%}" if small > 0 and large > 1.001 * small else ""


def _deviation(number: float, bound: Interval) -> float:
    """Return the least distance of a number outside the bound from its nearer end, relative to that end."""
    end = bound.lower if number < bound.lower else bound.upper
    if end == 0 or not math.isfinite(number):
        return math.inf
    away = Interval(end, end) - number
    return (max(away, -away, key=lambda part: part.lower) / Interval(abs(end), abs(end))).below()


def _hexadecimal(value: Any) -> Any:
    """Return a number, or a tuple of numbers, as plain JSON values: doubles and MPFR numbers become hex floats."""
    if isinstance(value, tuple):
        return [_hexadecimal(part) for part in value]
    if isinstance(value, float):
        return value.hex()
    if not isinstance(value, gmpy2.mpfr):
        return value
    if not gmpy2.is_finite(value):
        return str(value)
    significand, exponent = map(int, value.as_mantissa_exp())
    return f"{significand:#x}p{exponent:+d}"
