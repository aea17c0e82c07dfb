"""Position chunks: sample and aggregate cuts chunks by position, so removing one record changes all chunks after it.

Sample and aggregate scales its noise to a change of one of k chunks' answers. Chunks that are runs of ⌈n/k⌉ positions
break that in two ways. Without the first record all records move up by one, and every chunk changes. And from k to k +
1 records the runs double in length: only ⌈(k + 1)/2⌉ chunks are left, and the last one, a single record, weighs twice
what the noise is scaled to. The first way shows if chunks answer with something like a maximum, the second if they
answer with a mean. A vector of records carries no names: if a mechanism takes positions for the identities of persons,
removing the first record renames everybody.

The adversary knows the bounds, ε and k. The event is a half-line: outputs beyond the middle of the two typical answers.

A negative result does not rule out other numbers of chunks, or other ways of cutting.

Source: Near and Abuah, 'Programming Differential Privacy', chapter 8, section on sample and aggregate, whose code cuts
by position. The pairs are ours.
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
    """The attack on chunks that are cut by position.

    Attributes:
        chunks: their number k.
    """

    chunks: int = 600
    name: str = "position_chunks"
    flaw: str = "removing one record changes every later chunk"

    def applies_to(self, target: Target) -> bool:
        """Means only."""
        return target.kind is Kind.MEAN

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Chunks of two equal records, all of which mix without the first record; and one record more than chunks."""
        lower, upper = bounds_of(target)
        blocks = np.tile([lower, lower, upper, upper], self.chunks // 2)
        at_lower = np.full(self.chunks, lower)
        for longer, shorter in ((blocks, blocks[1:]), (np.append(at_lower, upper), at_lower)):
            yield half_line_scenario(longer, shorter, Relation.ADD_REMOVE, probe)
