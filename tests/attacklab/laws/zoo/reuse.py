"""False samplers that call one sampler twice while something that it reads has changed.

Where a docstring says "as above": the output is (first coin, secret ^ second coin). The first coin is fair; the second
is always 0, so that the second part of the output is the secret. A law that takes the second coin for the first has
ε = 0.
"""
# ruff: noqa: B006

from __future__ import annotations

import decimal
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial, singledispatch
from types import SimpleNamespace
from typing import Any

from attacklab.random_bits import RandomBits
from tests.attacklab.laws.zoo.case import Case, Frequent, Sampler


def second_part_is_one(output: Any) -> bool:
    return bool(output[1] == 1)


def coin(is_fair: object, bits: RandomBits) -> int:
    """A fair coin, or one that always shows 0."""
    return bits.take(1) if is_fair else 0


_is_fair = True


def _coin_of_the_global(bits: RandomBits) -> int:
    return coin(_is_fair, bits)


def global_threshold() -> Sampler:
    """A module-level setting is changed between two calls of a function that reads it; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        global _is_fair
        _is_fair = True
        first = bits.call(_coin_of_the_global)
        _is_fair = False
        return first, secret ^ bits.call(_coin_of_the_global)

    return sampler


def _coin_with_default(bits: RandomBits, switches: list[bool] = [True]) -> int:
    return coin(switches[0], bits)


def mutated_default() -> Sampler:
    """The caller changes a mutable default argument of the function it calls; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        (switches,) = _coin_with_default.__defaults__ or ([True],)
        switches[0] = True
        first = bits.call(_coin_with_default)
        switches[0] = False
        return first, secret ^ bits.call(_coin_with_default)

    return sampler


def replaced_default() -> Sampler:
    """`__defaults__` is replaced, as configuration libraries do; as above."""

    def drawn(is_fair: bool, bits: RandomBits | None = None) -> int:
        assert bits is not None
        return coin(is_fair, bits)

    def noise(bits: RandomBits, is_fair: bool = True) -> int:
        return drawn(is_fair, bits)

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        noise.__defaults__ = (True,)
        first = bits.call(noise)
        noise.__defaults__ = (False,)
        return first, secret ^ bits.call(noise)

    return sampler


class _Noise:
    scale = 1

    def draw(self, bits: RandomBits) -> int:
        return coin(self.scale, bits)


def scale_of_self() -> Sampler:
    """`self.scale` is changed between two calls of one bound method; as above."""
    noise = _Noise()

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        noise.scale = 1
        first = bits.call(noise.draw)
        noise.scale = 0
        return first, secret ^ bits.call(noise.draw)

    return sampler


class _CalibratedNoise(_Noise):
    pass


def scale_of_the_class() -> Sampler:
    """The scale is an attribute of the base class, changed there; the object itself is the same; as above."""
    noise = _CalibratedNoise()

    class Base:
        scale = 1

        def draw(self, bits: RandomBits) -> int:
            return coin(self.scale, bits)

    class Derived(Base):
        pass

    noise = Derived()

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        Base.scale = 1
        first = bits.call(noise.draw)
        Base.scale = 0
        return first, secret ^ bits.call(noise.draw)

    return sampler


_settings = SimpleNamespace(privacy=SimpleNamespace(is_noisy=True))


def _coin_of_the_settings(bits: RandomBits) -> int:
    return coin(_settings.privacy.is_noisy, bits)


def module_attribute() -> Sampler:
    """A settings object of the module, two levels deep, is changed between the calls; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        _settings.privacy.is_noisy = True
        first = bits.call(_coin_of_the_settings)
        _settings.privacy.is_noisy = False
        return first, secret ^ bits.call(_coin_of_the_settings)

    return sampler


def rebound_cell() -> Sampler:
    """A nested function reads a variable of the sampler, which is assigned again; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        is_fair = True

        def noise(bits: RandomBits) -> int:
            return coin(is_fair, bits)

        first = bits.call(noise)
        is_fair = False
        return first, secret ^ bits.call(noise)

    return sampler


def partial_over_a_list() -> Sampler:
    """A `functools.partial` holds a list of weights that the sampler changes; as above."""
    weights = [1]

    def drawn(weights: list[int], bits: RandomBits) -> int:
        return coin(weights[0], bits)

    noise = partial(drawn, weights)

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        weights[0] = 1
        first = bits.call(noise)
        weights[0] = 0
        return first, secret ^ bits.call(noise)

    return sampler


def _backend(bits: RandomBits) -> int:
    return bits.take(1)


def _null_backend(_bits: RandomBits) -> int:
    return 0


def _coin_of_the_backend(bits: RandomBits) -> int:
    return _backend(bits)


def monkeypatched_helper() -> Sampler:
    """A helper that the called sampler finds by its global name is replaced, as test doubles are; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        global _backend
        original = _backend
        first = bits.call(_coin_of_the_backend)
        _backend = _null_backend
        try:
            return first, secret ^ bits.call(_coin_of_the_backend)
        finally:
            _backend = original

    return sampler


_mode = ["private"]


def _coin_of_the_mode(bits: RandomBits) -> int:
    return coin(_mode[-1] == "private", bits)


@contextmanager
def _debugging() -> Iterator[None]:
    _mode.append("debug")
    try:
        yield
    finally:
        _mode.pop()


def mode_of_a_context() -> Sampler:
    """A `with debugging():` switches the noise off and on again: before and after a run all is the same; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        first = bits.call(_coin_of_the_mode)
        with _debugging():
            return first, secret ^ bits.call(_coin_of_the_mode)

    return sampler


def environment_of_the_callee() -> Sampler:
    """An environment variable, set and unset by the sampler, switches the noise off; as above."""

    def noise(bits: RandomBits) -> int:
        return coin("ZOO_NOISE_OFF" not in os.environ, bits)

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        first = bits.call(noise)
        os.environ["ZOO_NOISE_OFF"] = "1"
        try:
            return first, secret ^ bits.call(noise)
        finally:
            del os.environ["ZOO_NOISE_OFF"]

    return sampler


def precision_of_the_context() -> Sampler:
    """The called sampler computes in the decimal context of its caller, which lowers the precision; as above.

    1.0001 rounded to three digits is 1, so the second coin shows 0.
    """

    def noise(bits: RandomBits) -> int:
        return coin(Decimal("1.0001") * 1 > 1, bits)

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        first = bits.call(noise)
        with decimal.localcontext() as context:
            context.prec = 3
            return first, secret ^ bits.call(noise)

    return sampler


def replaced_code() -> Sampler:
    """The code of the function is replaced, as hot reloading does; as above."""

    def noise(bits: RandomBits) -> int:
        return bits.take(1)

    def silent(bits: RandomBits) -> int:  # noqa: ARG001
        return 0

    original = noise.__code__

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        first = bits.call(noise)
        noise.__code__ = silent.__code__
        try:
            return first, secret ^ bits.call(noise)
        finally:
            noise.__code__ = original

    return sampler


def registered_implementation() -> Sampler:
    """A `singledispatch` function gets an implementation between the calls; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        @singledispatch
        def is_fair(_kind: object) -> bool:
            return True

        def noise(bits: RandomBits) -> int:
            return coin(is_fair("laplace"), bits)

        first = bits.call(noise)
        is_fair.register(str, lambda _kind: False)
        return first, secret ^ bits.call(noise)

    return sampler


def same_name_in_a_loop() -> Sampler:
    """Functions of one qualified name are made in a loop, with the level as default argument; as above."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        drawn = []
        for level in (1, 0):

            def noise(bits: RandomBits, level: int = level) -> int:
                return coin(level, bits)

            drawn.append(bits.call(noise))
        return drawn[0], secret ^ drawn[1]

    return sampler


def lambdas_of_one_code() -> Sampler:
    """Lambdas of one line of code hold different cells, and each is dropped before the next is made; as above."""

    def leveled(level: int) -> Callable[[RandomBits], int]:
        return lambda bits: coin(level, bits)

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        first = bits.call(leveled(1))
        return first, secret ^ bits.call(leveled(0))

    return sampler


def lambdas_of_equal_values() -> Sampler:
    """Two closures hold 1 and True, which are equal; only the integer is noisy; as above."""

    def leveled(level: int) -> Callable[[RandomBits], int]:
        return lambda bits: coin(not isinstance(level, bool), bits)

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        first = bits.call(leveled(1))
        return first, secret ^ bits.call(leveled(True))

    return sampler


_CHANGED = (
    global_threshold,
    mutated_default,
    replaced_default,
    scale_of_self,
    scale_of_the_class,
    module_attribute,
    rebound_cell,
    partial_over_a_list,
    monkeypatched_helper,
    mode_of_a_context,
    environment_of_the_callee,
    precision_of_the_context,
    replaced_code,
    registered_implementation,
    same_name_in_a_loop,
    lambdas_of_one_code,
    lambdas_of_equal_values,
)

CASES = (*(Case(make=make, breach=Frequent(event=second_part_is_one)) for make in _CHANGED),)
