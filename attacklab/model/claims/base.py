"""Privacy claims: their interface, and the most common kind, (ε, δ)-differential privacy.

Sources: Dwork and Roth 2014, definition 2.4 and theorem 2.2; the privacy profile that (ε, δ)-DP implies, and so the
ceiling on the distinguishing advantage, follow from the trade-off function of Kairouz, Oh and Viswanath 2015,
theorem 2.1.
"""

from __future__ import annotations

import functools
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.intervals import Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Probability = TypeVar("Probability", float, "NDArray[np.float64]")


class Claim(ABC):
    """A privacy claim for one output of a mechanism, on every neighbouring pair, in both directions.

    A claim of any kind implies a privacy profile δ(ε): for each ε ≥ 0 the mechanism is (ε, δ(ε))-DP. An event on a pair
    is judged at one point of this profile.

    Attributes:
        kind: the name of this kind of claim in JSON.
    """

    kind: ClassVar[str | None]

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """Return δ(ε), rounded up: the claim implies (ε, δ(ε))-DP.

        Args:
            epsilon: ε, finite and at least 0.
        """

    @property
    @functools.lru_cache(maxsize=1 << 8)  # noqa: B019 - equal claims share it
    def nominal(self) -> PrivacyClaim:
        """The (ε, δ) claim from which attacks choose scales. Verdicts use it only if it is the claim itself.

        Its ε is the least one in `points` with δ(ε) ≤ 10^−6, or the last one if there is none.
        """
        return self.at(next((point for point in self.points if self.at(point).delta <= 1e-6), self.points[-1]))

    @property
    @functools.lru_cache(maxsize=1 << 8)  # noqa: B019 - equal claims share it
    def points(self) -> tuple[float, ...]:
        """The values of ε at which events may be judged, ascending from 0 to where δ(ε) is too small to be seen."""
        return grid_of_points(lambda epsilon: self.at(epsilon).delta)

    def composed(self, answers: int) -> Self:
        """Return the claim, of the same kind, that holds for `answers` outputs together.

        Raises:
            UsageError: `answers` is less than 1, or the claim promises nothing for that number of outputs.
        """
        if answers < 1:
            raise UsageError(f"answers must be at least 1, not {answers}")
        composed: Self = self if answers == 1 else self._composed(answers)
        return composed

    @abstractmethod
    def _composed(self, answers: int) -> Any: ...

    def to_json(self) -> dict[str, Any]:
        """Return the claim as plain JSON values, which `claim_from_json` reads."""
        stated = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type] # each is one
        return stated if self.kind is None else {"kind": self.kind, **stated}

    @property
    def ceiling(self) -> float:
        """The largest distinguishing advantage P[E] − Q[E] that the claim allows: δ(0)."""
        return self.delta_at(0.0)

    def at(self, epsilon: float) -> PrivacyClaim:
        """Return the claim (ε, δ(ε)). If δ(ε) is 1, its δ is just below 1."""
        return PrivacyClaim(epsilon, min(NEARLY_ONE, self.delta_at(epsilon)))


@dataclass(frozen=True, slots=True)
class PrivacyClaim(Claim):
    """The claim P[E] ≤ e^ε·Q[E] + δ for every event E and every neighbouring pair, in both directions.

    Args:
        epsilon: ε, finite and at least 0.
        delta: δ, in [0, 1).

    Raises:
        TypeError: one of them is not a number.
        ValueError: one of them is out of range.
    """

    kind = None

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        require_real("delta", self.delta)
        if not (math.isfinite(require_real("epsilon", self.epsilon)) and self.epsilon >= 0):
            raise UsageError(f"epsilon must be finite and at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise UsageError(f"delta must lie in [0, 1), not {self.delta}")

    def __str__(self) -> str:
        return f"ε = {self.epsilon!r}" + (f", δ = {self.delta!r}" if self.delta else "")

    @property
    def nominal(self) -> PrivacyClaim:
        """The claim itself."""
        return self

    @property
    def points(self) -> tuple[float, ...]:
        """The claimed ε alone: an event that refutes the claim at another ε refutes it here too."""
        return (self.epsilon,)

    @property
    def ceiling(self) -> float:
        """The largest distinguishing advantage P[E] − Q[E] that the claim allows."""
        return math.tanh(self.epsilon / 2) + self.delta * (1 - math.tanh(self.epsilon / 2))

    def at(self, epsilon: float) -> PrivacyClaim:
        """Return the claim itself for its own ε, and (ε, δ(ε)) for any other ε."""
        return self if epsilon == self.epsilon else Claim.at(self, epsilon)  # super() does not know a class with slots

    def delta_at(self, epsilon: float) -> float:
        """Return δ + (1 − δ)·(e^ε₀ − e^ε)/(1 + e^ε₀), rounded up, for ε below the claimed ε₀, and δ for all others."""
        if epsilon >= self.epsilon:
            return self.delta
        claimed = Interval.of(self.epsilon)
        odds = (Interval.of(epsilon) - claimed).exp()
        rest = (1 - odds) / (1 + (-claimed).exp())
        return min(1.0, (Interval.of(self.delta) + (1 - Interval.of(self.delta)) * rest).above())

    def excess(self, p: float, q: float) -> float:
        """Return p − e^ε·q − δ for p = P[E] and q = Q[E]; above 0, the claim is false."""
        growth = math.exp(self.epsilon) if self.epsilon <= LARGEST_EXPONENT else math.inf
        return p - (q and q * growth) - self.delta  # 0 times an infinite growth is 0

    def _composed(self, answers: int) -> PrivacyClaim:
        """Return (mε, mδ) for m answers, by basic composition. Raise UsageError if m·δ is at least 1."""
        return PrivacyClaim(answers * self.epsilon, answers * self.delta)


NEARLY_ONE = math.nextafter(1.0, 0.0)

MOST_POINTS = 48
"""The number of values of ε at which a claim with a profile is judged."""

LEAST_DELTA = 2.0**-60
"""Events are not judged where δ(ε) is smaller, because no sample can show so small a δ."""

LARGEST_EPSILON = 512.0

LARGEST_EXPONENT = math.log(sys.float_info.max)


def grid_of_points(delta_at: Callable[[float], float]) -> tuple[float, ...]:
    """Return the ε at which a profile judges events: 0, and a geometric grid up to where δ is too small to be seen.

    Each ε has three digits, so that messages print it exactly.

    Args:
        delta_at: the profile δ(ε), or an approximation of it.
    """
    farthest = 2.0**-40
    while delta_at(farthest) > LEAST_DELTA and farthest < LARGEST_EPSILON:
        farthest *= 2
    ratio = 512 ** (1 / (MOST_POINTS - 2))
    return (0.0, *(float(f"{farthest / 512 * ratio**step:.3g}") for step in range(MOST_POINTS - 1)))


def require_numbers(**values: object) -> None:
    """Raise an error unless each value is a finite number above 0. The keywords are the names in the message.

    Raises:
        UsageError: a value is out of range. If it is not a number, this is a `UsageTypeError`.
    """
    for name, value in values.items():
        if not (math.isfinite(number := require_real(name, value)) and number > 0):
            raise UsageError(f"{name} must be finite and greater than 0, not {value}")


def require_real(name: str, value: object) -> float:
    """Return a number as a float. Raise UsageTypeError, with `name` in its message, if it is not a number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise UsageTypeError(f"{name} must be a number, not {value!r}")
    try:
        return float(value)
    except OverflowError:  # an integer or a fraction beyond the largest double
        return math.inf if value >= Fraction(0) else -math.inf


def directions(
    first: tuple[Probability, Probability], second: tuple[Probability, Probability]
) -> tuple[tuple[Probability, Probability], ...]:
    """Return the numbers in a claim's four inequalities: for an event and its complement, in both directions.

    Args:
        first: lower and upper bounds on P[E], numbers or arrays; both are P[E] if it is known.
        second: lower and upper bounds on Q[E], in the same form.

    Returns:
        Four pairs: a lower bound on a probability under one input, and an upper bound on it under the other input.
        The claim is refuted if the `excess` of one pair is above 0.
    """
    (p_low, p_high), (q_low, q_high) = first, second
    return (p_low, q_high), (1 - p_high, 1 - q_low), (q_low, p_high), (1 - q_high, 1 - p_low)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(_plain, value))
    return str(value) if isinstance(value, str | Fraction) else value
