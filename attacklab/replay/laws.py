"""The laws of recorded noise, and what two of them lose: exactly where the law has a formula, by cells elsewhere.

What is added up over calls are lower bounds. A cell is a set of outputs, so the two laws of the cells are what somebody
sees who learns less than the output; a loss is rounded towards 0 before losses are added. So a claim that is refuted
here is refuted by the outputs themselves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from attacklab.model.claims import Claim, GaussianDP, PrivacyClaim, Renyi, ZeroConcentrated

LAPLACE, GAUSSIAN = "Laplace", "Gaussian"
DISCRETE_LAPLACE, DISCRETE_GAUSSIAN = "discrete Laplace", "discrete Gaussian"
GUMBEL, LOGISTIC, EXPONENTIAL, UNIFORM, CAUCHY = "Gumbel", "logistic", "exponential", "uniform", "Cauchy"
CATEGORICAL, UNKNOWN, TABLE = "categorical", "unknown", "integer"
BITS, SAMPLING, OTHER = "raw bits", "sampling", "other"
"""What is drawn besides noise: raw bits, records or their order, and what has no law here."""

CONTINUOUS: dict[str, Any] = {
    LAPLACE: stats.laplace,
    GAUSSIAN: stats.norm,
    GUMBEL: stats.gumbel_r,
    LOGISTIC: stats.logistic,
    EXPONENTIAL: stats.expon,
    UNIFORM: stats.uniform,
    CAUCHY: stats.cauchy,
}
"""Laws of noise that is added, each with what SciPy calls it at scale 1."""

DISCRETE = {DISCRETE_LAPLACE: stats.laplace, DISCRETE_GAUSSIAN: stats.norm, TABLE: None}
"""Laws of integers, each with the continuous one of the same shape; of a table of weights from 0 on, there is none."""

GAUSSIANS = (GAUSSIAN, DISCRETE_GAUSSIAN)
SYMMETRIC = (LAPLACE, *GAUSSIANS, LOGISTIC, CAUCHY, DISCRETE_LAPLACE)
L1_LAWS, SHIFT_LAWS = (LAPLACE, DISCRETE_LAPLACE, LOGISTIC), (*CONTINUOUS, *DISCRETE)

ROUNDING_SLACK = 2.0**-20
"""A loss that exceeds the claim by a smaller share is what rounding does to a scale or a sum: said, and no refutation.
"""

LEAST_EXCESS = 1e-11
"""How far a δ must exceed the claimed one: beyond what convolutions round."""

LEAST_CHANCE = 2.0**-40

ENDLESS = (-math.inf, math.inf)
"""The ends of a number that is not clipped."""

CELLS, FINE = 513, 4097
LARGEST_TABLE = 1e4
"""Up to this scale the tails of a discrete Gaussian are summed; beyond, they are those of the continuous one."""

REACH_OF_TABLE = 36.0
"""How far tables of rounded noise go, in scales: what is beyond is too rare to count."""

LOSS_GRID = 2.0**-9
LARGEST_LOSS = 64.0

MOST_COMPOSED = 32
"""How many losses are composed by their laws, the largest of them; what is left out only lowers the bound."""


AND_MORE = " and more"
"""Ends the name of the law of noise to which further noise was added: that hides at least as much."""


@dataclass(frozen=True)
class Law:
    """The law of one noisy number, or of one choice.

    Attributes:
        family: one of the names above.
        centre: the value that noise is added to.
        scale: of the noise, not negative.
        weights: the probabilities of a categorical law, or of an integer one. A single one is that of one outcome, and
            what else is lost is lost in that outcome.
        step: how far apart the values of a discrete law are.
    """

    family: str
    centre: Fraction = Fraction(0)
    scale: Fraction = Fraction(0)
    weights: tuple[float, ...] = ()
    step: Fraction = Fraction(1)


def alone(law: Law) -> Law:
    """The law of the largest part of noise that is made of several draws: it hides no more than all of them."""
    return replace(law, family=law.family.removesuffix(AND_MORE))


def largest_loss(first: Law, second: Law) -> Fraction | float:
    """The largest privacy loss, in either direction, of an output of two laws: what noise spends of a pure ε."""
    if first == second:
        return Fraction(0)
    if first.family != second.family or first.family not in (*SHIFT_LAWS, CATEGORICAL):
        return math.inf
    if first.family == CATEGORICAL:
        return largest_ratio(first.weights, second.weights)
    shift = abs(first.centre - second.centre)
    if first.family == CAUCHY and first.scale and second.scale:
        return _cauchy_loss(near(shift), near(first.scale), near(second.scale))
    if first.scale != second.scale or not first.scale:
        if _nearly(first.scale, second.scale) and first.family in L1_LAWS and first.scale:
            return shift / min(first.scale, second.scale)
        return math.inf
    if first.family in DISCRETE and not _is_on_one_grid(first, second):
        return math.inf
    if first.family == TABLE:
        return largest_ratio(*(side.tolist() for side in cell_masses(first, second)))
    if first.family in L1_LAWS:
        return shift / first.scale
    return math.inf


def directed_loss(first: Law, second: Law) -> Fraction | float:
    """The largest loss of an output that is more probable under the first law; of noise it is that of either way."""
    loss = largest_loss(first, second)
    if is_one_outcome(first, second) and 0 < loss < math.inf:
        return math.log(first.weights[0]) - math.log(second.weights[0])
    if first.family == second.family and first.family in (CATEGORICAL, TABLE) and 0 < loss < math.inf:
        masses = zip(*(side.tolist() for side in cell_masses(first, second)), strict=True)
        return max(math.log(one) - math.log(other) for one, other in masses if one > 0 and other > 0)
    return loss


def is_one_outcome(first: Law, second: Law) -> bool:
    """Whether two laws are those of one outcome among others."""
    return first.family == second.family == CATEGORICAL and len(first.weights) == len(second.weights) == 1


def _cauchy_loss(shift: float, one: float, other: float) -> float:
    """The largest loss between Cauchy laws: their distance in the hyperbolic half-plane of centres and scales."""
    return 2 * math.asinh(math.hypot(shift, one - other) / (2 * math.sqrt(one) * math.sqrt(other)))


def renyi_divergence(first: Law, second: Law, order: float) -> float:
    """The larger Rényi divergence of the two directions, of an order above 1; nothing where no formula is known."""
    if is_one_outcome(first, second):
        one, other = (math.log(max(law.weights[0], 1e-320)) for law in (first, second))
        return max(order * one + (1 - order) * other, order * other + (1 - order) * one) / (order - 1)
    if first == second:
        return 0.0
    shift, scale = near(abs(first.centre - second.centre)), near(first.scale)
    if first.family == second.family and first.family in (CATEGORICAL, TABLE):
        return _divergence(*cell_masses(first, second), order)
    if first.family != second.family or first.family not in (LAPLACE, *GAUSSIANS) or not (scale and second.scale):
        return math.inf if first.family == second.family else 0.0
    if first.family in GAUSSIANS:
        return max(_gaussian_divergence(first, second, order), _gaussian_divergence(second, first, order))
    if not _nearly(first.scale, second.scale):
        return math.inf
    loss = shift / scale
    above, below = math.log(order / (2 * order - 1)), math.log((order - 1) / (2 * order - 1))
    return float(np.logaddexp(above + loss * (order - 1), below - loss * order)) / (order - 1)


def delta_at(pairs: Sequence[tuple[Law, Law]], epsilon: float, rate: float = 1.0) -> float:
    """A lower bound on the δ that outputs of all these laws together lose at an ε, in the worse direction.

    Args:
        pairs: the laws on both inputs.
        epsilon: the ε.
        rate: how probable it is of each pair, apart from the others, that the first law is the first, not the second.
    """
    return max(_directed_delta(pairs, epsilon, rate, back) for back in (False, True))


def _directed_delta(pairs: Sequence[tuple[Law, Law]], epsilon: float, rate: float, back: bool) -> float:
    """The same in one direction; of one outcome among others, as far as it is lost in that."""
    outcome = [sides[::-1] if back else sides for sides in pairs if is_one_outcome(*sides)]
    one, other = (math.prod(sides[side].weights[0] for sides in outcome) for side in (0, 1))
    if not one or not other:
        return one
    epsilon -= math.log(one / other)
    moved = [sides for sides in pairs if sides[0] != sides[1] and not is_one_outcome(*sides)]
    if not moved:
        return one * max(0.0, -math.expm1(min(epsilon, 0.0)))
    if rate == 1 and all(
        first.family == second.family == GAUSSIAN and first.scale == second.scale > 0 for first, second in moved
    ):
        mu = math.sqrt(near(sum(square_of(first, second) for first, second in moved)))
        return one * gaussian_delta(mu, epsilon)
    largest = sorted(moved, key=lambda sides: largest_loss(*sides), reverse=True)[:MOST_COMPOSED]
    return one * _delta_of(*_composed(tuple(largest), rate, back), epsilon)


def outcome_of(chance: float) -> Law:
    """The law of one outcome among others, which has this probability."""
    return Law(CATEGORICAL, weights=(min(1.0, max(0.0, chance)),))


def at_number(law: Law, number: Fraction) -> Law:
    """What a law says of one number alone: its probability, or its density."""
    offset, scale = near(number - law.centre), near(law.scale)
    if law.family in CONTINUOUS:
        return Law(CATEGORICAL, weights=(float(CONTINUOUS[law.family].pdf(offset / scale) / scale),))
    ends = tails_of(law, np.array([offset - near(law.step) / 2, offset + near(law.step) / 2]))[0]
    return Law(CATEGORICAL, weights=(float(ends[1] - ends[0]),))


def coin(chance: float) -> Law:
    """The law of an event of this probability."""
    chance = min(1.0, max(0.0, chance))
    return Law(CATEGORICAL, weights=(chance, 1 - chance))


def square_of(first: Law, second: Law) -> Fraction:
    """The square of a shift of Gaussian noise in units of its σ: μ² of Gaussian DP."""
    return ((first.centre - second.centre) / first.scale) ** 2


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The δ at an ε of μ-Gaussian DP (Balle and Wang 2018, theorem 8)."""
    if not mu:
        return 0.0
    tail = math.exp(epsilon + float(special.log_ndtr(-epsilon / mu - mu / 2)))
    return max(0.0, float(special.ndtr(mu / 2 - epsilon / mu)) - tail)


@dataclass(frozen=True)
class Excess:
    """How two laws overstep a claim.

    Attributes:
        loss: what is lost, in the claim's own unit, for people to read.
        claimed: what the claim allows of that.
        epsilon: a lower bound on the real ε, where the claim is a pure one.
        delta: a lower bound on the real δ at `at`, where the claim is judged so.
        at: the ε at which it is judged.
    """

    loss: str
    claimed: str
    epsilon: float | None = None
    delta: float | None = None
    at: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether an output comes on one input for certain, and never on the other."""
        return "probability 1" in self.loss


@dataclass(frozen=True)
class Sampling:
    """Samples that records are drawn into.

    Attributes:
        rate: how probable it is that a record is in one; 1 where none is drawn.
        count: how many are drawn, each by coins of its own.
    """

    rate: float = 1.0
    count: int = 0

    def __str__(self) -> str:
        return "" if self.rate == 1 else f" of a sample of rate {self.rate:.4g}"

    def loss(self, pairs: Sequence[tuple[Law, Law]]) -> Fraction | float:
        """The largest loss of outputs of these laws (Balle and others 2018, theorem 9)."""
        if self.count > 1:
            return sum(self.amplified(largest_loss(*pair)) for pair in pairs)
        return self.amplified(loss_of(pairs))

    def amplified(self, loss: Fraction | float) -> Fraction | float:
        """What is left of a loss, as a record is in the sample only sometimes."""
        return math.log1p(self.rate * math.expm1(loss)) if self.rate < 1 and loss < LARGEST_LOSS else loss

    def delta_at(self, pairs: Sequence[tuple[Law, Law]], epsilon: float) -> float:
        """A lower bound on their δ at an ε."""
        if self.rate == 1 or self.count > 1:
            return delta_at(pairs, epsilon, self.rate)
        return self.rate * delta_at(pairs, math.log1p(math.expm1(min(epsilon, 500.0)) / self.rate))


def excess_over(claim: Claim, pairs: Sequence[tuple[Law, Law]], sampling: Sampling = Sampling()) -> Excess | None:
    """How outputs of these laws overstep a claim, by more than rounding does; nothing where they do not."""
    loss = sampling.loss(pairs)
    if isinstance(claim, PrivacyClaim) and not claim.delta:
        if loss <= claim.epsilon * (1 + ROUNDING_SLACK):
            return None
        lost = "a loss without bound" if loss == math.inf else f"ε = {text_of(loss)}"
        return Excess(f"{lost}{sampling}", f"ε = {claim.epsilon!r}", epsilon=near(loss))
    if sampling.rate == 1:
        if isinstance(claim, GaussianDP) and pairs and all(_is_gaussian(*pair) for pair in pairs):
            mu = math.sqrt(near(sum(square_of(*pair) for pair in pairs)))
            return None if mu <= claim.mu * (1 + ROUNDING_SLACK) else Excess(f"μ = {mu:.6g}", f"μ = {claim.mu!r}")
        by_order = _excess_by_order(claim, pairs)
        is_exact = isinstance(claim, ZeroConcentrated | Renyi) and all(_is_gaussian(*pair) for pair in pairs)
        if by_order is not None or is_exact:
            return by_order  # Gaussian noise loses the same ρ at every order, and what it keeps of that bounds each δ
    if loss <= 0:
        return None
    for epsilon in claim.points:
        allowed, delta = claim.at(epsilon).delta, sampling.delta_at(pairs, epsilon)
        if delta > allowed * (1 + ROUNDING_SLACK) + LEAST_EXCESS:
            at = f" at ε = {epsilon:.4g}"
            return Excess(f"δ = {delta:.4g}{at}{sampling}", f"δ = {allowed:.4g}{at}", delta=delta, at=epsilon)
    return None


def excess_over_paths(claim: Claim, paths: Sequence[Sequence[tuple[Law, Law]]]) -> Excess | None:
    """How outputs overstep a claim of δ that come of one of several paths, of which each has an outcome in its laws."""
    for epsilon in claim.points:
        allowed = claim.at(epsilon).delta
        delta = max(sum(_directed_delta(path, epsilon, 1.0, back) for path in paths) for back in (False, True))
        if delta > allowed * (1 + ROUNDING_SLACK) + LEAST_EXCESS:
            at = f" at ε = {epsilon:.4g}"
            return Excess(f"δ = {delta:.4g}{at}", f"δ = {allowed:.4g}{at}", delta=delta, at=epsilon)
    return None


def excess_of_shuffled(claim: Claim, pairs: Sequence[tuple[Law, Law]], parts: int) -> Excess | None:
    """How noisy sums of all parts of shuffled records overstep a claim; None where that is not shown.

    The record is in each part as probably as in the others. The event is that some sum exceeds a threshold (Chua and
    others 2024, "How private are DP-SGD implementations?").
    """
    moved = [(first, second) for first, second in pairs if first != second]
    if parts < 2 or not moved or not isinstance(claim, PrivacyClaim):
        return None
    if all(_is_gaussian(*pair) for pair in moved):  # along the line between the two sums
        law, shift = stats.norm, math.sqrt(near(sum(square_of(*pair) for pair in moved)))
    elif len(moved) == 1 and largest_loss(*moved[0]) < math.inf and moved[0][0].family == LAPLACE:
        law, shift = stats.laplace, near(largest_loss(*moved[0]))
    else:
        return None
    at = np.linspace(-10.0, 60.0, 4001)
    below, raised = law.logcdf(at), law.logcdf(at - shift)
    odds = [-np.expm1((parts - 1) * below + raised), -np.expm1(parts * below)]
    deltas = odds[0] - math.exp(min(claim.epsilon, 500.0)) * odds[1]
    delta = float(deltas.max())
    if delta <= claim.delta * (1 + ROUNDING_SLACK) + LEAST_EXCESS:
        return None
    lost = f"δ = {delta:.4g} at ε = {claim.epsilon:.4g}, as shuffled records are in one of {parts} sums for certain"
    return Excess(lost, f"δ = {claim.delta!r}", delta=delta, at=claim.epsilon)


def _excess_by_order(claim: Claim, pairs: Sequence[tuple[Law, Law]]) -> Excess | None:
    """The first order at which Rényi divergences overstep a claim of ρ-zCDP or of Rényi DP."""
    is_zcdp = isinstance(claim, ZeroConcentrated)
    orders = (2.0, 8.0, 64.0) if is_zcdp else claim.orders if isinstance(claim, Renyi) else ()
    for order in orders:
        divergence = sum(renyi_divergence(*pair, order) for pair in pairs)
        allowed = claim.bound(order).above()  # type: ignore[attr-defined] # those two have it
        if divergence > allowed * (1 + ROUNDING_SLACK) + LEAST_EXCESS:
            unit, name = (order, "ρ") if is_zcdp else (1, f"Rényi divergence of order {order:g}")
            return Excess(f"{name} = {divergence / unit:.6g}", f"{allowed / unit:.6g}")
    return None


def loss_of(pairs: Sequence[tuple[Law, Law]]) -> Fraction | float:
    """The largest loss of all pairs together: the losses of one direction, added up."""
    return max(_loss_in_one_direction(pairs), _loss_in_one_direction([pair[::-1] for pair in pairs]), key=near)


def _loss_in_one_direction(pairs: Sequence[tuple[Law, Law]]) -> Fraction | float:
    losses = [directed_loss(*pair) for pair in pairs]
    exact = sum((loss for loss in losses if isinstance(loss, Fraction)), Fraction(0))
    rest = sum(loss for loss in losses if not isinstance(loss, Fraction))
    return exact if not rest else near(exact) + rest


def fitted(depths: Sequence[float], numbers: Sequence[float]) -> Law | None:
    """The law of a number that a uniform one becomes by the inverse of a cumulative function; None where it is no such.

    Args:
        depths: uniform numbers.
        numbers: what they became.
    """
    for family in (LAPLACE, GAUSSIAN, LOGISTIC, GUMBEL, EXPONENTIAL):
        for at in (np.array(depths), 1 - np.array(depths)):
            quantiles = CONTINUOUS[family].ppf(at)
            scale, centre = np.polyfit(quantiles, numbers, 1) if np.isfinite(numbers).all() else (0.0, 0.0)
            if scale > 0 and np.abs(centre + scale * quantiles - numbers).max() < 1e-9 * scale:
                return Law(
                    family, Fraction(round(centre / scale, 9)) * Fraction(scale), Fraction(float(f"{scale:.12g}"))
                )
    return None


def text_of(number: Fraction | float) -> str:
    """A number as people read it, in six digits; an infinite one in words."""
    if number in (math.inf, -math.inf):
        return "infinite"
    return f"{near(number):.6g}"


def near(number: Any) -> float:
    """A number as a float, however large it is."""
    try:
        return float(number)
    except OverflowError:
        return 1e300 if number > 0 else -1e300


def cell_masses(first: Law, second: Law) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probabilities of the same cells under two laws."""
    if first.family == second.family == CATEGORICAL and len(first.weights) == len(second.weights):
        return np.array(first.weights), np.array(second.weights)
    if first.family not in SHIFT_LAWS or second.family not in SHIFT_LAWS:
        return np.ones(1), np.ones(1)
    shift = second.centre - first.centre
    if first.family == second.family == TABLE:
        return _tables(first, second)
    if not first.scale or not second.scale:
        equal = first.scale == second.scale and not shift
        return (np.ones(1), np.ones(1)) if equal else (np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    edges = edges_of(first, second)
    return _masses(first, edges), _masses(second, edges - near(shift))


def edges_of(first: Law, second: Law) -> NDArray[np.float64]:
    """Where cells end that tell two laws apart, counted from the centre of the first."""
    where = [(0.0, first), (near(second.centre - first.centre), second)]
    depths = np.concatenate([np.logspace(-15, -0.31, CELLS // 2), [0.5]])
    ends = [centre + _upper(law, depths) * sign for centre, law in where for sign in (-1, 1)]
    edges = np.unique(np.concatenate(ends))
    return np.asarray(edges[np.isfinite(edges)])


def clipped(first: Law, second: Law, ends: tuple[float, float]) -> tuple[Law, Law]:
    """The laws of a noisy number that is clipped to ends, each as the probabilities of the same cells.

    What is beyond an end is all shown as that end. Cells lose no more than the numbers in them. One tail of symmetric
    noise loses as much as both.
    """
    is_whole = ends == ENDLESS or (first.family in SYMMETRIC and math.inf in map(abs, ends))
    if is_whole or not first.scale or not second.scale:
        return first, second
    steps = [near(law.step) / 2 if law.family in DISCRETE else 0.0 for law in (first, second)]
    inner = [ends[0] + max(steps), ends[1] - max(steps)]
    edges = edges_of(first, second) + near(first.centre)
    around = [near(law.centre) + sign * REACH_OF_TABLE * near(law.scale) for law in (first, second) for sign in (-1, 1)]
    lines = np.linspace(max(inner[0], min(around)), min(inner[1], max(around)), FINE)
    edges = np.unique(np.concatenate([edges, lines, inner]))
    edges = edges[(edges >= inner[0]) & (edges <= inner[1]) & np.isfinite(edges)]
    masses = [_masses(law, edges - near(law.centre)) for law in (first, second)]
    one, other = (Law(CATEGORICAL, weights=tuple(side.tolist())) for side in masses)
    return one, other


def _tables(first: Law, second: Law) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probabilities of the same integers under two tables."""
    by = (second.centre - first.centre) / first.step
    size = max(len(first.weights), len(second.weights))
    if not _is_on_one_grid(first, second) or abs(by) >= size:
        return np.array([1.0, 0.0]), np.array([0.0, 1.0])
    masses = np.zeros((2, 3 * size))
    for side, law, start in ((masses[0], first, size), (masses[1], second, size + round(by))):
        side[start : start + len(law.weights)] = law.weights
    return masses[0], masses[1]


def rounded(law: Law, how: Callable[[Any], Any]) -> Law | None:
    """The law of noise at 0 that is rounded to integers; None where it reaches too far for a table.

    Args:
        law: of the noise.
        how: it is rounded, as one of `ROUNDINGS`.
    """
    reach = math.ceil(REACH_OF_TABLE * near(law.scale)) + 2
    if law.family not in (LAPLACE, GAUSSIAN, LOGISTIC) or reach > LARGEST_TABLE:
        return None
    numbers = np.arange(-reach, reach + 1)
    low = numbers - np.where(numbers <= 0, *ROUNDINGS[how])
    high = numbers + 1 - np.where(numbers < 0, *ROUNDINGS[how])
    weights = _masses(law, np.unique(np.concatenate([low, high])))[1:-1]
    return Law(TABLE, Fraction(-reach), Fraction(1), tuple(weights.tolist()))


ROUNDINGS: dict[Callable[[Any], Any], tuple[float, float]] = {
    np.rint: (0.5, 0.5),
    np.floor: (0.0, 0.0),
    np.ceil: (1.0, 1.0),
    np.trunc: (1.0, 0.0),
}
"""For each way to round, how far below an integer the numbers begin that become it, up to 0 and above."""


def _upper(law: Law, depths: NDArray[np.float64]) -> NDArray[np.float64]:
    scale, step = near(law.scale), near(law.step)
    if law.family in DISCRETE:
        return np.asarray((np.floor(DISCRETE[law.family].isf(depths) * scale / step) + 0.5) * step)
    return np.asarray(CONTINUOUS[law.family].isf(depths) * scale)


def tails_of(law: Law, offsets: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probabilities of noise of at most, and of more than, so much."""
    family, scale = law.family, near(law.scale)
    if family in DISCRETE:
        offsets, scale = offsets / near(law.step), scale / near(law.step)
        with np.errstate(invalid="ignore"):  # of the infinities
            offsets = np.where(np.abs(offsets - np.rint(offsets)) < 1e-9, np.rint(offsets), offsets)
    if family == TABLE:
        at = np.clip(np.floor(offsets), -1, len(law.weights) - 1).astype(int) + 1
        sums = np.concatenate([[0.0], np.cumsum(law.weights)]), np.cumsum(law.weights[::-1])[::-1]
        return sums[0][at], np.append(sums[1], 0.0)[at]
    if family == DISCRETE_LAPLACE:
        at = np.floor(offsets)  # P[K >= k] = r^k/(1 + r) for k >= 1, r = e^(-1/scale)
        tail = np.exp(-np.where(at < 0, -at, at + 1) / scale) / (1 + np.exp(-1 / scale))
        return np.where(at < 0, tail, 1 - tail), np.where(at < 0, 1 - tail, tail)
    if family == DISCRETE_GAUSSIAN and scale < LARGEST_TABLE:
        reach = math.ceil(40 * scale) + 1
        masses = np.exp(-((np.arange(-reach, reach + 1) / scale) ** 2) / 2)
        below = np.cumsum(masses / masses.sum())
        at = np.clip(np.floor(offsets) + reach, 0, 2 * reach).astype(int)
        return below[at], np.append(below[::-1], 0.0)[at + 1]
    if family == DISCRETE_GAUSSIAN:
        offsets, family = np.floor(offsets) + 0.5, GAUSSIAN
    dist = CONTINUOUS[family]
    return np.asarray(dist.cdf(offsets / scale)), np.asarray(dist.sf(offsets / scale))


def _masses(law: Law, offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """The masses between edges, from whichever tail is smaller, which loses no digits."""
    below, above = tails_of(law, offsets)
    below, above = np.concatenate([[0.0], below, [1.0]]), np.concatenate([[1.0], above, [0.0]])
    masses: NDArray[np.float64] = np.where(above[:-1] < 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
    return np.maximum(masses, 0.0)


@functools.lru_cache(maxsize=256)
def _losses(first: Law, second: Law, rate: float, back: bool) -> tuple[NDArray[np.float64], float]:
    """The law of the loss, rounded towards 0 on a grid, under the first; and the mass where it is infinite.

    Under the second, if it is that of the way back; of a sample, the first is mixed with the second.
    """
    p, q = cell_masses(first, second)
    p = rate * p + (1 - rate) * q
    p, q = (q, p) if back else (p, q)
    size = round(LARGEST_LOSS / LOSS_GRID)
    grid = np.zeros(2 * size + 1)
    infinite = float(p[q <= 0].sum())
    p, q = p[q > 0], q[q > 0]
    with np.errstate(divide="ignore"):
        losses = np.where(p > 0, np.log(np.maximum(p, 1e-320)) - np.log(q), -LARGEST_LOSS)
    places = np.clip(np.floor(losses / LOSS_GRID), -size, size).astype(int) + size
    np.add.at(grid, places, p)
    return grid, infinite


@functools.lru_cache(maxsize=16)
def _composed(pairs: tuple[tuple[Law, Law], ...], rate: float, back: bool) -> tuple[NDArray[np.float64], float]:
    """The law of the loss of all pairs together, on the grid; and the mass where it is finite."""
    losses = [_losses(*pair, rate, back) for pair in pairs]
    finite, rest = losses[0][0], 1.0 - losses[0][1]
    size = len(finite) // 2
    for grid, infinite in losses[1:]:
        wide = _convolved(finite, grid)
        low, kept, high = wide[:size].sum(), wide[size:-size].copy(), wide[-size:].sum()
        kept[0] += low
        kept[-1] += high
        finite, rest = kept, rest * (1.0 - infinite)
    return finite, rest


def _delta_of(finite: NDArray[np.float64], rest: float, epsilon: float) -> float:
    values = (np.arange(len(finite)) - len(finite) // 2) * LOSS_GRID
    gained = finite * -np.expm1(np.minimum(epsilon - values, 0.0))
    return float(gained.sum()) + 1.0 - rest


def _convolved(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    length = 1 << (len(one) + len(other) - 2).bit_length()
    product = np.fft.irfft(np.fft.rfft(one, length) * np.fft.rfft(other, length), length)
    return np.maximum(product[: len(one) + len(other) - 1], 0.0) * (1 - 1e-12)


def largest_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The largest loss of a choice; probabilities that only rounding tells from 0 count as none."""
    if len(first) != len(second):
        return math.inf
    ratios = [0.0]
    for one, other in zip(first, second, strict=True):
        if max(one, other) > LEAST_CHANCE and min(one, other) <= 0:
            return math.inf
        if min(one, other) > 0:
            ratios.append(abs(math.log(one) - math.log(other)))
    return max(ratios)


def _divergence(first: NDArray[np.float64], second: NDArray[np.float64], order: float) -> float:
    """The larger Rényi divergence of two tables; what is too rare to tell from nothing is left out."""
    is_seen = np.maximum(first, second) > LEAST_CHANCE
    with np.errstate(divide="ignore", over="ignore"):
        sides = [(one[is_seen], other[is_seen]) for one, other in ((first, second), (second, first))]
        sums = [float(np.sum(one**order * other ** (1 - order), where=one > 0)) for one, other in sides]
    return math.log(max(1.0, *sums)) / (order - 1) if max(sums) < math.inf else math.inf


def _gaussian_divergence(first: Law, second: Law, order: float) -> float:
    ratio, shift = near(first.scale / second.scale), near((first.centre - second.centre) / second.scale)
    mixed = order + (1 - order) * ratio * ratio
    if mixed <= 0 or not ratio:
        return math.inf
    return -math.log(ratio) - math.log(mixed) / (2 * (order - 1)) + order * shift * shift / (2 * mixed)


def _is_gaussian(first: Law, second: Law) -> bool:
    return first.family == second.family == GAUSSIAN and first.scale == second.scale > 0


def _is_on_one_grid(first: Law, second: Law) -> bool:
    """Whether discrete laws have the same values, but for what doubles round of them."""
    steps = (first.centre - second.centre) / first.step
    largest = max(abs(first.centre), abs(second.centre)) / first.step
    return first.step == second.step and abs(steps - round(steps)) <= largest * Fraction(1, 1 << 51)


def _nearly(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= abs(one) * Fraction(1, 1 << 40)
