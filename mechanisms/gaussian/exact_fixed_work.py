"""Gaussian noise on a public range of integers, with the same work in every run.

As for the geometric noise of `mechanisms.laplace.exact_geometric`, each release takes the same number of bits and
compares the number that they make with the same number of thresholds; none is skipped. The thresholds are the tails of
the discrete Gaussian law, rounded down to multiples of 2^−128, so the law is dyadic and its own: it lies within 2^−128
times the length of the range of the discrete Gaussian law clamped to it. What is claimed is claimed of it, not of the
law that it comes from: `exact_fixed_work_gaussian_delta` adds up probabilities that are known exactly.

What is fixed is the number of bits and of comparisons. Python's own arithmetic on long integers takes a time that
depends on them a little; a compiled implementation has to compare in constant time as well.

Sources: Canonne, Kamath and Steinke 2020, 'The Discrete Gaussian for Differential Privacy' (the law); Balcer and Vadhan
2018, 'Differential Privacy on Finite Computers' (why bounded time needs probabilities of finite precision).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from gmpy2 import mpq, mpz

from mechanisms.certified import round_up
from mechanisms.gaussian.law import discrete_tails
from mechanisms.laplace.exact_geometric import check_range
from mechanisms.parameters import exact_rational, positive_integer, positive_rational
from mechanisms.private_numbers import PrivateNumber, clamped, exact_number
from mechanisms.randomness import RandomBits
from mechanisms.rounding import rounding

BITS = 128
"""The number of bits of a draw."""

_EXP_BITS = 256


@dataclass(frozen=True)
class FixedWorkGaussian:
    """Discrete Gaussian noise with all that lies beyond ±`radius` collected there, and dyadic probabilities.

    The noise is m or more with probability ⌊2^128·P[X ≥ m]⌋/2^128 for 1 ≤ m ≤ radius, X discrete Gaussian, and −m or
    less likewise; what is left is the probability of 0.

    Args:
        sigma: σ, above 0.
        radius: the largest noise, at least 1.

    Raises:
        TypeError: `radius` is not an integer.
        ValueError: `radius` is less than 1, or `sigma` is not above 0.
    """

    sigma: Fraction
    radius: int

    def __post_init__(self) -> None:
        positive_integer("radius", self.radius)
        positive_rational("sigma", self.sigma)

    @cached_property
    def tails(self) -> tuple[int, ...]:
        """The probabilities of 1 or more, …, radius or more in units of 2^−128."""
        precision = BITS + 64
        while True:
            tails = discrete_tails(self.radius, mpq(self.sigma) ** 2, precision)
            floors = [[math.floor(mpq(end) * 2**BITS) for end in tail] for tail in tails]
            if all(low == high for low, high in floors):
                return tuple(low for low, _ in floors)
            precision *= 2

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """The 2·radius values at which a uniform integer of 128 bits moves the noise up by one."""
        return (*reversed(self.tails), *((1 << BITS) - tail for tail in self.tails))

    def __call__(self, bits: RandomBits) -> int:
        """Draw the noise, with every bit and every threshold each time."""
        drawn = bits.take(BITS)
        return sum(drawn >= threshold for threshold in self.thresholds) - self.radius


def exact_fixed_work_gaussian(
    answer: PrivateNumber, bits: RandomBits, *, sigma: float | Fraction, lower: int, upper: int
) -> int:
    """Round a real answer to an integer of a public range, add Gaussian noise and clamp.

    Half is rounded upward: that commutes with adding 1, so that answers d apart, d an integer, are rounded at most d
    apart.

    Args:
        answer: the true answer; outside the range it counts as the nearest end, and NaN as the lower end.
        bits: the source of randomness.
        sigma: σ of the noise, above 0; a float stands for the rational that it is.
        lower: the least output.
        upper: the largest output, above `lower`.

    Returns:
        An integer of the range, (ε, δ)-DP for every ε with the δ of `exact_fixed_work_gaussian_delta`.

    Raises:
        TypeError: the answer is not a number, by its type, or an end of the range is not an integer.
        ValueError: the range is empty or a single point, or `sigma` is not above 0.
    """
    number = exact_number("answer", answer)
    check_range(lower, upper)
    centre = math.floor(clamped(number, mpq(lower), mpq(upper), missing=mpq(lower)) + mpq(1, 2))
    noise = fixed_work_gaussian(positive_rational("sigma", sigma), upper - lower)(bits)
    return min(max(int(centre) + noise, lower), upper)


@lru_cache(maxsize=64)
def fixed_work_gaussian(sigma: Fraction, radius: int) -> FixedWorkGaussian:
    """Return the noise for a range of that length, its thresholds kept for the next release."""
    return FixedWorkGaussian(sigma, radius)


def exact_fixed_work_gaussian_delta(
    epsilon: float | Fraction, *, sigma: float | Fraction, sensitivity: float | Fraction = 1, lower: int, upper: int
) -> float:
    """Return δ(ε) of the mechanism: every two answers that neighbours can have are compared, outcome by outcome.

    It takes time in proportion to the square of the range's length and to the sensitivity.

    Args:
        epsilon: ε, at least 0.
        sigma: σ of the noise, above 0.
        sensitivity: how far neighbouring answers can be apart, above 0.
        lower: the least output.
        upper: the largest output, above `lower`.

    Returns:
        The least double known to be at least δ(ε).

    Raises:
        TypeError: an argument is not a number.
        ValueError: a parameter is out of its range.
    """
    exact_epsilon = exact_rational("epsilon", epsilon)
    if exact_epsilon < 0:
        raise ValueError(f"epsilon must be at least 0, not {epsilon}")
    check_range(lower, upper)
    radius = upper - lower
    farthest = min(math.ceil(positive_rational("sensitivity", sensitivity)), radius)
    tails = fixed_work_gaussian(positive_rational("sigma", sigma), radius).tails
    down, _ = rounding(_EXP_BITS)
    factor = mpq(down.exp(down.add(mpq(exact_epsilon), 0)))
    laws = [_clamped(tails, centre, radius) for centre in range(radius + 1)]
    worst = max(
        sum(max(one - factor * other, 0) for one, other in zip(laws[centre], laws[neighbour], strict=True))
        for centre in range(radius + 1)
        for neighbour in range(max(0, centre - farthest), min(radius, centre + farthest) + 1)
    )
    exact = Fraction(int(worst.numerator), int(worst.denominator)) if worst else Fraction(0)
    return round_up(exact / 2**BITS) if exact else 0.0


def _clamped(tails: tuple[int, ...], centre: int, radius: int) -> list[mpz]:
    """Return the probabilities of 0, …, radius in units of 2^−128 for an answer of the range."""
    at_least = [
        (1 << BITS) - tails[centre - output] if output <= centre else tails[output - centre - 1]
        for output in range(1, radius + 1)
    ]
    edges = [1 << BITS, *at_least, 0]
    return [mpz(edges[output] - edges[output + 1]) for output in range(radius + 1)]
