"""The exponential mechanism, exactly: in base e, in base 2, and with work that is the same for all utilities.

Each function takes public parameters and returns a term of `mechanisms.core`, which draws, states its claim, and is
what a certificate describes. Its data are one utility for each outcome, shape (outcomes,), larger is better: doubles,
integers or fractions, each the rational that it is. No database makes it fail: NaN counts as the lowest utility of the
range, and utilities outside the range are clamped to it. README.md says why each law keeps its claim.
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
    """Return a mechanism that selects an outcome with probability exactly proportional to exp(ε·u/(2Δu)): ε-DP."""
    return Select(utilities(sensitivity, utility_range, monotone), positive("epsilon", epsilon))


def exact_exponential_zcdp(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> Select:
    """Return the mechanism of `exact_exponential` with the claim ε²/8-zCDP, which follows from its ε-bounded range."""
    return Select(utilities(sensitivity, utility_range, monotone), positive("epsilon", epsilon), concentrated=True)


def exact_exponential_base2(
    *, eta: BaseTwoEta, utility_range: tuple[Number, Number], sensitivity: Number = 1, monotone: bool = False
) -> SelectBase2:
    """Return a mechanism that selects in proportion to 2^(η·u/Δu): (2·ln 2·η)-DP, or half of it if monotone.

    When u/Δu is not an integer, the law is the average over its random roundings.
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
    """Return a mechanism that selects about as `exact_exponential`, by the same work for all utilities: ε-DP."""
    exact = positive("epsilon", epsilon)
    rate = exact * (1 - _RESERVED) / count("steps", steps)
    eta = BaseTwoEta.from_epsilon(rate, y=_DECAY_BITS, monotone=monotone)
    # ln((R·M + 2)/(M − 2)) ≤ ln R + 5/M, and 5/M ≤ 2^−32·ε for M = 2^spare.
    spare = 35 + int(1 / exact).bit_length()
    return SelectFixedWork(utilities(sensitivity, utility_range, monotone), eta.decay, steps, precision, spare)
