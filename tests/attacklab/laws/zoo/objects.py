"""True samplers built as real libraries are: classes, dataclasses, partials, captured tables, enums, locks, loggers.

All answer by randomized response that lies with probability exactly 1/4 unless a docstring says otherwise; that needs
ε = ln 3 = 1.0986… of a claimed 1.1.
"""

from __future__ import annotations

import enum
import functools
import logging
import threading
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import RESPONSE, Case, Sampler, flipped


@dataclass(frozen=True)
class _Response:
    lie: Fraction
    width: int = 4

    def release(self, secret: int, bits: RandomBits) -> int:
        return secret ^ (bits.take(self.width) < self.lie * (1 << self.width))

    def one_round(self, secret: int, bits: RandomBits) -> int | None:
        return self.release(secret, bits) if bits.take(1) else REJECTED


def bound_method() -> Sampler:
    """The release is a bound method of a frozen dataclass."""
    return _Response(Fraction(1, 4)).release


def bound_method_as_round() -> Sampler:
    """A bound method of a frozen dataclass is the round of a rejection loop."""
    response = _Response(Fraction(1, 4))
    return lambda secret, bits: bits.repeat(response.one_round, secret)


class _Callable:
    def __init__(self, threshold: int) -> None:
        self.threshold = threshold

    def __call__(self, secret: int, bits: RandomBits) -> int:
        return secret ^ (bits.take(8) < self.threshold)


def callable_object() -> Sampler:
    """The release is an object with `__call__`."""
    return _Callable(64)


def partial() -> Sampler:
    """The release is a `functools.partial` of a function with its parameters first."""

    def sampler(threshold: int, width: int, secret: int, bits: RandomBits) -> int:
        return secret ^ (bits.take(width) < threshold)

    return functools.partial(sampler, 16, 6)


def closure_over_constants() -> Sampler:
    """A factory computes a threshold once, and the release closes over it."""
    threshold = sum(1 for number in range(256) if number % 4 == 0)
    return lambda secret, bits: secret ^ (bits.take(8) < threshold)


class _Classy:
    threshold: ClassVar[int] = 4

    @classmethod
    def drawn(cls, secret: int, bits: RandomBits) -> int:
        return secret ^ (bits.take(4) < cls.threshold)

    @staticmethod
    def lie(bits: RandomBits) -> bool:
        return bits.take(4) < 4


def class_method() -> Sampler:
    """The release is a classmethod that reads a constant of its class."""
    return _Classy.drawn


def static_method_called() -> Sampler:
    """A staticmethod is run by `bits.call`."""
    return lambda secret, bits: secret ^ bits.call(_Classy.lie)


class _Base(ABC):
    def release(self, secret: int, bits: RandomBits) -> int:
        return secret ^ bits.call(self.lie)

    @abstractmethod
    def lie(self, bits: RandomBits) -> bool: ...


class _Middle(_Base):
    numerator = 1

    def lie(self, bits: RandomBits) -> bool:
        return bits.take(3) < self.numerator


class _Derived(_Middle):
    numerator = 2

    def lie(self, bits: RandomBits) -> bool:
        return super().lie(bits)


def class_hierarchy() -> Sampler:
    """A template method of an abstract class calls an overridden one, which calls `super()`."""
    return _Derived().release


class _Equipped:
    """Has what objects of services have: a lock, a logger, a name."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.logger = logging.getLogger("tests.zoo")
        self.name = "response"

    def release(self, secret: int, bits: RandomBits) -> int:
        with self.lock:
            self.logger.debug("release of %s", self.name)
            return flipped(secret, bits)


def object_with_lock_and_logger() -> Sampler:
    """A thread-safe mechanism logs that it ran, not what it drew."""
    return _Equipped().release


def captured_numpy_table() -> Sampler:
    """A read-only numpy table from bytes to lies is captured; its entries are np.uint8, and so is no output."""
    table: NDArray[np.uint8] = (np.arange(256) < 64).astype(np.uint8)
    table.flags.writeable = False
    return lambda secret, bits: secret ^ int(table[bits.take(8)])


class _Point(NamedTuple):
    threshold: int
    width: int


_Old = namedtuple("_Old", ["threshold", "width"])


@dataclass(frozen=True)
class _Parameters:
    threshold: Fraction
    label: str = "zoo"
    nested: tuple[_Point, ...] = field(default=(_Point(1, 2),))


def _below_parameters(parameters: Any, bits: RandomBits) -> bool:
    width = parameters.nested[0].width if isinstance(parameters, _Parameters) else parameters.width
    return bits.take(width) < parameters.threshold


def named_tuple_as_argument() -> Sampler:
    """Parameters travel in named tuples to a called sampler."""
    first, second = _Point(1, 2), _Old(0, 2)
    return lambda secret, bits: secret ^ bits.call(_below_parameters, first) ^ bits.call(_below_parameters, second)


def dataclass_as_argument() -> Sampler:
    """Parameters travel in a frozen dataclass with a tuple of named tuples inside."""
    return lambda secret, bits: secret ^ bits.call(_below_parameters, _Parameters(Fraction(1)))


class _Kind(enum.Enum):
    FAIR = 1
    QUARTER = 2


def _coin_of_kind(kind: _Kind, bits: RandomBits) -> int:
    return bits.take(1) if kind is _Kind.FAIR else int(bits.take(2) == 0)


def enum_as_argument() -> Sampler:
    """An enum says which coin; both coins of a kind of their own are called.

    Output (fair coin, response): ε = ln 3, each with half the probability.
    """
    return lambda secret, bits: (bits.call(_coin_of_kind, _Kind.FAIR), secret ^ bits.call(_coin_of_kind, _Kind.QUARTER))


def dispatch_table() -> Sampler:
    """A dict from names to functions picks the noise."""
    noises = {"none": lambda _bits: 0, "quarter": lambda bits: bits.take(2) == 0}
    return lambda secret, bits: secret ^ noises["quarter"](bits)


def import_inside() -> Sampler:
    """Modules are imported inside the function, as optional dependencies are."""

    def sampler(secret: int, bits: RandomBits) -> int:
        import math
        from fractions import Fraction as Rational

        return secret ^ (Rational(bits.take(4), 16) < Rational(math.gcd(2, 4), 8))

    return sampler


class _Source(Protocol):
    def take(self, count: int) -> int: ...


class _Buffered:
    """Hands out the bits of bytes that it takes from a source; made anew in every release."""

    def __init__(self, bits: _Source) -> None:
        self.bits, self.held, self.left = bits, 0, 0

    def bit(self) -> int:
        if not self.left:
            self.held, self.left = int(self.bits.take(8)), 8
        self.left -= 1
        return self.held >> self.left & 1


def local_buffer() -> Sampler:
    """A buffer of bits, local to the release: two bits of a byte."""

    def sampler(secret: int, bits: RandomBits) -> int:
        buffer = _Buffered(bits)
        return secret ^ (buffer.bit() & buffer.bit())

    return sampler


def equal_arguments_of_two_types() -> Sampler:
    """Called with Fraction(1, 4), Decimal('0.25') and 0.25, which are equal and give one law each: an odd number lies.

    Lies are 1/4 each; of three an odd number with 3·(1/4)(3/4)² + 1/64 = 28/64 = 7/16: ε = ln(9/7) = 0.2513 of 0.26.
    """

    def lie(probability: Any, bits: RandomBits) -> bool:
        return bits.take(8) < probability * 256

    def sampler(secret: int, bits: RandomBits) -> int:
        for probability in (Fraction(1, 4), Decimal("0.25"), 0.25):
            secret ^= bits.call(lie, probability)
        return secret

    return sampler


def handler_that_never_runs() -> Sampler:
    """`try ... except Exception ... finally` around a draw that does not fail, with a log of failures."""
    failures: list[str] = []

    def sampler(secret: int, bits: RandomBits) -> int:
        try:
            return flipped(secret, bits)
        except Exception as error:
            failures.append(repr(error))
            raise
        finally:
            secret = 0

    return sampler


def context_manager() -> Sampler:
    """Noise is drawn inside a decimal context that is restored; the comparison is exact at any precision."""
    import decimal

    def sampler(secret: int, bits: RandomBits) -> int:
        with decimal.localcontext() as context:
            context.prec = 6
            return secret ^ (bits.take(4) < Decimal("0.25") * 16)

    return sampler


_HALVES = tuple({(coin, output): mass / 2 for coin in (0, 1) for output, mass in law.items()} for law in RESPONSE)

CASES = (
    *(
        Case(make=make, laws=RESPONSE)
        for make in (
            bound_method,
            bound_method_as_round,
            callable_object,
            partial,
            closure_over_constants,
            class_method,
            static_method_called,
            class_hierarchy,
            object_with_lock_and_logger,
            captured_numpy_table,
            named_tuple_as_argument,
            dataclass_as_argument,
            dispatch_table,
            import_inside,
            local_buffer,
            handler_that_never_runs,
            context_manager,
        )
    ),
    Case(make=enum_as_argument, laws=(_HALVES[0], _HALVES[1])),
    Case(
        make=equal_arguments_of_two_types,
        laws=(
            {0: Fraction(9, 16), 1: Fraction(7, 16)},
            {0: Fraction(7, 16), 1: Fraction(9, 16)},
        ),
        epsilon=0.26,
    ),
)
