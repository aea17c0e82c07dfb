"""Integer cast: an answer is rounded or wraps around in a narrower format before the noise is added.

An integer above 2^53 is rounded when it becomes a double: 2^60 + 128 goes down to 2^60, its neighbour 2^60 + 129 goes
up to 2^60 + 256. In binary32 that begins at 2^24. An integer of 16 bits wraps around at 2^15, and so does an answer of
327.68 that is held in hundredths. Answers that differ by 1 come out far apart, and noise for a sensitivity of 1 does
not hide it.

The adversary knows ε and picks the answers. First come a tie between two floats of the outputs' format, and the integer
above it; the adversary bets on an output beyond the tie. If their typical outputs are no further apart than the noise
explains, the whole axis is searched, whatever the format and the unit: answers are drawn at ever greater heights, up
and down. Where a typical output has moved away from its answer by more than the noise explains, bisection looks for the
single step at which it jumps. Such a step is either between that answer and the last one that kept in place (a wrap),
or close behind it (a rounding). A target that holds the answer at an end of its range moves away without a jump, and is
left alone. Where integers are refused, floats are tried; where those are refused too, the search ends.

A target that gives floats, and declares no domain of integers, has doubles for its answers: an integer that is not a
double is not tried on it. Without a cast, such a target adds doubles, whose grid `precision` looks at.

A negative result does not rule out jumps of less than a few times the spread of the noise, or wrong values at a few
answers only.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It', on casts of types. The search is ours.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from attacklab.attacks.base import Probe, Scenario, as_floats, origin, whole_only
from attacklab.attacks.bets import half_line, half_lines, typical
from attacklab.attacks.failures import answered
from attacklab.attacks.released_formats import DRAWN, inferred
from attacklab.model.bisection import steepest_step
from attacklab.model.errors import Refused, TargetError
from attacklab.model.floats import power_of_two_within, tie_between_floats
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Outputs, Target

HEIGHTS = tuple((2**power + math.isqrt(5 * 4**power)) // 2 for power in (*range(4, 63, 2), 63))
"""How many steps from the origin answers are tried: the golden ratio times powers of 2, which every format rounds."""

PROBED, CONFIRMED = 5, 31  # how many outputs stand for the typical one in the search, and to show that a step is a jump
WITHOUT_JUMP = 2  # after this many heights at which outputs have moved away without a jump, no more are looked at

SPREADS = 4.0
"""By how many interquartile ranges a typical output must move to count. The median of five draws from a Laplace
distribution moves as far by chance once in 10^7 times."""


def integer_cast(target: Target, probe: Probe) -> Iterator[Scenario]:
    """An answer is rounded or wraps around in a narrower format before the noise is added (see the module)."""
    least = 0 if target.takes(0) else origin(target)
    try:
        outputs = answered(probe, least, DRAWN)
    except Refused:  # it takes no integers
        least = float(least)
        outputs = answered(probe, least, DRAWN)
    noise = SPREADS * max(_spread(outputs), target.sensitivity)
    axis = _Axis(target, probe, noise, doubles=outputs.dtype.kind == "f" and not whole_only(target))
    tie = None
    if target.sensitivity >= 1 and isinstance(least, int):
        scales = target.sensitivity / min(target.claim.nominal.epsilon, 1.0)
        tie = tie_between_floats(inferred(outputs).form, 256 * scales)  # floats this many noise scales apart
    if tie is None or not axis.jumps(tie, tie + 1):
        found = axis.first_jump()
        if found is not None:
            yield found
        if found is not None or tie is None or math.isnan(axis.moved(tie + 1)):
            return
    # Not `NeighbouringPair.answers`, which holds doubles: these integers are not doubles.
    yield Scenario(NeighbouringPair(tie + 1, tie, None), (half_line(tie),))


@dataclass(frozen=True, eq=False)
class _Axis:
    """The answers of a target in steps of its sensitivity, and how far its typical outputs are from them.

    Attributes:
        target: the target.
        probe: draws its outputs.
        noise: the furthest that a typical output moves by chance.
        doubles: whether the target takes doubles only, so that an integer that is not a double is not tried.
    """

    target: Target
    probe: Probe
    noise: float
    doubles: bool

    def first_jump(self) -> Scenario | None:
        """Return the bet on a step above the origin, or else below, at which the typical output jumps; else None.

        Integers are tried first, and floats where integers are refused at some height.
        """
        for sign in (1, -1):
            for step, kind in self._suspects(sign):
                first, second = (self._answer(sign * number, kind) for number in (step, step + 1))
                if self.jumps(first, second):
                    return self._scenario(first, second)
        return None

    def jumps(self, first: Any, second: Any) -> bool:
        """Whether the typical output moves between two answers by more than the answers and the noise explain."""
        return abs(self.moved(second, CONFIRMED) - self.moved(first, CONFIRMED)) > self.noise

    def moved(self, answer: Any, probed: int = PROBED) -> float:
        """Return the median of output − answer over `probed` outputs; NaN if the target does not take the answer."""
        if self.doubles and float(answer) != answer:
            return math.nan
        try:
            outputs = self.probe(answer, probed)
        except TargetError:
            return math.nan
        return typical(np.array([_difference(output, answer) for output in outputs.tolist()]))

    @property
    def _step(self) -> float:
        sensitivity = self.target.sensitivity
        return math.floor(sensitivity) if sensitivity >= 1 else power_of_two_within(sensitivity)

    def _answer(self, steps: int, kind: type) -> Any:
        return self.target.cast(kind(Fraction(origin(self.target)) + steps * Fraction(self._step)))

    def _heights(self, sign: int) -> Sequence[int]:
        """Return the `HEIGHTS` inside the domain in this direction, and the domain's end if it has one."""
        domain = self.target.domain
        end = None if domain is None else domain.high if sign > 0 else domain.low
        if end is None:
            return HEIGHTS
        most = math.floor(abs(end - Fraction(origin(self.target))) / Fraction(self._step))
        return *(height for height in HEIGHTS if height < most), most

    def _suspects(self, sign: int) -> Iterator[tuple[int, type]]:
        """Yield numbers k of steps, each with a type of answers: between k and k + 1 the typical output may jump."""
        heights, kept, without_jump = list(self._heights(sign)), 0, 0
        for kind in (int, float) if self._step >= 1 else (float,):
            seen = functools.cache(lambda steps, kind=kind: sign * self.moved(self._answer(sign * steps, kind)))
            while heights and not math.isnan(seen(heights[0])):
                height = heights.pop(0)
                if abs(seen(height) - seen(0)) > self.noise:
                    yield steepest_step(partial(_apart, seen=seen), kept, height), kind
                    yield from ((step, kind) for step in self._caught_up(seen, height))
                    without_jump += 1
                    if without_jump == WITHOUT_JUMP:
                        return
                kept = height

    def _caught_up(self, seen: Callable[[int], float], height: int) -> Iterator[int]:
        """Yield the step at which a rounded answer jumps ahead: up to the next tie, it falls behind the answer."""
        for power in range(height.bit_length()):
            low, high = height + (1 << power) // 2, height + (1 << power)
            if seen(high) - seen(low) > self.noise:
                yield steepest_step(lambda low, high: seen(high) - seen(low), low, high)
                return

    def _scenario(self, first: Any, second: Any) -> Scenario:
        """Return the bet on the higher of two answers."""
        (low, lower), (high, higher) = sorted(
            (typical(self.probe(answer, CONFIRMED)), answer) for answer in (first, second)
        )
        make = NeighbouringPair.integers if isinstance(first, int) else NeighbouringPair.answers
        return Scenario(make(higher, lower, sensitivity=self.target.sensitivity), half_lines(low, high))


def _apart(low: int, high: int, *, seen: Callable[[int], float]) -> float:
    change = abs(seen(high) - seen(low))
    return 0.0 if math.isnan(change) else change  # two infinities are alike


def _difference(output: Any, answer: Any) -> float:
    """Return output − answer, rounded once; NaN for a failure."""
    try:
        return float(Fraction(output) - Fraction(answer))
    except OverflowError:
        return float(output)
    except (TypeError, ValueError):
        return math.nan


def _spread(outputs: Outputs) -> float:
    """Return the interquartile range of the finite outputs; 0 if there are none."""
    values = as_floats(outputs)
    values = values[np.isfinite(values)]
    return float(np.subtract(*np.quantile(values, (0.75, 0.25)))) if values.size else 0.0
