"""Exact output laws of implementations, and what follows from them, in rational numbers.

There are two ways to a law. `enumerate_law` runs a sampler, which draws its random bits as it needs them, on every
sequence of bits. `step_law` finds the steps of a naive mechanism that is a step function of one uniform number. A `Law`
knows what it does not know: the unresolved mass bounds every probability from both sides. Every figure derived from two
laws (`hockey_stick`, `advantage`, `smallest_epsilon`, …) is a pair of certified bounds, which are equal if the laws are
closed. `certify` decides (ε, δ)-DP, `decide.judge` any claim.

    >>> from fractions import Fraction
    >>> def below_three(bits):
    ...     drawn = bits.take(2)
    ...     return drawn if drawn < 3 else None
    >>> law = enumerate_law(lambda bits: bits.repeat(below_three))
    >>> law, law.mass(0) == Fraction(1, 3)
    (Law(3 outcomes, 0 unresolved), True)
    >>> advantage(law, Law({0: Fraction(1, 2), 1: Fraction(1, 2)})).upper
    mpq(1,3)

Source: Knuth and Yao 1976, 'The complexity of nonuniform random number generation' (the tree of a sampler's random bits
and its leaves). Rejection loops are closed by summing their geometric series.
"""

from attacklab.draws.errors import LawError
from attacklab.laws.decide import Decision, certify
from attacklab.laws.divergences import (
    Divergence,
    advantage,
    hockey_stick,
    largest_ratio,
    privacy_loss,
    smallest_delta,
    smallest_epsilon,
    trade_off,
)
from attacklab.laws.enclosures import exp_bounds, log_bounds, normalised
from attacklab.laws.enumeration import Limits, enumerate_law
from attacklab.laws.law import Bounds, Law
from attacklab.laws.step_functions import one_uniform, step_law

__all__ = [
    "Bounds",
    "Decision",
    "Divergence",
    "Law",
    "LawError",
    "Limits",
    "advantage",
    "certify",
    "enumerate_law",
    "exp_bounds",
    "hockey_stick",
    "largest_ratio",
    "log_bounds",
    "normalised",
    "one_uniform",
    "privacy_loss",
    "smallest_delta",
    "smallest_epsilon",
    "step_law",
    "trade_off",
]
