"""Makes a process of its own unlike any other, so that a sampler which depends on the process does not repeat itself.

Nothing promises an order of the elements of a set, an address of an object, or what lies in memory that nobody has
written to, yet these are often the same in every run of one process. Here they are not: sets made by name give their
elements in a random order, objects without a `__repr__` of their own show a random address, and `numpy.empty` holds
random bytes. It cannot be undone, so it is for a process that ends soon.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray


class _Shuffled(set[Any]):
    def __iter__(self) -> Iterator[Any]:
        return _in_random_order(super().__iter__())

    def pop(self) -> Any:
        element = next(iter(self))
        self.remove(element)
        return element


class _FrozenShuffled(frozenset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return _in_random_order(super().__iter__())


def _in_random_order(elements: Iterable[Any]) -> Iterator[Any]:
    listed = list(elements)
    random.shuffle(listed)
    return iter(listed)


def _with_a_random_address(self: object) -> str:
    kind = type(self)
    return f"<{kind.__module__}.{kind.__qualname__} object at 0x{16 * random.getrandbits(40):012x}>"


def _with_random_bytes(empty: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[Any]]:
    @wraps(empty)
    def filled(*arguments: Any, **options: Any) -> NDArray[Any]:
        made = empty(*arguments, **options)
        if not made.dtype.hasobject:
            made[...] = np.frombuffer(random.randbytes(made.nbytes), dtype=made.dtype).reshape(made.shape)
        return made

    return filled


def unsettle(classes: Iterable[type]) -> None:
    """Make random the order of sets, the addresses that objects of these classes show, and arrays of no content."""
    vars(builtins).update(set=_Shuffled, frozenset=_FrozenShuffled)
    vars(np).update(empty=_with_random_bytes(np.empty), empty_like=_with_random_bytes(np.empty_like))
    for kind in classes:
        if getattr(kind, "__repr__", None) is object.__repr__:
            setattr(kind, "__repr__", _with_a_random_address)  # noqa: B010 (the type has a method there)
