"""Integer cast: an integer answer is rounded to a float before the noise is added.

An integer above 2^53 is rounded on its way through a double: 2^60 + 128 goes down to 2^60, its neighbour 2^60 + 129
goes up to 2^60 + 256. In binary32 that begins at 2^24. Answers that differ by 1 come out far apart, and noise for a
sensitivity of 1 does not hide it.

The adversary knows ε and picks the answers: a tie between two floats of the outputs' own format, and the integer above
it. The event is a half-line: beyond the tie. A target that does not take integers so large cannot be asked, and gets no
scenario.

What a negative result does not show: integers below 2^63 are all that is tried, and of those one pair.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It', on casts of types.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attacklab.attacks.base import Probe, Scenario, released_format
from attacklab.attacks.common.half_lines import half_line
from attacklab.errors import TargetError
from attacklab.floats import tie_between_floats
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Kind, Target

EXCESS = 256.0
"""How many noise scales apart the floats on either side of the answer should be."""


@dataclass(frozen=True)
class IntegerCast:
    """The attack on integer answers."""

    name: str = "integer_cast"
    flaw: str = "an integer answer is rounded to a float before the noise is added"

    def applies_to(self, target: Target) -> bool:
        """Additive noise on answers that neighbours move by whole numbers."""
        return target.kind is Kind.NOISE and target.sensitivity >= 1

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """A tie between two floats of the outputs' format (or doubles), and the integer above it."""
        released = released_format(probe, 0)
        tie = tie_between_floats(released, EXCESS * target.sensitivity / min(target.claim.epsilon, 1.0))
        try:
            probe(tie + 1, 1)
        except TargetError:
            return
        # `NeighbouringPair.answers` holds doubles, and these integers are none.
        yield Scenario(NeighbouringPair(tie + 1, tie, None), (half_line(tie),))
