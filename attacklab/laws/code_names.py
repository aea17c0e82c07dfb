"""The names that compiled code looks up, stores and imports."""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

from attacklab.laws.trust import CALCULATING, is_trusted

#: Names that lead out of the code in which they stand.
LEADING_OUT = frozenset({
    "__import__", "__subclasses__", "breakpoint", "eval", "exec", "getattr", "globals", "hash", "id", "input", "locals",
    "open", "print", "random", "vars",
})  # fmt: skip


#: What reads or writes a name that stands in a string.
_BY_STRING = frozenset({"__dict__", "delattr", "getattr", "globals", "hasattr", "setattr", "vars"})


_IN_MODULE = (
    "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_NAME",
)  # fmt: skip
_STORING = ("STORE_ATTR", "DELETE_ATTR")
_NAMING = frozenset({*_IN_MODULE, *_STORING, "IMPORT_NAME", "IMPORT_FROM"})


@functools.lru_cache(maxsize=1 << 14)
def names_by_operation(code: types.CodeType) -> Mapping[str, frozenset[str]]:
    """The names in code by what it does with them; kept, because disassembling is most of the cost of a small law."""
    names: dict[str, set[str]] = {}
    for one in dis.get_instructions(code):
        if one.opname in _NAMING:
            names.setdefault(one.opname, set()).add(str(one.argval))
    return types.MappingProxyType({operation: frozenset(found) for operation, found in names.items()})


def _names_of(code: types.CodeType, *operations: str) -> set[str]:
    names = names_by_operation(code)
    return set().union(*(names.get(operation, ()) for operation in operations))


def global_names(code: types.CodeType) -> set[str]:
    """The names that code looks up in its module."""
    names = _names_of(code, *_IN_MODULE)
    return names | _names_in_strings(code) if "globals" in code.co_names else names


def _names_in_strings(code: types.CodeType) -> set[str]:
    """Names that code may look up by a string of its own."""
    if _BY_STRING.isdisjoint(code.co_names):
        return set()
    return {const for const in code.co_consts if type(const) is str and const.isidentifier()}


def stored_names(code: types.CodeType) -> set[str]:
    """Names of attributes that code sets or deletes."""
    return _names_of(code, *_STORING) | _names_in_strings(code)


def imported(code: types.CodeType, namespace: dict[str, Any]) -> Iterator[types.ModuleType]:
    """The modules that code imports or looks up when it runs."""
    names = {one.partition(".")[0] for one in _names_of(code, "IMPORT_NAME")} | _names_of(code, "IMPORT_NAME")
    if not {"modules", "import_module", "__import__"}.isdisjoint(code.co_names):
        names |= {const for const in code.co_consts if type(const) is str and const in sys.modules}
    parts = _names_of(code, "IMPORT_FROM")
    for name in names | {f"{name}.{part}" for name in names for part in parts}:
        for whole in (name, f"{namespace.get('__package__')}.{name}"):
            if whole not in sys.modules and not is_trusted(whole) and whole == name:
                with contextlib.suppress(ImportError, ValueError):
                    importlib.import_module(whole)
            if isinstance(sys.modules.get(whole), types.ModuleType):
                yield sys.modules[whole]


def imports(code: types.CodeType) -> bool:
    """Whether code imports a module that may ask the system, or one that is not known."""
    return any(name.partition(".")[0] not in CALCULATING for name in _names_of(code, "IMPORT_NAME"))
