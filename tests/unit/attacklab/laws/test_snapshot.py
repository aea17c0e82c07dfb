"""Snapshots: what is equal and what differs, and what changes in place is seen wherever it lies."""

from __future__ import annotations

import enum
import functools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import gmpy2
import numpy as np
import pytest

from attacklab.laws.snapshot import CannotCompare, Snapshot, Unchanged


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


@dataclass(frozen=True)
class Frozen:
    held: Any


class Colour(enum.Enum):
    RED = 1


class Hiding:
    """Leaves what it holds out of pickles."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __getstate__(self) -> dict[str, Any]:
        return {}


class Texts(list[Any]):
    pass


class Computing:
    @functools.cached_property
    def table(self) -> list[int]:
        return [1]


def cycle_with(held: Any) -> list[Any]:
    cycle = [held]
    cycle.append(cycle)
    return cycle


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
    "partial": lambda held: functools.partial(print, end=held),
    "slots": Slotted,
    "frozen dataclass": Frozen,
    "closure": closed_over,
    "defaults": with_defaults,
    "first argument of a partial": lambda held: functools.partial(print, held),
    "property": lambda held: property(closed_over(held)),
    "static method": lambda held: staticmethod(closed_over(held)),
    "namespace": lambda held: SimpleNamespace(held=held),
    "array of objects": lambda held: np.array([held, None], dtype=object),
    "object that hides it": Hiding,
    "subclass of list": lambda held: Texts([held]),
    "bound method": lambda held: Hiding(held).__getstate__,
    "cycle": cycle_with,
}

CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "list": (list, lambda held: held.append(1)),
    "dict": (dict, lambda held: held.update(a=1)),
    "set": (set, lambda held: held.add(1)),
    "bytearray": (bytearray, lambda held: held.append(1)),
    "array": (lambda: np.zeros(2), lambda held: held.__setitem__(1, -0.0)),
    "attribute": (lambda: Hiding(1), lambda held: setattr(held, "held", True)),
    "iterator": (lambda: iter([1, 2]), next),
    "kept by a cached property": (Computing, lambda held: held.table.append(2)),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_changes_in_place_is_seen_wherever_it_lies(holder: str) -> None:
    for name, (make, change) in CHANGES.items():
        held = make()
        if name == "kept by a cached property":
            assert held.table == [1]
        whole = HOLDERS[holder](held)
        watched = Unchanged(lambda whole=whole: [("it", whole)])  # type: ignore[misc]
        assert watched.place_changed() is None
        assert watched.place_changed() is None
        change(held)
        assert watched.place_changed() is not None, name


class Late(Slotted):
    __slots__ = ("late",)


ITSELF: list[tuple[Any, Callable[[Any], object]]] = [
    ([1, 2], list.reverse),
    ([1], list.clear),
    ({"a": 1, "b": 2}, lambda held: held.update(a=held.pop("a"))),
    (np.zeros(2), lambda held: held.setflags(write=False)),
    (Slotted(1), lambda held: setattr(held, "held", 1.0)),
    (Late(1), lambda held: setattr(held, "late", None)),
    (Slotted(1), lambda held: setattr(held, "__class__", type("Other", (Slotted,), {"__slots__": ()}))),
    (Frozen("a"), lambda held: held.__dict__.update(held="b")),
    *((kind(repr), lambda held: held.__init__(len)) for kind in (property, staticmethod, classmethod)),
    (functools.partial(repr), lambda held: held.__setstate__((len, (), {}, None))),
    (lambda: 0, lambda held: setattr(held, "__code__", (lambda: 1).__code__)),
    (with_defaults(2), lambda held: held.__kwdefaults__.update(second=3)),
    (closed_over(1), lambda held: setattr(held.__closure__[0], "cell_contents", 2)),
    (closed_over(1), lambda held: delattr(held.__closure__[0], "cell_contents")),
    (closed_over(1), lambda held: setattr(held, "mark", 1)),
]


@pytest.mark.parametrize(("held", "change"), ITSELF)
def test_a_change_of_the_object_itself_is_seen(held: Any, change: Callable[[Any], object]) -> None:
    watched = Unchanged(lambda: [("it", held)])
    assert watched.place_changed() is None
    change(held)
    assert watched.place_changed() is not None


def test_what_is_made_anew_with_the_same_content_has_the_same_snapshot() -> None:
    for value in (1, 2.5, Fraction(1, 3), Decimal("1.0"), gmpy2.mpq(1, 3), np.float32(2), "ab", b"x", None, (1, 2)):
        for name, holder in HOLDERS.items():
            first, second = (Snapshot([("it", holder([value]))]).content for _ in range(2))
            assert first == second or name in ("closure", "defaults", "bound method"), (value, name)


def test_values_that_are_equal_for_python_have_snapshots_of_their_own() -> None:
    values = (
        1, True, 1.0, Fraction(1), Decimal(1), Decimal("1.0"), gmpy2.mpz(1), gmpy2.mpq(1), gmpy2.mpfr(1, 60),
        np.float64(1), np.float32(1), np.int64(1), [1], (1,), {1}, frozenset({1}), np.ones(1), Colour.RED, 0.0, -0.0,
    )  # fmt: skip
    assert len({Snapshot([("it", value)]).content for value in values}) == len(values)
    same = [1]
    assert Snapshot([("it", (same, same))]).content != Snapshot([("it", ([1], [1]))]).content


def test_what_is_computed_once_and_kept_may_appear_later() -> None:
    computing = Computing()
    watched = Unchanged(lambda: [("it", computing)])
    assert computing.table == [1]
    assert watched.place_changed() is None


def test_locks_and_huge_numbers_can_be_read_and_generators_cannot() -> None:
    Snapshot([("it", [threading.Lock(), threading.RLock(), Fraction(1, 10**6000)])])
    with pytest.raises(CannotCompare, match=r"^the generator holds something that cannot be pickled"):
        Snapshot([("the generator", (number for number in range(3)))])
