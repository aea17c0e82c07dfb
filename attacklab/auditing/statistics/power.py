"""How much an audit can see: the trials that an event takes, and the smallest advantage that a budget shows.

Three counts (how often the event contains the first output, the second, and both) are each taken at an unlucky end, so
the power is at least `POWER` however they depend on each other.
"""

from __future__ import annotations

import math

import scipy

from attacklab.auditing.statistics.betting import evidence
from attacklab.model.bisection import first
from attacklab.model.claims import PrivacyClaim, directions
from attacklab.model.findings import Counts

POWER = 0.95
"""The probability with which a smallest detectable advantage is detected."""

MISS = (1 - POWER) / 3
"""The probability with which each of the three counts of an event lies beyond its unlucky end."""

MOST_TRIALS = 1 << 48
"""The largest number of trials considered: an event that takes more is as good as invisible."""


def detects(claim: PrivacyClaim, p: float, q: float, trials: int, alpha: float) -> bool:
    """Whether `trials` trials of an event with probabilities p > q refute the claim with probability at least `POWER`.

    The α is that of `betting.judge`, which gives half of it to the evidence.
    """
    rarely = math.floor(_quantile(MISS, trials, p))
    often = math.ceil(_quantile(1 - MISS, trials, q))
    # At a share λ and δ = 0, two trials in which the event contains one output each multiply the wealth by
    # (1 + λe^−ε)(1 − λ). One trial that contains both and one that contains neither multiply it by 1 + λe^−ε − λ,
    # which is more.
    both = min(rarely, often, math.floor(_quantile(MISS, trials, p * q)))
    both = max(both, rarely + often - trials)
    return evidence(claim, Counts(rarely, often, trials, both)) >= math.log(2 / alpha)


def can_refute(claim: PrivacyClaim, trials: int, alpha: float) -> bool:
    """Whether any event at all can refute the claim in so many trials: one that holds every output of one input only.

    The α is that of `betting.judge`.
    """
    return evidence(claim, Counts(trials, 0, trials)) >= math.log(2 / alpha)


def fewest_trials(claim: PrivacyClaim, alpha: float) -> int | None:
    """The number of trials, within 1 %, of which `can_refute` says so first; None if there are too many."""
    return first(lambda trials: can_refute(claim, trials, alpha), most=MOST_TRIALS, precision=0.01)


def smallest_detectable_advantage(claim: PrivacyClaim, trials: int, alpha: float, base_rate: float) -> float | None:
    """The smallest advantage, within 1 %, that refutes the claim with probability at least `POWER`.

    The base rate is the smaller one of P[E] and Q[E]: the rarer the event, the smaller the advantage that shows. None
    if no event with that base rate can be detected in so few trials.
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
    """How many trials of an event with probabilities p and q, within 1 %, refute the claim with `POWER` at least.

    None if p and q keep the claim, or break it by so little that it takes too many trials.
    """
    p, q = max(p, q), min(p, q)
    if max(claim.excess(larger, smaller) for larger, smaller in directions((p, p), (q, q))) <= 0:
        return None
    return first(lambda trials: detects(claim, p, q, trials, alpha), most=MOST_TRIALS, precision=0.01)


def _quantile(probability: float, trials: int, chance: float) -> float:
    """The quantile of the binomial law, interpolated between integers."""
    if trials * chance <= MISS:  # SciPy's inverse gives NaN where anything at all is seen so rarely
        return 0.0
    if chance >= 1:
        return float(trials)
    return min(max(float(scipy.special.bdtrik(probability, trials, chance)), 0.0), trials)
