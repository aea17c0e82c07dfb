"""Whether code made a random generator of its own: what it draws from that one, nobody counts.

A generator that is spawned, jumped, copied or seeded from another one gives as many words as it likes for the one word,
or none, that the other is seen to give.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy.random.bit_generator as numpys_bit_generator

_LOCK = next(name for name in ("RLock", "Lock") if hasattr(numpys_bit_generator, name))
"""What each of numpy's bit generators calls once, when it is made; its name differs between versions of numpy."""


@contextmanager
def noticed_generators() -> Iterator[list[str]]:
    """Give a list of the kinds of generators that are made while this is entered, by whatever name they are called."""
    made: list[str] = []
    lock, seed = getattr(numpys_bit_generator, _LOCK), random.Random.seed

    def locked() -> Any:
        made.append("numpy.random")
        return lock()

    def seeded(generator: random.Random, *arguments: Any, **settings: Any) -> None:
        made.append("random.Random")
        seed(generator, *arguments, **settings)

    with patch.object(numpys_bit_generator, _LOCK, locked), patch.object(random.Random, "seed", seeded):
        yield made
