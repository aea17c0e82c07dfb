"""What claims ask for, compared with what was computed.

    {"kind": "pure", "epsilon": "1"}                                ε-DP
    {"kind": "approximate", "epsilon": "1", "delta": "1/100000"}    (ε, δ)-DP
    {"kind": "profile", "points": [["0", "1/9"], ["1", "1/99"]]}    (ε, δ)-DP at each of the points
    {"kind": "zcdp", "rho": "1/2"}                                  D_α ≤ ρ·α for every order α > 1
    {"kind": "rdp", "orders": ["2"], "epsilons": ["1"]}             D_α ≤ ε at each of the orders
    {"kind": "gdp", "mu": "1"}                                      no easier to tell apart than N(0, 1) and N(μ, 1)

A profile promises its points and nothing else. What holds between two of them follows from the two: weighted by t and
1 − t, P ≤ e^ε₁·Q + δ₁ and P ≤ e^ε₂·Q + δ₂ add up to P ≤ e^ε·Q + δ. So there is nothing to show between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from checker.core.certificate import Certificate, Refused, rational, require


def pure_epsilon(certificate: Certificate) -> Fraction:
    """Return the ε of a claim of pure differential privacy."""
    claim = certificate.claim
    if set(claim) != {"kind", "epsilon"} or claim["kind"] != "pure":
        raise Refused(f"this theorem is about pure differential privacy, not {dict(claim)}")
    return rational(claim["epsilon"], "epsilon")


@dataclass(frozen=True)
class Points:
    """(ε, δ)-DP at each of some points, ε ≥ 0 and 0 ≤ δ ≤ 1."""

    points: tuple[tuple[Fraction, Fraction], ...]

    def __str__(self) -> str:
        least, last = self.points[0], self.points[-1]
        if least == last:
            return f"({shown(least[0])}, {shown(least[1])})-DP"
        return f"(ε, δ(ε))-DP at {len(self.points)} points from ε = {shown(least[0])} to {shown(last[0])}"


@dataclass(frozen=True)
class Concentrated:
    """ρ-zCDP."""

    rho: Fraction

    def __str__(self) -> str:
        return f"{shown(self.rho)}-zCDP"


@dataclass(frozen=True)
class Renyi:
    """(α, ε)-RDP at each of some orders α > 1."""

    bounds: tuple[tuple[Fraction, Fraction], ...]

    def __str__(self) -> str:
        return f"RDP at {', '.join(f'({shown(order)}, {shown(bound)})' for order, bound in self.bounds)}"


@dataclass(frozen=True)
class Gaussian:
    """μ-GDP."""

    mu: Fraction

    def __str__(self) -> str:
        return f"{shown(self.mu)}-GDP"


Claim = Points | Concentrated | Renyi | Gaussian


def statistical_claim(certificate: Certificate) -> Claim:
    """Return a claim of approximate, zero-concentrated, Rényi or Gaussian privacy, or of a profile.

    Raises:
        Refused: it is of another kind, or a number in it is out of its range.
    """
    claim = certificate.claim
    fields = {
        "approximate": {"epsilon", "delta"},
        "profile": {"points"},
        "zcdp": {"rho"},
        "rdp": {"orders", "epsilons"},
        "gdp": {"mu"},
    }
    kind = claim.get("kind")
    if not isinstance(kind, str) or kind not in fields or set(claim) != fields[kind] | {"kind"}:
        raise Refused(f"this theorem does not know the claim {dict(claim)!r:.200}")
    if kind == "approximate":
        return Points((_point([claim["epsilon"], claim["delta"]]),))
    if kind == "profile":
        return Points(tuple(sorted(map(_point, _several(claim["points"])))))
    if kind == "zcdp":
        return Concentrated(_positive(claim["rho"], "rho"))
    if kind == "gdp":
        return Gaussian(_positive(claim["mu"], "mu"))
    orders, epsilons = _several(claim["orders"]), _several(claim["epsilons"])
    if len(orders) != len(epsilons):
        raise Refused(f"there are {len(orders)} orders and {len(epsilons)} epsilons")
    bounds = tuple(
        (_positive(one, "an order"), _positive(two, "epsilon")) for one, two in zip(orders, epsilons, strict=True)
    )
    if any(order <= 1 for order, _ in bounds):
        raise Refused("orders must be greater than 1")
    return Renyi(bounds)


def _several(values: Any) -> Sequence[Any]:
    if not require(values, list, "a list of a claim"):
        raise Refused("a list of a claim is empty")
    return values  # type: ignore[no-any-return]


def _point(pair: Any) -> tuple[Fraction, Fraction]:
    if len(require(pair, list, "a point")) != 2:
        raise Refused(f"a point is a pair of ε and δ, not {pair!r}")
    epsilon, delta = rational(pair[0], "epsilon"), rational(pair[1], "delta")
    if epsilon < 0 or not 0 <= delta <= 1:
        raise Refused(f"ε must be at least 0 and δ in [0, 1], not {epsilon} and {delta}")
    return epsilon, delta


def _positive(value: Any, what: str) -> Fraction:
    found = rational(value, what)
    if found <= 0:
        raise Refused(f"{what} must be above 0, not {found}")
    return found


def shown(value: Fraction) -> str:
    """Write a number of at least 0: short ones and doubles as they are, others rounded up to seven digits."""
    text = str(value)
    if len(text) <= 8:
        return text
    if Fraction(float(value)) == value:
        return repr(float(value))
    exponent = 0
    while value >= 10:
        value, exponent = value / 10, exponent + 1
    while value < 1:
        value, exponent = value * 10, exponent - 1
    digits = -(-value * 10**6 // 1)
    return f"{float(digits * Fraction(10) ** (exponent - 6)):.7g}"


def require_neighbours(certificate: Certificate, *known: str) -> str:
    """Return which inputs are neighbours, one of those that the theorem knows."""
    if certificate.neighbours not in known:
        raise Refused(f"neighbours are {certificate.neighbours!r}, this theorem knows {', '.join(map(repr, known))}")
    return certificate.neighbours
