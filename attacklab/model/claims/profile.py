"""Privacy profiles, such as a curve that an accountant computes or that somebody proved.

A profile is kept as a table of pairs (ε, δ(ε)), and each pair is a claim. So a profile made from a function can be
written as JSON and compared, and claims no more than the function does.

Source: Balle, Barthe and Gaboardi 2018, 'Privacy Amplification by Subsampling' (privacy profiles). The interpolation
adds up inequalities: with weights t and 1 − t, p − e^ε₁·q ≤ δ₁ and p − e^ε₂·q ≤ δ₂ bound p − e^ε·q, where
e^ε = t·e^ε₁ + (1 − t)·e^ε₂.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from attacklab.model.claims.base import Claim, PrivacyClaim, grid_of_points
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.intervals import Interval

Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Profile(Claim):
    """A privacy profile δ(ε).

    Args:
        curve: a function of ε that gives δ(ε), or a sequence of pairs (ε, δ).
        name: the name of the profile in messages.

    Raises:
        UsageError: a pair is out of range, two have the same ε, or δ is 1 everywhere.
        UsageTypeError: a pair does not consist of numbers.
    """

    kind = "profile"

    curve: Callable[[float], float] | Sequence[tuple[float, float]] | Curve
    name: str = "a privacy profile"

    def __post_init__(self) -> None:
        if callable(self.curve):
            function = self.curve
            pairs = [(epsilon, float(function(epsilon))) for epsilon in grid_of_points(function)]
        else:
            try:
                pairs = [(epsilon, delta) for epsilon, delta in self.curve]
            except (TypeError, ValueError):
                raise UsageTypeError(f"a profile is a function of ε or pairs (ε, δ), not {self.curve!r}") from None
        kept = sorted((claim.epsilon, claim.delta) for claim in (PrivacyClaim(*pair) for pair in pairs if pair[1] != 1))
        if not kept:
            raise UsageError(f"{self.name} promises nothing: δ is 1 wherever it was asked for")
        if len({epsilon for epsilon, _ in kept}) < len(kept):
            raise UsageError(f"{self.name} gives an ε twice, with different δ; give each ε once")
        object.__setattr__(self, "curve", tuple(kept))

    def __str__(self) -> str:
        return self.name

    @property
    def pairs(self) -> Curve:
        """The pairs (ε, δ), in ascending order of ε."""
        return cast(Curve, self.curve)

    def delta_at(self, epsilon: float) -> float:
        """Return the least δ, rounded up, that a single pair or two neighbouring pairs imply at ε."""
        implied = [PrivacyClaim(*pair).delta_at(epsilon) for pair in self.pairs]
        place = bisect.bisect_left(self.pairs, (epsilon, -1.0))
        if 0 < place < len(self.pairs):
            (left, more), (right, less) = self.pairs[place - 1], self.pairs[place]
            # Relative to e^ε, so that nothing overflows.
            below, above = ((Interval.of(end) - epsilon).exp() for end in (left, right))
            weight = (above - 1) / (above - below)
            implied.append((weight * more + (1 - weight) * less).above())
        return min(1.0, *implied)

    @property
    def points(self) -> tuple[float, ...]:
        """The ε of each pair."""
        return tuple(epsilon for epsilon, _ in self.pairs)

    def _composed(self, answers: int) -> Profile:
        """Return the profile of the pairs (mε, mδ) with m·δ below 1, by basic composition of m answers."""
        kept = tuple((answers * epsilon, answers * delta) for epsilon, delta in self.pairs if answers * delta < 1)
        if not kept:
            raise UsageError(f"{self.name} promises nothing of {answers} answers together (δ ≥ 1); take fewer answers")
        return Profile(kept, f"{self.name}, {answers} answers")
