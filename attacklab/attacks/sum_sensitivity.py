"""Sum sensitivity: a sum or mean that moves further between neighbours than the sensitivity its noise is scaled to.

A path of datasets leads from n records at one end of the bounds to n records at the other, replacing one record at a
time. However the sum is rounded, it is a double, and doubles near it are U apart. If the whole path moves the sum by U
or more, then *some single step* moves it by at least U, though in real arithmetic every step moves it by only u − l.
With bounds (1, 1 + 2^−48) and 1024 records, U is 64 times the sensitivity, in whatever order the records are added. The
adversary bisects the path, each time keeping the half with the larger change, and looks at nothing but noisy outputs.
If the bounds are too wide for that, it bisects for the change that real arithmetic does not explain: the step at which
a machine integer wraps around or a double overflows.

For add-remove, the path adds records at the bound of larger magnitude, one at a time. There too, a machine integer
wraps around and a double overflows. If the claim names no relation, it is taken to hold for both, and both paths are
searched.

The adversary knows the bounds and ε. The event is a half-line: outputs beyond the middle of the two typical answers. A
step that replaces a record moves the real sum by no more than the sensitivity under either relation, max(|l|, |u|) or u
− l. A step that adds a record moves it by no more than the sensitivity under add-remove. So a target that adds noise
keeps its claim if its computed answer moves by no more than its sensitivity.

A negative result does not rule out a machine integer that takes more than 2^14 records at the bounds to fill, nor
repeated rounding or reordering, which are not searched for. For doubles under add-remove the latter matters little:
rounding moves a sum by at most n²·2^−53·max(|l|, |u|) (Higham 2002, section 4.2), so two sums of 2^14 records move
apart by at most 2^−24 of the sensitivity more. In binary32 it does matter, from a few thousand records on.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It', which gives pairs for known orders of summation. The bisection is ours.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import OfKinds, Probe, Scenario, ends, on_path
from attacklab.attacks.common.half_lines import half_line_scenario, probed_within, typical
from attacklab.model import bisection
from attacklab.model.domains.datasets import RELATIONS, relations_of
from attacklab.model.errors import TargetError
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Kind, Target

PROBED = 31  # the most outputs that are drawn at each step of the bisection; their median stands for the answer

STEPS = 36  # about how many steps the bisections of both paths have

MOST_RECORDS = 1 << 14

EXCESS = 64.0  # how many noise scales apart the two answers should be, if n can be chosen to make them so


@dataclass(frozen=True)
class SumSensitivity(OfKinds, kinds={Kind.SUM, Kind.MEAN}):
    """The attack on sums and means.

    Attributes:
        most_records: the largest n, a power of two.
        probed: how many outputs are drawn at each step of the bisection.
    """

    most_records: int = MOST_RECORDS
    probed: int = PROBED
    name: str = "sum_sensitivity"
    flaw: str = "a rounded, wrapped or overflowing sum moves further than its declared sensitivity"

    @property
    def looks(self) -> int:
        """About how many outputs it draws to find the steepest steps."""
        return STEPS * self.probed

    def within(self, trials: int) -> SumSensitivity:
        """The attack with as many outputs at each step as an audit of so many trials warrants."""
        return replace(self, probed=probed_within(self.probed, trials))

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The steepest step of each path."""
        for relation in relations_of(target.relation, RELATIONS):
            yield self._steepest(target, probe, relation)

    def _steepest(self, target: Target, probe: Probe, relation: Relation) -> Scenario:
        near, far = ends(target)
        path: Callable[[int], NDArray[np.float64]]
        if relation is Relation.ADD_REMOVE:
            size, path = self.most_records, partial(_of_added, far)
            slope = 0.0 if target.kind is Kind.MEAN else far
        else:
            size = self._size(target, near, far)
            path = partial(on_path, near, far, size)
            # If doubles near the sum are further apart than a step, any change at all is what we look for.
            rounds_away = math.ulp(size * far) > abs(far - near)
            slope = 0.0 if rounds_away else (far - near) / (size if target.kind is Kind.MEAN else 1)
        step = steepest_step(lambda place: _answer(path(place), probe, self.probed), size, slope)
        return half_line_scenario(path(step), path(step + 1), relation, probe, probed=self.probed)

    def _size(self, target: Target, near: float, far: float) -> int:
        """The least power of two at which doubles near the sum are far enough apart; the largest one if none is."""
        wanted = EXCESS * abs(far - near) / min(target.claim.nominal.epsilon, 1.0)
        size = 2
        while size < self.most_records and not math.ulp(size * far) >= wanted:
            size *= 2
        return size


def _answer(records: NDArray[np.float64], probe: Probe, probed: int) -> float:
    """The typical answer; 0 if the target fails, as it may on few records."""
    try:
        return typical(probe(records, probed))
    except TargetError:
        return 0.0


def _of_added(far: float, added: int) -> NDArray[np.float64]:
    """The dataset of one record at the far end and `added` more."""
    return np.full(1 + added, far)


def steepest_step(answer: Callable[[int], float], size: int, slope: float) -> int:
    """Bisect a path for a step that moves the answer more than it should.

    If answers are multiples of U, `slope` is 0 and the ends of the path differ, the step found moves the answer by U or
    more: at least one of two halves has ends that differ. The same holds if answers differ from real arithmetic by
    multiples of U and `slope` is how far each step moves the answer in real arithmetic.

    Args:
        answer: `answer(k)`, the answer to dataset k of the path.
        size: the number of steps.
        slope: how far each step is expected to move the answer; that much of its move is not counted.

    Returns:
        A number k; the step leads from dataset k to dataset k + 1.
    """
    seen = functools.cache(answer)
    seen(0), seen(size)

    def excess(low: int, high: int) -> float:
        change = seen(high) - seen(low)
        if not math.isfinite(change):
            return abs(change) if math.isinf(change) else 0.0
        return abs(change - slope * (high - low))

    return bisection.steepest_step(excess, 0, size)
