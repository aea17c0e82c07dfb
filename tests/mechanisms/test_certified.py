"""Polynomials of arrays stay within their proven bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mechanisms import certified


def test_the_horner_bound_covers_an_evaluation_in_rationals() -> None:
    """The same polynomial in exact arithmetic: at every point the error of the floating-point rule is covered."""
    coefficients = tuple(float(Fraction(1, 3 * k + 1)) for k in range(6))
    x = np.linspace(-0.25, 0.25, 2001)
    values = certified.horner(coefficients, x)
    bound = certified.horner_error(coefficients, Fraction(1, 4))
    errors = [
        abs(Fraction(value) - sum(Fraction(1, 3 * k + 1) * Fraction(point) ** k for k in range(6)))
        for value, point in zip(values.tolist(), x.tolist(), strict=True)
    ]
    assert 0 < max(errors) <= bound


def test_rounding_up_never_goes_below() -> None:
    assert Fraction(certified.round_up(Fraction(1, 3))) > Fraction(1, 3)
    assert Fraction(certified.round_up(Fraction(2, 3))) > Fraction(2, 3)
    assert certified.round_up(Fraction(1, 4)) == 0.25
