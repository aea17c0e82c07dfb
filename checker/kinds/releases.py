"""Releases of one answer by inversion: which law is drawn for it, and that each output is that draw added to it.

A release runs with an answer that cannot be looked at, on a grid that writes down what is asked of it, and with bits
that hand out traced words and opaque draws. What it does then it does for every answer, all words and all draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.trace import Step, Traced, reading
from checker.kinds.opaque import Opaque

_CHUNKS = (0, 1, 2, 8191, 8192, 8193, 20000)
"""Numbers of trials that are tried: none, few, and about the borders of chunks."""

_WORDS = (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210)
"""What undecided words are made to be."""


class Answer(Opaque):
    """The answer in steps of the grid, exactly; its difference from the nearest whole number of steps is the shift."""

    def __sub__(self, other: Any) -> Any:
        if type(other) is Opaque and (other.unknowns, other.plus) == (("whole",), 0):
            return SHIFT
        raise Refused("the answer is used otherwise than by its shift")


class Shift(Opaque):
    """The answer less the nearest whole number of steps, in [−½, ½); as a float it is one that the trace knows."""

    tag = float.fromhex("0x1.921fb54442d18p-3")

    def __float__(self) -> float:
        return self.tag


SHIFT = Shift("shift")


class _Written(Opaque):
    """grid.value(whole + draw): written to an array it is a number that stands for it."""

    def __init__(self, number: float) -> None:
        super().__init__("output")
        self._number = number

    def __float__(self) -> float:
        return self._number


@dataclass
class Watched:
    """The grid and the bits of one run, and all that was asked of them.

    Args:
        grid: the real grid, for what depends on public parameters alone.
        undecided: the places of each chunk that the filter is to leave open.
    """

    grid: Any
    undecided: Callable[[int], Sequence[int]] = lambda size: ()  # noqa: E731, ARG005
    chunks: list[int] = field(default_factory=list)
    drawn: list[tuple[Any, ...]] = field(default_factory=list)
    numbers: dict[float, tuple[Any, ...]] = field(default_factory=dict)
    noise: list[tuple[Traced, Step]] = field(default_factory=list)
    listed: list[Step] = field(default_factory=list)

    answer = Opaque("the answer")

    def nearest(self, answer: Any) -> Opaque:
        """The whole number of steps nearest to the answer."""
        return self._of_answer(answer, Opaque("whole"))

    def steps_to(self, answer: Any) -> Opaque:
        """The answer in steps."""
        return self._of_answer(answer, Answer("steps"))

    def _of_answer(self, answer: Any, found: Opaque) -> Opaque:
        if answer is not self.answer:
            raise Refused("something other than the answer is brought to the grid")
        return found

    def value(self, steps: Any) -> _Written:
        """The output at whole + draw."""
        for place in range(len(self.drawn)):
            if isinstance(steps, Opaque) and steps.same(Opaque("whole", f"draw {place}")):
                return _Written(self._number(("draw", place)))
        raise Refused(f"an output is not the answer plus a draw, but {steps!r}")

    def write_values(self, whole: Any, noise: Any, outputs: Any) -> None:
        """Write the outputs at whole + noise."""
        if not (isinstance(whole, Opaque) and whole.same(Opaque("whole"))) or not isinstance(noise, Traced):
            raise Refused("noise is not added to the answer")
        if len(self.chunks) != len(self.noise) + 1 or len(outputs) != self.chunks[-1]:
            raise Refused("a chunk of outputs is not written once for each chunk of words")
        self.noise.append((noise, noise.step))
        for place in range(len(outputs)):
            outputs[place] = self._number(("noise", len(self.chunks) - 1, place))

    def __getattr__(self, name: str) -> Any:
        if name not in ("rounded_sensitivity", "noise_steps", "step"):
            raise Refused(f"the grid is asked for {name}")
        return getattr(self.grid, name)

    def words(self, count: int) -> Traced:
        """Hand out words that nothing is known of."""
        self.chunks.append(int(count))
        return Traced.unknown("words", "uint64")

    def take(self, count: int) -> int:
        """Refuse: all randomness is in words and in draws."""
        raise Refused(f"{count} bits are drawn beside words and draws")

    repeat = take

    def call(self, sampler: Any, *arguments: Any) -> Opaque:
        """Hand out a draw."""
        self.drawn.append((sampler, *arguments))
        return Opaque(f"draw {len(self.drawn) - 1}")

    def read(self, step: Step, place: int | None) -> Any:
        """Give the places that are undecided, or a word."""
        if place is None:
            self.listed.append(step)
            return list(self.undecided(self.chunks[-1]))
        if step.operation != "unknown":
            raise Refused("something other than a word is resolved")
        return word_at(len(self.chunks) - 1, place)

    def _number(self, key: tuple[Any, ...]) -> float:
        number = float(len(self.numbers) + 1)
        self.numbers[number] = key
        return number


def word_at(chunk: int, place: int) -> int:
    """Return the word that stands at a place of a chunk where it is undecided."""
    return _WORDS[(3 * chunk + place) % len(_WORDS)] ^ (place << 8 & 0xFFFF00)


@dataclass(frozen=True)
class Released:
    """What a release was found to do.

    Args:
        sampler: what draws `sampler(law, known, width, bits)`.
        law: the law that it is given.
        filtered: the words, the noise and the undecided places that the filter of a fast path computes.
    """

    sampler: Callable[..., Any]
    law: Any
    filtered: tuple[Traced, Traced, Traced] | None


def released_once(reference: Callable[..., Any], grid: Any, parameters: dict[str, Any]) -> Released:
    """Check that `reference(answer, bits, **parameters)` is grid.value(whole + one draw by inversion).

    Raises:
        Refused: it is something else.
    """
    watched = Watched(grid)
    output = reference(watched.answer, watched, **parameters | {"grid": watched})
    if not isinstance(output, _Written) or watched.numbers != {float(output): ("draw", 0)} or watched.chunks:
        raise Refused(f"the output is {output!r}, not that of one draw")
    (drawn,) = watched.drawn
    sampler, law, known, width = drawn
    if (known, width) != (0, 0):
        raise Refused(f"the draw begins with {width} bits that nobody drew")
    return Released(sampler, law, None)


def released_many(fast: Callable[..., Any], grid: Any, parameters: dict[str, Any]) -> tuple[Released, int]:
    """Check that each output of `fast(answer, trials, bits, **parameters)` is that of a word of its own.

    It is grid.value(whole + noise) with the noise that a filter finds for the word, or, where the filter leaves the
    word open, grid.value(whole + a draw by inversion whose uniform begins with the 64 bits of the word).

    Returns:
        What it does, and how many outputs were looked at.

    Raises:
        Refused: it does something else.
    """
    found: list[Released] = []
    outputs = 0
    for trials in _CHUNKS:
        for undecided in (_none, _ends, _all_of_few):
            watched = Watched(grid, undecided)
            with reading(watched.read):
                released = fast(watched.answer, trials, watched, **parameters | {"grid": watched})
            outputs += trials
            _require_outputs(released.tolist(), watched, trials)
            found += [Released(call[0], call[1], None) for call in watched.drawn]
            found += [
                Released(None, None, (Traced.unknown("words", "uint64"), Traced.of(noise), Traced.of(step)))  # type: ignore[arg-type]
                for (_, noise), step in zip(watched.noise, watched.listed, strict=True)
            ]
    draws = [one for one in found if one.filtered is None]
    filters = [one.filtered for one in found if one.filtered is not None]
    steps = {tuple(one.step for one in group) for group in filters}
    if len(steps) != 1 or not draws:
        raise Refused("the filter differs from chunk to chunk, or nothing is handed on")
    if any(one.sampler is not draws[0].sampler or not _same_law(one.law, draws[0].law) for one in draws):
        raise Refused("the law that undecided words are drawn from differs from draw to draw")
    return Released(draws[0].sampler, draws[0].law, filters[0]), outputs


def _none(size: int) -> Sequence[int]:  # noqa: ARG001
    return ()


def _ends(size: int) -> Sequence[int]:
    return sorted({0, size // 2, size - 1})


def _all_of_few(size: int) -> Sequence[int]:
    return range(min(size, 40))


def _require_outputs(released: list[float], watched: Watched, trials: int) -> None:
    """Check that each output is that of its own word, and each undecided word is drawn for once, in order."""
    if len(released) != trials or sum(watched.chunks) != trials or len(watched.noise) != len(watched.chunks):
        raise Refused(f"{trials} trials give {len(released)} outputs of {sum(watched.chunks)} words")
    expected: list[tuple[Any, ...]] = []
    drawn: list[tuple[int, int]] = []
    for chunk, size in enumerate(watched.chunks):
        handed_on = {place: len(drawn) + order for order, place in enumerate(watched.undecided(size))}
        drawn += [(word_at(chunk, place), 64) for place in handed_on]
        expected += [
            ("draw", handed_on[place]) if place in handed_on else ("noise", chunk, place) for place in range(size)
        ]
    if [watched.numbers.get(one) for one in released] != expected:
        raise Refused("an output is not that of its own word")
    if [call[2:] for call in watched.drawn] != drawn:
        raise Refused("an undecided word is not drawn for with its 64 bits")


def _same_law(one: Any, other: Any) -> bool:
    return type(one) is type(other) and fields_of(one).keys() == fields_of(other).keys() and all(
        mine is others or (isinstance(mine, Fraction) and mine == others)
        for mine, others in zip(fields_of(one).values(), fields_of(other).values(), strict=True)
    )


def require_same_law(one: Any, other: Any) -> None:
    """Check that two laws are of one class and have the same fields.

    Raises:
        Refused: they differ.
    """
    if not _same_law(one, other):
        raise Refused(f"the fast path hands undecided words to {other!r}, the reference draws from {one!r}")


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


