"""What a term promises of one release, in rational numbers, and what two promises together come to.

Sources: Dwork and Roth 2014, theorems 3.14 and 3.16 (basic composition); Bun and Steinke 2016, 'Concentrated
Differential Privacy', lemma 1.7 and proposition 1.4 (zCDP); Mironov 2017, 'Rényi Differential Privacy',
proposition 1; Dong, Roth and Su 2022, 'Gaussian Differential Privacy', corollary 3.3; Canonne, Kamath and Steinke 2020,
'The Discrete Gaussian for Differential Privacy', proposition 12 (the δ of Rényi DP).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mechanisms.core.numbers import convert, rational
from mechanisms.core.rounding import exp_above, log_above


@dataclass(frozen=True)
class ApproximateDP:
    """(ε, δ)-DP; pure where δ = 0."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        convert(self, _number, "epsilon", "delta")
        if self.delta > 1:
            raise ValueError(f"delta must be at most 1, not {self.delta}")

    def with_(self, other: Claim) -> Claim:
        """Return what two releases promise together."""
        if isinstance(other, ApproximateDP):
            return ApproximateDP(self.epsilon + other.epsilon, self.delta + other.delta)
        if isinstance(other, ZeroConcentratedDP) and not self.delta:
            return ZeroConcentratedDP(self.epsilon**2 / 2 + other.rho)
        raise _incomparable(self, other)

    def within(self, promised: Claim) -> bool:
        """Whether keeping this keeps another claim."""
        if isinstance(promised, ApproximateDP):
            return self.epsilon <= promised.epsilon and self.delta <= promised.delta
        if isinstance(promised, ZeroConcentratedDP):
            return not self.delta and self.epsilon**2 / 2 <= promised.rho
        if isinstance(promised, RenyiDP):
            return not self.delta and min(self.epsilon, promised.alpha * self.epsilon**2 / 2) <= promised.epsilon
        return False


@dataclass(frozen=True)
class ZeroConcentratedDP:
    """ρ-zCDP."""

    rho: Fraction

    def __post_init__(self) -> None:
        convert(self, _number, "rho")

    def with_(self, other: Claim) -> Claim:
        """Return what two releases promise together."""
        if isinstance(other, ZeroConcentratedDP):
            return ZeroConcentratedDP(self.rho + other.rho)
        if isinstance(other, ApproximateDP):
            return other.with_(self)
        raise _incomparable(self, other)

    def within(self, promised: Claim) -> bool:
        """Whether keeping this keeps another claim."""
        if isinstance(promised, ZeroConcentratedDP):
            return self.rho <= promised.rho
        if isinstance(promised, ApproximateDP):
            return not self.rho or self._order(promised.epsilon).within(promised)
        return isinstance(promised, RenyiDP) and promised.alpha * self.rho <= promised.epsilon

    def _order(self, epsilon: Fraction) -> RenyiDP:
        """Return the claim at the order with nearly the least δ at ε: where (2α − 1)·ρ − ε + ln(1 − 1/α) is 0."""
        low, high = Fraction(1), (epsilon + 1) / (2 * self.rho) + 2
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            falls = (2 * middle - 1) * self.rho + log_above(1 - 1 / middle) < epsilon
            low, high = (middle, high) if falls else (low, middle)
        return RenyiDP(high, high * self.rho)


@dataclass(frozen=True)
class RenyiDP:
    """(α, ε)-Rényi DP at one order α > 1."""

    alpha: Fraction
    epsilon: Fraction

    def __post_init__(self) -> None:
        convert(self, _number, "alpha", "epsilon")
        if self.alpha <= 1:
            raise ValueError(f"alpha of Rényi DP must be above 1, not {self.alpha}")

    def with_(self, other: Claim) -> Claim:
        """Return what two releases promise together."""
        if isinstance(other, RenyiDP) and other.alpha == self.alpha:
            return RenyiDP(self.alpha, self.epsilon + other.epsilon)
        raise _incomparable(self, other)

    def within(self, promised: Claim) -> bool:
        """Whether keeping this keeps another claim; δ is e^((α − 1)(ε_α − ε + ln(1 − 1/α)))/α for (ε, δ)-DP."""
        if isinstance(promised, ApproximateDP):
            exponent = self.epsilon - promised.epsilon + log_above(1 - 1 / self.alpha)
            return exponent <= 0 and exp_above((self.alpha - 1) * exponent) <= promised.delta * self.alpha
        return isinstance(promised, RenyiDP) and promised.alpha <= self.alpha and self.epsilon <= promised.epsilon


@dataclass(frozen=True)
class GaussianDP:
    """μ-GDP, by μ²."""

    mu_squared: Fraction

    def __post_init__(self) -> None:
        convert(self, _number, "mu_squared")

    def with_(self, other: Claim) -> Claim:
        """Return what two releases promise together."""
        if isinstance(other, GaussianDP):
            return GaussianDP(self.mu_squared + other.mu_squared)
        raise _incomparable(self, other)

    def within(self, promised: Claim) -> bool:
        """Whether keeping this keeps another claim."""
        return isinstance(promised, GaussianDP) and self.mu_squared <= promised.mu_squared


@dataclass(frozen=True)
class ProfileDP:
    """(ε, δ)-DP at each of several points."""

    points: tuple[ApproximateDP, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self.points))
        if not self.points or {type(point) for point in self.points} != {ApproximateDP}:
            raise TypeError("points must be claims of ApproximateDP, at least one")

    def with_(self, other: Claim) -> Claim:
        """Return what two releases promise together, for a pure claim beside this one."""
        if isinstance(other, ApproximateDP):
            return ProfileDP(
                tuple(ApproximateDP(p.epsilon + other.epsilon, p.delta + other.delta) for p in self.points)
            )
        raise _incomparable(self, other)

    def within(self, promised: Claim) -> bool:
        """Whether keeping this keeps another claim."""
        wanted = promised.points if isinstance(promised, ProfileDP) else (promised,)
        return all(any(point.within(each) for point in self.points) for each in wanted)


Claim = ApproximateDP | ZeroConcentratedDP | RenyiDP | GaussianDP | ProfileDP

_HALVINGS = 40
"""Of the range of orders, after which α is as near the best one as δ can tell."""


def _number(name: str, value: object) -> Fraction:
    """Take a number of a claim as the rational that it is.

    Raises:
        TypeError: it is not a number.
        ValueError: it is NaN, infinite or negative.
    """
    number = rational(name, value)
    if number < 0:
        raise ValueError(f"{name} of a claim must be at least 0, not {value}")
    return number


NOTHING = ApproximateDP(Fraction(0))
"""The claim of what does not look at private data."""


def together(*claims: Claim) -> Claim:
    """Return what several releases promise together, each of which may depend on those before it.

    Raises:
        ValueError: no rule adds up two of them.
    """
    total: Claim = NOTHING
    for claim in claims:
        total = claim if total == NOTHING else total if claim == NOTHING else total.with_(claim)
    return total


def _incomparable(first: object, second: object) -> ValueError:
    names = f"{type(first).__name__} and {type(second).__name__}"
    return ValueError(f"no rule composes {names}; restate one of the parts, for example as ApproximateDP")
