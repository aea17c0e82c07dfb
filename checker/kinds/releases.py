"""Releases of one answer by inversion: which law is drawn for it, and that each output is that draw added to it.

A release runs with an answer that cannot be looked at, on a grid that writes down what is asked of it, and with bits
that hand out opaque draws; many at once are recorded (`checker.kinds.released_chunks`) and their filter is traced. What
they do then they do for every answer, all words and all draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.lending import Token
from checker.kinds.opaque import Opaque, Seen
from checker.kinds.released_chunks import TRIALS, Release, recorded_release
from checker.kinds.trace import Traced, require_unwritten


class Shift(Opaque):
    """The answer less the nearest whole number of steps, in [−½, ½). It can be handed on, and is not read as a float.

    Args:
        double: what a filter gets for it; None for an array that is not known.
    """

    def __init__(self, double: float | None) -> None:
        super().__init__("shift")
        self._double = double

    @property
    def doubles(self) -> Traced | float:
        """What a filter gets for it."""
        return Traced.unknown("shifts", "float64") if self._double is None else self._double


class _Answer(Opaque):
    """The answer in steps of the grid, exactly."""

    def __init__(self, shift: Shift) -> None:
        super().__init__("steps")
        self._shift = shift

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Opaque) and other.same(Opaque("whole")):
            return self._shift
        raise Refused("the answer is used otherwise than by its shift")


SHIFTS = tuple(map(Shift, (None, 0.19634954084936207, -0.4142135623730951, 0.0)))
"""One of which nothing is known, and doubles on both sides of 0 and 0 itself, for a filter that asks for their type."""


@dataclass
class Watched:
    """The grid and the bits of one run, and all that was asked of them.

    Args:
        grid: the real grid, for what depends on public parameters alone.
        shift: the answer less the nearest whole number of steps.
    """

    grid: Any
    shift: Shift
    drawn: list[tuple[Any, ...]] = field(default_factory=list)

    answer = Opaque("the answer")

    def nearest(self, answer: Any) -> Opaque:
        """The whole number of steps nearest to the answer."""
        return self._of_answer(answer, Opaque("whole"))

    def steps_to(self, answer: Any) -> Opaque:
        """The answer in steps."""
        return self._of_answer(answer, _Answer(self.shift))

    def _of_answer(self, answer: Any, found: Opaque) -> Opaque:
        if answer is not self.answer:
            raise Refused("something other than the answer is brought to the grid")
        return found

    def value(self, steps: Any) -> Seen:
        """Return a note of the place that was asked for."""
        return Seen("value", steps)

    def __getattr__(self, name: str) -> Any:
        if name not in ("rounded_sensitivity", "noise_steps", "step"):
            raise Refused(f"the grid is asked for {name}")
        return getattr(self.grid, name)

    def take(self, count: int) -> int:
        """Refuse: all randomness is in words and in draws."""
        raise Refused(f"{count} bits are drawn beside words and draws")

    repeat = words = take

    def call(self, sampler: Any, *arguments: Any) -> Opaque:
        """Hand out a draw."""
        self.drawn.append((sampler, *arguments))
        return Opaque(f"draw {len(self.drawn) - 1}")


@dataclass(frozen=True)
class Released:
    """What a release was found to do.

    Args:
        sampler: what draws `sampler(law, known, width, bits)`.
        law: the law that it is given.
        filtered: the words, the noise and the undecided places that the filter of a fast path computes.
        compared: how much of the release was compared.
    """

    sampler: Callable[..., Any]
    law: Any
    filtered: tuple[Traced, Traced, Traced] | None
    compared: int = 0


WORDS = Traced.unknown("words", "uint64")
"""Stands for the words of any chunk."""

_WORDS = (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210)


def released_once(
    reference: Callable[..., Any], grid: Any, parameters: dict[str, Any], shift: Shift = SHIFTS[0]
) -> Released:
    """Check that `reference(answer, bits, **parameters)` is grid.value(whole + one draw by inversion).

    Raises:
        Refused: it is something else.
    """
    watched = Watched(grid, shift)
    output = reference(watched.answer, watched, **parameters | {"grid": watched})
    if not Seen("value", Opaque("whole", "draw 0")).same(output) or len(watched.drawn) != 1:
        raise Refused(f"the output is {output!r}, not that of one draw")
    (drawn,) = watched.drawn
    sampler, law, known, width = drawn
    if (known, width) != (0, 0):
        raise Refused(f"the draw begins with {width} bits that nobody drew")
    return Released(sampler, law, None)


@dataclass(frozen=True)
class Recorded:
    """A release of many answers, and what its noise may depend on.

    Args:
        release: what was recorded.
        shift: the shift of the answer that an open word is drawn for.
        shifts: what the filter gets for all of them.
    """

    release: Release
    shift: Any
    shifts: Any


def recorded_many(
    fast: Callable[..., Any], grid: Any, parameters: dict[str, Any], shift: Shift = SHIFTS[0]
) -> Recorded:
    """Check that each output of `fast(answer, trials, bits, **parameters)` is that of a word of its own.

    It is grid.value(whole + noise) with the noise that a filter finds for the word, or, where the filter leaves the
    word open, with a noise that is drawn from it and further bits.

    Raises:
        Refused: it does something else.
    """
    watched = Watched(grid, shift)
    release = recorded_release(fast, watched.answer, TRIALS, watched, **parameters | {"grid": watched})
    whole, given, trials = release.repeated
    if not Opaque("whole").same(whole) or (given is not shift and given != Fraction(0)) or trials != TRIALS:
        raise Refused(f"noise is not added to the answer, but to {release.repeated}")
    if (release.bits, release.grid) != (watched, watched) or release.found is not release.drawn:
        raise Refused("the outputs are not those of one word each")
    return Recorded(release, given, shift.doubles if given is shift else 0.0)


def recorded_each(each: Callable[..., Any], grid: Any, parameters: dict[str, Any]) -> Recorded:
    """Check the same of `each(answers, bits, **parameters)`, for each of several answers.

    The filter gets their shifts as an array that is not known.
    """
    shift, answers = SHIFTS[0], Token()
    watched = Watched(grid, shift)
    release = recorded_release(each, answers, watched, **parameters | {"grid": watched})
    if release.several != (answers, watched):
        raise Refused("noise is added to something other than the answers")
    if (release.bits, release.grid) != (watched, watched) or release.found is not release.drawn:
        raise Refused("the outputs are not those of one word each")
    return Recorded(release, shift, shift.doubles)


def inverted(recorded: Recorded, grid: Any) -> Released:
    """Trace the filter of a release, and see which law undecided words are drawn from, with all of their bits.

    Raises:
        Refused: an undecided word is drawn for otherwise than by an inversion that begins with its 64 bits.
    """
    release, shift, shifts = recorded.release, recorded.shift, recorded.shifts
    noise, undecided = release.decide(shifts, WORDS)
    require_unwritten(WORDS, "the array of words")
    if isinstance(shifts, Traced):
        require_unwritten(shifts, "the array of shifts")
    drawn: list[tuple[Any, ...]] = []
    for word in _WORDS:
        source = Watched(grid, SHIFTS[0])
        if not Opaque("draw 0").same(release.resolve(shift, word, source)) or len(source.drawn) != 1:
            raise Refused("an undecided word is not drawn for once")
        sampler, law, *start = source.drawn[0]
        if start != [word, 64]:
            raise Refused("an undecided word is not drawn for with its 64 bits")
        drawn.append((sampler, law))
    sampler, law = drawn[0]
    if any(one is not sampler or not _same_law(other, law) for one, other in drawn):
        raise Refused("the law that undecided words are drawn from differs from draw to draw")
    return Released(sampler, law, (WORDS, noise, undecided), release.require(grid))


def _same_law(one: Any, other: Any) -> bool:
    return (
        type(one) is type(other)
        and fields_of(one).keys() == fields_of(other).keys()
        and all(
            mine is others or (isinstance(mine, Fraction) and mine == others)
            for mine, others in zip(fields_of(one).values(), fields_of(other).values(), strict=True)
        )
    )


def fields_of(law: Any) -> dict[str, Any]:
    """Return what a law is made of."""
    return dict(vars(law))


def concrete_law(reference: Callable[..., Any], answer: Any, parameters: dict[str, Any]) -> Any:
    """Return the law that a reference draws from for an answer."""

    class Caught(Exception):
        pass

    class Bits:
        def call(self, sampler: Any, law: Any, *others: Any) -> Any:  # noqa: ARG002
            raise Caught(law)

    try:
        reference(answer, Bits(), **parameters)
    except Caught as caught:
        return caught.args[0]
    raise Refused("the reference draws nothing")
