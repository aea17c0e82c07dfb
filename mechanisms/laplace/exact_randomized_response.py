"""Randomized response, exactly: tell the truth with probability e^ε/(1 + e^ε), or with a rational one.

The first probability is irrational. A uniform real is compared with it, bit by bit, until no continuation of its bits
can change which is less; e^−ε is enclosed by MPFR with directed rounding. A binary64 comparison (`naive.py`) lies with
a probability that is rounded to a multiple of 2^−53, which is 0 for ε > 37: then no ε at all holds.

Source: Warner 1965, 'Randomized Response'; as local DP, Kasiviswanathan et al. 2011, 'What Can We Learn Privately?',
section 4.1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gmpy2

from mechanisms.coins import bernoulli
from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.randomness import RandomBits
from mechanisms.rounding import rounding

_STEP = 64  # bits by which an enclosure is narrowed; also how much finer it is than the bits it is compared with


def enclose_logistic(gamma: Fraction, precision: int) -> tuple[Any, Any]:
    """Enclose 1/(1 + e^−γ).

    Args:
        gamma: a rational number, above 0.
        precision: of the exponential, in bits.

    Returns:
        Two rationals (gmpy2.mpq), one below and one above.
    """
    below: Any = gmpy2.mpq(0)
    above: Any = gmpy2.mpq(1, 1 << precision)  # e^−γ < 2^−γ, all that is needed to know once γ > precision
    if gamma <= precision:
        down, up = rounding(precision)
        exponent = -gmpy2.mpq(gamma)
        below = gmpy2.mpq(down.exp(down.div(exponent.numerator, exponent.denominator)))
        above = gmpy2.mpq(up.exp(up.div(exponent.numerator, exponent.denominator)))
    return 1 / (1 + above), 1 / (1 + below)


def decide_logistic(gamma: Fraction, leading: int, length: int, bits: RandomBits) -> bool:
    """Find whether U < 1/(1 + e^−γ) for a uniform U whose first bits are known.

    Args:
        gamma: a rational number, above 0.
        leading: the known bits, as an integer; U lies in [leading, leading + 1]/2^length.
        length: the number of known bits.
        bits: the source of the bits that follow, drawn one by one and only if they are needed.
    """
    precision = 0
    while True:
        if precision <= length + _STEP:
            precision = (length // _STEP + 2) * _STEP
            below, above = enclose_logistic(gamma, precision)
        if leading + 1 <= below * 2**length:
            return True
        if leading >= above * 2**length:
            return False
        leading = leading << 1 | bits.take(1)
        length += 1


def logistic_coin(gamma: Fraction, bits: RandomBits) -> bool:
    """Draw True with exactly probability 1/(1 + e^−γ), for a rational γ above 0."""
    return decide_logistic(gamma, 0, 0, bits)


def randomized_response(truth: bool, keep: float | Fraction, bits: RandomBits) -> bool:
    """Tell the truth with a rational probability, its opposite otherwise: ln(keep/(1 − keep))-DP.

    Args:
        truth: the private bit; any other value counts as its truth value, so that no answer tells it from a bool.
        keep: the probability of the truth, at least ½ and below 1; a float stands for its exact value.
        bits: the source of randomness.

    Raises:
        TypeError: `keep` is not a number.
        ValueError: `keep` is outside [½, 1).
    """
    probability = exact_rational("keep", keep)
    if not Fraction(1, 2) <= probability < 1:
        raise ValueError(f"keep must lie in [1/2, 1), not {keep}")
    return bool(truth) == bits.call(bernoulli, probability)


def exact_randomized_response(truth: bool, bits: RandomBits, *, epsilon: float | Fraction) -> bool:
    """Tell the truth with probability exactly e^ε/(1 + e^ε), its opposite otherwise.

    Args:
        truth: the private bit, as for `randomized_response`.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.

    Raises:
        ValueError: `epsilon` is not finite and above 0.
    """
    return bool(truth) == bits.call(logistic_coin, positive_rational("epsilon", epsilon))
