"""Missing clip: a record outside the bounds counts as it is, because it is clipped on one side only or not at all.

Records far below the lower bound, or far above the upper one, must count as that bound. All records lie at one bound,
and one of them is put outside it: to a mechanism that clips, the two databases of this pair are the same. Where the
claim is for add-remove only, the record outside is one more.

The adversary knows the bounds; the event is a half-line between the two answers. What a negative result does not show:
records less than 2^30 widths of the range outside it, and sums clamped to the bounds afterwards.

Source: Near and Abuah, 'Programming Differential Privacy', chapter 8, whose code clips from above only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attacklab.attacks.base import Probe, Scenario, bounds_of
from attacklab.attacks.common.half_lines import half_line_scenario
from attacklab.neighbours import Relation
from attacklab.targets import Kind, Target

FAR_AWAY = 2.0**30
"""How many widths of the range a record lies outside it."""


@dataclass(frozen=True)
class MissingClip:
    """The attack on records outside the bounds.

    Attributes:
        size: the number of records; propose-test-release answers for many only.
    """

    size: int = 1 << 15
    name: str = "missing_clip"
    flaw: str = "a record outside the bounds counts as it is"

    def applies_to(self, target: Target) -> bool:
        """Sums and means, whose bounds are known."""
        return target.kind in (Kind.SUM, Kind.MEAN)

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Records at a bound, and one of them far outside."""
        lower, upper = bounds_of(target)
        for bound, outside in (
            (lower, lower - FAR_AWAY * (upper - lower)),
            (upper, upper + FAR_AWAY * (upper - lower)),
        ):
            inside = np.full(self.size, bound)
            others = inside if target.relation is Relation.ADD_REMOVE else inside[1:]
            relation = target.relation or Relation.SUBSTITUTE
            yield half_line_scenario(np.append(others, outside), inside, relation, probe)
