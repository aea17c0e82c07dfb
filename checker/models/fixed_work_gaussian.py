"""Gaussian noise on a public range with dyadic probabilities: mechanisms/gaussian/README.md, 'Fixed work'."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from checker.core.certificate import Refused
from checker.enclosures.discrete_gaussian import DiscreteGaussian

DIGITS = 128
"""P[N ≥ m] is rounded down to so many binary digits."""


def gaussian_tails(variance: Fraction, radius: int) -> list[Fraction]:
    """Return P[N ≥ 1], …, P[N ≥ radius]: those of discrete Gaussian noise, rounded down.

    Raises:
        Refused: a tail is too near to a dyadic number to be rounded.
    """
    law, unit = DiscreteGaussian(variance, radius + 1, 4 * DIGITS), 1 << DIGITS
    tails = []
    for steps in range(1, radius + 1):
        low, high = ((end * unit).__floor__() for end in law.tail(steps))
        if low != high:
            raise Refused(f"P[N ≥ {steps}] is not known to {DIGITS} digits")
        tails.append(Fraction(low, unit))
    return tails


def clamped_gaussian(centre: int, tails: Sequence[Fraction], lower: int, upper: int) -> dict[int, Fraction]:
    """Return the law of clamp(centre + N).

    Args:
        centre: a whole number of the range.
        tails: P[N ≥ 1], P[N ≥ 2], …, and those of N ≤ −1, N ≤ −2, …; as many as the range is long.
        lower: the least output.
        upper: the largest output.
    """

    def beyond(steps: int) -> Fraction:
        """P[N ≥ steps] for steps ≥ 1, and P[N ≤ −steps]."""
        return tails[steps - 1]

    law = {}
    for output in range(lower, upper + 1):
        away = abs(output - centre)
        if output == centre:
            ends = (output == lower) + (output == upper)
            law[output] = 1 - (2 - ends) * beyond(1)
        elif output in (lower, upper):
            law[output] = beyond(away)
        else:
            law[output] = beyond(away) - beyond(away + 1)
    return law
