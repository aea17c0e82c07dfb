"""Snapshots see what changes in place; what no law covers is refused: other sources, and outcomes that hold more."""

import functools
import sys
import types
from collections import deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attacklab import RandomBits, enumerate_law
from attacklab.draws.errors import OpaqueOutcome, StateChanged
from attacklab.laws.outcomes import tag
from attacklab.laws.snapshot import is_fixed, is_library, pickled


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


@dataclass(frozen=True)
class Frozen:
    held: Any


class Texts(list[Any]):
    pass


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
    "closure": lambda held: lambda: held,
    "defaults": with_defaults,
    "class": lambda held: type("Made", (), {"held": held}),
    "namespace": lambda held: SimpleNamespace(held=held),
    "array of objects": lambda held: np.array([held, None], dtype=object),
    "subclass of list": lambda held: Texts([held]),
    "bound method": lambda held: Texts([held]).index,
}

CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "list": (list, lambda held: held.append(1)),
    "dict": (dict, lambda held: held.update(a=1)),
    "set": (set, lambda held: held.add(1)),
    "bytearray": (bytearray, lambda held: held.append(1)),
    "array": (lambda: np.zeros(2), lambda held: held.__setitem__(1, -0.0)),
    "attribute": (lambda: SimpleNamespace(held=1), lambda held: setattr(held, "held", True)),
    "iterator": (lambda: iter([1, 2]), next),
}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_changes_in_place_is_seen_wherever_it_lies(holder: str) -> None:
    for name, (make, change) in CHANGES.items():
        held = make()
        whole = HOLDERS[holder](held)
        before = pickled("it", whole)
        assert not is_fixed(whole), name
        assert pickled("it", whole) == before, name
        change(held)
        assert pickled("it", whole) != before, name


def test_a_module_that_is_only_called_like_a_librarys_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    own = types.ModuleType("fractions")
    own.__file__ = "/home/ann/fractions.py"
    assert all(map(is_library, ("fractions", "numpy.random", "builtins", "attacklab.laws.names")))
    monkeypatch.setitem(sys.modules, "fractions", own)
    assert not is_library("fractions")


class _Released(namedtuple("_Released", "answer")):
    pass


@dataclass(frozen=True)
class _Answer:
    answer: int


def _with_attribute(made: Any) -> Any:
    object.__setattr__(made, "secret", 1)
    return made


@pytest.mark.parametrize("kind", [_Released, _Answer])
def test_an_outcome_with_attributes_besides_its_fields_is_refused(kind: Any) -> None:
    assert tag(kind(1)) != tag(kind(2))
    with pytest.raises(OpaqueOutcome, match="secret"):
        tag(_with_attribute(kind(1)))


class _Level:
    level = 1


def _at_level(kind: type[_Level], bits: RandomBits) -> int:
    return bits.take(1) + kind.level


def _given_a_class(bits: RandomBits) -> tuple[int, int]:
    first = bits.call(_at_level, _Level)
    _Level.level = 2
    try:
        return first, bits.call(_at_level, _Level)
    finally:
        _Level.level = 1


def test_what_an_argument_reads_is_watched_between_calls() -> None:
    with pytest.raises(StateChanged, match="first called"):
        enumerate_law(_given_a_class)
