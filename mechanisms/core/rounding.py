"""Directed rounding: MPFR contexts whose results lie on a known side of the truth, and bounds that are rational.

gmpy2's module-level functions and its operators round as the current context says, which is 53 bits to nearest unless
somebody changed it; so do `int` of its reals, and its floor and ceil even of rationals. So whatever must be a bound is
computed within one of these contexts, or by its methods, or by `//`.
"""

from __future__ import annotations

from fractions import Fraction

import gmpy2
from gmpy2 import mpfr, mpq

_CLAIM_BITS = 128


def rounding(precision: int) -> tuple[gmpy2.context, gmpy2.context]:
    """Return new MPFR contexts of `precision` bits that round down and up; none can be entered twice at once."""
    return (
        gmpy2.context(precision=precision, round=gmpy2.RoundDown),
        gmpy2.context(precision=precision, round=gmpy2.RoundUp),
    )


def fraction(number: mpfr | mpq) -> Fraction:
    """Return a number of gmpy2 as a fraction, exactly."""
    exact = mpq(number)
    return Fraction(int(exact.numerator), int(exact.denominator))


def floor(number: mpfr | mpq, bits: int) -> int:
    """Return ⌊2^bits · number⌋."""
    exact = mpq(number)
    return int((exact.numerator << bits) // exact.denominator)


def ceiling(number: mpfr | mpq, bits: int) -> int:
    """Return ⌈2^bits · number⌉."""
    return -floor(-mpq(number), bits)


def log_above(number: Fraction) -> Fraction:
    """Return a rational upper bound on ln(number); it is too large by at most a part in 2^120, or 2^−127 if small."""
    _, up = rounding(_CLAIM_BITS)
    with up:
        return fraction(gmpy2.log(mpfr(mpq(number))))


def exp_above(number: Fraction) -> Fraction:
    """Return a rational upper bound on e^number."""
    _, up = rounding(_CLAIM_BITS)
    with up:
        return fraction(gmpy2.exp(mpfr(mpq(number))))
