"""Which outputs can a floating-point sampler give for a true answer? Four models, for the attacks on low bits.

A model inverts a sampler: it decides whether y = fl(f(D) + noise) for some noise that the sampler returns.

1. **Inverse CDF**: f(D) ± λ·log(v), or f(D) + σ·Φ⁻¹(v), for a v on the grid of multiples of 2^−p, where p is the number
   of significant bits. v ≈ e^(−|y − f|/λ) leaves a handful of grid points, and each is put through the sampler's own
   arithmetic. Others divide by the rate ε/Δ, as `random.expovariate` and `std::exponential_distribution` do, or draw
   fewer bits. It matters which logarithm is modelled: numpy's and the C library's differ in the last bit. In formats
   narrower than doubles both are rounded from doubles, and another logarithm is not recognised.
2. **A number times the scale**: nothing need be known of the sampler. Neighbouring products with numbers of the format
   are up to 2 ulps apart, depending on the significand of the scale, so some outputs are never reached (unless it is a
   power of two). With numbers of a narrower format, hardly any are reached. Multiples of 2^−g arise as differences of
   numbers between ½ and 2, which are exact if small: of two exponential variates, or of twelve uniforms and 6.
3. **Box–Muller** and 4. the **polar method** turn two uniforms into two normals. A pair of outputs leaves about a
   hundred candidates for the uniforms; one output alone leaves 2^53, too many to distinguish anything.

They do not recognise sums of logarithms, ratios of uniforms, ziggurats, or one normal of a pair without the other,
except by the product with the scale.

Source: Mironov 2012, 'On Significance of the Least Significant Bits for Differential Privacy', section 4, for Laplace
noise; Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems', for pairs of normals; Sterbenz 1974 for exact differences. Products are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from attacklab.model.floats import BINARY32, BINARY64, Doubles, Floats, Format, half_ulp

Integers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

MOST_POINTS = 1 << 10  # rows with more candidates than this are not searched


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is assumed of the noise besides its sampler.

    Attributes:
        scale: λ of Laplace or σ of Gaussian noise, in the unit of the outputs.
        rate: the divisor of a sampler that divides by a rate instead of multiplying by the scale.
        form: the format in which the sampler computes.
    """

    scale: float
    rate: float
    form: Format = BINARY64


Reachable: TypeAlias = Callable[[Floats, Doubles, float, Assumed], Bools]
"""`reachable(outputs, half_widths, answer, assumed)` returns a bool for each row: whether a sampler can produce it for
a true answer. Outputs have the shape (n,), or (n, 2) if two come from the same uniforms. Each may lie up to its
half-width from what the sampler produced, because it was rounded or moved afterwards."""


@dataclass(frozen=True, slots=True)
class Model:
    """How a sampler computes.

    Attributes:
        description: the sampler in words.
        reachable: returns which outputs the sampler can produce.
        answers: how many outputs in a row come from the same uniforms.
        flaw: the flaw that a bet on the model shows; empty if it is the flaw of the attack.
    """

    description: str
    reachable: Reachable
    answers: int = 1
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class GridPoints:
    """The grid points in the windows of many rows, listed row after row.

    Attributes:
        rows: the row that each point belongs to.
        values: the points, as multiples of the grid's spacing.
        counts: how many points each row has. If there are more than `MOST_POINTS`, the count is `MOST_POINTS` + 1, and
            no point of the row is listed.
    """

    rows: Integers
    values: Doubles
    counts: Integers

    @classmethod
    def within(cls, centre: Doubles, width: Doubles, spacing: float, least: float, greatest: float) -> GridPoints:
        """Return the multiples of the spacing from centre − width to centre + width.

        Args:
            centre: the centre of each row's window; NaN gives no points.
            width: the half-width of each row's window.
            spacing: the grid's spacing.
            least: the least multiple on the grid.
            greatest: the greatest multiple on the grid.
        """
        low = np.maximum(np.ceil((centre - width) / spacing), least)
        high = np.minimum(np.floor((centre + width) / spacing), greatest)
        counts = np.where(low <= high, np.minimum(high - low + 1, MOST_POINTS + 1), 0).astype(np.int64)
        rows, place = _enumerated(np.where(too_many(counts), 0, counts))
        return cls(rows, low[rows] + place, counts)

    def with_each_of(self, points: GridPoints, wanted: Bools) -> tuple[Integers, Integers]:
        """Return all combinations of a point here and a point of `points` in the same row, for the wanted rows.

        Returns:
            Two arrays with an entry for each combination: the index of the point here, and the index in `points`.
        """
        first_of_row = np.searchsorted(points.rows, np.arange(len(points.counts)))
        mine, place = _enumerated(np.where(wanted, points.counts, 0)[self.rows])
        return mine, first_of_row[self.rows][mine] + place


def too_many(candidates: Integers) -> Bools:
    """Return which counts exceed `MOST_POINTS`. Such rows are not searched: some candidate surely gives the output."""
    return np.greater(candidates, MOST_POINTS)


def marked(certain: Bools, rows: Integers) -> Bools:
    """Return a bool for each row: True if the row is certain, or listed in `rows`."""
    marks = certain.copy()
    marks[rows] = True
    return marks


def _enumerated(counts: Integers) -> tuple[Integers, Integers]:
    """Return two arrays, i and k, that list every k in 0 … counts[i] − 1 for each i in turn."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - (np.cumsum(counts) - counts)[owners]


PERIOD = 32  # whether an integer can be drawn depends on its residue by this power of two
WIDEST_SEARCH = 24  # if more grid points than this might give y, one of them does
LAPLACE_CHUNK = 1 << 13  # how many outputs are inverted at a time, so that the work stays in the cache


@dataclass(frozen=True, slots=True)
class Residues:
    """The integers k with k % divisor in `rests`; `divisor` is a power of two, at most `PERIOD`."""

    divisor: int
    rests: tuple[int, ...]

    def __call__(self, numerators: Integers) -> NDArray[np.bool_]:
        """Return which of the numerators have one of these residues."""
        return np.isin(numerators % self.divisor, self.rests)

    def __str__(self) -> str:
        """Return a Python expression in k that is true for these integers."""
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
        log: the logarithm that it calls, elementwise.
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
    """Return log1p(−w) for w = 1 − v, elementwise; w is exact for every v on the grid."""
    logarithms: Floats = np.log1p(uniforms - 1)
    return logarithms


def library_log(uniforms: Floats) -> Floats:
    """Return the C library's log, elementwise; numpy's ufunc has an implementation of its own."""
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
    """Return the number n for which uniforms of this format are multiples of 1/n."""
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
    """Return which outputs the sampler can produce for a true answer.

    Args:
        outputs: shape (n,).
        answer: the true answer f(D).
        scale: λ of the noise, in the unit of the answer.
        model: how the sampler computes.
        released: the format in which it computes and in which the outputs are.
        rate: the divisor of a sampler that divides by a rate; 1/λ by default.
        half_widths: how far each output may lie from the sampler's, if it was rounded afterwards; 0 by default.

    Returns:
        A bool for each output. It is exact unless a grid point lies outside the search window, which was never seen.
    """
    produced = np.empty(outputs.shape, dtype=bool)
    factor = (1 / scale if rate is None else rate) if model.divides else scale
    for start in range(0, len(outputs), LAPLACE_CHUNK):
        chunk = slice(start, start + LAPLACE_CHUNK)
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
        moved = 0.0 if half_widths is None else half_widths
        if answer != 0:
            moved = moved + half_ulp(outputs, released) + half_ulp(noise, released)
        relative += np.expm1(moved / scale)
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


PRODUCT_ULPS = 7
"""The most ulps between (y − f(D))/σ and an x with fl(f(D) + fl(σ·x)) = y, unless the sum rounds far more than σ·x."""

NARROW_STEPS = 1  # how many numbers of a narrower format are tried on either side of the nearest one
LATTICES = (50, 52, 53)  # exponents g of the multiples of 2^−g that are tried

Step = Callable[[Floats], Floats]
Numbers = tuple[int, Step, Step, Step]
"""The numbers x that a sampler may multiply: how many are tried on either side of the nearest one; then functions that
return the x nearest to a value, the next x above and the next x below."""


def product(
    outputs: Floats,
    half_widths: Doubles,
    answer: float,
    assumed: Assumed,
    *,
    divides: bool,
    numbers: Callable[[Format], Numbers],
) -> Bools:
    """Return which outputs y are the answer plus σ·x, or plus x/rate if `divides`, for one of the numbers x.

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
    """Return all numbers of the format, as `Numbers` describes them."""
    return PRODUCT_ULPS, form.rounded, form.next_above, form.next_below


def _narrow(form: Format, *, narrow: Format) -> Numbers:
    """Return the numbers of the narrower of two formats: `narrow` if it is narrower than `form`, else `form`."""
    if narrow.significand_bits >= form.significand_bits:
        return any_number(form)

    def widened(step: Step) -> Step:
        return lambda values: form.rounded(step(values.astype(narrow.carrier)))

    return NARROW_STEPS, widened(narrow.rounded), widened(narrow.next_above), widened(narrow.next_below)


def _multiples(form: Format, *, exponent: int) -> Numbers:
    """Return the multiples of 2^−exponent in a format, as `Numbers`; all its numbers where they lie further apart."""
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
        Model(f"any number, {words}", partial(product, divides=divides, numbers=any_number)),
        Model(
            f"any binary32 number, {words}",
            partial(product, divides=divides, numbers=partial(_narrow, narrow=BINARY32)),
        ),
        *(
            Model(
                f"any multiple of 2^−{exponent}, {words}",
                partial(product, divides=divides, numbers=partial(_multiples, exponent=exponent)),
            )
            for exponent in LATTICES
        ),
    )
)
ANY = PRODUCTS[0]


Rows: TypeAlias = Callable[[Floats, Doubles, float, float], Bools]
"""`rows(outputs, half_widths, answer, sigma)` returns which outputs a sampler can produce, computing in their type."""

DOUBLE_ROUNDOFF = 2.0**-53

CHUNK = 1 << 9  # how many rows are searched at a time, so that all their grid points stay in the cache


def _in_chunks(rows: Rows, description: str, answers: int = 2) -> Model:
    def reachable(outputs: Floats, half_widths: Doubles, answer: float, assumed: Assumed) -> Bools:
        produced = np.empty(len(outputs), dtype=bool)
        # No sampler produces the failures and infinities among the outputs; they need no warning.
        with np.errstate(all="ignore"):
            for start in range(0, len(outputs), CHUNK):
                chunk = slice(start, start + CHUNK)
                produced[chunk] = rows(outputs[chunk], half_widths[chunk], answer, assumed.scale)
        return produced

    return Model(description, reachable, answers)


def _inverse_cdf(outputs: Floats, half_widths: Doubles, answer: float, sigma: float) -> Bools:
    """Return which outputs are the answer plus σ·Φ⁻¹(v) for some v on the grid, with SciPy's Φ⁻¹."""
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
    """Return which pairs are the answer plus σ·√(−2·ln v)·(cos 2πU, sin 2πU) for some v and U on the grid."""
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
    """Return which pairs are the answer plus σ·(V₁, V₂)·√(−2·ln S/S) for V₁ and V₂ on the grid and S = V₁² + V₂²."""
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
    """Return which sums differ from `outputs[rows, column]` by at most the half-width of that output."""
    return np.asarray(np.abs(sums - outputs[rows, column]) <= half_widths[rows, column])


def _second_first(rows: Rows, outputs: Floats, half_widths: Doubles, answer: float, sigma: float) -> Bools:
    return rows(outputs[:, ::-1], half_widths[:, ::-1], answer, sigma)


def _noise(
    outputs: Floats, half_widths: Doubles, answer: float, sigma: float, half_ulps: int
) -> tuple[float, Doubles, Doubles]:
    """Return the unit roundoff, noise/σ, and a bound on its error. The sampler itself errs by up to `half_ulps`."""
    grid = float(np.finfo(outputs.dtype).eps) / 2
    true_answer, scale = (float(outputs.dtype.type(value)) for value in (answer, sigma))
    noise = (outputs.astype(np.float64) - true_answer) / scale
    added = np.spacing(np.abs(outputs)).astype(np.float64) / 2 if true_answer else np.zeros(outputs.shape)
    # Besides the sampler's own error: half an ulp of σ·x, and of the difference and the quotient above.
    return grid, noise, (added + half_widths) / scale + (half_ulps + 4) * grid * np.abs(noise)


def _half_square(noise: Doubles, error: Doubles) -> tuple[Doubles, Doubles]:
    """Return |x|²/2 for each pair of normals x, and a bound on its error."""
    depth = (noise * noise).sum(axis=1) / 2
    return depth, ((np.abs(noise) + error / 2) * error).sum(axis=1) + 4 * DOUBLE_ROUNDOFF * depth


INVERSE_CDF = _in_chunks(_inverse_cdf, "inverse CDF by SciPy's ndtri", 1)
BOX_MULLER = _in_chunks(partial(_box_muller, np.log), "Box–Muller with numpy's log")
BOX_MULLER_LIBRARY = _in_chunks(partial(_box_muller, library_log), "Box–Muller with the C library's log")
POLAR = _in_chunks(partial(_polar, np.log), "polar method with numpy's log")
POLAR_LIBRARY = _in_chunks(partial(_polar, library_log), "polar method with the C library's log")
POLAR_SECOND_FIRST = _in_chunks(
    partial(_second_first, partial(_polar, library_log)), "polar method, second normal first"
)
SEARCHED = (INVERSE_CDF, BOX_MULLER, BOX_MULLER_LIBRARY, POLAR, POLAR_LIBRARY, POLAR_SECOND_FIRST)
"""Models that search for uniforms, in the arithmetic of numpy's types: only for binary64 and binary32."""
