"""What a composition loses: δ(ε) and ε(δ) between two certified numbers, by privacy-loss distributions on a grid.

A release is a pair of laws, P and Q, of which the losses ln(P/Q) tell everything. They are put on a grid twice. From
above, the mass between two places of the grid goes to both, so that its mass under P and that under Q stay as they are:
such a spread has the larger δ(ε) at every ε and in every composition (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi
2022, 'Connect the Dots', section 4). From below, the outcomes between two places become one outcome, as any adversary
could make them. It takes some of the outcomes beside it until its loss is that of the middle, or the loss is rounded
down. Both errors fall with the square of the step. Masses are integers over a power of two, rounded up or down, and
polynomials of them are multiplied exactly. What lies beyond the grid is added as an infinite loss, or dropped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import gmpy2
import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal
from scipy.special import logsumexp

from attacklab.model.errors import UsageError
from attacklab.model.intervals import Interval

LAWS = ("gaussian", "laplace", "response")

COARSE = 400
"""Cells of one release in the sketch that says where the fine grid has to lie."""

MOST_CELLS = 1 << 21
"""Most cells of a grid for a composition; beyond that, the enclosure is not narrowed further."""

SPARE_BITS = 64
"""Of a mass, beyond those of δ: roundings of 2^20 cells in 2^20 releases are then 2^−24 of δ together."""

BITS_OF_ONE = 4096
"""The precision of the closed form for one release, which subtracts nearly equal numbers."""

BEYOND = math.log(2.0**40)
"""What lies beyond the grid is about e^−BEYOND of δ."""

BESIDE = 8
"""An outcome takes from so many cells beside it at most."""


@dataclass(frozen=True)
class Part:
    """Some releases of one kind in a composition.

    Attributes:
        law: `gaussian` or `laplace` noise, or `response`: the randomized response, which no release of pure DP exceeds.
        loss: of noise, the sensitivity over its σ or scale; of the response, its ε.
        rate: each record takes part with this probability, independently of others (Poisson sampling).
        count: how many releases there are.
    """

    law: str
    loss: float | Fraction
    rate: float = 1.0
    count: int = 1

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise UsageError(f"law must be one of {', '.join(LAWS)}, not {self.law!r}")
        if not (0 < self.loss < math.inf and 0 < self.rate <= 1 and self.count >= 1):
            raise UsageError(f"loss must be above 0, rate in (0, 1] and count at least 1, not {self}")


def delta(parts: Sequence[Part], epsilon: float, *, width: float = 1e-3) -> Interval:
    """Enclose the least δ at which a composition is (ε, δ)-DP, for a record that is added or removed.

    Args:
        parts: what is composed, in any order.
        epsilon: ε, at least 0.
        width: of the enclosure, as a part of δ; it is wider where that takes more than `MOST_CELLS` cells.

    Raises:
        UsageError: a number is out of range, or python-flint is missing.
    """
    if not 0 <= epsilon < math.inf:
        raise UsageError(f"epsilon must be finite and at least 0, not {epsilon}")

    if len(parts) == 1 and parts[0].count == 1 and parts[0].law == "gaussian":
        return _delta_of_one(parts[0], epsilon)

    def read(losses: _Losses, grid: Grid) -> Interval:
        return losses.delta(epsilon, grid)

    with _flint().ctx.workprec(2 * SPARE_BITS):
        ways = [
            way for way in (False, True) if not sum(_largest_loss(part, way) * part.count for part in parts) <= epsilon
        ]
    return _refined(parts, lambda _: epsilon, read, width, ways, is_of_delta=True)


def epsilon(parts: Sequence[Part], delta: float, *, width: float = 1e-4) -> Interval:
    """Enclose the least ε at which a composition is (ε, δ)-DP; see `delta`, and `width` is a part of ε."""
    if not 0 < delta < 1:
        raise UsageError(f"delta must lie in (0, 1), not {delta}")

    def read(losses: _Losses, grid: Grid) -> Interval:
        return losses.epsilon(delta, grid)

    return _refined(parts, lambda sketch: sketch.place(math.log(delta)), read, width, is_of_delta=False)


def sampled_gaussian_epsilon(sigma: float, rate: float, steps: int, delta: float) -> Interval:
    """Enclose the least ε of a number of steps on Poisson samples, with noise of σ times the sensitivity."""
    return epsilon([Part("gaussian", 1 / Fraction(sigma), rate, steps)], delta)


def _delta_of_one(part: Part, epsilon: float) -> Interval:
    """Enclose the δ of one release of Gaussian noise by its closed form, the larger one of both directions."""
    with _flint().ctx.workprec(BITS_OF_ONE):
        at = _ball(epsilon)
        (p, q), (other_p, other_q) = _sides(part, at), _sides(part, -at)
        added = Masses(p.above(), q.above()).sampled(part.rate)
        removed = Masses(other_p.below(), other_q.below()).sampled(part.rate)
        both = [added.p - at.exp() * added.q, removed.q - at.exp() * removed.p]
        ends = [[_mpfr(end(ball)) for ball in both] for end in (type(at).lower, type(at).upper)]
        return Interval(max(gmpy2.mpfr(0), *ends[0]), max(gmpy2.mpfr(0), *ends[1]))


def _refined(
    parts: Sequence[Part],
    where: Callable[[_Sketch], float],
    read: Callable[[_Losses, Grid], Interval],
    width: float,
    ways: Sequence[bool] = (False, True),
    *,
    is_of_delta: bool,
) -> Interval:
    """Enclose what is read where a record is added, or removed, or both; and return the larger one."""
    lower = upper = gmpy2.mpfr(0)
    widest = 0.0
    for is_removed in ways:
        sketch = _Sketch.of(parts, is_removed)
        grid = sketch.grid(max(0.0, where(sketch)), width, is_of_delta=is_of_delta)
        grid = replace(grid, step=max(widest, grid.step))
        while True:
            grid = replace(grid, step=_fitted(parts, grid.step))
            with _flint().ctx.workprec(grid.bits + SPARE_BITS):
                most = read(_composed(parts, grid, above, is_removed), grid).upper
                least = read(_composed(parts, grid, below, is_removed), grid).lower if most > lower else lower
            if most - least <= width * most or most <= lower or grid.cells > MOST_CELLS / 2:
                break
            grid = replace(grid, step=grid.step * math.sqrt(0.7 * width * float(most / (most - least))))
        lower, upper, widest = max(lower, least), max(upper, most), grid.step
    return Interval(lower, upper)


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise UsageError("to enclose a composition takes python-flint; install attacklab[accountants]") from None
    return flint


@dataclass(frozen=True)
class Grid:
    """Where a composition is put.

    Attributes:
        step: between two places.
        bits: a mass is an integer over 2^bits.
        low: a loss below it is raised to it from above, and dropped from below.
        high: a loss beyond it is infinite from above, and lowered to it from below.
    """

    step: float
    bits: int
    low: float
    high: float

    @property
    def cells(self) -> float:
        """How many there are."""
        return (self.high - self.low) / self.step


@dataclass(frozen=True)
class _Sketch:
    """A composition in doubles: it says where the grid has to lie, and no result rests on it.

    Attributes:
        parts: of each part its losses, the logarithms of their masses under P, and the count.
    """

    parts: tuple[tuple[NDArray[np.float64], NDArray[np.float64], int], ...]

    @classmethod
    def of(cls, parts: Sequence[Part], is_removed: bool) -> _Sketch:
        rows = []
        for part in parts:
            with _flint().ctx.workprec(2 * SPARE_BITS):
                reach = np.linspace(*_reach(replace(part, rate=1.0), SPARE_BITS), COARSE)
                events = _between(part, [_loss(part.rate, _ball(place)) for place in reach])
                events += [mass for _, mass in _single_losses(part)]
                p, q = np.array([[float(mass.p), float(mass.q)] for mass in events if mass.p > 0 and mass.q > 0]).T
            losses, masses = (np.log(q / p), q) if is_removed else (np.log(p / q), p)
            rows.append((losses, np.log(masses / masses.sum()), part.count))
        return cls(tuple(rows))

    def tail(self, loss: float, sign: int = 1) -> tuple[float, float]:
        """The logarithm of Chernoff's bound on P[sign · total ≥ sign · loss], and its exponent θ."""

        def bound(log_theta: float) -> float:
            theta = sign * math.exp(log_theta)
            return float(sum(count * logsumexp(theta * x + mass) for x, mass, count in self.parts) - theta * loss)

        found = optimize.minimize_scalar(bound, bounds=(-12.0, 12.0), method="bounded")
        return min(0.0, float(found.fun)), math.exp(float(found.x))

    def place(self, log_mass: float, sign: int = 1) -> float:
        """Where the bound on a tail falls to a mass, or the last loss."""
        mean = sum(count * float(np.exp(mass) @ x) for x, mass, count in self.parts)
        end = sign * float(sum(count * max(sign * x) for x, _, count in self.parts))
        if self.tail(end, sign)[0] > log_mass:
            return end
        return float(optimize.brentq(lambda loss: self.tail(loss, sign)[0] - log_mass, mean, end))

    def grid(self, loss: float, width: float, *, is_of_delta: bool) -> Grid:
        """The grid on which δ at a loss, or the loss itself, is likely to be known to a width."""
        log_delta, theta = self.tail(loss)
        releases = sum(count for _, _, count in self.parts)
        allowed = width if is_of_delta else width * loss * theta
        low, high = self.place(log_delta - BEYOND, -1), max(loss, self.place(log_delta - BEYOND))
        step = min(max(math.sqrt(2.5 * allowed / releases) / theta, 2.0**-40), (high - low) / COARSE)
        bits = math.ceil(-log_delta / math.log(2)) + SPARE_BITS
        return Grid(step, bits, low - 1, high + 1)


class Masses(NamedTuple):
    """What an event has under P and under Q, as balls."""

    p: Any
    q: Any

    def more(self, other: Masses, share: Any = 1) -> Masses:
        """This event and a share of another."""
        return Masses(self.p + share * other.p, self.q + share * other.q)

    def swapped(self) -> Masses:
        """The same event with P and Q in each other's place."""
        return Masses(self.q, self.p)

    def sampled(self, rate: float) -> Masses:
        """The same event where a record takes part at a rate."""
        return Masses((1 - _ball(rate)) * self.q + rate * self.p, self.q)


NOTHING = Masses(0, 0)
Bound: TypeAlias = "Callable[[Cells, int], _Losses]"


class Cells(NamedTuple):
    """A release on a grid: cell i holds the losses from start + i·step to the next place.

    Attributes:
        start: where the first one begins.
        step: from one to the next.
        masses: of each, without single losses.
        single: the masses of single losses, and in which cells they are.
        over: of what lies beyond them.
        under: of what lies below them.
    """

    start: Any
    step: float
    masses: list[Masses]
    single: list[tuple[int, Masses]]
    over: Masses
    under: Masses

    def swapped(self) -> Cells:
        """The same with P and Q in each other's place: the record is removed, not added."""
        last = len(self.masses) - 1
        end = self.start + _ball(self.step) * (last + 1)
        masses = [mass.swapped() for mass in reversed(self.masses)]
        single = [(last - cell, mass.swapped()) for cell, mass in self.single]
        return Cells(-end, self.step, masses, single, self.under.swapped(), self.over.swapped())


def _ball(number: Any) -> Any:
    flint = _flint()
    return flint.arb(flint.fmpq(*number.as_integer_ratio()) if isinstance(number, Fraction) else number)


def _loss(rate: float, loss: Any) -> Any:
    """The loss where a record takes part at a rate, of what is a loss where it always does."""
    return loss if rate == 1 else (rate * loss.expm1()).log1p()


def _reach(part: Part, bits: int) -> tuple[float, float]:
    """Between which losses nearly all of a release lies: all but 2^−bits under P above, and under Q below."""
    farthest = loss = float(part.loss)
    if part.law == "gaussian":
        farthest *= math.sqrt(2 * bits * math.log(2)) + loss / 2
    return float(_loss(part.rate, _ball(-farthest))), float(_loss(part.rate, _ball(farthest)))


class Side(NamedTuple):
    """What a law has beyond a loss or, where that is more, what it has up to it: so that no digits cancel.

    Attributes:
        mass: of that side, without single losses.
        is_lower: whether it is the lower one.
    """

    mass: Any
    is_lower: bool = False

    @classmethod
    def of_normal(cls, deviations: Any) -> Side:
        """Of a normal law, beside so many standard deviations."""
        is_lower = bool(deviations < 0)
        return cls(((-deviations if is_lower else deviations) / _ball(2).sqrt()).erfc() / 2, is_lower)

    def above(self) -> Any:
        """The mass beyond the loss."""
        return 1 - self.mass if self.is_lower else self.mass

    def below(self) -> Any:
        """The mass up to the loss."""
        return self.mass if self.is_lower else 1 - self.mass

    def until(self, after: Side) -> Any:
        """The mass between two losses."""
        if self.is_lower and after.is_lower:
            return after.mass - self.mass
        return self.mass - after.mass if not self.is_lower else 1 - self.mass - after.mass


def _sides(part: Part, loss: Any) -> tuple[Side, Side]:
    """The sides of a loss under P and under Q, where every record takes part."""
    full = _ball(part.loss)
    if part.rate < 1:
        scaled = loss.expm1() / part.rate + 1
        loss = scaled.log() if scaled > 0 else None
    if part.law == "gaussian":
        if loss is None:  # below all that it can lose
            return Side(_ball(0), True), Side(_ball(0), True)
        return Side.of_normal(loss / full - full / 2), Side.of_normal(loss / full + full / 2)
    if part.law == "response" or (loss is not None and not loss < full):
        return Side(_ball(0)), Side(_ball(0))
    at = loss if loss is not None and loss > -full else -full
    p, q = 1 - ((at - full) / 2).exp() / 2, (-(at + full) / 2).exp() / 2
    return Side(p - _ball(1) / 2), Side(q - (-full).exp() / 2)


def _between(part: Part, places: Sequence[Any]) -> list[Masses]:
    """The masses of the losses from each place to the next, but for single losses that have a mass of their own."""
    sides = [_sides(part, place) for place in places]
    pairs = itertools.pairwise(sides)
    return [Masses(p.until(next_p), q.until(next_q)).sampled(part.rate) for (p, q), (next_p, next_q) in pairs]


def _single_losses(part: Part) -> Iterator[tuple[Any, Masses]]:
    """The losses that have a mass of their own."""
    full = _ball(part.loss)
    likely = 1 / (1 + (-full).exp()) if part.law == "response" else _ball(1) / 2
    rare = likely * (-full).exp()
    if part.law != "gaussian":
        yield _loss(part.rate, -full), Masses(rare, likely).sampled(part.rate)
        yield _loss(part.rate, full), Masses(likely, rare).sampled(part.rate)


def _largest_loss(part: Part, is_removed: bool) -> Any:
    """The largest loss that a release can have; infinite for Gaussian noise, unless the record may not be sampled."""
    if part.law != "gaussian":
        return -_loss(part.rate, -_ball(part.loss)) if is_removed else _loss(part.rate, _ball(part.loss))
    return -(1 - _ball(part.rate)).log() if is_removed and part.rate < 1 else _ball(math.inf)


def _fitted(parts: Sequence[Part], step: float) -> float:
    """The nearest smaller step that divides the way between the two single losses of the first part that has them."""
    for part in parts:
        if part.law != "gaussian":
            low, high = _reach(part, SPARE_BITS)
            return (high - low) / math.ceil((high - low) / step)
    return step


def _cells(part: Part, grid: Grid, is_removed: bool) -> Cells:
    """Put a release on a grid; its least single loss lies in the middle of a cell."""
    (low, high), step = _reach(part, grid.bits), grid.step
    start = low - (step if part.law == "gaussian" else step / 2)
    places = [_ball(start) + _ball(step) * i for i in range(math.ceil((high - start) / step) + 2)]
    masses = _between(part, places)
    single = [(math.floor((float(loss) - start) / step), mass) for loss, mass in _single_losses(part)]
    (p, q), (last_p, last_q) = _sides(part, places[0]), _sides(part, places[-1])
    over = Masses(last_p.mass, last_q.mass).sampled(part.rate)
    under = Masses(p.mass, q.mass).sampled(part.rate) if part.law == "gaussian" else Masses(_ball(0), _ball(0))
    cells = Cells(_ball(start), step, masses, single, over, under)
    return cells.swapped() if is_removed else cells


class _Losses(NamedTuple):
    """Losses start + i·step with masses over 2^bits, as a polynomial, and the mass of an infinite loss."""

    start: Any
    masses: Any
    infinite: int = 0

    def and_then(self, other: _Losses, grid: Grid, is_upper: bool) -> _Losses:
        """Both together, as far as the grid reaches."""
        flint = _flint()
        start, infinite = self.start + other.start, self.infinite + other.infinite
        masses, unit = self.masses * other.masses, flint.fmpz(1 << grid.bits)
        masses = -(-masses // unit) if is_upper else masses // unit
        most = max(0, math.ceil((grid.high - float(start)) / grid.step)) + 1
        kept, beyond = masses.truncate(most), int(masses.right_shift(most)(flint.fmpz(1)))
        if is_upper:
            infinite += beyond
        elif beyond:
            kept += flint.fmpz_poly([0] * (most - 1) + [beyond])
        under = min(most - 1, max(0, math.floor((grid.low - float(start)) / grid.step)))
        raised = int(kept.truncate(under)(flint.fmpz(1))) if is_upper else 0
        return _Losses(start + _ball(grid.step) * under, kept.right_shift(under) + raised, infinite)

    def delta(self, epsilon: float, grid: Grid) -> Interval:
        """Enclose the δ of these masses at ε."""
        flint = _flint()
        step = _ball(grid.step)
        first = max(0, math.floor((epsilon - float(self.start)) / grid.step) - 1)
        rest = self.masses.right_shift(first)
        ahead = self.start + step * first - epsilon
        total = _ball(rest(flint.fmpz(1))) - (-ahead).exp() * flint.arb_poly(rest)((-step).exp())
        for i in range(3):  # no loss up to ε counts
            term = rest[i] * -(-(ahead + step * i)).expm1()
            total -= term if term <= 0 else term.min(0)
        total = (total + self.infinite) / _ball(2) ** grid.bits
        return Interval(_mpfr(total.lower()), _mpfr(total.upper()))

    def epsilon(self, delta: float, grid: Grid) -> Interval:
        """Enclose the least ε at which the δ of these masses is small enough: [0, 0] where 0 is."""
        first = max(0, math.floor(-float(self.start) / grid.step))  # no ε is below 0
        masses = np.array([float(mass) for mass in self.masses.right_shift(first).coeffs()]) * 2.0**-grid.bits
        after = np.cumsum(masses[::-1])[::-1] + self.infinite * 2.0**-grid.bits - delta
        discounted = signal.lfilter([1.0], [1.0, -math.exp(-grid.step)], masses[::-1])[::-1]
        cell = int(np.argmax(after <= discounted)) if len(masses) else 0
        if not (len(masses) and after[cell] > 0):
            return self._around(0.0, delta, grid)
        place = float(self.start) + grid.step * (first + cell)
        return self._around(max(0.0, place + math.log(after[cell] / discounted[cell])), delta, grid)

    def _around(self, near: float, delta: float, grid: Grid) -> Interval:
        """Certify both sides of an ε."""
        below, above = 0.0, math.inf
        for part in (2.0**-40, 2.0**-30, 2.0**-20, 2.0**-10):
            low, high = near * (1 - part), near * (1 + part)
            if above == math.inf and self.delta(high, grid).upper <= delta:
                above = high
            if not below and low and self.delta(low, grid).lower > delta:
                below = low
        return Interval.hull(below, above)


def _mpfr(ball: Any) -> Any:
    """The exact end of an enclosure."""
    mantissa, exponent = ball.man_exp()
    return gmpy2.mpfr(gmpy2.mpq(int(mantissa)) * gmpy2.mpq(2) ** int(exponent), 0)


def _up(mass: Any, bits: int) -> int:
    return max(0, int((mass * _ball(2) ** bits).upper().ceil().unique_fmpz()))


def _down(mass: Any, bits: int) -> int:
    return max(0, int((mass * _ball(2) ** bits).lower().floor().unique_fmpz()))


def above(cells: Cells, bits: int) -> _Losses:
    """Spread the mass of each cell to its two places, so that P and Q of it stay as they are."""
    masses = [0] * (len(cells.masses) + 1)
    step = _ball(cells.step)
    share = -1 / (-step).expm1()
    for i, (p, q) in [*enumerate(cells.masses), *cells.single]:
        right = (p - q * (cells.start + step * i).exp()) * share
        masses[i] += _up(p - right, bits)
        masses[i + 1] += _up(right, bits)
    masses[0] += _up(cells.under.p, bits)
    return _Losses(cells.start, _flint().fmpz_poly(masses), _up(cells.over.p, bits))


def below(cells: Cells, bits: int) -> _Losses:
    """Merge the mass of each cell, with a loss that is no larger than its own."""
    left, last = list(cells.masses), len(cells.masses)
    step = _ball(cells.step)
    middle = cells.start + step / 2 - step / (1 << 30)  # single losses lie in the middle of a cell
    masses = [0] * (last + 1)  # the first place is one step below the first middle
    peak = max(range(last), key=lambda i: float(left[i].p * left[i].q))  # there the sign of what lacks changes
    for i, beside in [(i, 1) for i in range(peak, last)] + [(i, -1) for i in range(peak - 1, -1, -1)]:
        merged, reaches = _merged(left, i, beside, (middle + step * i).exp())
        masses[i + reaches] += _down(merged.p, bits)
    for i, single in cells.single:
        masses[i + bool(single.p >= single.q * (middle + step * i).exp())] += _down(single.p, bits)
    masses[last] += _down(cells.over.p, bits)
    return _Losses(middle - step, _flint().fmpz_poly(masses))


def _merged(left: list[Masses], i: int, beside: int, factor: Any) -> tuple[Masses, bool]:
    """One outcome of a cell and what it takes of those beside it; and whether its loss is the wanted one at least.

    On the right of the peak the losses of a cell are too small and it takes of larger ones; on the left, the reverse.
    """
    merged = left[i]
    excess = merged.p - merged.q * factor
    for j in range(i + beside, i + beside * BESIDE, beside):
        wants = excess.lower() < 0 if beside > 0 else excess.lower() > 0
        if not (wants and 0 <= j < len(left)):
            break
        gain = left[j].p - left[j].q * factor
        share = -excess / gain if (gain * beside).lower() > 0 else _ball(0)
        share = share.upper() if beside > 0 else share.lower()
        if not share > 0:
            break
        if share < 1:
            merged, left[j] = merged.more(left[j], share), NOTHING.more(left[j], 1 - share)
            return merged, True
        merged, left[j] = merged.more(left[j]), Masses(_ball(0), _ball(0))
        excess = merged.p - merged.q * factor
    return merged, bool(excess.lower() >= 0)


def _composed(parts: Sequence[Part], grid: Grid, bound: Bound, is_removed: bool) -> _Losses:
    """Put all releases together on a grid, from above or below."""
    is_upper = bound is above
    composed = None
    for part in parts:
        power = bound(_cells(part, grid, is_removed), grid.bits)
        for bit in reversed(bin(part.count)[2:]):
            if bit == "1":
                composed = power if composed is None else composed.and_then(power, grid, is_upper)
            power = power.and_then(power, grid, is_upper)
    assert composed is not None  # noqa: S101 - there is a part
    return composed
