"""Decide whether two laws keep a claim: proved, refuted, or undecided."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from gmpy2 import mpq

from attacklab.laws.divergences import hockey_stick, smallest_epsilon
from attacklab.laws.enclosures import PRECISION
from attacklab.laws.law import Bounds, Law

_PRECISIONS = (PRECISION, 4 * PRECISION, 16 * PRECISION)


class Decision(Enum):
    """What two laws say about a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What two laws say about the claim that they are (ε, δ)-close in both directions.

    Args:
        decision: proved if the claim holds wherever the unresolved mass lies, refuted if it fails wherever that lies.
        epsilon: the claimed ε.
        delta: the claimed δ.
        delta_bounds: bounds on the smallest δ at that ε, for the worse direction.
        epsilon_bounds: bounds on the smallest ε at that δ, as floats rounded outwards.
        event: the outcomes that reach the lower bound on δ.
        reverse: whether they reach it with the two laws exchanged.
        digests: the laws' digests, in order.
    """

    decision: Decision
    epsilon: Any
    delta: Any
    delta_bounds: Bounds
    epsilon_bounds: tuple[float, float]
    event: frozenset[Hashable]
    reverse: bool
    digests: tuple[str, str]


def certify(epsilon: Any, delta: Any, p: Law, q: Law) -> Certificate:
    """Decide whether `p` and `q` are (ε, δ)-close: P(E) ≤ e^ε·Q(E) + δ and Q(E) ≤ e^ε·P(E) + δ for every event E.

    e^ε is irrational for every rational ε except 0, so it is enclosed between rational bounds. If they are too far
    apart to decide, more bits are tried, unless the mass that the laws leave unresolved outweighs that.

    Args:
        epsilon: ε, rational or a float (taken as the exact rational that it is), in [0, 2^20].
        delta: δ, likewise, in [0, 1].
        p: the law for one of two neighbouring inputs.
        q: the law for the other.

    Raises:
        ValueError: ε or δ is out of range.
        UnwritableOutcome: an outcome cannot be written as JSON, so the laws have no digest.
    """
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must lie in [0, 1], not {delta}")
    claimed = mpq(delta)
    for precision in _PRECISIONS:
        there = hockey_stick(p, q, epsilon, precision=precision)
        back = hockey_stick(q, p, epsilon, precision=precision)
        worse = max(there, back, key=lambda divergence: divergence.lower)
        bounds = Bounds(worse.lower, max(there.upper, back.upper))
        decision = Decision.UNDECIDED
        if bounds.upper <= claimed:
            decision = Decision.PROVED
        elif bounds.lower > claimed:
            decision = Decision.REFUTED
        if decision is not Decision.UNDECIDED or p.unresolved + q.unresolved > mpq(1, 1 << precision):
            break
    return Certificate(
        decision=decision,
        epsilon=epsilon,
        delta=delta,
        delta_bounds=bounds,
        epsilon_bounds=smallest_epsilon(p, q, claimed),
        event=worse.event,
        reverse=worse is back,
        digests=(p.digest(), q.digest()),
    )
