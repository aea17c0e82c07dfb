"""Report noisy max and the exponential mechanism, as their papers define them, on utilities that may be unknown.

Sources: McKenna and Sheldon 2020 (permute-and-flip); Dwork and Roth 2014, section 3.3; McSherry and Talwar 2007;
Ilvento 2020, section 3, for the mechanism in base 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isnan
from typing import Any

from checker.models.coins import bernoulli, bernoulli_exp, uniform_below


@dataclass(frozen=True)
class Scale:
    """A public range of utilities and Δu.

    Args:
        low: the least utility.
        high: the largest one.
        sensitivity: Δu.
    """

    low: Fraction
    high: Fraction
    sensitivity: Fraction

    @property
    def spread(self) -> int:
        """The least integer that no shortfall exceeds."""
        return -int(-(self.high - self.low) / self.sensitivity // 1)

    def clamped(self, utility: Any) -> Any:
        """Return the nearest number of the range; NaN counts as its lower end."""
        if isinstance(utility, float) and utility - utility != 0:
            return self.high if not isnan(utility) and utility > 0 else self.low
        return min(max(utility, self.low), self.high)

    def shortfalls(self, utilities: Sequence[Any]) -> list[Any]:
        """Return how far each utility, clamped, lies below the top of the range, in units of Δu."""
        return [(self.high - self.clamped(utility)) / self.sensitivity for utility in utilities]


def permute_and_flip(shortfalls: Sequence[Any], scale: Fraction, bits: Any) -> Any:
    """Go through the outcomes in uniformly random order until a coin Bernoulli(e^−gap) comes up.

    The order is that of Fisher and Yates: the outcome drawn and the last one change places.
    """
    best = min(shortfalls)
    left = list(range(len(shortfalls)))
    while True:
        drawn = bits.call(uniform_below, len(left))
        left[drawn], left[-1] = left[-1], left[drawn]
        outcome = left.pop()
        if bits.call(bernoulli_exp, (shortfalls[outcome] - best) / scale):
            return outcome


def rounded(shortfall: Any, bits: Any) -> Any:
    """Round at random to the integer below or above, up with the probability of the fractional part."""
    below, share = divmod(shortfall, 1)
    return below + bits.call(bernoulli, share) if share else below


def laplace_noisy_max(shortfalls: Sequence[Any], scale: Fraction, noise: Callable[[int], Any], bits: Any) -> Any:
    """Round each shortfall at random, take it from discrete Laplace noise and report the largest, ties uniformly.

    Args:
        shortfalls: in units of Δu.
        scale: the noise's scale in these units.
        noise: what `bits.call` draws the noise by, for the number of the outcome.
        bits: the source of randomness.
    """
    sums = []
    for index, shortfall in enumerate(shortfalls):
        drawn = bits.call(noise(index), scale)
        sums.append(drawn - rounded(shortfall, bits))
    largest = max(sums)
    winners = [index for index, one in enumerate(sums) if one == largest]
    return winners[bits.call(uniform_below, len(winners))]
