"""Two-sided geometric noise on a public range of integers, with the same work in every run.

A rejection sampler takes longer for larger noise, so whoever times it learns the noise. Here each release takes the
same number of bits and compares the number that they make with the same number of thresholds; none is skipped. It is
possible because the outputs are clamped to a public range: noise n with |n| ≥ R, R the length of the range, leads to
one of its ends whatever the answer is, so that finitely many probabilities are all there is. They are made dyadic
without any loss of privacy (README.md, 'Fixed work'): the mechanism's ε is ln(1/q) = η·ln 2, and its δ is 0.

What is fixed is the number of bits and of comparisons. Python's own arithmetic on long integers takes a time that
depends on them a little; a compiled implementation has to compare in constant time as well.

Sources: Ghosh, Roughgarden and Sundararajan 2009, 'Universally Utility-Maximizing Privacy Mechanisms', section 2 (the
geometric mechanism on a range); Balcer and Vadhan 2018, 'Differential Privacy on Finite Computers' (why bounded time
needs probabilities of finite precision). The tails that make the law dyadic at no cost in ε are our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from gmpy2 import mpq

from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.parameters import positive_integer
from mechanisms.private_numbers import PrivateNumber, clamped, exact_integer, exact_number
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class FixedWorkNoise:
    """Two-sided geometric noise with all that lies beyond ±`radius` collected there.

    With q = 2^−η, the noise is m or more with probability A·q^m for 1 ≤ m ≤ radius, and −m or less likewise; A is
    1/(1 + q) rounded up to a dyadic rational, and what is left is the probability of 0.

    Args:
        eta: η; q = 2^−η is a dyadic rational.
        radius: the largest noise, at least 1.

    Raises:
        TypeError: `radius` is not an integer.
        ValueError: `radius` is less than 1.
    """

    eta: BaseTwoEta
    radius: int

    def __post_init__(self) -> None:
        positive_integer("radius", self.radius)

    @cached_property
    def bits(self) -> int:
        """The number of bits of a draw."""
        return self._bits_of_ratio * (self.radius + 2) + 2

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The probabilities of −radius, …, radius in units of 2^−bits."""
        numerator, denominator = int(self.eta.decay.numerator), int(self.eta.decay.denominator)
        unit = 1 << 2 * self._bits_of_ratio + 2
        most = -(-unit * denominator // (denominator + numerator))
        tails = [most * numerator**m * denominator ** (self.radius - m) for m in range(1, self.radius + 1)]
        one_side = [tail - beyond for tail, beyond in zip(tails, [*tails[1:], 0], strict=True)]
        return (*reversed(one_side), (1 << self.bits) - 2 * tails[0], *one_side)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """The 2·radius values at which a uniform integer of that many bits moves the noise up by one."""
        return tuple(accumulate(self.weights[:-1]))

    def __call__(self, bits: RandomBits) -> int:
        """Draw the noise, with every bit and every threshold each time."""
        drawn = bits.take(self.bits)
        return sum(drawn >= threshold for threshold in self.thresholds) - self.radius

    @property
    def _bits_of_ratio(self) -> int:
        return int(self.eta.decay.denominator).bit_length() - 1


def exact_two_sided_geometric(answer: int, bits: RandomBits, *, eta: BaseTwoEta, lower: int, upper: int) -> int:
    """Add two-sided geometric noise to an integer answer of sensitivity 1 and clamp to a public range.

    Args:
        answer: the true answer, of a type of integers; outside the range it counts as the nearest end, and as the
            lower end if it is missing.
        bits: the source of randomness.
        eta: η, the base-2 loss: the mechanism is (η·ln 2)-DP. `BaseTwoEta.from_epsilon(ε, y=…, monotone=True)` finds
            the largest that keeps within ε.
        lower: the least output.
        upper: the largest output, above `lower`.

    Returns:
        An integer of the range.

    Raises:
        TypeError: the type of the answer is not one of integers, or an end of the range is not an integer.
        ValueError: the range is empty or a single point.
    """
    whole = exact_integer("answer", answer)
    check_range(lower, upper)
    centre = lower if whole is None else min(max(whole, lower), upper)
    return _noisy(centre, bits, eta, lower, upper)


def exact_rounded_geometric(answer: PrivateNumber, bits: RandomBits, *, eta: BaseTwoEta, lower: int, upper: int) -> int:
    """Round a real answer of sensitivity 1 to an integer of a public range, add two-sided geometric noise and clamp.

    Half is rounded upward: that commutes with adding 1, so that answers 1 apart are rounded at most 1 apart.

    Args:
        answer: the true answer; outside the range it counts as the nearest end, and NaN as the lower end.
        bits: the source of randomness.
        eta: η, as in `exact_two_sided_geometric`.
        lower: the least output.
        upper: the largest output, above `lower`.

    Returns:
        An integer of the range.

    Raises:
        TypeError: the answer is not a number, by its type, or an end of the range is not an integer.
        ValueError: the range is empty or a single point.
    """
    number = exact_number("answer", answer)
    check_range(lower, upper)
    centre = math.floor(clamped(number, mpq(lower), mpq(upper), missing=mpq(lower)) + mpq(1, 2))
    return _noisy(int(centre), bits, eta, lower, upper)


def check_range(lower: int, upper: int) -> None:
    """Check the ends of a public range of integers.

    Raises:
        TypeError: an end is not an integer.
        ValueError: the range is empty or a single point.
    """
    for name, value in (("lower", lower), ("upper", upper)):
        if not isinstance(value, int):
            raise TypeError(f"{name} must be an integer, not {value!r}")
    if upper <= lower:
        raise ValueError(f"upper must be above lower = {lower}, not {upper}")


def _noisy(centre: int, bits: RandomBits, eta: BaseTwoEta, lower: int, upper: int) -> int:
    noise = fixed_work_noise(eta, upper - lower)(bits)
    return min(max(centre + noise, lower), upper)


@lru_cache(maxsize=64)
def fixed_work_noise(eta: BaseTwoEta, radius: int) -> FixedWorkNoise:
    """Return the noise for a range of that length, its thresholds kept for the next release."""
    return FixedWorkNoise(eta, radius)
