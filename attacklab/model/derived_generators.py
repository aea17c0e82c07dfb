"""Whether code draws from another source than the generator that it is given: what it draws there, nobody counts.

A generator that is spawned, jumped, copied or seeded from another one gives as many words as it likes for the one word,
or none, that the other is seen to give. So do the global generators of `random` and numpy, one that a module keeps, and
the operating system (`secrets`, `os.urandom`). Generators of other packages, such as torch's, are not seen.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.random.bit_generator as numpys_bit_generator

_LOCK = next(name for name in ("RLock", "Lock") if hasattr(numpys_bit_generator, name))
"""What each of numpy's bit generators calls once, when it is made; its name differs between versions of numpy."""


@contextmanager
def noticed_sources() -> Iterator[list[str]]:
    """Give a list of what is done while this is entered: generators made, and bytes taken from the operating system."""
    noticed: list[str] = []
    lock, seed, urandom = getattr(numpys_bit_generator, _LOCK), random.Random.seed, os.urandom

    def locked() -> Any:
        noticed.append("makes a generator (numpy.random)")
        return lock()

    def seeded(generator: random.Random, *arguments: Any, **settings: Any) -> None:
        noticed.append("makes a generator (random.Random)")
        seed(generator, *arguments, **settings)

    def taken(count: int) -> bytes:
        noticed.append("takes random bytes of the operating system (os.urandom, secrets)")
        return urandom(count)

    with (
        patch.object(numpys_bit_generator, _LOCK, locked),
        patch.object(random.Random, "seed", seeded),
        patch.object(os, "urandom", taken),
        patch.object(random, "_urandom", taken),  # that of secrets and of random.SystemRandom
    ):
        yield noticed


class OtherGenerators:
    """The generators of numpy and `random` that there are, wherever they are kept, but for one.

    Args:
        given: the one that may be drawn from.
    """

    def __init__(self, given: np.random.Generator) -> None:
        kinds = (np.random.BitGenerator, random.Random)
        found = (thing for thing in gc.get_objects() if issubclass(type(thing), kinds))
        self._states = [(thing, _state(thing)) for thing in found if thing is not given.bit_generator]

    def moved(self) -> str:
        """The name of a generator that was drawn from since this was made; empty if none was."""
        for generator, before in self._states:
            if _state(generator) != before:
                return f"{type(generator).__module__.partition('._')[0]}.{type(generator).__name__}"
        return ""


def _state(generator: Any) -> Hashable:
    try:
        return generator.getstate() if isinstance(generator, random.Random) else _plain(generator.state)
    except Exception:  # somebody's class, or the operating system's, has none
        return None


def _plain(state: Any) -> Hashable:
    if isinstance(state, dict):
        return tuple((name, _plain(part)) for name, part in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else state
