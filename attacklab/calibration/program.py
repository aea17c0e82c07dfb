"""A formula in a process of its own, in any language: one line of JSON for each set of arguments, one line back.

The request is `{"quantity": NAME, "arguments": {...}}`, with floats as hex strings, counts as integers, and lists of
hex strings. The answer is `{"value": "0x1.8p+1"}`, or an integer, or `{"error": "..."}` where the formula refuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import gmpy2

from attacklab.calibration.findings import encoded
from attacklab.calibration.quantities import Argument
from attacklab.processes.lines import DEFAULT_SECONDS, Program

_WIDEST = 4096
"""Bits in which an answered number is read, to tell whether it is a double."""


class ProgramFormula(Program):
    """A formula that a program computes: its command, the quantity that it is asked for, and what it may use.

    A call raises `ValueError` where the program refuses, and a `TargetError` where it breaks the protocol.
    """

    def __init__(self, command: Sequence[str], quantity: str, seconds: float = DEFAULT_SECONDS) -> None:
        super().__init__(command, seconds)
        self._quantity = quantity

    def __call__(self, **arguments: Argument) -> float | int:
        """Ask for one number."""
        answer = self.ask_object({"quantity": self._quantity, "arguments": encoded(arguments)})
        if set(answer) == {"error"}:
            raise ValueError(" ".join(str(answer["error"]).split()))
        if set(answer) != {"value"}:
            raise self.garbage(f"an answer holds value or error, not {', '.join(answer)}")
        return self._number(answer["value"])

    def _number(self, value: object) -> float | int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        try:
            number = float.fromhex(value)  # type: ignore[arg-type]
            if math.isfinite(number) and gmpy2.mpfr(value, _WIDEST, 16) != number:
                raise OverflowError
        except (TypeError, ValueError):
            shown = str(value)[:40]
            raise self.garbage(f"value must be a hex float such as '0x1.8p+1' or an integer, not {shown!r}") from None
        except OverflowError:
            raise self.garbage(f"{str(value)[:40]!r} is not a binary64 number") from None
        return number
