"""Exact laws of samplers, and whether they prove a claim for pairs of inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attacklab.laws import Decision, Law, Limits, certify, enumerate_law
from attacklab.model.errors import LabError, UsageError
from attacklab.model.targets import in_one_line

LIMITS = Limits(seconds=20.0)
"""What the enumeration of one law may take."""


def first_unproved(sampler: Callable[..., Any], epsilon: float, pairs: Iterable[Sequence[Any]]) -> Any | None:
    """The first pair for which exact laws do not prove that `sampler(input, bits)` keeps ε; None if they do for all.

    Raises:
        UsageError: the sampler has no law on an input that can be found; in one line.
    """
    laws: dict[str, Law] = {}

    def law_of(input_: Any) -> Law:
        if str(input_) not in laws:
            try:
                laws[str(input_)] = enumerate_law(sampler, input_, limits=LIMITS)
            except LabError as error:
                raise UsageError(f"{sampler.__name__} has no exact law on {input_}: {in_one_line(error)}") from None
        return laws[str(input_)]

    for first, second in pairs:
        if certify(epsilon, 0, law_of(first), law_of(second)).decision is not Decision.PROVED:
            return first, second
    return None
