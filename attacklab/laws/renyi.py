"""Rényi divergences of two laws, and whether they keep an order's bound or ρ-zCDP: certified.

For α > 1, D_α(P‖Q) = 1/(α − 1)·log Σ P(o)^α·Q(o)^(1−α). A term grows with P(o) and falls with Q(o). Let p and q be the
known masses, u and v the unresolved ones. As p(o) ≤ P(o) and q(o) + v ≥ Q(o), the sum of p(o)^α·(q(o) + v)^(1−α) over
the known outcomes gives a lower bound. An upper bound exists only for closed laws, since u may lie where Q has no mass.

ρ-zCDP is D_α ≤ ρα for every α > 1. One order refutes it. It is proved by a chain of orders, because D_α does not fall
with α: if D_a ≤ ρ·b for some b < a, then D_α ≤ D_a ≤ ρ·b ≤ ρ·α for all α from b to a. The chain begins at a = D_∞/ρ,
above which D_α ≤ D_∞ ≤ ρα, goes from each a to b = D_a/ρ, and has proved the claim when b ≤ 1. Each step needs one
upper bound. If D_α < ρα for all α in [1, D_∞/ρ], where D_1 is the Kullback-Leibler divergence, each step goes down by
at least the least of the differences over ρ, so the chain ends.

Laws that are not closed keep a claim *but for* w, the larger of the masses that are dropped from P and Q: let P′ and Q′
be what remains of P and Q, as laws of mass 1. P is (1 − w)·P′ + w·P″ and Q likewise, so if P′ and Q′ keep a claim with
the profile δ(ε), P and Q keep δ(ε) + w. (This is w-approximate zCDP.)

Sources: van Erven and Harremoës 2014, 'Rényi Divergence and Kullback-Leibler Divergence', theorems 3 (monotone in the
order) and 6 (the limit D_∞); Bun and Steinke 2016, 'Concentrated Differential Privacy', definitions 1.1 and 8.1. The
chain is worked out here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy
from gmpy2 import mpq

from attacklab.laws.law import Law, total
from attacklab.model.intervals import Interval

MOST_STEPS = 2_000
"""The most orders to try in one chain; after that the claim is left undecided."""

ORDERS = tuple(sorted({*(1 + 2.0 ** (step / 2) for step in range(-40, 29)), *(order / 2 for order in range(3, 65))}))
"""The orders among which the worst is looked for: near 1, halves and whole numbers, and large ones."""

Terms: TypeAlias = Sequence[tuple[Interval, Interval]]
"""Enclosures of log p(o) and log(q(o) + v) for each known outcome o of P; v is the unresolved mass of Q."""


@dataclass(frozen=True, slots=True)
class LeastRho:
    """A certified lower bound on the least ρ, as a float rounded down, and the order α that needs it."""

    lower: float
    order: float


def renyi_divergence(p: Law, q: Law, alpha: Any) -> Interval:
    """Enclose D_α(P‖Q) for an order α > 1. The upper bound is infinite if a law is not closed."""
    return _divergence(_terms(p, q), mpq(alpha), is_closed=p.closed and q.closed)


def worse_renyi_divergence(p: Law, q: Law, alpha: Any) -> Interval:
    """Enclose the larger of D_α(P‖Q) and D_α(Q‖P), as in `renyi_divergence`."""
    forward, back = renyi_divergence(p, q, alpha), renyi_divergence(q, p, alpha)
    return Interval(max(forward.lower, back.lower), max(forward.upper, back.upper))


def smallest_rho(p: Law, q: Law) -> LeastRho:
    """Return a certified lower bound on the least ρ of two laws: D_α/α at the order α where it seems largest."""
    best = LeastRho(0.0, ORDERS[0])
    for first, second in ((p, q), (q, p)):
        terms, is_closed = _terms(first, second), p.closed and q.closed
        for order in _candidates(terms):
            lower = max(0.0, (_divergence(terms, mpq(order), is_closed=is_closed) / mpq(order)).below())
            if lower > best.lower:
                best = LeastRho(lower, order)
    return best


def keeps_zcdp(p: Law, q: Law, rho: Any) -> bool:
    """Whether a chain of orders proves that two laws keep ρ-zCDP; False if a law is open or the chain gets too long."""
    if not (p.closed and q.closed) or len(p) != len(q) or not all(outcome in q for outcome in p):
        return False
    both = [_terms(p, q), _terms(q, p)]
    order = (max((first - second for terms in both for first, second in terms), key=_upper) / rho).above()
    for _ in range(MOST_STEPS):
        if order <= 1:
            return True
        if order == math.inf:
            return False
        worst = max((_divergence(terms, mpq(order), is_closed=True) for terms in both), key=_upper)
        following = (worst / rho).above()
        if following >= order:
            return False
        order = following
    return False


def common_part(p: Law, q: Law, dropped: Any) -> tuple[Law, Law] | None:
    """Restrict two laws to the outcomes that both are known to have, and scale each to mass 1.

    Return None if more than `dropped` of the mass of either law lies elsewhere.
    """
    shared = [outcome for outcome in p if outcome in q]
    parts = []
    for law in (p, q):
        kept = total(law.mass(outcome) for outcome in shared)
        if not shared or 1 - kept > mpq(dropped):
            return None
        parts.append(Law({outcome: law.mass(outcome) / kept for outcome in shared}))
    return parts[0], parts[1]


def _terms(p: Law, q: Law) -> Terms:
    return [
        (Interval.of(mass).log(), Interval.of(q.mass(outcome) + q.unresolved).log())
        for outcome, mass in p.masses.items()
    ]


def _divergence(terms: Terms, alpha: Any, *, is_closed: bool) -> Interval:
    if alpha <= 1:
        raise ValueError(f"the order of a Rényi divergence must be greater than 1, not {float(alpha):g}")
    if any(math.isinf(second.upper) for _, second in terms):
        return Interval.of(math.inf)
    added = Interval.of(0)
    for first, second in terms:
        added = added + (second + (first - second) * alpha).exp()
    divergence = added.log() / (alpha - 1)
    return divergence if is_closed else Interval(divergence.lower, Interval.of(math.inf).upper)


def _upper(interval: Interval) -> Any:
    return interval.upper


def _candidates(terms: Terms) -> Iterator[float]:
    """Yield orders at which D_α/α may be largest, found in floats: the best of `ORDERS`, and one near it.

    If the divergence is infinite, it is infinite at every order, and the only order is 2.
    """
    if not terms or any(math.isinf(second.upper) for _, second in terms):
        yield 2.0
        return
    first, second = (np.array([float(pair[side].lower) for pair in terms]) for side in (0, 1))

    def ratio(order: float) -> float:
        return float(scipy.special.logsumexp(second + order * (first - second))) / (order * (order - 1))

    place = max(range(len(ORDERS)), key=lambda index: ratio(ORDERS[index]))
    low, high = ORDERS[max(0, place - 1)], ORDERS[min(len(ORDERS) - 1, place + 1)]
    refined = scipy.optimize.minimize_scalar(lambda order: -ratio(order), bounds=(low, high), method="bounded")
    yield ORDERS[place]
    yield float(refined.x)
