"""What an exception says, whatever its class makes of that.

The child of an isolated target loads this as a plain file in an interpreter that may have nothing but numpy, and may be
as old as Python 3.8: so it imports nothing of the package and uses no newer syntax.
"""

from __future__ import annotations


def text_of(error: BaseException) -> str:
    """The message of an exception; empty if it cannot be had, because its class has a faulty `__str__`."""
    try:
        return str(error)
    except Exception:  # whatever somebody's class raises
        return ""


def in_one_line(error: BaseException) -> str:
    """An exception in one line: its type and message."""
    return " ".join(f"{type(error).__name__}: {text_of(error)}".split())
