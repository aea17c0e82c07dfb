"""Failures as outputs: an exception, a NaN or a missing output that depends on the database is an event like any other.

A probe stops at a failure, so whether a pair shows any can be told beforehand; only then are its releases called once a
trial. A pair on which failures are too rare for the probe ends in an ERROR finding when one turns up. A target that
hangs has to be run in a process of its own, where the time limit makes an ERROR finding of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario, as_floats
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Outputs, TargetError

PROBES = 64
"""Outputs of either input that are looked at: a failure of probability ½ is missed with probability 2^−64."""


def failed(outputs: Outputs) -> NDArray[np.bool_]:
    """Which outputs are failures: NaN, None or the `Failure` of a release that raised."""
    return np.isnan(as_floats(outputs))


FAILS = Event("the target fails", failed)


def probed(probe: Probe, input_: Any) -> Outputs | None:
    """A few outputs, or None where the target raises or returns NaN."""
    try:
        return probe(input_, PROBES)
    except TargetError:
        return None


def scenario_on(pair: NeighbouringPair, sides: Sequence[Outputs | None], bets: Sequence[Event]) -> Scenario:
    """A pair with the bets on its outputs, and the bet on a failure where there is one to see or no other bet.

    Args:
        pair: the two inputs.
        sides: the probed outputs of either.
        bets: on what is no failure.
    """
    stops = any(outputs is None for outputs in sides)
    fails = stops or any(failed(outputs).any() for outputs in sides if outputs is not None)
    events = (*bets, FAILS) if fails or not bets else tuple(bets)
    return Scenario(pair, events, sees_failures=stops)
