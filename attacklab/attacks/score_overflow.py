"""Score overflow: utilities at the end of a number format, where their differences, weights or doubles go wrong.

There are four forms. In each, the two neighbours lie on either side of the point where the target's arithmetic breaks.
The third, doubles, is a rounding rather than an overflow, and its findings say so.

- **Weights.** exp(ε·u/(2Δu)) of a large utility overflows to infinity, and the target fails on one neighbour only.
- **Differences.** In a machine integer u − max u wraps around: in eight bits −65 − 65 is +126, so the worst outcome
  becomes the best. The pair is (x, −x), which wraps, against (x − Δ, −x + Δ), which does not.
- **Doubles.** Integer utilities above 2^53 are rounded: 2^60 + 128 goes down to 2^60, 2^60 + 129 goes up to 2^60 + 256.
  The pair is (t + Δ, t) against (t, t + Δ), for a t half way between two doubles.
- **Scale.** ε/(2Δu), or the noise of a noisy max, overflows or underflows. The pair is the smallest step, (Δ, 0)
  against (0, Δ), which the target then answers with certainty.

The adversary knows ε and Δu, picks the utilities, and bets on outcome 0 or on failure. For two forms, outputs alone
show where a target breaks: it fails, or draws only one of two equal outcomes, or draws the worse outcome more often.
If a target has no such point, the pair is put where binary64 overflows or where 64-bit integers wrap.

A negative result does not rule out breaks elsewhere: differences are tried at x = 3·2^j, in units of the integer step,
up to the first that breaks, so a format that lacks these values, or more than two outcomes, may break at another point.
Weights are tried up to an exponent of 2^14. For ε/Δu below 1/8, doubles below 2^63 are too close together to show the
third form with certainty.

Source: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', section 2 (weights out
of range); Casacuberta, Shoemate, Vadhan and Wagaman 2022, 'Widespread Underestimation of Sensitivity in Differentially
Private Libraries and How to Fix It' (wrapping integers, casts). The searches are ours.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import OfKinds, Probe, Scenario, adapted_pairs, whole_only
from attacklab.attacks.bets import DEEPEST_NATS, OUTCOME_0, both_drawn
from attacklab.attacks.failures import failed, probed, scenario_on
from attacklab.model.bisection import first
from attacklab.model.findings import ROUNDED
from attacklab.model.floats import BINARY64, power_of_two_within, tie_between_floats
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Outputs, Target

LARGEST_INTEGER = 2**63 - 1  # the largest value of the widest machine integer in which utilities are given
EXACT_INTEGERS = 2**53  # every integer up to this one is a double
ROUNDED_NATS = 64.0  # how far apart, in ε·u/(2Δu), the doubles around an integer utility should be


@dataclass(frozen=True)
class ScoreOverflow(OfKinds, kinds={Kind.SELECTION}):
    """The attack on utilities, differences and weights that overflow."""

    name: str = "score_overflow"
    flaw: str = "utilities, their differences or their weights overflow on one dataset only"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Yield one scenario for each form that applies; the two on integers need a sensitivity of at least 1."""
        pairs = [(_smallest_step(target), OUTCOME_0), (_overflowing_weights(target, probe), OUTCOME_0)]
        if target.sensitivity >= 1:
            pairs += [(_wrapping_difference(target, probe), OUTCOME_0)]
            pairs += [(_rounded_integers(target), replace(OUTCOME_0, flaw=ROUNDED))]
        for pair, bet in pairs:
            for near in adapted_pairs(target, [pair]):
                sides = [probed(probe, side) for side in (near.first, near.second)]
                yield scenario_on(near, sides, (bet,))


def _smallest_step(target: Target) -> NeighbouringPair:
    step = np.array([target.sensitivity, 0.0])
    return NeighbouringPair.utilities(step, step[::-1], sensitivity=target.sensitivity)


def _overflowing_weights(target: Target, probe: Probe) -> NeighbouringPair:
    """Return the pair of two equal utilities whose weights overflow, and the same utilities one step lower."""
    # Small multiples of a power of two are exact, so the utilities differ by exactly one step.
    step = max(power_of_two_within(target.sensitivity) / (1 if whole_only(target) else 4), math.ulp(0.0))
    nats = target.claim.nominal.epsilon / 2 * (step / target.sensitivity)
    most = int(min(DEEPEST_NATS / nats, EXACT_INTEGERS, sys.float_info.max / step))

    def breaks(height: int) -> bool:
        return not both_drawn(probe, height * step)

    height = first(breaks, most=most - 1) or max(1, min(math.ceil(math.log(sys.float_info.max) / nats), most))
    broken, sound = (np.full(2, number * step) for number in (height, height - 1))
    return NeighbouringPair.utilities(broken, sound, sensitivity=target.sensitivity)


def _wrapping_difference(target: Target, probe: Probe) -> NeighbouringPair:
    """Return (x, −x) against the same one step nearer to 0, for an x at which the worse outcome is drawn more often."""
    step = math.floor(target.sensitivity)

    def opposite(units: int) -> NDArray[np.int64]:
        return np.array([units * step, -units * step])

    def breaks(units: int) -> bool:
        outputs = probed(probe, opposite(units))
        return outputs is not None and _worse_is_favoured(outputs)

    units = first(breaks, start=3, most=LARGEST_INTEGER // step) or LARGEST_INTEGER // (2 * step) + 1
    # Not `NeighbouringPair.utilities`, which holds doubles: these integers may not be doubles.
    return NeighbouringPair(opposite(units), opposite(units - 1), None)


def _worse_is_favoured(outputs: Outputs) -> bool:
    """Whether outcome 1 leads by more than 4 standard deviations of a fair coin; failures are left out."""
    drawn = outputs[~failed(outputs)]
    lead = int((drawn == 1).sum()) - int((drawn == 0).sum())
    return lead > 4 * math.sqrt(len(outputs))


def _rounded_integers(target: Target) -> NeighbouringPair:
    """Return the pair (t + Δ, t) and (t, t + Δ), for a t half way between two doubles many noise scales apart."""
    step = math.floor(target.sensitivity)
    tie = tie_between_floats(BINARY64, 2 * target.sensitivity * ROUNDED_NATS / target.claim.nominal.epsilon)
    # Not `NeighbouringPair.utilities`, which holds doubles: these integers are not doubles.
    return NeighbouringPair(np.array([tie + step, tie]), np.array([tie, tie + step]), None)
