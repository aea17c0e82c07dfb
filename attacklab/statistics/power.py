"""How much an audit can see: the trials that an event takes, and the smallest advantage that a budget shows.

Three counts are taken at an unlucky end of their own (how often the event holds the first output, the second, and
both), so that the power is at least `POWER` whatever they do together.
"""

from __future__ import annotations

import math

from scipy import special

from attacklab.bisection import first
from attacklab.claims import PrivacyClaim, directions
from attacklab.findings import Counts
from attacklab.statistics.betting import evidence

POWER = 0.95
"""The probability with which a smallest detectable advantage is detected."""

MISS = (1 - POWER) / 3
"""The probability with which each of the three counts of an event is beyond its unlucky end."""

MOST_TRIALS = 1 << 48
"""More are not asked for: an event that takes them is as good as invisible."""


def detects(claim: PrivacyClaim, p: float, q: float, trials: int, alpha: float) -> bool:
    """Whether an event of probabilities p > q refutes the claim with probability at least `POWER` in so many trials.

    The α is that of `betting.judge`, which gives half of it to the evidence.
    """
    rarely = math.floor(_quantile(MISS, trials, p))
    often = math.ceil(_quantile(1 - MISS, trials, q))
    # At a share λ and δ = 0, two trials in which the event holds one output each multiply the wealth by
    # (1 + λe^−ε)(1 − λ), and one that holds both with one that holds neither by more: 1 + λe^−ε − λ.
    both = min(rarely, often, math.floor(_quantile(MISS, trials, p * q)))
    both = max(both, rarely + often - trials)
    return evidence(claim, Counts(rarely, often, trials, both)) >= math.log(2 / alpha)


def smallest_detectable_advantage(claim: PrivacyClaim, trials: int, alpha: float, base_rate: float) -> float | None:
    """The least advantage found by which the claim is refuted with probability at least `POWER`.

    Args:
        claim: the claim to be refuted.
        trials: outputs of either input.
        alpha: as in `betting.judge`.
        base_rate: the smaller one of P[E] and Q[E]; the rarer the event, the smaller the advantage that shows.

    Returns:
        The advantage, within 1 %, or None where no event of that base rate can be detected with so few trials.
    """
    missed, found = 0.0, 1.0 - base_rate
    if not detects(claim, base_rate + found, base_rate, trials, alpha):
        return None
    while found - missed > 0.01 * found:
        middle = (missed + found) / 2
        detected = detects(claim, base_rate + middle, base_rate, trials, alpha)
        missed, found = (missed, middle) if detected else (middle, found)
    return found


def trials_needed(claim: PrivacyClaim, p: float, q: float, alpha: float) -> int | None:
    """How many trials refute the claim by an event of probabilities p and q with probability at least `POWER`.

    Returns:
        The number, within 1 %, or None where p and q keep the claim (or all but keep it).
    """
    p, q = max(p, q), min(p, q)
    if max(claim.excess(here, there) for here, there in directions((p, p), (q, q))) <= 0:
        return None
    return first(lambda trials: detects(claim, p, q, trials, alpha), most=MOST_TRIALS, precision=0.01)


def _quantile(probability: float, trials: int, chance: float) -> float:
    """Where the distribution function of the binomial law, taken as continuous, has a value.

    It is 0 for what is seen at all with no more probability than `MISS`: SciPy's inverse has no number there.
    """
    if trials * chance <= MISS:
        return 0.0
    return float(trials) if chance >= 1 else min(max(float(special.bdtrik(probability, trials, chance)), 0.0), trials)
