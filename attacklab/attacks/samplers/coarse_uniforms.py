"""Which outputs can come from a uniform of few bits? Models that do not depend on how the rest is computed.

C's `rand()` has 15 or 31 bits, one word of MT19937 has 32, and binary32 uniforms have 24. Then u is one of M values,
such as k/2^31, k/(2^31 − 1), (k + 1)/(2^31 + 1) or (k + ½)/2^32, and noise has no more values than that. A double is
precise enough to find k whatever library's logarithm, sine or inverse CDF was used, in whatever order the operations
were done, and even if the result was rounded to a dozen digits: y is reached if the uniform that gives y in real
arithmetic lies within all these errors of one of the M values.

Laplace noise is inverted by e^(−|y − f|/λ), which is u, 1 − u, or 1 − |2u − 1|; one normal by Φ; and a pair of normals
by the radius of Box–Muller, or by the point in the disc of Marsaglia's polar method.

Source: Mironov 2012, section 4, for the idea; the models are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy

from attacklab.attacks.samplers.grid_points import Bools
from attacklab.attacks.samplers.model import Assumed, Model
from attacklab.model.floats import Doubles, Floats, half_ulp

COUNTS = (
    *((f"2^{bits}", float(1 << bits)) for bits in (16, 24, 33)),
    *((f"2^{bits} {sign} 1", (1 << bits) + step) for bits in (15, 31, 32) for sign, step in (("−", -1.0), ("+", 1.0))),
)
"""M in words, and M. Multiples of 2^−16 include those of 2^−15; multiples of 2^−33 include k/2^31 and (k + ½)/2^32."""

ROUNDINGS = 16.0  # how many half ulps of the uniform, and of the noise, the sampler's own arithmetic may be off
DECISIVE = 0.25  # if the error is more of a step than this, the output counts as reached


def _error(outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed) -> tuple[Doubles, Doubles]:
    """The noise in units of its scale, and its greatest error."""
    doubles = outputs.astype(np.float64)
    noise = doubles - answer
    moved = half_widths + (half_ulp(doubles, assumed.form) if answer else 0.0)
    unit_roundoff = 2.0**-assumed.form.significand_bits
    noise = noise / assumed.scale
    return noise, moved / assumed.scale + ROUNDINGS * unit_roundoff * np.abs(noise)


def _on_grid(uniforms: Doubles, errors: Doubles, count: float) -> Bools:
    steps, errors = uniforms * count, errors * count
    nearest = np.rint(steps)
    near = np.abs(steps - nearest) <= errors
    return np.isfinite(steps) & (nearest >= 0) & (nearest <= count) & (near | (errors > DECISIVE))


Inverse = Callable[[Doubles, Doubles], tuple[Doubles, Doubles]]
"""Takes noise in units of its scale, and its error, and gives the uniform that made it, and the error of that."""


def _reachable(
    outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed, *, count: float, inverse: Inverse
) -> Bools:
    """Which outputs, or pairs of them, come from a uniform, or from one each, that is a multiple of 1/count."""
    with np.errstate(all="ignore"):
        uniforms, errors = inverse(*_error(outputs, half_widths, answer, assumed))
        rounding = ROUNDINGS * 2.0**-assumed.form.significand_bits  # the error of uniforms near 1
        produced = _on_grid(uniforms, errors + rounding, count)
    return np.asarray(produced.all(axis=1)) if produced.ndim > 1 else produced


def _laplace(noise: Doubles, error: Doubles) -> tuple[Doubles, Doubles]:
    uniform = np.exp(-np.abs(noise))
    return uniform, uniform * np.expm1(error)


def _inverse_cdf(noise: Doubles, error: Doubles) -> tuple[Doubles, Doubles]:
    density = np.exp(-noise * noise / 2) / math.sqrt(2 * math.pi)
    return scipy.special.ndtr(noise), density * error


def _box_muller(noise: Doubles, error: Doubles) -> tuple[Doubles, Doubles]:
    """The radius alone tells: the angle's uniform may be one of another number of values."""
    radial = np.exp(-(noise * noise).sum(axis=1) / 2)
    return radial, radial * np.expm1(((np.abs(noise) + error) * error).sum(axis=1))


def _polar(noise: Doubles, error: Doubles) -> tuple[Doubles, Doubles]:
    """Either coordinate may come first, since each lies on the same grid."""
    square = (noise * noise).sum(axis=1)
    moved = 2 * ((np.abs(noise) + error) * error).sum(axis=1)
    unit = np.sqrt(np.exp(-square / 2) / square)[:, np.newaxis]
    points = noise * unit
    relative = (np.expm1(moved) + moved / square)[:, np.newaxis]
    return (points + 1) / 2, error * unit + np.abs(points) * relative


def _models(words: str, inverse: Inverse, answers: int = 1) -> tuple[Model, ...]:
    return tuple(
        Model(
            f"{words} of {name} uniforms",
            partial(_reachable, count=count, inverse=inverse),
            answers,
            coarse=True,
        )
        for name, count in COUNTS
    )


LAPLACE = _models("inverse CDF", _laplace)
GAUSSIAN = (
    *_models("inverse CDF", _inverse_cdf),
    *_models("Box–Muller", _box_muller, 2),
    *_models("polar method", _polar, 2),
)
