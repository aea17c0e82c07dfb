"""The errors that this package raises on purpose: one root and three branches, by whose fault it is.

- `UsageError`: the user's mistake. The command line prints it as one line and ends with status 2. It is a `ValueError`
  (or, as `UsageTypeError`, a `TypeError` too), as Python code that passes a wrong argument would expect.
- `TargetError`: the implementation under attack failed. It becomes an ERROR finding about the target.
- `LabFault`: a part of the lab failed, such as an attack or a worker process. It becomes an ERROR finding that does not
  blame the target.

Any other exception is a bug, and ends in a traceback.

The child process of an isolated target uses this module alone, so it imports nothing else of this package.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator


class LabError(Exception):
    """The root of all errors that this package raises on purpose."""


class UsageError(LabError, ValueError):
    """The user's mistake: an argument, a name or a file that cannot be used; the message says what to do."""


class UsageTypeError(UsageError, TypeError):
    """The user passed an argument of a wrong type."""


class ArithmeticModeError(UsageError):
    """This process does not compute as IEEE 754 says, so none of its findings would mean anything."""


class TargetError(LabError):
    """A target failed: it raised an exception, or did not return one valid output a trial."""


class Refused(TargetError):
    """A release raised an exception. If the adversary sees failures, this is an output like others."""


class OutsideDomain(TargetError):
    """An input lies outside the domain that a target declares. So it was not tried, and the target did not fail."""


class LabFault(LabError):
    """A part of the lab failed, which says nothing about the target."""


class AttackError(LabFault):
    """An attack broke the rules for attacks, which ends its part of an audit."""


class OutOfTime(LabFault):
    """The time ended before the next outputs could be drawn, so nothing was decided."""


class Word(enum.StrEnum):
    """Base of enums whose members users write as strings. Any other string raises a UsageError."""

    @classmethod
    def _missing_(cls, value: object) -> Word:
        raise UsageError(f"{cls.__name__.lower()} must be one of {', '.join(cls)}, not {value!r}")


@contextlib.contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Run a `with` block that imports optional packages, which the extra `extra` of this package installs.

    Raises:
        UsageError: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        needed = f"this needs {error.name}, which is not installed: in a clone, pip install '.[{extra}]'"
        raise UsageError(needed) from error


def text_of(error: BaseException) -> str:
    """Return the message of an exception; empty if its `__str__` fails."""
    try:
        return str(error)
    except Exception:  # whatever somebody's class raises
        return ""


def in_one_line(error: BaseException) -> str:
    """Return an exception as one line: its type and message, or only its message for a `LabError`."""
    parts = [text_of(error)] if isinstance(error, LabError) else [type(error).__name__, text_of(error)]
    return " ".join(": ".join(filter(None, parts)).split())


def passes_through(error: BaseException) -> bool:
    """Whether an exception from the user's code must be raised on, because it is not a failure of that code.

    These are Ctrl-C, and exceptions by which pytest ends a test or the lab ends a call. Other exceptions are failures
    of the code, also a panic in Rust, an `asyncio.CancelledError` or a `SystemExit`.
    """
    return isinstance(error, KeyboardInterrupt) or (
        not isinstance(error, Exception)
        and any(kind.__module__.startswith(("_pytest.", "attacklab.")) for kind in type(error).__mro__)
    )
