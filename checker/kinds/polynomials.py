"""Traced arithmetic on one unknown of [0, 1) as a polynomial with rational coefficients and a bound of its rounding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from math import factorial

from checker.core.certificate import Refused
from checker.enclosures import elementary as enclosures
from checker.kinds.trace import Step, value_of

UNIT = Fraction(1, 2**53)
"""A correctly rounded operation multiplies by 1 ± UNIT, or is off by at most TINY where its result is subnormal."""

TINY = Fraction(1, 2**1074)
HALF = Fraction(1, 2)
BITS = 96


@dataclass(frozen=True)
class Polynomial:
    """Σ coefficient_k·t^k for |t| ≤ ½, and how far the computed number may lie from it."""

    coefficients: tuple[Fraction, ...]
    error: Fraction = Fraction(0)

    @property
    def size(self) -> Fraction:
        """A bound of the computed number's modulus."""
        return sum((abs(one) * HALF**power for power, one in enumerate(self.coefficients)), Fraction(0)) + self.error

    def rounded(self) -> Polynomial:
        """Return what one correctly rounded operation makes of it."""
        return Polynomial(self.coefficients, self.error + self.size * UNIT + TINY)


def polynomial(step: Step, name: str) -> Polynomial:
    """Read an expression of sums and products as a polynomial in t = f − ½, f the unknown of that name in [0, 1).

    Raises:
        Refused: it is another expression.
    """
    if step.kind != "float64":
        raise Refused(f"{step!r:.80} is not arithmetic of doubles")
    if step.operation == "unknown" and step.operands == (name,):
        return Polynomial((HALF, Fraction(1)))
    if step.operation == "constant":
        return Polynomial((Fraction(value_of(step)),))
    if step.operation not in ("add", "subtract", "multiply"):
        raise Refused(f"{step.operation} is not a sum, a difference or a product")
    one, other = (polynomial(operand, name) for operand in step.operands)
    if step.operation == "multiply":
        error = one.size * other.error + other.size * one.error
        return Polynomial(_multiplied(one.coefficients, other.coefficients), error).rounded()
    sign = -1 if step.operation == "subtract" else 1
    pairs = zip_longest(one.coefficients, other.coefficients, fillvalue=Fraction(0))
    return Polynomial(tuple(a + sign * b for a, b in pairs), one.error + other.error).rounded()


def _multiplied(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    found = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            found[i + j] += a * b
    return tuple(found)


def distance_from_half_power(found: Polynomial) -> Fraction:
    """Bound how far the computed number may lie from 2^−f, for every f of [0, 1).

    2^−f = √½·Σ (−ln 2·t)^k/k!, and what the terms of order n and more come to is at most (ln 2/2)^n/n!, since no
    derivative of order n exceeds (ln 2)^n there.
    """
    roots, logs = enclosures.sqrt(HALF, BITS), enclosures.ln(Fraction(2), BITS)
    total = found.error
    for power, coefficient in enumerate(found.coefficients):
        least, most = (root * log**power / factorial(power) for root, log in zip(roots, logs, strict=True))
        if power % 2:
            least, most = -most, -least
        total += max(abs(coefficient - least), abs(coefficient - most)) * HALF**power
    order = len(found.coefficients)
    return total + (logs[1] / 2) ** order / factorial(order)
