"""Makes a process of its own unlike any other, so that a sampler which depends on the process does not repeat itself.

Python promises neither an order of the elements of a set nor an address of an object, yet both are the same in every
run of one process. Here they are not: sets made by name give their elements in a random order, and objects without a
`__repr__` of their own show a random address. It cannot be undone, so it is for a process that ends soon.
"""

from __future__ import annotations

import builtins
import random
from collections.abc import Iterable, Iterator
from typing import Any


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


def unsettle(classes: Iterable[type]) -> None:
    """Make the order of sets random, and the addresses that objects of these classes show."""
    vars(builtins).update(set=_Shuffled, frozenset=_FrozenShuffled)
    for kind in classes:
        if getattr(kind, "__repr__", None) is object.__repr__:
            setattr(kind, "__repr__", _with_a_random_address)  # noqa: B010 (the type has a method there)
