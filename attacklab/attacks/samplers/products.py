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
from attacklab.floats import BINARY32, Doubles, Floats, Format

PRODUCT_ULPS = 7
"""How many ulps from (y − f(D))/σ an x with fl(f(D) + fl(σ·x)) = y can be, if the sum's rounding is finer."""

NARROW_STEPS = 1  # the same in steps of a narrower format
LATTICES = (50, 52, 53)  # exponents g of the multiples of 2^−g that are tried

Step = Callable[[Floats], Floats]


def any_product(outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed, *, divides: bool) -> Bools:
    """Whether y is the answer plus σ times some number of the format.

    x ↦ fl(f(D) + fl(σ·x)) never decreases, and differs from f(D) + σ·x by at most half an ulp of y and one rounding of
    σ·x. If the first of these is far larger, (y − f(D))/σ itself is such an x whenever there is one. If not, any such x
    lies within 7 ulps of it.
    """
    form = assumed.form
    return _searched(
        outputs, half_widths, answer, assumed, divides, PRODUCT_ULPS, form.rounded, form.next_above, form.next_below
    )


def narrow_product(
    outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed, *, divides: bool, narrow: Format
) -> Bools:
    """Whether y is the answer plus σ times some number of a format narrower than that of product and sum."""
    if narrow.significand_bits >= assumed.form.significand_bits:
        return any_product(outputs, half_widths, answer, assumed, divides=divides)
    return _searched(
        outputs,
        half_widths,
        answer,
        assumed,
        divides,
        NARROW_STEPS,
        *(_widened(step, narrow, assumed.form) for step in (narrow.rounded, narrow.next_above, narrow.next_below)),
    )


def lattice_product(
    outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed, *, divides: bool, exponent: int
) -> Bools:
    """Whether y is the answer plus σ times some multiple of 2^−exponent."""
    spacing = 2.0**-exponent

    # Numbers of the format that are further apart than the multiples are multiples themselves.
    def nearest(values: Floats) -> Floats:
        multiples: Floats = assumed.form.rounded(np.rint(values / spacing) * spacing)
        return multiples

    def above(values: Floats) -> Floats:
        return np.maximum(assumed.form.rounded(values + spacing), assumed.form.next_above(values))

    def below(values: Floats) -> Floats:
        return np.minimum(assumed.form.rounded(values - spacing), assumed.form.next_below(values))

    return _searched(outputs, half_widths, answer, assumed, divides, PRODUCT_ULPS, nearest, above, below)


def _widened(step: Step, narrow: Format, wide: Format) -> Step:
    def widened(values: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return wide.rounded(step(values.astype(narrow.carrier)))

    return widened


def _searched(
    outputs: Floats,
    half_widths: Doubles,
    answer: float,
    assumed: Assumed,
    divides: bool,
    steps: int,
    nearest: Step,
    next_above: Step,
    next_below: Step,
) -> Bools:
    rounded = assumed.form.rounded
    with np.errstate(all="ignore"):
        there, factor = (rounded(np.array(value)) for value in (answer, assumed.rate if divides else assumed.scale))

        def gives(variates: Floats, outputs: Floats, half_widths: Doubles) -> Bools:
            noise = rounded(variates / factor) if divides else rounded(factor * variates)
            return np.abs(rounded(there + noise) - outputs) <= half_widths

        noise = rounded(outputs - there)
        above = below = nearest(rounded(noise * factor) if divides else rounded(noise / factor))
        found = gives(above, outputs, half_widths)
        open_ = np.flatnonzero(~found & np.isfinite(outputs))
        above, below, outputs, half_widths = above[open_], below[open_], outputs[open_], half_widths[open_]
        for _ in range(steps):
            above, below = next_above(above), next_below(below)
            hit = gives(above, outputs, half_widths) | gives(below, outputs, half_widths)
            found[open_[hit]] = True
    return found


def _source(words: str, nearest: str, above: str, below: str, steps: int, *, divides: bool) -> str:
    """`reached` for one double, with expressions for the number nearest to x, and those next to `high` and `low`."""
    quotient, product = ("(y - answer) * rate", "x / rate") if divides else ("(y - answer) / scale", "scale * x")
    return f'''
def reached(y, answer, scale, rate):
    """Whether y is the answer plus noise, {words}; what may have been drawn is sought near its real value."""
    if not math.isfinite(y):
        return False
    x = {quotient}
    low = high = {nearest}
    tried = [low]
    for _ in range({steps}):
        high, low = {above}, {below}
        tried += [high, low]
    return any(answer + {product} == y for x in tried)
'''.lstrip()


def _source_of_multiples(words: str, exponent: int, *, divides: bool) -> str:
    spacing = f"2.0**-{exponent}"
    above = f"max(high + {spacing}, math.nextafter(high, math.inf))"
    below = f"min(low - {spacing}, math.nextafter(low, -math.inf))"
    nearest = f"round(x / {spacing}) * {spacing} if abs(x) < 2.0**{exponent} else x"
    return _source(words, nearest, above, below, PRODUCT_ULPS, divides=divides)


_NEXT = "math.nextafter(high, math.inf)", "math.nextafter(low, -math.inf)"
_NEXT_BINARY32 = (
    "float(np.nextafter(np.float32(high), np.float32(np.inf)))",
    "float(np.nextafter(np.float32(low), np.float32(-np.inf)))",
)

PRODUCTS = tuple(
    model
    for words, divides in (("times the scale", False), ("divided by the rate", True))
    for model in (
        Model(
            f"any number, {words}",
            partial(any_product, divides=divides),
            source=_source(f"any number, {words}", "x", *_NEXT, PRODUCT_ULPS, divides=divides),
        ),
        Model(
            f"any binary32 number, {words}",
            partial(narrow_product, divides=divides, narrow=BINARY32),
            source=_source(
                f"any binary32 number, {words}", "float(np.float32(x))", *_NEXT_BINARY32, NARROW_STEPS, divides=divides
            ),
        ),
        *(
            Model(
                f"any multiple of 2^−{exponent}, {words}",
                partial(lattice_product, divides=divides, exponent=exponent),
                source=_source_of_multiples(f"any multiple of 2^−{exponent}, {words}", exponent, divides=divides),
            )
            for exponent in LATTICES
        ),
    )
)
ANY = PRODUCTS[0]
