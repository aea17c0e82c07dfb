"""The exponential mechanism with a dyadic law of its own: bits and operations depend on public parameters alone.

Samplers that reject, or that stop as soon as their bits decide, take more bits for some databases than for others, and
who counts the bits or the time learns which. Here every release takes one uniform integer of k bits, its *ticket*, and
compares it with a threshold for each outcome. An outcome o has the weight w_o, an integer of a public table, and the
tickets from ⌊C·2^k/T⌋ on, C being the sum of the weights before it and T the sum of all: more than p − 2 and fewer than
p + 2 of them, p = w_o·2^k/T. From a level to the next a weight falls by the factor q = 2^−η or less, so that neighbours
change p by the factor R = q^(−2·steps) at most; p is at least 2^spare. So the law loses ln((R·2^spare + 2)/(2^spare −
2)), with δ = 0 (README.md, 'Fixed work').

What is fixed is the number of bits, and the kind, number and order of operations on integers: look-ups, sums,
differences, shifts, products and comparisons. None is skipped, and there is no division, whose steps would depend on
the numbers: the quotient 2^k/T is found digit by digit. Every operand has a public number of bits, as a public power of
two is added to it, but for those of the last comparisons, the ticket and the thresholds. Python promises nothing about
the time of any of them: a comparison ends at the first word that differs, a look-up leaves its trace in a cache. A
compiled implementation has to compare and to look up in constant time.

The utilities are read before. Doubles are, by as many operations on the whole array for all values but NaN, if steps/Δu
is a power of two and the ends of the range are whole levels; so are small integers. Reading other numbers
(`mechanisms.private_numbers`) takes longer for some of them than for others.

Sources: McSherry and Talwar 2007 (the mechanism); Ilvento 2020, section 3 (weights whose base is dyadic); Balcer and
Vadhan 2018, 'Differential Privacy on Finite Computers' (why bounded time needs probabilities of finite precision). The
table of weights and the tickets are our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.utilities import UtilityScale
from mechanisms.parameters import exact_rational, positive_integer, positive_rational
from mechanisms.private_numbers import PrivateNumbers, exact_numbers
from mechanisms.randomness import RandomBits

MOST_LEVELS = 1 << 20
"""The most levels that a table may have."""

_DECAY_BITS = 64
_EXACT_STEPS = 1 << 52
_LARGEST_FACTOR = 1 << 512
_RESERVED = Fraction(1, 1 << 32)  # the share of ε that rounding the thresholds may use


@dataclass(frozen=True)
class FixedWork:
    """The public parameters of selection with fixed work.

    Args:
        eta: η; q = 2^−η is how much of its weight an outcome keeps from one level to the next.
        steps: how many levels the sensitivity spans.
        precision: the heaviest weight is 2^precision.
        spare: how many bits of tickets the lightest outcome has at least.

    Raises:
        TypeError: a number is not an integer.
        ValueError: `steps` or `precision` is less than 1, or `spare` less than 2.
    """

    eta: BaseTwoEta
    steps: int = 1
    precision: int = 64
    spare: int = 64

    def __post_init__(self) -> None:
        for name, value in (("steps", self.steps), ("precision", self.precision), ("spare", self.spare)):
            positive_integer(name, value)
        if self.spare < 2:
            raise ValueError(f"spare must be at least 2, not {self.spare}: some outcome might have no ticket")

    @classmethod
    def from_epsilon(
        cls, epsilon: float | Fraction, *, steps: int = 1, precision: int = 64, monotone: bool = False
    ) -> FixedWork:
        """Return parameters whose mechanism is ε-DP; all but 2^−32 of ε goes into the weights.

        Args:
            epsilon: ε; a float stands for the rational number that it is.
            steps: how many levels the sensitivity spans; utilities are rounded to 1/steps of it.
            precision: outcomes that would have less than about 2^−precision of the best one's weight have that.
            monotone: whether one record moves all utilities in the same direction.

        Raises:
            TypeError: `epsilon` is not a number, or another one is not an integer.
            ValueError: `epsilon` is not positive and finite, or below about 2^−62·steps.
        """
        exact = positive_rational("epsilon", epsilon)
        eta = BaseTwoEta.from_epsilon(
            exact * (1 - _RESERVED) / positive_integer("steps", steps), y=_DECAY_BITS, monotone=monotone
        )
        # ln((R·M + 2)/(M − 2)) ≤ ln R + 5/M, and 5/M ≤ 2^−32·ε for M = 2^spare.
        return cls(eta, steps, precision, 35 + int(1 / exact).bit_length())

    def largest_ratio(self, *, monotone: bool = False) -> Fraction:
        """Return a bound for the factor by which neighbours change the probability of an outcome: e^ε or less."""
        decay = Fraction(int(self.eta.decay.numerator), int(self.eta.decay.denominator))
        by_weights = 1 / decay ** (self.steps if monotone else 2 * self.steps)
        return (by_weights * (1 << self.spare) + 2) / ((1 << self.spare) - 2)


@dataclass(frozen=True)
class FixedWorkSelection:
    """Selection from a number of outcomes by their levels.

    Args:
        work: the public parameters.
        spread: the largest level that there can be, at least 0.
        outcomes: how many outcomes there are, at least 1.
    """

    work: FixedWork
    spread: int
    outcomes: int

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weights of the levels: 2^precision, then q times the one before, rounded up, while that is less.

        Deeper levels than there are weights count as the last of them.

        Raises:
            ValueError: there are more than `MOST_LEVELS`.
        """
        numerator, denominator = int(self.work.eta.decay.numerator), int(self.work.eta.decay.denominator)
        weights = [1 << self.work.precision]
        while len(weights) <= min(self.spread, MOST_LEVELS):
            following = -(-weights[-1] * numerator // denominator)
            if following == weights[-1]:
                break
            weights.append(following)
        if len(weights) > MOST_LEVELS:
            raise ValueError(f"weights would have more than {MOST_LEVELS} levels; narrow the range or raise epsilon")
        return tuple(weights)

    @cached_property
    def bits(self) -> int:
        """The number of bits of a ticket."""
        return self._total_bits + self.work.spare

    @cached_property
    def _total_bits(self) -> int:
        """The total of the weights is at most 2 to the power of this."""
        return self.work.precision + (self.outcomes - 1).bit_length()

    @cached_property
    def _pad(self) -> int:
        """What is added to sums of weights so that all are of one length."""
        return 4 << self._total_bits

    @cached_property
    def _padded_weights(self) -> tuple[int, ...]:
        return tuple(self._pad + weight for weight in self.weights)

    @cached_property
    def _other_pads(self) -> tuple[int, ...]:
        """What the pads of a sum of padded weights come to beside one."""
        return tuple(others * self._pad for others in range(self.outcomes))

    @cached_property
    def _digits(self) -> int:
        """The number of binary digits of the quotient."""
        return self.bits + (self.outcomes - 1).bit_length() + 1

    def thresholds(self, levels: Sequence[int]) -> list[int]:
        """Return the first ticket of each outcome but the first.

        With C the sum of the weights before the outcome and Q = ⌊2^(bits + h)/T⌋, that is ⌊C·Q/2^h⌋, where T ≤ 2^h.

        Args:
            levels: the level of each outcome, shape (outcomes,).
        """
        weights = self._padded_weights
        totals = accumulate(weights[level] for level in levels)
        sums = [total - others for total, others in zip(totals, self._other_pads, strict=True)]
        quotient = self._padded_quotient(sums[-1])
        shift, digits = self._total_bits, self._digits
        # (C + 4·2^h)·(Q + 2^d)/2^h = C·Q/2^h + C·2^(d − h) + 4·Q + 4·2^d, d the number of digits; each term is padded.
        return [
            (before * quotient >> shift) + (4 << digits) - ((before << digits - shift) + 4 * quotient)
            for before in sums[:-1]
        ]

    def _padded_quotient(self, total: int) -> int:
        """Return ⌊2^(bits + h)/T⌋ + 2^digits by long division, for T + pad."""
        pad = self._pad
        remainder, quotient = pad + (1 << self.work.precision - 1), 1
        for _ in range(self._digits):
            doubled = 2 * remainder - pad
            digit = doubled >= total
            remainder = doubled + pad - (pad, total)[digit]
            quotient = 2 * quotient + digit
        return quotient

    def __call__(self, levels: Sequence[int], bits: RandomBits) -> int:
        """Select an outcome, with every bit and every threshold each time."""
        thresholds = self.thresholds(levels)
        ticket = bits.take(self.bits)
        return sum(ticket >= threshold for threshold in thresholds)


def exact_exponential_fixed_work(
    utilities: PrivateNumbers,
    bits: RandomBits,
    *,
    work: FixedWork,
    utility_range: tuple[float | Fraction, float | Fraction],
    sensitivity: float | Fraction = 1,
) -> int:
    """Select an outcome with probability about in proportion to 2^(η·steps·u/Δu), u its utility clamped to the range.

    How far a utility lies below the top of the range is rounded down to whole levels of Δu/steps, so that neighbours
    are at most `steps` levels apart. `work.largest_ratio()` bounds e^ε for the law that is drawn.

    Args:
        utilities: one utility an outcome; larger is better; numbers as `mechanisms.private_numbers` reads them.
        bits: the source of randomness.
        work: the public parameters; `FixedWork.from_epsilon` finds them.
        utility_range: the least and the largest utility, chosen without looking at the database.
        sensitivity: Δu, the most that one record moves any utility.

    Returns:
        The index of the selected outcome.

    Raises:
        TypeError: a public parameter, or a utility, is not a number.
        ValueError: there is no outcome; the range is empty or not finite, the sensitivity not positive and finite;
            the weights have more than `MOST_LEVELS` levels.
    """
    scale = UtilityScale(utility_range, sensitivity)
    spread = work.steps * scale.spread
    given = exact_numbers("utilities", utilities)
    if len(given) == 0:
        raise ValueError("utilities must name at least one outcome")
    deepest = len(fixed_work_selection(work, spread, len(given)).weights) - 1
    whole = whole_levels(work.steps, utility_range, sensitivity)
    if whole is not None and isinstance(given, np.ndarray):
        return bits.call(select_with_fixed_work, work, spread, levels_of_doubles(given, *whole, deepest))
    depths = [divmod(work.steps * shortfall, 1)[0] for shortfall in scale.shortfalls(given)]
    best = min(depths)
    levels = tuple(min(depth - best, deepest) for depth in depths)
    return bits.call(select_with_fixed_work, work, spread, levels)


def whole_levels(
    steps: int, utility_range: tuple[float | Fraction, float | Fraction], sensitivity: float | Fraction
) -> tuple[int, int, int] | None:
    """Return the ends of the range in levels, and how many levels a unit of utility has, if doubles can count them.

    Args:
        steps: how many levels the sensitivity spans.
        utility_range: the least and the largest utility.
        sensitivity: Δu.

    Returns:
        Integers, the last of them a power of two; None if one of them is not, or is too large.
    """
    factor = steps / exact_rational("sensitivity", sensitivity)
    lower, upper = (exact_rational("utility_range", end) * factor for end in utility_range)
    is_whole = factor.denominator == lower.denominator == upper.denominator == 1
    if not is_whole or factor.numerator.bit_count() > 1 or factor > _LARGEST_FACTOR:
        return None
    return (int(lower), int(upper), int(factor)) if max(-lower, upper) <= _EXACT_STEPS else None


def levels_of_doubles(
    utilities: NDArray[np.float64], lower: int, upper: int, factor: int, deepest: int
) -> tuple[int, ...]:
    """Return the levels of doubles: no operation here rounds, and none depends on their values.

    Args:
        utilities: shape (outcomes,); NaN counts as the lower end of the range.
        lower: the range's lower end in levels.
        upper: its upper end.
        factor: how many levels a unit of utility has, a power of two.
        deepest: the last level.
    """
    with np.errstate(all="ignore"):
        clamped = np.fmin(np.fmax(utilities, lower / factor), upper / factor)
        depths = upper - np.ceil(clamped * float(factor))
    levels: list[int] = np.minimum(depths - depths.min(), float(deepest)).astype(np.int64).tolist()
    return tuple(levels)


def select_with_fixed_work(work: FixedWork, spread: int, levels: tuple[int, ...], bits: RandomBits) -> int:
    """Select an outcome by its level, as `FixedWorkSelection` does.

    Args:
        work: the public parameters.
        spread: the largest level there can be.
        levels: the level of each outcome, below the number of weights.
        bits: the source of randomness.
    """
    return fixed_work_selection(work, spread, len(levels))(levels, bits)


@lru_cache(maxsize=64)
def fixed_work_selection(work: FixedWork, spread: int, outcomes: int) -> FixedWorkSelection:
    """Return the selection for some public parameters, its table of weights kept for the next release."""
    return FixedWorkSelection(work, spread, outcomes)
