"""The exponential mechanism, exactly: in base e and in base 2.

Each function takes public parameters and returns a term of `mechanisms.core`, which draws, states its claim, and is
what a certificate describes. Its data are one utility an outcome, shape (outcomes,), larger is better: doubles,
integers or fractions, each the rational that it is. No database makes it fail: NaN counts as the lowest utility of the
range, and utilities outside the range are clamped to it. README.md says why each law keeps its claim.
"""

from __future__ import annotations

from mechanisms.core.numbers import Number, positive
from mechanisms.core.scores import WIDEST_RANGE, utilities
from mechanisms.core.select import Select
from mechanisms.core.select_dyadic import SelectBase2
from mechanisms.exponential.base2.eta import BaseTwoEta


def exact_exponential(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> Select:
    """Select an outcome with probability exactly proportional to exp(ε·u/(2Δu)): ε-DP."""
    return Select(utilities(sensitivity, utility_range, monotone), positive("epsilon", epsilon))


def exact_exponential_zcdp(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> Select:
    """Return the mechanism of `exact_exponential` with the claim of ε²/8-zCDP, which its bounded range gives it."""
    return Select(utilities(sensitivity, utility_range, monotone), positive("epsilon", epsilon), concentrated=True)


def exact_exponential_base2(
    *, eta: BaseTwoEta, utility_range: tuple[Number, Number], sensitivity: Number = 1, monotone: bool = False
) -> SelectBase2:
    """Select an outcome with probability proportional to 2^(η·u/Δu): (2·ln 2·η)-DP, or half of it if monotone.

    When u/Δu is not an integer, the law is the average over its random roundings.
    """
    return SelectBase2(utilities(sensitivity, utility_range, monotone), eta.decay)
