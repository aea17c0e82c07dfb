"""What a mechanism promises: (ε, δ)-differential privacy and what follows from it.

Sources: Dwork and Roth 2014, definition 2.4 and theorem 2.2; the ceiling on the distinguishing advantage is the
trade-off function of Kairouz, Oh and Viswanath 2015, theorem 2.1, at its best point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, TypeVar

from attacklab.errors import UsageError, UsageTypeError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Probability = TypeVar("Probability", float, "NDArray[np.float64]")


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """The claim P[E] ≤ e^ε·Q[E] + δ for every event E and every neighbouring pair, in both directions.

    Args:
        epsilon: ε, finite and at least 0.
        delta: δ, in [0, 1).

    Raises:
        TypeError: one of them is not a number.
        ValueError: one of them is out of range.
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if not isinstance(value, Real) or isinstance(value, bool):
                raise UsageTypeError(f"{name} must be a number, not {value!r}")
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise UsageError(f"epsilon must be finite and at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise UsageError(f"delta must lie in [0, 1), not {self.delta}")

    @classmethod
    def from_base2(cls, eta: float) -> PrivacyClaim:
        """The claim of an η-base-2-DP mechanism: (η·ln 2)-DP, rounded up (Ilvento 2020, section 3.1)."""
        # ln 2 and the product are rounded by less than one ulp together.
        return cls(math.nextafter(eta * math.log(2), math.inf) if eta > 0 else eta)

    @property
    def ceiling(self) -> float:
        """The largest distinguishing advantage P[E] − Q[E] that the claim allows."""
        return math.tanh(self.epsilon / 2) + self.delta * (1 - math.tanh(self.epsilon / 2))

    def excess(self, p: float, q: float) -> float:
        """How far P[E] = `p` and Q[E] = `q` overstep the claim in this direction: p − e^ε·q − δ."""
        return p - _scaled_by_exp(q, self.epsilon) - self.delta

    def group(self, size: int) -> PrivacyClaim:
        """What the claim still promises to `size` people together: (kε, k·e^((k−1)ε)·δ).

        Raises:
            ValueError: `size` is less than 1, or the δ that remains is 1 or more and promises nothing.
        """
        if size < 1:
            raise UsageError(f"size must be at least 1, not {size}")
        delta = size * _scaled_by_exp(self.delta, (size - 1) * self.epsilon)
        if delta >= 1:
            raise UsageError(
                f"({self.epsilon}, {self.delta})-DP promises nothing to a group of {size}: delta is {delta}"
            )
        return PrivacyClaim(size * self.epsilon, delta)

    def composed(self, answers: int) -> PrivacyClaim:
        """What is claimed of `answers` answers together, by basic composition: (mε, mδ).

        Raises:
            ValueError: `answers` is less than 1, or m·δ is 1 or more.
        """
        if answers < 1:
            raise UsageError(f"answers must be at least 1, not {answers}")
        return PrivacyClaim(answers * self.epsilon, answers * self.delta)

    def posterior_bounds(self, prior: float) -> tuple[float, float]:
        """Where an adversary's belief of `prior` in one of two neighbours can move on one answer (at δ = 0).

        Raises:
            ValueError: `prior` is outside [0, 1], or the claim has δ > 0 and bounds no posterior.
        """
        if not 0 <= prior <= 1:
            raise UsageError(f"prior must lie in [0, 1], not {prior}")
        if self.delta > 0:
            raise UsageError("a claim with delta > 0 bounds no posterior")
        if prior in (0, 1):
            return prior, prior
        log_odds = math.log(prior) - math.log1p(-prior)
        return _logistic(log_odds - self.epsilon), _logistic(log_odds + self.epsilon)


def directions(
    first: tuple[Probability, Probability], second: tuple[Probability, Probability]
) -> tuple[tuple[Probability, Probability], ...]:
    """The four inequalities that a claim makes of one event: for it and its complement, each in both directions.

    Args:
        first: lower and upper bounds on P[E], numbers or arrays; twice the same where it is known.
        second: those on Q[E].

    Returns:
        Four pairs: a probability of at least the first number under one input is at most the second under the other.
        The claim is refuted if `excess` of one of them is above 0.
    """
    (p_low, p_high), (q_low, q_high) = first, second
    return (p_low, q_high), (1 - p_high, 1 - q_low), (q_low, p_high), (1 - q_high, 1 - p_low)


def _scaled_by_exp(factor: float, exponent: float) -> float:
    """`factor`·e^exponent for a factor of at least 0, infinite where it overflows."""
    if factor == 0:
        return 0.0
    try:
        return factor * math.exp(exponent)
    except OverflowError:
        return math.inf


def _logistic(log_odds: float) -> float:
    return math.exp(min(log_odds, 0.0)) / (1 + math.exp(-abs(log_odds)))
