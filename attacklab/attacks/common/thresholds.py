"""How far utilities can go before a weight vanishes or overflows: shared by the attacks on selections."""

from __future__ import annotations

import numpy as np

from attacklab.attacks.base import Event, Probe
from attacklab.attacks.common.failures import probed

DEEPEST_NATS = 2.0**14
"""How deep to look for the boundary, in ε·u/(2Δu): binary64 ends at 745, x87 extended precision at 11 400."""

OUTCOME_0 = Event("outcome 0", lambda outputs: np.asarray(outputs == 0, dtype=bool))


def both_drawn(probe: Probe, utility: float) -> bool:
    """Whether both of two equally good outcomes are drawn; wrong with probability 2^−63."""
    outputs = probed(probe, np.full(2, utility))
    return outputs is not None and bool((outputs == 0).any() and (outputs == 1).any())
