"""False samplers such as an honest author writes by mistake, in rows: what differs, and how.

Inputs are the secrets 0 and 1, and every claim is ε = 1.1. `flipped` is randomized response that lies with probability
1/4, which needs ε = ln 3 = 1.0986…; the false ones look like it to whoever overlooks the mistake.
"""

from __future__ import annotations

import array
import contextlib
import contextvars
import copy
import datetime as dt
import decimal
import enum
import functools
import gc
import hashlib
import io
import itertools
import math
import os
import random
import secrets
import sys
import threading
import time
import types
import uuid
import zlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import gmpy2
import numpy as np

from attacklab.model.random_bits import REJECTED, RandomBits

Sampler = Callable[[int, Any], Any]


def flipped(secret: int, bits: RandomBits) -> int:
    """Randomized response: the secret bit, or with probability 1/4 the other."""
    return secret ^ (bits.take(2) == 0)


def raw(secret: int) -> tuple[str, int]:
    """The secret with a mark, which no sound release gives."""
    return "raw", int(secret)


# State that a rejection loop keeps. One round in eight is rejected; one that follows two rejections gives the secret
# with a mark. So does one release in 64 on 1, and no release on 0 gives that. With half of the rounds rejected and 40
# rejections it is one release in 2^40, which no run of a proof comes to: the count itself must be seen.


class Count(NamedTuple):
    """Counts rejections: `add` notes one; `take` gives how many there were, and forgets them."""

    add: Callable[[], object]
    take: Callable[[], int]


def rejecting(make_count: Callable[[], Count], most: int = 2, width: int = 3) -> Sampler:
    """A release whose rounds count their rejections so: one in 2^width is rejected."""
    count = make_count()

    def one_round(secret: int, bits: RandomBits) -> Any:
        if bits.take(width) == (1 << width) - 1:
            count.add()
            return REJECTED
        return raw(secret) if count.take() >= most else flipped(secret, bits)

    return lambda secret, bits: bits.repeat(one_round, secret)


def _emptied(held: Any) -> int:
    """How many items there were."""
    count = len(held)
    held.clear()
    return count


def _sized(held: Any, item: Any = 0) -> Count:
    """Something that grows by a rejection, and is emptied."""
    return Count(lambda: held.append(item), lambda: _emptied(held))


def _keyed(held: Any, key: Any) -> Count:
    """A number in something that has keys."""

    def add() -> None:
        held[key] += 1

    def take() -> int:
        count, held[key] = held[key], 0
        return int(count)

    return Count(add, take)


def _attribute(held: Any, name: str = "rejections") -> Count:
    """A number in an attribute."""

    def take() -> int:
        count = getattr(held, name)
        setattr(held, name, 0)
        return int(count)

    return Count(lambda: setattr(held, name, getattr(held, name) + 1), take)


def _advanced(make: Callable[[], Iterator[int]]) -> Count:
    """An iterator that a rejection advances."""
    held = [make()]

    def take() -> int:
        count = next(held[0])
        held[0] = make()
        return count

    return Count(lambda: next(held[0]), take)


def _closure_cell() -> Count:
    rejections = 0

    def add() -> None:
        nonlocal rejections
        rejections += 1

    def take() -> int:
        nonlocal rejections
        count, rejections = rejections, 0
        return count

    return Count(add, take)


_number = 0
_names: list[str] = []
_statistics = {"rejected": 0}


def _add_to_number() -> None:
    global _number
    _number += 1


def _take_number() -> int:
    global _number
    count, _number = _number, 0
    return count


_counts = np.zeros(1, dtype=np.int64)


def _add_to_array() -> None:
    _counts[0] += 1


def _take_array() -> int:
    count, _counts[0] = int(_counts[0]), 0
    return count


def _mutable_default(rejected: list[int] = [], *, taken: bool = False) -> int:  # noqa: B006 - the mistake
    if not taken:
        rejected.append(0)
        return 0
    count = len(rejected)
    rejected.clear()
    return count


def _keyword_default(*, rejected: dict[str, int] = {"count": 0}, taken: bool = False) -> int:  # noqa: B006
    count, rejected["count"] = rejected["count"], 0 if taken else rejected["count"] + 1
    return count


def _function_attribute() -> Count:
    def retry() -> None: ...

    retry.rejections = 0  # type: ignore[attr-defined]
    return _attribute(retry)


class _Mechanism:
    shared: ClassVar[int] = 0
    log: ClassVar[list[int]] = []

    def __init__(self) -> None:
        self.rejections = 0


class _Slotted:
    __slots__ = ("rejections",)
    rejections: int


class _List(list[int]):
    pass


class _Deque(deque[int]):
    pass


class _Array(array.array):  # type: ignore[type-arg]
    pass


class _Local(threading.local):
    rejections = 0


class _Descriptor:
    def __init__(self) -> None:
        self.held = 0

    def __get__(self, _owner: object, _kind: type) -> int:
        return self.held

    def __set__(self, _owner: object, value: int) -> None:
        self.held = value


class _Described:
    rejections = _Descriptor()


class _Meta(type):
    rejections = 0


class _Cached:
    @functools.cached_property
    def rejected(self) -> list[int]:
        return []


class _Level(enum.Enum):
    LOW = 0


@dataclass(frozen=True)
class _Frozen:
    log: list[int] = field(default_factory=list, compare=False)


class _Parameters(NamedTuple):
    log: list[int]


def _slotted() -> Count:
    held = _Slotted()
    held.rejections = 0
    return _attribute({"metrics": (held,)}["metrics"][0])


def _enum_member() -> Count:
    _Level.LOW.rejections = 0  # type: ignore[attr-defined]
    return _attribute(_Level.LOW)


def _context_variable() -> Count:
    attempt: contextvars.ContextVar[int] = contextvars.ContextVar("attempt", default=0)
    return Count(lambda: attempt.set(attempt.get() + 1), lambda: (attempt.get(), attempt.set(0))[0])


def _generator() -> Iterator[int]:
    yield from range(1 << 20)


def _stream() -> Count:
    stream = io.StringIO()
    return Count(lambda: stream.write("x"), lambda: (stream.tell(), stream.seek(0), stream.truncate())[0])


@functools.lru_cache(maxsize=8)
def _cached_list(_name: str) -> list[int]:
    return []


@functools.cache
def _cached_mechanism() -> _Mechanism:
    return _Mechanism()


def _seeded(rng: Any, again: Callable[[], Any], rewind: Callable[[Any], None]) -> Count:
    def take() -> int:
        drawn, rest = rng.random(), again()
        rewind(rng)
        return next(number for number in range(1 << 10) if rest.random() == drawn)

    return Count(rng.random, take)


def _numpy_generator() -> Count:
    rng = np.random.default_rng(1)
    start = rng.bit_generator.state
    return _seeded(rng, lambda: np.random.default_rng(1), lambda used: setattr(used.bit_generator, "state", start))


def _precision(get: Callable[[], Any], name: str) -> Count:
    usual = getattr(get(), name)

    def take() -> int:
        count = getattr(get(), name) - usual
        setattr(get(), name, usual)
        return int(count)

    return Count(lambda: setattr(get(), name, getattr(get(), name) + 1), take)


def _named_in_globals() -> Count:
    def add() -> None:
        globals()["_rejections_by_name"] = globals().get("_rejections_by_name", 0) + 1

    return Count(add, lambda: globals().pop("_rejections_by_name", 0))


class _Quiet(_Mechanism):
    def __getstate__(self) -> None:
        """Leave the count out of pickles."""

    def _append(self, item: int) -> None:
        _names.append(str(item))

    retry = functools.partialmethod(_append, 0)


def _made_at_first_use() -> None:
    _Slotted.late = getattr(_Slotted, "late", 0) + 1  # type: ignore[attr-defined]


def _take_made() -> int:
    count = getattr(_Slotted, "late", 0)
    if count:
        del _Slotted.late  # type: ignore[attr-defined]
    return count


@contextlib.contextmanager
def _counted() -> Iterator[None]:
    _names.append("entered")
    yield


def _enter() -> None:
    with _counted():
        pass


@dataclass
class _Attempts:
    log: list[int] = field(default_factory=lambda: _cached_list("shared by all"))


def _by_names(add: Callable[[], object]) -> Count:
    """Something that grows the list of the module."""
    return Count(add, lambda: _emptied(_names))


def _locks() -> Count:
    locks = [threading.Lock() for _ in range(64)]

    def take() -> int:
        taken = [lock for lock in locks if lock.locked()]
        for lock in taken:
            lock.release()
        return len(taken)

    return Count(lambda: next(lock for lock in locks if not lock.locked()).acquire(), take)


def _shallow_copies() -> Count:
    first = types.SimpleNamespace(log=[])
    return Count(lambda: copy.copy(first).log.append(0), lambda: (len(first.log), first.log.clear())[0])


KEPT: dict[str, Callable[[], Count]] = {
    "a variable of the closure": _closure_cell,
    "a list": lambda: _sized([]),
    "a dict": lambda: _keyed({0: 0}, 0),
    "a defaultdict": lambda: _keyed(defaultdict(int), 0),
    "a Counter": lambda: _keyed(Counter(), 0),
    "an OrderedDict": lambda: _keyed(OrderedDict(a=0), "a"),
    "a deque": lambda: _sized(deque()),
    "a set": lambda: (lambda held: Count(lambda: held.add(len(held)), lambda: _emptied(held)))(set()),
    "a bytearray": lambda: _sized(bytearray()),
    "a numpy array": lambda: _keyed(np.zeros(1, dtype=np.int64), 0),
    "a numpy array of objects": lambda: _keyed(np.array([0], dtype=object), 0),
    "a typed array": lambda: _keyed(array.array("q", [0]), 0),
    "a subclass of list": lambda: _sized(_List()),
    "a subclass of deque": lambda: _sized(_Deque()),
    "a subclass of array": lambda: _keyed(_Array("q", [0]), 0),
    "a mutable default": lambda: Count(_mutable_default, lambda: _mutable_default(taken=True)),
    "a default of a keyword": lambda: Count(_keyword_default, lambda: _keyword_default(taken=True)),
    "an attribute of a function": _function_attribute,
    "an attribute of an object": lambda: _attribute(_Mechanism()),
    "an attribute of a class": lambda: _attribute(_Mechanism, "shared"),
    "a list of a class": lambda: _sized(_Mechanism.log),
    "an attribute of a class made at its first use": lambda: Count(_made_at_first_use, _take_made),
    "an object that leaves it out of pickles": lambda: _attribute(OrderedDict(quiet=_Quiet())["quiet"]),
    "a partial method": lambda: _by_names(_Quiet().retry),
    "functions in a dict": lambda: _by_names(OrderedDict(add=lambda: _names.append("rejected"))["add"]),
    "a function of numpy": lambda: (lambda add: _by_names(lambda: add(0)))(np.frompyfunc(_Quiet()._append, 1, 1)),
    "a context manager": lambda: _by_names(_enter),
    "a default factory": lambda: Count(lambda: _Attempts().log.append(0), lambda: _emptied(_Attempts().log)),
    "locks": _locks,
    "an attribute of a metaclass": lambda: _attribute(_Meta("Made", (), {})),
    "a slot of an object in a tuple": _slotted,
    "a field of a frozen dataclass": lambda: _sized(_Frozen().log),
    "a list in a named tuple": lambda: _sized(_Parameters([]).log),
    "a SimpleNamespace": lambda: _attribute(types.SimpleNamespace(rejections=0)),
    "a list that shallow copies share": _shallow_copies,
    "a member of an enumeration": _enum_member,
    "a descriptor": lambda: _attribute(_Described()),
    "what a cached property keeps": lambda: _sized(_Cached().rejected),
    "a global number": lambda: Count(_add_to_number, _take_number),
    "a global array of numpy": lambda: Count(_add_to_array, _take_array),
    "a global list": lambda: _sized(_names, "rejected"),
    "a global dict": lambda: _keyed(_statistics, "rejected"),
    "a name in globals()": _named_in_globals,
    "an attribute of a module": lambda: _attribute(_module()),
    "a ContextVar": _context_variable,
    "a threading.local": lambda: _attribute(_Local()),
    "an itertools.count": lambda: _advanced(itertools.count),
    "an iterator over a list": lambda: _advanced(lambda: iter(list(range(100)))),
    "a generator": lambda: _advanced(_generator),
    "a stream": _stream,
    "a captured random.Random": lambda: _seeded(random.Random(1), lambda: random.Random(1), lambda rng: rng.seed(1)),
    "a captured generator of numpy": _numpy_generator,
    "the precision of decimal": lambda: _precision(decimal.getcontext, "prec"),
    "the precision of gmpy2": lambda: _precision(gmpy2.get_context, "precision"),
}
"""Where a loop keeps how often it rejected."""


def _module() -> types.ModuleType:
    module = types.ModuleType("settings_of_a_deployment")
    vars(module)["rejections"] = 0
    return module


# What functions keep under `functools.cache` or `functools.lru_cache`. States are found only if caches are watched: a
# run again on the same bits gives the same, and so do 20,000 plain runs.


@functools.cache
def _cached_dict() -> dict[str, int]:
    return {"releases": 0}


@functools.lru_cache(maxsize=1)
def _cached_draw(bits: RandomBits) -> int:
    return bits.take(2)


def _counting_in_a_list(secret: int, bits: RandomBits) -> int:
    _cached_list("releases").append(0)
    return flipped(secret, bits) if len(_cached_list("releases")) < 10**6 else secret | bits.take(0)


def _counting_in_a_dict(secret: int, bits: RandomBits) -> int:
    _cached_dict()["releases"] += 1
    return flipped(secret, bits) if _cached_dict()["releases"] < 10**6 else secret | bits.take(0)


def _rejected_five_times(secret: int, bits: RandomBits) -> Any:
    mechanism = _cached_mechanism()
    if bits.take(3) == 7:
        mechanism.rejections += 1
        return REJECTED
    count, mechanism.rejections = mechanism.rejections, 0
    return raw(secret) if count == 5 else flipped(secret, bits)


CACHED: dict[str, tuple[Sampler, str]] = {
    "a list that counts releases": (_counting_in_a_list, "keeps for 'releases' changed"),
    "a dict that counts releases": (_counting_in_a_dict, "_cached_dict"),
    "an object that counts rejections": (
        lambda secret, bits: bits.repeat(_rejected_five_times, secret),
        "_cached_mechanism gives for equal arguments",
    ),
    "the first draw": (lambda secret, bits: secret ^ (_cached_draw(bits) == 0), "_cached_draw is given the source"),
    "the first draw of a call": (
        lambda secret, bits: secret ^ (bits.call(_cached_draw) == 0),
        "_cached_draw is given the source",
    ),
}
"""What a cached function gives, and a part of the message that refuses it."""


# Two calls of what looks like one function of equal arguments: the first gives a fair coin, the second shows 0, so the
# second part of the output is the secret itself.


def twice(first: Callable[[RandomBits], int], second: Callable[[RandomBits], int]) -> Sampler:
    """A release that calls two samplers, and gives the secret by the second."""
    return lambda secret, bits: (bits.call(first), secret ^ bits.call(second))


def coin(is_fair: object, bits: RandomBits) -> int:
    """A fair coin, or one that always shows 0."""
    return bits.take(1) if is_fair else 0


class _Money:
    """Compares and hashes by amount alone."""

    def __init__(self, amount: int, is_fair: bool) -> None:
        self.amount, self.is_fair = amount, is_fair

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Money) and self.amount == other.amount

    def __hash__(self) -> int:
        return hash(self.amount)


@dataclass(frozen=True)
class _Compared:
    epsilon: float
    is_fair: bool = field(default=True, compare=False)


def _is_positive(number: float) -> bool:
    return not np.signbit(number)


EQUAL: dict[str, tuple[Any, Any, Callable[[Any], object]]] = {
    "an int and a bool": (1, True, lambda level: type(level) is int),
    "an int and a float": (1, 1.0, lambda level: type(level) is int),
    "zeros of either sign": (0.0, -0.0, _is_positive),
    "a Fraction and an int": (Fraction(1), 1, lambda level: type(level) is Fraction),
    "a float and np.float32": (0.5, np.float32(0.5), lambda level: isinstance(level, float)),
    "Decimals of two exponents": (Decimal("1.0"), Decimal("1.00"), lambda level: level.as_tuple().exponent == -1),
    "objects that compare one attribute": (_Money(5, True), _Money(5, False), lambda level: level.is_fair),
    "dataclasses with compare=False": (_Compared(1.0), _Compared(1.0, False), lambda level: level.is_fair),
    "frozen sets": (frozenset({1}), frozenset({True}), lambda level: type(next(iter(level))) is int),
    "dicts in another order": ({"a": 1, "b": 0}, {"b": 0, "a": 1}, lambda level: next(iter(level.values()))),
}
"""Keys that are equal for Python, and which the called sampler tells apart."""


def called_with(first: Any, second: Any, is_fair: Callable[[Any], object]) -> Sampler:
    """Two calls of one function with these arguments."""

    def noise(level: Any, bits: RandomBits) -> int:
        return coin(is_fair(level), bits)

    return lambda secret, bits: (bits.call(noise, first), secret ^ bits.call(noise, second))


def changed_between(switch: Callable[[bool], object], noise: Callable[[RandomBits], int]) -> Sampler:
    """A release that changes a setting between two calls of a function that reads it."""

    def sampler(secret: int, bits: RandomBits) -> tuple[int, int]:
        switch(True)
        first = bits.call(noise)
        switch(False)
        return first, secret ^ bits.call(noise)

    return sampler


_is_fair = True


def _switch_global(is_fair: bool) -> None:
    global _is_fair
    _is_fair = is_fair


def _coin_of_the_global(bits: RandomBits) -> int:
    return coin(_is_fair, bits)


def _by_default() -> Sampler:
    def noise(bits: RandomBits, is_fair: bool = True) -> int:
        return coin(is_fair, bits)

    return changed_between(lambda is_fair: setattr(noise, "__defaults__", (is_fair,)), noise)


class _Noise:
    is_fair = True

    def draw(self, bits: RandomBits) -> int:
        return coin(self.is_fair, bits)


def _by_attribute(held: Any, noise: _Noise) -> Sampler:
    return changed_between(lambda is_fair: setattr(held, "is_fair", is_fair), noise.draw)


def _by_cell() -> Sampler:
    is_fair = True

    def switch(value: bool) -> None:
        nonlocal is_fair
        is_fair = value

    return changed_between(switch, lambda bits: coin(is_fair, bits))


def _by_partial() -> Sampler:
    weights = [True]
    return changed_between(
        lambda value: weights.__setitem__(0, value),
        functools.partial(lambda held, bits: coin(held[0], bits), weights),
    )


def _by_replaced_code() -> Sampler:
    def noise(bits: RandomBits) -> int:
        return bits.take(1)

    fair, silent = noise.__code__, (lambda bits: 0).__code__  # noqa: ARG005
    return changed_between(lambda is_fair: setattr(noise, "__code__", fair if is_fair else silent), noise)


def _by_registering() -> Sampler:
    @functools.singledispatch
    def is_fair(_level: object) -> bool:
        return True

    def switch(fair: bool) -> None:
        is_fair.register(int, lambda _level: fair)

    return changed_between(switch, lambda bits: coin(is_fair(1), bits))


_own, _shared, _Derived = _Noise(), _Noise(), type("_Derived", (_Noise,), {})

REUSED: dict[str, Callable[[], Sampler]] = {
    "a global": lambda: changed_between(_switch_global, _coin_of_the_global),
    "a default": _by_default,
    "an attribute of an object": lambda: _by_attribute(_own, _own),
    "an attribute of a base class": lambda: _by_attribute(_Noise, _Derived()),
    "a variable around": _by_cell,
    "a list in a partial": _by_partial,
    "the code of a function": _by_replaced_code,
    "the environment": lambda: changed_between(
        lambda is_fair: os.environ.update(FAIR=str(int(is_fair))), lambda bits: coin(os.environ["FAIR"] == "1", bits)
    ),
    "a helper that is replaced": lambda: changed_between(
        lambda is_fair: setattr(_Noise, "helper", coin if is_fair else lambda *_: 0),
        lambda bits: _Noise.helper(True, bits),  # type: ignore[attr-defined]
    ),
    "the precision of decimal": lambda: changed_between(
        lambda is_fair: setattr(decimal.getcontext(), "prec", 28 if is_fair else 1),
        lambda bits: coin(Decimal(1) + Decimal("0.1") > 1, bits),
    ),
    "an implementation that is registered": _by_registering,
    "lambdas of one line": lambda: twice(*(functools.partial(coin, is_fair) for is_fair in (True, False))),
    "closures over 1 and True": lambda: twice(
        *((lambda bits, kind=kind: coin(type(kind) is int, bits)) for kind in (1, True))
    ),
}
"""What differs between two calls of one function."""


# Outputs that are equal for Python, and are not the same output.

FORMS: dict[str, tuple[Callable[[int], Any], Callable[[int], Any]]] = {
    "an int or a bool": (int, bool),
    "zeros of either sign": (lambda _bit: 0.0, lambda _bit: -0.0),
    "an int or a float": (int, float),
    "an int or np.int64": (int, np.int64),
    "a float or np.float64": (float, np.float64),
    "Decimals of two exponents": (lambda bit: Decimal(f"{bit}.0"), lambda bit: Decimal(f"{bit}.00")),
    "a bool three tuples deep": (lambda bit: (((bit,),),), lambda bit: (((bool(bit),),),)),
    "dataclasses with compare=False": (lambda bit: _Compared(bit), lambda bit: _Compared(bit, False)),
    "a tuple or a named tuple": (lambda bit: (bit,), lambda bit: _Parameters(bit)),
    "a gmpy2 float of two precisions": (lambda bit: gmpy2.mpfr(bit, 53), lambda bit: gmpy2.mpfr(bit, 64)),
}


def written(form: Callable[[int], Any], other: Callable[[int], Any]) -> Sampler:
    """A fair bit in a form that is the secret."""
    return lambda secret, bits: (other if secret else form)(bits.take(1))


# Code that does something else with an ordinary integer than with what stands for one, or with rounded numbers.


def marked(convert: Callable[[Any], Any], *, width: int = 8, at: int = 90) -> Sampler:
    """A draw is converted, and for one value the secret goes out with a mark."""
    return lambda secret, bits: raw(secret) if convert(bits.take(width)) == at else flipped(secret, bits)


def typed(is_plain: Callable[[Any], bool]) -> Sampler:
    """A fast path for plain integers, which has no noise."""

    def sampler(secret: int, bits: RandomBits) -> int:
        draw = bits.take(2)
        return secret if is_plain(draw) else secret ^ (draw == 0)

    return sampler


def overflowing(secret: int, bits: RandomBits) -> Any:
    """A handler of an overflow that never happens, as was thought, has no noise."""
    try:
        return secret ^ (float(bits.take(2) * 10**309) < 0)
    except OverflowError:
        return secret


NUMBERS: dict[str, tuple[Sampler, Any]] = {
    "type(draw) is int": (typed(lambda draw: type(draw) is int), None),
    "draw.__class__": (typed(lambda draw: draw.__class__ is int), None),
    "isinstance(draw, int)": (typed(lambda draw: isinstance(draw, int)), None),
    "the name of the type": (typed(lambda draw: type(draw).__name__ == "int"), None),
    "a float that overflows": (overflowing, None),
    "a float threshold at 2^54": (marked(lambda draw: draw / 2**54, width=54, at=1), (1 << 54) - 1),
    "a float32 threshold": (marked(lambda draw: float(np.float32(draw)), width=25, at=1 << 25), (1 << 25) - 1),
    "a float16 threshold": (marked(lambda draw: float(np.float16(draw)), width=12, at=1 << 12), (1 << 12) - 1),
    "hash": (marked(hash), 90),
    "a numpy scalar": (marked(np.uint64), 90),
    "text": (marked(lambda draw: int(f"{draw:08b}", 2)), 90),
    "bytes": (marked(lambda draw: bytes([draw])[0]), 90),
    "a list index": (marked(lambda draw: list(range(256))[draw]), 90),
    "a range": (marked(lambda draw: len(range(draw))), 90),
}
"""Each with the draw that breaks the claim; None where every draw does."""


# Breaches that a search hardly comes to: at rare draws, or late in a loop, in handlers and in recursion.


def rarely(is_rare: Callable[[Any], Any]) -> Sampler:
    """Randomized response, unless a rare draw switches the noise off and marks the answer."""
    return lambda secret, bits: raw(secret) if is_rare(bits) else flipped(secret, bits)


def _logarithm_of_zero(secret: int, bits: RandomBits) -> Any:
    try:
        return secret ^ (-math.log(bits.take(53) * 2.0**-53) > math.log(4))
    except ValueError:
        return raw(secret)


def _counted_in_a_byte(bits: RandomBits) -> bool:
    count = np.zeros(1, dtype=np.uint8)
    for _ in range(256):
        count += np.uint8(1)
        if count[0] == 0 or bits.take(4) == 0:
            break
    return bool(count[0] == 0)


def _final_draw(secret: int, bits: RandomBits) -> Any:
    try:
        return flipped(secret, bits)
    finally:
        if bits.take(8) == 7:
            return raw(secret)  # noqa: B012 - the mistake


def _failing_round(secret: int, bits: RandomBits) -> Any:
    draw = bits.take(4)
    if draw == 15:
        raise KeyError
    return flipped(secret, bits) if draw < 8 else REJECTED


def _handled(drawn: Callable[[int, RandomBits], Any]) -> Sampler:
    def sampler(secret: int, bits: RandomBits) -> Any:
        try:
            return drawn(secret, bits)
        except (KeyError, RecursionError):
            return raw(secret)

    return sampler


def _failing_noise(bits: RandomBits) -> bool:
    return [True, False, False, False][bits.take(2)] if bits.take(8) != 200 else {}["missing"]


def _recursive(secret: int, bits: RandomBits) -> int:
    return flipped(secret, bits) if bits.take(6) == 0 else _recursive(secret, bits)


def _watchdog(secret: int, bits: RandomBits) -> Any:
    rounds = 0

    def one_round(bits: RandomBits) -> Any:
        nonlocal rounds
        rounds += 1
        if rounds > 1000:
            return raw(secret)
        return flipped(secret, bits) if bits.take(6) == 0 else REJECTED

    return bits.repeat(one_round)


Draws = list[tuple[int, int]]
RARE: dict[str, tuple[Sampler, Draws]] = {
    "a value of 40 bits": (rarely(lambda bits: bits.take(40) == 0xC0FFEE1234), [(0xC0FFEE1234, 40)]),
    "a digest": (
        rarely(lambda bits: hashlib.sha256(bits.take(40).to_bytes(5, "big")).digest()[:2] == b"\0\0"),
        [(60_291, 40)],
    ),
    "a checksum": (rarely(lambda bits: zlib.crc32(bits.take(32).to_bytes(4, "big")) == 0), [(0x9D0AD96D, 32)]),
    "a bucket": (rarely(lambda bits: (bits.take(64) * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 48 == 0), [(0, 64)]),
    "draws that collide": (rarely(lambda bits: bits.take(24) == bits.take(24)), [(5, 24), (5, 24)]),
    "draws that cancel": (rarely(lambda bits: bits.take(20) ^ bits.take(20) == 0xABCDE), [(0xABCDE, 20), (0, 20)]),
    "the top byte of a word": (rarely(lambda bits: int(bits.words(1)[0]) >> 56 == 255), [(255 << 56, 64)]),
    "a residue": (rarely(lambda bits: bits.take(48) % 1_000_003 == 271_828), [(271_828, 48)]),
    "the logarithm of 0": (_logarithm_of_zero, [(0, 53)]),
    "a geometric number": (rarely(lambda bits: all(not bits.take(1) for _ in range(45))), [(0, 45)]),
    "one byte after another": (
        rarely(lambda bits: all(bits.take(8) == byte for byte in (5, 4, 3, 2, 1))),
        [(0x0504030201, 40)],
    ),
    "a sum of coins": (rarely(lambda bits: sum(bits.take(1) for _ in range(40)) == 40), [((1 << 40) - 1, 40)]),
    "a thousand rounds": (rarely(lambda bits: all(bits.take(6) for _ in range(1000))), [(1, 6)] * 1000),
    "a thousand rejections": (_watchdog, [(1, 6)] * 1000),
    "a count that wraps": (rarely(_counted_in_a_byte), [(1, 4)] * 255),
    "a draw in `finally`": (_final_draw, [(7, 10)]),
    "a round that fails": (_handled(lambda secret, bits: bits.repeat(_failing_round, secret)), [(15, 4)]),
    "a call that fails": (_handled(lambda secret, bits: secret ^ bits.call(_failing_noise)), [(200, 8)]),
    "recursion without end": (_handled(_recursive), [((1 << 12_000) - 1, 12_000)]),
}
"""Each with the draws, as (value, bits), that break the claim."""


# What a law cannot cover: clocks, other randomness, identities.


def elsewhere(is_silent: Callable[[], object]) -> Sampler:
    """Noise that something outside switches off."""
    return lambda secret, bits: secret if is_silent() else flipped(secret, bits)


ELSEWHERE: dict[str, Callable[[], object]] = {
    "a clock": lambda: time.time() < 0,
    "random.random": lambda: random.random() < 0.5,
    "np.random.random": lambda: np.random.random() < 0.5,
    "an unseeded generator": lambda: np.random.default_rng().random() < 0.5,
    "an unseeded random.Random": lambda: random.Random().random() < 0.5,
    "an address": lambda: id(object()) % 32 == 0,
    "a salted hash": lambda: hash("name") % 2,
    "a monotonic clock": lambda: time.perf_counter_ns() % 128 == 0,
    "the time of day": lambda: dt.datetime.now().microsecond % 128 == 0,
    "random.getrandbits": lambda: random.getrandbits(7) == 0,
    "random.SystemRandom": lambda: random.SystemRandom().random() < 0.01,
    "secrets": lambda: secrets.randbelow(128) == 0,
    "os.urandom": lambda: os.urandom(1)[0] == 0,
    "uuid": lambda: uuid.uuid4().int % 128 == 0,
    "the hash of an object": lambda: hash(object()) % 2,
    "the environment": lambda: "DEBUG_NOISE" in os.environ,
    "the process": lambda: os.getpid() % 128 == 0,
    "a file": lambda: Path("no-noise").exists(),
    "the collector": lambda: not gc.isenabled(),
    "a thread": lambda: threading.current_thread().name == "worker",
}

UNSETTLED: dict[str, Callable[[], object]] = {
    "an address in a repr": lambda: int(repr(object())[:-1].rpartition("x")[2], 16) // 16 % 2,
    "the order of a set": lambda: int(next(iter(set(map(str, range(64)))))) < 32,
    "a profiler": lambda: sys.getprofile() is not None,
    "an array that nobody filled": lambda: np.empty(64).view(np.uint64).sum() % 3 == 0,
}
"""What is not seen when it is called, and differs when the sampler is played again in another process."""
