"""How far candidates lie from a quantile in rank: shown for unknown records, down to what numpy's sorting does."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from random import Random
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.lending import lent, used
from checker.kinds.record_map import require_reading
from checker.kinds.symbols import Cases, for_all, require_equal

INFINITY, NAN = math.inf, math.nan


class _Step:
    """What was made of the records.

    Args:
        made: its name.
        size: how many records there are.
    """

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self, made: str, size: Any) -> None:
        self._made, self.size = made, size

    def becomes(self, before: str, after: str) -> _Step:
        """Take a step."""
        if self._made != before:
            raise Refused(f"{after} are made of {self._made}, not of {before}")
        return _Step(after, self.size)

    def __len__(self) -> int:
        raise Refused("the number of records is looked at")

    def __bool__(self) -> bool:
        raise Refused("records are taken for true or false")


class _Points:
    """The candidates, of which the least and the greatest can be taken."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self) -> None:
        self.least, self.greatest = object(), object()

    def __getitem__(self, key: Any) -> object:
        if type(key) is not int or key not in (0, -1):
            raise Refused(f"the candidate at {key!r} is asked for")
        return self.greatest if key else self.least


def require_rank_utilities(utilities: Callable[..., Any], quantile: Any, weights: tuple[int, int], points: Any) -> int:
    """Check that `utilities(records, quantile, candidates)` is −|a·#{x < c} − b·#{x > c}| for each candidate c.

    The x are the records, read one by one and brought between the least and the greatest candidate. This is shown for
    all records and all candidates, up to sorting and searching (lemma `ranks`), and tried.

    Args:
        utilities: the function.
        quantile: what it is given.
        weights: a and b.
        points: `points.values()` are the candidates.

    Returns:
        How many databases it was tried with.

    Raises:
        Refused: it is something else.
    """
    for_all(lambda cases: _require_expression(utilities, quantile, weights, cases))
    if used(utilities, "np") is not importlib.import_module("numpy"):
        raise Refused(f"{utilities.__module__} has a numpy of its own")
    tried = require_reading(used(utilities, "doubles"))
    places = [Fraction(one) for one in points.values().tolist()]
    for records in _databases(places):
        found = utilities(list(records), quantile, points)
        expected = expected_utilities(records, weights, places)
        if found.dtype.kind != "i" or found.tolist() != expected:
            raise Refused(f"{records!r:.100} make the utilities {found!r:.200}, not {expected!r:.200}")
        tried += 1
    return tried


def _require_expression(utilities: Callable[..., Any], quantile: Any, weights: tuple[int, int], cases: Cases) -> None:
    """Check the steps and the expression for records and candidates of which nothing is known."""
    records, points = object(), _Points()
    count, below, at_most = (cases.unknown(name) for name in ("count", "below", "at most"))
    distance = cases.unknown("distance")

    def read(_: str, given: Any) -> _Step:
        _require(given is records, "something other than the records is read")
        return _Step("doubles", count)

    def raised(given: Any, to: Any) -> _Step:
        _require(to is points.least, "records are raised to something other than the least candidate")
        return given.becomes("doubles", "raised doubles")  # type: ignore[no-any-return]

    def lowered(given: Any, to: Any) -> _Step:
        _require(to is points.greatest, "records are lowered to something other than the greatest candidate")
        return given.becomes("raised doubles", "clamped doubles")  # type: ignore[no-any-return]

    def searched(given: Any, among: Any, *, side: str) -> Any:
        given.becomes("sorted doubles", "places")
        _require(among is points and side in ("left", "right"), f"{among!r} is looked up on the side {side!r}")
        return below if side == "left" else at_most

    def modulus(given: Any) -> Any:
        require_equal(given, weights[0] * below - weights[1] * (count - at_most), "the distance in rank")
        return distance

    arrays = SimpleNamespace(
        fmax=raised,
        fmin=lowered,
        sort=lambda given: given.becomes("clamped doubles", "sorted doubles"),
        searchsorted=searched,
        abs=modulus,
    )
    with lent(utilities, np=arrays, doubles=read):
        found = utilities(records, quantile, SimpleNamespace(values=lambda: points))
    require_equal(found, -distance, "the utility")


def expected_utilities(records: Sequence[Any], weights: tuple[int, int], places: Sequence[Fraction]) -> list[int]:
    """Return the utilities of candidates by counting records."""
    least, greatest = places[0], places[-1]
    clamped = [least if one != one or one == -INFINITY else greatest if one == INFINITY else one for one in records]
    own = [min(max(Fraction(one), least), greatest) for one in clamped]
    return [
        -abs(weights[0] * sum(one < place for one in own) - weights[1] * sum(one > place for one in own))
        for place in places
    ]


def _databases(places: Sequence[Fraction]) -> Iterator[Sequence[Any]]:
    """Yield databases about the candidates: all small ones of some values, and larger ones."""
    first, second, last = (float(places[index]) for index in (0, 1, -1))
    values = [first, second, last, math.nextafter(second, INFINITY), (first + second) / 2]
    values += [INFINITY, -INFINITY, NAN, -1e300, math.nextafter(last, INFINITY), -0.0]
    for size in range(3):
        yield from product(values, repeat=size)
    random = Random(11)
    for size in (3, 4, 5, 17, 100, 400):
        yield random.choices([*values, *map(float, places[:9])], k=size)
    yield [second] * 700
    yield [int(second), Fraction(second), True, 3]


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise Refused(otherwise)
