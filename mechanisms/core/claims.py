"""Claims: what a term promises for one release, in rational numbers, and how claims compose and convert.

Sources: Dwork and Roth 2014, theorems 3.14 and 3.16 (basic composition); Bun and Steinke 2016, 'Concentrated
Differential Privacy', lemma 1.7 and proposition 1.4 (zCDP); Mironov 2017, 'Rényi Differential Privacy',
proposition 1; Dong, Roth and Su 2022, 'Gaussian Differential Privacy', corollary 3.3; Canonne, Kamath and Steinke 2020,
'The Discrete Gaussian for Differential Privacy', proposition 12 (the ε and δ of Rényi DP); Balle and Wang 2018,
theorem 8 (δ(ε) of normal noise).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from operator import add
from typing import TypeVar

from mechanisms.core.gaussian_claims import LEAST_DELTA, normal_delta
from mechanisms.core.numbers import Number, convert, rational
from mechanisms.core.rounding import log_above

_HALVINGS = 64  # of a range that holds a root, after which it is known as well as an ε is worth
_EPSILON_BITS = 64
_FAR = Fraction(2**900)  # for a ρ that chooses an order; what a larger one or its inverse chooses is as good

Root = TypeVar("Root", Fraction, float)


class _Promise(ABC):
    """What one release promises. `+` composes two promises adaptively: one release may depend on the other."""

    def __post_init__(self) -> None:
        convert(self, _number, *vars(self))

    @abstractmethod
    def to_approximate(self, delta: Number) -> ApproximateDP:
        """Return a promise of (ε, δ)-DP that this one implies, with nearly the least ε."""

    def __add__(self, other: Claim) -> Claim:
        """Return what two releases promise together."""
        if not isinstance(other, _Promise):
            return NotImplemented
        if (both := self._with(other) or other._with(self)) is not None:  # type: ignore[arg-type]
            return both
        names = f"{type(self).__name__} and {type(other).__name__}"
        raise ValueError(f"no rule composes {names}; restate one of the parts, for example by to_approximate(delta)")

    def _with(self, other: Claim) -> Claim | None:
        """Return the composition with another claim, by kind or else as zCDP; None if no rule applies."""
        if self == NOTHING:
            return other
        if type(self) is type(other):
            return type(self)(*map(add, vars(self).values(), vars(other).values()))
        rhos = _rho(self), _rho(other)
        return None if None in rhos else ZeroConcentratedDP(sum(filter(None, rhos), Fraction(0)))

    def within(self, promised: Claim) -> bool:
        """Whether this claim is known to imply another one, `promised`."""
        if isinstance(promised, ProfileDP):
            return all(map(self.within, promised.points))
        if isinstance(promised, ZeroConcentratedDP):
            rho = _rho(self)
            return rho is not None and rho <= promised.rho
        if isinstance(promised, RenyiDP):
            bound = _renyi(self, promised.alpha)
            return bound is not None and bound <= promised.epsilon
        if isinstance(promised, ApproximateDP):
            try:
                return self.to_approximate(promised.delta).epsilon <= promised.epsilon
            except ValueError:
                return False
        return isinstance(self, GaussianDP) and self.mu_squared <= promised.mu_squared


@dataclass(frozen=True)
class ApproximateDP(_Promise):
    """(ε, δ)-DP; pure where δ = 0."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        convert(self, _probability, "delta")

    def to_approximate(self, delta: Number) -> ApproximateDP:
        """Return the same ε with another δ, which must not be smaller; see `_Promise`."""
        if self.delta > (wanted := _probability("delta", delta)):
            raise ValueError(f"a promise with delta = {self.delta} says nothing about a smaller one")
        return ApproximateDP(self.epsilon, wanted)


@dataclass(frozen=True)
class ZeroConcentratedDP(_Promise):
    """ρ-zCDP."""

    rho: Fraction

    def to_approximate(self, delta: Number) -> ApproximateDP:
        """Convert by Rényi DP at the α where ρ·(α − 1)² = ln(1/δα), which gives nearly the least ε; see `_Promise`."""
        wanted = _probability("delta", delta)
        if not self.rho or not wanted:
            return RenyiDP(Fraction(2), 2 * self.rho).to_approximate(wanted)
        rho, needed = float(min(max(self.rho, 1 / _FAR), _FAR)), float(log_above(1 / wanted))
        alpha = 1 + Fraction(_least(lambda x: rho * x**2 > needed - math.log1p(x), math.sqrt(needed / rho) + 1))
        return RenyiDP(alpha, alpha * self.rho).to_approximate(wanted)


@dataclass(frozen=True)
class RenyiDP(_Promise):
    """(α, ε)-Rényi DP at one order α > 1."""

    alpha: Fraction
    epsilon: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha <= 1:
            raise ValueError(f"alpha of Rényi DP must be above 1, not {self.alpha}")

    def to_approximate(self, delta: Number) -> ApproximateDP:
        """Return ε = max(0, ε_α + ln(1 − 1/α) + ln(1/δα)/(α − 1)), rounded up; see `_Promise`."""
        wanted = _probability("delta", delta)
        if not self.epsilon:
            return ApproximateDP(Fraction(0), wanted)
        if not wanted:
            raise ValueError(f"{type(self).__name__} promises no epsilon for delta = 0; name a delta above it")
        epsilon = self.epsilon + log_above(1 - 1 / self.alpha) + log_above(1 / (wanted * self.alpha)) / (self.alpha - 1)
        return ApproximateDP(_above(max(epsilon, Fraction(0))), wanted)

    def _with(self, other: Claim) -> Claim | None:
        if isinstance(other, RenyiDP) and self.alpha == other.alpha:
            return RenyiDP(self.alpha, self.epsilon + other.epsilon)
        return None


@dataclass(frozen=True)
class GaussianDP(_Promise):
    """μ-Gaussian DP, stored as μ²."""

    mu_squared: Fraction

    def to_approximate(self, delta: Number) -> ApproximateDP:
        """Find nearly the least ε with δ(ε) ≤ `delta` by bisection; see `_Promise`."""
        wanted = _probability("delta", delta)
        if self._delta(Fraction(0)) <= wanted:
            return ApproximateDP(Fraction(0), wanted)
        if wanted < LEAST_DELTA:
            raise ValueError("GaussianDP gives no epsilon for a delta below 2^-1100; name a larger delta")
        return ApproximateDP(_least(lambda x: self._delta(x) <= wanted, Fraction(1)), wanted)

    def _delta(self, epsilon: Fraction) -> Fraction:
        return normal_delta(epsilon, variance=1 / self.mu_squared) if self.mu_squared else Fraction(0)

    def within(self, promised: Claim) -> bool:
        """Whether this claim is known to imply another one; it implies (ε, δ)-DP if δ(ε) ≤ δ."""
        if isinstance(promised, ApproximateDP):
            return self._delta(promised.epsilon) <= promised.delta
        return super().within(promised)


@dataclass(frozen=True)
class ProfileDP(_Promise):
    """(ε, δ)-DP at each of several points."""

    points: tuple[ApproximateDP, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple(self.points))
        if not self.points or {type(point) for point in self.points} != {ApproximateDP}:
            raise TypeError("points must be claims of ApproximateDP, at least one")

    def to_approximate(self, delta: Number) -> ApproximateDP:
        """Return the least ε of all points whose δ is at most `delta`; see `_Promise`."""
        wanted = _probability("delta", delta)
        if not (kept := [point.epsilon for point in self.points if point.delta <= wanted]):
            raise ValueError(f"no point of the profile has a delta of at most {wanted}")
        return ApproximateDP(min(kept), wanted)

    def _with(self, other: Claim) -> Claim | None:
        if not isinstance(other, ApproximateDP):
            return None
        return ProfileDP(tuple(ApproximateDP(p.epsilon + other.epsilon, p.delta + other.delta) for p in self.points))


Claim = ApproximateDP | ZeroConcentratedDP | RenyiDP | GaussianDP | ProfileDP


def together(*claims: Claim) -> Claim:
    """Return the claim of several releases together; each release may depend on the earlier ones."""
    return sum(claims, NOTHING)


def _rho(claim: _Promise) -> Fraction | None:
    """Return the ρ of zCDP that a claim implies, or None if no rule gives one."""
    if isinstance(claim, ApproximateDP):
        return None if claim.delta else claim.epsilon**2 / 2
    return claim.rho if isinstance(claim, ZeroConcentratedDP) else None


def _renyi(claim: _Promise, alpha: Fraction) -> Fraction | None:
    """Return the ε of Rényi DP at order `alpha` that a claim implies, or None if no rule gives one."""
    if isinstance(claim, RenyiDP):
        return claim.epsilon if alpha <= claim.alpha else None
    rho = _rho(claim)
    return min(alpha * rho, getattr(claim, "epsilon", alpha * rho)) if rho is not None else None


def _least(is_enough: Callable[[Root], bool], high: Root) -> Root:
    """Return nearly the least number above 0 that is enough, if all larger ones are; the search starts at `high`."""
    low = high - high
    while not is_enough(high):
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _above(number: Fraction) -> Fraction:
    """Return the next multiple of 2^−64 above a number (0 for 0), so a check at nearly the same order has slack."""
    return Fraction(math.floor(number * 2**_EPSILON_BITS) + 1, 2**_EPSILON_BITS) if number else number


def _number(name: str, value: object) -> Fraction:
    """Return a parameter of a claim as a rational; raise ValueError if it is below 0."""
    number = rational(name, value)
    if number < 0:
        raise ValueError(f"{name} of a claim must be at least 0, not {value}")
    return number


def _probability(name: str, value: object) -> Fraction:
    if (number := _number(name, value)) > 1:
        raise ValueError(f"{name} must be at most 1, not {value}")
    return number


NOTHING = ApproximateDP(Fraction(0))
"""The claim of a mechanism that does not look at private data."""
