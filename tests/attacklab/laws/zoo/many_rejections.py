"""False samplers that count more rejections than a proof plays, where a survey of what they read may not look.

Half of the rounds are rejected, and each that is accepted forgets the count. The first lies with probability 1/4, and
one after forty rejections gives the secret with a mark. So does one release in 2^40 on 1, and no release on 0 gives
that.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import decimal
import enum
import functools
import logging
import math
import sys
import threading
import types
from abc import ABCMeta
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partialmethod
from typing import Any, ClassVar, NamedTuple

import gmpy2
import numpy as np

from attacklab.random_bits import REJECTED, RandomBits
from tests.attacklab.laws.zoo import rejections_elsewhere
from tests.attacklab.laws.zoo.case import Case, Possible, Sampler, is_raw_one, response

MANY = 40
MANY_REJECTIONS = ((1 << MANY + 3) - 8, MANY + 3)
"""The tape of forty ones, a zero, and more zeros."""


def _round(secret: int, bits: RandomBits, add: Callable[[], object], forget: Callable[[], int]) -> Any:
    if bits.take(1):
        add()
        return REJECTED
    return response(secret, bits, honestly=forget() < MANY)


def _looped(add: Callable[[], object], forget: Callable[[], int]) -> Sampler:
    def one_round(secret: int, bits: RandomBits) -> Any:
        return _round(secret, bits, add, forget)

    return lambda secret, bits: bits.repeat(one_round, secret)


def imported_inside() -> Sampler:
    """A module is imported inside the functions, which avoids a circular import; as above."""

    def add() -> None:
        from tests.attacklab.laws.zoo import rejections_elsewhere as settings

        settings.rejections += 1

    def forget() -> int:
        from tests.attacklab.laws.zoo import rejections_elsewhere as settings

        count, settings.rejections = settings.rejections, 0
        return count

    return _looped(add, forget)


class _Service:
    def __init__(self, settings: Any) -> None:
        self.settings = settings

    def add(self) -> None:
        self.settings.rejections += 1

    def forget(self) -> int:
        count, self.settings.rejections = self.settings.rejections, 0
        return int(count)


def module_in_an_object() -> Sampler:
    """An object holds the module that it uses as settings; as above."""
    service = _Service(rejections_elsewhere)
    return _looped(service.add, service.forget)


def module_in_a_cell() -> Sampler:
    """A closure holds the module; as above."""
    settings: Any = rejections_elsewhere

    def add() -> None:
        settings.rejections += 1

    def forget() -> int:
        count, settings.rejections = settings.rejections, 0
        return int(count)

    return _looped(add, forget)


def _add_attempt() -> None:
    rejections_elsewhere.set_attempts(rejections_elsewhere.attempts + 1)


def _forget_attempts() -> int:
    count = rejections_elsewhere.attempts
    if count:
        rejections_elsewhere.set_attempts(0)
    return int(count)


def computed_attribute_of_a_module() -> Sampler:
    """A module gives an attribute by its `__getattr__`; as above."""
    return _looped(_add_attempt, _forget_attempts)


_failures: list[str] = []


@functools.wraps(math.exp)
def _add_wrapped(*_: float) -> None:
    _failures.append("rejected")


@functools.wraps(math.log)
def _forget_wrapped(*_: float) -> int:
    count = len(_failures)
    _failures.clear()
    return count


def wrapper_that_names_another_module() -> Sampler:
    """`functools.wraps` of a function of the standard library gives its `__module__` to a wrapper; as above."""
    return _looped(lambda: _add_wrapped(1.0), lambda: _forget_wrapped(1.0))


_Made: Any = types.new_class("_Made", (), {}, lambda names: names.update(rejections=0))
_MadeAbstract: Any = ABCMeta("_MadeAbstract", (), {"rejections": 0})


def _in_class(kind: Any) -> Sampler:
    def add() -> None:
        kind.rejections += 1

    def forget() -> int:
        count, kind.rejections = kind.rejections, 0
        return int(count)

    return _looped(add, forget)


def class_made_by_types() -> Sampler:
    """`types.new_class` makes a class whose `__module__` is types; as above."""
    return _in_class(_Made)


def class_made_by_a_metaclass() -> Sampler:
    """`ABCMeta(...)` makes a class whose `__module__` is abc; as above."""
    return _in_class(_MadeAbstract)


class _Recent(deque[int]):
    pass


class _Typed(array):  # type: ignore[type-arg]
    pass


def _sized(held: Any) -> Sampler:
    def forget() -> int:
        count = len(held)
        del held[:]
        return count

    return _looped(lambda: held.append(1), forget)


def subclass_of_deque() -> Sampler:
    """A subclass of `deque` collects the rejected candidates; as above."""
    held = _Recent()

    def forget() -> int:
        count = len(held)
        held.clear()
        return count

    return _looped(lambda: held.append(1), forget)


def subclass_of_array() -> Sampler:
    """A subclass of `array` collects the rejected candidates; as above."""
    return _sized(_Typed("q"))


_events: list[int] = []


def _add_event() -> None:
    _events.append(1)


def _forget_events() -> int:
    count = len(_events)
    _events.clear()
    return count


_ORDERED = OrderedDict(add=_add_event, forget=_forget_events)
_SIMPLE = types.SimpleNamespace(add=_add_event, forget=_forget_events)


def functions_in_an_ordered_dict() -> Sampler:
    """The functions that count stand in an `OrderedDict`, and count in a list of their module; as above."""
    return _looped(lambda: _ORDERED["add"](), lambda: _ORDERED["forget"]())


def functions_in_a_simple_namespace() -> Sampler:
    """The functions that count stand in a `SimpleNamespace`; as above."""
    return _looped(lambda: _SIMPLE.add(), lambda: _SIMPLE.forget())


class _Forgetful:
    """Leaves its count out of pickles, as objects with caches do."""

    def __init__(self) -> None:
        self.rejections = 0

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def add(self) -> None:
        self.rejections += 1

    def forget(self) -> int:
        count, self.rejections = self.rejections, 0
        return count


def object_that_pickles_without_state() -> Sampler:
    """An object in an `OrderedDict` leaves its count out of pickles; as above."""
    held = OrderedDict(counter=_Forgetful())
    return _looped(lambda: held["counter"].add(), lambda: held["counter"].forget())


class _Partial:
    def _changed(self, by: int) -> int:
        count = len(_events)
        if by:
            _events.append(1)
        else:
            _events.clear()
        return count

    add = partialmethod(_changed, 1)
    forget = partialmethod(_changed, 0)


def partial_method() -> Sampler:
    """Methods are `functools.partialmethod`s of one that counts in a list of its module; as above."""
    held = _Partial()
    return _looped(lambda: held.add(), lambda: held.forget())


class _Caching:
    @cached_property
    def rejected(self) -> list[int]:
        return []

    def forget(self) -> int:
        count = len(self.rejected)
        self.rejected.clear()
        return count


def value_of_a_cached_property() -> Sampler:
    """A `cached_property` gives a list, made at its first use, in which rejected candidates are collected; as above."""
    held = _Caching()
    return _looped(lambda: held.rejected.append(1), held.forget)


class _Settings:
    def __init__(self) -> None:
        self.rejections = 0


@lru_cache
def _cached_settings() -> _Settings:
    return _Settings()


@functools.cache
def _cached_list() -> list[int]:
    return []


def result_of_a_cache() -> Sampler:
    """`@lru_cache def get_settings()` gives one object for the process, which counts; as above."""

    def add() -> None:
        _cached_settings().rejections += 1

    def forget() -> int:
        settings = _cached_settings()
        count, settings.rejections = settings.rejections, 0
        return count

    return _looped(add, forget)


def list_of_a_cache() -> Sampler:
    """The same for a list kept in a cache without bounds; as above."""

    def forget() -> int:
        count = len(_cached_list())
        _cached_list().clear()
        return count

    return _looped(lambda: _cached_list().append(1), forget)


def _add_new_global() -> None:
    global _made_at_first_use
    try:
        _made_at_first_use += 1
    except NameError:
        _made_at_first_use = 1


def _forget_new_global() -> int:
    global _made_at_first_use
    try:
        count = _made_at_first_use
        del _made_at_first_use
    except NameError:
        count = 0
    return count


_made_at_first_use: int
"""It has no value before its first use, and none after a reset."""


def global_made_at_first_use() -> Sampler:
    """A global gets its first value in a handler of NameError; as above."""
    return _looped(_add_new_global, _forget_new_global)


class _Lazy:
    rejections: ClassVar[int]

    @classmethod
    def add(cls) -> None:
        cls.rejections = cls.__dict__.get("rejections", 0) + 1

    @classmethod
    def forget(cls) -> int:
        count = cls.__dict__.get("rejections", 0)
        if count:
            del cls.rejections
        return int(count)


def class_attribute_made_at_first_use() -> Sampler:
    """A class attribute gets its first value at its first use; as above."""
    return _looped(_Lazy.add, _Lazy.forget)


class _Meta(type):
    rejected: ClassVar[list[int]] = []

    def add(cls) -> None:
        cls.rejected.append(1)

    def forget(cls) -> int:
        count = len(cls.rejected)
        cls.rejected.clear()
        return count


class _WithMeta(metaclass=_Meta):
    pass


def attribute_of_a_metaclass() -> Sampler:
    """A metaclass counts for its classes; as above."""
    return _looped(lambda: _WithMeta.add(), lambda: _WithMeta.forget())


@dataclass(frozen=True)
class _Frozen:
    scale: int
    rejected: ClassVar[list[int]] = []

    def add(self) -> None:
        self.rejected.append(1)

    def forget(self) -> int:
        count = len(self.rejected)
        self.rejected.clear()
        return count

    def one_round(self, secret: int, bits: RandomBits) -> Any:
        return _round(secret, bits, self.add, self.forget)

    def release(self, secret: int, bits: RandomBits) -> Any:
        return bits.repeat(self.one_round, secret)


def class_of_a_frozen_dataclass() -> Sampler:
    """A mechanism is a frozen dataclass, whose class holds a list of rejected candidates; as above."""
    return _Frozen(2).release


@dataclass(frozen=True, slots=True)
class _Slotted:
    scale: int

    def add(self) -> None:
        _events.append(1)

    def forget(self) -> int:
        return _forget_events()


def method_of_a_slotted_dataclass() -> Sampler:
    """A frozen dataclass with slots has methods that count in a list of their module; as above."""
    held = _Slotted(2)
    return _looped(lambda: held.add(), lambda: held.forget())


@dataclass(frozen=True)
class _WithLog:
    scale: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rejected", [])

    def add(self) -> None:
        self._rejected.append(1)  # type: ignore[attr-defined]

    def forget(self) -> int:
        count = len(self._rejected)  # type: ignore[attr-defined]
        self._rejected.clear()  # type: ignore[attr-defined]
        return count


def attribute_of_a_frozen_dataclass() -> Sampler:
    """A frozen dataclass keeps a list that is not among its fields; as above."""
    held = _WithLog(2)
    return _looped(held.add, held.forget)


class _Mode(enum.Enum):
    FAST = "fast"

    def __init__(self, told: str) -> None:
        self.told = told
        self.rejected: list[int] = []

    def add(self) -> None:
        self.rejected.append(1)

    def forget(self) -> int:
        count = len(self.rejected)
        self.rejected.clear()
        return count


def attribute_of_a_member() -> Sampler:
    """A member of an enumeration collects the rejected candidates; as above."""
    mode = _Mode.FAST
    return _looped(lambda: mode.add(), lambda: mode.forget())


class _Parameters(NamedTuple):
    scale: int

    def add(self) -> None:
        _events.append(1)

    def forget(self) -> int:
        return _forget_events()


def method_of_a_named_tuple() -> Sampler:
    """A named tuple of parameters has methods that count in a list of their module; as above."""
    held = _Parameters(2)
    return _looped(lambda: held.add(), lambda: held.forget())


def _keyword(*, by: int, count: int = 0) -> int:
    assert _keyword.__kwdefaults__ is not None
    _keyword.__kwdefaults__["count"] = count + by if by else 0
    return count


def keyword_default() -> Sampler:
    """A function keeps its count as the default of a keyword; as above."""
    return _looped(lambda: _keyword(by=1), lambda: _keyword(by=0))


def locks_taken() -> Sampler:
    """Every rejection takes another lock; as above."""
    locks = tuple(threading.Lock() for _ in range(MANY))

    def add() -> None:
        for lock in locks:
            if lock.acquire(blocking=False):
                return

    def forget() -> int:
        count = 0
        for lock in locks:
            if lock.locked():
                lock.release()
                count += 1
        return count

    return _looped(add, forget)


def level_of_a_logger() -> Sampler:
    """The level of a logger; as above."""
    logger = logging.getLogger("tests.zoo.many_rejections")
    logger.setLevel(10)

    def forget() -> int:
        count = logger.level - 10
        logger.setLevel(10)
        return count

    return _looped(lambda: logger.setLevel(logger.level + 1), forget)


def precision_of_decimal() -> Sampler:
    """The precision is raised after every rejection; as above."""

    def add() -> None:
        decimal.getcontext().prec += 1

    def forget() -> int:
        context = decimal.getcontext()
        count, context.prec = context.prec - 28, 28
        return count

    return _looped(add, forget)


def precision_of_gmpy2() -> Sampler:
    """The precision is raised after every rejection; as above."""

    def add() -> None:
        gmpy2.get_context().precision += 1

    def forget() -> int:
        context = gmpy2.get_context()
        count, context.precision = context.precision - 53, 53
        return int(count)

    return _looped(add, forget)


def limit_of_the_interpreter() -> Sampler:
    """`sys.set_int_max_str_digits`; as above."""
    usual = sys.get_int_max_str_digits()

    def forget() -> int:
        count = sys.get_int_max_str_digits() - usual
        sys.set_int_max_str_digits(usual)
        return count

    return _looped(lambda: sys.set_int_max_str_digits(sys.get_int_max_str_digits() + 1), forget)


def print_options() -> Sampler:
    """The print options of numpy; as above."""

    def forget() -> int:
        count = np.get_printoptions()["precision"] - 8
        np.set_printoptions(precision=8)
        return int(count)

    return _looped(lambda: np.set_printoptions(precision=np.get_printoptions()["precision"] + 1), forget)


def attribute_of_a_trusted_module() -> Sampler:
    """An attribute set on a module of the standard library; as above."""
    module: Any = collections

    def add() -> None:
        module.rejections = getattr(module, "rejections", 0) + 1

    def forget() -> int:
        return int(module.__dict__.pop("rejections", 0))

    return _looped(add, forget)


def _add_by_globals() -> None:
    globals()["_by_name"] = globals().get("_by_name", 0) + 1


def _forget_by_globals() -> int:
    return int(globals().pop("_by_name", 0))


def name_looked_up_in_globals() -> Sampler:
    """`globals()` holds the count; as above."""
    return _looped(_add_by_globals, _forget_by_globals)


def function_of_numpy() -> Sampler:
    """`np.frompyfunc` makes an ufunc of a function that counts in a list of its module; as above."""
    add: Any = np.frompyfunc(lambda _: _events.append(1), 1, 1)
    return _looped(lambda: add(0), _forget_events)


class _Local(threading.local):
    rejections = 0


def subclass_of_thread_local() -> Sampler:
    """A subclass of `threading.local`; as above."""
    local = _Local()

    def add() -> None:
        local.rejections += 1

    def forget() -> int:
        count, local.rejections = local.rejections, 0
        return count

    return _looped(add, forget)


@contextlib.contextmanager
def _counting() -> Any:
    _events.append(1)
    yield


def counting_context_manager() -> Sampler:
    """A generator-based context manager counts; as above."""

    def add() -> None:
        with _counting():
            pass

    return _looped(add, _forget_events)


class _Descriptor:
    def __init__(self) -> None:
        self.held: dict[int, int] = {}

    def __get__(self, owner: Any, kind: Any) -> int:
        return self.held.get(0, 0)

    def __set__(self, owner: Any, value: int) -> None:
        self.held[0] = value


class _Described:
    __slots__ = ()
    rejections = _Descriptor()


def descriptor() -> Sampler:
    """A descriptor holds the count; as above."""
    held = _Described()

    def add() -> None:
        held.rejections += 1

    def forget() -> int:
        count, held.rejections = held.rejections, 0
        return count

    return _looped(add, forget)


@dataclasses.dataclass
class _MadeAnew:
    rejected: list[int] = dataclasses.field(default_factory=lambda: _events)


def default_factory() -> Sampler:
    """A dataclass is made anew for every round, but its default factory gives one list to all; as above."""

    def forget() -> int:
        held = _MadeAnew().rejected
        count = len(held)
        held.clear()
        return count

    return _looped(lambda: _MadeAnew().rejected.append(1), forget)


_MAKERS = (
    imported_inside,
    module_in_an_object,
    module_in_a_cell,
    computed_attribute_of_a_module,
    wrapper_that_names_another_module,
    class_made_by_types,
    class_made_by_a_metaclass,
    subclass_of_deque,
    subclass_of_array,
    functions_in_an_ordered_dict,
    functions_in_a_simple_namespace,
    object_that_pickles_without_state,
    partial_method,
    value_of_a_cached_property,
    result_of_a_cache,
    list_of_a_cache,
    global_made_at_first_use,
    class_attribute_made_at_first_use,
    attribute_of_a_metaclass,
    class_of_a_frozen_dataclass,
    method_of_a_slotted_dataclass,
    attribute_of_a_frozen_dataclass,
    attribute_of_a_member,
    method_of_a_named_tuple,
    keyword_default,
    locks_taken,
    level_of_a_logger,
    precision_of_decimal,
    precision_of_gmpy2,
    limit_of_the_interpreter,
    print_options,
    attribute_of_a_trusted_module,
    name_looked_up_in_globals,
    function_of_numpy,
    subclass_of_thread_local,
    counting_context_manager,
    descriptor,
    default_factory,
)

CASES = tuple(Case(make=make, breach=Possible(event=is_raw_one, tape=MANY_REJECTIONS)) for make in _MAKERS)
