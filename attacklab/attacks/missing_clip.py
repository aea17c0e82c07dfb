"""Missing clip: a record outside the bounds counts at its full value, because it is clipped on one side only or not at
all.

A record far below the lower bound, or far above the upper one, must count as that bound. In the pair all records lie at
one bound, and one of them is moved far outside it. To a mechanism that clips, the two datasets are the same. If the
claim holds for add-remove only, the record outside is added instead of moved.

The adversary knows the bounds. The event is a half-line: outputs beyond the middle of the two typical answers.

A negative result does not rule out a missing clip for records less than 2^30 widths of the range outside it, nor one
hidden by a clamp of the answer to the bounds.

Source: Near and Abuah, 'Programming Differential Privacy', chapter 8, whose code clips from above only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attacklab.attacks.base import Probe, Scenario, bounds_of
from attacklab.attacks.common.half_lines import half_line_scenario
from attacklab.errors import OutsideDomain
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Target

FAR_AWAY = 2.0**30
"""How many widths of the range the record lies outside it."""


@dataclass(frozen=True)
class MissingClip:
    """The attack on records outside the bounds.

    Attributes:
        size: the number of records; large, because propose-test-release refuses to answer for few.
    """

    size: int = 1 << 15
    name: str = "missing_clip"
    flaw: str = "a record outside the bounds is not clipped"

    def applies_to(self, target: Target) -> bool:
        """Sums and means, whose bounds are known."""
        return target.kind in (Kind.SUM, Kind.MEAN)

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Records at a bound, against the same with one record far outside that bound; for each of the two bounds."""
        lower, upper = bounds_of(target)
        for bound, outside in (
            (lower, lower - FAR_AWAY * (upper - lower)),
            (upper, upper + FAR_AWAY * (upper - lower)),
        ):
            inside = np.full(self.size, bound)
            others = inside if target.relation is Relation.ADD_REMOVE else inside[1:]
            relation = target.relation or Relation.SUBSTITUTE
            pair = NeighbouringPair.records(np.append(others, outside), inside, relation)
            with contextlib.suppress(OutsideDomain):
                near = target.adapted(pair)
                yield half_line_scenario(near.first, near.second, relation, probe)
