"""Failing size: a target that fails for databases of some sizes only tells one person's presence by failing.

Code that divides by the number of records, or by that less some constant, raises or returns NaN below some size; code
that was written for small databases may above one. Where the relation is add-remove, the size is no public knowledge:
of two databases on either side of such a border the target answers for one and fails for the other, whatever noise it
would have added.

Equal records, 0, 1, 2, 4, 8, … of them, show between which powers of two the target stops failing or begins to, and
bisection finds the border. The pair is the databases on either side of it; the event is the failure. The adversary
knows nothing but the bounds. Where the target fails alike at every size there is no pair, and nothing leaks.

What a negative result does not show: failures beyond the largest size, sizes between two powers of two that fail by
themselves, and failures that depend on the records' values (`special_values`).

Source: the smooth sensitivity of Near and Abuah, 'Programming Differential Privacy', chapter 8, divides by zero for
fewer than 199 records; the search is ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Probe, Scenario, bounds_of
from attacklab.attacks.common.failures import probed, scenario_on
from attacklab.bisection import least
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Outputs, Target

MOST_RECORDS = 1 << 12


@dataclass(frozen=True)
class FailingSize:
    """The attack; `most_records` is the largest size tried."""

    most_records: int = MOST_RECORDS
    name: str = "failing_size"
    flaw: str = "the target fails for databases of some sizes only"

    def applies_to(self, target: Target) -> bool:
        """Sums and means whose number of records is not public."""
        return target.kind in (Kind.SUM, Kind.MEAN) and target.relation is not Relation.SUBSTITUTE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """One scenario a border.

        Raises:
            TargetError: the target fails at every size.
        """
        lower, _ = bounds_of(target)

        def records(size: int) -> NDArray[np.float64]:
            return np.full(size, lower)

        def seen(size: int) -> Outputs | None:
            return probed(probe, records(size))

        def differs(size: int, *, fails: bool) -> bool:
            return (seen(size) is None) != fails

        sizes = [0, *(1 << power for power in range(self.most_records.bit_length()))]
        fails = {size: seen(size) is None for size in sizes}
        if all(fails.values()):
            probe(records(self.most_records), 1)
        for low, high in itertools.pairwise(sizes):
            if fails[low] == fails[high]:
                continue
            border = least(partial(differs, fails=fails[low]), low, high)
            pair = NeighbouringPair.records(records(border - 1), records(border), Relation.ADD_REMOVE)
            yield scenario_on(pair, (seen(border - 1), seen(border)), ())
