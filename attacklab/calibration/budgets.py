"""Composition of budgets: exact sums and quotients, and the least ε or δ of m releases together.

Sources: Kairouz, Oh and Viswanath 2015, 'The Composition Theorem for Differential Privacy', theorem 3.3 and section 3:
m randomized responses are the worst case of m releases that are ε-DP each; for m releases that are (ε, δ)-DP each, the
least δ′ at mε is 1 − (1 − δ)^m.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import gmpy2

from attacklab.calibration.refinement import refined
from attacklab.model.intervals import Interval


def remaining(total: float, parts: Sequence[float]) -> Interval:
    """Return `total` minus the sum of `parts`: what is left of a budget in ε of pure DP or ρ of zCDP."""
    return _rational(Fraction(total) - sum(map(Fraction, parts), Fraction(0)))


def quotient(of: float, by: float) -> Interval:
    """Return of/by: a budget per release, the ε of Laplace noise (sensitivity/scale), or its scale (sensitivity/ε)."""
    return _rational(Fraction(of) / Fraction(by))


def _rational(number: Fraction) -> Interval:
    """Return an interval around a rational number; its width is 0 if the number fits one of `PRECISIONS` bits."""
    return refined(lambda: Interval.of(number), lambda interval: bool(interval.lower == interval.upper))


def any_of(probability: Interval, tries: int) -> Interval:
    """Enclose 1 − (1 − p)^m as p·(1 + … + (1 − p)^(m−1)), without cancellation; p is `probability`, m is `tries`."""
    missed = 1 - probability
    power, total = Interval.of(1), Interval.of(0)
    for bit in bin(tries)[2:]:
        power, total = power * power, total + power * total
        if bit == "1":
            power, total = power * missed, total * missed + 1
    return probability * total


def group_delta(epsilon: float, delta: float, size: int) -> Interval:
    """Enclose the least δ′ at size·ε that (ε, δ)-DP implies for a group: the largest P[E] after `size` steps from 0.

    One step is from a dataset with P[E] = p to a neighbour, where P[E] ≤ min(e^ε·p + δ, 1 − e^−ε·(1 − p − δ)).
    """
    growth, probability = Interval.of(epsilon).exp(), Interval.of(0)
    for _ in range(size):
        grown, left = growth * probability + delta, 1 - (1 - probability - delta) / growth
        ends = (min(grown.lower, left.lower), min(grown.upper, left.upper))
        probability = Interval(*(min(end, gmpy2.mpfr(1)) for end in ends))
    return probability


def composed_epsilon(epsilon: float, releases: int, delta: float) -> Interval:
    """Enclose the least ε′ at which m releases that are ε-DP each are (ε′, δ)-DP together.

    Let E be the event that at most k of m randomized responses are lies. P[E] ≤ e^ε′·Q[E] + δ means
    ε′ ≥ ln((P[E] − δ)/Q[E]). The least ε′ is the largest of these bounds over all k.
    """
    if delta == 0:
        return _rational(Fraction(epsilon) * releases)
    odds = Interval.of(epsilon).exp()
    ratios = [Interval.of(1)]
    for _ in range(releases):
        ratios.append(ratios[-1] * odds)
    ways = [math.comb(releases, lies) for lies in range(releases + 1)]
    spared = sum((ratio * count for ratio, count in zip(ratios, ways, strict=True)), Interval.of(0)) * delta
    first = second = Interval.of(0)
    lower = upper = gmpy2.mpfr(0)
    for lies, count in enumerate(ways):
        first, second = first + ratios[releases - lies] * count, second + ratios[lies] * count
        excess = first - spared
        if excess.upper > 0:
            needed = (Interval(max(excess.lower, gmpy2.mpfr(0)), excess.upper) / second).log()
            lower, upper = max(lower, needed.lower), max(upper, needed.upper)
    return Interval(lower, upper)
