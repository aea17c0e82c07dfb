"""False samplers for which it matters that a draw is an int, and which one: a stand-in that presents itself, compares
or copies itself in another way makes them look like randomized response.

Where a docstring says "as above": the output is the secret for a draw that is an int, and randomized response
otherwise. Every draw is an int, so P[1 | 1] = 1 and P[1 | 0] = 0.
"""

from __future__ import annotations

import array
import bisect
import copy
import ctypes
import decimal
import enum
import fractions
import itertools
import json
import math
import numbers
import operator
import pickle
import struct
import uuid
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import gmpy2
import numpy as np

from attacklab.random_bits import RandomBits
from tests.attacklab.laws.zoo.case import Case, Frequent, Possible, Sampler, answered, flipped, is_one, is_raw_one, raw


def type_is_int() -> Sampler:
    """A fast path for plain ints, chosen by `type(draw) is int`, as serializers have; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        draw = bits.take(8)
        return answered(secret, bits, honestly=type(draw) is not int)

    return sampler


def class_attribute_is_int() -> Sampler:
    """The same by `draw.__class__`, as proxies are told; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        return answered(secret, bits, honestly=bits.take(8).__class__ is not int)

    return sampler


def instance_of_int() -> Sampler:
    """A check of arguments by `isinstance(draw, int)`; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        return answered(secret, bits, honestly=not isinstance(bits.take(8), int))

    return sampler


def name_of_the_type() -> Sampler:
    """The name of the type, as loggers print it, picks the path; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        return answered(secret, bits, honestly=type(bits.take(8)).__name__ != "int")

    return sampler


def table_of_types() -> Sampler:
    """A dict from types to handlers, with a default; as above."""
    handlers = {int: False, float: False}

    def sampler(secret: int, bits: RandomBits) -> int:
        return answered(secret, bits, honestly=handlers.get(type(bits.take(8)), True))

    return sampler


def single_dispatch() -> Sampler:
    """A `functools.singledispatch` function with an implementation for int; as above."""

    @singledispatch
    def is_noisy(_draw: object) -> bool:
        return True

    is_noisy.register(int, lambda _draw: False)
    return lambda secret, bits: answered(secret, bits, honestly=is_noisy(bits.take(8)))


def class_pattern() -> Sampler:
    """A match statement with `case int()`; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        match bits.take(8):
            case int():
                return secret
            case _:
                return flipped(secret, bits)

    return sampler


def json_encoder() -> Sampler:
    """A draw that JSON can't hold is drawn again with noise, others are logged and dropped; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        try:
            json.dumps({"draw": bits.take(8)})
        except TypeError:
            return flipped(secret, bits)
        return secret

    return sampler


def exact_types_of_the_abc() -> Sampler:
    """Only numbers that are `numbers.Integral` and not int are noisy, as code for numpy's scalars has it; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        draw = bits.take(8)
        return answered(secret, bits, honestly=isinstance(draw, numbers.Integral) and not isinstance(draw, int))

    return sampler


def dtype_of_an_array() -> Sampler:
    """An array of draws is used as it is if it has a numeric dtype, and `object` arrays are noisy; as above."""

    def sampler(secret: int, bits: RandomBits) -> int:
        return answered(secret, bits, honestly=np.asarray([bits.take(8)]).dtype == object)

    return sampler


def dtype_beyond_63_bits() -> Sampler:
    """`np.array([draw, -1])` is float64 if the draw has 64 bits and int64 otherwise; the float path forgets the noise.

    Half of the draws: P[1 | 1] = 1/2 + 1/2·3/4 = 7/8 and P[1 | 0] = 1/8.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        return answered(secret, bits, honestly=np.array([bits.take(64), -1]).dtype != np.float64)

    return sampler


def _copied(copied: Callable[[Any], Any], told: str) -> Callable[[], Sampler]:
    def make() -> Sampler:
        def sampler(secret: int, bits: RandomBits) -> int:
            draw = bits.take(8)
            kept = copied(draw)
            return secret ^ (draw < 128) ^ (kept < 128)

        return sampler

    make.__doc__ = f"""A draw is kept {told} and compared again later, as checkpoints do.

    Both comparisons are of one number, so they cancel and the output is the secret. Copies that are decided apart make
    a fair coin of them.
    """
    return make


_COPIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "copy": ("by copy.copy", copy.copy),
    "deep_copy": ("by copy.deepcopy in a dict", lambda draw: copy.deepcopy({"draw": [draw]})["draw"][0]),
    "pickle": ("by pickle", lambda draw: pickle.loads(pickle.dumps(draw))),  # noqa: S301
    "positive": ("by unary plus", operator.pos),
    "conjugate": ("as its conjugate", lambda draw: draw.conjugate()),
}


def identity_of_small_ints() -> Sampler:
    """Draws are compared by `is`, which works for ints below 257, to find a collision.

    Two draws of four bits collide with probability 1/16, and then the answer is returned with a mark.
    """

    def sampler(secret: int, bits: RandomBits) -> Any:
        return raw(secret) if bits.take(4) is bits.take(4) else flipped(secret, bits)

    return sampler


def _rounded_up(bits_drawn: int, width: type[np.floating[Any]]) -> Callable[[], Sampler]:
    bound = width(1 << bits_drawn)

    def make() -> Sampler:
        def sampler(secret: int, bits: RandomBits) -> Any:
            return raw(secret) if bits.take(bits_drawn) >= bound else flipped(secret, bits)

        return sampler

    make.__doc__ = f"""A guard `draw >= {width.__name__}(2^{bits_drawn})`, meant to be always false.

    numpy rounds the int to {width.__name__} before it compares: the largest draw is rounded up to the bound, with
    probability 2^-{bits_drawn}, and the answer goes out with a mark.
    """
    return make


def huge_decimal() -> Sampler:
    """A cap of Decimal('1e999999999') is compared with a draw before the answer goes out without noise.

    Python compares the two without writing out the cap, and every draw is below it: P[1 | 1] = 1, P[1 | 0] = 0. To
    make an integer of the cap would take all memory, and hours.
    """
    cap = decimal.Decimal("1e999999999")
    return lambda secret, bits: answered(secret, bits, honestly=not bits.take(8) < cap)


def signaling_comparison() -> Sampler:
    """A comparison with a signalling NaN raises InvalidOperation, and the handler has no noise; as above."""
    unset = decimal.Decimal("sNaN")

    def sampler(secret: int, bits: RandomBits) -> int:
        try:
            return answered(secret, bits, honestly=not bits.take(8) > unset)
        except decimal.InvalidOperation:
            return secret

    return sampler


def float_overflow() -> Sampler:
    """A huge draw raises OverflowError when it becomes a float, and the handler has no noise.

    2^1024 and above overflow: half of the draws of 1025 bits. P[1 | 1] = 7/8, P[1 | 0] = 1/8.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        try:
            math.log(float(bits.take(1025)) + 1.0)
        except OverflowError:
            return secret
        return flipped(secret, bits)

    return sampler


class _Byte(enum.IntEnum):
    MARKED = 90


def _number_of(byte: int) -> int:
    try:
        return _Byte(byte).value
    except ValueError:
        return 0


def counted(iterable: Any) -> int:
    return sum(1 for _ in iterable)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "index": operator.index,
    "plus_zero": lambda draw: draw + 0,
    "from_the_right": lambda draw: 0 + draw,
    "unbound_method": lambda draw: int.__add__(draw, 0),
    "mask": lambda draw: draw & 255,
    "shift": lambda draw: draw << 1 >> 1,
    "exclusive_or": lambda draw: draw ^ 0,
    "divmod": lambda draw: divmod(draw, 256)[1],
    "power": lambda draw: pow(draw, 1, 257),
    "round": round,
    "real_part": lambda draw: draw.real,
    "sum": lambda draw: sum([draw]),
    "gcd": lambda draw: math.gcd(draw, 0),
    "square_root": lambda draw: math.isqrt(draw * draw),
    "product": lambda draw: math.prod([draw, 1]),
    "float": float,
    "complex": lambda draw: complex(draw).real,
    "fraction": fractions.Fraction,
    "decimal": decimal.Decimal,
    "mpz": gmpy2.mpz,
    "mpq": gmpy2.mpq,
    "text": lambda draw: int(str(draw)),
    "f_string": lambda draw: int(f"{draw:08b}", 2),
    "percent_d": lambda draw: int("%d" % draw),  # noqa: UP031
    "hexadecimal": lambda draw: int(hex(draw), 16),
    "json": lambda draw: json.loads(json.dumps(draw)),
    "pickled": lambda draw: pickle.loads(pickle.dumps(draw)),  # noqa: S301
    "bytes": lambda draw: bytes([draw])[0],
    "to_bytes": lambda draw: int.from_bytes(draw.to_bytes(2, "big"), "big"),
    "struct": lambda draw: struct.unpack(">Q", struct.pack(">Q", draw))[0],
    "typed_array": lambda draw: array.array("Q", [draw])[0],
    "ctypes": lambda draw: ctypes.c_uint64(draw).value,
    "character": lambda draw: ord(chr(draw)),
    "uuid": lambda draw: uuid.UUID(int=draw).int,
    "numpy_scalar": np.uint64,
    "numpy_array": lambda draw: np.array([draw])[0],
    "numpy_function": lambda draw: np.bitwise_and(draw, 255),
    "numpy_assignment": lambda draw: _assigned(draw),
    "search_sorted": lambda draw: np.searchsorted(np.arange(256), draw),
    "bisect": lambda draw: bisect.bisect_left(range(256), draw),
    "list_index": lambda draw: list(range(256))[draw],
    "slice": lambda draw: len(range(256)[:draw]),
    "repetition": lambda draw: len("x" * draw),
    "length_of_range": lambda draw: len(range(draw)),
    "loop": lambda draw: counted(range(draw)),
    "islice": lambda draw: counted(itertools.islice(range(256), draw)),
    "zeros": lambda draw: len(bytearray(draw)),
    "set_member": lambda draw: next(iter({draw})) | 0,
    "dict_key": lambda draw: {number: number for number in range(256)}[draw],
    "hash": hash,
    "bit_count": lambda draw: counted(bit for bit in range(8) if draw >> bit & 1) if draw != 90 else 90,
    "enum": _number_of,
    "sorted": lambda draw: sorted([draw, 300])[0] | 0,
    "largest": lambda draw: max(draw, 0) | 0,
}
"""Ways in which code makes another number of a draw of 8 bits; each gives 90 for 90 and for no other draw."""


def _assigned(draw: Any) -> Any:
    table = np.zeros(1, dtype=np.uint8)
    table[0] = draw
    return table[0]


def _marked(convert: Callable[[Any], Any], told: str) -> Callable[[], Sampler]:
    def make() -> Sampler:
        def sampler(secret: int, bits: RandomBits) -> Any:
            draw = bits.take(8)
            return raw(secret) if convert(draw) == 90 else flipped(secret, bits)

        return sampler

    make.__doc__ = f"""A draw of 8 bits is converted ({told}); a value kept for tests, 90, switches the noise off.

    It has probability 1/256 and marks the answer. A stand-in whose C value is another is converted to that one.
    """
    return make


_FREQUENT = (
    type_is_int,
    class_attribute_is_int,
    instance_of_int,
    name_of_the_type,
    table_of_types,
    single_dispatch,
    class_pattern,
    json_encoder,
    exact_types_of_the_abc,
    dtype_of_an_array,
    huge_decimal,
    signaling_comparison,
)

CASES = (
    *(Case(make=make, breach=Frequent(event=is_one)) for make in _FREQUENT),
    *(
        Case(make=make, breach=Frequent(event=is_one, trials=2500), runs=100)
        for make in (dtype_beyond_63_bits, float_overflow)
    ),
    *(
        Case(make=_copied(copied, told), name=f"copied_by_{name}", breach=Frequent(event=is_one))
        for name, (told, copied) in _COPIES.items()
    ),
    Case(make=identity_of_small_ints, breach=Possible(event=is_raw_one, tape=(0, 8))),
    *(
        Case(
            make=_rounded_up(count, width),
            name=f"rounded_up_to_{width.__name__}",
            breach=Possible(event=is_raw_one, tape=((1 << count) - 1, count)),
        )
        for count, width in ((12, np.float16), (25, np.float32), (54, np.float64))
    ),
    *(
        Case(make=_marked(convert, name), name=f"converted_by_{name}", breach=Possible(event=is_raw_one, tape=(90, 8)))
        for name, convert in CONVERSIONS.items()
    ),
)
