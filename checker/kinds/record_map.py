"""How records become one integer: each on its own, by monotone steps, and one exact sum, for any number of them.

The parts are proved one at a time, and a stand-in with the proved behaviour replaces the others: the reading, the map
of one double, the sum in chunks, and the method `total_and_count` that puts them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import islice, product
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.cuts import require_cut
from checker.kinds.lending import lent, used
from checker.kinds.stateless import require_meanings
from checker.kinds.symbols import Cases, Symbol, for_all, require_equal
from checker.kinds.trace import Step, Traced, require_same, require_unwritten

LEMMAS = ("records-one-by-one", "chunks-of-records", "readings")

INT64 = 1 << 63
INFINITY, NAN = float("inf"), float("nan")

COUNTS = (0, 1, 2, 7, 1000, 10**6 + 1, 10**12, 2**53 + 1, 2**62)
"""The numbers of records that `total_and_count` is tried with."""


@dataclass(frozen=True)
class RecordMap:
    """What each record is mapped to.

    Args:
        least: the least integer.
        greatest: the greatest.
        tried: how many values and lengths were tried beside the argument.
    """

    least: int
    greatest: int
    tried: int

    def move(self, neighbours: str) -> int:
        """Return how far the sum can move between neighbours."""
        moves = {
            "add-remove": max(abs(self.least), abs(self.greatest)),
            "substitute": self.greatest - self.least,
        }
        return max(moves[relation] for relation in neighbours.split(" or "))


def require_record_map(owner: Any, unit: Fraction) -> RecordMap:
    """Check how records are added up by an object with a method `total_and_count(records)`.

    Args:
        owner: the object, which is public.
        unit: what one step counts for in the total.

    Returns:
        The range of one record's integer.

    Raises:
        Refused: a record does not count on its own, an integer could wrap around, or a total is something else.
    """
    method = type(owner).total_and_count
    mapping, greatest = _require_wiring(owner, unit)
    evaluate, least, most = traced_map(mapping)
    chunk = _require_chunks(used(method, "sum_of_integers"), greatest)
    if chunk * max(abs(least), abs(most)) >= INT64:
        raise Refused(f"{chunk} records of {least} to {most} steps can leave 64 bits")
    tried = require_reading(used(method, "doubles")) + _require_values(owner, evaluate, unit)
    return RecordMap(least, most, tried + len(COUNTS) + len(_lengths(chunk)))


class _Read:
    """Doubles that were read, of which only the number can be asked."""

    def __init__(self, count: Any) -> None:
        self._count = count

    def __len__(self) -> int:
        if type(self._count) is not int:
            raise Refused("an unknown number of records is looked at")
        return self._count


def _require_wiring(owner: Any, unit: Fraction) -> tuple[Callable[[Any], Any], int]:
    """Check that what is returned is the sum over what was read, times the unit, and how much that is.

    Returns:
        The map of one double, and the greatest modulus that the sum is told of.
    """
    asked: list[tuple[Any, int]] = []

    def check(known: int | None, cases: Cases) -> None:
        count: Any = cases.unknown("count") if known is None else known
        records, values, total = object(), _Read(count), cases.unknown("total")

        def read(_: str, given: Any) -> _Read:
            if given is not records:
                raise Refused("something other than the records is read")
            return values

        def added(given: Any, mapping: Any, greatest: int) -> Symbol:
            if given is not values:
                raise Refused("something other than what was read is added up")
            asked.append((mapping, greatest))
            return total

        def number(given: Any) -> Any:
            if given is not values:
                raise Refused("something other than what was read is counted")
            return count

        with lent(type(owner).total_and_count, doubles=read, sum_of_integers=added, len=number):
            found = owner.total_and_count(records)
        if type(found) is not tuple or len(found) != 2 or type(found[1]) is not type(count):
            raise Refused(f"total and count of {count} records are {found!r}")
        require_equal(found[1], count, "the number of records")
        require_equal(found[0], total * unit, "the total")

    require_meanings(type(owner).total_and_count, len=len)
    for known in (None, *COUNTS):
        for_all(partial(check, known))
    mapping, greatest = asked[0]
    if any(bound != greatest for _, bound in asked) or type(greatest) is not int:
        raise Refused("the bound on one record depends on the records")
    expected = mapping(Traced.unknown("record", "float64"))
    for other, _ in asked[1:]:
        require_same(other(Traced.unknown("record", "float64")), expected, "the map of records")
    return mapping, greatest


class _Part:
    """Some of the records that were read."""

    def __init__(self, start: int, stop: int, cases: Cases) -> None:
        self.start, self.stop, self._cases = start, stop, cases
        self.mapped = False

    def sum(self) -> _Part:
        """Add up what the part was mapped to."""
        if not self.mapped:
            raise Refused("records are added up that were not mapped")
        return self

    def item(self) -> Symbol:
        """Return the sum as an integer."""
        return self._cases.unknown(f"{self.start}:{self.stop}")


class _Records:
    """Records of which only the number is known; parts can be taken of them."""

    def __init__(self, count: int, cases: Cases) -> None:
        self._count, self._cases = count, cases
        self.parts: list[_Part] = []

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: Any) -> _Part:
        if type(key) is not slice or key.step not in (None, 1):
            raise Refused(f"records {key!r} are asked for")
        start, stop, _ = key.indices(self._count)
        self.parts.append(_Part(start, stop, self._cases))
        return self.parts[-1]


def _require_chunks(adding: Any, greatest: int) -> int:
    """Check that the sum has every record in it exactly once; return the size of the largest chunk."""

    def mapping(part: _Part) -> _Part:
        part.mapped = True
        return part

    def check(count: int, cases: Cases) -> None:
        records = _Records(count, cases)
        total = adding(records, mapping, greatest)
        ends = [0]
        expected: Any = cases.unknown("nothing") * 0
        for part in records.parts:
            if part.start != ends[-1] or part.stop <= part.start:
                raise Refused(f"of {count} records {part.start} to {part.stop} follow those up to {ends[-1]}")
            ends.append(part.stop)
            expected += part.item()
            sizes.add(part.stop - part.start)
        if ends[-1] != count:
            raise Refused(f"of {count} records {ends[-1]} are added up")
        require_equal(total if isinstance(total, Symbol) else expected * 0 + total, expected, "the sum of the chunks")

    sizes: set[int] = set()
    chunk = require_cut(adding, greatest)
    for count in _lengths(chunk):
        for_all(partial(check, count))
    if max(sizes) > chunk:
        raise Refused(f"a chunk has {max(sizes)} records, not {chunk}")
    return chunk


def _lengths(chunk: int) -> Sequence[int]:
    around = [whole * chunk + near for whole in (1, 2, 3, 10) for near in (-2, -1, 0, 1, 2)]
    return sorted({0, 1, 2, 3, *(length for length in around if length >= 0), 5 * chunk + chunk // 2})


Evaluate = Callable[[float], float]


def traced_map(mapping: Callable[[Any], Any]) -> tuple[Callable[[float], int], int, int]:
    """Trace the map of doubles to integers, and find its range.

    Every step is monotone in the one before and takes no number to NaN, but for a `where` that sorts out NaN. So the
    range is spanned by what becomes of −∞, ∞ and NaN.

    Returns:
        The map in the checker's own arithmetic, the least integer and the greatest.

    Raises:
        Refused: a step is not elementwise, not monotone, or the integers are not within 64 bits.
    """
    record = Traced.unknown("record", "float64")
    found = mapping(record)
    require_unwritten(record, "the array of records")
    if type(found) is not Traced or found.step.operation != "astype" or found.step.kind != "int64":
        raise Refused("records are not turned into int64s at the end")
    evaluate = _evaluation(found.step.operands[0], record.step)
    ends = [evaluate(value) for value in (-INFINITY, INFINITY, NAN)]
    if evaluate(0.0) != evaluate(-0.0):
        raise Refused("0 and −0 count differently")
    if not all(abs(value) < INT64 for value in ends):
        raise Refused(f"records of −∞, ∞ and NaN become {ends}")
    least, greatest = min(map(int, ends)), max(map(int, ends))
    return lambda value: int(evaluate(value)), least, greatest


def _constant(step: Any) -> float:
    if not isinstance(step, Step) or step.operation != "constant" or step.kind != "float64":
        raise Refused(f"{step!r:.100} is not a constant")
    value = float.fromhex(step.operands[0])
    if not math.isfinite(value):
        raise Refused(f"records are computed with {value}")
    return value


def _evaluation(step: Step, record: Step) -> Evaluate:
    """Return how a monotone expression is evaluated at one double."""
    if step is record:
        return lambda value: value
    name, operands = step.operation, step.operands
    if step.kind != "float64":
        raise Refused(f"records become numbers of format {step.kind} on the way")
    if name == "where":
        return _without_nan(step, record)
    if name not in _STEPS:
        raise Refused(f"{name} is not a step that is known to be monotone")
    inner = operands[0]
    if name in ("fmin", "fmax", "multiply", "add") and isinstance(inner, Step) and inner.operation == "constant":
        inner, operands = operands[1], (operands[1], inner)
    constants = tuple(map(_constant, operands[1:]))
    if name in ("multiply", "divide") and constants[0] <= 0:
        raise Refused(f"{name} by {constants[0]} is not increasing")
    if name == "clip" and constants[0] > constants[1]:
        raise Refused(f"records are clipped to {constants}")
    before, apply = _evaluation(inner, record), _STEPS[name]
    return lambda value: apply(before(value), *constants)


def _without_nan(step: Step, record: Step) -> Evaluate:
    """Return how `where(isnan(e), constant, e′)` is evaluated: NaN is the record itself, as no step makes one."""
    condition, missing, kept = step.operands
    if condition.operation != "isnan":
        raise Refused("records are told apart by something other than NaN")
    tested, constant, otherwise = _evaluation(condition.operands[0], record), _constant(missing), None
    otherwise = _evaluation(kept, record)
    return lambda value: constant if math.isnan(tested(value)) else otherwise(value)


def _rint(value: float) -> float:
    return float(round(value)) if math.isfinite(value) else value


def _clip(value: float, low: float, high: float) -> float:
    return value if math.isnan(value) else min(max(value, low), high)


_STEPS: dict[str, Callable[..., float]] = {
    "add": lambda value, other: value + other,
    "subtract": lambda value, other: value - other,
    "multiply": lambda value, other: value * other,
    "divide": lambda value, other: value / other,
    "rint": _rint,
    "floor": lambda value: float(math.floor(value)) if math.isfinite(value) else value,
    "ceil": lambda value: float(math.ceil(value)) if math.isfinite(value) else value,
    "fmax": lambda value, other: other if math.isnan(value) else max(value, other),
    "fmin": lambda value, other: other if math.isnan(value) else min(value, other),
    "maximum": lambda value, other: value if math.isnan(value) else max(value, other),
    "minimum": lambda value, other: value if math.isnan(value) else min(value, other),
    "clip": _clip,
}
"""The steps that are increasing in their first operand, in this machine's binary64."""


def _near(value: float) -> list[float]:
    return [value, math.nextafter(value, INFINITY), math.nextafter(value, -INFINITY)]


BASES = (0.0, 5e-324, 2.0**-1022, 2.0**-56, 2.0**-20, 0.1, 0.5, 1.0, 1.5, 2.5, 50.0, 99.5, 100.0, 2.0**53, 1e300)
_FINITE = [value for base in BASES for value in _near(base)]
EDGES: tuple[float, ...] = (*_FINITE, *(-value for value in _FINITE), INFINITY, -INFINITY, NAN, 1.7976931348623157e308)
"""The doubles that maps of records are tried on."""


def _require_values(owner: Any, evaluate: Callable[[float], int], unit: Fraction) -> int:
    """Check the whole on real records: each edge alone, and among others at every place of some lengths."""
    alone = [evaluate(value) for value in EDGES]
    for value, steps in zip(EDGES, alone, strict=True):
        if owner.total_and_count([value]) != (steps * unit, 1):
            raise Refused(f"the record {value!r} counts {owner.total_and_count([value])}, not {steps} steps")
    for size in (2, 3, 5, 8, 17, 33, len(EDGES)):
        for start in range(len(EDGES) - size + 1):
            expected = (sum(alone[start : start + size]) * unit, size)
            if owner.total_and_count(list(EDGES[start : start + size])) != expected:
                raise Refused(f"{size} records from {EDGES[start]!r} do not add up to {expected}")
    return len(EDGES) * 8


def _of(value: Any) -> float:
    """Read a number as mechanisms promise to: the nearest double, NaN for what is missing."""
    if value is None:
        return NAN
    if isinstance(value, float):
        return value
    if isinstance(value, Decimal) and not value.is_finite():
        return NAN if value.is_nan() else math.copysign(INFINITY, value)
    exact = Fraction(value)
    if exact.denominator.bit_length() > 1 << 16:
        exact = Fraction((exact.numerator << 65535) // exact.denominator, 1 << 65535)
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return INFINITY if exact > 0 else -INFINITY


NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**60 + 1, 2**63, -(2**63) - 1, 10**400, -(10**400), True),
    *(0.0, -0.0, 0.1, 1.5, -(2.0**-1074), 1e308, INFINITY, -INFINITY, NAN, None),
    *(Fraction(1, 3), Fraction(2**53 + 1), Fraction(1, 2**1075), Fraction(3, 2**1075), Fraction(1, 3 << 65536)),
    *(Decimal("0.1"), Decimal("-1e-400"), Decimal("1e400"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")),
)


def require_reading(reading: Any) -> int:
    """Check that numbers are read one by one, equal ones alike: all pairs of some, of all types, and longer vectors.

    Returns:
        How many vectors were read.

    Raises:
        Refused: one is read otherwise.
    """
    rotations = [(*NUMBERS[start:], *NUMBERS[:start]) for start in range(len(NUMBERS))]
    triples = islice(product(NUMBERS, repeat=3), 0, None, 37)
    vectors: list[tuple[Any, ...]] = [(), *((one,) for one in NUMBERS), *product(NUMBERS, repeat=2), *triples]
    vectors += [*rotations, *(rotation[:17] for rotation in rotations)]
    for vector in vectors:
        expected = list(map(_of, vector))
        read = reading("records", list(vector))
        if not _alike(read.tolist(), expected) or not _alike(reading("records", read).tolist(), expected):
            raise Refused(f"{vector!r:.200} are read as {read.tolist()!r:.200}")
    return len(vectors)


def _alike(found: list[float], expected: list[float]) -> bool:
    """Whether numbers are equal, NaN to NaN: 0 and −0 are one number, and the map of records takes them for one."""
    pairs = zip(found, expected, strict=True)
    return len(found) == len(expected) and all(one == other or (one != one and other != other) for one, other in pairs)
