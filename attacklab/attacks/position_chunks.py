"""Position chunks: sample and aggregate cuts its chunks by position, so that one record less moves all later ones.

Sample and aggregate scales its noise to one chunk's answer in k. Chunks that are runs of ⌈n/k⌉ positions break that
twice: without the first record all records move up and every chunk holds others; and from k to k + 1 records the runs
double in length, so that only ⌈(k + 1)/2⌉ chunks are left and the last one, a single record, weighs twice what the
noise is scaled to. The first shows where chunks answer with a maximum or the like, the second where they answer with a
mean. A vector of records names no person: to a mechanism that takes the position in it for the person's identity, the
first record's absence renames everybody.

The adversary knows the bounds, ε and k; the event is a half-line between the two answers. What a negative result does
not show: other numbers of chunks, and other ways of cutting.

Source: Near and Abuah, 'Programming Differential Privacy', chapter 8, section on sample and aggregate, whose code cuts
so; the pairs are ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attacklab.attacks.base import Probe, Scenario, bounds_of
from attacklab.attacks.common.half_lines import half_line_scenario
from attacklab.neighbours import Relation
from attacklab.targets import Kind, Target


@dataclass(frozen=True)
class PositionChunks:
    """The attack on chunks of positions; `chunks` is their number k."""

    chunks: int = 600
    name: str = "position_chunks"
    flaw: str = "one record less moves every later record to another chunk"

    def applies_to(self, target: Target) -> bool:
        """Means only."""
        return target.kind is Kind.MEAN

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Chunks of two equal records, all of which mix without the first; and one record more than chunks."""
        lower, upper = bounds_of(target)
        blocks = np.tile([lower, lower, upper, upper], self.chunks // 2)
        at_lower = np.full(self.chunks, lower)
        for longer, shorter in ((blocks, blocks[1:]), (np.append(at_lower, upper), at_lower)):
            yield half_line_scenario(longer, shorter, Relation.ADD_REMOVE, probe)
