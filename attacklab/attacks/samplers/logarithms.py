"""Which outputs are the answer plus a scale times the logarithm of some double? A model of sums of logarithms.

The log of a quotient of uniforms, log(u₁/u₂), or of a product, log(u₁·u₂·u₃), is the log of some double r, and of
almost any double. That says nothing about large noise. Yet doubles near 1 are 2^−53 or 2^−52 apart, far more than the
doubles near log r ≈ 0 are. So most numbers near the answer are not reached.

The sum −log u₁ − log u₂ is another matter: its terms are rounded apart, and it reaches nearly every double. So are
products with a root, √(2E)·N, ratios of uniforms as in Python's `random.normalvariate`, and one normal of a Box–Muller
pair without the other. What is left of those is their product with the scale (see `products`).

Source: Mironov 2012, section 4, for the idea; the model is ours.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from attacklab.attacks.samplers.grid_points import Bools
from attacklab.attacks.samplers.laplace import library_log
from attacklab.attacks.samplers.model import Assumed, Model
from attacklab.model.floats import Doubles, Floats

SEARCHED_ULPS = 8  # how many doubles on either side of e^((y − f)/λ) may be the argument
DENSE = 1.0  # beyond so many scales from the answer, nearly every double is a logarithm; all of them are taken to be


def logarithm(outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed, *, sign: float) -> Bools:
    """Whether y is f(D) + sign·λ·log(r) for some double r; with sign 0, whether it is f(D) ± λ·log(r) for an r below 1.

    Args:
        outputs: shape (n,).
        half_widths: how far each may lie from the sampler's.
        answer: the true answer f(D).
        assumed: λ, and the format, in which the logarithms are rounded from doubles.
        sign: 1, −1 or 0.
    """
    rounded = assumed.form.rounded
    with np.errstate(all="ignore"):
        origin, scale = (rounded(np.array(value)) for value in (answer, assumed.scale))
        noise = (outputs.astype(np.float64) - float(origin)) / float(scale)
        factor = np.where(noise > 0, -1.0, 1.0) if sign == 0 else np.full(noise.shape, sign)
        produced = np.abs(noise) > DENSE
        open_ = np.flatnonzero(~produced & np.isfinite(noise))
        factor, half_widths, outputs = factor[open_], half_widths[open_], outputs[open_]
        above = below = rounded(np.exp(factor * noise[open_]))

        def gives(arguments: Floats) -> Bools:
            logarithms = rounded(library_log(arguments.astype(np.float64)))
            drawn = rounded(scale * rounded(logarithms * factor))
            return np.abs(rounded(origin + drawn) - outputs) <= half_widths

        hit = gives(above)
        for _ in range(SEARCHED_ULPS):
            above, below = assumed.form.next_above(above), assumed.form.next_below(below)
            hit |= gives(above) | gives(below)
        produced[open_[hit]] = True
    return produced


LOGARITHMS = tuple(
    Model(words, partial(logarithm, sign=sign))
    for words, sign in (
        ("the log of any double", 1.0),
        ("minus the log of any double", -1.0),
        ("a sign times the log of any double below 1", 0.0),
    )
)
