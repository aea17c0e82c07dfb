"""Budgets that add up: exact rational numbers, and what m releases keep together.

Sources: Kairouz, Oh and Viswanath 2015, 'The Composition Theorem for Differential Privacy', theorem 3.3 and section 3:
the least ε′ of m releases that are ε-DP each is that of m randomized responses; m releases that are (ε, δ)-DP each have
at mε the least δ′ = 1 − (1 − δ)^m.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import gmpy2

from attacklab.calibration.refinement import refined
from attacklab.model.intervals import Interval


def remaining(total: float, parts: Sequence[float]) -> Interval:
    """What is left of a total, in ε of pure DP or ρ of zCDP, after some were spent."""
    return _rational(Fraction(total) - sum(map(Fraction, parts), Fraction(0)))


def quotient(of: float, by: float) -> Interval:
    """The share of a total in one of m releases; or from a sensitivity the ε of Laplace noise, or its scale."""
    return _rational(Fraction(of) / Fraction(by))


def _rational(number: Fraction) -> Interval:
    """A rational number as an interval; exact if the precision holds it."""
    return refined(lambda: Interval.of(number), lambda interval: bool(interval.lower == interval.upper))


def any_of(probability: Interval, tries: int) -> Interval:
    """1 − (1 − p)^m as p·(1 + (1 − p) + … + (1 − p)^(m−1)), in which nothing cancels, by doubling m."""
    missed = 1 - probability
    power, total = Interval.of(1), Interval.of(0)
    for bit in bin(tries)[2:]:
        power, total = power * power, total + power * total
        if bit == "1":
            power, total = power * missed, total * missed + 1
    return probability * total


def group_delta(epsilon: float, delta: float, size: int) -> Interval:
    """The least δ′ at size · ε that (ε, δ)-DP gives to a group, by the largest P[E] along a chain of neighbours.

    From a neighbour with P[E] = p to the next, P[E] is at most e^ε·p + δ, and 1 − P[E] at least e^−ε·(1 − p − δ).
    """
    growth, probability = Interval.of(epsilon).exp(), Interval.of(0)
    for _ in range(size):
        grown, left = growth * probability + delta, 1 - (1 - probability - delta) / growth
        ends = (min(grown.lower, left.lower), min(grown.upper, left.upper))
        probability = Interval(*(min(end, gmpy2.mpfr(1)) for end in ends))
    return probability


def composed_epsilon(epsilon: float, releases: int, delta: float) -> Interval:
    """The least ε′ at which m releases that are ε-DP each are (ε′, δ)-DP together.

    With the k likeliest events of m randomized responses, the ones with the fewest lies, P[E] ≤ e^ε′·Q[E] + δ asks for
    ε′ ≥ ln((P[E] − δ)/Q[E]); the largest of these over all k is the ε′ that is needed.
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
