"""Holding a formula to the certified bounds of a quantity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from numbers import Real

from attacklab.calibration.findings import CalibrationFinding, deviation
from attacklab.calibration.quantities import Arguments, Quantity, Unsafe, quantity
from attacklab.model.errors import LabFault
from attacklab.model.findings import Verdict
from attacklab.model.intervals import Interval
from attacklab.model.targets import described, in_one_line


def calibrate(
    about: str | Quantity, function: Callable[..., object], *, name: str, grid: Iterable[Arguments] | None = None
) -> list[CalibrationFinding]:
    """Hold a formula to certified bounds, without any sampling.

    Args:
        about: what the formula computes, or its name.
        function: called with keyword arguments. It raises `ValueError` to refuse them.
        name: of the formula, for the findings.
        grid: the arguments to ask for; by default the ones of the quantity.
    """
    known = quantity(about) if isinstance(about, str) else about
    return [_finding(known, function, name, arguments) for arguments in (known.grid if grid is None else grid)]


def _finding(about: Quantity, function: Callable[..., object], name: str, arguments: Arguments) -> CalibrationFinding:
    finding = partial(CalibrationFinding, quantity=about.name, name=name, parameters=dict(arguments))
    failed = partial(finding, returned=None, bound=None, verdict=Verdict.ERROR)
    try:
        answer = function(**arguments)
    except LabFault:
        raise
    except ValueError as error:
        reason = f"the formula refused these arguments: {in_one_line(error)}"
        return failed(verdict=Verdict.NOT_APPLICABLE, reason=reason)
    except Exception as error:
        return failed(reason=f"the formula raised {in_one_line(error)}; make it refuse with a ValueError")
    number = _double(answer)
    if number is None:
        shown = "NaN" if isinstance(answer, Real) and answer != answer else described(answer)
        return failed(reason=f"the formula returned {shown}; it must return one double")
    exact = about.bound(arguments)
    for bound in (exact + 0, exact):  # as short as decides
        verdict, reason = _judged(about, number, bound)
        if verdict is not Verdict.INCONCLUSIVE:
            break
    return finding(returned=number, bound=bound, verdict=verdict, reason=reason)


def _double(answer: object) -> float | None:
    """The double that a formula returned; None where it is NaN or no double."""
    if isinstance(answer, bool) or not isinstance(answer, Real):
        return None
    try:
        number = float(answer)
    except OverflowError:
        return None
    return None if math.isnan(number) or number != answer else number


def _judged(about: Quantity, number: float, bound: Interval) -> tuple[Verdict, str]:
    is_small = about.unsafe is Unsafe.TOO_SMALL
    known = f"{about.meaning} lies in [{bound.lower:.20Dg}, {bound.upper:.20Ug}]"
    if number < bound.lower if is_small else number > bound.upper:
        part = f"{deviation(number, bound):.1e}"
        return Verdict.VIOLATED, f"{number!r} is {about.unsafe} by at least {part} of the bound: {known}"
    if number >= bound.upper if is_small else number <= bound.lower:
        return Verdict.PROVED, f"{number!r} is safe: {known}"
    return Verdict.INCONCLUSIVE, f"neither proved safe nor unsafe: {known}, and so does {number!r}"
