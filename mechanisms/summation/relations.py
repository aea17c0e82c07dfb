"""How far one person moves a bounded sum, under each relation of neighbours."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeVar

Relation = Literal["add-remove", "substitute"]
"""Whether neighbours differ by one record that is there or not, or by the value of one record."""

Number = TypeVar("Number", int, float, Fraction)


def sum_sensitivity(lower: Number, upper: Number, relation: Relation) -> Number:
    """Return the sensitivity of the sum, in real arithmetic, of records in [lower, upper].

    Args:
        lower: the least value of a record.
        upper: the largest value of a record.
        relation: what neighbours are.

    Returns:
        max(|lower|, |upper|) under add-remove, upper − lower under substitute.

    Raises:
        ValueError: lower ≥ upper, a bound is not finite, or the relation is neither of the two.
    """
    if not -float("inf") < lower < upper < float("inf"):
        raise ValueError(f"lower must be less than upper, both finite, not {lower} against {upper}")
    if relation == "add-remove":
        return max(abs(lower), abs(upper))
    if relation == "substitute":
        return upper - lower
    raise ValueError(f"relation must be 'add-remove' or 'substitute', not {relation!r}")
