"""In which format were numbers computed, if they come in a wider one, and how were they rounded afterwards?

A binary32 number keeps its value in an array of doubles, in a Python list or in text, so the type that carries an
output does not tell how it was computed. The last bits of a few dozen outputs do. Formats and grids are tried from
their values alone:

- p significant bits, if the lower bits that a number on the outputs' common grid could have are all 0. Numbers of a
  format have finer last places where they are small, numbers on a grid do not; so integers are not taken for floats.
- multiples of 10^−k, or numbers of k significant decimal digits, from their shortest decimal texts;
- decimal texts of numbers of p significant bits (a binary32 number printed and read as a double);
- any other step of a grid is found by `common_step`.

Each is believed only if numbers without it would show it with probability 2^−64 or less, counting every bit or part of
a digit that could have been otherwise. So too few outputs, or outputs that are all powers of two, keep the format of
their type.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from attacklab.attacks.base import as_released
from attacklab.model.floats import BINARY16, BINARY32, Doubles, Floats, Format, format_of, format_of_bits, half_ulp
from attacklab.model.targets import Outputs

LOOKED_AT = 256
"""The most outputs that are looked at. It is large because one decimal text of a binary32 number says little."""

LEAST = 1e-290
"""Numbers of smaller magnitude are left out, because a unit in their last binary or decimal place may underflow."""

EVIDENCE_BITS = 64 + 6
"""Bits of evidence that a format or grid needs: by chance, one of under 2^6 tried has them once in 2^64 times."""

ROUNDED_TWICE = 1 + 2.0**-20  # the relative error of half a decimal step computed in doubles, and more

STEP_ULPS = 64
"""The most ulps of the largest number by which numbers may miss multiples of a step. A step must exceed it."""

FEWEST_LARGER = 16  # this many numbers on a lattice are all even multiples of its step with negligible probability

MOST_DIGITS = 15  # doubles hold every decimal number of this many digits apart


@dataclass(frozen=True, slots=True)
class Released:
    """The format in which numbers were computed, and the decimal grid that they were rounded to, if any.

    Attributes:
        form: the narrowest binary format that holds the numbers as they were before they were rounded to a grid.
        places: k if the numbers were rounded to multiples of 10^−k, else None.
        digits: k if the numbers were rounded to k significant decimal digits, else None.
    """

    form: Format
    places: int | None = None
    digits: int | None = None

    @property
    def description(self) -> str:
        """Return the format and the grid in words."""
        if self.places is not None:
            return f"{self.form.name} rounded to {self.places} decimal places"
        if self.digits is not None:
            return f"{self.form.name} rounded to {self.digits} significant digits"
        return self.form.name

    def numbers(self, outputs: Outputs) -> Floats:
        """Return outputs as numbers of the format, in the numpy type that carries it."""
        return self.form.rounded(as_released(outputs))

    def half_widths(self, numbers: Floats) -> Doubles:
        """Return the most by which the rounding to the grid moved each number; 0 without a grid.

        Args:
            numbers: finite numbers, as `Released.numbers` returns them.
        """
        doubles = numbers.astype(np.float64)
        if self.places is not None:
            return np.full(doubles.shape, 0.5 * 10.0**-self.places)
        if self.digits is not None:
            return 0.5 * 10.0 ** (_decimal_exponents(doubles) - self.digits + 1)
        return np.zeros(doubles.shape)


def inferred(outputs: Outputs) -> Released:
    """Infer the format and the decimal grid of numbers from their values.

    Args:
        outputs: numbers of any type, one an output; failures and infinities among them are left out.

    Returns:
        What the values show; without evidence, the format of the numbers' type and no grid.
    """
    by_type = format_of(outputs)
    values = as_released(outputs[:LOOKED_AT]).astype(np.float64)
    values = np.abs(values[np.isfinite(values) & (np.abs(values) >= LEAST)])
    if not values.size:
        return Released(by_type)
    form = _binary(values, by_type)
    if form is not by_type:
        return Released(form)
    return _decimal(values, form) or Released(form)


def merged(first: Released, second: Released) -> Released:
    """Return the format and grid of numbers, from what was inferred for two parts of them.

    The format is the wider one, because an answer of 0 leaves noise of a narrower format unchanged. There is a grid
    only if both parts have one: the finer one, or the one of significant digits if the other is of decimal places.
    """
    form = max(first.form, second.form, key=lambda candidate: candidate.significand_bits)
    if first.places is not None and second.places is not None:
        return Released(form, places=max(first.places, second.places))
    if first.digits is not None and second.digits is not None:
        return Released(form, digits=max(first.digits, second.digits))
    written = [released.digits for released in (first, second) if released.digits is not None]
    if written and None not in (first.places or first.digits, second.places or second.digits):
        return Released(form, digits=written[0])
    return Released(form)


def _binary(values: Doubles, by_type: Format) -> Format:
    tops, lows = _exponents(values)
    bits = int((tops - lows).max()) + 1
    possible = np.minimum(by_type.significand_bits, tops - lows.min() + 1)
    # Powers of two are on too many other grids to be taken for numbers of one significant bit.
    if bits == 1 or np.maximum(possible - bits, 0).sum() < EVIDENCE_BITS:
        return by_type
    return format_of_bits(bits, float(values.max())) or by_type


def _exponents(values: Doubles) -> tuple[np.ndarray, np.ndarray]:
    """Return the exponents of the highest and the lowest bit that is 1 in each of some numbers greater than 0."""
    significands, exponents = np.frexp(values)
    whole = np.ldexp(significands, 53).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return exponents - 1, exponents - 53 + trailing


def _decimal(values: Doubles, form: Format) -> Released | None:
    """Return the decimal grid of the values, or the narrower format whose decimal texts they are; None if neither."""
    texts = [Decimal(repr(value)).normalize().as_tuple() for value in values.tolist()]
    ends = np.array([float(text.exponent) for text in texts])
    for narrow in (standard for standard in (BINARY16, BINARY32) if standard.significand_bits < form.significand_bits):
        moved = np.abs(values - narrow.rounded(values).astype(np.float64))
        written = moved.any() and (moved <= 0.5 * 10.0**ends * ROUNDED_TWICE).all()
        if written and _evidence(2 * half_ulp(values, narrow), 10.0**ends):
            return Released(narrow)
    places, digits = -int(ends.min()), max(len(text.digits) for text in texts)
    if digits > MOST_DIGITS:
        return None
    last_places = 2 * half_ulp(values, form)
    grids = (
        (Released(form, places=places), np.full(values.shape, 10.0**-places)),
        (Released(form, digits=digits), 10.0 ** (_decimal_exponents(values) - digits + 1)),
    )
    grid, step = max(grids, key=lambda pair: float(_coarser_by(pair[1], last_places).sum()))
    return grid if _evidence(step, last_places) else None


def _evidence(coarse: Doubles, fine: Doubles) -> bool:
    """Whether it is hardly chance that all numbers are multiples of `coarse`, if each is some multiple of `fine`."""
    return float(np.maximum(_coarser_by(coarse, fine), 0).sum()) >= EVIDENCE_BITS


def _coarser_by(coarse: Doubles, fine: Doubles) -> Doubles:
    """Return log2(coarse/fine) for each step, without the quotient, which might underflow."""
    bits: Doubles = np.log2(coarse) - np.log2(fine)
    return bits


def _decimal_exponents(values: Doubles) -> Doubles:
    """Return the exponent of each number's first decimal digit; 0 for 0."""
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log10(np.abs(values)))
    return np.where(np.isfinite(exponents), exponents, 0.0)


def common_step(values: Doubles) -> float | None:
    """Return a step that all values are multiples of, up to rounding: a power of two or ten, or their common divisor.

    The greatest common divisor is found by Euclid's algorithm on rounded numbers, so only if the values are at most
    some thousands of steps.

    Args:
        values: the numbers; failures, infinities and zeros among them are left out.

    Returns:
        The step, or None unless the values would be its multiples by chance with probability 2^−64 or less.
    """
    sizes = np.unique(np.abs(values[np.isfinite(values) & (values != 0)])[:LOOKED_AT])
    if not sizes.size:
        return None
    error = STEP_ULPS * math.ulp(float(sizes[-1]))
    powers = [2.0**power for power in range(math.frexp(error)[1], math.frexp(float(sizes[-1]))[1])]
    tried = [10.0**-places for places in range(MOST_DIGITS)] + [_euclid(sizes.tolist(), error)]
    larger = sizes[sizes.size // 2 :]
    for step in sorted(tried + powers, reverse=True):
        if larger.size >= FEWEST_LARGER and _are_multiples(larger, 2 * step, error):
            continue  # they are floats of few bits, which have finer last places where they are small
        if _are_multiples(sizes, step, error) and sizes.size * math.log2(step / (2 * error)) >= EVIDENCE_BITS:
            return step
    return None


def _are_multiples(sizes: Doubles, step: float, error: float) -> bool:
    return bool((np.abs(sizes - np.rint(sizes / step) * step) <= error).all())


def _euclid(sizes: list[float], error: float) -> float:
    """Return the greatest common divisor of rounded numbers greater than 0; meaningless if it is close to `error`."""
    step = sizes[0]
    for size in sizes:
        rest = abs(size - round(size / step) * step)
        while rest > error:
            step, rest = rest, abs(step - round(step / rest) * rest)
        if step < error:
            break
        step = size / round(size / step)
    return step
