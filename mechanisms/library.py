"""The library of exact noise, which its wheel exports as `exactdp`: a function for each mechanism.

Each function takes public parameters and returns a mechanism: call it with the data for one release from the operating
system's entropy. Its claim is derived from what it was put together from, a term of `mechanisms.core`; `law` gives the
exact probabilities of outputs, where that takes reasonable time, and `accuracy` the width of the noise, where that has
a meaning. Nothing here draws or adds by itself, and nothing falls back to floating point.

Numbers are int, float or Fraction, or integers and doubles of numpy; each is the rational that it is. Every function
raises TypeError for a parameter that is not a number, and ValueError for one that is out of its range. What a mechanism
is called with is refused by its type alone.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, overload

from mechanisms.core.claims import ApproximateDP, ZeroConcentratedDP
from mechanisms.core.grid import Grid
from mechanisms.core.numbers import Number, positive, rational
from mechanisms.core.ranks import GREATEST_DENOMINATOR
from mechanisms.core.records import Answer
from mechanisms.core.restated import Restated
from mechanisms.core.scores import WIDEST_RANGE
from mechanisms.core.term import Relation
from mechanisms.exponential.exact import exact_exponential
from mechanisms.gaussian.claims import gaussian_sigma
from mechanisms.gaussian.exact import exact_rounded_gaussian
from mechanisms.laplace.exact import WHOLE_NUMBERS, exact_discrete_laplace, exact_histogram
from mechanisms.noisy_max.exact import exact_exponential_noisy_max
from mechanisms.quantile.exact import exact_quantile
from mechanisms.releasing import Candidate, IntegerNoise, Noise, OfNumber, Release, Selection, Tallies
from mechanisms.sparse_vector.exact import exact_above_threshold
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum

SMALLEST_DELTA, LARGEST_EPSILON = Fraction(1, 1 << 400), 1 << 13
"""Limits for Gaussian noise: the least δ that the checker tells from 0, and the largest ε whose e^ε it computes."""

EITHER: Relation = "add-remove or substitute"


def laplace(*, epsilon: Number, sensitivity: Number = 1, step: Number) -> Noise[ApproximateDP]:
    """Return the discrete Laplace mechanism on a grid: ε-DP.

    The answer is rounded to a multiple of `step`, and noise of n steps has a probability in proportion to
    e^(−|n|·ε/⌈Δ/step⌉). Answers beyond 2^53 steps count as the nearest end of the grid.

    Args:
        epsilon: ε, above 0.
        sensitivity: Δ, how far neighbours' answers can be apart, in the answer's unit, above 0.
        step: a power of two, chosen without looking at the data; outputs are its multiples. `sensitivity` is rounded up
            to a multiple of it, so take a much smaller step, such as 2**-10 for a sensitivity of 1.

    Returns:
        A mechanism to call with one answer, in the answer's unit.

    Source: Canonne, Kamath and Steinke 2020, section 5.2.
    """
    return Noise(exact_discrete_laplace(epsilon=epsilon, sensitivity=sensitivity, grid=_grid(step)))


def geometric(*, epsilon: Number, sensitivity: Number = 1) -> IntegerNoise[ApproximateDP]:
    """Return the two-sided geometric mechanism on whole numbers: ε-DP.

    Noise n has a probability in proportion to e^(−|n|·ε/⌈Δ⌉). Answers beyond ±2^53 count as these.

    Args:
        epsilon: ε, above 0.
        sensitivity: Δ, how far neighbours' answers can be apart, above 0.

    Returns:
        A mechanism to call with one whole number.

    Source: Ghosh, Roughgarden and Sundararajan 2009, section 2.
    """
    return IntegerNoise(exact_discrete_laplace(epsilon=epsilon, sensitivity=sensitivity, grid=WHOLE_NUMBERS))


@overload
def gaussian(*, sigma: Number, sensitivity: Number = 1, step: Number) -> Noise[ZeroConcentratedDP]: ...
@overload
def gaussian(*, epsilon: Number, delta: Number, sensitivity: Number = 1, step: Number) -> Noise[ApproximateDP]: ...
def gaussian(
    *,
    sigma: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    sensitivity: Number = 1,
    step: Number,
) -> Noise[Any]:
    """Return the Gaussian mechanism on a grid: normal noise, rounded to it.

    With `sigma` the claim is ρ-zCDP, ρ = d²/2σ², d the sensitivity rounded up to steps. With `epsilon` and `delta` it
    is (ε, δ)-DP, and σ the least one that keeps it, within a part in 2^50.

    Args:
        sigma: σ of the noise, in the answer's unit, above 0.
        epsilon: ε, above 0.
        delta: δ, above 0 and below 1.
        sensitivity: how far neighbours' answers can be apart, in the answer's unit, above 0.
        step: a power of two, chosen without looking at the data; see `laplace`.

    Returns:
        A mechanism to call with one answer, in the answer's unit.

    Source: Bun and Steinke 2016, proposition 1.6; Balle and Wang 2018, theorem 8 and algorithm 1.
    """
    grid = _grid(step)
    if sigma is not None and epsilon is None and delta is None:
        return Noise(exact_rounded_gaussian(sigma, sensitivity=sensitivity, grid=grid))
    if sigma is not None or epsilon is None or delta is None:
        raise TypeError("gaussian takes either sigma, for zCDP, or epsilon and delta")
    moved = Answer(positive("sensitivity", sensitivity), grid).stability * grid.step
    if positive("delta", delta) < SMALLEST_DELTA or positive("epsilon", epsilon) > LARGEST_EPSILON:
        raise ValueError("delta must be at least 2^-400, and epsilon at most 2^13; give sigma instead")
    needed = gaussian_sigma(epsilon, delta, moved)
    claim = ApproximateDP(positive("epsilon", epsilon), positive("delta", delta))
    return Noise(Restated(exact_rounded_gaussian(needed, sensitivity=sensitivity, grid=grid), claim))


def histogram(*, epsilon: Number) -> Tallies[ApproximateDP]:
    """Return a mechanism that adds geometric noise to each count: ε-DP if neighbours differ by 1 in one count.

    A record that moves from one count to another changes both, which costs 2ε.

    Args:
        epsilon: ε, above 0.

    Returns:
        A mechanism to call with the counts of all public cells, empty ones too: whole numbers, shape (cells,).

    Source: Dwork and Roth 2014, section 3.3, example 3.2.
    """
    return Tallies(exact_histogram(epsilon=epsilon))


def select(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> Selection[ApproximateDP]:
    """Return the exponential mechanism, which selects in proportion to exp(ε·u/(2Δu)): ε-DP.

    Args:
        epsilon: ε, above 0.
        sensitivity: Δu, the most that one record moves any utility, above 0.
        monotone: whether a record moves all utilities in the same direction: then exp(ε·u/Δu) is ε-DP as well.
        utility_range: the lowest and the highest utility, chosen without looking at the data.

    Returns:
        A mechanism to call with utilities, shape (outcomes,), larger is better; it releases an index. A NaN counts as
        the lowest utility of the range.

    Source: McSherry and Talwar 2007, theorem 6.
    """
    return Selection(
        exact_exponential(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, utility_range=utility_range)
    )


def report_noisy_max(
    *,
    epsilon: Number,
    sensitivity: Number = 1,
    monotone: bool = False,
    utility_range: tuple[Number, Number] = WIDEST_RANGE,
) -> Release[int, ApproximateDP]:
    """Return a mechanism that selects the largest utility with exponential noise, by permute-and-flip: ε-DP.

    Its expected error is never larger than that of `select`. There is no `law`: exact probabilities would take time in
    proportion to the square of the number of outcomes.

    Args:
        epsilon: ε, above 0.
        sensitivity: Δu, the most that one record moves any utility, above 0.
        monotone: whether a record moves all utilities in the same direction: then the noise is half as wide.
        utility_range: the lowest and the highest utility, chosen without looking at the data.

    Returns:
        A mechanism to call with utilities; see `select`.

    Source: McKenna and Sheldon 2020; Ding, Kifer, Sayed, Steinke, Wang, Xiao and Zhang 2021.
    """
    return Release(
        exact_exponential_noisy_max(
            epsilon=epsilon, sensitivity=sensitivity, monotone=monotone, utility_range=utility_range
        )
    )


def above_threshold(
    *, epsilon: Number, threshold: Number, positives: int = 1, sensitivity: Number = 1, step: Number
) -> Release[tuple[bool, ...], ApproximateDP]:
    """Return the sparse vector technique, which reports which answers are above a noisy threshold: ε-DP.

    Half of ε goes to the threshold's noise, half to the answers' noise. There is no `law`: a stream of n answers has
    up to 2^n outputs.

    Args:
        epsilon: ε, above 0.
        threshold: a multiple of `step`, in the answers' unit.
        positives: how many answers are reported above before it stops; all that follow are False.
        sensitivity: how far each answer can move between neighbours, in the answers' unit, above 0.
        step: a power of two, chosen without looking at the data; answers are rounded to it.

    Returns:
        A mechanism to call with all answers in their order, shape (answers,), in their unit; it releases True or False
        for each. A NaN counts as 0.

    Source: Dwork and Roth 2014, algorithms 1 and 2; Lyu, Su and Li 2017, algorithm 1.
    """
    half = positive("epsilon", epsilon) / 2
    return Release(
        exact_above_threshold(
            threshold=threshold,
            positives=positives,
            epsilon_threshold=half,
            epsilon_answers=half,
            sensitivity=sensitivity,
            grid=_grid(step),
        )
    )


def quantile(
    *, epsilon: Number, quantile: Number, lower: Number, upper: Number, step: Number
) -> Candidate[ApproximateDP]:
    """Return a mechanism that selects a candidate near a quantile by rank: ε-DP if a record is added or removed.

    Args:
        epsilon: ε, above 0.
        quantile: from 0 to 1, rounded to the nearest fraction with a denominator of at most 2^20.
        lower: the least candidate, a multiple of `step`; records below it, and NaN, count as it.
        upper: the largest candidate, a multiple of `step`; there may be from 2 to 2^24 candidates.
        step: a power of two; candidates are its multiples from `lower` to `upper`.

    Returns:
        A mechanism to call with the records, shape (records,), in the unit of `lower` and `upper`.

    Source: Smith 2011, section 3.
    """
    share = rational("quantile", quantile).limit_denominator(GREATEST_DENOMINATOR)
    return Candidate(exact_quantile(epsilon=epsilon, quantile=share, lower=lower, upper=upper, grid=_grid(step)))


def bounded_sum(
    *, epsilon: Number, lower: Number, upper: Number, step: Number, relation: Relation = EITHER
) -> OfNumber[float, ApproximateDP]:
    """Return a mechanism that adds up records, each clamped and rounded by itself, and discrete Laplace noise: ε-DP.

    Args:
        epsilon: ε, above 0.
        lower: the least value of a record, a multiple of `step`; a NaN counts as `lower`.
        upper: the largest value of a record, a multiple of `step`.
        step: a power of two, chosen without looking at the data; records are rounded to it.
        relation: which records are neighbours: "add-remove", "substitute" or "add-remove or substitute".

    Returns:
        A mechanism to call with the records, shape (records,), in the unit of `lower` and `upper`. Its `law` and
        `accuracy` are about the sum of the records as they are clamped and rounded.

    Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, sections 5.3 and 6.
    """
    return OfNumber(exact_bounded_sum(epsilon=epsilon, lower=lower, upper=upper, grid=_grid(step), relation=relation))


def bounded_mean(
    *, epsilon: Number, lower: Number, upper: Number, step: Number, relation: Relation = EITHER
) -> Release[float, ApproximateDP]:
    """Return a mechanism that divides a noisy sum by a noisy count, half of ε each, and clamps the quotient: ε-DP.

    If neighbours substitute a record, their number is public, and the sum gets all of ε. There is no `law`: a great
    many pairs have the same quotient.

    Args:
        epsilon: ε, above 0.
        lower: the least value of a record, a multiple of `step`; a NaN counts as `lower`.
        upper: the largest value of a record, a multiple of `step`.
        step: a power of two, chosen without looking at the data; records are rounded to it.
        relation: which records are neighbours: "add-remove", "substitute" or "add-remove or substitute".

    Returns:
        A mechanism to call with the records, shape (records,), in the unit of `lower` and `upper`.

    Source: Dwork and Roth 2014, section 3.3.
    """
    return Release(exact_bounded_mean(epsilon=epsilon, lower=lower, upper=upper, grid=_grid(step), relation=relation))


def _grid(step: Number) -> Grid:
    """Return the grid of the multiples of a power of two.

    Raises:
        TypeError: `step` is not a number.
        ValueError: it is not a power of two, or one that is too small or too large.
    """
    width = positive("step", step)
    exponent = width.numerator.bit_length() - width.denominator.bit_length()
    if width != Fraction(2) ** exponent:
        raise ValueError(f"step must be a power of two, such as 2**-10, not {step}")
    return Grid(exponent)
