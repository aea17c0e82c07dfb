"""A lower bound on ε from the counts of one event in the same number of trials of each input.

Two separate bounds on P[E] and Q[E] are loose, since both must be at their worst at once. To test one ε, only pairs of
probabilities with P[E] = e^ε Q[E] + δ matter: the bound is the largest ε at which counts as extreme as those seen have
a probability of at most α whatever Q[E] is. Counts are compared by the ratio of two separate bounds, each at that α.
That order is fixed before any count is seen, grows with one count and falls with the other; so among the pairs that
keep an ε, those at its edge make extreme counts likeliest, and no larger ε is refuted where a smaller one is not.

Only pairs count that lie in two intervals which hold both probabilities but for a `DOUBT` of α, which is taken off α.
They are covered by cells: in one that ends at q, Q[E] is taken at its least and P[E] at e^ε q + δ. Blocks of the
second count are taken at the least that makes the first count extreme. Both only enlarge a probability, so the bound
holds however many there are; with as many as here, they cost a few hundredths of what the bound takes off.

In which direction, and for the event or its complement, has to be said before the counts are seen: each is valid at α
only by itself.

Source: Buehler 1957, 'Confidence intervals for the product of two binomial parameters', for the bound of an order.
Berger and Boos 1994, 'P values maximized over a confidence set for the nuisance parameter', for the intervals. Donner
and Zou 2012, 'Closed-form confidence intervals for functions of the normal mean and standard deviation', for the guess.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.findings import Counts
from attacklab.model.floats import Doubles

DOUBT = 0.002
"""The share of α that is spent on the two intervals: they miss P[E] or Q[E] with probability at most `DOUBT`·α."""

TAIL = 1e-4
"""The first and the last block of the second count each have a probability of at most about `TAIL`·α."""

COARSE, FINE = 1 << 11, 1 << 17
"""The size of the computation, in pairs of a cell and a block: to find the bound roughly, and to confirm it."""

LEAST_STEP = 0.003
"""The least step, in standard deviations, by which the bound is lowered until it surely holds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way of reading a bound off counts."""

    of_second: bool  # whether the second input is the one that shows the event more often
    complement: bool  # whether it is the complement of the event that is counted

    def epsilon(self, counts: Counts, delta: float, alpha: float) -> float:
        """Return a lower bound on ε at this δ, wrong with probability at most α; never negative.

        Raises:
            ValueError: δ is outside [0, 1), or α outside (0, 1).
        """
        more, less = self._hits(counts)
        problem = _Problem.of(more, less, counts.trials, delta, alpha)
        return 0.0 if problem is None else _lower_bound(problem, more, less, alpha)

    def guessed(self, counts: Counts, delta: float, alpha: float) -> float:
        """Return a quick estimate of the bound on ε, which may be wrong; never negative.

        It is ln((p − δ)/q) at the rates seen, less √(a² + b²): a bound on p alone takes off a, a bound on q alone b.
        """
        (p, p_low), (q, q_high) = _seen_and_bound(*self._hits(counts), counts.trials, alpha)
        if p_low <= delta:
            return 0.0
        off = math.hypot(math.log((p - delta) / (p_low - delta)), math.log(q_high / q))
        return max(0.0, math.log((p - delta) / q) - off)

    def _hits(self, counts: Counts) -> tuple[int, int]:
        """Return the event's (or complement's) two counts, first on the input that should show it more often."""
        first, second = (counts.trials - hits if self.complement else hits for hits in (counts.first, counts.second))
        return (second, first) if self.of_second else (first, second)


READINGS = tuple(Reading(of_second, complement) for of_second in (False, True) for complement in (False, True))


def _seen_and_bound(more: int, less: int, trials: int, alpha: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the larger rate with its lower bound, and the smaller rate with its upper bound, each at error α."""
    low, high = clopper_pearson([more, less], trials, min(2 * alpha, 0.9))
    p, q = ((hits + 0.5) / (trials + 1) for hits in (more, less))
    return (max(p, float(low[0])), float(low[0])), (min(q, float(high[1])), float(high[1]))


def _lower_bound(problem: _Problem, more: int, less: int, alpha: float) -> float:
    target = float(scipy.special.ndtri(problem.alpha))

    def excess(epsilon: float, size: int = COARSE, *, surely: bool = False) -> float:
        """Return Φ⁻¹(likelihood of the counts at ε) − Φ⁻¹(α), which is negative if the counts refute ε."""
        likelihood = problem.likelihood(epsilon, size, surely=surely)
        return float(np.clip(scipy.special.ndtri(likelihood), -40, 40)) - target

    (p, _), (q, _) = _seen_and_bound(more, less, problem.trials, alpha)
    seen = math.log((p - problem.delta) / q)
    if seen <= 0 or excess(0.0) >= 0:
        return 0.0
    epsilon = scipy.optimize.brentq(excess, 0.0, seen, xtol=1e-7) if excess(seen) > 0 else seen
    deviation = (seen - epsilon) / max(-target, 0.5)
    while epsilon > 0 and (beyond := excess(epsilon, FINE, surely=True)) > 0:
        epsilon -= deviation * max(beyond, LEAST_STEP)
    return max(0.0, epsilon)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Which counts are as extreme as those seen, and which probabilities they may have come from."""

    trials: int  # on each input
    delta: float  # of the claim
    alpha: float  # (1 − `DOUBT`)·α
    p: tuple[float, float]  # the interval of the larger probability
    q: tuple[float, float]  # the interval of the smaller probability
    level: float  # the α of the two bounds whose ratio orders the counts
    ratio: float  # (lower bound on P[E] − δ)/(upper bound on Q[E]) for the counts that were seen, at this level

    @classmethod
    def of(cls, more: int, less: int, trials: int, delta: float, alpha: float) -> _Problem | None:
        """Return the problem for the larger and the smaller count of an event; None if the counts refute no ε."""
        lows, highs = clopper_pearson([more, less], trials, alpha * DOUBT / 2)
        left = alpha * (1 - DOUBT)
        level = min(2 * left, 0.9)
        at_least, at_most = clopper_pearson([more, less], trials, level)
        if at_least[0] <= delta:
            return None
        p, q = ((float(low), float(high)) for low, high in zip(lows, highs, strict=True))
        # The ratio is made a little less, so that rounding only adds counts to those as extreme.
        ratio = float((at_least[0] - delta) / at_most[1]) * (1 - 1e-12)
        return cls(trials, delta, left, p, q, level, ratio)

    def likelihood(self, epsilon: float, size: int, *, surely: bool = True) -> float:
        """Return the largest probability of counts as extreme as those seen, over all P[E], Q[E] that allow this ε.

        It is computed on a grid of about `size` points: an upper bound if `surely`, otherwise an estimate.
        """
        growth = math.exp(epsilon)
        low, high = max(self.q[0], (self.p[0] - self.delta) / growth), min(self.q[1], (self.p[1] - self.delta) / growth)
        if low > high:
            return 0.0
        starts, least = self._blocks(low, high, math.isqrt(size), surely=surely)
        edges = np.linspace(low, high, size // len(starts) + 1)
        begins, ends = (edges[:-1], edges[1:]) if surely else (edges, edges)
        reached = _at_least(starts[:, np.newaxis], self.trials, begins)
        inside = reached - np.concatenate([reached[1:], np.zeros((1, len(begins)))])
        extreme = _at_least(least[:, np.newaxis], self.trials, np.minimum(growth * ends + self.delta, 1.0))
        return min(1.0, float((inside * extreme).sum(axis=0).max()))

    def _blocks(self, low: float, high: float, most: int, *, surely: bool) -> tuple[Doubles, Doubles]:
        """Return the start of each block of second counts (at most `most`), and the least first count extreme there."""
        rare = self.alpha * TAIL
        first, last = (
            float(_exceeded(share, self.trials, np.array(p))) for share, p in ((1 - rare, low), (rare, high))
        )
        starts = np.unique(np.linspace(first, last, int(min(last - first + 1, most))).round())
        starts[0] = 0
        ends = np.append(starts[1:] - 1, last)
        compared = starts if surely else np.where(starts > 0, (starts + ends) // 2, ends)
        _, at_most = clopper_pearson(compared, self.trials, self.level)
        needed = np.minimum(self.ratio * at_most + self.delta, 1.0)
        beyond = _exceeded(self.level / 2, self.trials, needed) + 1
        return starts, np.where(needed < 1, beyond, self.trials + 1)


def _exceeded(share: float, trials: int, p: Doubles) -> Doubles:
    """Return for each p the least k with P[X > k] ≤ share, where X ~ Bin(trials, p), by bisection."""
    below, count = np.full(np.shape(p), -1.0), np.full(np.shape(p), float(trials))
    while np.any(count - below > 1):
        middle = np.floor((below + count) / 2)
        is_rare = _at_least(middle + 1, trials, p) <= share
        below, count = np.where(is_rare, below, middle), np.where(is_rare, middle, count)
    return count


def _at_least(hits: Doubles, trials: int, p: Doubles) -> Doubles:
    """Return P[X ≥ hits] for X ~ Bin(trials, p); 0 where `hits` exceeds `trials`."""
    within = np.clip(hits, 1, trials)
    shares = scipy.special.betainc(within, trials - within + 1, p)
    return np.asarray(np.where(hits < 1, 1.0, np.where(hits > trials, 0.0, shares)))
