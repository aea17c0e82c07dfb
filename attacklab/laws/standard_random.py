"""Python's standard randomness on a source of bits, so that existing code has an exact law without being changed.

`StandardRandom(bits)` is a `random.Random` that draws from `bits`. While a law is sought, its `random()` gives a
`LazyNumber`: a multiple of 2^−53 in [0, 1) that is decided no further than it is compared, so `random() < p` is one
fork, at the exact threshold. Whatever needs the number itself (arithmetic, a logarithm, a hash, its text) would fork
2^53 times; it is refused, with the line that asked. On a source of plain integers `random()` is the float itself.

A law found so is that of the code on ideal bits: it takes for granted that the generator replaced, the Mersenne Twister
or the system's entropy, gives independent fair ones.
"""

from __future__ import annotations

import functools
import linecache
import operator
import random
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from types import BuiltinMethodType, FrameType, MethodType, SimpleNamespace
from typing import Any, NoReturn, TypeVar

import gmpy2
import numpy as np

from attacklab.laws.errors import LawError
from attacklab.laws.own_code import own_frame
from attacklab.laws.uniform import UniformInteger, below_or_rejected
from attacklab.model.random_bits import RandomBits

Outcome = TypeVar("Outcome")
Item = TypeVar("Item")

_BITS = 53
_UNIT = 2.0**-_BITS

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
}
_UFUNCS: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
_EQUALITIES = (operator.eq, operator.ne)
_MIRRORED = {operator.lt: operator.gt, operator.le: operator.ge, operator.gt: operator.lt, operator.ge: operator.le}

_COMPARED = frozenset({object, int, float, Fraction, Decimal, gmpy2.mpz, gmpy2.mpq, gmpy2.mpfr})
"""The types, besides numpy's, whose comparisons with a float are known to be steps; those of object are constant."""


_ADVICE = "compare random() with a threshold, or draw integers by getrandbits or randrange"


class StandardRandomRefused(LawError):
    """Existing code asked of the standard library's randomness what has no law that a search could find."""


class LazyNumber:
    """A float k·2^−53, uniform over the integers k in [0, 2^53), decided no further than it is compared.

    It presents itself as a float. A comparison is that of the plain float with the same operand, with all its
    roundings: it changes once or twice as k grows, and bisection finds where.
    """

    __slots__ = ("_integer",)

    imag = 0.0

    def __init__(self, integer: UniformInteger) -> None:
        self._integer = integer

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # A Fraction would convert what it takes for a float; all else it leaves to the other operand's comparison.
        caller = sys._getframe(1)
        compares = caller.f_globals.get("__name__") == "fractions" and caller.f_code.co_name in ("_richcmp", "__eq__")
        return LazyNumber if compares else float

    @property
    def real(self) -> LazyNumber:
        """The number itself, as for any float."""
        return self

    def conjugate(self) -> LazyNumber:
        """The number itself, as for any float."""
        return self

    def step(self, function: Callable[[float], Outcome], parts: Callable[[float], Any] | None = None) -> Outcome:
        """The value of a step function of the number, which is decided no further than to one step.

        Args:
            function: of a float in [0, 1); monotone, unless `parts` is given.
            parts: one or more monotone functions, of which one changes wherever `function` does.
        """
        outcome: Outcome = self._integer.step(
            lambda k: function(k * _UNIT), None if parts is None else lambda k: parts(k * _UNIT)
        )
        return outcome

    def refuse(self, reason: str) -> NoReturn:
        """End the run: somebody wants to know more than comparisons tell."""
        _stop(self._integer.tape, f"{_place()} {reason}; {_ADVICE}")

    def _compared(
        self, operation: Callable[[Any, Any], Any], value: Any, plain: Callable[[float], Any] | None = None
    ) -> Any:
        """Compare with another number.

        Args:
            operation: this number's operator.
            value: the other number.
            plain: the same comparison of a plain float; `operation` itself if it is not asked in another way.
        """
        if value is self:
            return operation(0.0, 0.0)
        if type(value) is LazyNumber:
            self.refuse("compares two numbers of random() with each other")
        if type(value) is UniformInteger:
            value = int(value)
        is_array = isinstance(value, np.ndarray)
        if not (value.dtype.kind in "biuf" if is_array else _is_compared(value)):
            if isinstance(value, complex | np.complexfloating | np.ndarray | gmpy2.mpc):
                self.refuse(f"compares a number of random() with a {type(value).__name__} that is not of real numbers")
            return NotImplemented
        plain = plain or (lambda x: operation(x, value))
        sides = (operator.lt, operator.gt) if operation in _EQUALITIES else (operation,)
        if is_array:
            return self.step(plain, lambda x: [side(x, value).tobytes() for side in sides])
        return self.step(plain, lambda x: [side(x, value) for side in sides])

    def __bool__(self) -> bool:
        return self.step(bool)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        operation = _UFUNCS.get(ufunc)
        if operation is None or method != "__call__" or options:
            self.refuse(f"needs the value of a number of random(), one of 2^53, in numpy's {ufunc.__name__}")
        first, second = inputs
        if first is self:
            return self._compared(operation, second, lambda x: ufunc(x, second))
        return self._compared(_MIRRORED.get(operation, operation), first, lambda x: ufunc(first, x))


def _comparison(operation: Callable[[Any, Any], Any]) -> Callable[[LazyNumber, Any], Any]:
    return lambda number, value: number._compared(operation, value)


def _refusal(name: str) -> Callable[..., NoReturn]:
    reason = (
        "hashes a number of random()" if name == "__hash__" else "needs the value of a number of random(), one of 2^53"
    )
    return lambda number, *_, **__: number.refuse(reason)


for _name, _operation in _COMPARISONS.items():
    setattr(LazyNumber, f"__{_name}__", _comparison(_operation))
_TEXT_AND_COPIES = {"__format__", "__getstate__", "__reduce__", "__reduce_ex__", "__repr__", "__str__"}
_OF_FLOATS = set(dir(float)) - set(dir(object)) - {"__getformat__", "__getnewargs__", "fromhex"}
_OF_NUMPY = {"__array__", "__array_function__"}
_DEFINED = {"conjugate", "imag", "real", "__bool__"}
for _name in ({"__hash__"} | _TEXT_AND_COPIES | _OF_FLOATS | _OF_NUMPY) - _DEFINED:
    setattr(LazyNumber, _name, _refusal(_name))


class StandardRandom(random.SystemRandom):
    """A `random.Random`, and a `secrets.SystemRandom`, whose only randomness is a source of bits.

    `getrandbits`, `randbytes`, `randrange`, `randint`, `choice`, `choices`, `shuffle` and `sample` have exact laws;
    `random` has, if its numbers are only compared. Distributions that compute with it (`uniform`, `gauss`,
    `expovariate`, …) are refused while a law is sought.

    Args:
        bits: where all randomness comes from.
    """

    def __new__(cls, bits: RandomBits) -> StandardRandom:  # noqa: ARG004, D102 - the base class would take it for a seed
        fixed: Any = super().__new__
        return fixed(cls, 0)  # type: ignore[no-any-return] # the seed of a state from which nothing is drawn

    def __init__(self, bits: RandomBits) -> None:
        if bits.counts:
            raise StandardRandomRefused(
                "random takes other bits from its generator than stand for them here, so they cannot be counted; "
                "let the claim cover outputs alone"
            )
        self._bits = bits
        self.gauss_next = None

    def random(self) -> float:
        """Draw a multiple of 2^−53 in [0, 1)."""
        drawn = self._bits.take(_BITS)
        number: Any = LazyNumber(drawn) if isinstance(drawn, UniformInteger) else int(drawn) * _UNIT
        return number  # type: ignore[no-any-return]

    def getrandbits(self, k: int, /) -> int:
        """Draw an integer of k bits.

        Raises:
            ValueError: k is negative.
        """
        return self._bits.take(k)

    def randbytes(self, n: int) -> bytes:
        """Draw n bytes."""
        return int(self._bits.take(8 * n)).to_bytes(n, "big")

    def _randbelow(self, n: int) -> int:
        return self._bits.repeat(below_or_rejected, n)

    def choices(
        self,
        population: Any,
        weights: Iterable[Any] | None = None,
        *,
        cum_weights: Iterable[Any] | None = None,
        k: int = 1,
    ) -> list[Any]:
        """Draw k items with replacement, each by one `random()`, with the standard library's roundings."""
        weights, cum_weights = (values if values is None else list(values) for values in (weights, cum_weights))

        def chosen(number: float) -> int:
            source: Any = SimpleNamespace(random=lambda: number)
            places = range(len(population))
            return random.Random.choices(source, places, weights, cum_weights=cum_weights)[0]

        return [population[_stepped(chosen, self.random())] for _ in range(k)]

    def seed(self, a: Any = None, version: int = 2) -> None:  # noqa: ARG002 - the base class's signature
        """Refuse any seed but None: what follows one is not random.

        Raises:
            StandardRandomRefused: `a` is not None.
        """
        if a is not None:
            self._refuse("seeds its randomness, so that its outputs are not random; leave the seed out")

    def getstate(self) -> NoReturn:
        """Refuse: there is no state.

        Raises:
            StandardRandomRefused: always.
        """
        self._refuse("asks for the state of its randomness, and bits have none; draw instead")

    def setstate(self, state: object) -> NoReturn:  # noqa: ARG002 - the base class's signature
        """Refuse: there is no state.

        Raises:
            StandardRandomRefused: always.
        """
        self._refuse("sets the state of its randomness, so that its outputs are not random; leave that out")

    def refuse_entropy(self, count: int) -> NoReturn:  # noqa: ARG002 - the signature of os.urandom
        """Refuse a draw that a function imported by name makes from the system's entropy.

        Raises:
            StandardRandomRefused: always.
        """
        self._refuse("draws from the system's entropy by a function imported by name; call it as secrets.randbits")

    def _refuse(self, reason: str) -> NoReturn:
        _stop(self._bits, f"{_place()} {reason}")


def passing_random(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Make a sampler of existing code that is given its generator.

    Args:
        function: `function(input, rng)`, where rng is a `random.Random` or a `secrets.SystemRandom`.

    Returns:
        `sampler(input, bits)`, as `Target.exact` takes it.
    """

    @functools.wraps(function)
    def sampler(*arguments: Any) -> Outcome:
        *inputs, bits = arguments
        return _decided(function(*inputs, StandardRandom(bits)), function, bits)

    return sampler


def replacing_random(function: Callable[..., Outcome]) -> Callable[..., Outcome]:
    """Make a sampler of existing code that draws from the modules `random` or `secrets`.

    Args:
        function: `function(input)`.

    Returns:
        `sampler(input, bits)`, as `Target.exact` takes it. It replaces what `standard_library_draws_from` says.
    """

    @functools.wraps(function)
    def sampler(*arguments: Any) -> Outcome:
        *inputs, bits = arguments
        with standard_library_draws_from(bits):
            return _decided(function(*inputs), function, bits)

    return sampler


@contextmanager
def standard_library_draws_from(bits: RandomBits) -> Iterator[None]:
    """Let `random`, `secrets` and every `SystemRandom` draw from `bits` for a while, in the whole process.

    That is: the functions of the module `random`, also where `choice`, `shuffle` and the like were imported by name;
    all instances of `random.SystemRandom`, old and new; and the functions of `secrets`. What was imported by name and
    cannot be replaced is `random.random` and `random.getrandbits`, which go on as before, and `secrets.randbits`,
    which is refused. An instance of `random.Random` of one's own stays what it is.
    """
    replaced = []
    try:
        for owner, name, value in list(_replacements(StandardRandom(bits))):
            replaced.append((owner, name, vars(owner).get(name, _ABSENT)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(replaced):
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


_ABSENT = object()
_FUNCTIONS = tuple(name for name in random.__all__ if isinstance(getattr(random, name), MethodType | BuiltinMethodType))
_DRAWS = ("random", "getrandbits", "randbytes", "choices", "_randbelow")


def _replacements(existing: StandardRandom) -> Iterator[tuple[Any, str, Any]]:
    """What to replace: owner, name and the new value."""
    shared = vars(random)["_inst"]
    yield from ((random, name, getattr(existing, name)) for name in _FUNCTIONS)
    yield from ((shared, name, getattr(existing, name)) for name in (*_DRAWS, "seed", "getstate", "setstate"))
    yield from (
        (random.SystemRandom, name, staticmethod(getattr(existing, name))) for name in _DRAWS if name != "choices"
    )
    yield random.SystemRandom, "choices", StandardRandom.choices  # a subclass may have a random() of its own
    yield secrets, "randbits", existing.getrandbits
    yield random, "_urandom", existing.refuse_entropy


def _stepped(function: Callable[[float], Outcome], number: Any) -> Outcome:
    return number.step(function) if type(number) is LazyNumber else function(number)


def _decided(outcome: Outcome, function: Callable[..., Outcome], bits: RandomBits) -> Outcome:
    """The outcome, unless a number of `random()` is in it."""
    if _holds_number(outcome):
        _stop(bits, f"{getattr(function, '__qualname__', function)} returns a number of random(); {_ADVICE}")
    return outcome


def _holds_number(outcome: Any) -> bool:
    if isinstance(outcome, tuple | list):
        return any(map(_holds_number, outcome))
    return type(outcome) is LazyNumber


def _is_compared(number: Any) -> bool:
    """Whether the type's comparisons are those of numpy or of a type in `_COMPARED`, not overridden."""
    owners = {next(base for base in type(number).__mro__ if f"__{name}__" in vars(base)) for name in _COMPARISONS}
    return owners != {object} and all(owner in _COMPARED or owner.__module__ == "numpy" for owner in owners)


def _stop(bits: Any, message: str) -> NoReturn:
    """End the run, even if the sampler handles exceptions; on a source of plain integers, raise."""
    error = StandardRandomRefused(message)
    stop = getattr(bits, "stop", None)
    if stop is not None:
        stop(error)
    raise error


def _place() -> str:
    """The nearest code that belongs neither to Python nor to numpy: file, line, function and expression."""
    frame, through = own_frame(sys._getframe(1))
    text = f" `{_expression(frame)}`".replace(" ``", "")
    called = f", through {through}()," if through else ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_qualname}:{text}{called}"


def _expression(frame: FrameType) -> str:
    """The source of the expression that a frame is computing, or of its line, or nothing if there is no source."""
    (line, last, start, end), *_ = islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    text = linecache.getline(frame.f_code.co_filename, line or 0, frame.f_globals).rstrip("\n")
    if line != last or start is None or end is None:
        return text.strip()
    return text.encode()[start:end].decode()
