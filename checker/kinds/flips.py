"""Permute-and-flip, shown for a number of outcomes of which nothing is known, and for every round.

The outcomes that wait stand for a list of any length: one can be drawn, change places with the last one and leave. What
the function holds when a round begins is the same from the second round on but for what was drawn; so what it did in
one round it does in all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dis import get_instructions
from fractions import Fraction
from functools import partial
from numbers import Rational
from types import CodeType, FunctionType, NoneType
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import plain
from checker.kinds.lending import lent, used
from checker.kinds.stateless import require_meanings
from checker.kinds.symbols import Cases, for_all, require_equal

ROUNDS = 4
_FORBIDDEN = ("FOR_ITER", "GET_ITER", "STORE_ATTR", "STORE_GLOBAL", "MAKE_FUNCTION", "IMPORT_")


class _Token:
    """Something of which nothing is known, but who made it."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self, what: str) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        raise Refused(f"{self.what} is compared")

    def __bool__(self) -> bool:
        raise Refused(f"{self.what} is taken for true or false")


class _Waiting:
    """The outcomes that wait."""

    def __init__(self) -> None:
        self.gone = 0
        self.drawn: _Token | None = None
        self._begin()

    def _begin(self) -> None:
        self._at: _Token = _Token("an outcome")
        self._last: _Token = _Token("the last outcome")
        self._now: tuple[Any, Any] = (self._at, self._last)

    def _place(self, key: Any) -> int:
        if key is self.drawn and key is not None:
            return 0
        if type(key) is int and key == -1:
            return 1
        raise Refused(f"the outcome at {key!r} is asked for")

    def __getitem__(self, key: Any) -> Any:
        return self._now[self._place(key)]

    def __setitem__(self, key: Any, outcome: Any) -> None:
        self._now = (outcome, self._now[1]) if self._place(key) == 0 else (self._now[0], outcome)

    def pop(self) -> _Token:
        """Let the last outcome go, which must be the one that was drawn, the last one being in its place."""
        if self.drawn is None or self._now[0] is not self._last or self._now[1] is not self._at:
            raise Refused("an outcome other than the one that was drawn goes")
        found: _Token = self._at
        self.drawn = None
        self.gone += 1
        self._begin()
        return found


class _Gap:
    """How far the shortfall of an outcome is above the least, over the scale."""

    def __init__(self, outcome: Any, least: Any = None, scale: Fraction | None = None) -> None:
        self.outcome, self.least, self.scale = outcome, least, scale

    def __sub__(self, least: Any) -> _Gap:
        return _Gap(self.outcome, least)

    def __truediv__(self, scale: Any) -> _Gap:
        if self.least is None or self.scale is not None:
            raise Refused("a shortfall is divided that is not a gap")
        return _Gap(self.outcome, self.least, plain(scale))


class _Shortfalls:
    """The shortfalls of the outcomes that wait."""

    def __getitem__(self, outcome: Any) -> _Gap:
        return _Gap(outcome)


class _Bits:
    """Draws outcomes and refuses all but the last, and keeps what the function holds when a round begins."""

    def __init__(
        self, waiting: _Waiting, samplers: tuple[Any, Any], code: CodeType, check: Callable[..., None]
    ) -> None:
        self._waiting, self._samplers, self._code, self._check = waiting, samplers, code, check
        self.held: list[tuple[int, dict[str, Any]]] = []
        self.flipped: list[_Gap] = []
        self.ends = ROUNDS

    def call(self, sampler: Any, argument: Any) -> Any:
        """Draw a place, or flip a coin."""
        frame = sys._getframe(1)
        if frame.f_code is not self._code or not any(sampler is one for one in self._samplers):
            raise Refused(f"{sampler!r} is called by something other than the mechanism")
        if sampler is self._samplers[1]:
            self.flipped.append(argument)
            return len(self.flipped) == self.ends
        if self._waiting.drawn is not None or self._waiting.gone != len(self.flipped):
            raise Refused("an outcome is drawn before the last one that was drawn is gone and flipped")
        self._check(argument, self._waiting.gone)
        self.held.append((frame.f_lasti, dict(frame.f_locals)))
        self._waiting.drawn = _Token("a place")
        return self._waiting.drawn


def require_flips(function: Any, scale: Fraction, parameters: dict[str, Any]) -> int:
    """Check that a function draws outcomes uniformly, one after another, until a coin e^(−gap/scale) comes up.

    Args:
        function: `function(utilities, bits, **parameters)`.
        scale: of the noise.
        parameters: its public parameters.

    Returns:
        How many rounds were followed.

    Raises:
        Refused: it does something else, or it can tell rounds or numbers of outcomes apart.
    """
    if type(function) is not FunctionType or any(type(one) is CodeType for one in function.__code__.co_consts):
        raise Refused(f"{function!r} is not a plain function")
    require_meanings(function, len=len, list=list, range=range, min=min)
    samplers = used(function, "uniform_below"), used(function, "bernoulli_exp")
    _require_memoryless(function, samplers)
    rounds = 0

    def check(ends: int, cases: Cases) -> None:
        nonlocal rounds
        utilities, shortfalls, least, outcomes = object(), _Shortfalls(), _Token("the least shortfall"), object()
        count, waiting = cases.unknown("count"), _Waiting()

        class Scale:
            def __init__(self, *given: Any) -> None:
                pass

            def shortfalls(self, given: Any) -> _Shortfalls:
                _require(given is utilities, "shortfalls are those of something other than the utilities")
                return shortfalls

        def number(one: Any) -> Any:
            _require(one is shortfalls or one is waiting, "something other than the outcomes is counted")
            return count if one is shortfalls else count - waiting.gone

        def counted(end: Any) -> object:
            require_equal(end, count, "the number of outcomes")
            return outcomes

        def listed(one: Any) -> _Waiting:
            _require(one is outcomes, "something other than the outcomes waits")
            return waiting

        def best(one: Any) -> _Token:
            _require(one is shortfalls, "the least of something other than the shortfalls is taken")
            return least

        def bounded(bound: Any, gone: int) -> None:
            require_equal(bound, count - gone, "the number of outcomes that wait")

        bits = _Bits(waiting, samplers, function.__code__, bounded)
        bits.ends = ends
        with lent(function, UtilityScale=Scale, len=number, range=counted, list=listed, min=best):
            found = function(utilities, bits, **parameters)
        _require(len(bits.flipped) == ends, f"{len(bits.flipped)} coins are flipped, not {ends}")
        for gap in bits.flipped:
            _require(type(gap) is _Gap and gap.least is least and gap.scale == scale, "a coin is not that of a gap")
        _require(found is bits.flipped[-1].outcome, "something other than the last outcome is returned")
        _require_alike(bits.held[1:], (utilities, shortfalls, waiting, bits))
        rounds += ends

    for ends in range(1, ROUNDS + 1):
        for_all(partial(check, ends))
    return rounds


def _require_memoryless(function: FunctionType, samplers: tuple[Any, Any]) -> None:
    """Check that no loop of a function but `while` is in it, and that its rounds use no global but the samplers."""
    instructions = list(get_instructions(function.__code__))
    for one in instructions:
        _require(not one.opname.startswith(_FORBIDDEN), f"{function!r} may keep something ({one.opname})")
    ends = [one.argval for one in instructions if "BACKWARD" in one.opname]
    for one in instructions:
        if one.opname.startswith("LOAD_GLOBAL") and one.offset >= min(ends):
            meant = len if one.argval == "len" else used(function, one.argval)
            _require(any(meant is known for known in (len, *samplers)), f"a round uses {one.argval}")


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise Refused(otherwise)


def _require_alike(held: list[tuple[int, dict[str, Any]]], known: tuple[object, ...]) -> None:
    """Check that all rounds begin at one place and with the same, but for what was drawn, and that nothing can change.

    Args:
        held: where each round begins, and the function's variables there.
        known: what stands for the outcomes and the like.
    """
    for place, names in held:
        _require(place == held[0][0] and set(names) == set(held[0][1]), "a round begins elsewhere")
        for name, value in names.items():
            fixed = isinstance(value, Rational | float | str | tuple | NoneType) or any(value is one for one in known)
            _require(fixed or type(value) is _Token, f"{name} can change from round to round")
            drawn = type(value) is _Token and type(held[0][1][name]) is _Token
            _require(drawn or value is held[0][1][name], f"{name} differs from round to round")
