"""Bounds on the ε that (α, ε_α)-RDP implies at δ: the known conversion above, a mechanism of two answers below.

Source: Canonne, Kamath and Steinke 2020, proposition 12: ε = ε_α + ln(1 − 1/α) − ln(αδ)/(α − 1). The worst case in its
proof gives an answer with probability αδ under one input.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import gmpy2

from attacklab.model.bisection import least
from attacklab.model.intervals import Interval

HALVINGS = 1 << 20
"""The number of steps of the grid on which the logarithm of the probability under the other input is searched."""


def epsilon(alpha: float, rdp: float, delta: float) -> Interval:
    """Enclose the least ε at δ: some (α, rdp)-RDP mechanism needs the lower end; the upper end is enough for all."""
    order, less = Interval.of(alpha), Interval.of(alpha) - 1
    enough = max(gmpy2.mpfr(0), (Interval.of(rdp) - (1 / less).log1p() - (order * delta).log() / less).upper)
    return Interval(min(enough, _witnessed(alpha, rdp, delta)), enough)


def _witnessed(alpha: float, rdp: float, delta: float) -> Any:
    """Return an ε that some (α, rdp)-RDP mechanism with two answers needs at δ; 0 if the search certifies none."""
    p = Interval.of(min(Fraction(alpha) * Fraction(delta), 1 - Fraction(1, 1 << 20)))
    p = Interval(p.lower, p.lower)
    most = ((Interval.of(alpha) - 1) * rdp).exp().lower
    largest = rdp - math.log(delta) / (alpha - 1) + 1

    def answer(step: int) -> Interval:
        q = p * (Interval.of(largest) * (step - HALVINGS) / HALVINGS).exp()
        return Interval(q.lower, q.lower)

    def keeps(step: int) -> bool:
        q = answer(step)
        return all(_moment(alpha, *laws).upper <= most for laws in ((p, q), (q, p)))

    if not (p.lower > delta and keeps(HALVINGS - 1)):
        return gmpy2.mpfr(0)
    return max(gmpy2.mpfr(0), ((p - delta) / answer(least(keeps, 0, HALVINGS - 1))).log().lower)


def _moment(alpha: float, p: Interval, q: Interval) -> Interval:
    order, less = Interval.of(alpha), 1 - Interval.of(alpha)
    return p.power(order) * q.power(less) + (1 - p).power(order) * (1 - q).power(less)
