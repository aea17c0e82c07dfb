"""Refuses what a sampler may not call while its law is sought: clocks, other randomness, identities, the system.

The result of such a call comes neither from the sampler's input nor from its bits, so no law covers it. Every leaf is
replayed once while the calls of its code are watched (`sys.setprofile`). The call is refused before it is made.
"""

from __future__ import annotations

import datetime as dt
import gc
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from attacklab.laws.errors import ForeignCall
from attacklab.laws.own_code import own_frame

#: Modules of the interpreter all of whose functions ask the system.
_SYSTEM = {
    "time": "reads the clock",
    "posix": "asks the operating system",
    "nt": "asks the operating system",
    "_posixsubprocess": "starts a process",
    "_socket": "opens a connection",
    "_uuid": "draws from elsewhere",
    "_ssl": "draws from elsewhere",
    "_ctypes": "calls foreign code",
    "_locale": "asks for the locale",
    "resource": "asks the operating system",
    "select": "asks the operating system",
    "gc": "looks at memory",
}

#: Functions of the interpreter that the sampler's own code may not call; the standard library uses them harmlessly.
_OWN = {
    "id": "asks where an object lies in memory",
    "hash": "hashes, which differs from process to process",
    "print": "prints, and a proof runs it many thousand times",
    "input": "reads the terminal",
    "open": "opens a file",
    "get_ident": "asks for its thread",
    "get_native_id": "asks for its thread",
    "start_new_thread": "starts a thread",
}

#: Functions of the standard library, written in Python, that ask something of the system.
_ASKING = {
    ("os", "_Environ.__getitem__"): "reads the environment",
    ("threading", "current_thread"): "asks for its thread (threading.current_thread)",
    ("threading", "main_thread"): "asks for a thread (threading.main_thread)",
}

#: Modules of the standard library that open files for the interpreter: source code for tracebacks, logs.
_OPENING = ("importlib", "linecache", "logging", "tokenize", "traceback", "warnings")

_CLOCKS = ("now", "utcnow", "today")

_bytes_of_numpy = np.random.bytes


def _misdeed(function: Any, caller: FrameType) -> str | None:
    """What is wrong with a call of a function written in C, if anything is."""
    name, owner = function.__name__, getattr(function, "__self__", None)
    module = function.__module__ or ""
    if module in _SYSTEM and name != "fspath":
        return f"{_SYSTEM[module]} ({module}.{name})"
    if isinstance(owner, random.Random):
        return f"draws from elsewhere (random.{name})"
    if isinstance(owner, type) and issubclass(owner, dt.date) and name in _CLOCKS:
        return f"reads the clock ({owner.__name__}.{name})"
    if name in _OWN and module in ("builtins", "sys", "_thread", "_io", "io"):
        module = caller.f_globals.get("__name__", "")
        is_hashing_itself = name == "hash" and caller.f_code.co_name == "__hash__"
        allowed = _OPENING if name == "open" else sys.stdlib_module_names
        if name == "start_new_thread" or not (is_hashing_itself or module.partition(".")[0] in allowed):
            return f"{_OWN[name]} ({name})"
    return None


class ForeignCalls:
    """Refuses foreign calls. It seeds numpy's generator for the whole process, whose functions it cannot see."""

    def __init__(self) -> None:
        np.random.seed(0)
        self._untouched = np.random.RandomState(0)

    @contextmanager
    def refused(self, stop: Callable[[ForeignCall], None]) -> Iterator[None]:
        """Refuse foreign calls made while this is entered.

        Args:
            stop: told of a call before it is made; raises.
        """

        def look(frame: FrameType, event: str, function: Any) -> None:
            if event == "c_call":
                misdeed = _misdeed(function, frame)
                if misdeed is None or frame.f_globals.get("__name__", "").startswith("attacklab."):
                    return
            elif event == "call":
                misdeed = _ASKING.get((frame.f_globals.get("__name__", ""), frame.f_code.co_qualname))
            else:
                return
            if misdeed is not None and not (_is_logging(frame) or _is_logging(frame.f_back)):
                sys.setprofile(None)
                reason = f"{_place(frame)} {misdeed}: a law covers the input and the bits alone; leave that out"
                stop(ForeignCall(reason))

        before, collects = sys.getprofile(), gc.isenabled()
        gc.disable()  # others' callbacks on a collection are not the sampler's calls
        sys.setprofile(look)
        try:
            yield
            sys.setprofile(None)
            if _bytes_of_numpy(8) != self._untouched.bytes(8):
                raise ForeignCall(
                    "the sampler draws from elsewhere (np.random): a law covers the input and the bits alone; "
                    "leave that out"
                )
        finally:
            sys.setprofile(before if callable(before) else None)  # a profiler written in C sets itself
            if collects:
                gc.enable()


def _is_logging(frame: FrameType | None) -> bool:
    """Whether the logger is at work, which notes the time and the thread and gives nothing back."""
    return frame is not None and frame.f_globals.get("__name__") == "logging"


def _place(frame: FrameType) -> str:
    """The innermost line of the sampler's own code, and its function."""
    own, _ = own_frame(frame)
    return f"{own.f_code.co_name} (line {own.f_lineno} of {own.f_code.co_filename.rpartition('/')[2]})"
