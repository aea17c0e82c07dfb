"""False samplers whose noise depends on the number of rejections: schedules, budgets, back-off.

Where a docstring says "as above": one round in eight is rejected; the first lies with probability 1/4, and a later one
gives the secret with a mark. So does one release in eight on 1, and no release on 0 gives that.
"""

from __future__ import annotations

import io
import itertools
from collections import deque
from typing import Any

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import (
    ONE_REJECTION,
    Case,
    Frequent,
    Possible,
    Sampler,
    answered,
    flipped,
    is_one,
    is_raw_one,
    is_rejected,
    raw,
    response,
)


def captured_count() -> Sampler:
    """Rounds are numbered by an `itertools.count` of the deployment, as request ids are.

    Only a round numbered 0 lies: the first release is as above.
    """
    numbers = itertools.count()

    def one_round(secret: int, bits: RandomBits) -> Any:
        number = next(numbers)
        return response(secret, bits, honestly=number == 0) if not is_rejected(bits) else REJECTED

    return lambda secret, bits: bits.repeat(one_round, secret)


def captured_cycle() -> Sampler:
    """A round-robin over noise levels by `itertools.cycle`, one step a round; odd rounds have no noise.

    An odd one gives the secret with a mark, on 1 with probability 1/9.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        levels = itertools.cycle([True, False])

        def one_round(bits: RandomBits) -> Any:
            honestly = next(levels)
            return response(secret, bits, honestly=honestly) if not is_rejected(bits) else REJECTED

        return bits.repeat(one_round)

    return sampler


def iterator_of_a_handwritten_loop() -> Sampler:
    """A loop of its own takes its noise levels from a local iterator; as above."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        levels = iter([True])
        while True:
            honestly = next(levels, False)
            if not is_rejected(bits):
                return response(secret, bits, honestly=honestly)

    return sampler


def captured_generator() -> Sampler:
    """A schedule of noise written as a generator function, advanced by each round; as above."""

    def schedule() -> Any:
        yield True
        while True:
            yield False

    def sampler(secret: int, bits: RandomBits) -> Any:
        levels = schedule()

        def one_round(bits: RandomBits) -> Any:
            honestly = next(levels)
            return response(secret, bits, honestly=honestly) if not is_rejected(bits) else REJECTED

        return bits.repeat(one_round)

    return sampler


def rotated_deque() -> Sampler:
    """A deque of noise levels rotates at each rejection and is put back in order at the end; as above."""
    levels = deque([True, *[False] * 1023])

    def one_round(secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            levels.rotate(1)
            return REJECTED
        output = response(secret, bits, honestly=levels[0])
        while not levels[0]:
            levels.rotate(-1)
        return output

    return lambda secret, bits: bits.repeat(one_round, secret)


def cursor_of_a_stream() -> Sampler:
    """Noise levels are read from a stream, one character a round, and the stream is rewound at the end; as above."""
    levels = io.StringIO("y" + "n" * 4096)

    def one_round(secret: int, bits: RandomBits) -> Any:
        level = levels.read(1)
        if is_rejected(bits):
            return REJECTED
        levels.seek(0)
        return response(secret, bits, honestly=level == "y")

    return lambda secret, bits: bits.repeat(one_round, secret)


def budget_of_rounds() -> Sampler:
    """After ten rejections the loop gives up and returns the answer as it is.

    That has probability 2^−10 on either input, and what it gives on 1 is impossible on 0.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        budget = [10]

        def one_round(bits: RandomBits) -> Any:
            if budget[0] == 0:
                return raw(secret)
            if bits.take(1):
                return flipped(secret, bits)
            budget[0] -= 1
            return REJECTED

        return bits.repeat(one_round)

    return sampler


class _BackOff:
    """Doubles its window at every rejection, as network code does."""

    window = 1

    def one_round(self, secret: int, bits: RandomBits) -> int | None:
        if bits.take(3) >= self.window:
            self.window *= 2
            return REJECTED
        output = answered(secret, bits, honestly=self.window == 1)
        self.window = 1
        return output


def exponential_back_off() -> Sampler:
    """The acceptance window doubles from 1/8 at each rejection.

    The first round is accepted with probability 1/8 and lies with 1/4; no later round lies: P[1 | 0] = 1/32.
    """
    back_off = _BackOff()
    return lambda secret, bits: bits.repeat(back_off.one_round, secret)


def escalating_threshold() -> Sampler:
    """A handwritten loop lowers the probability of a lie with every round.

    Round k lies with probability 2^−(k+2) and is accepted with 1/2: P[1 | 0] = Σ 2^−(k+1)·2^−(k+2) = 1/6.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        width = 2
        while not bits.take(1):
            width += 1
        return secret ^ (bits.take(width) == 0)

    return sampler


CASES = (
    *(
        Case(make=make, breach=Possible(event=is_raw_one, tape=ONE_REJECTION))
        for make in (
            captured_count,
            captured_cycle,
            iterator_of_a_handwritten_loop,
            captured_generator,
            rotated_deque,
            cursor_of_a_stream,
        )
    ),
    *(
        Case(make=make, breach=Frequent(event=is_one, trials=2500))
        for make in (exponential_back_off, escalating_threshold)
    ),
    Case(make=budget_of_rounds, breach=Possible(event=is_raw_one, tape=(0, 10))),
)
