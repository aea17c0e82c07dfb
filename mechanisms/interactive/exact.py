"""A session of questions about one bit under a budget that is checked before each answer, exactly.

The adversary starts with a costly question and asks again for as long as the answers agree; once two differ, it asks
cheap ones until the budget is spent. What it pays next depends on what it has seen, which is what composition theorems
for fixed sequences of queries do not cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mechanisms.core.compose import Session
from mechanisms.core.flip import Response
from mechanisms.core.numbers import Number, positive

DEAR, CHEAP = 3, 1
"""The prices of a costly and of a cheap question. A price of 1 is the ε of the whole session divided by `BUDGET`."""

BUDGET = 4
"""The largest total price of the questions of a session: the ε of the session is this many times a price of 1."""


def offers(seen: Sequence[int]) -> tuple[int, ...]:
    """Return the prices that the adversary offers for the next answer; it offers the second if the first is refused."""
    return (DEAR, CHEAP) if len(set(seen)) < 2 else (CHEAP,)


@dataclass(frozen=True)
class Adversary:
    """Asks for randomized responses: each time, the first one in `offers` that the budget allows.

    Args:
        unit: the ε of a question of price 1.
    """

    unit: Fraction

    def __call__(self, seen: Sequence[bool], left: Fraction) -> Response | None:
        """Return the next question, a randomized response; None ends the session."""
        return next((Response(price * self.unit) for price in offers(seen) if price * self.unit <= left), None)


def exact_query_session(*, epsilon: Number) -> Session:
    """Return the session with this adversary; questions are answered while their total price is within the budget ε."""
    budget = positive("epsilon", epsilon)
    return Session(Adversary(budget / BUDGET), budget, "bit")
