"""Confidence from counts, for a number of trials fixed beforehand: bounds on P[E] and Q[E], and what they refute.

An event is counted on `trials` outputs of each input. Two Clopper–Pearson intervals, each at α/2, contain P[E] and Q[E]
together with probability at least 1 − α, whatever the laws are. Every bound here is read off that box. So all of them,
for the event and its complement and in both directions, hold at once at the price of one α.

Source: Clopper and Pearson 1934.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from attacklab.model.claims import PrivacyClaim, directions
from attacklab.model.errors import UsageError
from attacklab.model.findings import Counts, Estimate


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the counts of one event say about a claim."""

    first: Estimate  # P[E] with bounds
    second: Estimate  # Q[E] with bounds
    advantage: Estimate  # P[E] − Q[E] with bounds
    excess_lower: float  # lower bound on the largest P[E] − e^ε·Q[E] − δ (complement and reverse too); may be negative
    epsilon_lower: float  # a lower bound on the true ε at the claimed δ
    delta_lower: float  # a lower bound on the true δ at the claimed ε
    violated: bool

    @property
    def bounds(self) -> dict[str, Any]:
        """The values that a finding keeps, by their names in `findings.Shown`."""
        names = ("first", "second", "advantage", "epsilon_lower", "delta_lower")
        return {name: getattr(self, name) for name in names}


def clopper_pearson(hits: ArrayLike, trials: int, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper bounds on probabilities, in the shape of `hits`, each wrong with probability at most α/2.

    Raises:
        ValueError: an argument is out of range.
    """
    counts = np.asarray(hits)
    if trials < 1:
        raise ValueError(f"trials must be at least 1, not {trials}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1), not {alpha}")
    if (counts < 0).any() or (counts > trials).any():
        raise ValueError(f"hits must lie in [0, {trials}], not {counts}")
    with np.errstate(invalid="ignore"):
        lower = np.where(counts == 0, 0.0, scipy.special.betaincinv(counts, trials - counts + 1, alpha / 2))
        upper = np.where(counts == trials, 1.0, scipy.special.betainccinv(counts + 1, trials - counts, alpha / 2))
    # For an α below 10^−100 SciPy may give NaN; the bounds 0 and 1 are always right.
    return np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)


def assess(claim: PrivacyClaim, counts: Counts, alpha: float) -> Assessment:
    """Judge one event; all bounds hold together with probability at least 1 − α.

    Raises:
        ValueError: a count or α is out of range.
    """
    hits = np.array([counts.first, counts.second])
    lower, upper = clopper_pearson(hits, counts.trials, alpha / 2)
    return read_off(claim, counts, (lower[0], upper[0]), (lower[1], upper[1]))


def largest_excess(claims: Sequence[PrivacyClaim], counts: Sequence[Counts], alpha: float) -> float:
    """Return the largest `excess_lower` that `assess` gives for any of the claims and any of these events' counts."""
    hits = np.array([[count.first, count.second] for count in counts])
    lower, upper = (ends.tolist() for ends in clopper_pearson(hits, counts[0].trials, alpha / 2))
    cases = {
        case
        for (p_low, q_low), (p_high, q_high) in zip(lower, upper, strict=True)
        for case in directions((p_low, p_high), (q_low, q_high))
    }
    return max(claim.excess(at_least, at_most) for claim in claims for at_least, at_most in cases)


def keeps_surely(claim: PrivacyClaim, counts: Counts, alpha: float) -> bool:
    """Whether an event keeps the claim for all values of P[E] and Q[E] within their joint confidence bounds at α."""
    hits = np.array([counts.first, counts.second])
    lower, upper = clopper_pearson(hits, counts.trials, alpha / 2)
    cases = directions((float(upper[0]), float(lower[0])), (float(upper[1]), float(lower[1])))
    return max(claim.excess(at_most, at_least) for at_most, at_least in cases) <= 0


def read_off(
    claim: PrivacyClaim, counts: Counts, first: tuple[float, float], second: tuple[float, float]
) -> Assessment:
    """Return the assessment that follows from bounds on P[E] and on Q[E] that hold together."""
    (p_low, p_high), (q_low, q_high) = ((float(low), float(high)) for low, high in (first, second))
    p, q = counts.first / counts.trials, counts.second / counts.trials
    cases = directions((p_low, p_high), (q_low, q_high))
    excess = max(claim.excess(at_least, at_most) for at_least, at_most in cases)
    return Assessment(
        first=Estimate(p, p_low, p_high),
        second=Estimate(q, q_low, q_high),
        advantage=Estimate(p - q, p_low - q_high, p_high - q_low),
        excess_lower=excess,
        epsilon_lower=max(_log_ratio(at_least - claim.delta, at_most) for at_least, at_most in cases),
        delta_lower=max(0.0, excess + claim.delta),
        violated=excess > 0,
    )


def share_of_alpha(alpha: float, parts: int) -> float:
    """Return the α of each of `parts` tests that share `alpha` evenly (Bonferroni).

    Raises:
        ValueError: α is outside (0, 1) or `parts` is less than 1.
    """
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie in (0, 1), not {alpha}")
    if parts < 1:
        raise ValueError(f"parts must be at least 1, not {parts}")
    return alpha / parts


def _log_ratio(at_least: float, at_most: float) -> float:
    """Return max(0, ln(at_least / at_most)), a lower bound on ε from bounds on the two probabilities of an event."""
    if at_least <= at_most or at_least <= 0:
        return 0.0
    return math.log(at_least / at_most) if at_most > 0 else math.inf
