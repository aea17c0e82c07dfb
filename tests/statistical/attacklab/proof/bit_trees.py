"""Samplers that are trees of bits, alone in a module: the search for a law compares all that a sampler can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attacklab.model.random_bits import RandomBits


@dataclass(frozen=True)
class Tree:
    """Takes some bits and goes on with the branch that they choose; a leaf is an outcome."""

    bits: int
    branches: tuple[Any, ...]

    def __call__(self, source: RandomBits) -> Any:
        following = self.branches[int(source.take(self.bits))]
        return following(source) if isinstance(following, Tree) else following


@dataclass(frozen=True)
class OfAnswer:
    """A sampler with a tree for each of two answers."""

    trees: tuple[Any, Any]

    def __call__(self, answer: float, bits: RandomBits) -> Any:
        tree = self.trees[int(answer)]
        return tree(bits) if isinstance(tree, Tree) else tree
