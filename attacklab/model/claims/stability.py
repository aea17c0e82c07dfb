"""The claim of a deterministic stage: how far a change of one record moves its output.

Source: McSherry 2009, 'Privacy Integrated Queries', on the stability of a transformation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from attacklab.model.claims.base import Claim
from attacklab.model.errors import UsageError, Word


class Metric(Word):
    """The distance between two outputs of a stage."""

    ABSOLUTE = "absolute"
    """|a − b| of two numbers."""
    L1 = "l1"
    """The sum of |aᵢ − bᵢ|."""
    L2 = "l2"
    """The root of the sum of (aᵢ − bᵢ)²."""
    LINF = "linf"
    """The largest |aᵢ − bᵢ|."""
    SYMMETRIC = "symmetric"
    """The number of records, with repetitions, that only one of two lists or data frames has."""

    @property
    def power(self) -> int:
        """The k for which distance^k is rational: 2 for l2, whose distances are square roots, else 1."""
        return 2 if self is Metric.L2 else 1


@dataclass(frozen=True, slots=True)
class Stability(Claim):
    """The claim that the outputs on neighbours are at most `bound` apart. It promises no privacy by itself.

    Attributes:
        bound: the largest distance, exact.
        metric: the distance.
        changes: the number of records in which neighbours may differ.
    """

    kind = "stability"

    bound: Fraction
    metric: Metric = Metric.ABSOLUTE
    changes: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", Fraction(self.bound))
        object.__setattr__(self, "metric", Metric(self.metric))

    def __str__(self) -> str:
        records = "one record moves" if self.changes == 1 else f"{self.changes} records move"
        return f"{records} it by {float(self.bound):.12g} ({self.metric})"

    def delta_at(self, epsilon: float) -> float:  # noqa: ARG002 - no noise, no privacy
        """Return 1, because stability is not a privacy claim."""
        return 1.0

    def _composed(self, answers: int) -> NoReturn:
        raise UsageError(f"the claim of a stage covers one output, not {answers} together")


def number_text(number: Fraction | float) -> str:
    """Return a number as text: whole numbers and short fractions exactly, others in six digits."""
    if number == math.inf:
        return "∞"
    exact = Fraction(number)
    if exact.denominator == 1 and abs(exact) < 10**15:
        return str(exact.numerator)
    rounded = Decimal(exact.numerator) / Decimal(exact.denominator)
    return str(rounded.normalize()) if Fraction(rounded) == exact and len(str(rounded)) < 12 else f"{rounded:.6g}"
