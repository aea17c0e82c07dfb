"""An adaptive adversary of a service that answers the same question at whatever price one offers.

It starts with a dear question and asks again for as long as the answers agree; once two differ, it asks cheap ones
until it is refused. What it pays next depends on what it has seen, which is what composition theorems for fixed
sequences of queries do not cover.
"""

from __future__ import annotations

from collections.abc import Sequence

DEAR, CHEAP = 3, 1
"""What it offers for one answer, in units of the budget."""

BUDGET = 4
"""What a session may cost, in the same units."""


def offer(seen: Sequence[int]) -> int:
    """What the adversary offers for the next answer, having seen those before it."""
    return DEAR if len(set(seen)) < 2 else CHEAP


def cheaper(price: int) -> int | None:
    """What it offers after a refusal; None if it gives up."""
    return CHEAP if price > CHEAP else None
