"""Bounds on the δ(ε) and ε(δ) that ρ-zCDP implies. A conversion that promises less than the lower bound is wrong.

The upper bound is what `attacklab.model.claims` certifies for ρ-zCDP. The lower bound is a mechanism that is certified
to be ρ-zCDP. It gives the first of two answers with probability p or q, by the input. If δ is small, it is the worst
case of Canonne, Kamath and Steinke 2020, proposition 12: q = p·e^(−t) for t = ε + ln(1 + 1/λ) and p = e^(λ(λ+1)ρ − λt)
at the best λ = α − 1. Otherwise it is the event at which the tangent of the upper bound touches. If both directions of
the claim bind, for a δ of 0.4 or more, the bounds are some per cent apart. To leave room for the certificate, p and q
are lowered by the same small share, which lowers δ by that share. The certificate: K(λ) = ln E[e^(λZ)] of the privacy
loss Z is convex. On a cell [a, b], K is at most its chord, and ρλ(λ+1) is its own chord less ρ(λ−a)(b−λ). So K stays
below ρλ(λ+1) if it is below by ρ(b−a)²/4 at both ends.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gmpy2
import scipy

from attacklab.calibration.refinement import crossing, exact
from attacklab.model.bisection import least
from attacklab.model.claims import ZeroConcentrated
from attacklab.model.claims.conversion import best_tangent, delta_bound
from attacklab.model.intervals import Interval

MOST_CELLS = 4096
FINEST_HALVINGS = 52

AGREED = 1e-6
"""If the first bounds on ε differ by at most this share, `epsilon` does not narrow them further."""

LEAST_MIXED = 60
"""The probability of the first answer is lowered by at least 2^−60 of itself, to leave room for the certificate."""

LOG_ORDERS = (-28.0, 700.0)
"""The range of ln(α − 1) that is searched for the best order α of `conversion`."""

LEAST_LOGARITHM = -745.0
"""The logarithm of the least double above 0."""

LARGE = 40.0
"""If λ(λ+1)ρ is at least this, the mechanism of proposition 12 is the best one to more digits than a double has."""


def delta(rho: float, epsilon: float) -> Interval:
    """Enclose the least δ at ε: some ρ-zCDP mechanism needs the lower end; the upper end is enough for all."""
    enough = min(delta_bound(ZeroConcentrated(rho), epsilon).upper, conversion(rho, epsilon).upper)
    return Interval(min(_witnessed(rho, epsilon), enough), enough)


def epsilon(rho: float, delta: float) -> Interval:
    """Enclose the least ε at δ: some ρ-zCDP mechanism needs the lower end; the upper end is enough for all."""
    enough = crossing(lambda loss: conversion(rho, loss), delta).upper
    if gmpy2.is_infinite(enough):
        return Interval.hull(0, math.inf)

    def less(halvings: int) -> float:
        return float(exact(enough) * (1 - Fraction(1, 1 << halvings)))

    nearest = least(lambda halvings: not _witnessed(rho, less(halvings)) > delta, 0, FINEST_HALVINGS) - 1
    known = Interval(gmpy2.mpfr(less(nearest)), enough)
    if known.upper - known.lower <= known.upper * AGREED:
        return known

    def excess(loss: float) -> float:
        p, q = _touched(rho, loss)
        return p - math.exp(loss) * q - delta

    crossed = scipy.optimize.brentq(excess, 0.0, float(enough)) if excess(0.0) > 0 else 0.0
    below, above = crossed * (1 - AGREED / 4), crossed * (1 + AGREED / 4)
    return Interval(
        gmpy2.mpfr(below) if _witnessed(rho, below) > delta else known.lower,
        gmpy2.mpfr(above) if delta_bound(ZeroConcentrated(rho), above).upper <= delta else known.upper,
    )


def _witnessed(rho: float, epsilon: float) -> Any:
    """Return a lower bound on the least δ at ε, from a two-answer mechanism that is certified to be ρ-zCDP."""
    p, q = two_answers(rho, epsilon)
    if not (q.lower > 0 and p.upper < 1):
        return gmpy2.mpfr(0)

    def is_uncertified(halvings: int) -> bool:
        first, second = (answer * (1 - Fraction(1, 1 << halvings)) for answer in (p, q))
        return not (keeps(first, second, rho) and keeps(second, first, rho))

    halvings = LEAST_MIXED if not is_uncertified(LEAST_MIXED) else least(is_uncertified, 0, LEAST_MIXED) - 1
    kept = 1 - Fraction(1, 1 << halvings)
    return max(gmpy2.mpfr(0), (p * kept - Interval.of(epsilon).exp() * (q * kept)).lower)


def two_answers(rho: float, epsilon: float) -> tuple[Interval, Interval]:
    """Return p and q, the first answer's probabilities in a nearly worst ρ-zCDP mechanism, as intervals of width 0."""
    order = Interval.of(_best_order(rho, epsilon)) - 1
    exponent = _exponent(order, rho)
    if exponent.lower < LARGE:
        p, q = _touched(rho, epsilon)
        return Interval.of(p), Interval.of(q)
    loss = (1 / order).log1p() + epsilon
    probability = (exponent - order * loss).exp()
    p, q = probability.lower, (probability * (-loss).exp()).lower
    return Interval(p, p), Interval(q, q)


def _touched(rho: float, epsilon: float) -> tuple[float, float]:
    """Return doubles p and q at which ρ-zCDP holds with equality at one order, and p − e^ε·q is nearly the largest."""
    less, fade, _ = best_tangent(ZeroConcentrated(rho), epsilon)
    log_r = epsilon + math.log1p(1 / less) + math.log(math.expm1(-fade) / math.expm1(-fade * (less + 1) / less))
    most = math.expm1(less * (less + 1) * rho)

    def excess(log_q: float) -> float:
        p, q = math.exp(log_q + log_r), math.exp(log_q)
        other = math.expm1((less + 1) * math.log1p(-p) - less * math.log1p(-q))
        return math.exp((less + 1) * log_r + log_q) + other - most

    last = -log_r - 1e-12
    log_q = scipy.optimize.brentq(excess, LEAST_LOGARITHM, last, xtol=1e-300, rtol=1e-15) if excess(last) > 0 else last
    return math.exp(log_q + log_r), math.exp(log_q)


def conversion(rho: float, epsilon: Fraction | float) -> Interval:
    """Enclose the δ(ε) of proposition 12, e^((α−1)(ρα−ε))·(1−1/α)^α/(α−1), at nearly the best order α."""
    order = Interval.of(_best_order(rho, float(epsilon)))
    less = order - 1
    return (less * (order * rho - epsilon) - order * (1 / less).log1p() - less.log()).exp()


def _best_order(rho: float, epsilon: float) -> float:
    def rise(log_less: float) -> float:
        less = math.exp(log_less)
        return (2 * less + 1) * rho - epsilon - math.log1p(1 / less)

    lowest, highest = max(-3 * rho - 1, LOG_ORDERS[0]), min(math.log((epsilon + 1) / (2 * rho) + 1), LOG_ORDERS[1])
    if rise(lowest) >= 0:
        return 1 + math.exp(lowest)
    if rise(highest) <= 0:
        return 1 + math.exp(highest)
    return 1 + float(math.exp(scipy.optimize.brentq(rise, lowest, highest, xtol=1e-300, rtol=1e-15, maxiter=500)))


def keeps(p: Interval, q: Interval, rho: float) -> bool:
    """Whether it is certified that D_α(Bernoulli(p) ‖ Bernoulli(q)) ≤ ρα for every α > 1.

    Args:
        p: the probability of the first answer, between 0 and 1.
        q: the probability of the first answer on the neighbouring input.
        rho: ρ, above 0.
    """
    losses = (p / q).log(), ((1 - p) / (1 - q)).log()
    largest = max(loss.upper for loss in losses)

    def slack(order: float) -> Any:
        moment = (losses[0] * order).exp() * p + (losses[1] * order).exp() * (1 - p)
        return (_exponent(Interval.of(order), rho) - moment.log()).lower

    def square(start: float, end: float) -> Interval:
        return (Interval.of(end) - start) * (Interval.of(end) - start) * rho

    end = 1.0
    while slack(end) < square(0.0, end).upper:  # below, K(λ)/λ is at most K(end)/end ≤ ρ
        end /= 2
        if end < math.ulp(1.0):
            return False
    for _ in range(MOST_CELLS):
        if ((Interval.of(end) + 1) * rho).lower >= largest:  # beyond, K(λ) is at most λ·largest
            return True
        start, room = end, slack(end)
        step = 2 * math.sqrt(max(float(room), 0.0) / rho)
        while (end := start + step) > start and min(room, slack(end)) * 4 < square(start, end).upper:
            step /= 2
        if end == start:
            return False
    return False


def _exponent(order: Interval, rho: float) -> Interval:
    return order * (order + 1) * rho
