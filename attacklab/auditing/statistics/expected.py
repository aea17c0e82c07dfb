"""How fast the evidence against a claim is expected to grow by an event whose two probabilities are known.

It is what the test by betting (see `betting`) gains a trial at the best of its stakes, if the two outputs of a trial
are independent. So events are compared by the trials that they will take, at any ε: standard errors of the excess are
no measure of that where e^ε is large or an event is rare.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacklab.auditing.statistics.betting import growths
from attacklab.model.claims import PrivacyClaim

_DIRECTIONS = ([0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [3, 1, 2, 0])
"""Which row of `growths` the outcomes (both, only the first, only the second, neither) take: for the event and its
complement, each in both directions."""


def expected_evidence(claims: Sequence[PrivacyClaim], p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """The expected growth of the evidence a trial, in nats: the largest over claims, directions and the complement.

    Args:
        claims: what is promised of one output; at least one.
        p: the probability of the event under the first input, any shape.
        q: its probability under the second input, of the same shape.

    Returns:
        One number an event. It is above 0 where an event breaks one of the claims by enough for the smallest stake, and
        where none does, it is the less below 0 the nearer the event comes to it.
    """
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    outcomes = [first * second, first * (1 - second), second * (1 - first), (1 - first) * (1 - second)]
    rates = np.stack(outcomes, axis=-1)
    best = np.full(first.shape, -np.inf)
    for claim in claims:
        table = growths(claim)
        stakes = np.concatenate([table[rows] for rows in _DIRECTIONS], axis=1)
        np.maximum(best, (rates @ stakes).max(axis=-1), out=best)
    return best
