"""The vectors of type `rounding`: rational numbers, and exact sums of floats, in each format and rounding mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import gmpy2

from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format
from attacklab.vectors import Case, Group, VectorFile
from experiments.vectors.naive_laws import context_of
from experiments.vectors.notes import DESCRIPTIONS, NOTES

SOURCE = "IEEE 754-2019, sections 3.4 and 4.3"

MODES = {
    "nearest": gmpy2.RoundToNearest,
    "toward_zero": gmpy2.RoundToZero,
    "upward": gmpy2.RoundUp,
    "downward": gmpy2.RoundDown,
}


def roundings() -> VectorFile:
    """The file."""
    groups = [Group(form.name, SOURCE, list(_cases(form))) for form in (BINARY64, BINARY32, BFLOAT16, BINARY16)]
    return VectorFile(
        "rounding", DESCRIPTIONS["rounding"], NOTES, [*groups, Group("sum_of_binary64", SOURCE, list(_sums()))]
    )


def rounded(number: Fraction, format_: Format, mode: int) -> float:
    """The number of a format that a rational one becomes.

    Args:
        number: the rational number.
        format_: the format.
        mode: one of gmpy2's rounding modes.
    """
    with context_of(format_, mode):
        return float(gmpy2.mpfr(gmpy2.mpq(number)))


def _case(comment: str, flag: str, number: Fraction, format_: Format, terms: Sequence[float] = ()) -> Case:
    by_mode = {name: rounded(number, format_, mode) for name, mode in MODES.items()}
    return Case(comment, [flag], {"value": number, "terms": list(terms), "format": format_.name, **by_mode})


def _cases(format_: Format) -> Iterator[Case]:
    bits, least, greatest = format_.significand_bits, Fraction(format_.least), Fraction(2) ** format_.greatest_exponent
    ulp = Fraction(1, 1 << (bits - 1))
    normal = Fraction(2) ** format_.least_exponent
    largest = greatest * (2 - ulp)
    for comment, flag, number in (
        ("zero", "Basic", Fraction(0)),
        ("one", "Basic", Fraction(1)),
        ("a third", "Basic", Fraction(1, 3)),
        ("a tenth", "Basic", Fraction(1, 10)),
        ("a tie, to the even number below", "Tie", 1 + ulp / 2),
        ("a tie, to the even number above", "Tie", 1 + 3 * ulp / 2),
        ("a little more than a tie", "Tie", 1 + ulp / 2 + ulp**4),
        ("a little less than a tie", "Tie", 1 + ulp / 2 - ulp**4),
        ("a tie that carries into the next power of two", "Tie", 2 - ulp / 2),
        ("the least number", "Subnormal", least),
        ("half of the least number, a tie", "Subnormal", least / 2),
        ("a little more than half of it", "Subnormal", least / 2 + least * ulp),
        ("three halves of it, a tie", "Subnormal", 3 * least / 2),
        ("a third of the least normal number", "Subnormal", normal / 3),
        ("the least normal number less half a step, a tie", "Subnormal", normal - least / 2),
        ("the largest number", "Overflow", largest),
        ("half a step above it", "Overflow", largest + greatest * ulp / 2),
        ("a little less than that", "Overflow", largest + greatest * ulp / 2 - 1),
        ("twice the largest number", "Overflow", 2 * largest),
        ("far beyond", "Overflow", Fraction(10) ** 400),
    ):
        yield _case(comment, flag, number, format_)
        if number:
            yield _case(f"minus: {comment}", flag, -number, format_)


SUMS: tuple[tuple[str, Sequence[float]], ...] = (
    ("cancellation leaves what was lost", (2.0**53, 1.0, -(2.0**53))),
    ("ones that are lost one by one", (2.0**53, *[1.0] * 8)),
    ("halves of the last place", (1.0, 2.0**-53, 2.0**-53)),
    ("a tie that a later term decides", (1.0, 2.0**-53, 2.0**-105)),
    ("a tie that a later term decides downward", (1.0, 2.0**-53, -(2.0**-105))),
    ("an overflow on the way only", (2.0**1023, 2.0**1023, -(2.0**1023))),
    ("tenths", (0.1,) * 10),
    ("from large to small", (1e300, 1e200, 1e100, 1.0, -1e100, -1e200, -1e300)),
    ("subnormal numbers", (2.0**-1074, 2.0**-1073, -(2.0**-1074))),
    ("the largest and the least", (2.0**1023, 2.0**-1074, -(2.0**1023))),
    ("terms of both signs that sum to 0", (0.1, 0.2, -0.3, 5.551115123125783e-17 / 2)),
    ("no terms", ()),
)


def _sums() -> Iterator[Case]:
    for comment, terms in SUMS:
        yield _case(comment, "ExactSum", sum(map(Fraction, terms), Fraction(0)), BINARY64, terms)
