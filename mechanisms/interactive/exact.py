"""A session of questions about one bit under a budget that is checked before each answer, drawn exactly.

An answer that costs k units is randomized response whose lie is 2^−ηk times as likely as the truth. The service answers
if what has been spent and the price together stay within the budget, and refuses otherwise, whatever the bit is. So the
ratio of a transcript's probabilities is at most 2^(η·budget), however the adversary picks its questions (README.md).

Source: Rogers, Roth, Ullman and Vadhan 2016, 'Privacy Odometers and Filters: Pay-as-you-Go Composition', section 3,
for budgets that are spent adaptively.
"""

from __future__ import annotations

from fractions import Fraction

from mechanisms.coins import bernoulli
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.interactive.adversary import BUDGET, cheaper, offer
from mechanisms.randomness import RandomBits


def exact_query_session(secret: bool, bits: RandomBits, *, eta: BaseTwoEta) -> tuple[int, ...]:
    """Run a whole session with the adversary of `adversary`.

    Args:
        secret: the private bit.
        bits: the source of randomness.
        eta: η of one unit of the budget; the session is (η·ln 2·BUDGET)-DP.

    Returns:
        The answers, 0 or 1, in order.
    """
    answers: list[int] = []
    spent = 0
    price: int | None = offer(answers)
    while price is not None:
        if spent + price > BUDGET:
            price = cheaper(price)
            continue
        spent += price
        answers.append(_answer(bool(secret), price, eta, bits))
        price = offer(answers)
    return tuple(answers)


def _answer(secret: bool, price: int, eta: BaseTwoEta, bits: RandomBits) -> int:
    decay = Fraction(int(eta.decay.numerator), int(eta.decay.denominator)) ** price
    lies = bits.call(bernoulli, decay / (1 + decay))
    return int(secret != lies)
