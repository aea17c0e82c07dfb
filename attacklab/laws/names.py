"""What the code of a sampler names, outside its arguments: some names are refused, all others must stay what they were.

The functions that run in a replay are noted (`sys.settrace`), and the names in their code looked up. What stands for
a clock, another generator, the environment or a hash is refused. Globals and attributes of modules are pickled and
compared. This finds mistakes of honest authors; nothing here watches for code that hides. What depends on the order of
a set is found by its law, which is another one under another hash seed (`fresh_process`).
"""

from __future__ import annotations

import builtins
import datetime as dt
import dis
import os
import random
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import getcontext
from typing import Any

import gmpy2
import numpy as np

from attacklab.draws.errors import ForeignCall, LawError, OpaqueState
from attacklab.laws.snapshot import INSTALLED, CannotCompare, is_fixed, is_library, pickled

CLOCKS_AND_GENERATORS = {
    "time": "reads the clock",
    **dict.fromkeys(("random", "secrets", "uuid", "numpy.random", "_ssl", "ssl"), "draws from elsewhere"),
    **dict.fromkeys(("os", "posix", "nt", "sys", "gc", "threading", "pathlib", "socket"), "asks the system"),
    **dict.fromkeys(("subprocess", "platform", "resource", "ctypes", "tempfile"), "asks the system"),
    **dict.fromkeys(("sqlite3", "dbm", "shelve", "multiprocessing", "logging"), "asks the system"),
}
"""Modules that a sampler must not use, because no law covers what they give, each with what it does."""

REFUSED: tuple[tuple[Any, str], ...] = (
    (builtins.hash, "hashes, which differs from process to process"),
    (builtins.id, "asks where an object lies in memory"),
    (builtins.open, "opens a file"),
    (builtins.input, "reads the terminal"),
    (builtins.print, "prints, and a proof runs it many thousand times"),
    (np.datetime64, "reads the clock"),
    (sys.argv, "asks the system"),
    (os.environ, "asks the system"),
)
"""Functions and objects that a sampler must not use, each with what it does."""

_CLOCKS = ("now", "utcnow", "today")
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)


class Names:
    """The names that a sampler's code reads, and what they stood for when it was first seen to run."""

    def __init__(self) -> None:
        self.refused: LawError | None = None
        self._codes: set[types.CodeType] = set()
        self._fixed: dict[tuple[int, str], tuple[str, Mapping[str, Any], str, Any]] = {}
        self._pickles: dict[tuple[int, str], bytes] = {}
        self._arithmetic = arithmetic()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Within this context, note each function that runs; at the end, raise if one uses a refused name."""
        before = sys.gettrace()
        sys.settrace(self._note)  # for calls alone: it asks for no lines
        try:
            yield
        finally:
            sys.settrace(before)
            if self.refused is not None:
                raise self.refused

    def changed(self) -> str | None:
        """Describe a noted name whose value has changed since then; None if no value has."""
        if arithmetic() != self._arithmetic:
            return "a setting of arithmetic"
        for key, (place, namespace, name, value) in self._fixed.items():
            now = namespace.get(name)
            if now is value and key not in self._pickles:
                continue
            try:
                if pickled(place, now) != (self._pickles.get(key) or pickled(place, value)):
                    return place
            except CannotCompare:
                return place
        return None

    def _note(self, frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in self._codes or self.refused is not None:
            return
        self._codes.add(code)
        module = str(frame.f_globals.get("__name__"))
        if is_library(module):
            if not module.startswith("attacklab.") and not code.co_filename.startswith((*INSTALLED, "<")):
                self.refused = ForeignCall(f"{code.co_name} is in a file named like the module {module}; rename it")
            return
        place = f"{code.co_name} (line {{}} of {code.co_filename.rpartition('/')[2]})"
        try:
            for line, name, owner, value in _named(code, frame):
                if reason := _reason(value, code):
                    reason = f"{place.format(line)} {reason} ({name}), but a sampler may use its input and bits alone"
                    self.refused = ForeignCall(f"{reason}; leave it out")
                elif owner is not None:
                    self._watch(owner, name.rpartition(".")[2], f"the global `{name}` read by {code.co_qualname}")
        except CannotCompare as error:
            message = f"{error}, whose state cannot be compared; do not use it in {code.co_name}"
            self.refused = OpaqueState(message)
        if "rvs" in code.co_names:  # of SciPy's distributions
            self.refused = ForeignCall(f"{place.format(code.co_firstlineno)} draws from elsewhere (rvs); use `bits`")

    def _watch(self, owner: Mapping[str, Any], name: str, place: str) -> None:
        key, value = (id(owner), name), owner.get(name)
        if key not in self._fixed:
            if not is_fixed(value):
                self._pickles[key] = pickled(place, value)
            self._fixed[key] = place, owner, name, value


def arithmetic() -> tuple[Any, ...]:
    """Return the current settings of arithmetic: precisions, roundings and what numpy does on errors."""
    decimal, gmp = getcontext(), gmpy2.get_context()
    return decimal.prec, decimal.rounding, gmp.precision, gmp.round, *np.geterr().values()


def _named(code: types.CodeType, frame: types.FrameType) -> Iterator[tuple[int, str, Any, Any]]:
    """Yield each name in the code: line, dotted name, the user's own namespace if that holds it (else None), value."""
    line, name, owner, value = 0, "", None, None
    for step in dis.get_instructions(code):
        line = (step.positions and step.positions.lineno) or line
        if step.opname == "COPY":  # of `module.name += 1`
            continue
        if name and step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, types.ModuleType | type):
            is_own = not is_library(getattr(value, "__module__", None) or value.__name__)
            if not (is_own and isinstance(value, type)):  # what an author's own class holds is watched with the class
                owner = vars(value) if is_own else None
                name, value = f"{name}.{step.argval}", getattr(value, step.argval, None)
                continue
        if name:
            yield line, name, owner, value
        name, owner, value = _loaded(step, code, frame)


def _loaded(step: dis.Instruction, code: types.CodeType, frame: types.FrameType) -> tuple[str, Any, Any]:
    """Return the name that an instruction loads (empty if none), the namespace that holds it, and its value."""
    text, names = step.argval, frame.f_globals
    if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return text, names if text in names else None, names.get(text, getattr(builtins, text, None))
    if step.opname == "LOAD_DEREF" and text in code.co_freevars:
        return text, None, frame.f_locals.get(text)
    return (text, None, sys.modules.get(text)) if step.opname == "IMPORT_NAME" else ("", None, None)


def _reason(value: Any, code: types.CodeType) -> str | None:
    """Return why a sampler must not use a value; None if it may."""
    owner = getattr(value, "__self__", None)
    if isinstance(value, _GENERATORS) or isinstance(owner, _GENERATORS):
        return "draws from elsewhere"
    if isinstance(owner, type) and issubclass(owner, dt.date) and value.__name__ in _CLOCKS:
        return "reads the clock"
    for refused, reason in REFUSED:
        if value is refused and code.co_name != "__hash__":
            return reason
    is_module = isinstance(value, types.ModuleType)
    module = str(getattr(value, "__name__" if is_module else "__module__", "")) if callable(value) or is_module else ""
    module = "numpy.random" if module.startswith("numpy.random") else module.partition(".")[0]
    return CLOCKS_AND_GENERATORS.get(module)
