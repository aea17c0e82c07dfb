"""Sum sensitivity: sums and means that move further between neighbours than the sensitivity the noise is scaled to.

A path of datasets leads from n records at one end of the bounds to n at the other, one record at a time. However the
sum is rounded, its value is a double, and doubles near it are U apart: if all of the path moves it by U or more, then
*some single step* moves it by a whole U, though in real arithmetic every step moves it by u − l only. With bounds
(1, 1 + 2^−48) and 1024 records that is 64 times the sensitivity, in whatever order the records are added. The adversary
bisects the path for the half with the larger change, looking at noisy outputs alone. Where the bounds are too wide for
that, it bisects for the change that real arithmetic does not account for: the step at which a machine integer wraps
around or a double overflows.

Where the claim is for add-remove only, the path adds records at the bound of larger magnitude, one by one: there too a
machine integer wraps around and a double overflows.

The adversary knows the bounds and ε. The event is a half-line: beyond the middle of the two answers as they come out.
A step that replaces a record moves the real sum by no more than either relation's sensitivity, max(|l|, |u|) or u − l,
and one that adds a record by no more than that of add-remove, so that a target whose computed answer keeps within it
keeps its claim, with additive noise.

What a negative result does not show. n is bounded: a machine integer that more than 2^14 records at the bounds would be
needed to fill is not reached. Repeated rounding and reordering are not sought. For doubles under add-remove that loses
little: rounding moves a sum by at most n²·2^−53·max(|l|, |u|) (Higham 2002, section 4.2), so that two sums of 2^14
records come 2^−24 of the sensitivity further apart. In binary32 it is not little from a few thousand records on.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It'. They give pairs for given orders of summation; the bisection is not in theirs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab import bisection
from attacklab.attacks.base import Probe, Scenario
from attacklab.attacks.common.datasets import ends, on_path
from attacklab.attacks.common.half_lines import half_line_scenario, typical
from attacklab.errors import TargetError
from attacklab.neighbours import Relation
from attacklab.targets import Kind, Target

PROBED = 31
"""Outputs whose median stands for the answer, at every step of the bisection."""

MOST_RECORDS = 1 << 14

EXCESS = 64.0
"""How many noise scales apart the two answers should be, where n can be chosen for that."""


@dataclass(frozen=True)
class SumSensitivity:
    """The attack on sums and means; `most_records` bounds n and is a power of two."""

    most_records: int = MOST_RECORDS
    name: str = "sum_sensitivity"
    flaw: str = "a rounded, wrapped or overflowing sum moves further than its declared sensitivity"

    def applies_to(self, target: Target) -> bool:
        """Sums and means, whose bounds are known."""
        return target.kind in (Kind.SUM, Kind.MEAN)

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The steepest step of the path."""
        near, far = ends(target)
        path: Callable[[int], NDArray[np.float64]]
        if target.relation is Relation.ADD_REMOVE:
            size, path = self.most_records, partial(_of_added, far)
            slope = 0.0 if target.kind is Kind.MEAN else far
        else:
            size = self._size(target, near, far)
            path = partial(on_path, near, far, size)
            # Where doubles at the sum are further apart than a step, a change of any kind is what is looked for.
            rounds_away = math.ulp(size * far) > abs(far - near)
            slope = 0.0 if rounds_away else (far - near) / (size if target.kind is Kind.MEAN else 1)
        step = steepest_step(lambda place: _answer(path(place), probe), size, slope)
        relation = target.relation or Relation.SUBSTITUTE
        yield half_line_scenario(path(step), path(step + 1), relation, probe, probed=PROBED)

    def _size(self, target: Target, near: float, far: float) -> int:
        """The least power of two for which doubles at the sum are far enough apart; the largest where none is."""
        wanted = EXCESS * abs(far - near) / min(target.claim.epsilon, 1.0)
        size = 2
        while size < self.most_records and not math.ulp(size * far) >= wanted:
            size *= 2
        return size


def _answer(records: NDArray[np.float64], probe: Probe) -> float:
    """The typical answer; 0 where the target fails, as it may on few records."""
    try:
        return typical(probe(records, PROBED))
    except TargetError:
        return 0.0


def _of_added(far: float, added: int) -> NDArray[np.float64]:
    """The dataset of one record at the far end, and so many more."""
    return np.full(1 + added, far)


def steepest_step(answer: Callable[[int], float], size: int, slope: float) -> int:
    """Bisect a path for a step that moves the answer more than it should.

    If answers are multiples of U and slope is 0, a step is found that moves by U or more, provided that the ends of
    the path differ: of two halves at least one has ends that differ. Likewise for answers that differ from those of
    real arithmetic by multiples of U, where slope is what a step moves those.

    Args:
        answer: the answer to the path's dataset of that number.
        size: the number of steps.
        slope: how much of each step's move is not counted.

    Returns:
        A number k; the step is that from dataset k to dataset k + 1.
    """
    seen = functools.cache(answer)
    seen(0), seen(size)

    def excess(low: int, high: int) -> float:
        change = seen(high) - seen(low)
        if not math.isfinite(change):
            return abs(change) if math.isinf(change) else 0.0
        return abs(change - slope * (high - low))

    return bisection.steepest_step(excess, 0, size)
