"""Certified bounds on δ(ε) and ε(δ) of a composition, by privacy-loss distributions on a grid.

A release is a pair of laws, P and Q. All that matters is the convex function δ(t) = max P(E) − t·Q(E) of t = e^ε. If a
release has a larger δ(t), so has the composition (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, 'Connect the
Dots', section 4). Two piecewise linear functions of t enclose δ(t). The upper one joins the values of δ at the points
of a grid of ε. Each line of the lower one is P(E) − t·Q(E) ≤ δ(t), where E holds the outcomes that lose at least a grid
point; its corners lie between grid points. Both errors fall with the square of the step. The mass of the loss ε is e^ε
times the change of slope there. Masses are integers over a power of two, rounded up or down, and their polynomials are
multiplied exactly. What lies beyond the grid is an infinite loss in the upper bound, and dropped in the lower one.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import gmpy2

from attacklab.model.bisection import least
from attacklab.model.errors import LabFault, UsageError
from attacklab.model.intervals import Interval

LAWS = ("gaussian", "laplace", "discrete_gaussian", "discrete_laplace", "response")

LOSSES = (2.0**-100, 2.0**10)
"""The smallest and the largest `loss` that a part may have."""

MOST_TERMS = 1 << 22
"""Discrete Gaussian noise may have at most this many values on each side that are not negligible."""

COARSE, FINER = 64, 8
"""The number of cells of the first grid, and the largest factor by which one refinement multiplies it."""

MOST_WORDS = 1 << 18
"""All masses of a composition together have at most this many words of 64 bits, unless the first grid has more."""

SPARE_BITS, BEYOND_BITS = 48, 20
"""The unit of a mass is at most 2^−SPARE_BITS of δ; the mass beyond the grid is about 2^−BEYOND_BITS of δ."""

MOST_BITS = 1100
"""A mass never has more bits than this. So the enclosure of a δ below every double is not narrow."""

CORNER = 0.5 - 2.0**-22
"""A corner of the lower bound lies this many steps after a grid point: just before the middle, where atoms lie."""


@dataclass(frozen=True)
class Part:
    """Some releases of one kind in a composition.

    Attributes:
        law: the law of the noise, or `response` for randomized response, the worst case of pure DP.
        loss: the sensitivity over the σ or the scale of the noise; for `response`, ε.
        rate: the probability that a record takes part, independently of others (Poisson sampling).
        count: the number of releases.
        sensitivity: for discrete noise, the sensitivity as a multiple of the noise's unit.
    """

    law: str
    loss: float | Fraction
    rate: float = 1.0
    count: int = 1
    sensitivity: int = 1

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise UsageError(f"law must be one of {', '.join(LAWS)}, not {self.law!r}")
        if not (isinstance(self.loss, int | float | Fraction) and LOSSES[0] <= self.loss <= LOSSES[1]):
            raise UsageError(f"loss must be a number from {LOSSES[0]:g} to {LOSSES[1]:g}, not {self.loss!r}")
        if not (isinstance(self.rate, int | float) and 0 < self.rate <= 1):
            raise UsageError(f"rate must be a number in (0, 1], not {self.rate!r}")
        counts = self.count, self.sensitivity
        if not all(isinstance(count, int) and count >= 1 for count in counts):
            raise UsageError(f"count and sensitivity must be integers of at least 1, not {counts}")


def delta(parts: Sequence[Part], epsilon: float, *, width: float = 1e-3) -> Interval:
    """Enclose the least δ at which a composition is (ε, δ)-DP, for a record that is added or removed.

    Args:
        parts: the releases that are composed, in any order.
        epsilon: ε, at least 0.
        width: the relative width of the enclosure. It is wider if this width takes more than `MOST_WORDS`.

    Raises:
        UsageError: a number is out of range, or python-flint is missing.
    """
    if not 0 <= epsilon < math.inf:
        raise UsageError(f"epsilon must be finite and at least 0, not {epsilon}")
    return _refined(parts, lambda losses: losses.delta(epsilon), width, epsilon=epsilon)


def epsilon(parts: Sequence[Part], delta: float, *, width: float = 1e-4) -> Interval:
    """Enclose the least ε at which a composition is (ε, δ)-DP. It works as `delta` does; `width` is relative to ε."""
    if not 0 < delta < 1:
        raise UsageError(f"delta must lie in (0, 1), not {delta}")
    return _refined(parts, lambda losses: losses.epsilon(delta), width, bits=math.ceil(-math.log2(delta)) + SPARE_BITS)


def sampled_gaussian_epsilon(sigma: float, rate: float, steps: int, delta: float) -> Interval:
    """Enclose the least ε of `steps` Gaussian releases on Poisson samples; σ is `sigma` times the sensitivity."""
    return epsilon([Part("gaussian", 1 / Fraction(sigma), rate, steps)], delta)


def _refined(
    parts: Sequence[Part],
    read: Callable[[_Losses], Interval],
    width: float,
    *,
    epsilon: float | None = None,
    bits: int = 2 * SPARE_BITS,
) -> Interval:
    """Enclose the maximum of `read` over both directions, to a relative `width`. Give `epsilon` if `read` is δ(ε)."""
    parts = tuple(parts)
    if not parts or not width > 0:
        raise UsageError(f"a composition needs at least one part, and a width above 0, not {parts} and {width}")
    lower = upper = gmpy2.mpfr(0)
    step = max(high - low for low, high in (_reach(part, SPARE_BITS) for part in parts)) / COARSE
    for is_removed in _directions(parts, epsilon):
        while True:
            step = _fitted(parts, step)
            fewest, most, words = _ends(parts, read, lower, step, bits, is_removed)
            gap = 1 - float(max(lower, fewest) / most) if most > upper else 0.0
            is_lost = epsilon is not None and most < gmpy2.mpfr(2) ** (SPARE_BITS - bits)
            if is_lost and bits < MOST_BITS:
                bits *= 2
            elif is_lost or gap <= width or 2 * words > MOST_WORDS:
                break
            else:
                step *= max(1 / FINER, math.sqrt(0.7 * width / gap), words / MOST_WORDS)
        lower, upper = max(lower, fewest), max(upper, most)
    return Interval(lower, upper)


def _directions(parts: Sequence[Part], epsilon: float | None) -> list[bool]:
    """Return the directions that may lose more than `epsilon`: False for adding a record, True for removing one."""
    directions = [False, True] if any(part.rate < 1 for part in parts) else [False]  # noise alone is symmetric
    largest = [sum(_largest_loss(part, is_removed) * part.count for part in parts) for is_removed in directions]
    return [direction for direction, loss in zip(directions, largest, strict=True) if epsilon is None or loss > epsilon]


def _ends(
    parts: Sequence[Part], read: Callable[[_Losses], Interval], lower: Any, step: float, bits: int, is_removed: bool
) -> tuple[Any, Any, int]:
    """Return bounds from `read` on one grid (the lower one is at least `lower`), and how many words all masses take."""
    reaches = [(part.law, *_reach(part, bits)) for part in parts]
    farthest = max(-low if is_removed else high if law == "discrete_gaussian" else 0.0 for law, low, high in reaches)
    largest = max(high - low for _, low, high in reaches)
    cancelled = math.ceil(1.5 * farthest + math.log2(1 + largest) - 3 * math.log2(min(step, 1)))  # in differences
    if cancelled > 16 * MOST_BITS:
        raise UsageError(f"losses up to {farthest:g} need too many digits; compose parts that lose less")
    with _flint().ctx.workprec(bits + SPARE_BITS + max(0, cancelled)):
        cells = [_cells(part, step, bits, is_removed) for part in parts]
        losses = _composed(parts, cells, bits, is_upper=True)
        most = read(losses).upper
        fewest = lower if most <= lower else read(_composed(parts, cells, bits, is_upper=False)).lower
    if fewest > max(lower, most):
        raise LabFault(f"an enclosure of {parts} ends below where it begins")
    return fewest, most, len(losses.masses) * bits // 64


def _flint() -> Any:
    try:
        import flint
    except ImportError:
        raise UsageError("bounding a composition needs python-flint; install attacklab[accountants]") from None
    return flint


def _ball(number: Any) -> Any:
    flint = _flint()
    return flint.arb(flint.fmpq(*number.as_integer_ratio()) if type(number) is Fraction else number)


def _mpfr(ball: Any) -> Any:
    """Convert an end of an enclosure, which is an exact number of flint, to MPFR without rounding."""
    mantissa, exponent = ball.man_exp()
    exact = gmpy2.mpq(int(mantissa)) * gmpy2.mpq(2) ** int(exponent)
    return gmpy2.mpfr(exact, max(2, int(mantissa).bit_length()))


# One release: its events, and its losses on a grid


def _loss(rate: float, loss: Any) -> Any:
    """Return the privacy loss with Poisson sampling at this rate, from the loss without sampling."""
    return loss if rate == 1 else (rate * loss.expm1()).log1p()


def _largest_loss(part: Part, is_removed: bool) -> Any:
    """Return the largest loss of a release; infinite for Gaussian noise, unless `is_removed` and the rate is < 1."""
    most = _ball(math.inf if "gaussian" in part.law else part.loss)
    return -_loss(part.rate, -most) if is_removed else _loss(part.rate, most)


def _reach(part: Part, bits: int) -> tuple[float, float]:
    """Return two losses between which nearly all of a release lies: 2^−bits of P lies above, and 2^−bits of Q below."""
    farthest = loss = float(part.loss)
    if "gaussian" in part.law:
        farthest *= math.sqrt(2 * bits * math.log(2)) + loss / 2
    if part.law == "discrete_gaussian":  # to losses that integers have
        spacing, half = loss**2 / part.sensitivity, part.sensitivity / 2
        farthest = spacing * (math.ceil(farthest / spacing + half) - half)
    return float(_loss(part.rate, _ball(-farthest))), float(_loss(part.rate, _ball(farthest)))


def _fitted(parts: Sequence[Part], step: float) -> float:
    """Return a step near `step` that divides the spacing of the first evenly spaced part, or is a multiple of it."""
    for part in parts:
        low, high = _reach(part, SPARE_BITS)
        if part.law == "discrete_gaussian" and part.rate == 1:
            spacing = float(part.loss) ** 2 / part.sensitivity
        elif "gaussian" not in part.law:
            spacing = (high - low) / (part.sensitivity if part.law == "discrete_laplace" and part.rate == 1 else 1)
        else:
            continue
        return spacing / math.ceil(spacing / step) if step < spacing else spacing * math.floor(step / spacing)
    return step


def _event(part: Part, loss: Any) -> tuple[Any, Any]:
    """Return the probabilities, under P and under Q, of all outcomes whose privacy loss is at least `loss`.

    An outcome whose loss agrees with `loss` in nearly all bits may be counted on the wrong side.
    """
    doubt = _flint().arb(0, _ball(2) ** (16 - _flint().ctx.prec))
    if part.rate < 1:
        odds = loss.expm1() / part.rate + 1
        loss = odds.log() if odds > 0 else _ball(-math.inf)
    p, q = _full_event(part, loss) if loss > -math.inf else (_ball(1), _ball(1))
    return (1 - _ball(part.rate)) * q + part.rate * p + doubt, q


def _full_event(part: Part, loss: Any) -> tuple[Any, Any]:
    """Return the probabilities of `_event` if every record takes part."""
    full, unit = _ball(part.loss), part.sensitivity if "discrete" in part.law else 1
    if part.law == "gaussian":
        root = _ball(2).sqrt()
        return ((loss / full - full / 2) / root).erfc() / 2, ((loss / full + full / 2) / root).erfc() / 2
    if part.law == "discrete_gaussian":
        tail = _discrete_gaussian(unit / Fraction(part.loss), _flint().ctx.prec)
        first = int((unit * (loss / full**2 + 0.5)).mid().ceil().unique_fmpz())
        return tail(first - unit), tail(first)
    if not loss > -full or loss > full:
        return (_ball(0), _ball(0)) if loss > full else (_ball(1), _ball(1))
    if part.law == "laplace":
        return 1 - ((loss - full) / 2).exp() / 2, (-(loss + full) / 2).exp() / 2
    decay = -full / unit
    first = int((unit * (loss / full + 1) / 2).mid().ceil().unique_fmpz())
    return 1 - (decay * (1 - first + unit)).exp() / (1 + decay.exp()), (decay * first).exp() / (1 + decay.exp())


@functools.lru_cache(maxsize=8)
def _discrete_gaussian(sigma: Fraction, bits: int) -> Callable[[int], Any]:
    """Return the function k → P[X ≥ k] for discrete Gaussian noise, from sums of e^(−x²/2σ²)."""
    flint = _flint()
    if float(sigma) * math.sqrt(2 * bits * math.log(2)) > MOST_TERMS:
        raise UsageError(f"discrete Gaussian noise with σ = {float(sigma):g} has too many values; use the law gaussian")
    with flint.ctx.workprec(bits):
        rate, farthest = -_ball(1 / (2 * sigma**2)), math.ceil(float(sigma) * math.sqrt(2 * bits * math.log(2))) + 1
        terms = [(rate * x**2).exp() for x in range(farthest, 0, -1)]
        rest = terms[0] / (1 - (rate * (2 * farthest + 1)).exp())  # a geometric series bounds what is left
        sums = list(itertools.accumulate(terms[1:], initial=rest.union(0)))
        tails = [each / (1 + 2 * sums[-1]) for each in reversed(sums)]  # from k = 1

    def tail(least: int) -> Any:
        return tails[min(least, len(tails)) - 1] if least > 0 else 1 - tails[min(1 - least, len(tails)) - 1]

    return tail


class Cells(NamedTuple):
    """A release on a grid of losses, start + i·step.

    `event(loss)` returns P and Q of all outcomes that lose at least `loss`; `events` holds this for each grid point.
    """

    start: Any
    step: Any
    event: Callable[[Any], tuple[Any, Any]]
    events: list[tuple[Any, Any]]

    def odds(self, place: float) -> Any:
        """Return t = e^ε at ε = start + place·step."""
        return (self.start + self.step * place).exp()

    def heights_below(self) -> list[Any]:
        """Return the heights of the lower bound at t = 0 and at each corner, the lower of the two lines that meet.

        A line that is not above 0 at its corner is replaced by the line of the corner's own event.
        """
        lines = []
        for i, (p, q) in enumerate(self.events[:-1]):
            odds = self.odds(i + CORNER)
            if not p - q * odds > 0:
                p, q = self.event(self.start + self.step * (i + CORNER))
            if not p - q * odds > 0:
                break
            lines.append((p, q, odds))
        ends = itertools.pairwise([*lines, (_ball(0), _ball(0), None)])
        left = lines[0][0] if lines else _ball(0)
        return [left, *((p - q * odds).min(next_p - next_q * odds) for (p, q, odds), (next_p, next_q, _) in ends)]

    def losses(self, bits: int, *, is_upper: bool) -> _Losses:
        """Return losses with integer masses: at the grid points for an upper bound, at the corners for a lower one."""
        unit, left = _ball(2) ** bits, _ball(1)
        if is_upper:
            heights = [p - q * self.odds(i) for i, (p, q) in enumerate(self.events)]
        else:
            left, *heights = self.heights_below()
        masses, excess = _corners(heights, left, self.step)

        def whole(mass: Any) -> int:
            rounded = (mass * unit).upper().ceil() if is_upper else ((mass - excess) * unit).lower().floor().max(0)
            return int(rounded.unique_fmpz())

        polynomial = [whole(masses[i]) if i in masses else 0 for i in range(max(masses, default=0) + 1)]
        infinite = whole(heights[-1]) if is_upper else 0
        start = self.start if is_upper else self.start + self.step * CORNER
        return _Losses(start, self.step, bits, _flint().fmpz_poly(polynomial), infinite)


def _corners(heights: Sequence[Any], left: Any, step: Any) -> tuple[dict[int, Any], Any]:
    """Return the masses at the corners of the lower convex hull of some points, and a bound on the mass left out.

    A point that is not certainly a corner does not count as one, and its mass goes to the corners beside it. The bound
    is on the sum of these masses. The t of each point is e^step times the t before. `left` is the height at t = 0.
    """
    rises: dict[int, tuple[Any, Any]] = {}

    def mass(before: int | None, at: int, after: int | None) -> Any:
        change = heights[at] - left if before is None else (heights[at] - heights[before]) * rise(at - before)[1]
        return -change if after is None else (heights[after] - heights[at]) * rise(after - at)[0] - change

    def rise(gap: int) -> tuple[Any, Any]:
        if gap not in rises:
            rises[gap] = 1 / (step * gap).expm1(), -1 / (-step * gap).expm1()
        return rises[gap]

    corners: list[int] = []
    masses: dict[int, Any] = {}
    excess = _ball(0)
    for after in [*range(len(heights)), None]:
        while corners:
            masses[corners[-1]] = mass(corners[-2] if len(corners) > 1 else None, corners[-1], after)
            if masses[corners[-1]] > 0:
                break
            excess += masses.pop(corners.pop()).max(0).upper()
        if after is not None:
            corners.append(after)
    return masses, excess


def _cells(part: Part, step: float, bits: int, is_removed: bool) -> Cells:
    """Return a release on a grid of losses, the record removed if `is_removed`; an atom lies midway between points."""
    low, high = _reach(part, bits + BEYOND_BITS - SPARE_BITS + part.count.bit_length())
    start, width = _ball(low - step / 2), _ball(step)
    last = math.ceil((high - float(start)) / step)

    def event(loss: Any) -> tuple[Any, Any]:
        if not is_removed:
            return _event(part, loss)
        p, q = _event(part, -loss)
        return 1 - q, 1 - p

    start = -(start + width * last) if is_removed else start
    return Cells(start, width, event, [event(start + width * i) for i in range(last + 1)])


class _Losses(NamedTuple):
    """Losses: start + i·step has the mass masses[i]/2^bits, and ∞ has infinite/2^bits; `masses` is a polynomial."""

    start: Any
    step: Any
    bits: int
    masses: Any
    infinite: int = 0

    def and_then(self, other: _Losses, spared: int, *, is_upper: bool) -> _Losses:
        """Return the losses of both parts together.

        To keep the list short, losses with a mass of up to `spared` are moved at each end: up for an upper bound
        (the largest to infinity), down for a lower bound (the smallest are dropped).
        """
        one = _flint().fmpz(1)
        masses, unit = self.masses * other.masses, _flint().fmpz(1 << self.bits)
        masses = -(-masses // unit) if is_upper else masses // unit
        most = least(lambda i: masses.right_shift(i)(one) <= spared, 0, len(masses))
        under = least(lambda i: masses.truncate(i + 1)(one) > spared, -1, max(most - 1, 0))
        beyond, kept = masses.right_shift(most)(one), masses.truncate(most)
        raised = int(kept.truncate(under)(one)) if is_upper else 0
        if not is_upper and most:
            kept += _flint().fmpz_poly([0] * (most - 1) + [beyond])
        infinite = self.infinite + other.infinite + (int(beyond) if is_upper else 0)
        start = self.start + other.start + self.step * under
        return _Losses(start, self.step, self.bits, kept.right_shift(under) + raised, infinite)

    def event(self, first: int) -> tuple[Any, Any]:
        """Return P[loss ≥ l] and e^l·Q[loss ≥ l], where l is the loss at index `first`."""
        flint = _flint()
        rest, unit = self.masses.right_shift(first), _ball(2) ** -self.bits
        p = _ball(rest(flint.fmpz(1)) + self.infinite) * unit
        return p, flint.arb_poly(rest)((-self.step).exp()) * unit

    def delta(self, epsilon: Any) -> Interval:
        """Enclose the δ of these masses at ε."""
        first = max(0, math.floor((float(epsilon) - float(self.start)) / float(self.step)) - 1)
        ahead = self.start + self.step * first - epsilon
        p, q = self.event(first)
        total = p - (-ahead).exp() * q
        for i in range(3):  # no loss up to ε counts
            term = self.masses[first + i] * _ball(2) ** -self.bits * -(-(ahead + self.step * i)).expm1()
            total -= term if term <= 0 else term.min(0)
        return Interval(_mpfr(total.lower()), _mpfr(total.upper()))

    def epsilon(self, delta: float) -> Interval:
        """Enclose the least ε at which the δ of these masses is at most `delta`."""
        first, digits = len(self.masses), self.bits + SPARE_BITS
        fade = int(((-self.step).exp() * _ball(2) ** digits).mid().floor().unique_fmpz())
        after, discounted = self.infinite - int(Fraction(delta) * (1 << self.bits)), 0
        nought = max(0, math.floor(-float(self.start) / float(self.step)))  # no ε is below 0
        for mass in map(int, reversed(self.masses.coeffs()[nought:])):
            after, discounted = after + mass, mass + (discounted * fade >> digits)
            if after > discounted:
                break
            first -= 1
        p, q = self.event(first)
        asked = self.start + self.step * first + ((p - delta) / q).log() if p > delta and q > 0 else _ball(0)
        asked = asked.max(0)
        enough = (asked * (1 + _ball(2.0**-40))).upper()
        is_enough = self.delta(enough).upper <= delta
        return Interval(_mpfr(asked.lower()), _mpfr(enough) if is_enough else gmpy2.mpfr(math.inf))


def _composed(parts: Sequence[Part], cells: Sequence[Cells], bits: int, *, is_upper: bool) -> _Losses:
    """Return the losses of all releases together, for the upper or for the lower bound."""
    powers, spared = [], 1 << (SPARE_BITS - BEYOND_BITS)
    for part, release in zip(parts, cells, strict=True):
        power, done = (once := release.losses(bits, is_upper=is_upper)), 1
        for bit in bin(part.count)[3:]:
            done *= 2
            power = power.and_then(power, spared * done // part.count, is_upper=is_upper)
            if bit == "1":
                done += 1
                power = power.and_then(once, spared * done // part.count, is_upper=is_upper)
        powers.append(power)
    return functools.reduce(lambda first, second: first.and_then(second, spared, is_upper=is_upper), powers)
