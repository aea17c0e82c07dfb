"""Two-sided geometric noise on a public range with dyadic probabilities: mechanisms/laplace/README.md, 'Fixed work'."""

from __future__ import annotations

from fractions import Fraction


def beyond_one(decay: Fraction) -> Fraction:
    """P[N ≥ 1] = A·q, A being 1/(1 + q) rounded up to 2y + 2 binary digits for q = x/2^y."""
    digits = 2 * (decay.denominator.bit_length() - 1) + 2
    return Fraction(-(-(1 << digits) // (1 + decay)), 1 << digits) * decay


def clamped_law(centre: int, decay: Fraction, lower: int, upper: int) -> dict[int, Fraction]:
    """Return the law of clamp(centre + N): N ≥ m and N ≤ −m with probability A·q^m each, none beyond the range.

    Args:
        centre: a whole number of the range.
        decay: q, a dyadic rational below 1.
        lower: the least output.
        upper: the largest output.
    """
    most = beyond_one(decay) / decay

    def beyond(steps: int) -> Fraction:
        """P[N ≥ steps] for steps ≥ 1, and P[N ≤ −steps]."""
        return most * decay**steps

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
