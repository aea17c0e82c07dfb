"""Exact laws of samplers, and whether they prove a claim for pairs of inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.laws import Decision, Law, Limits, certify, enumerate_law
from attacklab.model.errors import LabError, UsageError
from attacklab.model.random_bits import RandomBits
from attacklab.model.targets import in_one_line

LIMITS = Limits(seconds=20.0)
"""What the enumeration of one law may take."""


class Bits(RandomBits):
    """What samplers draw from here, whether they are run or proved; it does not show them which."""

    def __init__(self, source: RandomBits) -> None:
        self._source = source

    def take(self, count: int) -> int:
        """Draw bits; see `RandomBits.take`."""
        return self._source.take(count)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw words; see `RandomBits.words`."""
        return self._source.words(count)

    def call(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        """Run a sampler; see `RandomBits.call`."""
        return self._source.call(with_bits, sampler, *arguments)

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        """Run a rejection loop; see `RandomBits.repeat`."""
        return self._source.repeat(with_bits, sampler, *arguments)


def with_bits(sampler: Callable[..., Any], *rest: Any) -> Any:
    """Run `sampler(*arguments, bits)` on a source that shows nothing of itself; it comes last."""
    *arguments, source = rest
    return sampler(*arguments, Bits(source))


def first_unproved(sampler: Callable[..., Any], epsilon: float, pairs: Iterable[Sequence[Any]]) -> Any | None:
    """The first pair for which exact laws do not prove that `sampler(input, bits)` keeps ε; None if they do for all.

    Raises:
        UsageError: the sampler has no law on an input that can be found; in one line.
    """
    laws: dict[str, Law] = {}

    def law_of(input_: Any) -> Law:
        if str(input_) not in laws:
            try:
                laws[str(input_)] = enumerate_law(with_bits, sampler, input_, limits=LIMITS)
            except LabError as error:
                raise UsageError(f"{sampler.__name__} has no exact law on {input_}: {in_one_line(error)}") from None
        return laws[str(input_)]

    for first, second in pairs:
        if certify(epsilon, 0, law_of(first), law_of(second)).decision is not Decision.PROVED:
            return first, second
    return None
