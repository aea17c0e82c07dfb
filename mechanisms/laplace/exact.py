"""The Laplace mechanism and its relatives as terms: noise on a public grid, randomized response, and snapping.

Each function returns a term of `mechanisms.core`, which is what runs and what is proved. README.md says why each is
exact. Floats stand for the rationals that they are. Every function raises TypeError for a parameter that is not a
number, and ValueError for one that is out of its range or for a grid that does not suit the noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate, pairwise, repeat

from mechanisms.core.compose import Mapped
from mechanisms.core.distances import Distances
from mechanisms.core.flip import Response
from mechanisms.core.grid import Grid
from mechanisms.core.kernel import MOST_BITS, Kernel
from mechanisms.core.laws import DiscreteLaplace, RoundedLaplace
from mechanisms.core.maps import PointAt
from mechanisms.core.noisy import Noisy, noisy
from mechanisms.core.numbers import Number, count, positive, rational
from mechanisms.core.records import Answer, Counts
from mechanisms.core.rounding import exp_above
from mechanisms.core.select_dyadic import SelectBase2, dyadic
from mechanisms.core.snapped import Snapped

WHOLE_NUMBERS = Grid(0)


def exact_discrete_laplace(*, epsilon: Number, sensitivity: Number = 1, grid: Grid) -> Noisy:
    """Return a mechanism that adds noise n to the rounded answer, P[n] ∝ e^(−|n|/s), s = ⌈Δ/step⌉/ε, in steps: ε-DP."""
    return noisy(Answer(positive("sensitivity", sensitivity), grid), DiscreteLaplace, epsilon)


def exact_rounded_laplace(*, epsilon: Number, sensitivity: Number = 1, grid: Grid) -> Noisy:
    """Return a mechanism that adds ideal Laplace noise of scale ⌈Δ/step⌉/ε steps, then rounds to steps: ε-DP."""
    return noisy(Answer(positive("sensitivity", sensitivity), grid), RoundedLaplace, epsilon)


def exact_histogram(*, epsilon: Number) -> Noisy:
    """Return a mechanism that adds discrete Laplace noise of scale 1/ε to each count: ε-DP if one differs by 1."""
    return noisy(Counts(), DiscreteLaplace, epsilon)


def exact_randomized_response(*, epsilon: Number) -> Response:
    """Return a mechanism that releases a bit with probability e^ε/(1 + e^ε), else its opposite: ε-DP."""
    return Response(positive("epsilon", epsilon))


def exact_laplace_on_grid(
    *, epsilon: Number, lower: Number, upper: Number, grid: Grid, sensitivity: Number = 1, ratio_bits: int = 16
) -> Mapped:
    """Return a mechanism that selects a point of a finite grid in proportion to ratio^(|answer − point|/Δ).

    The ratio is e^(−ε/2), rounded up to `ratio_bits` bits, so that the claim is ε or a little less.
    """
    query = Distances(positive("sensitivity", sensitivity), rational("lower", lower), rational("upper", upper), grid)
    parts = 1 << count("ratio_bits", ratio_bits)
    ratio = Fraction(math.ceil(exp_above(-positive("epsilon", epsilon) / 2) * parts), parts)
    return Mapped(SelectBase2(query, ratio), PointAt(query.origin, grid))


def exact_snapping(*, epsilon: Number, sensitivity: Number = 1, bound: Number) -> Snapped:
    """Return a mechanism that adds Laplace noise to the clamped answer, rounds to multiples of Λ, and clamps: ε-DP."""
    return Snapped(positive("sensitivity", sensitivity), positive("epsilon", epsilon), rational("bound", bound))


def exact_two_sided_geometric(
    *, epsilon: Number, lower: Number, upper: Number, sensitivity: Number = 1, grid: Grid = WHOLE_NUMBERS
) -> Kernel:
    """Return a mechanism that adds two-sided geometric noise and clamps to a public range, by fixed work: ε-DP."""
    query = Answer(positive("sensitivity", sensitivity), grid)
    # Below e^(ε/d) by more than a logarithm of 128 bits is rounded up by.
    ratio = (1 - Fraction(1, 1 << 100)) / exp_above(-positive("epsilon", epsilon) / query.stability)
    first, length = _range(lower, upper, grid)

    def words(middle: int) -> list[int]:
        """Return how many words noise 0 (`middle`), 1, …, R − 1 get, and the least number for R or more."""
        steps = list(accumulate(repeat(ratio, length - 1), lambda each, r: math.ceil(each / r), initial=middle))
        return [*steps, math.ceil(steps[-1] / (ratio - 1))]

    def spare(middle: int) -> int:
        """Return how many words are left over if noise 0 gets `middle`; negative if there are too few."""
        return (1 << MOST_BITS) + middle - 2 * sum(words(middle))

    middle = 2 * (bisect_left(range(2, 1 << MOST_BITS, 2), True, key=lambda middle: spare(middle) < 0))
    if middle == 0:
        raise ValueError(f"epsilon is too small for {length + 1} steps and {MOST_BITS} bits; take a larger epsilon")
    *steps, last = words(middle)
    return Kernel(query, first, _rows([*steps, last + spare(middle) // 2]))


def exact_dyadic_geometric(*, ratio: Number, lower: Number, upper: Number, grid: Grid = WHOLE_NUMBERS) -> Kernel:
    """Return a mechanism that adds geometric noise of a dyadic ratio q = x/2^y, for sensitivity one step: ln(1/q)-DP.

    For m ≥ 1 the noise N has P[N ≥ m] = P[N ≤ −m] = A·q^m, where A is 1/(1 + q) rounded up to
    2y + 2 bits. All probabilities are multiples of 2^−W, W = y·(R + 2) + 2, if the range is R steps long.
    """
    q, (first, length) = dyadic("ratio", ratio), _range(lower, upper, grid)
    precision = 2 * q.denominator.bit_length()
    most = math.ceil((1 << precision) / (1 + q)) * q.denominator**length
    tails = [int(most * q**size) for size in range(1, length + 1)]
    steps = [tail - beyond for tail, beyond in pairwise(tails)]
    whole = q.denominator**length << precision
    return Kernel(Answer(grid.step, grid), first, _rows([whole - 2 * tails[0], *steps, tails[-1]]))


def _range(lower: Number, upper: Number, grid: Grid) -> tuple[int, int]:
    """Return the start and the length R of a public range, in steps."""
    first, last = grid.steps_of("lower", lower), grid.steps_of("upper", upper)
    if not first < last:
        raise ValueError(f"upper must be above lower = {lower}, not {upper}")
    return first, last - first


def _rows(words: list[int]) -> tuple[tuple[int, ...], ...]:
    """Return the rows of a `Kernel` for clamped symmetric noise; `words` counts words of noise 0, 1, …, R − 1, ≥ R."""
    length = len(words) - 1
    tails = list(accumulate(reversed(words)))[::-1]  # of noise 0, 1, …, R or more
    return tuple(
        (tails[place], *(words[abs(outcome - place)] for outcome in range(1, length)), tails[length - place])
        for place in range(length + 1)
    )
