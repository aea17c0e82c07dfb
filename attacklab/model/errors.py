"""The errors that this package raises on purpose: one root, and three branches for whoever has to act.

- `UsageError`: the user's mistake. The command line prints it as one line and ends with status 2. It is a `ValueError`
  (or, as `UsageTypeError`, a `TypeError` too), as Python code that passes a wrong argument would expect.
- `TargetError`: the implementation under attack failed. It becomes an ERROR finding about the target.
- `LabFault`: something of the lab's own failed, an attack or the workers that it ran in. It becomes an ERROR finding
  that does not blame the target.

Any other exception is a bug, and ends in a traceback.

The child of an isolated target uses this without the rest of the package: so it imports nothing of that.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator


class LabError(Exception):
    """The root: whatever this package raises on purpose."""


class UsageError(LabError, ValueError):
    """The user's mistake: an argument, a name or a file that cannot be used; the message says what to do."""


class UsageTypeError(UsageError, TypeError):
    """An argument of a type that cannot be used."""


class ArithmeticModeError(UsageError):
    """This process does not compute as IEEE 754 says, so none of its findings would mean anything."""


class TargetError(LabError):
    """A target did not do what a target must do: it raised, or its outputs are not one valid output a trial."""


class Refused(TargetError):
    """A release raised: an output like others, where an adversary sees failures."""


class OutsideDomain(TargetError):
    """An input lies outside the domain that a target declares, so it was not tried: nothing that the target did."""


class LabFault(LabError):
    """Something of the lab's own failed, which says nothing of the target."""


class AttackError(LabFault):
    """An attack did not do what an attack must do; that ends its part of an audit."""


class OutOfTime(LabFault):
    """The time was up before the next outputs could be drawn, so nothing was decided."""


class Word(enum.StrEnum):
    """One of a few words, the name of whose class is what they say; whatever else is given is refused."""

    @classmethod
    def _missing_(cls, value: object) -> Word:
        raise UsageError(f"{cls.__name__.lower()} must be one of {', '.join(cls)}, not {value!r}")


@contextlib.contextmanager
def from_extra(extra: str) -> Iterator[None]:
    """Import, inside the `with` block, what only an extra of this package installs.

    Raises:
        UsageError: it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        needed = f"this needs {error.name}, which is not installed: in a clone, pip install '.[{extra}]'"
        raise UsageError(needed) from error


def text_of(error: BaseException) -> str:
    """The message of an exception; empty if it cannot be had, because its class has a faulty `__str__`."""
    try:
        return str(error)
    except Exception:  # whatever somebody's class raises
        return ""


def in_one_line(error: BaseException) -> str:
    """An exception in one line: its type and message, or the message alone of one that this package raises."""
    parts = [text_of(error)] if isinstance(error, LabError) else [type(error).__name__, text_of(error)]
    return " ".join(": ".join(filter(None, parts)).split())


def passes_through(error: BaseException) -> bool:
    """Whether an exception that comes out of somebody's code is not that code's own, and is for whoever called it.

    That is Ctrl-C, what pytest ends a test by, and what the lab itself ends a call by. Other exceptions that are not an
    `Exception` are failures like others: Rust's panics, an `asyncio.CancelledError`, an exit.
    """
    return isinstance(error, KeyboardInterrupt) or (
        not isinstance(error, Exception)
        and any(kind.__module__.startswith(("_pytest.", "attacklab.")) for kind in type(error).__mro__)
    )
