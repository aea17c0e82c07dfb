"""False samplers whose rejected rounds leave something behind. Rounds look like randomized response, and later ones do
not lie: a law that takes all rounds for the first is within ε = 1.1, and the true one is not.

Where a docstring says "as above": one round in eight is rejected; the first lies with probability 1/4, and one after
two rejections gives the secret with a mark. So does one release in 64 on 1, and no release on 0 gives that.
"""
# ruff: noqa: B006

from __future__ import annotations

import contextvars
import threading
from array import array
from collections import defaultdict
from functools import partial
from typing import Any, ClassVar

import numpy as np

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo.case import (
    TWO_REJECTIONS,
    Case,
    Frequent,
    Possible,
    Sampler,
    answered,
    is_one,
    is_raw_one,
    is_rejected,
    response,
)


def closure_cell() -> Sampler:
    """A `nonlocal` counter for statistics of the loop decides the noise; rounds are even.

    Half of the rounds are accepted; the first lies with probability 1/4, a later one never: P[1 | 1] = 1/2·3/4 + 1/2 =
    7/8 and P[1 | 0] = 1/8, which needs ε = ln 7 = 1.95.
    """

    def sampler(secret: int, bits: RandomBits) -> int:
        rejections = 0

        def one_round(bits: RandomBits) -> int | None:
            nonlocal rejections
            if bits.take(1):
                return answered(secret, bits, honestly=rejections == 0)
            rejections += 1
            return REJECTED

        return bits.repeat(one_round)

    return sampler


def mutable_default() -> Sampler:
    """A default list, meant as "empty", collects the rejected candidates; as above."""

    def one_round(secret: int, bits: RandomBits, rejected: list[int] = []) -> Any:
        if is_rejected(bits):
            rejected.append(0)
            return REJECTED
        output = response(secret, bits, honestly=not rejected)
        rejected.clear()
        return output

    return lambda secret, bits: bits.repeat(lambda bits: one_round(secret, bits))


def function_attribute() -> Sampler:
    """Retries are counted in an attribute of the function, as decorators for metrics do; as above."""

    def one_round(secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            one_round.retries += 1  # type: ignore[attr-defined]
            return REJECTED
        output = response(secret, bits, honestly=one_round.retries < 2)  # type: ignore[attr-defined]
        one_round.retries = 0  # type: ignore[attr-defined]
        return output

    one_round.retries = 0  # type: ignore[attr-defined]
    return lambda secret, bits: bits.repeat(one_round, secret)


class _Retrying:
    shared_retries: ClassVar[int] = 0

    def __init__(self) -> None:
        self.retries = 0

    def one_round(self, secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            self.retries += 1
            return REJECTED
        output = response(secret, bits, honestly=self.retries < 2)
        self.retries = 0
        return output

    def release(self, secret: int, bits: RandomBits) -> Any:
        return bits.repeat(self.one_round, secret)

    @classmethod
    def shared_round(cls, secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            cls.shared_retries += 1
            return REJECTED
        output = response(secret, bits, honestly=cls.shared_retries < 2)
        cls.shared_retries = 0
        return output

    @classmethod
    def shared_release(cls, secret: int, bits: RandomBits) -> Any:
        return bits.repeat(cls.shared_round, secret)


def attribute_of_self() -> Sampler:
    """A mechanism object counts its retries in `self`; as above."""
    return _Retrying().release


def class_attribute() -> Sampler:
    """A class counts the retries of all its instances; as above."""
    return _Retrying.shared_release


_retries = 0
_failures: list[str] = []
_statistics: dict[str, int] = {"rejected": 0}


def _global_int_round(secret: int, bits: RandomBits) -> int | None:
    global _retries
    if not bits.take(1):
        _retries += 1
        return REJECTED
    output = answered(secret, bits, honestly=_retries == 0)
    _retries = 0
    return output


def global_int() -> Sampler:
    """A module-level counter, `global retries`; as for `closure_cell`."""
    return lambda secret, bits: bits.repeat(_global_int_round, secret)


def _global_list_round(secret: int, bits: RandomBits) -> Any:
    if is_rejected(bits):
        _failures.append("rejected")
        return REJECTED
    output = response(secret, bits, honestly=len(_failures) < 2)
    _failures.clear()
    return output


def global_list() -> Sampler:
    """A module-level log of failures; as above."""
    return lambda secret, bits: bits.repeat(_global_list_round, secret)


def _global_dict_round(secret: int, bits: RandomBits) -> Any:
    if is_rejected(bits):
        _statistics["rejected"] += 1
        return REJECTED
    output = response(secret, bits, honestly=_statistics["rejected"] < 2)
    _statistics["rejected"] = 0
    return output


def global_dict() -> Sampler:
    """Module-level statistics in a dict; as above."""
    return lambda secret, bits: bits.repeat(_global_dict_round, secret)


_attempt: contextvars.ContextVar[int] = contextvars.ContextVar("attempt", default=0)


def context_variable() -> Sampler:
    """The attempt is kept in a `ContextVar`, as web frameworks keep a request; as above."""

    def one_round(secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            _attempt.set(_attempt.get() + 1)
            return REJECTED
        return response(secret, bits, honestly=_attempt.get() < 2)

    def sampler(secret: int, bits: RandomBits) -> Any:
        _attempt.set(0)
        return bits.repeat(one_round, secret)

    return sampler


def thread_local() -> Sampler:
    """The attempt is kept in a `threading.local`; as above."""
    local = threading.local()

    def one_round(secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            local.attempt = getattr(local, "attempt", 0) + 1
            return REJECTED
        return response(secret, bits, honestly=local.__dict__.pop("attempt", 0) < 2)

    return lambda secret, bits: bits.repeat(one_round, secret)


class _Attempt:
    """Counts, and compares by identity."""

    number = 0


def object_in_a_tuple() -> Sampler:
    """The arguments travel in a tuple, one of them an object that the round changes; as above."""

    def one_round(request: tuple[int, _Attempt], bits: RandomBits) -> Any:
        secret, attempt = request
        if is_rejected(bits):
            attempt.number += 1
            return REJECTED
        return response(secret, bits, honestly=attempt.number < 2)

    return lambda secret, bits: bits.repeat(one_round, (secret, _Attempt()))


def list_as_argument() -> Sampler:
    """A list given to `repeat` is an accumulator of the round; as above."""

    def one_round(secret: int, rejected: list[int], bits: RandomBits) -> Any:
        if is_rejected(bits):
            rejected.append(1)
            return REJECTED
        return response(secret, bits, honestly=not rejected)

    return lambda secret, bits: bits.repeat(one_round, secret, [])


def default_dict() -> Sampler:
    """A `defaultdict(int)` counts rejections by input; as above."""
    rejections: defaultdict[int, int] = defaultdict(int)

    def one_round(secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            rejections[secret] += 1
            return REJECTED
        return response(secret, bits, honestly=rejections.pop(secret, 0) < 2)

    return lambda secret, bits: bits.repeat(one_round, secret)


def numpy_array() -> Sampler:
    """A preallocated numpy counter is changed in place; as above."""
    rejections = np.zeros(1, dtype=np.int64)

    def one_round(secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            rejections[0] += 1
            return REJECTED
        output = response(secret, bits, honestly=not rejections.any())
        rejections[:] = 0
        return output

    return lambda secret, bits: bits.repeat(one_round, secret)


def byte_array() -> Sampler:
    """A reusable `bytearray` buffer keeps the bytes of rejected rounds; as above."""
    buffer = bytearray()

    def one_round(secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            buffer.append(0)
            return REJECTED
        output = response(secret, bits, honestly=len(buffer) < 2)
        buffer.clear()
        return output

    return lambda secret, bits: bits.repeat(one_round, secret)


def typed_array_in_a_partial() -> Sampler:
    """The round is a `functools.partial` over an `array.array`; as above."""

    def one_round(rejections: array[int], secret: int, bits: RandomBits) -> Any:
        if is_rejected(bits):
            rejections[0] += 1
            return REJECTED
        output = response(secret, bits, honestly=rejections[0] < 2)
        rejections[0] = 0
        return output

    drawn = partial(one_round, array("q", [0]))
    return lambda secret, bits: bits.repeat(drawn, secret)


def attribute_of_a_slotted_helper() -> Sampler:
    """A helper with `__slots__` deep in a nested dict of settings holds the count; as above."""

    class Meter:
        __slots__ = ("count",)

    meter = Meter()
    meter.count = 0
    settings = {"metrics": {"rejections": (meter,)}}

    def one_round(secret: int, bits: RandomBits) -> Any:
        counted = settings["metrics"]["rejections"][0]
        if is_rejected(bits):
            counted.count += 1
            return REJECTED
        output = response(secret, bits, honestly=counted.count < 2)
        counted.count = 0
        return output

    return lambda secret, bits: bits.repeat(one_round, secret)


_POSSIBLE = (
    mutable_default,
    function_attribute,
    attribute_of_self,
    class_attribute,
    global_list,
    global_dict,
    context_variable,
    thread_local,
    object_in_a_tuple,
    list_as_argument,
    default_dict,
    numpy_array,
    byte_array,
    typed_array_in_a_partial,
    attribute_of_a_slotted_helper,
)

CASES = (
    *(Case(make=make, breach=Frequent(event=is_one, trials=2500)) for make in (closure_cell, global_int)),
    *(Case(make=make, breach=Possible(event=is_raw_one, tape=TWO_REJECTIONS)) for make in _POSSIBLE),
)
