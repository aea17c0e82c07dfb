"""Zero-rounding: weights underflow to zero, so that an outcome proves which dataset it came from.

An exponential mechanism that evaluates exp(ε·u/(2Δu)) in floating point gives weight 0 to utilities below some
boundary. The adversary puts the pair on either side of it: an outcome that is certain on one side is impossible, or one
of many, on the other.

The adversary knows ε and Δu, picks the utilities, and bets on outcome 0. It finds the boundary from the target's
outputs for two equal utilities: above the boundary both outcomes are drawn; below it the target fails, or always draws
the same one.

A negative result does not rule out outcomes that are lost in other ways than by a lower boundary on single utilities. A
mechanism that subtracts the largest utility first has no such boundary.

Source: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', section 2.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attacklab.attacks.base import OfKinds, Probe, Scenario, is_dear, whole_only
from attacklab.attacks.bets import DEEPEST_NATS, OUTCOME_0, both_drawn
from attacklab.attacks.failures import PROBES
from attacklab.model.bisection import first
from attacklab.model.errors import OutsideDomain
from attacklab.model.floats import BINARY64, power_of_two_within
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target


@dataclass(frozen=True)
class ZeroRounding(OfKinds, kinds={Kind.SELECTION}):
    """The attack on weights that underflow to zero.

    Attributes:
        outcomes: the number of outcomes in the second scenario; the first has two.
    """

    outcomes: int = 100
    name: str = "zero_rounding"
    flaw: str = "weights underflow to zero, and an outcome proves which dataset it came from"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield a pair with two outcomes, then one with `outcomes`; utilities below the boundary have the weight 0.

        Each pair has utilities on both sides of the boundary. A target that draws noise for each outcome has no
        weights, and its outputs of many outcomes cost much, so it gets only the first pair.
        """
        # Multiples of a power of two are exact, so the utilities differ by exactly one gap.
        gap = power_of_two_within(target.sensitivity)
        boundary = self._boundary(target, probe, gap)
        # Where only whole numbers are taken, the boundary lies at one of them, and the pair reaches it from there.
        depth = gap * (boundary - 1) if whole_only(target) else gap * boundary / 4 - gap / 2
        for outcomes in (2, self.outcomes):
            with contextlib.suppress(OutsideDomain):
                scenario = self._astride(target, depth, gap, outcomes)
                if outcomes == 2 or not is_dear(probe, scenario.pair.second, PROBES):
                    yield scenario

    def _astride(self, target: Target, depth: float, gap: float, outcomes: int) -> Scenario:
        utilities = np.full(outcomes, -depth - gap)
        utilities[0] = -depth
        neighbour = utilities[::-1] if outcomes == 2 else np.full(outcomes, -depth)
        pair = NeighbouringPair.utilities(utilities, neighbour, sensitivity=target.sensitivity)
        return Scenario(target.adapted(pair), (OUTCOME_0,))

    def _boundary(self, target: Target, probe: Probe, gap: float) -> int:
        """Return the depth in parts of a gap from which equal outcomes are not both drawn, or else exp underflows."""
        parts = 1 if whole_only(target) else 4  # of a gap, in which the depth is counted
        nats_per_part = target.claim.nominal.epsilon / (2 * parts) * (gap / target.sensitivity)
        deepest = max(1.0, DEEPEST_NATS / nats_per_part)
        dead = first(lambda depth: not both_drawn(probe, -depth * gap / parts), most=deepest)
        return math.ceil(BINARY64.underflow_nats / nats_per_part) if dead is None else dead
