"""The output laws of ideal mechanisms, from their definitions: no sampler of this project is asked.

Each function returns outcome → enclosure of its probability (of no width where it is rational), and an upper bound on
the probability of all outcomes that are not listed. Enclosures are short enough for a file: rationals of `BITS`
significant bits, rounded outward.
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
NOTHING = Bounds(mpq(0), mpq(0))
Distribution: TypeAlias = tuple[dict[int | bool, Bounds], Fraction]


def outward(lower: Any, upper: Any) -> Bounds:
    """The enclosure with both ends rounded outward; exact numbers of few digits stay what they are."""
    exact = mpq(lower)
    if lower == upper and exact.denominator.bit_length() <= 2 * BITS:
        return Bounds(exact, exact)
    return Bounds(_rounded(exact, up=False), _rounded(mpq(upper), up=True))


def exactly(number: Any) -> Bounds:
    """The enclosure of no width."""
    return Bounds(mpq(number), mpq(number))


def uniform(bound: int) -> Distribution:
    """Integers below a bound, all equally likely."""
    return {outcome: exactly(Fraction(1, bound)) for outcome in range(bound)}, Fraction(0)


def coin(probability: Fraction) -> Distribution:
    """A coin that shows true with a rational probability."""
    return {True: exactly(probability), False: exactly(1 - probability)}, Fraction(0)


def coin_of_exp(gamma: Fraction) -> Distribution:
    """A coin that shows true with probability e^−γ."""
    lower, upper = exp_bounds(-gamma)
    return {True: outward(lower, upper), False: outward(1 - upper, 1 - lower)}, Fraction(0)


def randomized_response(truth: bool, epsilon: Fraction) -> Distribution:
    """The truth with probability e^ε/(1 + e^ε)."""
    return _shares({truth: exp_bounds(epsilon), not truth: exactly(1)}), Fraction(0)


def two_sided_geometric(ratio: Fraction, farthest: int) -> Distribution:
    """N with probability (1 − q)/(1 + q)·q^|n|, listed up to a distance."""
    decay = mpq(ratio)
    top = (1 - decay) / (1 + decay)
    masses = ((n, top * decay ** abs(n)) for n in range(-farthest, farthest + 1))
    tail = outward(0, 2 * top * decay ** (farthest + 1) / (1 - decay))
    return {n: outward(mass, mass) for n, mass in masses}, _upper(tail)


def discrete_laplace(scale: Fraction, farthest: int) -> Distribution:
    """N with probability proportional to e^(−|n|/scale), listed up to a distance."""
    weights = {n: exp_bounds(-abs(n) / scale) for n in range(-farthest, farthest + 1)}
    step, first = exp_bounds(-1 / scale), exp_bounds(-(farthest + 1) / scale)
    return _with_tail(weights, Bounds(2 * first.lower / (1 - step.lower), 2 * first.upper / (1 - step.upper)))


def discrete_laplace_tail(least: int, scale: Fraction) -> Bounds:
    """P[N ≥ least], least ≥ 1, of discrete Laplace noise: e^(−least/scale)/(1 + e^(−1/scale))."""
    top, step = exp_bounds(-least / scale), exp_bounds(-1 / scale)
    return outward(top.lower / (1 + step.upper), top.upper / (1 + step.lower))


def discrete_gaussian(variance: Fraction, farthest: int) -> Distribution:
    """N with probability proportional to e^(−n²/(2σ²)), listed up to a distance."""
    beyond = farthest + 16 * (math.isqrt(math.ceil(variance)) + 1)
    weights = {n: exp_bounds(-Fraction(n * n) / (2 * variance)) for n in range(-beyond, beyond + 1)}
    ratio = exp_bounds(-Fraction(2 * beyond + 1) / (2 * variance)).upper
    unseen = 2 * weights[beyond].upper * ratio / (1 - ratio)
    tail = _total(bounds for n, bounds in weights.items() if abs(n) > farthest)
    listed = {n: bounds for n, bounds in weights.items() if abs(n) <= farthest}
    return _with_tail(listed, Bounds(tail.lower, tail.upper + unseen))


def exponential(utilities: Sequence[Fraction], rate: Fraction) -> Distribution:
    """An index with probability proportional to e^(rate·u); the rate is ε/(2Δu), and ε/Δu for monotone utilities."""
    best = max(utilities)
    return _shares({index: exp_bounds(rate * (u - best)) for index, u in enumerate(utilities)}), Fraction(0)


def exponential_base2(utilities: Sequence[int], decay: Fraction) -> Distribution:
    """An index with probability proportional to decay^(max u − u), for a rational decay = 2^−η and whole utilities."""
    best = max(utilities)
    return _shares({index: exactly(mpq(decay) ** (best - u)) for index, u in enumerate(utilities)}), Fraction(0)


def permute_and_flip(utilities: Sequence[Fraction], rate: Fraction) -> Distribution:
    """Report noisy max with exponential noise.

    P[i] = p_i·Σ_S (−1)^|S|/(|S| + 1)·Π_S p_j over the subsets S of the others, with
    p_j = e^(rate·(u_j − max u)). McKenna and Sheldon 2020, 'Permute-and-Flip', proposition 5.
    """
    best = max(utilities)
    keeps = [exp_bounds(rate * (u - best)) for u in utilities]
    law: dict[int | bool, Bounds] = {}
    for index, keep in enumerate(keeps):
        others = keeps[:index] + keeps[index + 1 :]
        lower = upper = mpq(0)
        for size in range(len(others) + 1):
            sums = _total(map(_product, itertools.combinations(others, size)))
            share = mpq((-1) ** size, size + 1)
            low, high = sorted((share * sums.lower, share * sums.upper))
            lower, upper = lower + low, upper + high
        law[index] = outward(max(mpq(0), lower * keep.lower), upper * keep.upper)
    return law, Fraction(0)


def _rounded(number: Any, *, up: bool) -> Any:
    if not number:
        return number
    scale = mpq(2) ** (BITS + number.denominator.bit_length() - number.numerator.bit_length())
    scaled = number * scale
    return (-(-scaled // 1) if up else scaled // 1) / scale


def _total(parts: Iterable[Bounds]) -> Bounds:
    lowers, uppers = zip(NOTHING, *parts, strict=True)
    return Bounds(sum(map(mpq, lowers)), sum(map(mpq, uppers)))


def _product(factors: Iterable[Bounds]) -> Bounds:
    lowers, uppers = zip(exactly(1), *factors, strict=True)
    return Bounds(math.prod(map(mpq, lowers)), math.prod(map(mpq, uppers)))


def _shares(weights: Mapping[Any, Bounds]) -> dict[Any, Bounds]:
    """An enclosure of each weight over the sum of all."""
    least, most = _total(weights.values())
    ends = ((outcome, *map(mpq, bounds)) for outcome, bounds in weights.items())
    return {
        outcome: outward(lower / (most - upper + lower), upper / (least - lower + upper))
        for outcome, lower, upper in ends
    }


def _with_tail(weights: Mapping[int, Bounds], tail: Bounds) -> Distribution:
    """The shares of the weights beside a tail that is not listed, and an upper bound on the tail's."""
    *listed, (_, rest) = _shares({**weights, "tail": tail}).items()
    return dict(listed), _upper(rest)


def _upper(bounds: Bounds) -> Fraction:
    return Fraction(int(bounds.upper.numerator), int(bounds.upper.denominator))
