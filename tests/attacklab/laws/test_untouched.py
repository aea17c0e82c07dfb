"""An object that is called untouched has the key that it had; what changes in place is seen wherever it lies."""

from __future__ import annotations

import enum
import functools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import CellType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attacklab.laws.keys import Keys
from attacklab.laws.untouched import untouched


class Slotted:
    __slots__ = ("held", "late")

    def __init__(self, held: Any) -> None:
        self.held = held


@dataclass(frozen=True)
class Frozen:
    held: Any


class Colour(enum.Enum):
    RED = 1


class Computing:
    @property
    def one(self) -> int:
        return 1

    @functools.cached_property
    def two(self) -> int:
        return 2

    def three(self) -> int:
        return 3


def closed_over(held: Any) -> Callable[[], Any]:
    return lambda: held


def with_defaults(held: Any) -> Callable[..., Any]:
    def function(_first: Any = held, *, second: Any = held) -> None: ...

    return function


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda held: [0, held],
    "tuple": lambda held: (0, held),
    "deque": lambda held: deque([held]),
    "dict": lambda held: {"a": held},
    "partial": lambda held: functools.partial(print, held),
    "keyword of a partial": lambda held: functools.partial(print, end=held),
    "slots": Slotted,
    "frozen dataclass": Frozen,
    "closure": closed_over,
    "defaults": with_defaults,
    "method": lambda held: Slotted(held).__init__,
    "property": lambda held: property(closed_over(held)),
    "static method": lambda held: staticmethod(closed_over(held)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_list_that_grows_is_seen_through_whatever_holds_it(holder: str) -> None:
    inner: list[int] = [1]
    is_untouched = untouched(HOLDERS[holder](inner))
    assert is_untouched is not None
    assert is_untouched()
    inner.append(2)
    assert not is_untouched()


def change_slots(value: Slotted) -> None:
    value.held = 1.0


def fill_slot(value: Slotted) -> None:
    value.late = None


def change_type(value: Any) -> None:
    value.__class__ = type("Other", (Slotted,), {"__slots__": ()})


def change_attribute(value: Any) -> None:
    value.__dict__["held"] = "b"


def change_code(value: Any) -> None:
    value.__code__ = (lambda: 1).__code__


def change_keyword(value: Any) -> None:
    value.__kwdefaults__["second"] = 3


def change_cell(value: Any) -> None:
    cell: CellType = value.__closure__[0]
    cell.cell_contents = 2


def empty_cell(value: Any) -> None:
    del value.__closure__[0].cell_contents


def change_element(value: Any) -> None:
    value[0] += 1


def change_numerator(value: Any) -> None:
    value._numerator = 7


def change_order(value: dict[str, int]) -> None:
    value["a"] = value.pop("a")


def initialise(value: Any) -> None:
    value.__init__(len)


CHANGES: list[tuple[Any, Callable[[Any], Any]]] = [
    ([1, 2], list.reverse),
    ([1], list.clear),
    ({1, 2}, lambda value: value.add(3)),
    ({"a": 1, "b": 2}, change_order),
    ({"a": 1}, lambda value: value.update(b=1)),
    (np.zeros(2), change_element),
    (np.zeros(2), lambda value: value.setflags(write=False)),
    (Fraction(1, 2), change_numerator),
    (Slotted(1), change_slots),
    (Slotted(1), fill_slot),
    (Slotted(1), change_type),
    (Frozen("a"), change_attribute),
    (property(repr), initialise),
    (staticmethod(repr), initialise),
    (classmethod(repr), initialise),
    (functools.partial(repr), lambda value: value.__setstate__((len, (), {}, None))),
    (lambda: 0, change_code),
    (with_defaults(2), change_keyword),
    (closed_over(1), change_cell),
    (closed_over(1), empty_cell),
    (closed_over(1), lambda value: setattr(value, "mark", 1)),
]


@pytest.mark.parametrize(("value", "change"), CHANGES)
def test_a_change_in_place_is_seen(value: Any, change: Callable[[Any], Any]) -> None:
    is_untouched = untouched(value)
    assert is_untouched is not None
    assert is_untouched()
    change(value)
    assert not is_untouched()


@pytest.mark.parametrize(
    "value",
    [1, "a", 2.5, Decimal(1), np.float64(1), Colour.RED, frozenset({1}), range(3), int, np, *vars(Computing).values()],
)
def test_what_nobody_touches_is_untouched(value: Any) -> None:
    is_untouched = untouched(value)
    assert is_untouched is None or is_untouched()


def test_what_is_computed_later_is_left_to_the_key() -> None:
    value = Computing()
    is_untouched = untouched(value)
    assert is_untouched is not None
    before = Keys(with_caches=False).key(value)
    assert value.two == 2
    assert not is_untouched()
    assert Keys(with_caches=False).key(value) == before


class Growing(list[int]):
    """A list of its own class, whose elements only the key reads."""


@pytest.mark.parametrize("value", [Growing(), SimpleNamespace(a=[1]), iter([1]), ValueError(), memoryview(b"")])
def test_kinds_that_hold_more_than_their_attributes_are_left_to_the_key(value: Any) -> None:
    assert untouched(value) is None
    assert untouched([value]) is None


def test_a_ring_of_objects_is_read_once() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    is_untouched = untouched(ring)
    assert is_untouched is not None
    assert is_untouched()
    ring[0] = 2
    assert not is_untouched()
