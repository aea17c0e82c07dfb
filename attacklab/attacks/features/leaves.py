"""What is read off values besides the numbers in them: lengths, types, presence and order of keys, texts and bytes.

Each function of values returns one number for each value, and NaN for a value of another kind. The functions whose
names start with `in_` look at sample values, and yield what to read off values like them: words and a function each.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.features.atoms import hash_of
from attacklab.attacks.features.paths import EXACT_IN_DOUBLES, NUMBER_IN_TEXT, Values, as_numbers, recalled
from attacklab.attacks.features.values import EXACT, MISSING, Parts, kind_name, opened
from attacklab.attacks.features.variety import most_telling
from attacklab.model.plain_text import quoted

Read: TypeAlias = Callable[[Values], NDArray[Any]]
Reads: TypeAlias = Iterator[tuple[str, Read]]

MOST_NAMES = 64  # how many keys of a dict or members of a set are looked at
MOST_IN_TEXT = 16  # how many numbers in a text are looked at
MOST_DIGITS = 19  # integers of fewer digits fit in 64 bits
MOST_BYTES = 64  # how many bytes are looked at
ORDERED = 8  # how many keys have their place in the order looked at

TEXT, WORDING = "the text of", "the wording of"
"""The descriptions of features whose numbers stand for texts begin with one of these."""

MOST_TEXTS = 1 << 12  # this many texts are kept, to say which text a number stands for
_TEXTS: Final[dict[float, str]] = {}


def _each(values: Values, of: Callable[[Any], float]) -> NDArray[np.float64]:
    return np.fromiter((of(opened(value)) for value in values), dtype=np.float64, count=len(values))


def _of(kinds: Any, of: Callable[[Any], float]) -> Read:
    """Return a function that reads one number off each value: `of(value)` for these types, NaN for others."""
    return partial(_each, of=lambda value: float(of(value)) if isinstance(value, kinds) else math.nan)


lengths: Final = _of(str | bytes | list | tuple | dict | frozenset | np.ndarray, len)
"""`lengths(values)` returns how many parts each value has."""


def signs_of_zeros(values: Values) -> NDArray[np.float64]:
    """Return the sign bit of each zero, which comparisons do not show; NaN for other numbers."""
    numbers = as_numbers(values)
    return np.where(numbers == 0, np.signbit(numbers), math.nan)


def type_codes(values: Values, *, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the index of each value's type in a tuple of type names; NaN if the type is not there."""
    codes = {name: float(place) for place, name in enumerate(names)}
    return _each(values, lambda value: math.nan if value is MISSING else codes.get(kind_name(value), math.nan))


def presence(values: Values, *, name: Any, of_parts: bool = False) -> NDArray[np.bool_]:
    """Return which values are dicts with that key or, if `of_parts`, objects with a part of that name."""
    return np.fromiter((name in _names(opened(value), of_parts) for value in values), dtype=bool, count=len(values))


def names_of(known: Iterable[Any], *, of_parts: bool) -> list[Any]:
    """Return the keys of opened dicts or, if `of_parts`, the names of objects' parts, in order of first appearance."""
    return list(dict.fromkeys(name for value in known for name in _names(value, of_parts)))


def order_of_keys(known: list[Any]) -> Reads:
    """Yield a reader for each of the first few keys: its place in a dict's order. Yield none if no order varies."""
    orders = {tuple(value) for value in known if isinstance(value, dict)}
    if len({tuple(sorted(order, key=repr)) for order in orders}) == len(orders):
        return
    for name in names_of(known, of_parts=False)[:ORDERED]:
        yield f"the place of {quoted(name)} among the keys", _of(dict, partial(_place_of, name))


def in_sets(known: list[Any], of_first: NDArray[np.bool_] | None) -> Reads:
    """Yield readers of the presence of each member in sets, or of the most telling members if there are many."""
    members = sorted({member for value in known if isinstance(value, frozenset) for member in value}, key=repr)
    reads = [_of(frozenset, operator.methodcaller("__contains__", member)) for member in members]
    places = most_telling(reads, known, of_first, MOST_NAMES) if len(members) > MOST_NAMES else range(len(members))
    for place in places:
        yield f"the presence of {quoted(members[place])}", reads[place]


def remainders(known: list[Any]) -> Reads:
    """Yield readers of what is lost when a number becomes a double: last bits of large integers and exact fractions."""
    if any(isinstance(value, int) and abs(value) > EXACT_IN_DOUBLES for value in known):
        yield "the last 32 bits", _of(int, (0xFFFFFFFF).__and__)
    if any(isinstance(value, EXACT) for value in known):
        yield "what the nearest double leaves off", _of(EXACT, _left_off)
        yield "the size of the denominator", partial(_each, of=_denominator)


def in_text(known: list[Any]) -> Reads:
    """Yield readers of the numbers printed in texts, their counts of decimals, the length, the wording and the text."""
    most = max(len(_numbers_in(value)) for value in known if isinstance(value, str))
    for place in range(min(most, MOST_IN_TEXT)):
        yield f"number {place} in", partial(_number_in_text, place=place)
    for place in range(min(most, MOST_IN_TEXT)):
        yield f"the digits after the point of number {place} in", partial(_each, of=partial(_digits, place=place))
    yield "the length of", lengths
    yield WORDING, _of(str, lambda text: _of_hash(NUMBER_IN_TEXT.sub("#", text)))
    yield TEXT, _of(str, _of_hash)


def in_bytes(known: list[Any]) -> Reads:
    """Yield readers of single bytes, and of the length."""
    most = max(len(value) for value in known if isinstance(value, bytes))
    for place in range(min(most, MOST_BYTES)):
        yield f"byte {place}", _of(bytes, partial(_byte, place))
    yield "the length", lengths


def in_rows(values: Values) -> Reads:
    """Yield readers of statistics of rows: the extremes and their places, the sum, and counts such as the descents."""
    if not np.isfinite(_rows(values)).any():
        return
    for name, of in _OF_ROWS:
        yield name, partial(_of_rows, of=of)


def _names(value: Any, of_parts: bool) -> dict[Any, Any]:
    if isinstance(value, Parts):
        return value.named if of_parts else {}
    return value if isinstance(value, dict) and not of_parts else {}


def _place_of(name: Any, keys: dict[Any, Any]) -> float:
    return list(keys).index(name) if name in keys else math.nan


def _left_off(value: Any) -> float:
    try:
        return float(Fraction(value) - Fraction(float(value)))
    except (OverflowError, ValueError):  # beyond the doubles, or not finite
        return math.nan


def _denominator(value: Any) -> float:
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return float(-exponent) if isinstance(exponent, int) else math.nan
    return float(value.denominator.bit_length()) if isinstance(value, Fraction) else math.nan


def _numbers_in(value: Any) -> Sequence[str]:
    return _printed(value) if isinstance(value, str) else ()


@functools.lru_cache(maxsize=1 << 14)
def _printed(text: str) -> tuple[str, ...]:
    return tuple(NUMBER_IN_TEXT.findall(text))


def _number_in_text(values: Values, *, place: int) -> NDArray[Any]:
    return as_numbers([_parsed(_numbers_in(opened(value)), place) for value in values])


def _parsed(texts: Sequence[str], place: int) -> Any:
    if place >= len(texts):
        return MISSING
    text = texts[place]
    if "x" in text.lower():
        return float.fromhex(text)
    return int(text) if len(text) < MOST_DIGITS and text.lstrip("+-").isdecimal() else float(text)


def _digits(value: Any, *, place: int) -> float:
    texts = _numbers_in(value)
    if place >= len(texts):
        return math.nan
    return float(len(texts[place].lower().split("e")[0].partition(".")[2]))


def _of_hash(text: str) -> float:
    number = float(hash_of(text) >> 11)  # 53 bits, which a double holds
    if len(_TEXTS) < MOST_TEXTS:
        _TEXTS[number] = text
    return number


def text_of(number: float) -> str | None:
    """Return the text whose hash is this number; None if it was not kept, because only the first few are."""
    return _TEXTS.get(number)


def _byte(place: int, value: bytes) -> float:
    return value[place] if place < len(value) else math.nan


def _rows(values: Values) -> NDArray[np.float64]:
    return recalled(values, "rows", lambda: _as_rows(values))


def _as_rows(values: Values) -> NDArray[np.float64]:
    """Return the numbers in each value as a row of doubles, padded with NaN to the longest: shape (n, longest)."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf" and values.ndim > 1:
        return values.reshape(len(values), -1).astype(np.float64)
    known = [value if isinstance(value, list | tuple | np.ndarray) else () for value in map(opened, values)]
    if any(isinstance(value, np.ndarray) and value.ndim > 1 for value in known):
        known = [np.ravel(value) for value in known]
    sizes = np.fromiter(map(len, known), dtype=np.intp, count=len(known))
    filled = np.full((len(known), max(1, int(sizes.max(initial=0)))), math.nan)
    inside = np.arange(filled.shape[1]) < sizes[:, np.newaxis]
    filled[inside] = as_numbers(list(itertools.chain.from_iterable(known))).astype(np.float64)
    return filled


def _of_rows(values: Values, *, of: Callable[[NDArray[np.float64]], NDArray[Any]]) -> NDArray[np.float64]:
    rows = _rows(values)
    known = ~np.isnan(rows).all(axis=1)
    results = np.full(len(rows), math.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        results[known] = of(rows[known]) if known.any() else math.nan
    return results


_OF_ROWS: Final[tuple[tuple[str, Callable[[NDArray[np.float64]], NDArray[Any]]], ...]] = (
    ("the place of the largest number", lambda rows: np.nanargmax(rows, axis=1)),
    ("the place of the least number", lambda rows: np.nanargmin(rows, axis=1)),
    ("the largest number", lambda rows: np.nanmax(rows, axis=1)),
    ("the least number", lambda rows: np.nanmin(rows, axis=1)),
    ("the sum", lambda rows: np.nansum(rows, axis=1)),
    ("the number of descents", lambda rows: (np.diff(rows, axis=1) < 0).sum(axis=1)),
    ("the number of distinct numbers", lambda rows: 1 + (np.diff(np.sort(rows, axis=1), axis=1) > 0).sum(axis=1)),
    ("the number of zeros", lambda rows: (rows == 0).sum(axis=1)),
    ("the number of missing numbers", lambda rows: np.isnan(rows).sum(axis=1)),
)
