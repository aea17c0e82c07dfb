"""What a claim on Rényi divergences implies of one event: a certified δ(ε), which a mechanism with two answers attains.

Of an event E with p = P[E] and q = Q[E], the claim implies that the Bernoulli laws of p and q keep within it in both
directions (data processing). The pairs (p, q) that do form a convex set, because

    h_α(p, q) = p^α·q^(1−α) + (1−p)^α·(1−q)^(1−α) = e^((α−1)·D_α)

is jointly convex. δ(ε) is the largest p − e^ε·q on it, so judging one event by half-planes loses nothing.

The tangents of h_α give, for r and s, the ratios p/q and (1−p)/(1−q) at the point of tangency, and every pair in the
set

    α·(r^(α−1) − s^(α−1))·p − (α−1)·(r^α − s^α)·q ≤ e^((α−1)·ε_α) − α·s^(α−1) + (α−1)·s^α,

and another with p and q exchanged: a *cut* p − E·q ≤ B. The best point is found in floating point, on the boundary of
the set; cuts that touch it there, on either side of it and in both directions, are then enclosed. One with E ≤ e^ε
proves δ(ε) ≤ B, and two with E on either side of e^ε prove their interpolation: so the bound holds however they were
found. At s = 0 a cut is the conversion of Canonne, Kamath and Steinke 2020, proposition 12, which is as good where δ is
too small to be found in doubles.

Sources: van Erven and Harremoës 2014, theorem 13 (joint quasi-convexity); Asoodeh et al. 2021 (the joint range of two
divergences). The cuts are worked out here.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from attacklab.model.errors import UsageError
from attacklab.model.intervals import Interval, Number

LARGEST_EXPONENT = 600.0
"""An order with (α − 1)·ε_α above this is not used: e to it is near the largest double."""

Doubles: TypeAlias = NDArray[np.float64]

HALVINGS = 56
ZOOMS, ZOOMED_POINTS, ZOOMED_ORDERS = 14, 17, 17
"""How often the search for the best point is narrowed, to how many points, and to how many orders a direction."""

LOG_ODDS = -np.concatenate(
    [[0.0], np.geomspace(1e-9, 1.0, 40), np.linspace(1.25, 64.0, 200), np.geomspace(70, 700, 24)]
)
"""The logarithmic odds of q at which the boundary is kept; it is symmetric about p + q = 1."""


LOG_ORDERS = (-28.0, 700.0)
"""The logarithms of the least and the largest α − 1 at which a conversion is tried."""


class Bounds(Hashable, Protocol):
    """Bounds on the Rényi divergences of some orders, in both directions."""

    @property
    def orders(self) -> Sequence[float]:
        """The orders α at which they are used."""
        ...

    @property
    def has_all_orders(self) -> bool:
        """Whether they say something of the orders between those, too."""
        ...

    def bound(self, alpha: float) -> Interval:
        """The most that the divergence of an order may be, ε_α."""
        ...


class Cut(NamedTuple):
    """The inequality p − E·q ≤ B, which all pairs within a claim keep.

    Attributes:
        slope: E, enclosed.
        most: B, enclosed.
    """

    slope: Interval
    most: Interval

    def mirrored(self) -> Cut:
        """The same of the complement: 1 − q in place of p, and 1 − p in place of q."""
        return Cut(1 / self.slope, (self.most + self.slope - 1) / self.slope)


class Point(NamedTuple):
    """A pair (p, q) on the boundary, nearly, and the orders that bind there: D_α(P‖Q) and D_α(Q‖P)."""

    p: float
    q: float
    order: float
    reverse_order: float


def delta_bound(claim: Bounds, epsilon: float) -> Interval:
    """The largest p − e^ε·q of one event within the claim: the upper end is certified.

    Args:
        claim: bounds on Rényi divergences.
        epsilon: ε, finite and at least 0.

    Raises:
        UsageError: the claim is too weak to compute with.
    """
    slope = Interval.of(epsilon).exp()
    cuts = list(_touching(claim, epsilon))
    proofs = [Interval.of(1), conversion(claim, best_order(claim, epsilon), epsilon)]
    proofs += [cut.most for cut in cuts if cut.slope.upper <= slope.lower]
    for cut, steeper in itertools.permutations(cuts, 2):
        if cut.slope.upper < slope.lower and steeper.slope.lower > slope.upper:
            share = (slope - cut.slope) / (steeper.slope - cut.slope)
            proofs.append(share * steeper.most + (1 - share) * cut.most)
    least = min(proofs, key=lambda proof: proof.upper)
    return Interval.hull(0, least) if least.upper > 0 else Interval.of(0)


def _touching(claim: Bounds, epsilon: float) -> Iterator[Cut]:
    """The cuts that touch the set next to its best point, in both directions, and their mirror images."""
    for point in _nearest(claim, epsilon):
        for order, reverse in ((point.order, False), (point.reverse_order, True)):
            try:
                cut = tangent(claim, order, point.p, point.q, reverse=reverse)
                yield from (cut, cut.mirrored())
            except (ZeroDivisionError, ValueError):  # so near a corner that the arithmetic tells nothing
                continue


def telling_event(claim: Bounds, epsilon: float) -> tuple[float, float]:
    """The p and q, in doubles, of an event that has nearly δ(ε) and is within the claim but for roundings."""
    point = max(_nearest(claim, epsilon), key=lambda point: point.p - math.exp(epsilon) * point.q)
    return point.p, point.q


def rough_delta_at(claim: Bounds, epsilon: float) -> float:
    """About δ(ε), and no less but for roundings: the boundary keeps below its chords, drawn on. Not certified."""
    p, q = _boundary(claim)
    gains = p - math.exp(min(epsilon, 700.0)) * q
    slopes = np.diff(gains) / np.diff(q)
    right, left, from_right, from_left = q[1:-2], q[2:-1], slopes[:-2], slopes[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (gains[1:-2] - gains[2:-1] + from_left * left - from_right * right) / (from_left - from_right)
    crossing = np.where(from_left > from_right, np.clip(crossing, left, right), left)
    most = np.minimum(gains[2:-1] + from_left * (crossing - left), gains[1:-2] + from_right * (crossing - right))
    return float(min(1.0, max(0.0, gains.max(), most.max())))


def conversion(claim: Bounds, alpha: float, epsilon: Number) -> Interval:
    """The δ(ε) that the bound of one order implies by proposition 12: e^((α−1)(ε_α−ε))·(1−1/α)^α/(α−1)."""
    order, less = Interval.of(alpha), Interval.of(alpha) - 1
    return (less * (claim.bound(alpha) - epsilon) - order * (1 / less).log1p() - less.log()).exp()


def tangent(claim: Bounds, alpha: float, p: float, q: float, *, reverse: bool) -> Cut:
    """The cut of one order that touches where likelihood ratios are those of p and q, 0 < q < p < 1.

    Args:
        claim: bounds on Rényi divergences.
        alpha: the order.
        p: near the boundary.
        q: near the boundary.
        reverse: whether it is D_α(Q‖P) that is bounded.
    """
    numerator, denominator = (Interval.of(number) for number in ((q, p) if reverse else (p, q)))
    order, less = Interval.of(alpha), Interval.of(alpha) - 1
    r, s = numerator / denominator, (1 - numerator) / (1 - denominator)
    gained = order * (r.power(less) - s.power(less))
    lost = less * (r.power(order) - s.power(order))
    most = (less * claim.bound(alpha)).exp() - order * s.power(less) + less * s.power(order)
    return Cut(gained / lost, most / -lost) if reverse else Cut(lost / gained, most / gained)


@functools.lru_cache(maxsize=1 << 8)
def _usable(claim: Bounds) -> tuple[Doubles, Doubles]:
    """The orders whose bound can be computed with, and their bounds; UsageError if there are none."""
    pairs = [(alpha, claim.bound(alpha).above()) for alpha in claim.orders]
    usable = [(alpha, most) for alpha, most in pairs if (alpha - 1) * most <= LARGEST_EXPONENT]
    if not usable:
        raise UsageError(f"{claim} is too weak: it promises nothing that can be computed with")
    orders, most = np.array(usable).T
    return orders, most


def _excess(orders: Doubles, most: Doubles, log_odds_p: Doubles, log_odds_q: Doubles) -> Doubles:
    """By how much h_α − 1 exceeds e^((α−1)·ε_α) − 1, as a part of it; one row an order, one column a point."""
    less = orders[:, np.newaxis] - 1
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # of the smallest and the largest orders
        moment = _weighed(less, log_odds_p, log_odds_q) + _weighed(less, -log_odds_p, -log_odds_q)
        return np.asarray(moment / np.expm1(less * most[:, np.newaxis]) - 1)


def _weighed(less: Doubles, log_odds_p: Doubles, log_odds_q: Doubles) -> Doubles:
    """p·((p/q)^(α−1) − 1), where nothing cancels or overflows on the way."""
    log_p = scipy.special.log_expit(log_odds_p)
    loss = less * (log_p - scipy.special.log_expit(log_odds_q))
    small = np.exp(log_p) * np.expm1(np.minimum(loss, 1))
    return np.asarray(np.where(loss > 1, np.exp(log_p + loss) - np.exp(log_p), small))


def _largest_p(orders: tuple[Doubles, Doubles], reverse: tuple[Doubles, Doubles], log_odds_q: Doubles) -> Doubles:
    """The logarithmic odds of the largest p that some orders allow beside each q, in both directions, by bisection."""
    low, high = log_odds_q.copy(), -log_odds_q
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_out = _excess(*orders, middle, log_odds_q).max(axis=0) > 0
        is_out |= _excess(*reverse, log_odds_q, middle).max(axis=0) > 0
        low, high = np.where(is_out, low, middle), np.where(is_out, middle, high)
    return low


@functools.lru_cache(maxsize=1 << 8)
def _boundary_odds(claim: Bounds) -> Doubles:
    return _largest_p(_usable(claim), _usable(claim), LOG_ODDS)


def _boundary(claim: Bounds) -> tuple[Doubles, Doubles]:
    return scipy.special.expit(_boundary_odds(claim)), scipy.special.expit(LOG_ODDS)


@functools.lru_cache(maxsize=1 << 8)
def _nearest(claim: Bounds, epsilon: float) -> tuple[Point, ...]:
    """The best point of the boundary, and two that enclose it."""
    slope = math.exp(min(epsilon, 700.0))
    log_odds_q, log_odds_p = LOG_ODDS, _boundary_odds(claim)
    forward = reverse = _usable(claim)
    for zoom in range(ZOOMS):
        best = int(np.argmax(scipy.special.expit(log_odds_p) - slope * scipy.special.expit(log_odds_q)))
        ends = log_odds_q[[max(best - 3, 0), min(best + 3, len(log_odds_q) - 1)]]
        if claim.has_all_orders:
            best_p, best_q = log_odds_p[[best]], log_odds_q[[best]]
            forward = _zoomed(claim, forward, _excess(*forward, best_p, best_q), zoom)
            reverse = _zoomed(claim, reverse, _excess(*reverse, best_q, best_p), zoom)
        log_odds_q = np.linspace(ends[0], ends[1], ZOOMED_POINTS)
        log_odds_p = _largest_p(forward, reverse, log_odds_q)
    best = int(np.argmax(scipy.special.expit(log_odds_p) - slope * scipy.special.expit(log_odds_q)))
    places = sorted({max(best - 1, 0), best, min(best + 1, ZOOMED_POINTS - 1)})
    return tuple(_points(forward, reverse, log_odds_p[places], log_odds_q[places]))


def _points(
    forward: tuple[Doubles, Doubles], reverse: tuple[Doubles, Doubles], log_odds_p: Doubles, log_odds_q: Doubles
) -> Iterator[Point]:
    binding = forward[0][_excess(*forward, log_odds_p, log_odds_q).argmax(axis=0)]
    binding_reverse = reverse[0][_excess(*reverse, log_odds_q, log_odds_p).argmax(axis=0)]
    p, q = scipy.special.expit(log_odds_p), scipy.special.expit(log_odds_q)
    for numbers in zip(p, q, binding, binding_reverse, strict=True):
        yield Point(*map(float, numbers))


def _zoomed(claim: Bounds, orders: tuple[Doubles, Doubles], excess: Doubles, zoom: int) -> tuple[Doubles, Doubles]:
    """Orders closer together, around the one that binds at a point."""
    binding = orders[0][int(np.argmax(excess[:, 0]))]
    reach = math.log(2) / 2.5**zoom
    finer = 1 + (binding - 1) * np.exp(np.linspace(-reach, reach, ZOOMED_ORDERS))
    finer = finer[finer > 1]
    return finer, np.array([claim.bound(float(alpha)).above() for alpha in finer])


def best_order(claim: Bounds, epsilon: float) -> float:
    """The order at which `conversion` gives the least, nearly; any other gives a bound as valid."""
    if not claim.has_all_orders:
        orders, most = _usable(claim)
        logarithms = (orders - 1) * (most - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        return float(orders[np.argmin(logarithms)])
    rho = claim.bound(1.0).above()

    def rise(log_less: float) -> float:
        less = math.exp(log_less)
        return (2 * less + 1) * rho - epsilon - math.log1p(1 / less)

    lowest, highest = max(-3 * rho - 1, LOG_ORDERS[0]), min(math.log((epsilon + 1) / (2 * rho) + 1), LOG_ORDERS[1])
    if rise(lowest) >= 0:
        return 1 + math.exp(lowest)
    if rise(highest) <= 0:
        return 1 + math.exp(highest)
    return 1 + math.exp(scipy.optimize.brentq(rise, lowest, highest, xtol=1e-300, rtol=1e-15, maxiter=500))
