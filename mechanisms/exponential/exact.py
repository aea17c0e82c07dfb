"""The exponential mechanism, exactly: in base e, in base 2, and with work that is the same for all utilities.

Each function takes public parameters and returns a term of `mechanisms.core`, which draws, states its claim, and is
what a certificate describes. Its data are one utility an outcome, shape (outcomes,), larger is better: doubles,
integers or fractions, each the rational that it is. No database makes it fail: NaN counts as the lowest utility of the
range, and utilities outside the range are clamped to it. README.md says why each law keeps its claim.

Sources: McSherry and Talwar 2007, 'Mechanism Design via Differential Privacy'; Dwork and Roth 2014, section 3.4;
Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy'.
"""

from __future__ import annotations

from fractions import Fraction

from mechanisms.core.numbers import Number, count, positive
from mechanisms.core.scores import WIDEST_RANGE, utilities
from mechanisms.core.select import Select
from mechanisms.core.select_dyadic import SelectBase2, SelectFixedWork
from mechanisms.exponential.base2.eta import BaseTwoEta

_DECAY_BITS = 64
_RESERVED = Fraction(1, 1 << 32)  # the share of ε that rounding the tickets may use


def exact_exponential(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> Select:
    """Select an outcome with probability exactly proportional to exp(ε·u/(2Δu)): ε-DP.

    Args:
        epsilon: ε, taken as the rational that it is.
        sensitivity: Δu, the most that one record moves any utility, taken as the rational that it is.
        monotone: whether a record moves all utilities in the same direction: then exp(ε·u/Δu) is ε-DP as well.
        utility_range: the lowest and the highest utility, chosen without looking at the data, within ±2^1022.

    Returns:
        The term; it releases the index of the selected outcome.
    """
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

    Args:
        eta: the growth of a weight with the utility; `BaseTwoEta.from_epsilon` finds it.
        utility_range: the lowest and the highest utility, chosen without looking at the data; weights get longer with
            the range.
        sensitivity: Δu, the most that one record moves any utility.
        monotone: whether a record moves all utilities in the same direction.

    Returns:
        The term; it releases the index of the selected outcome.
    """
    return SelectBase2(utilities(sensitivity, utility_range, monotone), eta.decay)


def exact_exponential_fixed_work(
    *,
    epsilon: Number,
    utility_range: tuple[Number, Number],
    sensitivity: Number = 1,
    monotone: bool = False,
    steps: int = 1,
    precision: int = 64,
) -> SelectFixedWork:
    """Select by bits and operations that are the same for all utilities: ε-DP, about in proportion to exp(ε·u/(2Δu)).

    Args:
        epsilon: ε, of which all but 2^−32 goes into the weights.
        utility_range: the lowest and the highest utility, chosen without looking at the data.
        sensitivity: Δu, the most that one record moves any utility.
        monotone: whether a record moves all utilities in the same direction.
        steps: how many levels the sensitivity spans; utilities are rounded to 1/steps of it.
        precision: outcomes that would have less than about 2^−precision of the best one's weight have that.

    Returns:
        The term; it releases the index of the selected outcome.
    """
    exact = positive("epsilon", epsilon)
    rate = exact * (1 - _RESERVED) / count("steps", steps)
    eta = BaseTwoEta.from_epsilon(rate, y=_DECAY_BITS, monotone=monotone)
    # ln((R·M + 2)/(M − 2)) ≤ ln R + 5/M, and 5/M ≤ 2^−32·ε for M = 2^spare.
    spare = 35 + int(1 / exact).bit_length()
    return SelectFixedWork(utilities(sensitivity, utility_range, monotone), eta.decay, steps, precision, spare)
