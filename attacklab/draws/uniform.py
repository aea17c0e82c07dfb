"""Uniform integers whose values are decided only when they are used, and only as far as needed."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from gmpy2 import mpq, mpz
from numpy.typing import DTypeLike, NDArray

from attacklab.model.bisection import least

Comparison = Callable[[Any, Any], Any]


class Splitter(Protocol):
    """Decides on which side of a cut a uniform integer lies."""

    def split(self, integer: UniformInteger, cut: int) -> bool:
        """Whether `integer` lies below `cut`, which is inside its span."""


class UniformInteger:
    """An integer uniform in [low, high), decided only as far as it is used.

    Comparing it with a number decides that comparison alone: one fork, however wide the span. Any other use decides its
    value, by halving the span. Its `__class__` is `int`. A sampler that finds out that it is not an `int` fails the
    later check on plain integers.
    """

    __slots__ = ("high", "low", "tape")

    def __init__(self, tape: Splitter, low: int, high: int) -> None:
        self.tape = tape
        self.low = low
        self.high = high

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    def below(self, cut: int) -> bool:
        """Decide, and return, whether the integer lies below `cut`."""
        if cut <= self.low:
            return False
        if cut >= self.high:
            return True
        if self.tape.split(self, cut):
            self.high = cut
            return True
        self.low = cut
        return False

    def step(self, function: Callable[[int], Any], parts: Callable[[int], Any] | None = None) -> Any:
        """Return `function(integer)`, deciding the integer only until `function` is constant on its span.

        Args:
            function: a function of an int; monotone, unless `parts` is set.
            parts: returns the values of monotone functions; wherever `function` changes, one of them changes.
        """
        parts = parts or function
        while (first := parts(self.low)) != parts(self.high - 1):
            middle = (self.low + self.high - 1) // 2
            if (value := parts(middle)) == first:
                self.below(least(lambda number: parts(number) != first, middle, self.high - 1))
            else:
                self.below(least(lambda number: parts(number) == value, self.low, middle))
        return function(self.low)

    def __index__(self) -> int:
        while self.high - self.low > 1:
            self.below((self.low + self.high) // 2)
        return self.low

    __int__ = __trunc__ = __floor__ = __ceil__ = __index__

    def __lt__(self, other: Any) -> Any:
        return _compared(self, other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return _compared(self, other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return _compared(self, other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return _compared(self, other, operator.ge)

    def __eq__(self, other: object) -> Any:
        return _compared_for_equality(self, other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return _compared_for_equality(self, other, operator.ne)

    def __hash__(self) -> int:
        return hash(int(self))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(int(self), dtype=dtype)

    def __reduce__(self) -> tuple[type, tuple[int]]:  # copies and pickles are plain integers
        return int, (int(self),)

    def __reduce_ex__(self, protocol: Any) -> tuple[type, tuple[int]]:
        return self.__reduce__()

    def __getattr__(self, name: str) -> Any:
        return getattr(int(self), name)


def _is_ordered(value: Any) -> bool:
    """Whether `value` is one number that integers can be compared with; an array is not one number."""
    return isinstance(value, numbers.Real | Decimal | np.generic) and not isinstance(value, np.complexfloating)


def _compared(integer: UniformInteger, value: Any, comparison: Comparison) -> Any:
    """Return `comparison(integer, value)`, decided by one fork.

    If `value` is an int, it is where the fork lies. For other numbers, bisection finds the int at which the comparison
    changes, so that rounding is the same as in a comparison with a plain int.
    """
    if type(value) is int:
        cut = value + 1 if comparison in (operator.le, operator.gt) else value
        return integer.below(cut) == (comparison in (operator.lt, operator.le))
    if type(value) is UniformInteger:
        return _compared_draws(integer, value, comparison)
    if not _is_ordered(value):
        return comparison(int(integer), value)
    return integer.step(lambda number: comparison(number, value))


def _compared_for_equality(integer: UniformInteger, value: Any, comparison: Comparison) -> Any:
    """Return the result of == or != with another value, as for a plain int, decided by at most two forks."""
    if type(value) is UniformInteger:
        return _compared_draws(integer, value, comparison)
    if type(value) in _NEVER_EQUAL:
        return comparison(0, value)
    if not _is_ordered(value):
        return comparison(int(integer), value)
    # Where these two change, the integers equal to `value` begin and end.
    return integer.step(lambda number: comparison(number, value), lambda number: (number < value, number > value))


_NEVER_EQUAL = frozenset({str, bytes, type(None), tuple, list, dict, set, frozenset})


def _compared_draws(integer: UniformInteger, second: UniformInteger, comparison: Comparison) -> Any:
    """Compare two integers, after halving the wider span until the spans are disjoint or both are decided."""
    if integer is second:
        return comparison(0, 0)
    while integer.low < second.high and second.low < integer.high:
        wider = max(integer, second, key=lambda draw: draw.high - draw.low)
        if wider.high - wider.low == 1:
            break
        wider.below((wider.low + wider.high) // 2)
    return comparison(integer.low, second.low)


def _decided(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation on ints that also takes `UniformInteger`s, and decides their values first."""
    return lambda integer, *operands: operation(int(integer), *map(settled, operands))


def _reflected(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda integer, value: operation(value, int(integer))


_BINARY = {name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")}
_BINARY |= {"lshift": operator.lshift, "rshift": operator.rshift, "divmod": divmod}
_BINARY |= {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
_UNARY = {"neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert, "float": float}
_UNARY |= {"round": round, "mpz": mpz, "mpq": mpq, "repr": repr, "str": str, "format": format, "dir": dir}
for _name, _operation in (_BINARY | _UNARY).items():
    setattr(UniformInteger, f"__{_name}__", _decided(_operation))
for _name, _operation in _BINARY.items():
    setattr(UniformInteger, f"__r{_name}__", _reflected(_operation))
UniformInteger.__bool__ = lambda integer: not integer.below(1) if integer.low >= 0 else bool(int(integer))  # type: ignore[attr-defined]


def is_undecided(value: Any) -> bool:
    """Whether a value is a `UniformInteger`; `isinstance` cannot say, because it sees an `int`."""
    return type(value) is UniformInteger


def settled(value: Any) -> Any:
    """Return a value in which every `UniformInteger`, also inside tuples, is replaced by its decided int."""
    if type(value) is UniformInteger:
        return int(value)
    if type(value) is tuple:
        return tuple(map(settled, value))
    return value
