"""Taking apart what was traced: every step must be the one that is expected, and constants and tables are read."""

from __future__ import annotations

import math

from checker.core.certificate import Refused
from checker.kinds.trace import Step, Traced


def operands(step: Step, *operations: str) -> tuple[Step, ...]:
    """Return the operands of a step, which must be of an operation.

    Of several operations, each but the last is applied to the one that follows it alone.

    Raises:
        Refused: the step is another one.
    """
    for place, operation in enumerate(operations):
        if not isinstance(step, Step) or step.operation != operation:
            raise Refused(f"the code computes {step!r:.120} where {operation} is expected")
        if place + 1 < len(operations):
            (step,) = step.operands
    return step.operands


def number(step: Step) -> float:
    """Return a constant of binary64, which must be finite."""
    (text,) = operands(step, "constant")
    value = float.fromhex(text) if step.kind == "float64" else math.nan  # type: ignore[arg-type]
    if not math.isfinite(value):
        raise Refused(f"{step!r:.80} is not a finite constant of binary64")
    return value


def integer(step: Step) -> int:
    """Return a constant of int64."""
    (text,) = operands(step, "constant")
    if step.kind != "int64":
        raise Refused(f"{step!r:.80} is not a constant of int64")
    return int(text)  # type: ignore[call-overload, no-any-return]


def require_step(found: object, expected: Traced, what: str) -> None:
    """Check that a step is the expected one.

    Raises:
        Refused: it is another one.
    """
    if found is not expected.step:
        raise Refused(f"{what} is computed as {found!r:.200}, not {expected.step!r:.200}")


def step_of_result(result: object, what: str) -> Step:
    """Return the step of what code returned."""
    if not isinstance(result, Traced):
        raise Refused(f"{what} is a {type(result).__name__} that does not depend on the words")
    return result.step
