"""Which outputs can a Laplace sampler produce for a true answer? Samplers that invert one uniform on a fine grid.

A textbook sampler computes f(D) ± λ·log(v) for a v on the grid of multiples of 2^−p, where p is the number of
significant bits. Others divide by the rate ε/Δ, as Python's `random.expovariate` and C++'s
`std::exponential_distribution` do, or draw fewer bits. To decide whether y is such a value, the sampler is inverted:
v ≈ e^(−|y − f|/λ) leaves a handful of grid points, and each is put through the sampler's own arithmetic. It matters
which logarithm is modelled: numpy's and the C library's differ in the last bit on many inputs. In formats narrower than
doubles both are rounded from doubles; an output for which a library's own logarithm differs from that is not
recognised.

Source: Mironov 2012, 'On Significance of the Least Significant Bits for Differential Privacy', section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from attacklab.model.floats import BINARY64, Doubles, Floats, Format, half_ulp

Integers: TypeAlias = NDArray[np.int64]

PERIOD = 32  # whether an integer can be drawn depends on its residue by this power of two
WIDEST_SEARCH = 24  # if more grid points than this might give y, one of them does
CHUNK = 1 << 13  # how many outputs are inverted at a time, so that the work stays in the cache


@dataclass(frozen=True, slots=True)
class Residues:
    """The integers that leave some rest when divided by a power of two up to `PERIOD`."""

    divisor: int
    rests: tuple[int, ...]

    def __call__(self, numerators: Integers) -> NDArray[np.bool_]:
        """Which numbers are among them."""
        return np.isin(numerators % self.divisor, self.rests)

    def __str__(self) -> str:
        """An expression that says whether k is among them."""
        return (
            f"k % {self.divisor} == {self.rests[0]}" if len(self.rests) == 1 else f"k % {self.divisor} in {self.rests}"
        )


EVERY, EVEN, OF_48_BITS = Residues(1, (0,)), Residues(2, (0,)), Residues(32, (0,))
ONE_MOD_FOUR, THREE_MOD_FOUR = Residues(4, (1,)), Residues(4, (3,))
# Whether (2.0 − U) − U can be these: 2.0 − U is rounded to even, which leaves four of the residues mod 8.
ROUNDED_COMPLEMENT = Residues(8, (0, 1, 4, 7))


@dataclass(frozen=True, slots=True)
class SamplerModel:
    """How a sampler computes ±λ·log(v).

    Attributes:
        description: the sampler in words.
        log: its logarithm, elementwise.
        positive: which integers v·2^p can give noise greater than 0.
        negative: which integers v·2^p can give noise less than 0.
        divides: whether it divides by the rate instead of multiplying by λ.
    """

    description: str
    log: Callable[[Floats], Floats]
    positive: Residues
    negative: Residues
    divides: bool = False


def _log1p_of_complement(uniforms: Floats) -> Floats:
    """log1p(−w) for w = 1 − v, which is exact for every v on the grid."""
    logarithms: Floats = np.log1p(uniforms - 1)
    return logarithms


def library_log(uniforms: Floats) -> Floats:
    """The C library's log, elementwise; numpy's ufunc has an implementation of its own."""
    logarithms: Floats = scipy.special.xlogy(1.0, uniforms)
    return logarithms


TEXTBOOK = SamplerModel("inverse CDF with numpy's log", np.log, EVEN, EVEN)
TEXTBOOK_LIBRARY = SamplerModel("inverse CDF with the C library's log", library_log, EVEN, EVEN)
SIGNED = SamplerModel("a sign times numpy's log of a uniform", np.log, EVERY, EVERY)
NUMPY = SamplerModel("numpy's C code, log(U + U) and log((2.0 − U) − U)", library_log, ROUNDED_COMPLEMENT, EVEN)
# U is 2W − 1 + 2^−p for a multiple W of 2^(1−p), and v = 1 − |U|.
JAX = SamplerModel("JAX's code, log1p(−|U|) for U above −1", np.log, ONE_MOD_FOUR, THREE_MOD_FOUR)
TEXTBOOK_LOG1P = SamplerModel("inverse CDF with the C library's log1p", _log1p_of_complement, EVEN, EVEN)
SIGNED_LIBRARY = SamplerModel("a sign times the C library's log of a uniform", library_log, EVERY, EVERY)
DRAND48 = SamplerModel("the C library's log of a uniform of 48 bits", library_log, OF_48_BITS, OF_48_BITS)
MULTIPLYING = (TEXTBOOK, TEXTBOOK_LIBRARY, SIGNED, NUMPY, JAX, TEXTBOOK_LOG1P, SIGNED_LIBRARY, DRAND48)
DIVIDING = tuple(
    replace(model, description=f"{model.description}, divided by ε/Δ", divides=True)
    for model in (TEXTBOOK, TEXTBOOK_LIBRARY, TEXTBOOK_LOG1P, SIGNED, SIGNED_LIBRARY, DRAND48)
)
MODELS = (*MULTIPLYING, *DIVIDING)


def grid_of(released: Format) -> float:
    """The number that uniforms of a format are multiples of 1 over."""
    return 2.0**released.significand_bits


def reachable(
    outputs: Floats,
    answer: float,
    scale: float,
    model: SamplerModel,
    released: Format = BINARY64,
    *,
    rate: float | None = None,
    half_widths: Doubles | None = None,
) -> NDArray[np.bool_]:
    """Which outputs the sampler can produce for a true answer.

    Args:
        outputs: shape (n,).
        answer: the true answer f(D).
        scale: λ of the noise, in the unit of the answer.
        model: how the sampler computes.
        released: the format in which it computes and in which the outputs are.
        rate: what a sampler that divides divides by; 1/λ by default.
        half_widths: how far each output may lie from the sampler's, if it was rounded afterwards; 0 by default.

    Returns:
        A bool for each output; exact, unless a grid point lies outside the search window, which was never seen.
    """
    produced = np.empty(outputs.shape, dtype=bool)
    factor = (1 / scale if rate is None else rate) if model.divides else scale
    for start in range(0, len(outputs), CHUNK):
        chunk = slice(start, start + CHUNK)
        doubles = outputs[chunk].astype(np.float64, copy=False)
        widths = half_widths[chunk] if half_widths is not None and half_widths[chunk].any() else None
        produced[chunk] = _reachable_chunk(doubles, widths, answer, scale, factor, model, released)
    return produced


def _reachable_chunk(
    outputs: Doubles,
    half_widths: Doubles | None,
    answer: float,
    scale: float,
    factor: float,
    model: SamplerModel,
    released: Format,
) -> NDArray[np.bool_]:
    grid = grid_of(released)
    origin, by = (released.rounded(np.array([value])) for value in (answer, factor))
    unit_roundoff = 2.0**-released.significand_bits
    with np.errstate(all="ignore"):
        noise = outputs - float(origin[0])
        depth = np.abs(noise) * float(by[0]) if model.divides else np.abs(noise) / float(by[0])
        centre = np.exp(-depth) * grid
        # The centre may miss the grid point by the rounding of y and of y − f; by that of the depth (one unit in the
        # last place for the logarithm, half of one each for product and quotient); and by one for the exponential.
        relative = unit_roundoff * (4 * depth + 2)
        if answer != 0:
            rounding = half_ulp(outputs, released) + half_ulp(noise, released)
            relative += np.expm1((rounding if half_widths is None else rounding + half_widths) / scale)
        elif half_widths is not None:
            relative += np.expm1(half_widths / scale)
        width = centre * relative
        # Start no lower than the first grid point. If an output is a failure, there is nothing to search.
        low = np.maximum(np.ceil(centre - width), 1)
        high = np.minimum(np.floor(centre + width), grid)
    produced = high - low > WIDEST_SEARCH
    searched = (low <= high) & ~produced

    def gives(points: Doubles, rows: Integers, *, above: bool) -> NDArray[np.bool_]:
        logarithms = released.rounded(model.log(points / grid))
        drawn = released.rounded(logarithms / by if model.divides else by * logarithms)
        error = np.abs(released.rounded(origin - drawn if above else origin + drawn) - outputs[rows])
        return np.less_equal(error, 0 if half_widths is None else half_widths[rows])

    # Noise that the sum rounds away may have had either sign.
    for above, wanted in ((True, noise >= 0), (False, noise <= 0)):
        open_ = np.flatnonzero(searched & wanted)
        least, most = low[open_], high[open_]
        middle = np.clip(np.rint(centre[open_]), least, most)
        allowed = (model.positive if above else model.negative)(np.arange(PERIOD))
        step = 0
        while open_.size:
            # The point nearest to the centre is the likeliest; the others come in turn on either side of it.
            point = middle + step
            tried = np.flatnonzero(
                allowed[point.astype(np.int64) & (PERIOD - 1)] & (point <= most if step > 0 else point >= least)
            )
            hit = tried[gives(point[tried], open_[tried], above=above)]
            produced[open_[hit]] = True
            step = -step if step > 0 else 1 - step
            left = np.maximum(most - middle, middle - least) >= abs(step)
            left[hit] = False
            rest = np.flatnonzero(left)
            open_, middle, least, most = open_[rest], middle[rest], least[rest], most[rest]
    return produced
