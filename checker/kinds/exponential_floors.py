"""⌊offset + slope·E⌋ for E = −ln U and a U whose bits are drawn as they are needed: what it takes to decide it soundly.

The floor is monotone in E, so that where it is the same at two numbers with E between them, it is that. The offset may
be private. Nothing here is shown for one offset: it stays an unknown number throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore, plain
from checker.enclosures.elementary import Enclosure, exp, ln
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.near_thresholds import require_endless
from checker.kinds.opaque import OpaqueReal

_CHOICES = 12

_PLACE = Fraction(7, 11)
"""Where E is compared with a threshold by many bits."""


class _Prefix:
    """The bits of U that are known: those of any word at first, then others one by one.

    Args:
        run: whose bits they are.
        bits: those that follow the word.
        plus: what was added to the integer that they make.
    """

    def __init__(self, run: _Run, bits: tuple[int, ...], plus: int = 0) -> None:
        self.run, self.bits, self.plus = run, bits, plus

    def __ge__(self, other: Any) -> bool:
        if type(other) is not int or other != self.run.least or self.plus:
            raise Refused(f"the known bits are compared with {other!r}")
        return self.run.went("compares", "looks" if self.run.way.choose(2) else "takes")

    def __add__(self, other: Any) -> _Prefix:
        return _Prefix(self.run, self.bits, self.plus + int(other))

    def __lshift__(self, other: Any) -> _Prefix:
        if other != 1 or self.plus:
            raise Refused("the known bits are shifted by other than one place")
        return _Prefix(self.run, (*self.bits, 0))

    def __or__(self, other: Any) -> _Prefix:
        if other not in (0, 1) or self.plus or not self.bits or self.bits[-1]:
            raise Refused("a bit is put where one was")
        return _Prefix(self.run, (*self.bits[:-1], int(other)))


class _Length:
    """How many bits are known; it can be counted on and handed on, and nothing else."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self, start: int, plus: int = 0) -> None:
        self.start, self.plus = start, plus

    def __add__(self, other: Any) -> _Length:
        return _Length(self.start, self.plus + int(other))

    def __eq__(self, other: object) -> bool:
        raise Refused("the number of known bits is compared")

    def __bool__(self) -> bool:
        raise Refused("the number of known bits is compared")


class _Value:
    """The value of an unknown monotone function at an end of E's interval; whether two are equal goes both ways."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self, run: _Run, end: tuple[Any, ...]) -> None:
        self.run, self.end = run, end

    def __eq__(self, other: object) -> bool:
        length, bits = self.run.length, tuple(self.run.taken)
        ends = {self.end, other.end if isinstance(other, _Value) else None}
        if ends != {(bits, 0, length, True), (bits, 1, length, False)}:
            raise Refused(f"the values at {ends} are compared, which do not enclose E")
        return self.run.went("looks", "returns" if self.run.way.choose(2) else "takes")


class _Run:
    """One run of the decision on an unknown word and an unknown function.

    Args:
        way: its choices.
        least: the least integer of known bits that is looked at.
        length: the number of bits of the word.
    """

    def __init__(self, way: Way, least: int, length: int) -> None:
        self.way, self.least, self.length = way, least, length
        self.taken: list[int] = []
        self.next = "compares"

    def went(self, at: str, then: str) -> bool:
        """Check that this comparison is the one that comes now, note what comes after it, and say how it went."""
        if self.next != at:
            raise Refused(f"the decision {at} when it should have come to where it {self.next}")
        self.next = then
        return then != "takes"

    def take(self, count: int) -> int:
        """Give one more bit."""
        if count != 1 or self.next != "takes":
            raise Refused(f"the decision takes {count} bits when it {self.next}")
        self.taken.append(self.way.choose(2))
        self.length, self.next = self.length + 1, "compares"
        return self.taken[-1]

    def minus_log(self, numerator: Any, length: Any, *, upward: bool) -> tuple[Any, ...]:
        """Name an end of E's interval: −ln(numerator/2^length), rounded up or down."""
        if type(length) is not _Length:
            raise Refused(f"E's interval is enclosed for {length!r} known bits")
        return (numerator.bits, numerator.plus, length.start + length.plus, upward)


def require_decision(decide_monotone: Callable[..., Any]) -> int:
    """Check that an unknown monotone function of E is found soundly, from any word on.

    It may be returned only if it has one value at a number that is at least −ln(i/2^j) and at one that is at most
    −ln((i + 1)/2^j), where i are the j known bits; as soon as that is so it is; and otherwise one more bit is taken.

    Returns:
        The number of runs.
    """
    runs = 0
    require_minus_log(used(decide_monotone, "minus_log"))

    def run(way: Way, least: int, length: int) -> None:
        nonlocal runs
        state = _Run(way, least, length)
        with lent(decide_monotone, minus_log=state.minus_log):
            found = decide_monotone(lambda end: _Value(state, end), least, _Prefix(state, ()), _Length(length), state)
        if state.next != "returns" or not isinstance(found, _Value) or len(found.end) != 4:
            raise Refused("the decision returns what it has not found")
        if found.end[2] != length + len(state.taken):
            raise Refused("the decision returns a value that it found before")

    for least, length in ((1, 0), (1, 63), (12, 64)):
        for _, ended in explore(lambda way, least=least, length=length: run(way, least, length), _CHOICES):  # type: ignore[misc]
            runs += ended is not Cut
    return runs


def require_minus_log(minus_log: Callable[..., Any]) -> int:
    """Check that −ln(i/2^j) is enclosed, and ever more narrowly, at the edges and at many other i (lemma `mpfr`)."""
    tried = 0
    for length in (0, 1, 2, 5, 13, 62, 63, 64, 65, 128):
        size = 1 << length
        spread = {size * share // 97 + 1 for share in (0, 13, 36, 68, 96)}
        for numerator in sorted(spread | {2, size // 2 + 1, size // 2, size - 1, size}):
            if not 1 <= numerator <= size:
                continue
            near_one = numerator + 1 == size  # −ln(1 − 2^−j) is nearly 2^−j + 2^(−2j−1)
            low, high = ln(Fraction(size, numerator), (3 if near_one else 1) * length + 140)
            above = plain(minus_log(numerator, length, upward=True))
            below = plain(minus_log(numerator, length, upward=False))
            if not below <= low <= high <= above or above - below > Fraction(length + 1, 1 << (length + 60)):
                raise Refused(f"−ln({numerator}/2^{length}) is enclosed by {below} and {above}")
            tried += 1
    return tried


def require_floor(decide_floor: Callable[..., Any], slopes: tuple[Fraction, ...]) -> int:
    """Check that `decide_floor(offset, slope, leading, length, bits)` decides ⌊offset + slope·E⌋, for every offset.

    Returns:
        The number of runs of the decision.
    """
    offset, exponential = OpaqueReal.unknown("offset"), OpaqueReal.unknown("E")
    leading, length, bits, floor = Token(), Token(), Token(), 12345
    for slope in slopes:
        decision = Recorder(floor)
        with lent(decide_floor, decide_monotone=decision):
            found = decide_floor(offset, slope, leading, length, bits)
        value_at, least, *others = decision.call
        if found != floor or others != [leading, length, bits]:
            raise Refused("decide_floor does not hand on what it is given, or returns what it has not found")
        if type(least) is not int or not 1 <= least <= 1 + abs(slope):
            raise Refused(f"decide_floor waits until the known bits make {least}")
        if not value_at(exponential).same((offset + slope * exponential).__floor__()):
            raise Refused(f"decide_floor decides {value_at(exponential)}")
    runs = require_decision(used(decide_floor, "decide_monotone"))
    for slope in slopes:
        _require_endless(decide_floor, slope)
    return runs


def _require_endless(decide_floor: Callable[..., Any], slope: Fraction) -> None:
    """Check that U is compared with the threshold between two floors, bit by bit and as far as need be."""
    edge = (slope * _PLACE).__floor__() + 1
    offset = edge - slope * _PLACE

    def threshold(bits: int) -> Enclosure:
        return exp(-_PLACE, bits)

    outcomes = (edge, edge - 1) if slope > 0 else (edge - 1, edge)  # E is greater where U is less
    for known in (0, 63, 64):
        require_endless(
            lambda leading, length, bits: decide_floor(offset, slope, leading, length, bits), threshold, known, outcomes
        )
