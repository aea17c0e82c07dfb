"""Samplers that find their law themselves, because `enumerate_law` cannot run them: programs in other processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from attacklab.laws.enumeration import Limits, Progress
from attacklab.laws.law import Law


@runtime_checkable
class HasLaw(Protocol):
    """A sampler that computes its own output law."""

    def law(self, input_: Any, *, limits: Limits, progress: Callable[[Progress], None] | None = None) -> Law:
        """The law of the output on this input, closed if a few runs close it.

        Raises:
            TargetError: it cannot be found; the message says why.
        """
