"""What m answers allow together, by composition theorems and from the laws of one answer.

Sources: Dwork and Roth 2014, Theorem 3.20 (advanced composition); Kairouz, Oh and Viswanath 2015, Theorem 3.3, whose
optimum m randomized responses attain.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special, stats

from attacklab.model.claims import PrivacyClaim
from attacklab.model.floats import Doubles


def convolved(law: Doubles, answers: int) -> Doubles:
    """The law of the sum of m independent indices, m a power of two, each of which has this law.

    By doubling, of nonnegative numbers, so that errors stay relative.
    """
    composed = law
    for _ in range(answers.bit_length() - 1):
        composed = np.convolve(composed, composed)
    return composed


def advantage_of(first: Doubles, second: Doubles) -> float:
    """The total variation distance of two laws of the index."""
    return float(np.maximum(first - second, 0).sum())


def epsilon_of(first: Doubles, second: Doubles, delta: float) -> float:
    """The least ε at which the hockey-stick divergence of two laws of the index is at most δ."""
    return _least(lambda epsilon: float(np.maximum(first - math.exp(epsilon) * second, 0).sum()) <= delta)


def optimal_advantage(epsilon: float, answers: int) -> float:
    """The largest advantage that m answers of any ε-DP mechanisms can have together.

    It is that of m randomized responses, which is decided by the majority of them.
    """
    truth = float(special.expit(epsilon))
    fewest = answers // 2 + 1
    return float(stats.binom.sf(fewest - 1, answers, truth) - stats.binom.sf(fewest - 1, answers, 1 - truth))


def optimal_epsilon(epsilon: float, answers: int, delta: float) -> float:
    """The ε that m answers of any ε-DP mechanisms keep together at a δ, by m randomized responses."""
    truths = np.arange(answers + 1)
    truth = float(special.expit(epsilon))
    first, second = (stats.binom.pmf(truths, answers, p) for p in (truth, 1 - truth))
    return epsilon_of(first, second, delta)


def advanced_epsilon(epsilon: float, answers: int, delta: float) -> float:
    """The ε′ of advanced composition: √(2m·ln(1/δ′))·ε + m·ε·(e^ε − 1)."""
    return math.sqrt(2 * answers * math.log(1 / delta)) * epsilon + answers * epsilon * math.expm1(epsilon)


def advanced_ceiling(epsilon: float, answers: int) -> float:
    """The least ceiling of advanced composition over all δ′ = 10^−k, k in tenths."""
    deltas = [10 ** -(k / 10) for k in range(1, 120)]
    return min(PrivacyClaim(advanced_epsilon(epsilon, answers, delta), delta).ceiling for delta in deltas)


def _least(holds: Callable[[float], bool]) -> float:
    """The least ε ≥ 0 for which `holds`, to 2^−40 of the first power of two for which it does."""
    high = 2.0**-10
    while not holds(high):
        high *= 2
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
