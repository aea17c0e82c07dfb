"""False samplers whose breach lies where a search hardly comes: at rare values, deep in loops, in late releases.

All breaches have a probability above 2^-58 and are impossible on the first input: the claim of δ = 0 is false, and not
proved with slack either.
"""

from __future__ import annotations

import hashlib
import math
import weakref
import zlib
from typing import Any

import numpy as np

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import (
    Case,
    Frequent,
    Possible,
    Sampler,
    Seen,
    answered,
    flipped,
    is_one,
    is_raw_one,
    raw,
)


def one_value_of_forty_bits() -> Sampler:
    """A test value that was left in: a draw of 40 bits that equals it switches the noise off. Probability 2^-40."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if bits.take(40) == 0xC0FFEE1234 else flipped(secret, bits)

    return sampler


def digest_of_a_draw() -> Sampler:
    """One draw in about 65,536 is sampled for an audit log by the first two bytes of its SHA-256, without noise.

    60,291 is the first such draw of 40 bits; there are about 2^24.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        digest = hashlib.sha256(bits.take(40).to_bytes(5, "big")).digest()
        return raw(secret) if digest[:2] == b"\0\0" else flipped(secret, bits)

    return sampler


def checksum_of_a_draw() -> Sampler:
    """The same by CRC-32, which is a bijection on draws of 32 bits: one of them has the checksum 0.

    CRC-32 of 9D 0A D9 6D is 0. Probability 2^-32.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if zlib.crc32(bits.take(32).to_bytes(4, "big")) == 0 else flipped(secret, bits)

    return sampler


def bucket_of_a_multiplicative_hash() -> Sampler:
    """Fibonacci hashing of a draw picks one bucket of 2^16 for debugging; the values lie scattered. Probability 2^-16.

    The draw 0 is in bucket 0.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        bucket = (bits.take(64) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 48
        return raw(secret) if bucket == 0 else flipped(secret, bits)

    return sampler


def collision_of_draws() -> Sampler:
    """Two draws of 24 bits that collide are a "retry" that forgets the noise. Probability 2^-24."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if bits.take(24) == bits.take(24) else flipped(secret, bits)

    return sampler


def draws_that_cancel() -> Sampler:
    """The same where the exclusive or of two draws is a constant. Probability 2^-20."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if bits.take(20) ^ bits.take(20) == 0xABCDE else flipped(secret, bits)

    return sampler


def top_byte_of_a_word() -> Sampler:
    """One value of the top byte of a numpy word has no entry in a table of noise. Probability 2^-8."""
    table = {number: number < 64 for number in range(255)}

    def sampler(secret: int, bits: RandomBits) -> Any:
        lies = table.get(int(bits.words(1)[0]) >> 56)
        return raw(secret) if lies is None else secret ^ lies

    return sampler


def residue_of_a_draw() -> Sampler:
    """A draw of 48 bits is reduced modulo 1,000,003, and one residue is a sentinel. Probability about 1e-6."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if bits.take(48) % 1_000_003 == 271_828 else flipped(secret, bits)

    return sampler


def logarithm_of_zero() -> Sampler:
    """A uniform number of 53 bits is 0, its logarithm raises, and the handler returns the answer. Probability 2^-53."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        try:
            magnitude = -math.log(bits.take(53) * 2.0**-53)
        except ValueError:
            return raw(secret)
        return secret ^ (magnitude > math.log(4))

    return sampler


def quotient_that_rounds_to_one() -> Sampler:
    """`draw / 2^54 == 1.0` is meant never to hold, and `float` rounds the largest draw up. Probability 2^-54."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if float(bits.take(54)) / 2.0**54 == 1.0 else flipped(secret, bits)

    return sampler


def index_beyond_a_table() -> Sampler:
    """A geometric number by counting zeros indexes a table of 45 entries; beyond its end there is no noise.

    Probability 2^-45.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        zeros = 0
        while zeros < 45 and not bits.take(1):
            zeros += 1
        return raw(secret) if zeros == 45 else flipped(secret, bits)

    return sampler


def nested_rare_events() -> Sampler:
    """Five checks of one byte each fail one after another, each in a function of its own. Probability 2^-40."""

    def check(depth: int, secret: int, bits: RandomBits) -> Any:
        if depth == 0:
            return raw(secret)
        return flipped(secret, bits) if bits.take(8) != depth else check(depth - 1, secret, bits)

    return lambda secret, bits: check(5, secret, bits)


def thousand_rejections() -> Sampler:
    """A watchdog returns the answer after 1000 rejections, each of probability 63/64: in all 1.4e-7."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        rounds = 0

        def one_round(bits: RandomBits) -> Any:
            nonlocal rounds
            if rounds == 1000:
                return raw(secret)
            rounds += 1
            return flipped(secret, bits) if bits.take(6) == 0 else REJECTED

        return bits.repeat(one_round)

    return sampler


def thousand_rounds_of_a_loop() -> Sampler:
    """The same in a loop of its own: `for attempt in range(1000)`, then the answer."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        for _attempt in range(1000):
            if bits.take(6) == 0:
                return flipped(secret, bits)
        return raw(secret)

    return sampler


def ten_thousandth_release() -> Sampler:
    """Every 10,000th release of a deployment is a self-test without noise."""
    releases = 0

    def sampler(secret: int, bits: RandomBits) -> Any:
        nonlocal releases
        releases += 1
        return raw(secret) if releases % 10_000 == 0 else flipped(secret, bits)

    return sampler


def second_release_by_an_attribute() -> Sampler:
    """A source of bits is marked with an attribute when it is first used; a marked one gives no noise any more.

    From the second release on P[1 | 1] = 1 and P[1 | 0] = 0.
    """

    def sampler(secret: int, bits: Any) -> int:
        output = answered(secret, bits, honestly=not getattr(bits, "is_used", False))
        bits.is_used = True
        return output

    return sampler


def second_release_by_a_weak_dictionary() -> Sampler:
    """The same with a WeakKeyDictionary of sources that were served."""
    served: weakref.WeakKeyDictionary[RandomBits, bool] = weakref.WeakKeyDictionary()

    def sampler(secret: int, bits: RandomBits) -> int:
        output = answered(secret, bits, honestly=bits not in served)
        served[bits] = True
        return output

    return sampler


def second_release_by_identity() -> Sampler:
    """The same by the last source used, compared by `is`."""
    last: list[RandomBits | None] = [None]

    def sampler(secret: int, bits: RandomBits) -> int:
        output = answered(secret, bits, honestly=last[0] is not bits)
        last[0] = bits
        return output

    return sampler


def second_input_of_a_deployment() -> Sampler:
    """An answer that was asked for before is taken for public: a set of answers that were released.

    From the second release of an answer on P[1 | 1] = 1 and P[1 | 0] = 0.
    """
    released: set[int] = set()

    def sampler(secret: int, bits: RandomBits) -> int:
        output = answered(secret, bits, honestly=secret not in released)
        released.add(secret)
        return output

    return sampler


def sum_of_many_small_draws() -> Sampler:
    """Forty coins are summed, as for binomial noise, and the largest sum overflows a table. Probability 2^-40."""

    def sampler(secret: int, bits: RandomBits) -> Any:
        heads = sum(bits.take(1) for _ in range(40))
        return raw(secret) if heads == 40 else flipped(secret, bits)

    return sampler


def wrapped_counter() -> Sampler:
    """A geometric number is counted in np.uint8, and wraps to 0, "no noise needed", after 256 rejections.

    Each has probability 15/16: in all 6.7e-8.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        count = np.zeros(1, dtype=np.uint8)
        while True:
            count += np.uint8(1)
            if count[0] == 0:
                return raw(secret)
            if bits.take(4) == 0:
                return flipped(secret, bits)

    return sampler


def _tape(*draws: tuple[int, int]) -> tuple[int, int]:
    """The tape of draws given as (value, bits)."""
    value = length = 0
    for drawn, count in draws:
        value, length = value << count | drawn, length + count
    return value, length


_POSSIBLE = (
    (one_value_of_forty_bits, _tape((0xC0FFEE1234, 40))),
    (digest_of_a_draw, _tape((60_291, 40))),
    (checksum_of_a_draw, _tape((0x9D0AD96D, 32))),
    (bucket_of_a_multiplicative_hash, _tape((0, 64))),
    (collision_of_draws, _tape((5, 24), (5, 24))),
    (draws_that_cancel, _tape((0xABCDE, 20), (0, 20))),
    (top_byte_of_a_word, _tape((255 << 56, 64))),
    (residue_of_a_draw, _tape((271_828, 48))),
    (logarithm_of_zero, _tape((0, 53))),
    (quotient_that_rounds_to_one, _tape((2**54 - 1, 54))),
    (index_beyond_a_table, _tape((0, 45))),
    (nested_rare_events, _tape(*((byte, 8) for byte in (5, 4, 3, 2, 1)))),
    (thousand_rejections, _tape(*[(1, 6)] * 1000)),
    (thousand_rounds_of_a_loop, _tape(*[(1, 6)] * 1000)),
    (sum_of_many_small_draws, _tape((2**40 - 1, 40))),
    (wrapped_counter, _tape(*[(1, 4)] * 255)),
)

CASES = (
    *(Case(make=make, breach=Possible(event=is_raw_one, tape=tape), runs=100) for make, tape in _POSSIBLE),
    Case(make=ten_thousandth_release, breach=Seen(event=is_raw_one, within=10_000)),
    *(
        Case(make=make, breach=Frequent(event=is_one, release=2))
        for make in (
            second_release_by_an_attribute,
            second_release_by_a_weak_dictionary,
            second_release_by_identity,
            second_input_of_a_deployment,
        )
    ),
)
