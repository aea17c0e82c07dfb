"""Work is something that an adversary sees, so it belongs to the output: (output, number of random bits drawn).

Bits are those that the sampler takes or, for a release without one, that the PCG64 generator of the lab gives.

Source: Ratliff and Vadhan, 'A Framework for Differential Privacy Against Timing Attacks' (arXiv 2409.05623).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from attacklab.model.errors import TargetError, UsageError
from attacklab.model.random_bits import SeededBits, bits_between, with_bits
from attacklab.model.targets import Kind, Target


def seeing_work(target: Target) -> Target:
    """The same target, whose claim is for (output, random bits drawn); a selection needs `pairs`, as of a dataset.

    Raises:
        UsageError: its draws are not seen from here; let it return (output, work) itself.
    """
    if target.sampler is None and getattr(target.release, "draws_elsewhere", False):
        raise UsageError(f"the draws of {target.name} are not seen from here; let it return (output, work) itself")
    return replace(
        target,
        name=f"seeing_work({target.name})",
        kind=Kind.DATASET if target.kind is Kind.SELECTION else target.kind,
        release=_Counted(target.release, target.sampler),
        sampler=None if target.sampler is None else partial(with_bits, target.sampler),
        certificate=None,
    )


@dataclass(frozen=True)
class _Counted:
    release: Callable[[Any, int, np.random.Generator], Any]
    sampler: Callable[[Any, Any], Any] | None

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> list[tuple[Any, int]]:
        if self.sampler is not None:
            bits = SeededBits(rng)
            return [with_bits(self.sampler, copy.deepcopy(input_), bits) for _ in range(trials)]
        seen = [self._drawn(input_, rng) for _ in range(trials)]
        if len({repr(output) for output, _ in seen}) > 1 and not any(bits for _, bits in seen):
            raise TargetError(
                "its outputs differ though it took no bits of its generator; return (output, work) itself"
            )
        return seen

    def _drawn(self, input_: Any, rng: np.random.Generator) -> tuple[Any, int]:
        before = rng.bit_generator.state
        (output,) = self.release(copy.deepcopy(input_), 1, rng)
        return output, bits_between(before, rng.bit_generator.state)
