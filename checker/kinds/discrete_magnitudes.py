"""⌊scale·E + c⌋ for E = −ln U, c = scale·ln(2/(1 + e^(−1/scale))): the magnitude of discrete Laplace noise, by one U.

c is irrational, and so is every rational number plus c. Where a sum of the two is decided by enclosures of c, it has to
be one that contains c, and both ends must give one floor; that they do in the end is by their width.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore, plain
from checker.enclosures.elementary import Enclosure, down, exp, ln, up
from checker.kinds.exponential_floors import require_decision
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.logistic_coin import logistic
from checker.kinds.near_thresholds import require_endless
from checker.kinds.opaque import Opaque, OpaqueReal

_PRECISIONS = (64, 100, 128, 256, 512, 1024, 2048)
_WIDTH = 16
_CHOICES = 9
_PLACES = (100, 300, 900)
_GIVEN_BITS = 128
_PLACE = Fraction(7, 11)
"""Where E is compared with a threshold by many bits."""


def offset(scale: Fraction, bits: int) -> Enclosure:
    """Enclose c, with a width of about 2^−bits."""
    work = bits + scale.__ceil__().bit_length() + 4
    low, high = logistic(1 / scale, work)
    return down(scale * ln(2 * low, work)[0], bits + 4), up(scale * ln(2 * high, work)[1], bits + 4)


def require_magnitude(decide_magnitude: Callable[..., Any], scale: Fraction) -> int:
    """Check that `decide_magnitude(scale, ends, leading, length, bits)` decides ⌊scale·E + c⌋, from any known bits on.

    The ends are an enclosure of c, any one (`require_ends`).

    Returns:
        The number of runs, and of enclosures that were tried.

    Raises:
        Refused: it may be another number.
    """
    leading, length, bits, found = Token(), Token(), Token(), 12345
    exponential, floor = OpaqueReal.unknown("E"), Opaque("floor")
    decision, flooring = Recorder(found), Recorder(floor)
    ends = Token()
    with lent(decide_magnitude, decide_monotone=decision, floor_with_offset=flooring):
        decided = decide_magnitude(scale, ends, leading, length, bits)
        value_at, least, *others = decision.call
        value = value_at(exponential)
    if decided != found or others != [leading, length, bits]:
        raise Refused("a magnitude is not decided by the bits that are given, or is not what was found")
    if type(least) is not int or not 1 <= least <= 1 + scale:
        raise Refused(f"a magnitude waits until the known bits make {least}")
    (number, given_scale, given_ends), given = flooring.call, scale * exponential
    if value is not floor or not given.same(number) or given_scale != scale or given_ends is not ends:
        raise Refused(f"a magnitude is the floor of {number} and an offset for scale {given_scale}")
    runs = require_decision(used(decide_magnitude, "decide_monotone"))
    runs += require_floor_with_offset(used(decide_magnitude, "floor_with_offset"), scale)
    _require_endless(decide_magnitude, scale)
    return runs


def _require_endless(decide_magnitude: Callable[..., Any], scale: Fraction) -> None:
    """Check that U is compared with the threshold e^(−(k − c)/scale) between two magnitudes, as far as need be."""
    edge, ends = (scale * _PLACE).__floor__() + 1, offset(scale, _GIVEN_BITS)

    def threshold(bits: int) -> Enclosure:
        low, high = exp(-edge / scale, bits + 4)
        below, above = logistic(1 / scale, bits + 4)
        return 2 * low * below, 2 * high * above

    for known in (0, 63):
        require_endless(
            lambda leading, length, bits: decide_magnitude(scale, ends, leading, length, bits),
            threshold,
            known,
            (edge, edge - 1),
        )


class _Number:
    """A number of which nothing is known, to which an end of an enclosure of c is added."""

    def __init__(self, run: _Run) -> None:
        self._run = run

    def __add__(self, other: Any) -> _Sum:
        if not isinstance(other, _End):
            raise Refused(f"{other!r} is added to the number, which is not an end of the offset's enclosure")
        return _Sum(self._run, other)

    __radd__ = __add__


class _End:
    """An end of the enclosure of c that was asked for in one round; `above` says which."""

    def __init__(self, round_: int, *, above: bool) -> None:
        self.name = (round_, above)


class _Sum:
    """The number plus an end of the enclosure; it can only be rounded down."""

    def __init__(self, run: _Run, end: _End) -> None:
        self._run, self._end = run, end

    def __floor__(self) -> _Floor:
        return _Floor(self._run, self._end)


class _Floor:
    """The floor of such a sum; whether it is that of the other end goes both ways."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self, run: _Run, end: _End) -> None:
        self._run, self.name = run, end.name

    def __eq__(self, other: object) -> bool:
        names = {self.name, other.name if isinstance(other, _Floor) else None}
        if names != {(len(self._run.precisions), False), (len(self._run.precisions), True)} or self._run.decided:
            raise Refused(f"the floors at {names} are compared, which do not enclose the sum")
        self._run.decided = bool(self._run.way.choose(2))
        return self._run.decided


class _Run:
    """One run of the floor of an unknown number and c."""

    def __init__(self, way: Way, scale: Fraction) -> None:
        self.way, self._scale = way, scale
        self.precisions: list[int] = []
        self.decided = False

    def ends(self) -> tuple[_End, _End]:
        """Name the ends of the last enclosure; the first was given."""
        return _End(len(self.precisions), above=False), _End(len(self.precisions), above=True)

    def enclose_offset(self, scale: Any, precision: Any) -> tuple[_End, _End]:
        """Give the ends of the next enclosure, which must be a finer one."""
        if scale != self._scale or type(precision) is not int or precision <= max(self.precisions, default=0):
            raise Refused(f"after {self.precisions} bits the offset is enclosed to {precision} bits for scale {scale}")
        self.precisions.append(precision)
        return self.ends()


def require_floor_with_offset(floor_with_offset: Callable[..., Any], scale: Fraction) -> int:
    """Check that `floor_with_offset(number, scale, ends)` is ⌊number + c⌋, for every rational number.

    It may be returned only where both ends of an enclosure give it, and otherwise the next one is finer. The enclosures
    contain c (`require_offset`). Numbers near whole ones less c are tried as well, above and below.

    Returns:
        The number of runs, and of enclosures and numbers that were tried.
    """
    runs = require_offset(used(floor_with_offset, "enclose_offset"), scale)

    def run(way: Way) -> None:
        state = _Run(way, scale)
        with lent(floor_with_offset, enclose_offset=state.enclose_offset):
            found = floor_with_offset(_Number(state), scale, state.ends())
        if not state.decided or not isinstance(found, _Floor) or found.name[0] != len(state.precisions):
            raise Refused("a floor is returned that the offset's enclosure leaves open")

    for _, ended in explore(run, _CHOICES):
        runs += ended is not Cut
    for bits in _PLACES:
        low, high = offset(scale, bits)
        for whole in (-3, 0, 1, 10**9):
            for number, floor in ((whole - high, whole - 1), (whole - low, whole)):
                found = floor_with_offset(number, scale, offset(scale, _GIVEN_BITS))
                if plain(found) != floor:
                    raise Refused(f"the floor of c and a number 2^−{bits} from an integer is {found!r}, not {floor}")
                runs += 1
    return runs


def require_offset(enclose_offset: Callable[..., Any], scale: Fraction) -> int:
    """Check that c is enclosed at many precisions, and ever more narrowly (lemma `mpfr`).

    Those that `floor_with_offset` asks for, the doubles of 128, are among them: only sums within 2^−2000 of an integer
    need more.
    """
    for precision in _PRECISIONS:
        require_ends(enclose_offset(scale, precision), scale, precision)
    return len(_PRECISIONS)


def require_ends(ends: Any, scale: Fraction, precision: int) -> None:
    """Check that two rational numbers enclose c, with a width of about scale·2^−precision.

    Raises:
        Refused: they do not.
    """
    below, above = map(plain, ends)
    low, high = offset(scale, precision + 100)
    if not below <= low <= high <= above or above - below > scale * Fraction(_WIDTH, 1 << precision):
        raise Refused(f"the offset for scale {scale} is enclosed by {float(below)} and {float(above)}")
