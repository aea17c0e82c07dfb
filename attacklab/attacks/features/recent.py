"""A cache of what was recently read off outputs, so that a part that many features share is extracted only once.

Outputs are compared by identity, and must not be changed. Each thread has its own cache, of the last few outputs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

Made = TypeVar("Made")

KEPT: Final = 24  # how many arrays or lists of outputs and of their parts are remembered


class _Memory(threading.local):
    def __init__(self) -> None:
        self.of: OrderedDict[int, tuple[Any, dict[Hashable, Any]]] = OrderedDict()


_MEMORY = _Memory()


def recalled(values: Any, key: Hashable, make: Callable[[], Made]) -> Made:
    """Return what is cached for these very values under that key; otherwise cache and return `make()`."""
    known = _MEMORY.of.pop(id(values), None)
    if known is None or known[0] is not values:
        known = (values, {})
    _MEMORY.of[id(values)] = known
    while len(_MEMORY.of) > KEPT:
        _MEMORY.of.popitem(last=False)
    if key not in known[1]:
        known[1][key] = make()
    value: Made = known[1][key]
    return value
