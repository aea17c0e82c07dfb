"""The output laws of ideal mechanisms, from their definitions: no sampler of this project is asked.

A law is outcome → enclosure of its probability (of no width where it is rational), and an upper bound on the
probability of all outcomes that are not listed. Enclosures are rationals of `BITS` significant bits, rounded outward.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from gmpy2 import mpq

from attacklab.laws import Bounds, exp_bounds

BITS = 96
FARTHEST = 16
"""Laws of noise list outcomes up to this distance from the answer."""

Distribution: TypeAlias = tuple[dict[Any, Bounds], Any]


def outward(lower: Any, upper: Any) -> Bounds:
    """Return the enclosure with both ends rounded outward to `BITS` bits; an exact number of few digits stays exact."""
    exact = mpq(lower)
    if lower == upper and exact.denominator.bit_length() <= 2 * BITS:
        return Bounds(exact, exact)
    return Bounds(_rounded(exact, up=False), _rounded(mpq(upper), up=True))


def exactly(number: Any) -> Bounds:
    """Return the number as an enclosure of width 0."""
    return Bounds(mpq(number), mpq(number))


def uniform(bound: int) -> Distribution:
    """Return the law of integers in [0, bound), all equally likely."""
    return {outcome: exactly(Fraction(1, bound)) for outcome in range(bound)}, 0


def coin(probability: Fraction) -> Distribution:
    """Return the law of a coin that shows true with a rational probability."""
    return {True: exactly(probability), False: exactly(1 - probability)}, 0


def coin_of_exp(gamma: Fraction) -> Distribution:
    """Return the law of a coin that shows true with probability e^−γ."""
    lower, upper = exp_bounds(-gamma)
    return {True: outward(lower, upper), False: outward(1 - upper, 1 - lower)}, 0


def randomized_response(truth: bool, epsilon: Fraction) -> Distribution:
    """Return the law of the truth with probability e^ε/(1 + e^ε), and its opposite otherwise."""
    return _shares({truth: exp_bounds(epsilon), not truth: exactly(1)}), 0


def two_sided_geometric(ratio: Fraction) -> Distribution:
    """Return the law of n with probability (1 − q)/(1 + q)·q^|n|; q is `ratio`."""
    top = mpq((1 - ratio) / (1 + ratio))
    masses = ((n, top * mpq(ratio) ** abs(n)) for n in range(-FARTHEST, FARTHEST + 1))
    return {n: outward(mass, mass) for n, mass in masses}, outward(0, 2 * ratio ** (FARTHEST + 1) / (1 + ratio)).upper


def discrete_laplace(scale: Fraction) -> Distribution:
    """Return the law of n with probability proportional to e^(−|n|/scale)."""
    weights = {n: exp_bounds(-abs(n) / scale) for n in range(-FARTHEST, FARTHEST + 1)}
    step, first = exp_bounds(-1 / scale), exp_bounds(-(FARTHEST + 1) / scale)
    return _with_tail(weights, Bounds(2 * first.lower / (1 - step.lower), 2 * first.upper / (1 - step.upper)))


def discrete_laplace_tail(least: int, scale: Fraction) -> Bounds:
    """Enclose P[N ≥ least] of discrete Laplace noise N, for least ≥ 1: e^(−least/scale)/(1 + e^(−1/scale))."""
    top, step = exp_bounds(-least / scale), exp_bounds(-1 / scale)
    return outward(top.lower / (1 + step.upper), top.upper / (1 + step.lower))


def discrete_gaussian(variance: Fraction) -> Distribution:
    """Return the law of n with probability proportional to e^(−n²/(2σ²))."""
    beyond = FARTHEST + 16 * (math.isqrt(math.ceil(variance)) + 1)
    weights = {n: exp_bounds(-Fraction(n * n) / (2 * variance)) for n in range(-beyond, beyond + 1)}
    ratio = exp_bounds(-Fraction(2 * beyond + 1) / (2 * variance)).upper
    tail = _total(bounds for n, bounds in weights.items() if abs(n) > FARTHEST)
    unseen = 2 * weights[beyond].upper * ratio / (1 - ratio)
    listed = {n: bounds for n, bounds in weights.items() if abs(n) <= FARTHEST}
    return _with_tail(listed, Bounds(tail.lower, tail.upper + unseen))


def exponential(utilities: Sequence[int], rate: Fraction) -> Distribution:
    """Return the law of an index with P[i] ∝ e^(rate·u_i); the rate is ε/(2Δu), or ε/Δu for monotone utilities."""
    return _shares({index: exp_bounds(rate * (u - max(utilities))) for index, u in enumerate(utilities)}), 0


def exponential_base2(utilities: Sequence[int], decay: Fraction) -> Distribution:
    """Return the law of an index with P[i] ∝ decay^(max u − u_i), for a rational decay = 2^−η and whole utilities."""
    weights = (mpq(decay) ** (max(utilities) - u) for u in utilities)
    return _shares({index: exactly(weight) for index, weight in enumerate(weights)}), 0


def permute_and_flip(utilities: Sequence[int], rate: Fraction) -> Distribution:
    """Return P[i] = p_i·Σ_S (−1)^|S|/(|S| + 1)·Π_S p_j over subsets S of the others, p_j = e^(rate·(u_j − max u)).

    Source: McKenna and Sheldon 2020, 'Permute-and-Flip', proposition 5.
    """
    keeps = [exp_bounds(rate * (u - max(utilities))) for u in utilities]
    law: dict[Any, Bounds] = {}
    for index, keep in enumerate(keeps):
        others, lower, upper = keeps[:index] + keeps[index + 1 :], mpq(0), mpq(0)
        for size in range(len(others) + 1):
            sums = _total(map(_product, itertools.combinations(others, size)))
            low, high = sorted(mpq((-1) ** size, size + 1) * end for end in sums)
            lower, upper = lower + low, upper + high
        law[index] = outward(max(mpq(0), lower * keep.lower), upper * keep.upper)
    return law, 0


def laplace_tail(distance: Fraction) -> Bounds:
    """Enclose P[X ≥ distance] for Laplace noise X of scale 1."""
    lower, upper = exp_bounds(-abs(distance))
    return Bounds(lower / 2, upper / 2) if distance >= 0 else Bounds(1 - upper / 2, 1 - lower / 2)


def _rounded(number: Any, *, up: bool) -> Any:
    if not number:
        return number
    scale = mpq(2) ** (BITS + number.denominator.bit_length() - number.numerator.bit_length())
    return (-(-number * scale // 1) if up else number * scale // 1) / scale


def _total(parts: Iterable[Bounds]) -> Bounds:
    return Bounds(*(sum(map(mpq, ends)) for ends in zip(exactly(0), *parts, strict=True)))


def _product(factors: Iterable[Bounds]) -> Bounds:
    return Bounds(*(math.prod(map(mpq, ends)) for ends in zip(exactly(1), *factors, strict=True)))


def _shares(weights: Mapping[Any, Bounds]) -> dict[Any, Bounds]:
    """Enclose each weight divided by the sum of all weights."""
    least, most = _total(weights.values())
    ends = ((outcome, *map(mpq, bounds)) for outcome, bounds in weights.items())
    return {key: outward(low / (most - high + low), high / (least - low + high)) for key, low, high in ends}


def _with_tail(weights: Mapping[int, Bounds], tail: Bounds) -> Distribution:
    """Return each weight's share of the sum of the weights and an unlisted tail, and an upper bound on the tail's."""
    *listed, (_, rest) = _shares({**weights, "tail": tail}).items()
    return dict(listed), rest.upper
