"""Selections in base 2 and with fixed work, put together as a family's `exact.py` would."""

from __future__ import annotations

from fractions import Fraction

from mechanisms.core.numbers import Number, positive
from mechanisms.core.scores import utilities
from mechanisms.core.select_dyadic import SelectBase2, SelectFixedWork
from mechanisms.exponential.base2.eta import BaseTwoEta

_DECAY_BITS = 64
_RESERVED = Fraction(1, 1 << 32)  # the share of ε that rounding the tickets may use


def _decay(eta: BaseTwoEta) -> Fraction:
    return Fraction(int(eta.decay.numerator), int(eta.decay.denominator))


def exact_exponential_base2(
    *,
    eta: BaseTwoEta,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number],
) -> SelectBase2:
    """Select an outcome with probability proportional to 2^(η·u/Δu): 2η·ln 2-DP, and η·ln 2-DP if monotone."""
    return SelectBase2(utilities(sensitivity, utility_range, monotone), _decay(eta))


def exact_exponential_fixed_work(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number],
    steps: int = 1,
    precision: int = 64,
) -> SelectFixedWork:
    """Select with probability about proportional to exp(ε·u/(2Δu)), by bits and operations that are public: ε-DP."""
    exact = positive("epsilon", epsilon)
    eta = BaseTwoEta.from_epsilon(exact * (1 - _RESERVED) / steps, y=_DECAY_BITS, monotone=monotone)
    # ln((R·M + 2)/(M − 2)) ≤ ln R + 5/M, and 5/M ≤ 2^−32·ε for M = 2^spare.
    spare = 35 + int(1 / exact).bit_length()
    return SelectFixedWork(utilities(sensitivity, utility_range, monotone), _decay(eta), steps, precision, spare)
