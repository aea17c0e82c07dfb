"""Claims on Rényi divergences: (α, ε)-RDP at one or many orders, and ρ-zCDP, which is (α, ρα)-RDP at every order α > 1.

`conversion` computes what they imply for one event. A divergence of whole laws is checked with exact laws only.

Sources: Mironov 2017, 'Rényi Differential Privacy' (definition 4, proposition 1); Bun and Steinke 2016,
'Concentrated Differential Privacy' (definition 1.1, lemma 1.7).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from attacklab.model.claims import conversion
from attacklab.model.claims.base import Claim, require_numbers
from attacklab.model.errors import UsageError
from attacklab.model.intervals import Interval

LEAST_STEP, LARGEST_STEP = -20, 28
"""The first and the last step: ρ-zCDP is tried at α = 1 + 2^(step/2), and up to 64/√ρ if ρ is below 2^−16.
Larger orders matter only for a δ too small for doubles, since the best order is near √(ln(1/δ)/ρ).
"""


class RenyiClaim(Claim):
    """The interface of claims on Rényi divergences."""

    @property
    @abstractmethod
    def tried_orders(self) -> Sequence[float]:
        """The orders α at which a search begins. It then tries others, up to the largest of these."""

    @abstractmethod
    def bound(self, alpha: float) -> Interval:
        """Return ε_α, the bound on the divergence of order α."""

    def delta_at(self, epsilon: float) -> float:
        """Return an upper bound on p − e^ε·q for any event, from the best order found, rounded up."""
        return conversion.delta_bound(self, epsilon).above()


@dataclass(frozen=True, slots=True)
class ZeroConcentrated(RenyiClaim):
    """ρ-zCDP: D_α(P‖Q) ≤ ρ·α for every α > 1 and every neighbouring pair, in both directions.

    Args:
        rho: ρ, finite and above 0.

    Raises:
        UsageError: ρ is out of range, or not a number.
    """

    kind = "zcdp"

    rho: float

    def __post_init__(self) -> None:
        require_numbers(rho=self.rho)

    def __str__(self) -> str:
        return f"ρ-zCDP with ρ = {self.rho!r}"

    @property
    def tried_orders(self) -> Sequence[float]:
        """The orders α at which a search begins: a geometric grid of α − 1."""
        last = max(LARGEST_STEP, 12 + math.ceil(-math.log2(self.rho)))
        return tuple(1 + 2.0 ** (step / 2) for step in range(LEAST_STEP, last + 1))

    def bound(self, alpha: float) -> Interval:
        """Return ρ·α."""
        return Interval.of(self.rho) * alpha

    def _composed(self, answers: int) -> ZeroConcentrated:
        """Return (mρ)-zCDP for m answers, rounded up (Bun and Steinke 2016, lemma 1.7)."""
        return ZeroConcentrated((Interval.of(self.rho) * answers).above())


@dataclass(frozen=True, slots=True)
class Renyi(RenyiClaim):
    """(α, ε)-RDP: D_α(P‖Q) ≤ ε for every neighbouring pair, in both directions, at one or many orders.

    Args:
        alpha: the order, or several of them, each finite and above 1.
        epsilon: the bound at each order, finite and above 0.

    Raises:
        UsageError: a number is out of range or not a number, an order is named twice, or the numbers of orders and of
            bounds differ.
    """

    kind = "rdp"

    alpha: float | Sequence[float]
    epsilon: float | Sequence[float]

    def __post_init__(self) -> None:
        alphas, epsilons = (
            tuple(value) if isinstance(value, Sequence) else (value,) for value in (self.alpha, self.epsilon)
        )
        for name, values in (("alpha", alphas), ("epsilon", epsilons)):
            for number in values:
                require_numbers(**{name: number})
            object.__setattr__(self, name, values)
        if not alphas:
            raise UsageError("an RDP claim needs at least one alpha and its epsilon")
        if len(alphas) != len(epsilons):
            raise UsageError(f"RDP needs one epsilon for each alpha, not {len(epsilons)} for {len(alphas)}")
        if len(set(alphas)) < len(alphas):
            raise UsageError("an RDP claim names an alpha twice; give each alpha once")
        if min(alphas) <= 1:
            raise UsageError(f"alpha must be greater than 1, not {min(alphas)}")

    def __str__(self) -> str:
        listed = [f"({alpha!r}, {epsilon!r})" for alpha, epsilon in self.pairs]
        return f"(α, ε)-RDP at {', '.join(listed[:3])}" + (f" and {len(listed) - 3} more orders" * (len(listed) > 3))

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """The orders α of the claim, each with its bound ε."""
        return tuple(zip(cast(Sequence[float], self.alpha), cast(Sequence[float], self.epsilon), strict=True))

    @property
    def tried_orders(self) -> Sequence[float]:
        """The orders α at which a search begins: the claimed orders, and smaller ones."""
        return [1 + (alpha - 1) / 2 ** (step / 2) for alpha, _ in self.pairs for step in range(8)]

    def bound(self, alpha: float) -> Interval:
        """Return the least ε among the orders of at least α, since a divergence grows with its order."""
        return Interval.of(min(epsilon for order, epsilon in self.pairs if order >= alpha))

    def _composed(self, answers: int) -> Renyi:
        """Return (α, mε)-RDP at each order for m answers, rounded up (Mironov 2017, proposition 1)."""
        return Renyi(self.alpha, tuple((Interval.of(epsilon) * answers).above() for _, epsilon in self.pairs))
