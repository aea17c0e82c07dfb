"""Truncated addition: light weights are lost when they are added to a heavy one.

There is one heavy outcome and many light ones. On one input every light weight is at most half a unit in the last place
of the running sum and is rounded away, so no light outcome is ever drawn. On the neighbour each light weight counts. In
a format of p bits, about (number of light outcomes)·2^−p of the mass is lost. That is plain to see where accelerators
accumulate in binary16 or bfloat16. In binary64 no sample shows it; only an exact law shows the outcomes that cannot be
reached. So each shorter format has a scenario of its own.

The adversary knows ε, Δu and that the heavy outcome comes first. It bets that a light outcome is drawn.

A negative result does not rule out lost weights in sums in binary64, nor in sums in any other order.

Source: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', section 2. The
condition, which is missing in print, is fl(w_heavy + w_light) = w_heavy.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attacklab.attacks.base import OfKinds, Probe, Scenario, whole_only
from attacklab.attacks.bets import LIGHT
from attacklab.model.errors import OutsideDomain
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, Format, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target


@dataclass(frozen=True)
class TruncatedAddition(OfKinds, kinds={Kind.SELECTION}):
    """The attack.

    Attributes:
        most_outcomes: the largest number of light outcomes, which bounds the cost of a draw.
        formats: the formats of the sum that are tried.
    """

    most_outcomes: int = 1 << 13
    formats: tuple[Format, ...] = (BINARY32, BINARY16, BFLOAT16)
    name: str = "truncated_addition"
    flaw: str = "light weights vanish when added to a heavy one"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - needs no look at outputs
        """One scenario for each format of the sum."""
        for accumulator in self.formats:
            light_outcomes = min(4 << accumulator.significand_bits, self.most_outcomes)
            with contextlib.suppress(OutsideDomain):
                yield self.scenario(target, accumulator, light_outcomes)

    @staticmethod
    def scenario(target: Target, accumulator: Format, light_outcomes: int) -> Scenario:
        """The pair on either side of the point where a sum in this format loses its light terms.

        Raises:
            OutsideDomain: the target's domain has no such pair.
        """
        bits = accumulator.significand_bits
        gap = power_of_two_within(target.sensitivity)
        nats = target.claim.nominal.epsilon / 2 * (gap / target.sensitivity)
        # Just below e^(−nats·depth) = 2^−bits, half a unit in the last place of a sum that starts at 1.
        parts = 1 if whole_only(target) else 16
        depth = math.ceil(parts * bits * math.log(2) / nats) / parts * gap
        counted = np.full(light_outcomes + 1, gap - depth)
        counted[0] = -gap
        lost = np.full(light_outcomes + 1, -depth)
        lost[0] = 0.0
        pair = NeighbouringPair.utilities(counted, lost, sensitivity=target.sensitivity)
        return Scenario(target.adapted(pair), (LIGHT,))
