"""What a mechanism may promise, what is lost by releasing, and whether losses together keep a promise.

Losses of what is released in turn, each of which may depend on what was released before, add up by kind:

- (ε, δ)-DP: ε and δ add up (Dwork and Roth 2014, theorem 3.16); a Gaussian shift among them has δ(ε) at the ε that is
  left;
- ρ-zCDP: ρ add up (Bun and Steinke 2016, lemma 1.7); ε-DP is ε²/2-zCDP (proposition 1.4); ε-bounded range is
  ε²/8-zCDP (Cesar and Rogers 2021, lemma 3.2);
- Rényi DP: ε at one α add up (Mironov 2017, proposition 1), ρ-zCDP is (α, αρ)-RDP, and more at a larger α holds at a
  smaller one; (α, τ)-RDP is (ε, δ)-DP for δ = e^((α − 1)(τ − ε + ln(1 − 1/α)))/α (Canonne, Kamath and Steinke 2020,
  proposition 12);
- μ-GDP: μ² add up (Dong, Roth and Su 2022, corollary 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, get_args

from checker.forms import Fields, Refused
from checker.intervals import exp, ln, of
from checker.laws import GaussianLaw, RoundedGaussian, normal_keeps_delta


@dataclass(frozen=True)
class ApproximateDP:
    """(ε, δ)-DP; pure where δ = 0."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        return f"({shown(self.epsilon)}, {shown(self.delta)})-DP" if self.delta else f"{shown(self.epsilon)}-DP"


@dataclass(frozen=True)
class ZeroConcentratedDP:
    """ρ-zCDP."""

    rho: Fraction

    def __str__(self) -> str:
        return f"{shown(self.rho)}-zCDP"


@dataclass(frozen=True)
class RenyiDP:
    """(α, ε)-Rényi DP."""

    alpha: Fraction
    epsilon: Fraction

    def __str__(self) -> str:
        return f"({shown(self.alpha)}, {shown(self.epsilon)})-RDP"


@dataclass(frozen=True)
class GaussianDP:
    """μ-GDP, by μ²."""

    mu_squared: Fraction

    def __str__(self) -> str:
        return f"√{shown(self.mu_squared)}-GDP"


@dataclass(frozen=True)
class ProfileDP:
    """(ε, δ)-DP at each of several points."""

    points: tuple[ApproximateDP, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.points))


_HALVINGS = 40  # of the range of orders, after which δ is nearly the least

Claim = ApproximateDP | ZeroConcentratedDP | RenyiDP | GaussianDP | ProfileDP
KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Claim)}


@dataclass(frozen=True)
class BoundedRange:
    """The loss of a selection: all privacy losses of a pair lie in an interval of length ε, which 0 is in."""

    epsilon: Fraction


@dataclass(frozen=True)
class Shift:
    """The loss of Gaussian noise on an answer that moves by at most so many steps."""

    law: GaussianLaw
    steps: int


Loss = Claim | BoundedRange | Shift
Losses = tuple[Loss, ...]


def claim(value: Any) -> Claim:
    """Read a claim."""
    fields = Fields(value, "a claim")
    kind = fields.one_of("is", *KINDS)
    numbers = {name: fields.rational(name) for name in KINDS[kind].__dataclass_fields__ if name != "points"}
    found: Claim = KINDS[kind](**numbers) if numbers else ProfileDP(fields.each("points", _point))
    fields.done()
    if min(numbers.values(), default=0) < 0 or numbers.get("delta", 0) > 1 or numbers.get("alpha", 2) <= 1:
        raise Refused(f"{kind} promises a number that is out of its range")
    return found


def _point(value: Any) -> ApproximateDP:
    found = claim(value)
    if not isinstance(found, ApproximateDP):
        raise Refused("a point of a profile must be ApproximateDP")
    return found


def keep(losses: Losses, promised: Claim) -> bool:
    """Whether several losses together are seen to keep a promise."""
    if isinstance(promised, ApproximateDP):
        return _keep_approximate(losses, promised.epsilon, promised.delta)
    if isinstance(promised, ProfileDP):
        return all(keep(losses, point) for point in promised.points)
    if isinstance(promised, GaussianDP):
        lost, bound = _total(losses, _mu_squared), promised.mu_squared
    elif isinstance(promised, ZeroConcentratedDP):
        lost, bound = _total(losses, _rho), promised.rho
    else:
        lost, bound = _total(losses, partial(_renyi, alpha=promised.alpha)), promised.epsilon
    return lost is not None and lost <= bound


def _total(losses: Iterable[Loss], part: Callable[[Loss], Fraction | None]) -> Fraction | None:
    """Add up the parts of losses, or return None if one has no such part."""
    parts = [part(loss) for loss in losses]
    return None if None in parts else sum(filter(None, parts), Fraction(0))


def pure(losses: Losses) -> Fraction | None:
    """Return the ε of several losses of pure DP, or None if one of them is of another kind."""
    return _total(losses, lambda loss: part[0] if (part := _epsilon_delta(loss)) and not part[1] else None)


def _epsilon_delta(loss: Loss) -> tuple[Fraction, Fraction] | None:
    if isinstance(loss, ApproximateDP):
        return loss.epsilon, loss.delta
    return (loss.epsilon, Fraction(0)) if isinstance(loss, BoundedRange) else None


def _keep_approximate(losses: Losses, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether losses keep (ε, δ): those of approximate DP take their part, or the pure ones count as zCDP."""
    taken = {loss: part for loss in losses if (part := _epsilon_delta(loss))}
    failing = {loss: part for loss, part in taken.items() if part[1]}
    return any(_leave(part_of, losses, epsilon, delta) for part_of in (taken, failing))


def _leave(part_of: dict[Loss, tuple[Fraction, Fraction]], losses: Losses, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether losses that take their part of (ε, δ) leave enough of it for the others."""
    others = [loss for loss in losses if loss not in part_of]
    epsilon -= sum(part_of[loss][0] for loss in losses if loss in part_of)
    delta -= sum(part_of[loss][1] for loss in losses if loss in part_of)
    return epsilon >= 0 and delta >= 0 and _others_keep(others, epsilon, delta)


def _others_keep(losses: list[Loss], epsilon: Fraction, delta: Fraction) -> bool:
    """Whether (ε, δ) is kept by no loss, one with a δ(ε) of its own, or more as normal noise, zCDP or Rényi DP."""
    match losses:
        case []:
            return True
        case [Shift(law, steps)]:
            return law.keeps_delta(steps, epsilon, delta)
        case [ProfileDP(points)]:
            return any(point.epsilon <= epsilon and point.delta <= delta for point in points)
    if (mu_squared := _total(losses, _mu_squared)) is not None:
        return normal_keeps_delta(mu_squared, epsilon, delta)
    if (rho := _total(losses, _rho)) is not None:
        alpha = _order(rho, epsilon)
        return not rho or _renyi_keeps(alpha, alpha * rho, epsilon, delta)
    alpha = min((loss.alpha for loss in losses if isinstance(loss, RenyiDP)), default=Fraction(2))
    tau = _total(losses, partial(_renyi, alpha=alpha))
    return tau is not None and _renyi_keeps(alpha, tau, epsilon, delta)


def _renyi_keeps(alpha: Fraction, tau: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    exponent = (of(tau - epsilon) + ln(of(1 - 1 / alpha))) * of(alpha - 1)
    return exponent.low <= of(alpha).low and (exp(exponent) / of(alpha)).upper <= delta


def _order(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return an order with nearly the least δ: where (2α − 1)·ρ − ε + ln(1 − 1/α) is 0, which grows with α."""
    low, high = Fraction(1), (epsilon + 1) / (2 * rho) + 2 if rho else Fraction(2)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        falls = (of((2 * middle - 1) * rho - epsilon) + ln(of(1 - 1 / middle))).high < 0
        low, high = (middle, high) if falls else (low, middle)
    return high


def _mu_squared(loss: Loss) -> Fraction | None:
    if isinstance(loss, GaussianDP):
        return loss.mu_squared
    if isinstance(loss, Shift) and isinstance(loss.law, RoundedGaussian):
        return loss.steps**2 / loss.law.variance
    return None


def _rho(loss: Loss) -> Fraction | None:
    if isinstance(loss, ZeroConcentratedDP):
        return loss.rho
    if isinstance(loss, Shift):
        return loss.steps**2 / loss.law.variance / 2
    if isinstance(loss, BoundedRange):
        return loss.epsilon**2 / 8
    if isinstance(loss, ApproximateDP) and not loss.delta:
        return loss.epsilon**2 / 2
    return None


def _renyi(loss: Loss, alpha: Fraction) -> Fraction | None:
    if isinstance(loss, RenyiDP):
        return loss.epsilon if alpha <= loss.alpha else None
    if (rho := _rho(loss)) is None:
        return None
    return min(alpha * rho, loss.epsilon) if isinstance(loss, ApproximateDP | BoundedRange) else alpha * rho


def shown(value: Fraction, rounding: str = ROUND_CEILING) -> str:
    """Write a number: a short one as it is, another with seven digits, rounded up so that no promise looks smaller."""
    text = str(value)
    if len(text) <= 8:
        return text
    return str(Context(7, rounding, Emin=-MAX_EMAX, Emax=MAX_EMAX).divide(Decimal(value.numerator), value.denominator))


def shown_below(value: Fraction) -> str:
    """Write how far neighbours are apart: the same, rounded down."""
    return shown(value, ROUND_FLOOR)
