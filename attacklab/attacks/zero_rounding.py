"""Zero-rounding: weights that underflow to zero, so that an outcome proves which database it came from.

An exponential mechanism that evaluates exp(ε·u/(2Δu)) in floating point gives weight 0 to utilities below some
boundary. The adversary puts the pair astride it: an outcome that is certain on one side is impossible, or one of many,
on the other.

The adversary knows ε and Δu and picks the utilities. It finds the boundary by looking at the target's outputs for two
equal utilities: both outcomes are drawn above the boundary, and below it the target fails or always draws the same. A
negative result says nothing of outcomes lost by other ways than a lower boundary on single utilities; a mechanism that
subtracts the largest utility first has no such boundary.

Source: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.attacks.failures import probed
from attacklab.floats import BINARY64, power_of_two_within
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Kind, Target

DEEPEST_NATS = 2.0**14
"""How far down the boundary is looked for, in ε·u/(2Δu): binary64 ends at 745, x87 extended precision at 11 400."""

OUTCOME_0 = Event("outcome 0", lambda outputs: np.asarray(outputs == 0, dtype=bool))


@dataclass(frozen=True)
class ZeroRounding:
    """The attack; `outcomes` is the size of the larger of its two forms."""

    outcomes: int = 100
    name: str = "zero_rounding"
    flaw: str = "weights underflow to zero and an outcome becomes a proof"

    def applies_to(self, target: Target) -> bool:
        """Selection targets only."""
        return target.kind is Kind.SELECTION

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The two-outcome and the many-outcome form, both astride the boundary."""
        # Multiples of a power of two are exact, so that the pair is neighbouring to the last bit.
        gap = power_of_two_within(target.sensitivity)
        depth = gap * self._boundary(target, probe, gap) / 4 - gap / 2
        for outcomes in (2, self.outcomes):
            yield self._astride(target, depth, gap, outcomes)

    def _astride(self, target: Target, depth: float, gap: float, outcomes: int) -> Scenario:
        first = np.full(outcomes, -depth - gap)
        first[0] = -depth
        second = first[::-1] if outcomes == 2 else np.full(outcomes, -depth)
        return Scenario(
            NeighbouringPair.utilities(first, second, sensitivity=target.sensitivity),
            (OUTCOME_0,),
        )

    def _boundary(self, target: Target, probe: Probe, gap: float) -> int:
        """The smallest depth at which two equal outcomes are not both drawn, in quarters of the gap.

        A target that has none is judged where binary64 would underflow.
        """
        nats_per_quarter = target.claim.epsilon / 8 * (gap / target.sensitivity)
        alive, dead = 0, 1
        while both_drawn(probe, -dead * gap / 4):
            alive, dead = dead, 2 * dead
            if dead * nats_per_quarter > DEEPEST_NATS:
                return math.ceil(BINARY64.underflow_nats / nats_per_quarter)
        while dead - alive > 1:
            middle = (alive + dead) // 2
            alive, dead = (middle, dead) if both_drawn(probe, -middle * gap / 4) else (alive, middle)
        return dead


def both_drawn(probe: Probe, utility: float) -> bool:
    """Whether both of two equal outcomes are drawn: wrong with probability 2^−63."""
    outputs = probed(probe, np.full(2, utility))
    return outputs is not None and bool((outputs == 0).any() and (outputs == 1).any())
