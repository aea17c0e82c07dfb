"""Which outputs are the answer plus a scale times some number? Models that need to know nothing of the sampler.

A sampler returns a standard variate x, and the target computes f(D) + σ·x, or f(D) + x/rate, rounding twice.

- x may be any number of the format. If the significands of σ and x, in [1, 2), have a product below 2, neighbouring
  products are as many ulps apart as the significand of σ says, and the numbers between are not reached.
- x may be a number of a narrower format, drawn in binary32 and scaled in binary64, say. Next to nothing is reached.
- x may be a multiple of 2^−g. Numbers between ½ and 2 are multiples of 2^−53, and so are their sums and differences,
  which are exact if they are small. So the difference of two exponential variates, or the sum of twelve uniforms less
  6, is often a number that has far fewer bits than a double of its size.

Where the scale is a power of two, products with any double reach every number, and the first model sees nothing.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems', for the idea. Sterbenz 1974 for exact differences. The models are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from attacklab.attacks.samplers.grid_points import Bools
from attacklab.attacks.samplers.model import Assumed, Model
from attacklab.model.floats import BINARY32, Doubles, Floats, Format

PRODUCT_ULPS = 7
"""How many ulps from (y − f(D))/σ an x with fl(f(D) + fl(σ·x)) = y can be, if the sum's rounding is finer."""

NARROW_STEPS = 1  # the same in steps of a narrower format
LATTICES = (50, 52, 53)  # exponents g of the multiples of 2^−g that are tried

Step = Callable[[Floats], Floats]
Numbers = tuple[int, Step, Step, Step]
"""What may be multiplied: how many on either side are searched; the one nearest to a value, those next above and below.
"""


def reachable(
    outputs: Floats,
    half_widths: Doubles,
    answer: float,
    assumed: Assumed,
    *,
    divides: bool,
    numbers: Callable[[Format], Numbers],
) -> Bools:
    """Whether y is the answer plus σ times some of the numbers, or plus such a number divided by the rate.

    x ↦ fl(f(D) + fl(σ·x)) never decreases, and differs from f(D) + σ·x by at most half an ulp of y and one rounding of
    σ·x. If the first of these is far larger, (y − f(D))/σ itself is such an x whenever there is one. If not, any such x
    lies within 7 ulps of it.
    """
    rounded = assumed.form.rounded
    steps, nearest, next_above, next_below = numbers(assumed.form)
    with np.errstate(all="ignore"):
        origin, factor = (rounded(np.array(value)) for value in (answer, assumed.rate if divides else assumed.scale))

        def gives(variates: Floats, outputs: Floats, half_widths: Doubles) -> Bools:
            noise = rounded(variates / factor) if divides else rounded(factor * variates)
            return np.abs(rounded(origin + noise) - outputs) <= half_widths

        noise = rounded(outputs - origin)
        above = below = nearest(rounded(noise * factor) if divides else rounded(noise / factor))
        produced = gives(above, outputs, half_widths)
        open_ = np.flatnonzero(~produced & np.isfinite(outputs))
        above, below, outputs, half_widths = above[open_], below[open_], outputs[open_], half_widths[open_]
        for _ in range(steps):
            above, below = next_above(above), next_below(below)
            hit = gives(above, outputs, half_widths) | gives(below, outputs, half_widths)
            produced[open_[hit]] = True
    return produced


def any_number(form: Format) -> Numbers:
    """All numbers of the format."""
    return PRODUCT_ULPS, form.rounded, form.next_above, form.next_below


def _narrow(form: Format, *, narrow: Format) -> Numbers:
    """The numbers of a format narrower than that of product and sum."""
    if narrow.significand_bits >= form.significand_bits:
        return any_number(form)

    def widened(step: Step) -> Step:
        return lambda values: form.rounded(step(values.astype(narrow.carrier)))

    return NARROW_STEPS, widened(narrow.rounded), widened(narrow.next_above), widened(narrow.next_below)


def _multiples(form: Format, *, exponent: int) -> Numbers:
    """The multiples of 2^−exponent; numbers of the format that are further apart are multiples themselves."""
    spacing = 2.0**-exponent

    def above(values: Floats) -> Floats:
        return np.maximum(form.rounded(values + spacing), form.next_above(values))

    def below(values: Floats) -> Floats:
        return np.minimum(form.rounded(values - spacing), form.next_below(values))

    return PRODUCT_ULPS, lambda values: form.rounded(np.rint(values / spacing) * spacing), above, below


PRODUCTS = tuple(
    model
    for words, divides in (("times the scale", False), ("divided by the rate", True))
    for model in (
        Model(
            f"any number, {words}",
            partial(reachable, divides=divides, numbers=any_number),
        ),
        Model(
            f"any binary32 number, {words}",
            partial(reachable, divides=divides, numbers=partial(_narrow, narrow=BINARY32)),
        ),
        *(
            Model(
                f"any multiple of 2^−{exponent}, {words}",
                partial(reachable, divides=divides, numbers=partial(_multiples, exponent=exponent)),
            )
            for exponent in LATTICES
        ),
    )
)
ANY = PRODUCTS[0]
