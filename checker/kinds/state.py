"""What the modules of a package hold, before and after their functions ran: what a release leaves behind could change
the next one, or tell somebody of the records.

Followed are the modules' names, containers, arrays, objects' attributes, and functions with their defaults, attributes
and closures. What a cache keeps (`functools.lru_cache`) is not: that it only remembers is by reading.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from checker.core.certificate import Refused

DEEPEST = 6
"""How deep containers and objects are followed into each other."""


@contextmanager
def left_as_it_was(package: str) -> Iterator[None]:
    """While the context is open, nothing that a module of a package holds may change.

    Raises:
        Refused: something changed.
    """
    before = _held(package)
    yield
    after = _held(package)
    changed = sorted(name for name, value in before.items() if name in after and after[name] != value)
    added = sorted(name for name in after.keys() - before.keys() if name.partition(":")[0] in _modules(before))
    if changed or added:
        raise Refused(f"what runs leaves something behind, in {', '.join([*changed, *added])}")


def _modules(held: Mapping[str, Any]) -> set[str]:
    return {name.partition(":")[0] for name in held}


def _held(package: str) -> dict[str, Any]:
    found = {}
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] == package:
            for attribute, value in list(vars(module).items()):
                if attribute != "__builtins__":
                    found[f"{name}:{attribute}"] = _print_of(value, module.__name__, DEEPEST)
    return found


def _print_of(value: Any, module: str, deep: int) -> Any:
    """Return what tells a value from what it may become; only what a module defines itself is followed into."""
    if type(value) in (int, float, str, bytes, bool, type(None)):
        return type(value).__name__, repr(value)
    if not deep or isinstance(value, ModuleType):
        return id(value)
    if isinstance(value, list | tuple | set | frozenset):
        return id(value), [_print_of(one, module, deep - 1) for one in value]
    if isinstance(value, dict):
        return id(value), [(_print_of(key, module, 0), _print_of(one, module, deep - 1)) for key, one in value.items()]
    if isinstance(value, FunctionType):
        held = [value.__defaults__, value.__kwdefaults__, value.__dict__]
        held += [cell.cell_contents for cell in value.__closure__ or ()]
        return id(value), id(value.__code__), [_print_of(one, module, deep - 1) for one in held]
    if isinstance(value, type):
        if value.__module__ != module:
            return id(value)
        return id(value), [(name, _print_of(one, module, deep - 1)) for name, one in list(vars(value).items())]
    content = value.tobytes() if hasattr(type(value), "tobytes") else None
    attributes = getattr(value, "__dict__", None)
    return id(value), content, _print_of(attributes, module, deep - 1) if type(attributes) is dict else None
