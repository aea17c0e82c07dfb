"""Which event to judge, from what a choosing sample has shown of each: the one that promises the most evidence a trial.

How fast evidence is expected to grow is known once both probabilities of an event are: it is what the test by betting
(see `betting`) gains a trial at the best of its stakes, if the two outputs of a trial are independent. So events are
compared by the trials that they will take, at any ε: standard errors of the excess are no measure of that where e^ε is
large or an event is rare. Counts leave the probabilities uncertain, and at a large ε most of all the smaller one: an
event that was never seen under one input may be the best bet there is or a hopeless one. So the growth is averaged over
the posterior law of the smaller probability, for the prior Beta(½, ½). To add a hit to each count instead would rank
events at a large e^ε by that hit.

The larger probability is taken as it was seen. So an event that was seen under neither input promises nothing.

From both probabilities also follow the trials that an event takes, and the smallest advantage that they show. Three
counts (how often the event contains the first output, the second, and both) are each taken at an unlucky end, so the
power is at least `POWER` however they depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from attacklab.auditing.statistics.betting import evidence, growths
from attacklab.model.bisection import first as first_at
from attacklab.model.claims import Claim, PrivacyClaim, directions
from attacklab.model.findings import Counts

_DIRECTIONS = ([0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [3, 1, 2, 0])
"""Which row of `growths` the outcomes (both, only the first, only the second, neither) take: for the event and its
complement, each in both directions."""

QUANTILES: Final[NDArray[np.float64]] = (np.arange(8) + 0.5) / 8
"""Where the posterior law is evaluated: the middles of eight equally likely parts."""

SHARE = 10
"""At most one trial is spent on choosing for this many spent on judging, as long as ε is small."""

SMALL, LARGE = 3.0, 7.0
"""Between these two ε, the share for choosing grows linearly from 1/`SHARE` to 1/2."""

ENOUGH = 256
"""Choosing an event takes at most this many outputs times e^ε. They suffice to see an event that has probability 1/50
under one input and never happens under the other."""


DOUBT = 2.5
"""Standard errors taken off an estimated ε: a bound will lie below the estimate, and the best pick is biased upward."""

POWER = 0.95
"""The probability with which a smallest detectable advantage is detected."""

MISS = (1 - POWER) / 3
"""The probability with which each of the three counts of an event lies beyond its unlucky end."""

MOST_TRIALS = 1 << 48
"""The largest number of trials considered: an event that takes more is as good as invisible."""


def choosing_trials(claim: Claim, trials: int) -> int:
    """Return the most trials to choose an event on: a share of `trials` that grows, up to half, with the least ε."""
    epsilon = min(claim.points[0], 300.0)
    rise = min(max(epsilon - SMALL, 0.0) / (LARGE - SMALL), 1.0)
    share = 1 / SHARE + (1 / 2 - 1 / SHARE) * rise
    return max(1, trials // SHARE, int(min(share * trials, ENOUGH * math.exp(epsilon))))


def promised_epsilon(first: ArrayLike, second: ArrayLike, trials: int, delta: float) -> NDArray[np.float64]:
    """Return the ε that each event is likely to prove at a δ: the ε of its rates, less `DOUBT` standard errors.

    So an event that happens often beats a rare one that shows somewhat more: what counts is the bound on ε that a
    sample of this size will give. Half a hit and half a miss are added on both sides. There is one number an event: the
    largest over the event and its complement and both directions.
    """
    p, q = ((np.asarray(hits) + 0.5) / (trials + 1) for hits in (first, second))
    larger, smaller = np.stack([p, q, 1 - p, 1 - q]), np.stack([q, p, 1 - q, 1 - p])
    beyond = larger - delta
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(larger / beyond**2 + 1 / smaller) / math.sqrt(trials)
        shown = np.where(beyond > 0, np.log(beyond / smaller) - DOUBT * error, -np.inf)
    return np.asarray(shown.max(axis=0))


def expected_evidence(claims: Sequence[PrivacyClaim], p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Return the expected growth of the evidence a trial, in nats, for events with probabilities P[E] = p and Q[E] = q.

    It is the largest over claims, directions and the complement. It is above 0 if an event breaks one of the claims by
    enough for the smallest stake. Otherwise it is at most 0, and nearer to 0 for an event that comes nearer to that.
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


def promised_evidence(
    claims: Sequence[PrivacyClaim], first: ArrayLike, second: ArrayLike, trials: int
) -> NDArray[np.float64]:
    """Return the evidence that one more trial is expected to add at the best stake, in nats, given counts of events.

    The result has the shape of `first` and one more axis, for the claims; each number is the largest over the event and
    its complement and both directions.
    """
    first_hits, second_hits = np.asarray(first), np.asarray(second)
    # As `claims.directions`: the larger probability belongs to the hits of the first row, the smaller to the second.
    larger = np.stack([first_hits, trials - first_hits, second_hits, trials - second_hits])[..., np.newaxis]
    smaller = np.stack([second_hits, trials - second_hits, first_hits, trials - first_hits])[..., np.newaxis]
    q = scipy.special.betaincinv(smaller + 0.5, trials - smaller + 0.5, QUANTILES)
    p = np.broadcast_to(larger / trials, q.shape)
    outcomes = np.stack([p * q, p * (1 - q), q * (1 - p), (1 - p) * (1 - q)], axis=-1).reshape(-1, 4)
    promised = [(outcomes @ growths(claim)).max(axis=1).reshape(q.shape).mean(axis=-1).max(axis=0) for claim in claims]
    return np.stack(promised, axis=-1)


def detects(claim: PrivacyClaim, p: float, q: float, trials: int, alpha: float) -> bool:
    """Whether `trials` trials of an event with probabilities p > q refute the claim with probability at least `POWER`.

    `alpha` is the α of `betting.judge`, which gives half of it to the evidence.
    """
    rarely = math.floor(_quantile(MISS, trials, p))
    often = math.ceil(_quantile(1 - MISS, trials, q))
    # At a share λ and δ = 0, two trials in which the event contains one output each multiply the wealth by
    # (1 + λe^−ε)(1 − λ). One trial that contains both and one that contains neither multiply it by 1 + λe^−ε − λ,
    # which is more.
    both = min(rarely, often, math.floor(_quantile(MISS, trials, p * q)))
    both = max(both, rarely + often - trials)
    return evidence(claim, Counts(rarely, often, trials, both)) >= math.log(2 / alpha)


def smallest_detectable_advantage(claim: PrivacyClaim, trials: int, alpha: float, base_rate: float) -> float | None:
    """Return the smallest advantage, within 1 %, that refutes the claim with probability at least `POWER`.

    The base rate is the smaller one of P[E] and Q[E]: the rarer the event, the smaller the advantage that shows. None
    if no event with that base rate can be detected in `trials` trials.
    """
    missed, caught = 0.0, 1.0 - base_rate
    if not detects(claim, base_rate + caught, base_rate, trials, alpha):
        return None
    while caught - missed > 0.01 * caught:
        middle = (missed + caught) / 2
        detected = detects(claim, base_rate + middle, base_rate, trials, alpha)
        missed, caught = (missed, middle) if detected else (middle, caught)
    return caught


def trials_needed(claim: PrivacyClaim, p: float, q: float, alpha: float) -> int | None:
    """Return how many trials of an event with probabilities p and q refute the claim with `POWER` at least.

    None if p and q keep the claim, or break it by so little that it takes too many trials.
    """
    p, q = max(p, q), min(p, q)
    if max(claim.excess(larger, smaller) for larger, smaller in directions((p, p), (q, q))) <= 0:
        return None
    return first_at(lambda trials: detects(claim, p, q, trials, alpha), most=MOST_TRIALS)


def _quantile(probability: float, trials: int, chance: float) -> float:
    """Return the `probability`-quantile of Bin(trials, chance), interpolated between integers."""
    if trials * chance <= MISS:  # SciPy's inverse gives NaN where anything at all is seen so rarely
        return 0.0
    if chance >= 1:
        return float(trials)
    return min(max(float(scipy.special.bdtrik(probability, trials, chance)), 0.0), trials)
