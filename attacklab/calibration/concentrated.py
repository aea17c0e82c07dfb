"""What ρ-zCDP implies, enclosed from both sides: no conversion may promise less than the lower bound.

From above: E[e^(λZ)] ≤ e^(λ(λ+1)ρ) for the privacy loss Z and all λ > 0 implies (ε, δ)-DP for
δ = inf_λ e^(λ((λ+1)ρ − ε))·(λ/(λ+1))^(λ+1)/λ (Canonne, Kamath and Steinke 2020, proposition 12, with λ = α − 1). Where
δ is not small, what `attacklab.claims` certifies of ρ-zCDP is less, and nothing less is true: the mechanism with two
answers, of probabilities p and q of the first, that the certificate touches has as much. Mixed with a coin a little it
is ρ-zCDP surely, because K(λ) = ln E[e^(λZ)] is convex. On a cell [a, b] it is at most its chord, and ρλ(λ+1) is its
own chord less ρ(λ−a)(b−λ); so K keeps below it where it does by ρ(b−a)²/4 at both ends.

From below, for smaller δ, a witness: the mechanism that gives one answer with probability p on one of two neighbours
and with p·e^(−t) on the other has δ ≥ p·(1 − e^(ε − t)), and is ρ-zCDP if

- p ≤ (e^(λ(λ+1)ρ) − 1) / (e^(λt) − 1) for all λ > 0: the other answer has a negative privacy loss, so that
  E[e^(λZ)] ≤ 1 + p·(e^(λt) − 1); and
- −ln(1 − p) ≤ ρ, for which p/(1 − p) ≤ ρ is enough: in the other direction E[e^(λZ′)] ≤ (1 − p)^(−λ).

With x = λ(λ+1)ρ the first bound is at least e^(x − λt)·(1 − e^(−x)), and e^(x − λt) ≥ e^(−(t − ρ)²/4ρ) for every λ. So
p = e^(−(t − ρ)²/4ρ)·(1 − e^(−x₀)) satisfies it wherever x ≥ x₀; below that it is checked cell by cell, with directed
roundings. At the t that Canonne, Kamath and Steinke's proof ends in, this witness meets their bound but for the factor
1 − e^(−x₀), which for the δ that are used in practice is 1 to many digits. The Gaussian mechanism with that ρ
(Δ/σ = √(2ρ)), whose δ is known exactly, is a witness too.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gmpy2

from attacklab.bisection import least
from attacklab.calibration import gaussian
from attacklab.calibration.refinement import crossing, exact, is_narrow, refined
from attacklab.claims import ZeroConcentrated
from attacklab.claims.cuts import telling_event
from attacklab.intervals import Interval

ORDER_BITS, ORDER_STEPS = 160, 140
NEARNESS = (1 / 20, 1 / 8, 1 / 3, 1 / 2)
"""How far below the best λ the cells begin, as a part of it."""

MOST_CELLS = 4096
FINEST_HALVINGS = 100

AGREED = 1e-6
"""Bounds from proposition 12 and from its witness that differ by less than this part are close enough."""

LEAST_MIXED = 48
"""The mechanism that the certificate touches is mixed with a coin that tells nothing: by a part of 2^−48 at least."""


def delta(rho: float, epsilon: float) -> Interval:
    """From the largest δ that some ρ-zCDP mechanism is known to have at ε to the least that is known to be enough."""
    return _enclosed(rho, epsilon)


def _enclosed(rho: float, epsilon: float) -> Interval:
    order = best_order(rho, Fraction(epsilon))
    known = Interval(_witnessed(rho, Fraction(epsilon), order), _sufficient(rho, Fraction(epsilon), order).upper)
    if _agrees(known):
        return known
    claim = ZeroConcentrated(rho)
    attained = _attained(rho, epsilon, *telling_event(claim, epsilon))
    return Interval(max(known.lower, attained), min(known.upper, gmpy2.mpfr(claim.delta_at(epsilon))))


def epsilon(rho: float, delta: float) -> Interval:
    """From the largest ε at which some ρ-zCDP mechanism is known not to have δ to the least that is enough."""
    sufficient = crossing(lambda loss: _sufficient(rho, loss, best_order(rho, loss)), delta).upper
    known = Interval(_least_witnessed(rho, delta, sufficient), sufficient)
    while not _agrees(known):
        middle = float(known.lower + known.upper) / 2
        found = _enclosed(rho, middle)
        if found.upper <= delta:
            known = Interval(known.lower, gmpy2.mpfr(middle))
        elif found.lower > delta:
            known = Interval(gmpy2.mpfr(middle), known.upper)
        else:
            break
    return known


def _agrees(bounds: Interval) -> bool:
    return bool(bounds.upper - bounds.lower <= bounds.upper * AGREED)


def _attained(rho: float, epsilon: float, p: float, q: float) -> Any:
    """The δ at ε of a mechanism with two answers that is certified to be ρ-zCDP, mixed from p and q and a coin."""

    def mixed(halvings: int) -> tuple[Interval, Interval]:
        part = Fraction(1, 1 << halvings)
        return tuple(Interval.of(Fraction(one) * (1 - part) + part / 2) for one in (p, q))  # type: ignore[return-value]

    def is_uncertified(halvings: int) -> bool:
        first, second = mixed(halvings)
        return not (keeps(first, second, rho) and keeps(second, first, rho))

    first, second = mixed(least(is_uncertified, 0, LEAST_MIXED) - 1)
    return (first - Interval.of(epsilon).exp() * second).lower


def keeps(p: Interval, q: Interval, rho: float) -> bool:
    """Certify D_α ≤ ρα for every α > 1 of the Bernoulli laws of p from those of q.

    Args:
        p: the probability of the first answer, between 0 and 1.
        q: the same under the neighbour.
        rho: ρ.
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


def _least_witnessed(rho: float, delta: float, sufficient: Any) -> Any:
    """An ε at which a witness has more than δ, as near to the sufficient one as witnesses go; 0 where there is none."""
    signal = refined(lambda: (Interval.of(rho) * 2).sqrt(), is_narrow)
    by_gaussian = gaussian.least_epsilon(delta, signal).lower
    enough = exact(sufficient)

    def is_unrefuted(halvings: int) -> bool:
        nearby = enough * (1 - Fraction(1, 1 << halvings))
        return not _witnessed(rho, nearby, best_order(rho, nearby)) > delta

    nearest = least(is_unrefuted, 0, FINEST_HALVINGS) - 1
    if nearest == 0:
        return by_gaussian
    return max(by_gaussian, Interval.of(enough * (1 - Fraction(1, 1 << nearest))).lower)


def best_order(rho: float, epsilon: Fraction) -> Any:
    """The λ at which the bound from above is least, nearly: any other λ gives a bound as valid."""
    with gmpy2.context(precision=ORDER_BITS):
        concentration, loss = gmpy2.mpfr(rho), gmpy2.mpfr(gmpy2.mpq(epsilon))
        low, high = gmpy2.exp(-3 * concentration - 1), (loss + 1) / (2 * concentration) + 1
        for _ in range(ORDER_STEPS):
            middle = gmpy2.sqrt(low * high)
            is_below = (2 * middle + 1) * concentration - loss < gmpy2.log1p(1 / middle)
            low, high = (middle, high) if is_below else (low, middle)
        return high


def _sufficient(rho: float, epsilon: Fraction, order: Any) -> Interval:
    at = Interval(order, order)

    def bound() -> Interval:
        exponent = at * ((at + 1) * rho - epsilon) + (at + 1) * (at / (at + 1)).log() - at.log()
        return exponent.exp()

    found = refined(bound, is_narrow)
    return Interval(found.lower, min(found.upper, gmpy2.mpfr(1)))


def _witnessed(rho: float, epsilon: Fraction, order: Any) -> Any:
    """The largest δ at ε that a witness is certified to have."""
    signal = refined(lambda: (Interval.of(rho) * 2).sqrt(), is_narrow)
    by_gaussian = refined(lambda: gaussian.delta_at(epsilon, signal), is_narrow).lower
    witness = two_answers(rho, epsilon, order)
    if witness is None:
        return by_gaussian
    probability, loss = witness
    return max(by_gaussian, (probability * -(Interval.of(epsilon) - loss).expm1()).lower)


def two_answers(rho: float, epsilon: Fraction, order: Any) -> tuple[Interval, Interval] | None:
    """The likeliest first answer for which the mechanism with two answers is certified to be ρ-zCDP.

    Args:
        rho: ρ.
        epsilon: the ε at which its δ is to be large.
        order: the λ at which the bound from above is least.

    Returns:
        p and t, single numbers; None where no certificate was found.
    """
    at = Interval(order, order)
    nearest = (((at + 1) / at).log() + epsilon).lower
    if not nearest > rho:
        return None
    loss = Interval(nearest, nearest)
    gap = loss - rho
    for part in NEARNESS:  # the nearest that is certified has the most
        start = (gap / rho * (0.5 * (1 - part))).lower
        from_here = _exponent(Interval(start, start), rho)
        likely = ((-(gap * gap) / (Interval.of(rho) * 4)).exp() * -(-from_here).expm1()).lower
        probability = Interval(likely, likely)
        if 0 < likely < 1 and is_concentrated(probability, loss, rho, start):
            return probability, loss
    return None


def is_concentrated(probability: Interval, loss: Interval, rho: float, start: Any) -> bool:
    """Certify that the mechanism with two answers is ρ-zCDP, given the first condition for λ from `start` on.

    Args:
        probability: p, a single number.
        loss: t, a single number above 0.
        rho: ρ.
        start: the λ from which on the first condition is known to hold; the cells cover those up to it.
    """
    if not (probability / (1 - probability)).upper <= rho:
        return False
    end = start
    # On (0, b] the bound is at least ρb/(e^(bt) − 1), by e^x − 1 ≥ x ≥ λρ.
    while not (Interval(end, end) * rho / (Interval(end, end) * loss).expm1()).lower >= probability.upper:
        end = end / 2
        if end * 2.0**60 < start:
            return False
    for _ in range(MOST_CELLS):
        if end >= start:
            return True
        # On [a, b] it is at least (e^x(a) − 1)/(e^(bt) − 1), which is p or more for all b up to this one.
        rise = _exponent(Interval(end, end), rho).expm1()
        next_end = ((rise / probability + 1).log() / loss).lower
        if not next_end > end:
            return False
        end = next_end
    return False


def _exponent(order: Interval, rho: float) -> Interval:
    return order * (order + 1) * rho
