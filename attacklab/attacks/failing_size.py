"""Failing size: a target that fails only for datasets of some sizes tells by failing whether one person is present.

Code that divides by the number of records, or by that number less a constant, raises or returns NaN below some size.
Code that was written for small datasets may fail above some size. If the relation is add-remove, the size is not
public: of two datasets on either side of such a border, the target answers for one and fails for the other, whatever
noise it would have added.

The adversary knows only the bounds. It tries datasets of 0, 1, 2, 4, 8, … equal records to see between which powers of
two the target starts or stops failing, and finds the border by bisection. The pair is the two datasets on either side
of the border; the event is the failure. If the target fails at every size, or at none, there is no pair and nothing
leaks.

A negative result does not rule out failures beyond the largest size tried, a range of failing sizes that lies between
two powers of two, or failures that depend on the values of records (see `special_values`).

Source: the search is ours. An example is the smooth sensitivity in Near and Abuah, 'Programming Differential Privacy',
chapter 8, which divides by zero for fewer than 199 records.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Probe, Scenario, bounds_of
from attacklab.attacks.common.failures import answered, failed, probed, scenario_on
from attacklab.bisection import least
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Outputs, Target

MOST_RECORDS = 1 << 12


@dataclass(frozen=True)
class FailingSize:
    """The attack.

    Attributes:
        most_records: the largest size tried.
    """

    most_records: int = MOST_RECORDS
    name: str = "failing_size"
    flaw: str = "the target fails only for datasets of some sizes"

    def applies_to(self, target: Target) -> bool:
        """Sums and means whose number of records is not public."""
        return target.kind in (Kind.SUM, Kind.MEAN) and target.relation is not Relation.SUBSTITUTE

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """One scenario for each border.

        Raises:
            TargetError: the target always raises, at every size.
        """
        lower, _ = bounds_of(target)

        def records(size: int) -> NDArray[np.float64]:
            return np.full(size, lower)

        def seen(size: int) -> Outputs | None:
            return probed(probe, records(size))

        def has_failed(size: int) -> bool:
            outputs = seen(size)
            return outputs is None or bool(failed(outputs).any())

        def differs(size: int, *, fails: bool) -> bool:
            return has_failed(size) != fails

        sizes = [0, *(1 << power for power in range(self.most_records.bit_length()))]
        fails = {size: has_failed(size) for size in sizes}
        if all(fails.values()):
            answered(probe, records(self.most_records), 1)
        for low, high in itertools.pairwise(sizes):
            if fails[low] == fails[high]:
                continue
            border = least(partial(differs, fails=fails[low]), low, high)
            pair = NeighbouringPair.records(records(border - 1), records(border), Relation.ADD_REMOVE)
            yield scenario_on(pair, (seen(border - 1), seen(border)), ())
