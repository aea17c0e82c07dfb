"""Which event to judge, from what a choosing sample has shown of each: the one that promises the most evidence a trial.

How fast evidence grows is known once both probabilities of an event are (see `expected`). Counts leave them uncertain,
and at a large ε most of all the smaller one: an event that was never seen under one input may be the best bet there is
or a hopeless one. So the growth is averaged over the posterior law of the smaller probability, for the prior
Beta(½, ½). To add a hit to each count instead would rank events at a large e^ε by that hit.

The larger probability is taken as it was seen. So an event that was seen under neither input promises nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacklab.claims import Claim, PrivacyClaim
from attacklab.findings import Counts
from attacklab.statistics.betting import growths

QUANTILES: Final[NDArray[np.float64]] = (np.arange(16) + 0.5) / 16
"""Where the posterior law is evaluated: the middles of sixteen equally likely parts."""

SHARE = 10
"""At most one trial is spent on choosing for so many spent on judging, as long as e^ε is small."""

HITS = 32
"""How many trials are spent on choosing at a large e^ε, in units of e^ε: that many hits of an event at the claim's edge
are expected under one input where the event holds every output of the other."""


def choosing_trials(claim: Claim, trials: int) -> int:
    """The most trials to choose an event on: the share of those that judge, and up to half of them at a large e^ε.

    Args:
        claim: what is claimed of one trial.
        trials: the most trials on which the event is judged.
    """
    wanted = HITS * math.exp(min(claim.nominal.epsilon, 300.0))
    return max(1, trials // SHARE, math.ceil(min(wanted, trials // 2)))


def promised_evidence(claims: Sequence[PrivacyClaim], seen: Sequence[Counts]) -> NDArray[np.float64]:
    """The evidence that one more trial is expected to add at the best stake, in nats.

    Args:
        claims: the points of a privacy profile at which an event may be judged.
        seen: the counts of each event, all of the same number of trials, at least 1.

    Returns:
        An array of shape (events, claims); each number is the largest over the event and its complement and both
        directions.
    """
    trials = seen[0].trials
    first, second = (np.array([getattr(counts, side) for counts in seen]) for side in ("first", "second"))
    # As `claims.directions`: the larger probability belongs to the hits of the first row, the smaller to the second.
    larger = np.stack([first, trials - first, second, trials - second])[..., np.newaxis]
    smaller = np.stack([second, trials - second, first, trials - first])[..., np.newaxis]
    p = np.broadcast_to(larger / trials, (*larger.shape[:-1], len(QUANTILES)))
    q = special.betaincinv(smaller + 0.5, trials - smaller + 0.5, QUANTILES)
    outcomes = np.stack([p * q, p * (1 - q), q * (1 - p), (1 - p) * (1 - q)], axis=-1)
    promised = [(outcomes @ growths(claim)).max(axis=-1).mean(axis=-1).max(axis=0) for claim in claims]
    return np.stack(promised, axis=-1)
