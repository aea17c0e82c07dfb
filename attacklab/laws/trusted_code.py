"""Which code is taken to keep no state of its own: that of the standard library, numpy, SciPy and gmpy2.

What it does keep (generators, clocks) is refused when it is called; see `foreign_calls`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

_TRUSTED = frozenset({*sys.stdlib_module_names, "numpy", "scipy", "gmpy2", "typing_extensions"}) - {"__main__"}

CALCULATING = frozenset({
    "__future__", "abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses",
    "decimal", "enum", "fractions", "functools", "gmpy2", "heapq", "itertools", "math", "numbers", "numpy", "operator",
    "re", "string", "struct", "types", "typing", "typing_extensions",
})  # fmt: skip
"""Trusted modules whose functions calculate, and ask nothing of the system."""

_HEAP_TYPE = 1 << 9


def is_trusted(module: Any) -> bool:
    """Whether code of a module keeps no state of its own."""
    return isinstance(module, str) and module.partition(".")[0] in _TRUSTED


def is_the_labs(module: Any) -> bool:
    """Whether code is of the instrument itself, which a class that finds its own law names."""
    return isinstance(module, str) and module.startswith("attacklab.")


def is_own(kind: type) -> bool:
    """Whether a class is the sampler's own, written in Python."""
    return bool(kind.__flags__ & _HEAP_TYPE) and not is_trusted(kind.__module__)


def leads_out(value: Any) -> bool:
    """Whether a module, a class or a function that is not the sampler's own may do more than calculate."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return str(module or "builtins").partition(".")[0] not in CALCULATING or str(module).startswith("numpy.random")
