"""What a claim on Rényi divergences implies of one event: a certified δ(ε).

Of an event E with p = P[E] and q = Q[E], the claim implies that the Bernoulli laws of p and q keep within it in both
directions (data processing). The pairs (p, q) that do form a convex set, because

    h_α(p, q) = p^α·q^(1−α) + (1−p)^α·(1−q)^(1−α) = e^((α−1)·D_α)

is jointly convex. δ(ε) is the largest p − e^ε·q on it, so judging one event by half-planes loses nothing.

The tangents of h_α give, for all r, s ≥ 0 and every pair in the set, the *cut*

    α·(r^(α−1) − s^(α−1))·p − (α−1)·(r^α − s^α)·q ≤ e^((α−1)·ε_α) − α·s^(α−1) + (α−1)·s^α,

and another with p and q exchanged. One cut, or two added up with weights of at least 0, scaled so that the factor of p
is 1, say p − E·q ≤ B; where E ≤ e^ε this proves δ(ε) ≤ B. Cuts and weights are found in floating point; B and E are
then enclosed, so the bound holds however they were found. At s = 0 one cut is the conversion of Canonne, Kamath and
Steinke 2020, proposition 12. Two matter near ε = 0, where both directions bind, and between the orders of a claim on
a few.

Sources: van Erven and Harremoës 2014, theorem 13 (joint quasi-convexity); Asoodeh et al. 2021 (the joint range of two
divergences); Veinott 1967, 'The Supporting Hyperplane Method for Unimodal Programming'. The cuts are worked out here.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from attacklab.errors import UsageError
from attacklab.intervals import Interval

LARGEST_EXPONENT = 600.0
"""An order with (α − 1)·ε_α above this is not used: e to it is near the largest double."""

SHAVED = (2.0**-44, 2.0**-38, 2.0**-30)
"""By how much less than ε is aimed at, so that the slope E found in doubles is surely at most e^ε."""

Doubles: TypeAlias = NDArray[np.float64]

HALVINGS = 40
MOST_CUTS = 40
TIGHT = 1e-11
"""By how much a constraint may be exceeded at the last vertex of the cutting planes."""

NEAR = 1e-12
"""How far from the ends of the square a cut touches the boundary, at least."""

SEEN = 1e-3
"""Below this δ one cut is all that is looked for."""


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


@dataclass(frozen=True, slots=True)
class Cut:
    """A linear inequality that all pairs (p, q) within a claim keep.

    Attributes:
        order: α.
        bound: ε_α.
        r: likelihood ratio of the event at the point of tangency.
        s: that of its complement.
        reverse: whether p and q are exchanged.
    """

    order: float
    bound: Interval
    r: float
    s: float
    reverse: bool = False

    def coefficients(self) -> tuple[Interval, Interval, Interval]:
        """The a, b and c of a·p + b·q ≤ c, enclosed."""
        alpha, r, s = (Interval.of(number) for number in (self.order, self.r, self.s))
        less = alpha - 1
        here = alpha * (r.power(less) - s.power(less))
        there = -(less * (r.power(alpha) - s.power(alpha)))
        most = (less * self.bound).exp() - alpha * s.power(less) + less * s.power(alpha)
        return (there, here, most) if self.reverse else (here, there, most)

    def rounded(self) -> tuple[float, float, float]:
        """The same in doubles, scaled so that nothing overflows."""
        alpha, less = self.order, self.order - 1
        high = max(self.r, self.s)
        r, s = ((ratio / high) ** less for ratio in (self.r, self.s))
        here = alpha * (r - s)
        there = -less * (r * self.r - s * self.s)
        most = math.exp(less * (self.bound.above() - math.log(high))) + s * (less * self.s - alpha)
        return (there, here, most) if self.reverse else (here, there, most)

    def touched(self) -> tuple[float, float]:
        """The p and q at which it is tangent to the set."""
        there = (1 - self.s) / (self.r - self.s)
        here = self.r * there
        return (there, here) if self.reverse else (here, there)

    @property
    def scale(self) -> float:
        """What `rounded` divides by."""
        return float(max(self.r, self.s) ** (self.order - 1))


@dataclass(frozen=True, slots=True)
class Edge:
    """An inequality a·p + b·q ≤ c that all probabilities keep.

    Attributes:
        a: of p.
        b: of q.
        c: the most.
    """

    a: float
    b: float
    c: float
    scale: ClassVar[float] = 1.0

    def coefficients(self) -> tuple[Interval, Interval, Interval]:
        """As those of a `Cut`."""
        return Interval.of(self.a), Interval.of(self.b), Interval.of(self.c)

    def rounded(self) -> tuple[float, float, float]:
        """As those of a `Cut`."""
        return self.a, self.b, self.c


SQUARE = (Edge(1.0, 0.0, 1.0), Edge(0.0, -1.0, 0.0))
"""p ≤ 1 and q ≥ 0."""

Weighed: TypeAlias = Sequence[tuple[Cut | Edge, float]]


def delta_at(claim: Bounds, epsilon: float) -> float:
    """The largest p − e^ε·q of one event within the claim, rounded up.

    It is the least that is certified: by the best single cut, or by the two that cutting planes end with.
    """
    return _proof(claim, epsilon)[0]


def telling_event(claim: Bounds, epsilon: float) -> tuple[float, float]:
    """The p and q, in doubles, of an event within the claim that has nearly δ(ε): where the proof's cuts touch the set.

    Rounding may put it outside the set by a little. Where δ(ε) is tiny, doubles do not hold it.
    """
    touching = [(weight, *cut.touched()) for cut, weight in _proof(claim, epsilon)[1] if isinstance(cut, Cut)]
    if not touching:
        return 0.5, 0.5
    weights, p, q = zip(*touching, strict=True)
    return float(np.average(p, weights=weights)), float(np.average(q, weights=weights))


@functools.lru_cache(maxsize=1 << 12)
def _proof(claim: Bounds, epsilon: float) -> tuple[float, Weighed]:
    """The least δ(ε) that is certified, and the weighed cuts that certify it."""
    proofs: list[tuple[float, Weighed]] = [(1.0, ())]
    for shaved in SHAVED:
        aimed = epsilon - shaved * max(1.0, epsilon)
        _, cut = _best_single(claim, aimed)
        weighed: list[Weighed] = [[(cut, 1.0)]]
        if _best_on_grid(claim, epsilon)[0] > SEEN:
            weighed.append(_cutting_planes(claim, aimed))
        proofs += [(bound, cuts) for cuts in weighed if (bound := _certified(cuts, epsilon)) is not None]
        if len(proofs) > 1:
            break
    return min(proofs, key=lambda one: one[0])


def rough_delta_at(claim: Bounds, epsilon: float) -> float:
    """An upper bound on δ(ε) from one order, found quickly and not certified."""
    return min(1.0, _best_on_grid(claim, epsilon)[0])


def _certified(weighed: Weighed, epsilon: float) -> float | None:
    """What weighed cuts prove of δ(ε), rounded up; None where they prove nothing."""
    factor = slope = most = Interval.of(0)
    for cut, weight in weighed:
        a, b, c = cut.coefficients()
        factor, slope, most = factor + a * weight, slope - b * weight, most + c * weight
    if factor.lower <= 0:
        return None
    # A slope above e^ε by so much costs as much: q is at most 1.
    above = Interval.hull(0, slope / factor - Interval.of(epsilon).exp()).upper
    return min(1.0, max(0.0, (most / factor + Interval(above, above)).above()))


@functools.lru_cache(maxsize=1 << 8)
def _usable(claim: Bounds) -> tuple[float, ...]:
    """The orders whose bound can be computed with.

    Raises:
        UsageError: there is none.
    """
    orders = tuple(alpha for alpha in claim.orders if (alpha - 1) * claim.bound(alpha).above() <= LARGEST_EXPONENT)
    if not orders:
        raise UsageError(f"{claim} is too weak: it promises nothing that can be computed with")
    return orders


@functools.lru_cache(maxsize=1 << 12)
def _best_single(claim: Bounds, epsilon: float) -> tuple[float, Cut]:
    """The least bound of one cut, not certified, and the cut."""
    order = _best_on_grid(claim, epsilon)[1]
    best = _least_by_ratio(order, claim.bound(order), epsilon)
    if claim.has_all_orders:
        low, high = _neighbours(_usable(claim), order)

        def at(exponent: float) -> float:
            alpha = 1 + math.exp(exponent)
            return _least_by_ratio(alpha, claim.bound(alpha), epsilon)[0]

        refined = scipy.optimize.minimize_scalar(at, bounds=(math.log(low - 1), math.log(high - 1)), method="bounded")
        alpha = 1 + math.exp(refined.x)
        best = min(best, _least_by_ratio(alpha, claim.bound(alpha), epsilon), key=lambda one: one[0])
    return best


@functools.lru_cache(maxsize=1 << 14)
def _rounded_bound(claim: Bounds, alpha: float) -> float:
    return claim.bound(alpha).above()


def _neighbours(orders: Sequence[float], order: float) -> tuple[float, float]:
    place = orders.index(order)
    return orders[max(0, place - 1)], orders[min(len(orders) - 1, place + 1)]


@functools.lru_cache(maxsize=1 << 12)
def _best_on_grid(claim: Bounds, epsilon: float) -> tuple[float, float]:
    """The least bound of one cut over a grid of s, in doubles, and the order of that cut."""
    orders = np.array(_usable(claim))[:, np.newaxis]
    most = np.array([_rounded_bound(claim, float(alpha)) for alpha in orders[:, 0]])[:, np.newaxis]
    grid = np.concatenate([[0.0], scipy.special.expit(np.linspace(-8, 24, 33))])[np.newaxis, :]
    with np.errstate(all="ignore"):
        x = _log_ratios(orders, grid, epsilon)
        less, decay = orders - 1, np.exp((orders - 1) * (np.log(grid) - x))
        scaled = np.exp(less * (most - x)) + decay * (less * grid - orders)
        bounds = np.where(decay < 1, scaled / (orders * (1 - decay)), np.inf)
    bounds = np.nan_to_num(bounds, nan=np.inf)
    best = np.unravel_index(int(np.argmin(bounds)), bounds.shape)
    return float(bounds[best]), float(orders[best[0], 0])


def _log_ratios(orders: Doubles, ratios: Doubles, epsilon: float) -> Doubles:
    """The logarithm of the r for which a cut has the slope e^ε, for each order and each s, by bisection."""
    less = orders - 1
    low = np.maximum(epsilon, np.log(ratios)) + 0 * orders
    high = epsilon + np.log(orders / less) + 1e-9 + 0 * ratios
    for _ in range(HALVINGS):
        x = (low + high) / 2
        decay = np.exp(less * (np.log(ratios) - x))
        above = less / orders * (np.exp(x) - ratios * decay) >= math.exp(epsilon) * (1 - decay)
        low, high = np.where(above, low, x), np.where(above, x, high)
    return np.asarray((low + high) / 2)


def _least_by_ratio(alpha: float, bound: Interval, epsilon: float) -> tuple[float, Cut]:
    """The best cut of slope e^ε of one order, by the likelihood ratio s of the complement."""

    def at(odds: float) -> tuple[float, Cut]:
        s = 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0
        cut = Cut(alpha, bound, _ratio_of_slope(alpha, s, epsilon), s)
        a, _, c = cut.rounded()
        return (c / a if a > 0 else math.inf), cut

    refined = scipy.optimize.minimize_scalar(lambda odds: at(odds)[0], bounds=(-40.0, 36.0), method="bounded")
    return min(at(-math.inf), at(refined.x), key=lambda one: one[0])


def _ratio_of_slope(alpha: float, s: float, epsilon: float) -> float:
    """The r for which a cut has the slope e^ε: E rises with r, from s on."""
    less, aimed = alpha - 1, math.exp(epsilon)

    def excess(x: float) -> float:
        ratio = s / math.exp(x)
        return float(less / alpha * (math.exp(x) - s * ratio**less) - aimed * (1 - ratio**less))

    lowest = max(epsilon, math.log(s) if s else -math.inf)
    highest = epsilon + math.log(alpha / less) + 1e-9
    if excess(lowest) >= 0:
        return math.exp(lowest)
    return math.exp(float(scipy.optimize.brentq(excess, lowest, highest, xtol=1e-14)))


def _cutting_planes(claim: Bounds, epsilon: float) -> Weighed:
    """Two cuts and their weights that prove the least bound.

    The set is cut at its boundary between its centre and the best vertex of the cuts so far, until the two meet.

    Source:
        Veinott 1967, 'The Supporting Hyperplane Method for Unimodal Programming'.
    """
    cuts: list[Cut | Edge] = [*SQUARE]
    for _ in range(MOST_CUTS):
        best, (p, q) = _vertex(cuts, math.exp(epsilon))
        inside, outside = 0.0, 1.0
        if _worst(claim, *_between(p, q, outside))[0] <= TIGHT:
            break
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            if _worst(claim, *_between(p, q, middle))[0] > 0:
                outside = middle
            else:
                inside = middle
        p, q = _between(p, q, min(outside, 1 - NEAR))  # at the ends likelihood ratios are 0 or infinite
        cuts.append(_tangent(claim, p, q))
        if outside > 1 - TIGHT:
            break
    return best


def _between(p: float, q: float, part: float) -> tuple[float, float]:
    """A point on the way from (½, ½), which is within any claim, to (p, q), where that is not outside the square."""
    return tuple(0.5 + part * (min(max(one, 0.0), 1.0) - 0.5) for one in (p, q))  # type: ignore[return-value]


def _worst(claim: Bounds, p: float, q: float) -> tuple[float, float, bool]:
    """By how much a point exceeds the constraint that it exceeds most, the order of that one, and whether reversed."""
    orders = np.array(_usable(claim))
    most = np.array([_rounded_bound(claim, alpha) for alpha in _usable(claim)])
    found = []
    for reverse in (False, True):
        excess = _divergence(orders, *((q, p) if reverse else (p, q))) - most
        place = int(np.argmax(excess))
        found.append((float(excess[place]), float(orders[place]), reverse))
    return max(found)


def _divergence(orders: Doubles, p: float, q: float) -> Doubles:
    """The Rényi divergences of two Bernoulli laws."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.array([p, q, 1 - p, 1 - q]))
        first, second = (
            np.where(logs[one] == -np.inf, -np.inf, orders * logs[one] - (orders - 1) * logs[one + 1]) for one in (0, 2)
        )
        return np.asarray(np.nan_to_num(np.logaddexp(first, second) / (orders - 1), nan=np.inf))


def _tangent(claim: Bounds, p: float, q: float) -> Cut:
    """The cut that touches the constraint which a point near the boundary exceeds most."""
    _, order, reverse = _worst(claim, p, q)
    here, there = (q, p) if reverse else (p, q)
    if claim.has_all_orders:

        def excess(alpha: float) -> float:
            return float(_divergence(np.array([alpha]), here, there)[0]) - _rounded_bound(claim, alpha)

        low, high = _neighbours(_usable(claim), order)
        refined = scipy.optimize.minimize_scalar(lambda alpha: -excess(alpha), bounds=(low, high), method="bounded")
        order = max(order, float(refined.x), key=excess)
    return Cut(order, claim.bound(order), here / there, (1 - here) / (1 - there), reverse)


def _vertex(cuts: Sequence[Cut | Edge], slope: float) -> tuple[Weighed, tuple[float, float]]:
    """The least bound of two cuts with weights of at least 0, and where the two meet."""
    rows = [(cut, *cut.rounded()) for cut in cuts]
    least: tuple[float, Weighed, tuple[float, float]] | None = None
    for (one, a, b, c), (other, d, e, f) in itertools.combinations(rows, 2):
        determinant = a * e - b * d
        if abs(determinant) < 1e-14 * (abs(a * e) + abs(b * d)):
            continue
        # λ·(a, b) + μ·(d, e) = (1, −slope)
        first, second = (e + slope * d) / determinant, (-slope * a - b) / determinant
        if first < 0 or second < 0:
            continue
        bound = first * c + second * f
        if least is None or bound < least[0]:
            point = ((c * e - b * f) / determinant, (a * f - c * d) / determinant)
            least = (bound, [(one, first / one.scale), (other, second / other.scale)], point)
    assert least is not None  # noqa: S101 - the edges alone have a vertex
    return least[1], least[2]
