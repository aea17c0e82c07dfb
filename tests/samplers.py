"""Samplers with plain laws, for proofs; `SOURCE` is their text, for files that name them."""

import inspect

from attacklab import REJECTED, RandomBits


def third(bits: RandomBits) -> int | None:
    drawn = bits.take(2)
    return REJECTED if drawn == 3 else int(drawn)


def response(answer: float, bits: RandomBits) -> int:
    """Randomized response that tells the truth two times out of three: ln 2, and its law closes."""
    return int(bool(answer) ^ (bits.repeat(third) == 0))


def parity(answer: float, bits: RandomBits) -> int:
    """Randomized response on the parity of the answer: ln 2 between neighbours, whatever they are."""
    return response(int(answer) % 2, bits)


def geometric(bits: RandomBits) -> int:
    heads = 0
    while bits.take(1):
        heads += 1
    return heads


def signed(bits: RandomBits) -> int | None:
    sign, size = bits.take(1), bits.call(geometric)
    if sign and size == 0:
        return REJECTED
    return -size if sign else size


def count(answer: float, bits: RandomBits) -> int:
    """Two-sided geometric noise of ratio 1/2: ln 2, and its law does not close."""
    return int(answer) + bits.repeat(signed)


def endless(answer: object, bits: RandomBits) -> int:  # noqa: ARG001 - the form of a sampler
    while True:
        pass


SAMPLERS = (third, response, parity, geometric, signed, count, endless)
SOURCE = "from attacklab import REJECTED, RandomBits\n\n" + "\n".join(map(inspect.getsource, SAMPLERS))
