"""Integer laws of noise: enclosures of their tails, and what a shift of the answer costs.

Every law here is symmetric about 0 and log-concave: P[k + 1]/P[k] never grows with k. The table of
`mechanisms.core.table` rests on that, and so do the claims for all shifts up to a bound: for log-concave noise the
worst event of a shift is a half line, and a larger shift changes its probability more.

`tail`, `heights` and `loss` must be right. A `guess` may be wrong: that costs time and nothing else.

Sources: Inusah and Kozubowski 2006 (the discrete Laplace law); Canonne, Kamath and Steinke 2020, 'The Discrete
Gaussian for Differential Privacy'; Prékopa 1973 (integrals of a log-concave density over unit intervals are
log-concave as a function of the interval's position).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

from mechanisms.core.claims import ApproximateDP, Claim, ZeroConcentratedDP
from mechanisms.core.gaussian_claims import delta_beyond, normal_delta
from mechanisms.core.gaussian_tails import Enclosure, complement, discrete_sum, exponential, lattice_sum, normal_tail
from mechanisms.core.numbers import convert, count, positive
from mechanisms.core.rounding import rounding

HEIGHT_BITS = 128
"""A height is a probability P[N = k] in units of 2^−HEIGHT_BITS."""

_LOSS_BITS = 64
_LEAST_SCALE = 1e-3  # below which an outcome but 0 is too rare to be guessed well


class Law(ABC):
    """An integer law, symmetric about 0 and log-concave; a frozen dataclass of rational parameters."""

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose P[N ≥ outcome], in arithmetic of `precision` ≥ 64 bits; P[N ≥ k] = 1 − P[N ≥ 1 − k] by symmetry."""
        if outcome >= 1:
            return self.upper_tail(outcome, precision)
        return complement(self.upper_tail(1 - outcome, precision), precision)

    def rough_tail(self, outcome: int) -> int:
        """Return about P[N ≥ outcome], in units of 2^−HEIGHT_BITS."""
        if outcome >= 1:
            return int(math.ldexp(self.rough_upper_tail(outcome), HEIGHT_BITS))
        return (1 << HEIGHT_BITS) - int(math.ldexp(self.rough_upper_tail(1 - outcome), HEIGHT_BITS))

    def guess(self, uniform: float | mpq) -> int:
        """Return a guess of the k with P[N > k] < uniform < P[N ≥ k]."""
        aimed = min(int(mpq(uniform) * 2**HEIGHT_BITS // 1), 2**HEIGHT_BITS - 1)
        return last_that(lambda outcome: aimed < self.rough_tail(outcome), 0, max(int(self.spread), 1))

    @abstractmethod
    def upper_tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose P[N ≥ outcome] for an outcome of at least 1."""

    @abstractmethod
    def heights(self, sizes: Sequence[int]) -> list[int]:
        """Return for each k ≥ 0 in `sizes` an integer that is a close lower bound of 2^HEIGHT_BITS·P[N = k]."""

    @abstractmethod
    def rough_upper_tail(self, outcome: int) -> float:
        """Return about P[N ≥ outcome] for an outcome of at least 1."""

    @property
    @abstractmethod
    def spread(self) -> Fraction:
        """Roughly the scale or the standard deviation, in steps."""

    @abstractmethod
    def loss(self, steps: int) -> Claim:
        """Return the claim of noise of this law if neighbours' answers are at most `steps` steps apart."""


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """A Laplace law, its scale in steps of a grid; a shift by d steps costs ε = d/scale of pure DP."""

    scale: Fraction

    def __post_init__(self) -> None:
        convert(self, positive, "scale")

    @property
    def spread(self) -> Fraction:
        """The scale."""
        return self.scale

    def loss(self, steps: int) -> ApproximateDP:
        """Return pure DP with ε = steps/scale."""
        return ApproximateDP(steps / self.scale)


@dataclass(frozen=True)
class GaussianLaw(Law):
    """A Gaussian law of variance σ², in steps². A shift by d steps costs ρ = d²/2σ² of zCDP; the tails give δ(ε)."""

    variance: Fraction

    def __post_init__(self) -> None:
        convert(self, positive, "variance")

    @property
    def spread(self) -> Fraction:
        """About σ."""
        return _root(self.variance)

    def loss(self, steps: int) -> ZeroConcentratedDP:
        """Return zCDP with ρ = steps²/2σ²."""
        return ZeroConcentratedDP(steps**2 / (2 * self.variance))

    @abstractmethod
    def delta(self, steps: int, epsilon: Fraction) -> Fraction:
        """Return an upper bound on δ(ε) for a shift by at most `steps` steps; see `mechanisms.core.gaussian_claims`."""


@dataclass(frozen=True)
class DiscreteLaplace(LaplaceLaw):
    """P[N = k] = q^|k|·(1 − q)/(1 + q) with q = e^(−1/scale).

    Log-concave: |k| is convex. Loss: a shift by d changes |k| by at most d, so each probability by e^(±d/scale).
    """

    def upper_tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose q^outcome/(1 + q)."""
        rate = -1 / mpq(self.scale)
        return _geometric_tail(exponential(outcome * rate, precision), exponential(rate, precision), precision)

    def heights(self, sizes: Sequence[int]) -> list[int]:
        """Bound q^k·(1 − q)/(1 + q) from below; see `Law.heights`."""
        rate = 1 / mpq(self.scale)
        _, up = rounding(HEIGHT_BITS)
        with up:
            slope = mpfr(rate)
        return _exponential_heights(_geometric_middle(exponential(-rate, HEIGHT_BITS).upper), slope, sizes)

    def rough_upper_tail(self, outcome: int) -> float:
        """Return about q^outcome/(1 + q)."""
        rate = 1 / max(float(self.scale), _LEAST_SCALE)
        return math.exp(-outcome * rate) / (1 + math.exp(-rate))


@dataclass(frozen=True)
class RoundedLaplace(LaplaceLaw):
    """round(X), X Laplace noise of a scale: P[N ≥ k] = e^(−(k − ½)/scale)/2 for k ≥ 1.

    Log-concave: X has a log-concave density (Prékopa). Loss: x + N = round(x + X) for whole x, which postprocesses the
    textbook's mechanism, so a shift by d changes each probability by a factor of e^(±d/scale) at most. X is halfway
    between integers with probability 0.
    """

    def upper_tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose e^(−(outcome − ½)/scale)/2."""
        power = exponential((1 - 2 * outcome) / (2 * mpq(self.scale)), precision)
        down, up = rounding(precision)
        return Enclosure(down.div_2exp(power.lower, 1), up.div_2exp(power.upper, 1))

    def heights(self, sizes: Sequence[int]) -> list[int]:
        """Bound 1 − e^(−1/2s) for k = 0, or else e^(−(2k − 1)/2s)·(1 − e^(−1/s))/2, from below; see `Law.heights`."""
        rate = 1 / (2 * mpq(self.scale))
        down, up = rounding(HEIGHT_BITS)
        with up:
            slope = mpfr(rate)
        with down:
            middle = int(gmpy2.mul_2exp(1 - exponential(-rate, HEIGHT_BITS).upper, HEIGHT_BITS))
            factor = (1 - exponential(-2 * rate, HEIGHT_BITS).upper) / 2
        others = _exponential_heights(factor, slope, [abs(2 * size - 1) for size in sizes])
        return [height if size else middle for size, height in zip(sizes, others, strict=True)]

    def rough_upper_tail(self, outcome: int) -> float:
        """Return about e^(−(outcome − ½)/scale)/2."""
        return math.exp((0.5 - outcome) / max(float(self.scale), _LEAST_SCALE)) / 2


@dataclass(frozen=True)
class DiscreteGaussian(GaussianLaw):
    """P[N = k] ∝ e^(−k²/2σ²).

    Log-concave: k² is convex. Loss: d²/2σ²-zCDP by Canonne, Kamath and Steinke's theorem 4.
    """

    def upper_tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose S(outcome)/S, where S(t) is the sum of e^(−k²/2σ²) over k ≥ t, and S the sum over all k."""
        variance = mpq(self.variance)
        tail, whole = discrete_sum(outcome, variance, precision), lattice_sum(variance, precision)
        down, up = rounding(precision)
        return Enclosure(down.div(tail.lower, whole.upper), up.div(tail.upper, whole.lower))

    def heights(self, sizes: Sequence[int]) -> list[int]:
        """Bound e^(−k²/2σ²)/S from below; see `upper_tail` and `Law.heights`."""
        down, up = rounding(HEIGHT_BITS)
        with up:
            slope = mpfr(1 / (2 * mpq(self.variance)))
        factor = down.div(1, lattice_sum(mpq(self.variance), HEIGHT_BITS).upper)
        return _exponential_heights(factor, slope, [size * size for size in sizes])

    def rough_upper_tail(self, outcome: int) -> float:
        """Return about Q((outcome − ½)·(1 + 1/24σ²)/σ), the midpoint rule with its first correction."""
        variance = max(float(self.variance), _LEAST_SCALE)
        return math.erfc((outcome - 0.5) * (1 + 1 / (24 * variance)) / math.sqrt(2 * variance)) / 2

    def delta(self, steps: int, epsilon: Fraction) -> Fraction:
        """Bound δ(ε) by the law's own tails; see `GaussianLaw.delta`."""
        shift = Fraction(count("steps", steps, least=0))
        return delta_beyond(lambda x, bits: self.tail(int(x // 1) + 1, bits), epsilon, self.variance, shift)


@dataclass(frozen=True)
class RoundedGaussian(GaussianLaw):
    """round(X), X normal with mean 0: P[N ≥ k] = Q((k − ½)/σ) for k ≥ 1.

    Log-concave: X has a log-concave density (Prékopa). Loss: x + N = round(x + X) for whole x, which postprocesses the
    textbook's mechanism, so a shift by d costs d²/2σ²-zCDP (Bun and Steinke 2016, proposition 1.6).
    """

    def upper_tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose Q((outcome − ½)/σ)."""
        return normal_tail(outcome - mpq(1, 2), mpq(self.variance), precision)

    def heights(self, sizes: Sequence[int]) -> list[int]:
        """Bound P[N = k] from below by a difference of tails for small σ, else by a series; see `Law.heights`.

        With c = k/σ² and v = 1/2σ², P[N = k] is φ(k/σ)/σ·∫ cosh(ct)·e^(−vt²) dt over |t| ≤ ½. The integrand is at least
        (1 + c²t²/2 + c⁴t⁴/24)·(1 − vt²), and t², t⁴ and t⁶ have the integrals 1/12, 1/80 and 1/448.
        """
        down, up = rounding(HEIGHT_BITS)
        if self.variance < _SERIES_FROM:
            ends = {end: self.tail(end, 2 * HEIGHT_BITS) for size in sizes for end in (size, size + 1)}
            with down:
                masses = [ends[size].lower - ends[size + 1].upper for size in sizes]
                return [max(0, int(gmpy2.mul_2exp(mass, HEIGHT_BITS))) for mass in masses]
        v = 1 / (2 * mpq(self.variance))
        with up:
            slope = mpfr(v)
            whole = gmpy2.sqrt(2 * gmpy2.const_pi() * mpfr(mpq(self.variance)))
        with down:
            terms = 1 - v / 12, 4 * v**2 * (mpq(1, 24) - v / 160), 16 * v**4 * (mpq(1, 1920) - v / 10752)
            constant, square, fourth = [mpfr(term) / whole for term in terms]
            return [
                int(gmpy2.mul_2exp(gmpy2.exp(-k2 * slope) * (constant + k2 * (square + k2 * fourth)), HEIGHT_BITS))
                for k2 in (size * size for size in sizes)
            ]

    def rough_upper_tail(self, outcome: int) -> float:
        """Return about Q((outcome − ½)/σ)."""
        return math.erfc((outcome - 0.5) / math.sqrt(2 * max(float(self.variance), _LEAST_SCALE))) / 2

    def delta(self, steps: int, epsilon: Fraction) -> Fraction:
        """Bound δ(ε) by the δ(ε) of normal noise; see `GaussianLaw.delta`."""
        return normal_delta(epsilon, variance=self.variance, shift=Fraction(count("steps", steps, least=0)))


_SERIES_FROM = 64


def last_that(holds: Callable[[int], bool], start: int, step: int = 1) -> int:
    """Return an n with holds(n) and not holds(n + 1); the search goes outward from `start`, first by `step`."""
    low = high = start
    if holds(start):
        while holds(high := low + step):
            low, step = high, 2 * step
    else:
        while not holds(low := high - step):
            high, step = low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _geometric_tail(power: Enclosure, ratio: Enclosure, precision: int) -> Enclosure:
    """Enclose power/(1 + ratio)."""
    down, up = rounding(precision)
    return Enclosure(down.div(power.lower, up.add(1, ratio.upper)), up.div(power.upper, down.add(1, ratio.lower)))


def _geometric_middle(ratio: mpfr) -> mpfr:
    """Bound (1 − q)/(1 + q) from below for all q ≤ ratio: it falls as q grows."""
    down, up = rounding(HEIGHT_BITS)
    return down.div(down.sub(1, ratio), up.add(1, ratio))


def _exponential_heights(factor: mpfr, slope: mpfr, exponents: Sequence[int]) -> list[int]:
    """Bound 2^HEIGHT_BITS·factor·e^(−slope·exponent) from below by an integer, for each exponent."""
    down, _ = rounding(HEIGHT_BITS)
    with down:
        return [int(gmpy2.mul_2exp(factor * gmpy2.exp(-each * slope), HEIGHT_BITS)) for each in exponents]


def _root(square: Fraction) -> Fraction:
    return Fraction(math.isqrt(math.floor(square * 4**_LOSS_BITS)), 2**_LOSS_BITS)
