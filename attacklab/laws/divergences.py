"""How far two laws lie apart: certified bounds in rational numbers.

A law knows a mass for each outcome and leaves the rest unresolved: it may lie anywhere, even on outcomes that are not
listed. Let p and q be the known masses, u and v the unresolved ones, and c = e^ε. Then p(E) ≤ P(E) ≤ p(E) + u and q(E)
≤ Q(E) ≤ q(E) + v for every set E of outcomes, and all bounds here follow from that. For closed laws the lower and the
upper bound are equal, apart from the enclosure of c.

Source: Dwork and Roth 2014, section 3.5.1 (privacy loss); Barthe and Olmedo 2013 (hockey-stick divergence as (ε,
δ)-DP); Dong, Roth and Su 2022, section 2 (trade-off function).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from gmpy2 import mpq

from attacklab.laws.enclosures import PRECISION, exp_bounds, log_bounds
from attacklab.laws.law import Bounds, Law, total


@dataclass(frozen=True, slots=True)
class Divergence:
    """Certified bounds on a divergence, and the event that reaches the lower one.

    Args:
        lower: a rational number.
        upper: a rational number.
        event: the outcomes o with p(o) > e^ε·q(o), where p and q are the known masses in the first and second law.
    """

    lower: Any
    upper: Any
    event: frozenset[Hashable]


def hockey_stick(p: Law, q: Law, epsilon: Any, *, precision: int = PRECISION) -> Divergence:
    """Return the hockey-stick divergence max over E of P(E) − e^ε·Q(E): the smallest δ in this direction.

    Args:
        p: the law for one of two neighbouring inputs.
        q: the law for the other.
        epsilon: ε, rational or a float (taken as the exact rational that it is), in [0, 2^20].
        precision: the bits of precision to which e^ε is enclosed.

    Raises:
        ValueError: ε is out of range.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, not {epsilon}")
    least, most = exp_bounds(epsilon, precision)
    event = tuple(outcome for outcome, mass in p.masses.items() if mass > most * q.mass(outcome))
    reached = total(p.mass(outcome) - most * q.mass(outcome) for outcome in event)
    within = total(max(mass - least * q.mass(outcome), mpq(0)) for outcome, mass in p.masses.items())
    return Divergence(max(reached - most * q.unresolved, mpq(0)), min(within + p.unresolved, mpq(1)), frozenset(event))


def smallest_delta(p: Law, q: Law, epsilon: Any, *, precision: int = PRECISION) -> Bounds:
    """Return the smallest δ for which the laws are (ε, δ)-close in both directions; arguments as in `hockey_stick`."""
    forward = hockey_stick(p, q, epsilon, precision=precision)
    back = hockey_stick(q, p, epsilon, precision=precision)
    return Bounds(max(forward.lower, back.lower), max(forward.upper, back.upper))


def advantage(p: Law, q: Law) -> Divergence:
    """Return the distinguishing advantage max over E of P(E) − Q(E), which is the total variation distance."""
    return hockey_stick(p, q, 0)


def largest_ratio(p: Law, q: Law, delta: Any = 0) -> Bounds:
    """The largest (P(E) − δ)/Q(E) over all events, at least 1: e^ε for the smallest ε of (ε, δ)-DP in this direction.

    The upper bound is finite only if at most δ of `p` is unresolved. If an event has probability more than δ under `p`
    and none under `q`, both bounds are `math.inf`.

    Args:
        p: the law for one of two neighbouring inputs.
        q: the law for the other.
        delta: δ, rational or a float (taken as the exact rational that it is), in [0, 1].
    """
    # P(E) − c·Q(E) is largest for the outcomes with a ratio above c, so only such events need to be tried.
    allowed, open_p, open_q = mpq(delta), p.unresolved, q.unresolved
    lower: Any = mpq(1)
    upper: Any = mpq(1) if open_p <= allowed else math.inf
    mass_p = mass_q = mpq(0)
    for outcome in by_ratio(p, q):
        mass_p += p.mass(outcome)
        mass_q += q.mass(outcome)
        if mass_p > allowed:
            lower = max(lower, _ratio(mass_p - allowed, mass_q + open_q))
        if mass_p + open_p > allowed:
            upper = max(upper, _ratio(mass_p + open_p - allowed, mass_q))
    return Bounds(lower, upper)


def smallest_epsilon(p: Law, q: Law, delta: Any = 0) -> tuple[float, float]:
    """Return bounds on the smallest ε for which both directions are (ε, δ)-close, as floats rounded outwards."""
    forward, back = largest_ratio(p, q, delta), largest_ratio(q, p, delta)
    return log_bounds(Bounds(max(forward.lower, back.lower), max(forward.upper, back.upper)))


def privacy_loss(p: Law, q: Law) -> Law:
    """Return the privacy loss random variable: the law of the likelihood ratio P(o)/Q(o) where o is drawn from `p`.

    Its outcomes are `Bounds` on the ratio: equal ones for closed laws, `math.inf` where Q(o) is or may be 0. The
    logarithm of the ratio is the privacy loss: see `log_bounds`.
    """

    def ratio(outcome: Hashable) -> Bounds:
        (p_lower, p_upper), (q_lower, q_upper) = p[outcome], q[outcome]
        return Bounds(_ratio(p_lower, q_upper), _ratio(p_upper, q_lower))

    return p.map(ratio)


def trade_off(p: Law, q: Law) -> list[tuple[Any, Any]]:
    """Return the vertices of the trade-off curve: the smallest type II error for each type I error, if H₀ is `p`.

    Returns:
        Pairs (type I error, type II error) of the Neyman–Pearson tests on the known masses, in order of type I error
        from 0 to 1; the curve joins them by straight lines. For closed laws it is exact. Otherwise the true curve lies
        between this one moved down by `q.unresolved` and this one moved right by `p.unresolved`.
    """
    vertices = [(mpq(0), mpq(1))]
    slope = math.inf
    for outcome in by_ratio(q, p):
        type_1, type_2 = vertices[-1]
        steeper, slope = slope, _ratio(q.mass(outcome), p.mass(outcome))
        if slope == steeper:
            vertices.pop()
        vertices.append((type_1 + p.mass(outcome), type_2 - q.mass(outcome)))
    type_1, type_2 = vertices[-1]
    if type_1 < 1:
        vertices.append((mpq(1), type_2))
    return vertices


def _ratio(numerator: Any, denominator: Any) -> Any:
    return numerator / denominator if denominator else math.inf


def by_ratio(p: Law, q: Law) -> list[Hashable]:
    """Return the outcomes o of `p`, sorted by p(o)/q(o), the largest ratio first."""
    return sorted(p, key=lambda outcome: _ratio(p.mass(outcome), q.mass(outcome)), reverse=True)
