"""Decide a claim of any kind by two laws: proved, refuted, or undecided.

(ε, δ)-DP is decided by the hockey-stick divergence, μ-GDP at the vertices of the trade-off curve, claims on Rényi
divergences order by order and a privacy profile point by point. A claim of any other kind has a privacy profile too: it
is refuted at a point that the laws exceed, but no number of points proves it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from attacklab.laws.divergences import hockey_stick, smallest_epsilon
from attacklab.laws.enclosures import PRECISION
from attacklab.laws.gaussian import smallest_mu
from attacklab.laws.law import Bounds, Law
from attacklab.laws.renyi import common_part, keeps_zcdp, smallest_rho, worse_renyi_divergence
from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Profile, Renyi, ZeroConcentrated

MOST_EPSILON = 1 << 20
"""The largest ε for which e^ε is enclosed between rational bounds."""

_PRECISIONS = (PRECISION, 4 * PRECISION, 16 * PRECISION)


class Decision(Enum):
    """What two laws say about a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Closeness:
    """What two laws say about the claim that they are (ε, δ)-close in both directions.

    Args:
        decision: proved if the claim holds wherever the unresolved mass lies, refuted if it fails wherever that lies.
        epsilon: the claimed ε.
        delta: the claimed δ.
        delta_bounds: bounds on the smallest δ at that ε, for the worse direction.
        epsilon_bounds: bounds on the smallest ε at that δ, as floats rounded outwards.
        event: the set E of outcomes for which P(E) − e^ε·Q(E) is the lower bound on δ.
        reverse: whether P is the second law and Q the first.
    """

    decision: Decision
    epsilon: Any
    delta: Any
    delta_bounds: Bounds
    epsilon_bounds: tuple[float, float]
    event: frozenset[Hashable]
    reverse: bool


def certify(epsilon: Any, delta: Any, p: Law, q: Law) -> Closeness:
    """Decide whether `p` and `q` are (ε, δ)-close: P(E) ≤ e^ε·Q(E) + δ and Q(E) ≤ e^ε·P(E) + δ for every event E.

    e^ε is irrational for every rational ε except 0, so it is enclosed between rational bounds. If they are too far
    apart to decide, more bits are tried, unless the unresolved mass of the laws is the larger uncertainty.

    Args:
        epsilon: ε, rational or a float (taken as the exact rational that it is), in [0, 2^20].
        delta: δ, likewise, in [0, 1].
        p: the law for one of two neighbouring inputs.
        q: the law for the other.

    Raises:
        ValueError: ε or δ is out of range.
    """
    if not 0 <= delta <= 1:
        raise ValueError(f"delta must lie in [0, 1], not {delta}")
    claimed = mpq(delta)
    for precision in _PRECISIONS:
        forward = hockey_stick(p, q, epsilon, precision=precision)
        back = hockey_stick(q, p, epsilon, precision=precision)
        worse = max(forward, back, key=lambda divergence: divergence.lower)
        bounds = Bounds(worse.lower, max(forward.upper, back.upper))
        decision = Decision.UNDECIDED
        if bounds.upper <= claimed:
            decision = Decision.PROVED
        elif bounds.lower > claimed:
            decision = Decision.REFUTED
        if decision is not Decision.UNDECIDED or p.unresolved + q.unresolved > mpq(1, 1 << precision):
            break
    return Closeness(
        decision=decision,
        epsilon=epsilon,
        delta=delta,
        delta_bounds=bounds,
        epsilon_bounds=smallest_epsilon(p, q, claimed),
        event=worse.event,
        reverse=worse is back,
    )


@dataclass(frozen=True, slots=True)
class Need:
    """A lower bound on the parameter (ε, μ or ρ) that two laws need, the claimed value, and the Rényi order, if any."""

    symbol: str
    lower: float
    claimed: float
    order: float | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What two laws say about a claim.

    Attributes:
        decision: proved if the claim holds wherever the unresolved mass lies, refuted if it fails wherever that lies.
        kept_with_slack: whether the claim holds with the slack added to each of its δ.
        event: an event that one law makes more likely than the claim allows; empty if no single event shows it.
        reverse: whether the law that makes the event too likely is the second one.
        need: the parameter that the laws need; None if an (ε, δ) decides instead.
        certificate: what was found at the (ε, δ) that decides; None if no (ε, δ) does.
        point: the (ε, δ) that decides.
    """

    decision: Decision
    kept_with_slack: bool
    event: frozenset[Hashable] = frozenset()
    reverse: bool = False
    need: Need | None = None
    certificate: Closeness | None = None
    point: PrivacyClaim | None = None


def judge(claim: Claim, p: Law, q: Law, *, slack: Fraction = Fraction(0)) -> Ruling:
    """Decide whether two laws keep a claim, in both directions.

    Args:
        claim: a claim of any kind.
        p: the law for one of two neighbouring inputs.
        q: the law for the other.
        slack: a number added to every δ of the claim for `kept_with_slack`; ignored if both laws are closed.

    Raises:
        ValueError: the claim has an ε above 2^20.
    """
    if p.closed and q.closed:
        slack = Fraction(0)
    match claim:
        case PrivacyClaim():
            return _at_points([claim], p, q, slack)
        case Profile():
            return _at_points([PrivacyClaim(*pair) for pair in claim.pairs], p, q, slack)
        case GaussianDP():
            return _gaussian(claim, p, q, slack)
        case ZeroConcentrated():
            return _concentrated(claim, p, q, slack)
        case Renyi():
            return _renyi(claim, p, q, slack)
    # Where δ(ε) is 1 nothing is promised, although `at` says a δ just below.
    points = [claim.at(epsilon) for epsilon in claim.points if epsilon <= MOST_EPSILON and claim.delta_at(epsilon) < 1]
    if not points:
        return Ruling(Decision.UNDECIDED, False)
    ruling = _at_points(points, p, q, slack)
    if ruling.decision is Decision.REFUTED:
        return ruling
    return Ruling(Decision.UNDECIDED, False, certificate=ruling.certificate, point=ruling.point)


def _at_points(points: Sequence[PrivacyClaim], p: Law, q: Law, slack: Fraction) -> Ruling:
    """Decide a claim at (ε, δ) points: it is refuted if one point is, and proved if every point is."""
    judged = [(point, certify(point.epsilon, point.delta, p, q)) for point in points]
    decisions = {certificate.decision for _, certificate in judged}
    point, worst = max(judged, key=lambda pair: pair[1].delta_bounds.lower - Fraction(pair[0].delta))
    return Ruling(
        worst.decision if worst.decision is Decision.REFUTED else _decided(decisions == {Decision.PROVED}),
        all(certificate.delta_bounds.upper <= Fraction(at.delta) + slack for at, certificate in judged),
        worst.event,
        worst.reverse,
        certificate=worst,
        point=point,
    )


def _gaussian(claim: GaussianDP, p: Law, q: Law, slack: Fraction) -> Ruling:
    least = smallest_mu(p, q, slack=slack)
    is_kept = least.upper <= claim.mu
    need = Need("μ", least.lower, claim.mu)
    if least.lower > claim.mu:
        return Ruling(Decision.REFUTED, False, least.event, True, need)
    return Ruling(_decided(is_kept and not slack), is_kept, need=need)


def _concentrated(claim: ZeroConcentrated, p: Law, q: Law, slack: Fraction) -> Ruling:
    least = smallest_rho(p, q)
    need = Need("ρ", max(0.0, least.lower), claim.rho, least.order)
    if least.lower > claim.rho:
        return Ruling(Decision.REFUTED, False, need=need)
    parts = common_part(p, q, slack)
    is_kept = parts is not None and keeps_zcdp(*parts, claim.rho)
    return Ruling(_decided(is_kept and not slack), is_kept, need=need)


def _renyi(claim: Renyi, p: Law, q: Law, slack: Fraction) -> Ruling:
    found = [(worse_renyi_divergence(p, q, order).below(), most, order) for order, most in claim.pairs]
    needs = [Need("ε", max(0.0, least), most, order) for least, most, order in found]
    worst = max(needs, key=lambda need: need.lower - need.claimed)
    if worst.lower > worst.claimed:
        return Ruling(Decision.REFUTED, False, need=worst)
    parts = common_part(p, q, slack)
    is_kept = parts is not None and all(
        worse_renyi_divergence(*parts, order).upper <= Fraction(most) for order, most in claim.pairs
    )
    return Ruling(_decided(is_kept and not slack), is_kept, need=worst)


def _decided(is_proved: bool) -> Decision:
    return Decision.PROVED if is_proved else Decision.UNDECIDED
