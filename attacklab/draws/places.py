"""Finds where a draw is made: the innermost line of the user's code."""

from __future__ import annotations

import linecache
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_LAB = str(Path(__file__).parent.parent)
_known: dict[CodeType, bool] = {}


class Site(NamedTuple):
    """A line of a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def statement(self) -> str:
        """The text of the line."""
        return linecache.getline(self.file, self.line).strip()


NOWHERE = Site("", 0)


def is_users(function: Any) -> bool:
    """Whether a function is written in Python and is the user's own."""
    return isinstance(function, FunctionType) and is_users_code(function.__code__)


def is_users_code(code: CodeType) -> bool:
    """Whether code is the user's own: it belongs neither to Python nor to an installed package nor to this one."""
    known = _known.get(code)
    if known is None:
        file = code.co_filename
        known = not (file.startswith((*_LIBRARIES, _LAB, "<frozen", "<string", "<__array")) or "site-packages" in file)
        _known[code] = known
    return known


def here() -> Site:
    """Return the innermost line of the user's code on the stack; `NOWHERE` if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_users_code(frame.f_code):
            return Site(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    return NOWHERE
