"""What the attacks on selections share: which outcomes are drawn, and how far out a utility may lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, as_floats
from attacklab.attacks.common.failures import probed

DEEPEST_NATS = 2.0**14
"""How deep, or how high, to look for the end of a format, in ε·u/(2Δu): x87 extended precision ends at 11 400."""

OUTCOME_0 = Event("outcome 0", lambda outputs: np.asarray(outputs == 0, dtype=bool), "output == 0")

HEAVY = Event("the heavy outcome", OUTCOME_0.contains, OUTCOME_0.line)
LIGHT = Event("a light outcome", lambda outputs: as_floats(outputs) > 0, "output > 0")


def among(description: str, outcomes: NDArray[np.int64], most: int) -> Event:
    """The event that one of some outcomes is drawn.

    Args:
        description: the event in words.
        outcomes: their indices.
        most: the largest index of any outcome.
    """
    chosen = np.zeros(most + 2, dtype=bool)  # the last place is for failures
    chosen[outcomes] = True
    return Event(
        description,
        lambda outputs: chosen[np.nan_to_num(as_floats(outputs), nan=most + 1).astype(np.int64)],
        _line_of_among(sorted(set(outcomes.tolist()))),
    )


def _line_of_among(outcomes: list[int]) -> str:
    step = outcomes[1] - outcomes[0] if len(outcomes) > 1 else 1
    regular = range(outcomes[0], outcomes[-1] + 1, step) if outcomes else range(0)
    return f"int(output) in {regular!r}" if list(regular) == outcomes else ""


def both_drawn(probe: Probe, utility: float) -> bool:
    """Whether both of two equally good outcomes are drawn; wrong with probability 2^−63."""
    outputs = probed(probe, np.full(2, utility))
    return outputs is not None and bool((outputs == 0).any() and (outputs == 1).any())
