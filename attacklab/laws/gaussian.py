"""The least μ for which two laws keep μ-GDP: certified bounds.

μ-GDP says that the trade-off curve T of the two laws lies nowhere below f_μ(a) = Φ(Φ⁻¹(1 − a) − μ), the trade-off curve
of N(0, 1) and N(μ, 1). T is piecewise linear and f_μ is convex, so f_μ lies below each of its own chords: where T ≥ f_μ
at two neighbouring vertices (a, b) of T, the piece of T between them lies above the chord of f_μ between the same two
type I errors, and this chord lies above f_μ. So T keeps the claim if and only if its vertices do. With Q(x) = P[Z > x]
and Q⁻¹ its inverse, b ≥ f_μ(a) is

    Q⁻¹(a) + Q⁻¹(b) ≤ μ,

which is symmetric in a and b: exchanging the laws exchanges the two errors, and says the same.

Mass that is left open: let E be a set of outcomes, p(E) and q(E) their known masses, u and v what is unresolved. The
point (p(E) + u, 1 − q(E)) lies on or above T wherever u and v lie, so the μ that it needs is a lower bound. And T lies
nowhere below the curve of the known masses moved down by v, hence the upper bound. The upper bound is infinite unless
some δ is added to the claim: T ≥ f_μ − s, in both directions, says δ(ε) ≤ δ_μ(ε) + s for every ε. f_μ − s is convex as
well, so vertices still suffice.

Source: Dong, Roth and Su 2022, 'Gaussian Differential Privacy', definitions 2.1 and 2.6 and proposition 2.12 (the
privacy profile of a trade-off function).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gmpy2
from gmpy2 import mpq

from attacklab.laws.divergences import by_ratio
from attacklab.laws.law import Law
from attacklab.model.intervals import PRECISION, Interval

HALF = mpq(1, 2)
MOST_NEWTON_STEPS = 64
FIRST_MARGIN = 2.0**-170
"""The first relative half-width of the interval around Newton's result; it is widened until both ends are certified."""


@dataclass(frozen=True, slots=True)
class LeastMu:
    """Certified bounds on the least μ, as floats rounded outwards, and the event that gives the lower bound."""

    lower: float
    upper: float
    event: frozenset[Hashable]


def smallest_mu(p: Law, q: Law, *, slack: Any = 0) -> LeastMu:
    """Return bounds on the least μ of two laws. `slack`, which is added to every δ, lowers only the upper bound."""
    lower, event = 0.0, frozenset[Hashable]()
    for type_1, kept, outcomes in _tests(p, q):
        least = _needed(type_1 + p.unresolved, kept + q.unresolved).below()
        if least > lower:
            lower, event = least, frozenset(outcomes)
    upper = max(
        _needed(type_1, kept + mpq(slack)).above()
        for first, second in ((p, q), (q, p))
        for type_1, kept, _ in _tests(first, second)
    )
    return LeastMu(lower, max(lower, upper), event)


@lru_cache(maxsize=1 << 14)
def normal_quantile(tail: Any) -> Interval:
    """Enclose the x with P[Z > x] = `tail` for a standard normal Z.

    Newton's method on the logarithm of the tail, which is concave, goes down from √(−2·ln(2·tail)), which is above x.
    The interval that is returned is certified by the tails at its two ends.

    Args:
        tail: a rational number in (0, 1).
    """
    if tail > HALF:
        return -normal_quantile(1 - tail)
    with gmpy2.context(precision=PRECISION):
        aimed, root = gmpy2.log(gmpy2.mpfr(tail)), gmpy2.sqrt(gmpy2.mpfr(2))
        x = gmpy2.sqrt(max(gmpy2.mpfr(0), -2 * gmpy2.log(gmpy2.mpfr(2 * tail))))
        for _ in range(MOST_NEWTON_STEPS):
            tail_at_x = gmpy2.erfc(x / root) / 2
            step = (gmpy2.log(tail_at_x) - aimed) * tail_at_x * gmpy2.sqrt(2 * gmpy2.const_pi()) * gmpy2.exp(x * x / 2)
            x += step
            if abs(step) <= (1 + x) * FIRST_MARGIN:
                break
        margin = (1 + x) * FIRST_MARGIN
    centre = mpq(x)
    while True:
        ends = [Interval.of(centre - mpq(margin)), Interval.of(centre + mpq(margin))]
        if ends[0].normal_tail().lower >= tail and ends[1].normal_tail().upper <= tail:
            return Interval.hull(*ends)
        margin = margin * 16


def _needed(type_1: Any, type_2: Any) -> Interval:
    """Return the μ, at least 0, that a point of the trade-off curve needs; infinite if no μ suffices."""
    if type_1 >= 1 or type_2 >= 1:
        return Interval.of(0)
    if type_1 <= 0 or type_2 <= 0:
        return Interval.of(math.inf)
    return normal_quantile(mpq(type_1)) + normal_quantile(mpq(type_2))


def _tests(p: Law, q: Law) -> Iterator[tuple[Any, Any, list[Hashable]]]:
    """Yield tests that include all vertices of the trade-off curve.

    Yields:
        (p(E), q's known mass outside E, E), where E is the n outcomes with the largest q(o)/p(o), for n = 0, 1, 2, …
    """
    outcomes = by_ratio(q, p)
    type_1, kept = mpq(0), 1 - q.unresolved
    yield type_1, kept, []
    for count, outcome in enumerate(outcomes, 1):
        type_1, kept = type_1 + p.mass(outcome), kept - q.mass(outcome)
        yield type_1, kept, outcomes[:count]
