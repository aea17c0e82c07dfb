"""The output laws of ideal mechanisms, from their definitions: no sampler of this project is asked.

Each function returns outcome → enclosure of its probability (of no width where it is rational), and an upper bound on
the probability of all outcomes that are not listed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from gmpy2 import mpq

from attacklab.laws import Bounds, exp_bounds
from experiments.vectors.enclosed import outward, shares, total

Distribution: TypeAlias = tuple[dict[int | bool, Bounds], Fraction]


def uniform(bound: int) -> Distribution:
    """Integers below a bound, all equally likely."""
    return {outcome: Bounds(mpq(1, bound), mpq(1, bound)) for outcome in range(bound)}, Fraction(0)


def coin(probability: Fraction) -> Distribution:
    """A coin that shows true with a rational probability."""
    one = mpq(probability)
    return {True: Bounds(one, one), False: Bounds(1 - one, 1 - one)}, Fraction(0)


def coin_of_exp(gamma: Fraction) -> Distribution:
    """A coin that shows true with probability e^−γ."""
    lower, upper = exp_bounds(-gamma)
    return {True: outward(lower, upper), False: outward(1 - upper, 1 - lower)}, Fraction(0)


def randomized_response(truth: bool, epsilon: Fraction) -> Distribution:
    """The truth with probability e^ε/(1 + e^ε)."""
    return dict(shares({truth: exp_bounds(epsilon), not truth: Bounds(1, 1)})), Fraction(0)


def two_sided_geometric(ratio: Fraction, farthest: int) -> Distribution:
    """N with probability (1 − q)/(1 + q)·q^|n|, listed up to a distance."""
    decay = mpq(ratio)
    top = (1 - decay) / (1 + decay)
    listed = {n: outward(top * decay ** abs(n), top * decay ** abs(n)) for n in range(-farthest, farthest + 1)}
    return dict(listed), _up(2 * top * decay ** (farthest + 1) / (1 - decay))


def discrete_laplace(scale: Fraction, farthest: int) -> Distribution:
    """N with probability proportional to e^(−|n|/scale), listed up to a distance."""
    step = exp_bounds(-1 / scale)
    weights = {n: exp_bounds(-abs(n) / scale) for n in range(-farthest, farthest + 1)}
    rest = 2 * exp_bounds(-(farthest + 1) / scale).upper / (1 - step.upper)
    below = 2 * exp_bounds(-(farthest + 1) / scale).lower / (1 - step.lower)
    return _with_tail(weights, Bounds(below, rest))


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
    tail = total([bounds for n, bounds in weights.items() if abs(n) > farthest])
    listed = {n: bounds for n, bounds in weights.items() if abs(n) <= farthest}
    return _with_tail(listed, Bounds(tail.lower, tail.upper + unseen))


def exponential(utilities: Sequence[Fraction], rate: Fraction) -> Distribution:
    """An index with probability proportional to e^(rate·u); the rate is ε/(2Δu), and ε/Δu for monotone utilities."""
    best = max(utilities)
    weights = {index: exp_bounds(rate * (one - best)) for index, one in enumerate(utilities)}
    return dict(shares(weights)), Fraction(0)


def exponential_base2(utilities: Sequence[int], decay: Fraction) -> Distribution:
    """An index with probability proportional to decay^(max u − u), for a rational decay = 2^−η and whole utilities."""
    best = max(utilities)
    weights = [mpq(decay) ** (best - one) for one in utilities]
    whole = sum(weights, mpq(0))
    return {index: outward(one / whole, one / whole) for index, one in enumerate(weights)}, Fraction(0)


def permute_and_flip(utilities: Sequence[Fraction], rate: Fraction) -> Distribution:
    """Report noisy max with exponential noise.

    P[i] = p_i·Σ_S (−1)^|S|/(|S| + 1)·Π_S p_j over the subsets S of the others, with
    p_j = e^(rate·(u_j − max u)). McKenna and Sheldon 2020, 'Permute-and-Flip', proposition 5.
    """
    best = max(utilities)
    keeps = [exp_bounds(rate * (one - best)) for one in utilities]
    found: dict[int | bool, Bounds] = {}
    for index, keep in enumerate(keeps):
        others = keeps[:index] + keeps[index + 1 :]
        lower = upper = mpq(0)
        for size in range(len(others) + 1):
            sums = total([_product(chosen) for chosen in itertools.combinations(others, size)])
            share = mpq((-1) ** size, size + 1)
            low, high = sorted((share * sums.lower, share * sums.upper))
            lower, upper = lower + low, upper + high
        found[index] = outward(max(mpq(0), lower * keep.lower), upper * keep.upper)
    return found, Fraction(0)


def _product(chosen: Sequence[Bounds]) -> Bounds:
    return Bounds(
        math.prod((mpq(one.lower) for one in chosen), start=mpq(1)),
        math.prod((mpq(one.upper) for one in chosen), start=mpq(1)),
    )


def _with_tail(weights: dict[int, Bounds], tail: Bounds) -> Distribution:
    whole = total([*weights.values(), tail])
    found = {
        outcome: outward(
            one.lower / (whole.upper - one.upper + one.lower), one.upper / (whole.lower - one.lower + one.upper)
        )
        for outcome, one in weights.items()
    }
    return dict(found), _up(tail.upper / (whole.lower - tail.lower + tail.upper))


def _up(number: object) -> Fraction:
    upper = outward(0, number).upper
    return Fraction(int(upper.numerator), int(upper.denominator))
