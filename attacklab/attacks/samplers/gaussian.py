"""Which outputs can a Gaussian sampler produce for a true answer? The models behind the attack `low_bit_gaussian`.

A model decides whether y = fl(f(D) + fl(σ·x)) for some x that the sampler returns. It inverts the sampler to a window
of grid points, wide enough for every rounding on the way, and puts each point through the sampler's own arithmetic.

- Box–Muller and Marsaglia's polar method turn two uniforms into two normals. A pair of outputs leaves about a hundred
  candidates for the uniforms. One output alone leaves 2^53, too many to search and to distinguish anything.
- The inverse CDF turns one uniform into one normal, which leaves about a dozen candidates.
- numpy's ziggurat returns m·w for one of 2^52 (binary32: 2^23) integers m and one of 256 steps w. It is easy to search,
  but if |x| > 2^−6, almost every number is a multiple in some layer, and the model distinguishes nothing.

One normal of a pair without the other leaves too many uniforms, and so do ratios of uniforms and sums of many normals:
what shows of those is in `products`. Uniforms of few bits are in `coarse_uniforms`.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems', for the idea and for the samplers that make pairs. The inverse CDF and numpy's ziggurat
are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeAlias

import numpy as np
import scipy

from attacklab.attacks.samplers.grid_points import Bools, GridPoints, Integers, marked, too_many
from attacklab.attacks.samplers.laplace import library_log
from attacklab.attacks.samplers.model import Assumed, Model
from attacklab.attacks.samplers.products import any_number, reachable
from attacklab.model.floats import Doubles, Floats, format_of_type

Rows: TypeAlias = Callable[[Floats, Doubles, float, float], Bools]
"""`rows(outputs, half_widths, answer, sigma)`: which outputs a sampler produces if all is computed in their type."""

DOUBLE_ROUNDOFF = 2.0**-53

CHUNK = 1 << 9  # how many rows are searched at a time, so that all their grid points stay in the cache
LARGE_CHUNK = 1 << 14  # how many rows are searched at a time, if each needs little more memory than itself

MULTIPLE_REACH = 5
"""How many steps of a ziggurat's layer from (y − f(D))/σ a multiple with fl(f(D) + fl(σ·x)) = y can be; a layer has at
most 2^(p−1) steps to its edge."""

LAYERS = 256


def _in_chunks(rows: Rows, size: int, description: str, answers: int = 1) -> Model:
    def reachable(outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed) -> Bools:
        produced = np.empty(len(outputs), dtype=bool)
        # No sampler produces the failures and infinities among the outputs; they need no warning.
        with np.errstate(all="ignore"):
            for start in range(0, len(outputs), size):
                chunk = slice(start, start + size)
                produced[chunk] = rows(outputs[chunk], half_widths[chunk], answer, assumed.scale)
        return produced

    return Model(description, reachable, answers)


def _ziggurat(outputs: Floats, half_widths: Doubles, answer: float, sigma: float) -> Bools:
    """Whether y is the answer plus σ times a signed multiple of a layer's step; the tail is not modelled."""
    number = outputs.dtype.type
    noise = (outputs - number(answer)) / number(sigma)
    multiples = number(1 / np.finfo(outputs.dtype).eps)
    steps = ziggurat_steps(outputs.dtype)[::-1]
    produced = np.zeros(outputs.shape, dtype=bool)
    assumed = Assumed(sigma, 1 / sigma, format_of_type(outputs.dtype))
    open_ = np.flatnonzero(reachable(outputs, half_widths, answer, assumed, divides=False, numbers=any_number))
    tried = 0
    while tried < LAYERS and open_.size:
        # Twice as many layers at a time as before: the widest ones decide almost every output.
        block, tried = steps[tried : 2 * tried + 1], 2 * tried + 1
        nearest = np.rint(noise[open_, np.newaxis] / block)
        hit = np.zeros(nearest.shape, dtype=bool)
        for move in range(-MULTIPLE_REACH, MULTIPLE_REACH + 1):
            multiple = nearest + number(move)
            reached = answer + sigma * (multiple * block)
            hit |= (np.abs(multiple) < multiples) & (
                np.abs(reached - outputs[open_, np.newaxis]) <= half_widths[open_, np.newaxis]
            )
        decided = hit.any(axis=1)
        produced[open_[decided]] = True
        open_ = open_[~decided]
    return produced


@lru_cache
def ziggurat_steps(dtype: np.dtype[Any]) -> Floats:
    """The steps of the layers of the installed numpy's ziggurat, in ascending order.

    numpy draws one word: 8 bits choose the layer, one the sign, and the rest are the multiple m. It returns m·w unless
    that is beyond the layer's core. An SFC64 generator in the state (word, 0, 0, 0) gives that word first, and m·w is
    exact if m is a power of two. Deriving the steps instead would not do: numpy's differ from Marsaglia and Tsang's
    construction in real arithmetic by up to 60 ulps, so most of its normals would not be recognised.

    Args:
        dtype: float64 or float32.

    Returns:
        Array of 256 steps of that type.
    """
    # A small multiple lies in the core of every layer but the narrowest, where it passes the sampler's second test.
    exponent = np.finfo(dtype).nmant // 2
    source = np.random.SFC64(0)
    generator = np.random.Generator(source)
    state = source.state
    steps = np.empty(LAYERS, dtype)
    for layer in range(LAYERS):
        state["state"]["state"] = np.array([layer | 1 << (9 + exponent), 0, 0, 0], dtype=np.uint64)
        source.state = state
        steps[layer] = np.ldexp(generator.standard_normal(dtype=dtype), -exponent)
    steps.sort()
    steps.flags.writeable = False
    return steps


def _inverse_cdf(outputs: Floats, half_widths: Doubles, answer: float, sigma: float) -> Bools:
    """Whether y is the answer plus σ·Φ⁻¹(v) for some v on the grid, with SciPy's Φ⁻¹."""
    grid, noise, error = _noise(outputs, half_widths, answer, sigma, 4)
    centre = scipy.special.ndtr(noise)
    density = np.exp(-noise * noise / 2) / math.sqrt(2 * math.pi)
    width = density * error + centre * DOUBLE_ROUNDOFF * (4 + 4 * noise * noise)
    points = GridPoints.within(centre, width, grid, 1, 1 / grid)
    normals = scipy.special.ndtri((points.values * grid).astype(outputs.dtype))
    hits = np.abs(answer + sigma * normals - outputs[points.rows]) <= half_widths[points.rows]
    return marked(too_many(points.counts), points.rows[hits])


def _box_muller(
    log: Callable[[Floats], Floats], outputs: Floats, half_widths: Doubles, answer: float, sigma: float
) -> Bools:
    """Whether a pair is the answer plus σ·√(−2·ln v)·(cos 2πU, sin 2πU) for some v and U on the grid."""
    full_turn = outputs.dtype.type(2 * math.pi)
    # Half ulps: two each for the logarithm (halved by the root) and for sine or cosine, one each for root and product.
    grid, noise, error = _noise(outputs, half_widths, answer, sigma, 5)
    (x, y), (x_error, y_error) = np.abs(noise).T, error.T
    depth, depth_error = _half_square(noise, error)
    centre = np.exp(-depth)
    width = centre * (np.expm1(depth_error) + 2 * DOUBLE_ROUNDOFF)
    angle = np.arctan2(noise[:, 1], noise[:, 0])
    turn = np.where(angle < 0, angle + 2 * math.pi, angle) / float(full_turn)
    turn_width = (x * y_error + y * x_error) / (4 * math.pi * depth) + turn * grid + 2.5 * DOUBLE_ROUNDOFF
    first = GridPoints.within(centre, width, grid, 1, 1 / grid)
    second = GridPoints.within(turn, turn_width, grid, 0, 1 / grid - 1)
    radii = np.sqrt(-2 * log((first.values * grid).astype(outputs.dtype)))
    angles = full_turn * (second.values * grid).astype(outputs.dtype)
    cosines, sines = np.cos(angles), np.sin(angles)
    dense = too_many(first.counts * second.counts) | (depth <= depth_error)
    of_first, of_second = first.with_each_of(second, ~dense)
    hits, rows = np.arange(len(of_first)), first.rows[of_first]
    for column, parts in enumerate((cosines, sines)):
        sums = answer + sigma * (radii[of_first[hits]] * parts[of_second[hits]])
        hits = hits[_agrees(sums, outputs, half_widths, rows[hits], column)]
    return marked(dense, rows[hits])


def _polar(
    log: Callable[[Floats], Floats], outputs: Floats, half_widths: Doubles, answer: float, sigma: float
) -> Bools:
    """Whether a pair is the answer plus σ·(V₁, V₂)·√(−2·ln S/S) for some V₁ and V₂ on the grid, with S = V₁² + V₂²."""
    grid, noise, error = _noise(outputs, half_widths, answer, sigma, 1)
    depth, depth_error = _half_square(noise, error)
    # With S as computed, |x|² is −2·ln S within 7 half ulps: 2 for S, 2 for the logarithm, 3 for quotient and root.
    depth_error += 7 * grid * depth
    unit = np.sqrt(np.exp(-depth) / (2 * depth))[:, np.newaxis]
    centre = noise * unit
    unit_error = ((depth_error / depth + np.expm1(depth_error)) / 2 + 3 * grid)[:, np.newaxis]
    width = error * unit + np.abs(centre) * unit_error
    limit = 0.5 / grid
    first, second = (GridPoints.within(centre[:, side], width[:, side], 2 * grid, -limit, limit - 1) for side in (0, 1))
    dense = too_many(first.counts * second.counts) | (depth <= depth_error)
    of_first, of_second = first.with_each_of(second, ~dense)
    v, w = ((points.values * (2 * grid)).astype(outputs.dtype) for points in (first, second))
    square = (v**2)[of_first] + (w**2)[of_second]
    factor = np.sqrt(-2 * log(square) / square)
    hits, rows = np.arange(len(of_first)), first.rows[of_first]
    for column, parts in enumerate((v[of_first], w[of_second])):
        sums = answer + sigma * (parts[hits] * factor[hits])
        hits = hits[_agrees(sums, outputs, half_widths, rows[hits], column)]
    return marked(dense, rows[hits])


def _agrees(sums: Floats, outputs: Floats, half_widths: Doubles, rows: Integers, column: int) -> Bools:
    """Which numbers are the outputs of their rows, as far as these are known."""
    return np.asarray(np.abs(sums - outputs[rows, column]) <= half_widths[rows, column])


def _second_first(rows: Rows, outputs: Floats, half_widths: Doubles, answer: float, sigma: float) -> Bools:
    return rows(outputs[:, ::-1], half_widths[:, ::-1], answer, sigma)


def _noise(
    outputs: Floats, half_widths: Doubles, answer: float, sigma: float, half_ulps: int
) -> tuple[float, Doubles, Doubles]:
    """The unit roundoff of the format, the noise in units of σ, and its greatest error with the sampler's half ulps."""
    grid = float(np.finfo(outputs.dtype).eps) / 2
    true_answer, scale = (float(outputs.dtype.type(value)) for value in (answer, sigma))
    noise = (outputs.astype(np.float64) - true_answer) / scale
    added = np.spacing(np.abs(outputs)).astype(np.float64) / 2 if true_answer else np.zeros(outputs.shape)
    # Besides the sampler's own error: half an ulp of σ·x, and of the difference and the quotient above.
    return grid, noise, (added + half_widths) / scale + (half_ulps + 4) * grid * np.abs(noise)


def _half_square(noise: Doubles, error: Doubles) -> tuple[Doubles, Doubles]:
    """|x|²/2 of pairs, and its greatest error."""
    depth = (noise * noise).sum(axis=1) / 2
    return depth, ((np.abs(noise) + error / 2) * error).sum(axis=1) + 4 * DOUBLE_ROUNDOFF * depth


INVERSE_CDF = _in_chunks(_inverse_cdf, CHUNK, "inverse CDF by SciPy's ndtri")
ZIGGURAT = _in_chunks(_ziggurat, LARGE_CHUNK, "numpy's ziggurat")
BOX_MULLER = _in_chunks(partial(_box_muller, np.log), CHUNK, "Box–Muller with numpy's log", 2)
BOX_MULLER_LIBRARY = _in_chunks(partial(_box_muller, library_log), CHUNK, "Box–Muller with the C library's log", 2)
POLAR = _in_chunks(partial(_polar, np.log), CHUNK, "polar method with numpy's log", 2)
POLAR_LIBRARY = _in_chunks(partial(_polar, library_log), CHUNK, "polar method with the C library's log", 2)
POLAR_SECOND_FIRST = _in_chunks(
    partial(_second_first, partial(_polar, library_log)), CHUNK, "polar method, second normal first", 2
)
SEARCHED = (INVERSE_CDF, ZIGGURAT, BOX_MULLER, BOX_MULLER_LIBRARY, POLAR, POLAR_LIBRARY, POLAR_SECOND_FIRST)
"""Models in the arithmetic of numpy's types; ones for binary64 and binary32."""
