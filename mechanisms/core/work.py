"""What a release takes in random bits, and what is kept by somebody who counts them.

Let O be what a term's claim is about: what it releases, before public maps and rounding. The number of bits tells no
more than O if it is a public function of O, perhaps with randomness of its own, and of what neighbours have in common.
Where that is so but with a probability τ, on every input, output and work together keep what the output keeps, but with
probability τ: for a set E of pairs let E′ be the O whose pair, by that function, is in E; then

    P[E] ≤ P[E′] + τ ≤ e^ε·Q[E′] + δ + τ ≤ e^ε·(Q[E] + τ) + δ + τ.

Bits alone are counted: not comparisons, nor time. Reading data draws none, of whatever types they are.

Source: Ratliff and Vadhan, 'A Framework for Differential Privacy Against Timing Attacks' (arXiv 2409.05623), for joint
privacy of output and runtime; the rule for τ and the terms' rules are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mechanisms.core.claims import ApproximateDP, Claim, ProfileDP
from mechanisms.core.rounding import exp_above


@dataclass(frozen=True)
class Work:
    """How many random bits a release takes, but with a probability.

    Args:
        bits: the number, if it is one that the term knows; None if it depends on O, or on what neighbours share.
        otherwise: τ, a bound for all data on the probability that it is not what is said here.
        moves: how much more neighbours' numbers may differ by than O tells.
    """

    bits: int | None
    otherwise: Fraction = Fraction(0)
    moves: int = 0


def but_for(claim: Claim, probability: Fraction) -> Claim:
    """Return what is kept by what keeps a claim but with a probability, on every input: δ + (1 + e^ε)·probability.

    Raises:
        ValueError: the probability is above 0, and the claim has no δ.
    """
    if not probability:
        return claim
    if isinstance(claim, ApproximateDP):
        return ApproximateDP(claim.epsilon, claim.delta + (1 + exp_above(claim.epsilon)) * probability)
    if isinstance(claim, ProfileDP):
        points = [(point.epsilon, point.delta + (1 + exp_above(point.epsilon)) * probability) for point in claim.points]
        return ProfileDP(tuple(ApproximateDP(*point) for point in points))
    raise ValueError(f"{type(claim).__name__} has no δ for what happens rarely; restate it as ApproximateDP")
