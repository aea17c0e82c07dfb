"""Short pipelines: each is a function of one dataset, with a pair of neighbours on which it breaks or keeps a claim.

`leaks(pair, **claim)` and `keeps(pair, **claim)` add pipelines to `PIPELINES`: as a decorator one function, or by
keyword arguments one function each. `leaks(...) | keeps(...)` adds one pipeline once for each claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.releases import as_release
from attacklab.model.targets import Target
from corpus.common.specimen import Specimen, made

Function: TypeAlias = Callable[..., Any]

PIPELINES: list[Specimen] = []
"""All pipelines, in the order in which modules add them."""

RNG = np.random.default_rng()

LONG, SHORT = np.array([0.2, 0.9, 0.4, 1.0]), np.array([0.2, 0.9, 0.4])
ADDED = (LONG, SHORT)
CHANGED, SHIFTED = ((LONG, np.array([0.2, 0.9, 0.4, last])) for last in (0.0, 0.3))
BITS, FLIPPED = (np.array([1, 0, 1, 1]), np.array([1, 0, 1])), (np.array([1, 0, 1]), np.array([1, 1, 1]))
WORDS = (["a", "b", "a", "c"], ["a", "b", "a"])
TABLES = tuple(np.array([[1.0, 2.0], [0.5, 1.0], [0.0, 0.3], [1.0, last]]) for last in (1.9, 0.0))
FEES = (np.array([1.5, 2.5, 3.5, 4.5]), np.array([1.5, 2.5, 3.5, 9.5]))
COUNTS, COUNTED = (np.array([5, 3, 7]), np.array([5, 3, 8])), (np.array([3.0, 5, 2, 7]), np.array([3.0, 5, 2, 8]))
UTILITIES, EQUAL = ([3.0, 5.0, 4.0], [4.0, 4.0, 3.0]), ([1.0, 1.0, 1.0], [2.0, 0.0, 1.0])
MANY, FIVE = (np.array([0.25, 0.5, 1, 2, 3]), np.array([0.25, 0.5, 1, 2])), (np.arange(5.0), np.arange(4.0))
FAR = (np.array([0.0, 100.0]), np.array([0.0]))


@dataclass(frozen=True)
class Claimed:
    """Claims about a pipeline, each a tuple: whether it is broken, the pair, and the claim's arguments."""

    claims: tuple[tuple[bool, tuple[Any, ...], dict[str, Any]], ...]

    def __or__(self, other: Claimed) -> Claimed:
        return Claimed(self.claims + other.claims)

    def __call__(self, function: Function | None = None, **lines: Function) -> Any:
        """Add a function under its own name, or each keyword's function under the keyword; return `function`."""
        for name, row in ({function.__name__: function} if function else lines).items():
            for is_broken, (first, second), claim in self.claims:
                make = made(name, Target.dataset, as_release(row), claim)
                PIPELINES.append(Specimen(name, is_broken, make, pair=NeighbouringPair(first, second, None)))
        return function


def leaks(pair: tuple[Any, ...], **claim: Any) -> Claimed:
    """Return a claim that a pipeline breaks on a pair; by default ε = 1."""
    return Claimed(((True, pair, claim or {"epsilon": 1.0}),))


def keeps(pair: tuple[Any, ...], **claim: Any) -> Claimed:
    """Return a claim that a pipeline keeps on a pair; by default ε = 1."""
    return Claimed(((False, pair, claim or {"epsilon": 1.0}),))
