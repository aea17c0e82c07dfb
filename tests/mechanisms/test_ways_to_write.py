"""Equal private values give equal outputs on the same bits however they are written, or a refusal that none decides.

Equal outputs on all bits are equal laws. Whatever type is not accepted is refused by that type, wherever it stands.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import gmpy2
import numpy as np
import pytest

from tests.mechanisms.terms import names_of, outputs

pytestmark = pytest.mark.slow

Number = int | float | Fraction

NUMBERS: list[Number] = [
    *(0, 1, 3, -2, 2**53 + 1, 2**60, -(2**63), 2**64 - 1, 10**30, 10**400),
    *(0.5, 0.1, -(2.0**-1074), 1 + Fraction(1, 2**60), Fraction(1, 10**40), Fraction(1, 3)),
    *(math.nan, math.inf, -math.inf),
]
VECTORS: list[list[Number]] = [
    [0, 1, 3, 1],
    [1, 0, 1, 1],
    [2**60, 2**60 + 64, 2**60 - 64, -1],
    [2**60, 2**60 + 1, 2**63, 5],
    [0.5, 2**60, -1, 0.25],
    [0.1, Fraction(1, 3), Fraction(-7, 8), 10**400],
    [2, math.nan, math.inf, -math.inf],
    [math.nan, 10**400, 3, 0],
]
"""Of four numbers, as some of the mechanisms take so many."""

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
KINDS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "bool": bool,
    "float": float,
    "Fraction": Fraction,
    **{np.dtype(dtype).name: np.dtype(dtype).type for dtype in DTYPES},
}
"""The types that are accepted."""


class Sly(float):
    """A float that says that it is another one."""

    def __float__(self) -> float:
        return 0.0


STRANGE: list[Any] = [
    *("1", b"1", 1j, None, object(), Decimal(1), gmpy2.mpz(1), gmpy2.mpq(1, 3), gmpy2.mpfr(1), np.ma.masked),
    *(np.float16(1), np.longdouble(1), np.array(1.0), np.datetime64("NaT"), np.timedelta64(3), Sly(1.0)),
]


class Unwritable(Exception):
    """A type cannot hold a number, or not exactly."""


def exact(number: Any) -> Fraction | str:
    plain = number.item() if isinstance(number, np.generic) else number
    return str(plain) if isinstance(plain, float) and not math.isfinite(plain) else Fraction(plain)


def written(kind: str, number: Number) -> Any:
    try:
        value = KINDS[kind](number)
    except (OverflowError, TypeError, ValueError):
        raise Unwritable from None
    if exact(value) != exact(number):
        raise Unwritable
    return value


def mixed(start: int) -> Callable[[Sequence[Number]], list[Any]]:
    """Write each number in another way, the first from `start` on that can."""

    def write(numbers: Sequence[Number]) -> list[Any]:
        ways = [[*[*KINDS][start + 5 * place :], *KINDS] for place in range(len(numbers))]
        return [first(kinds, number) for kinds, number in zip(ways, numbers, strict=True)]

    def first(kinds: Sequence[str], number: Number) -> Any:
        for kind in kinds:
            try:
                return written(kind, number)
            except Unwritable:
                continue
        raise AssertionError(number)

    return write


def listed(kind: str) -> Callable[[Sequence[Number]], list[Any]]:
    return lambda numbers: [written(kind, number) for number in numbers]


def array(kind: str) -> Callable[[Sequence[Number]], Any]:
    return lambda numbers: np.array([written(kind, number) for number in numbers], dtype=kind)


def viewed(change: Callable[[Any], Any]) -> Callable[[Sequence[Number]], Any]:
    """Write an array of doubles of which another view, or one of another layout, holds the numbers."""
    return lambda numbers: change(array("float64")(numbers))


def read_only(values: Any) -> Any:
    values.setflags(write=False)
    return values


WAYS: dict[str, Callable[[Sequence[Number]], Any]] = {
    **{f"list of {kind}": listed(kind) for kind in KINDS},
    **{f"mixed list from {start}": mixed(start) for start in range(len(KINDS))},
    "tuple": lambda numbers: tuple(mixed(1)(numbers)),
    "deque": lambda numbers: deque(mixed(3)(numbers)),
    **{f"array of {kind}": array(kind) for kind in KINDS if kind not in ("int", "float", "Fraction")},
    "swapped array": viewed(lambda values: values.astype(">f8")),
    "swapped array of integers": lambda numbers: array("int64")(numbers).astype(">i8"),
    "read-only array": viewed(read_only),
    "array of every second": viewed(lambda values: np.repeat(values, 2)[1::2]),
    "array from the end": viewed(lambda values: values[::-1].copy()[::-1]),
    "masked array that hides nothing": viewed(np.ma.MaskedArray),
}


def outcome(name: str, data: Any) -> str:
    """What a few releases give, or the kind of the refusal. Warnings and events are errors here."""
    try:
        with np.errstate(all="raise"), gmpy2.context(trap_invalid=True, trap_erange=True, trap_overflow=True):
            return outputs(name, data)
    except (TypeError, ValueError) as refusal:
        return f"refused: {type(refusal).__name__}"


def assert_equal_values_give_equal_outputs(name: str, ways: Mapping[str, Callable[[Any], Any]], values: Any) -> None:
    for value in values:
        given = {}
        for way, write in ways.items():
            try:
                given[way] = outcome(name, write(value))
            except Unwritable:
                continue
        assert len(set(given.values())) == 1, (value, given)
        assert not next(iter(given.values())).startswith("refused"), value


@pytest.mark.parametrize("name", names_of("number"))
def test_equal_numbers_give_equal_outputs(name: str) -> None:
    ways = {kind: partial(written, kind) for kind in KINDS}
    assert_equal_values_give_equal_outputs(name, ways, NUMBERS)


@pytest.mark.parametrize("name", names_of("numbers"))
def test_equal_vectors_give_equal_outputs(name: str) -> None:
    is_slow = name == "exact_sample_aggregate"
    assert_equal_values_give_equal_outputs(name, WAYS, VECTORS[5:7] if is_slow else VECTORS)


@pytest.mark.parametrize("name", names_of("keys"))
def test_equal_keys_give_equal_outputs(name: str) -> None:
    ways: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "deque": deque, "array": np.array}
    ways["array of objects"] = lambda keys: np.array(keys, dtype=object)
    ways["another order"] = lambda keys: keys[::-1]
    assert_equal_values_give_equal_outputs(name, ways, [["ash"] * 9, ["é", "e\u0301", "", "é", "\ud800", "é"]])


@pytest.mark.parametrize("name", names_of("numbers", "keys"))
def test_an_element_of_another_type_is_refused_whatever_stands_beside_it(name: str) -> None:
    keys = name in names_of("keys")
    besides: list[Any] = ["ash", ""] if keys else [0, 1.0, 10**400, math.nan]
    for strange in [1, 1.0, b"ash", None, ("ash",)] if keys else STRANGE:
        for beside in besides:
            for place in range(4):
                data = [beside] * 3
                data.insert(place, strange)
                assert outcome(name, data) == "refused: TypeError", data
