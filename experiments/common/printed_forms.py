"""Samplers in proportion to weights, as Ilvento 2020 prints them and as its implementation has them.

`experiments.printed_samplers` compares their laws with the corrected ones.
"""

from __future__ import annotations

from itertools import accumulate

from gmpy2 import mpq

from mechanisms.randomness import REJECTED, RandomBits


def printed_rejection(weights: tuple[int, ...], precision: int, bits: RandomBits) -> int:
    """Draw an index by Algorithm 2 with s = Σ r_i·2^(g−i) of the drawn bits r_i, g = ⌊log2 total⌋: s < 2^g ≤ total."""
    drawn = bits.take(precision)
    top = 1 << (sum(weights).bit_length() - 1)
    return next(i for i, end in enumerate(accumulate(weights)) if drawn < mpq(end << precision, top))


def printed_bisection(weights: tuple[int, ...], bits: RandomBits) -> int:
    """Draw an index by Algorithm 3 with the end 2^k − total for its dummy outcome ⊥; 2^k is the next power of two."""
    total = sum(weights)
    length = (total - 1).bit_length()
    return bits.repeat(_printed_bisection, (*accumulate(weights), (1 << length) - total), length)


def _printed_bisection(ends: tuple[int, ...], length: int, bits: RandomBits) -> int | None:
    remaining, low, width = list(range(len(ends))), 0, 1 << length
    while len(remaining) > 1:
        width >>= 1
        low += bits.take(1) * width
        remaining = [i for i in remaining if ends[i] > low and (i == 0 or ends[i - 1] < low + width)]
    (index,) = remaining
    return index if index < len(ends) - 1 else REJECTED


def published_sampler(costs: tuple[int, ...], precision: int, bits: RandomBits) -> int:
    """Draw the first i with C_i ≥ s, C the sums of weights 2^(−cost), s ≤ total drawn on a grid of `precision` bits."""
    ends = list(accumulate(mpq(1, 1 << cost) for cost in costs))
    points_a_unit = mpq(1 << precision, 1 << int(ends[-1]).bit_length())
    return bits.repeat(_published_round, tuple(end * points_a_unit for end in ends), precision)


def _published_round(ends: tuple[mpq, ...], precision: int, bits: RandomBits) -> int | None:
    drawn = bits.take(precision)
    return next((index for index, end in enumerate(ends) if drawn <= end), REJECTED)
