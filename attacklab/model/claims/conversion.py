"""Converts a bound on Rényi divergences into a certified δ(ε), for (ε, δ)-DP.

For an event E with p = P[E] and q = Q[E], D_α(P‖Q) ≤ ε_α implies (data processing)

    p^α·q^(1−α) + (1−p)^α·(1−q)^(1−α) ≤ e^((α−1)·ε_α).

The left side is convex, so it lies above its tangents. The tangent that touches where p/q = r and (1−p)/(1−q) = s,
for any r > s ≥ 0, implies

    α·(r^(α−1) − s^(α−1))·p − (α−1)·(r^α − s^α)·q ≤ e^((α−1)·ε_α) − α·s^(α−1) + (α−1)·s^α.

With x = s/r and r = e^ε·α/(α−1)·(1 − x^(α−1))/(1 − x^α), the factor of q on the left is e^ε times the factor of p.
This bounds p − e^ε·q, for any α and any x. A search in floating point chooses α and x, and interval arithmetic then
encloses their bound, so the bound is certain. At x = 0 it is the conversion of Canonne, Kamath and Steinke 2020,
proposition 12. The best x gives the best bound that one order in one direction implies.

Sources: van Erven and Harremoës 2014, theorems 3 (a divergence grows with its order) and 13 (joint quasi-convexity);
Asoodeh et al. 2021 (the best conversion of one order). The tangents are worked out here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.model.intervals import Interval, Number

if TYPE_CHECKING:
    from attacklab.model.claims.renyi import RenyiClaim

Doubles: TypeAlias = NDArray[np.float64]

STEPS = np.linspace(-1.0, 1.0, 25)
LEAST_FADE, FADED = 1e-6, 600.0
"""The search tries `fade` = −(α−1)·ln x from the first number to where s < 1 and x^(α−1) is at most e^−600."""

ROUNDS, ZOOMS, NARROWER = 8, 12, 4.0
"""Rounds of the search for each order, rounds around the best order, and how much each round narrows the search."""

LARGEST_EXPONENT = 300.0


class Tangent(NamedTuple):
    """A tangent of the left side in the module's docstring, given by α and x = s/r, and its bound on δ(ε) at one ε.

    Attributes:
        less: α − 1.
        fade: −(α−1)·ln x.
        log_delta: the logarithm of the bound, computed in doubles.
    """

    less: float
    fade: float
    log_delta: float


def delta_bound(claim: RenyiClaim, epsilon: float) -> Interval:
    """Return an interval whose upper end is a δ(ε) that the claim surely implies."""
    found = best_tangent(claim, epsilon)
    bound = tangent_bound(claim, found.less, found.fade, epsilon)
    return bound if bound.upper <= 1 else Interval.of(1)


def tangent_bound(claim: RenyiClaim, less: float, fade: float, epsilon: Number) -> Interval:
    """Return the upper bound on p − e^ε·q from one tangent, for `less` and `fade` as in `Tangent`."""
    alpha, faded = Interval.of(less) + 1, (-Interval.of(fade)).exp()
    log_r = (1 / Interval.of(less)).log1p() + epsilon + (1 - faded).log()
    log_r = log_r - (1 - (-(alpha / less * fade)).exp()).log()
    r_power = (log_r * less).exp()
    s_power, s = r_power * faded, (log_r - Interval.of(fade) / less).exp()
    most = (claim.bound(less + 1) * less).exp() - alpha * s_power + s_power * s * less
    return most / (alpha * r_power * (1 - faded))


@functools.lru_cache(maxsize=1 << 12)
def best_tangent(claim: RenyiClaim, epsilon: float) -> Tangent:
    """Search for the tangent with the least bound on δ(ε), first at each of some orders, then around the best."""
    less = np.array(claim.tried_orders) - 1
    widths = np.log((less * (epsilon + np.log1p(1 / less)) + FADED) / LEAST_FADE) / 2
    fades = LEAST_FADE * np.exp(widths)
    for narrowed in range(ROUNDS):
        fades, log_deltas = _least(claim, less, fades, widths / NARROWER**narrowed, epsilon)
    row, most = int(log_deltas.argmin()), less.max()
    best = Tangent(float(less[row]), float(fades[row]), float(log_deltas[row]))
    for narrowed in range(ZOOMS):
        widths = np.full(len(STEPS), 1.0 / NARROWER**narrowed)
        less = np.minimum(best.less * np.exp(widths * STEPS), most)
        fades, log_deltas = _least(claim, less, np.full(len(less), best.fade), widths, epsilon)
        row = int(log_deltas.argmin())
        best = min(best, Tangent(float(less[row]), float(fades[row]), float(log_deltas[row])), key=lambda one: one[2])
    return best


def _least(
    claim: RenyiClaim, less: Doubles, fades: Doubles, widths: Doubles, epsilon: float
) -> tuple[Doubles, Doubles]:
    """For each order `less` + 1, try fades within a factor e^width. Return the fade of the least δ, and ln δ there."""
    rates = less * np.array([claim.bound(float(one) + 1).above() for one in less])
    tried = fades[:, np.newaxis] * np.exp(np.outer(widths, STEPS))
    with np.errstate(all="ignore"):  # of the smallest and the largest orders
        log_deltas = _log_bounds(less[:, np.newaxis], rates[:, np.newaxis], tried, epsilon)
    log_deltas = np.where(np.isnan(log_deltas), np.inf, log_deltas)
    best = (np.arange(len(less)), log_deltas.argmin(axis=1))
    return tried[best], log_deltas[best]


def _log_bounds(less: Doubles, rates: Doubles, fades: Doubles, epsilon: float) -> Doubles:
    """Return ln of the bounds of `tangent_bound`, in doubles, or infinity if s > 1. `rates` holds (α − 1)·ε_α."""
    alpha = less + 1
    log_r = epsilon + np.log1p(1 / less) + np.log(-np.expm1(-fades)) - np.log(-np.expm1(-fades * alpha / less))
    log_s = log_r - fades / less  # above 0 it is of no use
    s_power, s = np.exp(np.minimum(less * log_s, 0.0)), np.exp(np.minimum(log_s, 0.0))
    beyond_one = np.maximum(1 - alpha * s_power + less * s_power * s, 0.0)
    most = np.where(rates < LARGEST_EXPONENT, np.log(np.expm1(rates) + beyond_one), rates)
    log_bounds = most - np.log(alpha) - less * log_r - np.log(-np.expm1(-fades))
    return np.asarray(np.where(log_s > 0, np.inf, log_bounds))
