"""What a mechanism promises: the interface of a claim, and its commonest kind, (ε, δ)-differential privacy.

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
    """What is promised of one output of a mechanism on every neighbouring pair, in both directions.

    Whatever its kind, a claim implies a privacy profile: for each ε ≥ 0 the mechanism is (ε, δ(ε))-DP. One event on one
    pair is judged at one point of it.

    Attributes:
        kind: what the claim is called in JSON.
    """

    kind: ClassVar[str | None]

    @abstractmethod
    def delta_at(self, epsilon: float) -> float:
        """The profile: a δ, rounded up, for which the claim implies (ε, δ)-DP.

        Args:
            epsilon: ε, finite and at least 0.
        """

    @property
    def nominal(self) -> PrivacyClaim:
        """The point of the profile by which attacks choose scales; verdicts do not use it unless it is the claim.

        It is the one at the least ε of `points` with δ ≤ 10^−6, or at the last ε if there is none.
        """
        return _nominal(self)

    @property
    def points(self) -> tuple[float, ...]:
        """The ε at which an event may be judged, in ascending order: from 0 to where δ(ε) is too small to be seen."""
        return _points(self)

    def composed(self, answers: int) -> Self:
        """What the claim promises of `answers` answers together, as a claim of its kind.

        Raises:
            UsageError: `answers` is less than 1, or the claim says nothing about that number of answers.
        """
        if answers < 1:
            raise UsageError(f"answers must be at least 1, not {answers}")
        composed: Self = self._composed(answers)
        return composed

    @abstractmethod
    def _composed(self, answers: int) -> Any: ...

    def to_json(self) -> dict[str, Any]:
        """The claim as plain JSON values, which `claim_from_json` reads."""
        stated = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type] # each is one
        return stated if self.kind is None else {"kind": self.kind, **stated}

    @property
    def ceiling(self) -> float:
        """The largest distinguishing advantage P[E] − Q[E] that the claim allows: δ(0)."""
        return self.delta_at(0.0)

    def at(self, epsilon: float) -> PrivacyClaim:
        """The claim at one point of its profile; if δ(ε) is 1, which promises nothing, with a δ just below 1."""
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
        require_real("epsilon", self.epsilon)
        require_real("delta", self.delta)
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise UsageError(f"epsilon must be finite and at least 0, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise UsageError(f"delta must lie in [0, 1), not {self.delta}")

    def __str__(self) -> str:
        return f"ε = {self.epsilon!r}" + (f", δ = {self.delta!r}" if self.delta else "")

    @property
    def nominal(self) -> PrivacyClaim:
        """Itself."""
        return self

    @property
    def points(self) -> tuple[float, ...]:
        """Its ε alone: a breach at any other ε is one at this ε too."""
        return (self.epsilon,)

    @property
    def ceiling(self) -> float:
        """The largest distinguishing advantage P[E] − Q[E] that the claim allows."""
        return math.tanh(self.epsilon / 2) + self.delta * (1 - math.tanh(self.epsilon / 2))

    def at(self, epsilon: float) -> PrivacyClaim:
        """Itself at its own ε, and elsewhere the point of the profile that it implies."""
        return self if epsilon == self.epsilon else Claim.at(self, epsilon)  # super() does not know a class with slots

    def delta_at(self, epsilon: float) -> float:
        """δ + (1 − δ)·(e^ε₀ − e^ε)/(1 + e^ε₀) for ε below the claimed ε₀, rounded up, and δ from there on."""
        if epsilon >= self.epsilon:
            return self.delta
        claimed = Interval.of(self.epsilon)
        odds = (Interval.of(epsilon) - claimed).exp()
        rest = (1 - odds) / (1 + (-claimed).exp())
        return min(1.0, (Interval.of(self.delta) + (1 - Interval.of(self.delta)) * rest).above())

    def excess(self, p: float, q: float) -> float:
        """How far P[E] = `p` and Q[E] = `q` overstep the claim in this direction: p − e^ε·q − δ."""
        growth = math.exp(self.epsilon) if self.epsilon <= LARGEST_EXPONENT else math.inf
        return p - (q and q * growth) - self.delta  # 0 times an infinite growth is 0

    def _composed(self, answers: int) -> PrivacyClaim:
        """Basic composition: (mε, mδ), if m·δ is below 1."""
        return PrivacyClaim(answers * self.epsilon, answers * self.delta)


@functools.lru_cache(maxsize=1 << 8)
def _points(claim: Claim) -> tuple[float, ...]:
    return grid_of_points(lambda epsilon: claim.at(epsilon).delta)


@functools.lru_cache(maxsize=1 << 8)
def _nominal(claim: Claim) -> PrivacyClaim:
    return claim.at(next((point for point in claim.points if claim.at(point).delta <= 1e-6), claim.points[-1]))


NEARLY_ONE = math.nextafter(1.0, 0.0)

MOST_POINTS = 48
"""At how many ε a claim with a profile may be judged."""

LEAST_DELTA = 2.0**-60
"""Points of smaller δ are not worth judging at: no sample shows them."""

LARGEST_EPSILON = 512.0

LARGEST_EXPONENT = math.log(sys.float_info.max)


def grid_of_points(delta_at: Callable[[float], float]) -> tuple[float, ...]:
    """The ε at which events are judged by a profile: 0, and a geometric grid up to where δ is too small to be seen.

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
    """Refuse what is not a finite number above 0.

    Raises:
        UsageError: one of them is out of range; a `UsageTypeError` where it is not a number.
    """
    for name, value in values.items():
        if not (math.isfinite(number := require_real(name, value)) and number > 0):
            raise UsageError(f"{name} must be finite and greater than 0, not {value}")


def require_real(name: str, value: object) -> float:
    """A number as a float; refused where it is not one."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise UsageTypeError(f"{name} must be a number, not {value!r}")
    return float(value)


def directions(
    first: tuple[Probability, Probability], second: tuple[Probability, Probability]
) -> tuple[tuple[Probability, Probability], ...]:
    """The four inequalities of a claim for one event: for the event and its complement, each in both directions.

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
