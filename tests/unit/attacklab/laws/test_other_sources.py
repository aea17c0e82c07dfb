"""What a law can't cover is refused: other sources than the bits, and outcomes that hold more than is compared."""

from __future__ import annotations

import ctypes
import ssl
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from attacklab.draws.errors import ForeignCall, OpaqueOutcome, StateChanged
from attacklab.laws import enumerate_law
from attacklab.laws.outcomes import tag
from attacklab.model.random_bits import RandomBits


def _from_a_library(bits: RandomBits) -> bool:
    return ssl.RAND_bytes(4) == b"abcd" or bits.take(1) == 1


def _from_foreign_code(bits: RandomBits) -> bool:
    return bool(ctypes.CDLL(None).rand() == 7) or bits.take(1) == 1


@pytest.mark.parametrize("sampler", [_from_a_library, _from_foreign_code])
def test_other_sources_are_refused_however_seldom_they_decide(sampler: Callable[..., Any]) -> None:
    with pytest.raises(ForeignCall):
        enumerate_law(sampler)


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


class _Unset:
    """A sentinel."""


_FIRST, _SECOND = object(), object()
_AUTO, _NONE = _Unset(), _Unset()


def _marked(level: object, bits: RandomBits) -> int:
    return bits.take(1) + 2 * (level is _SECOND or level is _NONE)


@pytest.mark.parametrize(("first", "second"), [(_FIRST, _SECOND), (_AUTO, _NONE)])
def test_sentinels_have_laws_of_their_own(first: object, second: object) -> None:
    law = enumerate_law(lambda bits: (bits.call(_marked, first), bits.call(_marked, second)))
    assert set(law) == {(i, j) for i in (0, 1) for j in (2, 3)}
    assert law.closed


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


@pytest.mark.parametrize("sampler", [_given_a_class])
def test_what_an_argument_or_a_cell_reads_is_watched_between_calls(sampler: Callable[..., Any]) -> None:
    with pytest.raises(StateChanged, match="first called"):
        enumerate_law(sampler)
