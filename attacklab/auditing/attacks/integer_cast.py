"""Integer cast: an integer answer is rounded to a float before the noise is added.

An integer above 2^53 is rounded when it becomes a double: 2^60 + 128 goes down to 2^60, its neighbour 2^60 + 129 goes
up to 2^60 + 256. In binary32 that begins at 2^24. Answers that differ by 1 come out far apart, and noise for a
sensitivity of 1 does not hide it.

The adversary knows ε and picks the answers: a tie between two floats of the outputs' format, and the integer above it.
The event is a half-line: outputs beyond the tie. If the target refuses integers this large, it has no scenario.

A negative result does not rule out a cast of integers of 2^63 or more, or at another place: one pair below 2^63 is
tried.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It', on casts of types.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from attacklab.auditing.attacks.base import Probe, Scenario, origin
from attacklab.auditing.attacks.common.failures import answered
from attacklab.auditing.attacks.common.half_lines import half_line
from attacklab.auditing.attacks.released_formats import released_format
from attacklab.model.errors import Refused, TargetError
from attacklab.model.floats import tie_between_floats
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target

EXCESS = 256.0  # how many noise scales apart the floats on either side of the answer should be


@dataclass(frozen=True)
class IntegerCast:
    """The attack on integer answers."""

    name: str = "integer_cast"
    flaw: str = "an integer answer is rounded to a float before the noise is added"

    def applies_to(self, target: Target) -> bool:
        """Additive noise on answers that neighbours can move by whole numbers."""
        return target.kind is Kind.NOISE and target.sensitivity >= 1

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """A tie between two floats of the outputs' format, and the integer above it."""
        least = 0 if target.takes(0) else origin(target)
        try:
            released = released_format(partial(answered, probe), least)
        except Refused:
            answered(probe, float(least), 1)
            return  # it takes no integers
        tie = tie_between_floats(released, EXCESS * target.sensitivity / min(target.claim.nominal.epsilon, 1.0))
        try:
            answered(probe, tie + 1, 1)
        except TargetError:
            return
        # Not `NeighbouringPair.answers`, which holds doubles: these integers are not doubles.
        yield Scenario(NeighbouringPair(tie + 1, tie, None), (half_line(tie),))
