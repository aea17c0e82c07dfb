"""True samplers of discrete distributions: loops, rejection, recursion, tables and trees, in forms that real code has.

Most answer by randomized response that lies with probability exactly 1/4, which needs ε = ln 3 = 1.0986… of a claimed
1.1; a docstring that says "lies with 1/4" means that. Others say their law.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from attacklab.neighbours import NeighbouringPair
from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import RESPONSE, Case, HandLaw, Sampler, flipped


def _third(bits: RandomBits) -> int | None:
    draw = bits.take(2)
    return draw if draw < 3 else REJECTED


def _twelfth(bits: RandomBits) -> int | None:
    draw = bits.take(4)
    return draw if draw < 12 else REJECTED


def rejection_by_repeat() -> Sampler:
    """A number below 12 by `bits.repeat`; three of twelve values lie: lies with 1/4."""
    return lambda secret, bits: secret ^ (bits.repeat(_twelfth) < 3)


def rejection_in_a_nested_function() -> Sampler:
    """The round is a nested function over the secret, which it does not change: lies with 1/4."""

    def sampler(secret: int, bits: RandomBits) -> int:
        def one_round(bits: RandomBits) -> int | None:
            draw = bits.take(3)
            return REJECTED if draw >= 4 else secret ^ (draw == 0)

        return bits.repeat(one_round)

    return sampler


def handwritten_loop() -> Sampler:
    """`while True` with a return, as published code has it, rejecting 1/4 of the rounds: lies with 1/4."""

    def sampler(secret: int, bits: RandomBits) -> int:
        while True:
            draw = bits.take(4)
            if draw < 12:
                return secret ^ (draw % 4 == 3)

    return sampler


def walrus_loop() -> Sampler:
    """The loop condition draws: `while (draw := take(4)) >= 12`: lies with 1/4."""

    def sampler(secret: int, bits: RandomBits) -> int:
        while (draw := bits.take(4)) >= 12:
            pass
        return secret ^ (draw < 3)

    return sampler


def recursive_rejection() -> Sampler:
    """A rejected draw calls the function again: lies with 1/4."""

    def sampler(secret: int, bits: RandomBits) -> int:
        draw = bits.take(4)
        return sampler(secret, bits) if draw >= 12 else secret ^ (draw < 3)

    return sampler


def local_list_within_a_round() -> Sampler:
    """A round collects its coins in a list of its own, and is rejected if they are all heads.

    Three coins are not all heads in 7 of 8 cases; (0, 0, 0) lies: 1/7, which needs ln 6 = 1.79 of 1.8.
    """

    def one_round(secret: int, bits: RandomBits) -> int | None:
        coins: list[int] = []
        for _ in range(3):
            coins.append(bits.take(1))  # noqa: PERF401
        return REJECTED if all(coins) else secret ^ (not any(coins))

    return lambda secret, bits: bits.repeat(one_round, secret)


def geometric() -> Sampler:
    """The answer plus a geometric number by counting zeros: P[k] = 2^-(k+1), one step apart ratio 2 on the tail.

    The answer 1 can't give the output 0, so δ = P[0 | 0] = 1/2 with ε = ln 2; claimed are ε = 0.7 and δ = 1/2.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        zeros = 0
        while not bits.take(1):
            zeros += 1
        return secret + zeros

    return sampler


def two_sided_geometric() -> Sampler:
    """Difference of two geometric numbers, the discrete Laplace of ratio 1/2: P[k] = 2^-|k|/3, ε = ln 2 of 0.7."""

    def one_sided(bits: RandomBits) -> int:
        zeros = 0
        while not bits.take(1):
            zeros += 1
        return zeros

    return lambda secret, bits: secret + bits.call(one_sided) - bits.call(one_sided)


def discrete_laplace_by_sign() -> Sampler:
    """The discrete Laplace by sign and magnitude, rejecting −0: P[k] = 2^-|k|/3, ε = ln 2 of 0.7."""

    def one_round(bits: RandomBits) -> int | None:
        is_negative, magnitude = bits.take(1), 0
        while bits.take(1):
            magnitude += 1
        if is_negative and not magnitude:
            return REJECTED
        return -magnitude if is_negative else magnitude

    return lambda secret, bits: secret + bits.repeat(one_round)


def _exponential_coin(numerator: int, bits: RandomBits) -> bool:
    """True with probability e^(-numerator/4), by von Neumann's alternating series."""
    count = 1
    while bits.call(_coin_of, numerator, 4 * count):
        count += 1
    return count % 2 == 1


def _coin_of(numerator: int, denominator: int, bits: RandomBits) -> bool:
    return bits.repeat(_below, denominator) < numerator


def _below(bound: int, bits: RandomBits) -> int | None:
    draw = bits.take((bound - 1).bit_length()) if bound > 1 else 0
    return draw if draw < bound else REJECTED


def discrete_gaussian_by_exponential_coins() -> Sampler:
    """A discrete Gaussian of σ² = 2 cut to −1, 0, 1: weights e^(-k²/4), by rejection with an exact coin.

    P[0] = 1/(1 + 2·e^(-1/4)) = 0.391. One step apart −1 is impossible for the larger answer: δ = P[-1] = 0.3045, and
    ε = 1/4 on the rest; claimed are ε = 0.3 and δ = 0.31.
    """

    def one_round(bits: RandomBits) -> int | None:
        value = bits.repeat(_third)
        return value - 1 if bits.call(_exponential_coin, (value - 1) ** 2) else REJECTED

    return lambda secret, bits: secret + bits.repeat(one_round)


def randomized_response_of_many_answers() -> Sampler:
    """Generalized randomized response on four values: the truth with 4/7, each other with 1/7: ε = ln 4 of 1.4."""

    def one_round(secret: int, bits: RandomBits) -> int | None:
        draw = bits.take(3)
        return REJECTED if draw == 7 else secret if draw < 4 else (secret + draw - 3) % 4

    return lambda secret, bits: bits.repeat(one_round, secret)


UTILITIES = NeighbouringPair.integers([1, 0, 0], [0, 1, 1], sensitivity=1)


def exponential_mechanism_base_two() -> Sampler:
    """The exponential mechanism with weights 2^utility, by rejection from a table of cumulative weights.

    Weights (2, 1, 1) and (1, 2, 2): probabilities (1/2, 1/4, 1/4) and (1/5, 2/5, 2/5), so ε = ln 2.5 = 0.917 of 1.39.
    """

    def one_round(total: int, bits: RandomBits) -> int | None:
        draw = bits.take((total - 1).bit_length())
        return draw if draw < total else REJECTED

    def sampler(utilities: Any, bits: RandomBits) -> int:
        cumulated = np.cumsum([1 << int(utility) for utility in utilities]).tolist()
        draw = bits.repeat(one_round, cumulated[-1])
        return next(index for index, bound in enumerate(cumulated) if draw < bound)

    return sampler


def permute_and_flip() -> Sampler:
    """Permute and flip on three utilities with probabilities 2^(utility - best), Fisher-Yates and all.

    (1, 0, 0): candidates of weight 1/2 beside a certain one. P[0] = Σ over the place of 0 in the order: 1/3·(1 + 1/2 +
    1/4) = 7/12, the others 5/24 each. (0, 1, 1): P[0] = 1/3·1/2 = 1/6, the others 5/12 each. ε = ln 3.5
    = 1.253 of 1.39.
    """

    def sampler(utilities: Any, bits: RandomBits) -> int:
        values = [int(utility) for utility in utilities]
        order, best = list(range(len(values))), max(values)
        for place in range(len(order) - 1, 0, -1):
            other = bits.repeat(_below, place + 1)
            order[place], order[other] = order[other], order[place]
        for candidate in order:
            if values[candidate] == best or bits.take(1):
                return candidate
        raise AssertionError("the best is always taken")

    return sampler


def knuth_yao_tree() -> Sampler:
    """A Knuth-Yao tree for (3/4, 1/4) as nested tuples, walked bit by bit: lies with 1/4."""
    tree = (0, (0, 1))

    def sampler(secret: int, bits: RandomBits) -> int:
        node: Any = tree
        while isinstance(node, tuple):
            node = node[bits.take(1)]
        return secret ^ node

    return sampler


def alias_table() -> Sampler:
    """Walker's alias method on four columns for (1/8, 3/8, 3/8, 1/8) of k, and k is compared: lies with 1/4.

    Columns (0 or 1), 1, 2, (3 or 2), the first of the two with 1/2; 0 and 3 have 1/8 each, and those lie.
    """
    columns = ((0, 1), (1, 1), (2, 2), (3, 2))

    def sampler(secret: int, bits: RandomBits) -> int:
        first, second = columns[bits.take(2)]
        return secret ^ ((first if bits.take(1) else second) in (0, 3))

    return sampler


def shuffled_list() -> Sampler:
    """A deck of four cards is shuffled, and the answer is told truly unless the joker lies on top: lies with 1/4."""

    def sampler(secret: int, bits: RandomBits) -> int:
        deck = [0, 0, 0, 1]
        for place in (3, 2, 1):
            other = bits.repeat(_below, place + 1)
            deck[place], deck[other] = deck[other], deck[place]
        return secret ^ deck[0]

    return sampler


def consumed_generator() -> Sampler:
    """A generator of coins made within the run, consumed to its end: two heads lie: lies with 1/4."""

    def coins(count: int, bits: RandomBits) -> Any:
        for _ in range(count):
            yield bits.take(1)

    return lambda secret, bits: secret ^ all(list(coins(2, bits)))


def local_count_in_a_loop() -> Sampler:
    """A loop of its own counts rejections and reports them with the answer: (k rejections, response).

    P[k, truth] = 2^-(k+1)·3/4: the count says nothing of the secret, which ε = ln 3 shows for each k.
    """

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        rejected = 0
        while bits.take(1):
            rejected += 1
        return rejected, flipped(secret, bits)

    return sampler


def never_draws() -> Sampler:
    """A constant query draws nothing: the laws are one point, ε = 0."""
    return lambda _secret, _bits: "no data"


@cache
def _public_table(width: int) -> tuple[int, ...]:
    return tuple(int(number < 1 << width - 2) for number in range(1 << width))


def cached_public_table() -> Sampler:
    """An lru_cache holds a table of public parameters, filled at the first use: lies with 1/4."""
    return lambda secret, bits: secret ^ _public_table(4)[bits.take(4)]


def _geometric_law(shift: int) -> HandLaw:
    return {output: Fraction(1, 2 << output - shift) for output in range(shift, 40)}


def _laplace_law(shift: int) -> HandLaw:
    return {output: Fraction(1, 3 << abs(output - shift)) for output in range(-39, 41)}


def _gaussian_law(shift: int) -> HandLaw:
    side = Fraction(30447, 100_000)  # e^(-1/4)/(1 + 2·e^(-1/4)) = 0.304482…
    return {shift - 1: side, shift: 1 - 2 * side, shift + 1: side}


def _counted_law(secret: int) -> HandLaw:
    return {(k, output): Fraction(3 if output == secret else 1, 8 << k) for k in range(30) for output in (0, 1)}


def _generalized_law(secret: int) -> HandLaw:
    return {value: Fraction(4 if value == secret else 1, 7) for value in range(4)}


_RESPONSES = (
    rejection_by_repeat,
    rejection_in_a_nested_function,
    handwritten_loop,
    walrus_loop,
    recursive_rejection,
    knuth_yao_tree,
    alias_table,
    shuffled_list,
    consumed_generator,
    cached_public_table,
)

_SIXTHS = (Fraction(6, 7), Fraction(1, 7))

CASES = (
    *(Case(make=make, laws=RESPONSE) for make in _RESPONSES),
    Case(
        make=local_list_within_a_round,
        laws=({0: _SIXTHS[0], 1: _SIXTHS[1]}, {0: _SIXTHS[1], 1: _SIXTHS[0]}),
        epsilon=1.8,
    ),
    Case(make=geometric, laws=(_geometric_law(0), _geometric_law(1)), epsilon=0.7, delta=0.5),
    Case(make=two_sided_geometric, laws=(_laplace_law(0), _laplace_law(1)), epsilon=0.7),
    Case(make=discrete_laplace_by_sign, laws=(_laplace_law(0), _laplace_law(1)), epsilon=0.7),
    Case(
        make=discrete_gaussian_by_exponential_coins,
        laws=(_gaussian_law(0), _gaussian_law(1)),
        epsilon=0.3,
        delta=0.31,
    ),
    Case(make=randomized_response_of_many_answers, laws=(_generalized_law(0), _generalized_law(1)), epsilon=1.4),
    Case(
        make=exponential_mechanism_base_two,
        laws=(
            {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)},
            {0: Fraction(1, 5), 1: Fraction(2, 5), 2: Fraction(2, 5)},
        ),
        pair=UTILITIES,
        epsilon=1.39,
    ),
    Case(
        make=permute_and_flip,
        laws=(
            {0: Fraction(7, 12), 1: Fraction(5, 24), 2: Fraction(5, 24)},
            {0: Fraction(1, 6), 1: Fraction(5, 12), 2: Fraction(5, 12)},
        ),
        pair=UTILITIES,
        epsilon=1.39,
    ),
    Case(make=local_count_in_a_loop, laws=(_counted_law(0), _counted_law(1))),
    Case(make=never_draws, laws=({"no data": Fraction(1)}, {"no data": Fraction(1)}), epsilon=0.1),
)
