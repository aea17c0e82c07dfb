"""Uniform integers that are decided only when they are looked at, and only as far as needed."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from gmpy2 import mpq, mpz


class Splitter(Protocol):
    """Decides on which side of a cut a uniform integer lies."""

    def split(self, integer: UniformInteger, cut: int) -> bool:
        """Whether `integer` lies below `cut`, which is inside its span."""


class UniformInteger:
    """An integer uniform in [low, high), decided no further than it is looked at.

    Comparing it with a number decides that comparison alone: one fork, however wide the span. Any other use decides it
    to the last value, by halving the span.
    """

    __slots__ = ("high", "low", "tape")

    def __init__(self, tape: Splitter, low: int, high: int) -> None:
        self.tape = tape
        self.low = low
        self.high = high

    def _below(self, number: Any) -> bool:
        cut = int(number)
        if cut <= self.low:
            return False
        if cut >= self.high:
            return True
        if self.tape.split(self, cut):
            self.high = cut
            return True
        self.low = cut
        return False

    def __index__(self) -> int:
        while self.high - self.low > 1:
            self._below((self.low + self.high) // 2)
        return self.low

    def __lt__(self, other: Any) -> bool:
        return self._below(math.ceil(_exact(other))) if _is_finite(other) else int(self) < other

    def __ge__(self, other: Any) -> bool:
        return not self._below(math.ceil(_exact(other))) if _is_finite(other) else int(self) >= other

    def __le__(self, other: Any) -> bool:
        return self._below(math.floor(_exact(other)) + 1) if _is_finite(other) else int(self) <= other

    def __gt__(self, other: Any) -> bool:
        return not self._below(math.floor(_exact(other)) + 1) if _is_finite(other) else int(self) > other

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, numbers.Real) and _is_finite(other)):
            return False
        exact = _exact(other)
        value: Any = math.floor(exact)
        return value == exact and not self._below(value) and self._below(value + 1)

    def __hash__(self) -> int:
        return hash(int(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(int(self), name)


def _is_finite(number: Any) -> bool:
    return not isinstance(number, float | np.floating) or math.isfinite(number)


def _exact(number: Any) -> Any:
    """The number in a type that is rounded up and down exactly; numpy's types would be rounded through a double."""
    if isinstance(number, numbers.Integral):
        return int(number)
    return Fraction(*number.as_integer_ratio()) if isinstance(number, np.floating) else number


def _decided(operation: Callable[..., Any]) -> Callable[..., Any]:
    """The operation on an int, for a `UniformInteger`, which is decided first."""
    return lambda integer, *others: operation(int(integer), *others)


def _reflected(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda integer, other: operation(other, int(integer))


_BINARY = {name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")}
_BINARY |= {"lshift": operator.lshift, "rshift": operator.rshift, "divmod": divmod}
_BINARY |= {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
_UNARY = {"neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert, "bool": bool, "float": float}
_UNARY |= {"trunc": int, "floor": int, "ceil": int, "round": round, "mpz": mpz, "mpq": mpq}
_UNARY |= {"repr": repr, "str": str, "format": format}
for _name, _operation in (_BINARY | _UNARY).items():
    setattr(UniformInteger, f"__{_name}__", _decided(_operation))
for _name, _operation in _BINARY.items():
    setattr(UniformInteger, f"__r{_name}__", _reflected(_operation))
numbers.Integral.register(UniformInteger)


def settled(value: Any) -> Any:
    """The value with every `UniformInteger` in it decided."""
    if isinstance(value, UniformInteger):
        return int(value)
    if type(value) is tuple:
        return tuple(settled(part) for part in value)
    return value
