"""Which code is taken to keep no state of its own: that of the standard library, numpy, SciPy and gmpy2.

What it does keep (generators, clocks) is refused when it is called; see `foreign_calls`.
"""

from __future__ import annotations

import random
import sys
import types
from typing import Any

_TRUSTED = frozenset({*sys.stdlib_module_names, "numpy", "scipy", "gmpy2", "typing_extensions"}) - {"__main__"}


#: Modules of these whose functions calculate, and ask nothing of the system.
CALCULATING = frozenset({
    "__future__", "abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses",
    "decimal", "enum", "fractions", "functools", "gmpy2", "heapq", "itertools", "math", "numbers", "numpy", "operator",
    "re", "string", "struct", "types", "typing", "typing_extensions",
})  # fmt: skip


_HEAP_TYPE = 1 << 9


_IMMUTABLE_TYPE = 1 << 8


def is_shared_randomness(value: Any) -> bool:
    """Whether a value is a generator of the whole process: its draws are refused, or come from the source of bits."""
    return type(value) is random.SystemRandom or value is vars(random)["_inst"]


def is_trusted(module: str | None) -> bool:
    """Whether code of a module keeps no state of its own."""
    return module is not None and module.partition(".")[0] in _TRUSTED


def is_trusted_class(kind: type) -> bool:
    """Whether a class belongs to a trusted module. A class made by a function of such a module also bears its name."""
    if type(kind.__module__) is not str:  # as a class of Cython's may have it
        return not kind.__flags__ & _HEAP_TYPE
    if not is_trusted(kind.__module__) or not kind.__flags__ & _HEAP_TYPE:
        return is_trusted(kind.__module__)
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        if name == "<locals>":
            return True
        found = getattr(found, name, None)
    return found is kind or bool(kind.__flags__ & _IMMUTABLE_TYPE) or "__dict__" not in vars(kind)


def is_trusted_function(function: types.FunctionType) -> bool:
    """Whether code belongs to a trusted module; `__module__` says so of a wrapper, too."""
    return is_trusted(function.__globals__.get("__name__"))


def calculates(value: Any) -> bool:
    """Whether a module, a class or a function of a trusted module can do nothing but calculate."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return (module or "builtins").partition(".")[0] in CALCULATING and not str(module).startswith("numpy.random")


def is_own(kind: type) -> bool:
    """Whether a class is the sampler's own, written in Python."""
    return bool(kind.__flags__ & _HEAP_TYPE) and not is_trusted_class(kind)
