"""The exponential mechanism in base 2, exactly: weights 2^(η·u/Δu) as integers over one power of two.

Utilities are clamped to a public range, measured in units of Δu and rounded at random to integers; an outcome's
weight is then a power of the dyadic rational 2^−η, and an index is drawn in proportion to integers. Nothing else
is rounded. This is the reference path: it draws its bits lazily and reads as the definition does. No error and
no precision depends on the utilities' values, only on public parameters.

Source: Ilvento 2020, section 3. Where we differ: utilities are maximised; outcomes of equal rounded utility share
a weight, and one of them is drawn uniformly; see also `utilities` (rescaling) and `base2.weighted_sampling`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from mechanisms.coins import uniform_below
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import finest_bit, worst_case_precision
from mechanisms.exponential.base2.weighted_sampling import (
    IntegerWeights,
    Sampler,
    Weights,
    sample_by_bisection,
)
from mechanisms.exponential.utilities import UtilityScale, round_at_random
from mechanisms.parameters import trial_count
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits

LARGEST_PRECISION = 1 << 30
"""The most bits that a sum of weights may have, 128 MiB; for more the mechanism refuses, whatever the utilities."""


@dataclass(frozen=True)
class LevelWeights:
    """Weights count·2^(−η·level) in units of 2^−q, for outcomes counted by level, their rounded shortfall.

    Args:
        eta: the mechanism's parameter.
        spread: the largest level there can be; q = `finest_bit(eta, spread)`.
        levels: the levels that occur, ascending, so that the heaviest weights come first.
        counts: how many outcomes there are at each of them.

    Attributes:
        total: the sum of the weights.
    """

    eta: BaseTwoEta
    spread: int
    levels: tuple[int, ...]
    counts: tuple[int, ...]
    total: mpz = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self._total())

    def __iter__(self) -> Iterator[mpz]:
        """Compute one weight after another; only one is held at a time."""
        numerator, denominator = self.eta.decay.numerator, self.eta.decay.denominator
        step = denominator.bit_length() - 1
        weight, reached = mpz(1) << finest_bit(self.eta, self.spread), 0
        for level, count in zip(self.levels, self.counts, strict=True):
            weight = (weight >> step * (level - reached)) * numerator ** (level - reached)
            reached = level
            yield weight * count

    def _total(self) -> mpz:
        """Add them up by halves: two sums of about equal length and one product at every step."""
        numerator, denominator = self.eta.decay.numerator, self.eta.decay.denominator
        step = denominator.bit_length() - 1
        singles = tuple(map(_single, self.levels, self.counts))
        whole, first, last = by_halves(partial(_joined, numerator, step), singles, 0, len(singles))
        return whole * numerator**first << step * (self.spread - last)


Sum = tuple[mpz, int, int]
"""A sum of weights relative to its first level and in units of its last one, and these two levels."""


def _single(level: int, count: int) -> Sum:
    return mpz(count), level, level


def _joined(numerator: mpz, step: int, heavier: Sum, lighter: Sum) -> Sum:
    """Add two sums, the levels of the first being less than those of the second."""
    (one, first, before), (other, second, last) = heavier, lighter
    return (one << step * (last - before)) + other * numerator ** (second - first), first, last


def by_halves(join: Callable[[Sum, Sum], Sum], items: tuple[Sum, ...], start: int, stop: int) -> Sum:
    """Join the items from `start` up to `stop`, at least one, in their order, half of them with the other half."""
    if stop - start == 1:
        return items[start]
    middle = (start + stop) // 2
    return join(by_halves(join, items, start, middle), by_halves(join, items, middle, stop))


def exact_exponential_base2(
    utilities: PrivateNumbers,
    bits: RandomBits,
    *,
    eta: BaseTwoEta,
    utility_range: tuple[float | Fraction, float | Fraction],
    sensitivity: float | Fraction = 1,
    sampler: Sampler = sample_by_bisection,
) -> int:
    """Select an outcome with probability in proportion to 2^(η·u/Δu), u its utility clamped to the range.

    The base-2 privacy loss is 2η, and η if utilities are monotone: `eta.epsilon()` encloses it in base e.
    When u/Δu is not an integer, the law is the average over its random roundings.

    Args:
        utilities: one utility an outcome; larger is better; numbers as `mechanisms.private_numbers` reads them.
        bits: the source of randomness.
        eta: the growth of a weight with the utility.
        utility_range: the least and the largest utility, chosen without looking at the database.
        sensitivity: Δu, the most that one record moves any utility.
        sampler: one of the samplers of `base2.weighted_sampling`; all give the same law.

    Returns:
        The index of the selected outcome.

    Raises:
        TypeError: an argument, or a utility, is not a number.
        ValueError: there is no outcome; the range is empty or not finite, the sensitivity not positive and finite;
            the range is so long that weights would not fit `LARGEST_PRECISION` bits.
    """
    scale = UtilityScale(utility_range, sensitivity)
    shortfalls = scale.shortfalls(utilities)
    precision = worst_case_precision(eta, scale.spread, len(shortfalls))
    if precision > LARGEST_PRECISION:
        raise ValueError(
            f"utility_range spans {scale.spread} times the sensitivity, so weights with y = {eta.y} and z = {eta.z} "
            f"take {precision} bits, more than {LARGEST_PRECISION}; narrow the range or take a smaller y"
        )
    levels = tuple(round_at_random(shortfall, bits) for shortfall in shortfalls)
    return bits.call(select_by_level, eta, scale.spread, levels, sampler)


def select_by_level(eta: BaseTwoEta, spread: int, levels: tuple[int, ...], sampler: Sampler, bits: RandomBits) -> int:
    """Select an outcome with probability in proportion to 2^(−η·level).

    Args:
        eta: the mechanism's parameter.
        spread: the largest level there can be.
        levels: the level of each outcome, its rounded shortfall.
        sampler: as for `exact_exponential_base2`.
        bits: the source of randomness.
    """
    members: dict[int, list[int]] = {}
    for index, level in enumerate(levels):
        members.setdefault(int(level), []).append(index)
    used = tuple(sorted(members))
    weights = LevelWeights(eta, spread, used, tuple(len(members[level]) for level in used))
    chosen = members[used[bits.call(sampler, weights)]]
    return chosen[bits.call(uniform_below, len(chosen))]


def exact_exponential_base2_fast(
    utilities: PrivateNumbers,
    trials: int,
    bits: RandomBits,
    *,
    eta: BaseTwoEta,
    utility_range: tuple[float | Fraction, float | Fraction],
    sensitivity: float | Fraction = 1,
    sampler: Sampler = sample_by_bisection,
) -> NDArray[np.int64]:
    """Select `trials` outcomes, each as `exact_exponential_base2` does.

    Computing long weights takes longer than drawing by them. They are private, so only this call keeps them.

    Returns:
        The indices of the selected outcomes, shape (trials,).
    """
    listed = lru_cache(maxsize=16)(_listed)

    def by_listed(weights: Weights, bits: RandomBits) -> int:
        return sampler(listed(weights), bits)  # type: ignore[arg-type] # weights are frozen, hence hashable

    select = partial(
        exact_exponential_base2,
        utilities,
        bits,
        eta=eta,
        utility_range=utility_range,
        sensitivity=sensitivity,
        sampler=by_listed,
    )
    return np.array([select() for _ in range(trial_count(trials))], dtype=np.int64)


def _listed(weights: Weights) -> IntegerWeights:
    return IntegerWeights(tuple(weights))
