"""Inversion with a lazily extended uniform: what it returns is the k with T(k + 1) < U < T(k), whatever the tails are.

The sampler gets a law that answers nothing but comparisons, each of them both ways, and guesses that may be anything.
If it returns k, it must have asked and been told that an upper bound of T(k + 1) is at most the lower end of what is
known of U, and a lower bound of T(k) at least the upper end. So the tails' enclosures are all that its law rests on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore, plain
from checker.enclosures.elementary import Enclosure
from checker.kinds.near_thresholds import require_endless

_DEPTH, _SHALLOW = 9, 6
_GUESSES = (0, 2)
_STARTS = ((0, 0), (0, 3), (1, 2), (0x123456789ABCDEF0, 64), (3, 64), ((1 << 64) - 1, 64), (1 << 69, 70))
"""Bits that are known before: their value and how many they are."""

_WIDE = (48, 49, 65, 127, 128, 129, 192, 193, 255, 256, 257, 400, 513, 1025, 4097, 20_000)
"""How many bits are known before, of which only that many are looked at."""


class _End:
    """A bound of a tail, of which only comparisons are known."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, told: _Told, name: tuple[str, int]) -> None:
        self._told, self._name = told, name

    def __ge__(self, other: Any) -> bool:
        return self._told.compare(self._name, ">=", plain(other))

    def __le__(self, other: Any) -> bool:
        return self._told.compare(self._name, "<=", plain(other))

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __eq__(self, other: object) -> bool:
        raise Refused("a bound of a tail is compared for equality")


@dataclass
class _Ends:
    lower: _End
    upper: _End


class _Told:
    """The law of one run, the bits that it draws, and what it was told."""

    def __init__(self, way: Way, known: int, width: int) -> None:
        self._way = way
        self.known, self.width = known, width
        self.answers: dict[tuple[Any, ...], bool] = {}

    def compare(self, name: tuple[str, int], order: str, value: Fraction) -> bool:
        key = (name, order, value)
        if key not in self.answers:
            self.answers[key] = bool(self._way.choose(2))
        return self.answers[key]

    def tail(self, outcome: int, precision: int) -> _Ends:
        if precision < 1:
            raise Refused(f"tails are asked for in {precision} bits")
        return _Ends(_End(self, ("lower", int(outcome))), _End(self, ("upper", int(outcome))))

    def guess(self, uniform: Any) -> int:  # noqa: ARG002
        return _GUESSES[self._way.choose(len(_GUESSES))]

    def take(self, count: int) -> int:
        drawn = self._way.choose(1 << count)
        self.known, self.width = (self.known << count) + drawn, self.width + count
        return drawn

    def require(self, outcome: Any) -> None:
        """Check that an outcome is the only one that the answers leave."""
        if type(outcome) is not int:
            raise Refused(f"an inversion returns {outcome!r}")
        low, high = Fraction(self.known, 1 << self.width), Fraction(self.known + 1, 1 << self.width)
        answers = self.answers.items()  # that an end is not at least a number says that it is at most the number
        below = any(
            name == ("upper", outcome + 1) and answer is (order == "<=") and value <= low
            for (name, order, value), answer in answers
        )
        above = any(
            name == ("lower", outcome) and answer is (order == ">=") and value >= high
            for (name, order, value), answer in answers
        )
        if not (below and above):
            raise Refused(f"an inversion returns {outcome} for U in [{low}, {high}] without knowing T({outcome})")


def require_inversion(sampler: Callable[..., Any]) -> tuple[int, int]:
    """Check `sampler(law, known, width, bits)` for any law.

    Returns:
        How many runs ended, and how many were cut off.

    Raises:
        Refused: it returns an outcome that need not be the right one.
    """
    ended = cut = 0
    for known, width in (*_STARTS, *(((1 << width) // 3, width) for width in _WIDE)):

        def run(way: Way, known: int = known, width: int = width) -> bool:
            told = _Told(way, known, width)
            told.require(sampler(told, known, width, told))
            return True

        for _, result in explore(run, _DEPTH if width < _WIDE[0] or width in (64, 70) else _SHALLOW):
            ended, cut = ended + (result is not Cut), cut + (result is Cut)
    if ended < 100:
        raise Refused(f"only {ended} runs of the inversion ended")
    return ended, cut


def require_endless_draws(
    sampler: Callable[..., Any], law: Any, truth: Callable[[int, int], Enclosure], outcomes: tuple[int, int]
) -> int:
    """Check that a sampler compares U with thresholds T(k) of a law as far as their bits agree.

    Args:
        sampler: `sampler(law, known, width, bits)`.
        law: what it draws from.
        truth: `truth(outcome, bits)` encloses T(outcome).
        outcomes: whose thresholds are followed, the first from no bits on, the second from 64.

    Returns:
        How many bits were followed.
    """
    followed = 0
    for outcome, known in zip(outcomes, (0, 64), strict=True):

        def threshold(bits: int, outcome: int = outcome) -> Enclosure:
            return truth(outcome, bits)

        followed += require_endless(partial(sampler, law), threshold, known, (outcome, outcome - 1))
    return followed


def require_tails(law: Any, truth: Callable[[int, int], Enclosure], outcomes: list[int]) -> int:
    """Check that a law's enclosures contain the truth, by the checker's own, which are 2^24 times as narrow.

    Args:
        law: `law.tail(outcome, precision)` has the ends `lower` and `upper`.
        truth: `truth(outcome, bits)` encloses T(outcome).
        outcomes: where to try.

    Returns:
        How many enclosures were tried.

    Raises:
        Refused: one does not contain the truth.
    """
    tried = 0
    for precision in (128, 192, 256):
        for outcome in outcomes:
            found = law.tail(outcome, precision)
            lower, upper = (_exact(end) for end in (found.lower, found.upper))
            low, high = truth(outcome, precision + 24)
            if not (lower <= high and low <= upper):
                raise Refused(f"T({outcome}) is not within its enclosure of {precision} bits")
            tried += 1
    return tried


def _exact(end: Any) -> Fraction:
    numerator, denominator = end.as_integer_ratio()
    return Fraction(int(numerator), int(denominator))
