"""The integers that the mechanisms derive from epsilon and delta, rounded so that privacy never suffers.

Both come from logarithms of rationals, computed by MPFR with directed rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2

from mechanisms.parameters import exact_rational
from mechanisms.rounding import rounding

_PRECISION = 128


def failure_probability(delta: float | Fraction) -> Fraction:
    """Check `delta` and return it as an exact rational.

    Raises:
        TypeError: `delta` is not a number.
        ValueError: `delta` is outside (0, 1/2], where the proofs hold.
    """
    exact = exact_rational("delta", delta)
    if not 0 < exact <= Fraction(1, 2):
        raise ValueError(f"delta must lie in (0, 1/2], not {delta}")
    return exact


def tail_threshold(epsilon: Fraction, delta: Fraction) -> int:
    """Return the least T that discrete Laplace noise of scale 1/epsilon reaches with probability at most `delta`.

    With q = e^−ε that probability is q^T/(1 + q), so T = ⌈(ln(1/δ) − ln(1 + q))/ε⌉. The numerator is transcendental
    and rounded upwards to 128 bits, so the tail never exceeds δ. T is the least such integer, unless the quotient lies
    nearer to an integer than 128 bits can tell.

    Args:
        epsilon: one over the noise's scale, positive.
        delta: a probability in (0, 1/2].
    """
    down, up = rounding(_PRECISION)
    with down:
        log_normaliser = gmpy2.log1p(gmpy2.exp(gmpy2.mpfr(-gmpy2.mpq(epsilon))))
    with up:
        numerator = gmpy2.log(gmpy2.mpfr(1 / gmpy2.mpq(delta))) - log_normaliser
    return math.ceil(exact_rational("numerator", gmpy2.mpq(numerator)) / epsilon)


def smoothing_steps(epsilon: Fraction, delta: Fraction) -> int:
    """Return the integer J = ⌈2·ln(2/δ)/ε⌉, for which 1 + 1/J ≤ 1 + β ≤ e^β with β = ε/(2·ln(2/δ)).

    Args:
        epsilon: the privacy loss, positive.
        delta: a probability in (0, 1/2].
    """
    _, up = rounding(_PRECISION)
    with up:
        logarithm = gmpy2.log(gmpy2.mpfr(2 / gmpy2.mpq(delta)))
    return math.ceil(2 * exact_rational("logarithm", gmpy2.mpq(logarithm)) / epsilon)
