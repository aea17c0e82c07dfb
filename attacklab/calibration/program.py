"""A formula in a process of its own, in any language: one line of JSON for each set of arguments, one line back.

The request is `{"quantity": NAME, "arguments": {...}}`, with floats as hex strings, counts as integers, and lists of
hex strings. The answer is `{"value": "0x1.8p+1"}`, or an integer, or `{"error": "..."}` where the formula refuses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import gmpy2

from attacklab.calibration.findings import encoded
from attacklab.calibration.quantities import Argument
from attacklab.isolation.failures import ChildError, ChildFailure
from attacklab.isolation.process import ChildProcess, Limits
from attacklab.isolation.wire import read_object

_WIDEST = 4096
"""Bits in which an answered number is read, to tell whether it is a double."""


class ProgramFormula:
    """A formula that a program computes; it is started when it is first asked, and again after it failed.

    Args:
        command: the program and its arguments.
        quantity: what it is asked for.
        limits: what it may use.
    """

    def __init__(self, command: Sequence[str], quantity: str, limits: Limits | None = None) -> None:
        self._command, self._quantity, self._limits = list(command), quantity, limits or Limits()
        self._process: ChildProcess | None = None

    def __call__(self, **arguments: Argument) -> float | int:
        """Ask for one number.

        Raises:
            ValueError: the program refused the arguments.
            TargetError: it did not answer as the protocol says.
        """
        if self._process is None:
            self._process = ChildProcess(self._command, self._limits)
        request = {"quantity": self._quantity, "arguments": encoded(arguments)}
        try:
            answer = read_object(self._process.ask_line(json.dumps(request).encode() + b"\n"))
            if set(answer) == {"error"}:
                raise ValueError(" ".join(str(answer["error"]).split()))
            if set(answer) != {"value"}:
                raise ChildError(ChildFailure.GARBAGE, f"an answer holds value or error, not {', '.join(answer)}")
            return _number(answer["value"])
        except ChildError:
            self.close()
            raise

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


def _number(value: object) -> float | int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        number = float.fromhex(value)  # type: ignore[arg-type]
        if math.isfinite(number) and gmpy2.mpfr(value, _WIDEST, 16) != number:
            raise OverflowError
    except (TypeError, ValueError):
        message = f"value must be a hex float such as '0x1.8p+1' or an integer, not {str(value)[:40]!r}"
        raise ChildError(ChildFailure.GARBAGE, message) from None
    except OverflowError:
        raise ChildError(ChildFailure.GARBAGE, f"{str(value)[:40]!r} is not a binary64 number") from None
    return number
