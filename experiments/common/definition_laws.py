"""Remarks that textbooks and notes make on the definition of differential privacy, as exact laws.

Each function says which remark it computes, and what becomes of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from typing import Any, TypeAlias

from attacklab.laws import Law, enumerate_law, hockey_stick, largest_ratio, privacy_loss, smallest_delta
from experiments.targets import means
from mechanisms.catastrophe.exact import exact_catastrophe
from mechanisms.catastrophe.naive import naive_catastrophe

RATIO = 3
"""The e^ε at which remarks are computed in fractions, so that ε = ln 3 = 1.0986."""
ANSWERS = 10

Rows: TypeAlias = tuple[bool | None, bool]
"""The bits of the first and the second person; None if the first person's row is taken out."""

_PRESENT: tuple[Rows, ...] = tuple((first, second) for first in (False, True) for second in (False, True))
_WITHOUT: tuple[Rows, ...] = ((None, False), (None, True))


def response(truth: bool, ratio: Fraction = Fraction(RATIO)) -> Law:
    """Return the law of randomized response, which says the truth with probability ratio/(1 + ratio)."""
    told = ratio / (1 + ratio)
    return Law({truth: told, not truth: 1 - told})


def belief_quotient(prior: Fraction, *, together: bool) -> Fraction:
    """Return the largest quotient of Pr[X₁ = x | M(X) = y] and Pr[X₁ = x | M(X₋₁) = y], in either order.

    The remark says that e^ε bounds it, for ε-DP M and any belief about the rows X. It does if the rows are independent:
    then the second one is the prior of x. If they are not, Pr[y | x] and Pr[y] may each change by a factor of e^ε when
    a row is taken out. So e^(2ε) is a bound, and no smaller one holds.

    Args:
        prior: the probability that the first person's bit is set.
        together: whether the second person's bit equals the first one's. If not, it is independent, with this prior.

    Returns:
        The largest quotient over all randomized responses to a function of the rows; all of them are ε-DP.
    """
    belief = {
        rows: (prior if rows[0] else 1 - prior) * (rows[0] == rows[1] if together else prior if rows[1] else 1 - prior)
        for rows in _PRESENT
    }
    quotients = []
    for answers in product((False, True), repeat=len(_PRESENT) + len(_WITHOUT)):
        told = {rows: response(bit).mass(True) for rows, bit in zip(_PRESENT + _WITHOUT, answers, strict=True)}
        with_row = _posterior(belief, {rows: told[rows] for rows in belief})
        without_row = _posterior(belief, {rows: told[None, rows[1]] for rows in belief})
        quotients += [with_row / without_row, without_row / with_row]
    return max(quotients)


def _posterior(belief: Mapping[Rows, Fraction], told: Mapping[Rows, Any]) -> Fraction:
    """Return the probability that the first person's bit is set, given an answer with the likelihoods `told`."""
    with_bit, total = (
        sum(share * told[rows] for rows, share in belief.items() if rows[0] or every) for every in (False, True)
    )
    return Fraction(with_bit / total)


def both(first: Law, second: Law) -> Law:
    """Return the law of a pair of independent outcomes, one from each law."""
    return Law(((a, b), p * q) for a, p in first.masses.items() for b, q in second.masses.items())


def ratio_of_answers(step: Fraction) -> Fraction:
    """Return the largest ratio of probabilities of `ANSWERS` randomized responses, each of the ratio 1 + `step`.

    If the definition had 1 + ε in place of e^ε, losses would not add up: (1 + ε)^k is more than 1 + kε.
    """
    laws = [reduce(both, [response(truth, 1 + step)] * ANSWERS) for truth in (True, False)]
    return Fraction(largest_ratio(*laws).upper)


def victims(delta: Fraction, people: int = means.PEOPLE) -> dict[str, float]:
    """Return the probability that somebody is harmed by an (ε, δ)-DP mechanism, for several kinds of harm.

    Returns:
        `each`, `all`, `one`: P[a record is published], where each has its own coin, all share one coin, or at most one
        is published. All three are (0, δ)-DP, and nδ is the largest possible. `loss`: P[some answer has a loss above
        ε], where each person's randomized response is (ε, δ)-DP with a loss just above ε; `loss_of_one` is the same
        for one person. The remark that δ = 1/(100n) prevents such a loss with probability 99 % does not hold.
    """
    ratio = (RATIO + delta) / (1 - delta)
    loss = privacy_loss(response(True, ratio), response(False, ratio))
    above = loss.probability(lambda bounds: bounds.lower > RATIO).lower
    return {
        "each": -math.expm1(people * math.log1p(-float(delta))),
        "all": float(delta),
        "one": min(1.0, float(people * delta)),
        "loss": -math.expm1(people * math.log1p(-float(above))),
        "loss_of_one": float(above),
    }


def catastrophe_deltas(power: int) -> dict[str, float]:
    """Return the δ that the catastrophe mechanism claims, 2^−power, and the δ that its naive and exact twins need."""
    delta = Fraction(1, 1 << power)
    needed = {}
    for name, sampler in (
        ("naive", partial(naive_catastrophe, delta=float(delta))),
        ("exact", partial(exact_catastrophe, delta=delta)),
    ):
        first, second = (enumerate_law(sampler, record) for record in (0, 1))
        needed[name] = float(smallest_delta(first, second, 0).upper)
    return {"claimed": float(delta), **needed}


def group_deltas(delta: Fraction, most: int) -> Iterator[dict[str, float]]:
    """Yield the δ of groups of 1 to `most` people: the sum in the theorem's proof, its bound, and the δ needed.

    The mechanism says yes with the probability s_k = δ·(1 + e^ε + … + e^((k−1)ε)) for k people: neighbours are
    (ε, δ)-close, and a group of k needs the sum itself. So the bound k·e^((k−1)ε)·δ of the theorem can be replaced by
    the sum, and by nothing smaller.
    """
    shares = [sum((RATIO**i * delta for i in range(size)), Fraction(0)) for size in range(most + 1)]
    laws = [Law({True: share, False: 1 - share}) for share in shares]
    epsilon = Fraction(math.nextafter(math.log(RATIO), math.inf))
    for size in range(1, most + 1):
        yield {
            "sum": float(shares[size]),
            "theorem": float(size * RATIO ** (size - 1) * delta),
            "needed": float(hockey_stick(laws[size], laws[0], size * epsilon).lower),
            "neighbours": float(smallest_delta(laws[size], laws[size - 1], epsilon).upper),
        }
