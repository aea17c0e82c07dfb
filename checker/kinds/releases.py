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
from checker.kinds.opaque import Opaque
from checker.kinds.trace import Step, Traced, reading, step_of

_WORDS = (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210)
"""What undecided words are made to be."""


class Shift(Opaque):
    """The answer less the nearest whole number of steps, in [−½, ½); as a float it is one that the trace knows."""

    def __init__(self, tag: float) -> None:
        super().__init__("shift")
        self.tag = tag

    def __float__(self) -> float:
        return self.tag


class _Answer(Opaque):
    """The answer in steps of the grid, exactly."""

    def __init__(self, shift: Shift) -> None:
        super().__init__("steps")
        self._shift = shift

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Opaque) and other.same(Opaque("whole")):
            return self._shift
        raise Refused("the answer is used otherwise than by its shift")


SHIFTS = tuple(map(Shift, (0.19634954084936207, -0.4142135623730951, 0.0)))
"""On both sides of 0, and 0 itself."""


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
        shift: the answer less the nearest whole number of steps.
    """

    grid: Any
    shift: Shift
    undecided: Callable[[int], Sequence[int]] = lambda size: ()  # noqa: ARG005
    chunks: list[int] = field(default_factory=list)
    drawn: list[tuple[Any, ...]] = field(default_factory=list)
    numbers: dict[float, tuple[Any, ...]] = field(default_factory=dict)
    noise: list[Step] = field(default_factory=list)
    listed: list[Step] = field(default_factory=list)

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
        self.noise.append(noise.step)
        for place in range(len(outputs)):
            outputs[place] = self._number(("noise", len(self.chunks) - 1, place))

    def __getattr__(self, name: str) -> Any:
        if name not in ("rounded_sensitivity", "noise_steps", "step"):
            raise Refused(f"the grid is asked for {name}")
        return getattr(self.grid, name)

    def words(self, count: int) -> Traced:
        """Hand out words that nothing is known of."""
        self.chunks.append(int(count))
        return _words_of(len(self.chunks) - 1)

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
        if step is not _words_of(len(self.chunks) - 1).step:
            raise Refused("something other than a word of the chunk is resolved")
        return word_at(len(self.chunks) - 1, place)

    def _number(self, key: tuple[Any, ...]) -> float:
        number = float(len(self.numbers) + 1)
        self.numbers[number] = key
        return number


def _words_of(chunk: int) -> Traced:
    return Traced.unknown(f"words of chunk {chunk}", "uint64")


WORDS = Traced.unknown("words", "uint64")
"""Stands for the words of any chunk."""


def _of_words(step: Any, chunk: int, known: dict[Any, Any]) -> Any:
    """Rewrite what was computed of the words of one chunk as if it were computed of `WORDS`."""
    if not isinstance(step, Step) or step.operation in ("constant", "table"):
        return step
    if step not in known:
        if step.operation == "unknown" and step is not _words_of(chunk).step:
            raise Refused(f"the noise of chunk {chunk} depends on {step!r}")
        if step.operation == "unknown":
            known[step] = WORDS.step
        else:
            operands = tuple(_of_words(one, chunk, known) for one in step.operands)
            known[step] = step_of(step.operation, step.kind, *operands)
    return known[step]


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


def released_once(
    reference: Callable[..., Any], grid: Any, parameters: dict[str, Any], shift: Shift = SHIFTS[0]
) -> Released:
    """Check that `reference(answer, bits, **parameters)` is grid.value(whole + one draw by inversion).

    Raises:
        Refused: it is something else.
    """
    watched = Watched(grid, shift)
    output = reference(watched.answer, watched, **parameters | {"grid": watched})
    if not isinstance(output, _Written) or watched.numbers != {float(output): ("draw", 0)} or watched.chunks:
        raise Refused(f"the output is {output!r}, not that of one draw")
    (drawn,) = watched.drawn
    sampler, law, known, width = drawn
    if (known, width) != (0, 0):
        raise Refused(f"the draw begins with {width} bits that nobody drew")
    return Released(sampler, law, None)


def released_many(
    fast: Callable[..., Any], grid: Any, parameters: dict[str, Any], shift: Shift = SHIFTS[0]
) -> tuple[Released, int]:
    """Check that each output of `fast(answer, trials, bits, **parameters)` is that of a word of its own.

    It is grid.value(whole + noise) with the noise that a filter finds for the word, or, where the filter leaves the
    word open, grid.value(whole + a draw by inversion whose uniform begins with the 64 bits of the word).

    Returns:
        What it does, and how many outputs were looked at.

    Raises:
        Refused: it does something else.
    """
    drawn: list[tuple[Any, ...]] = []
    filters: set[tuple[Step, Step]] = set()
    for trials, undecided in _CASES:
        watched = Watched(grid, shift, undecided)
        with reading(watched.read):
            released = fast(watched.answer, trials, watched, **parameters | {"grid": watched})
        _require_outputs(released.tolist(), watched, trials)
        drawn += watched.drawn
        for chunk, both in enumerate(zip(watched.noise, watched.listed, strict=True)):
            known: dict[Any, Any] = {}
            noise, step = (_of_words(one, chunk, known) for one in both)
            filters.add((noise, step))
    if len(filters) != 1 or not drawn:
        raise Refused("the filter differs from chunk to chunk, or nothing is handed on")
    sampler, law = drawn[0][:2]
    if any(one is not sampler or not _same_law(other, law) for one, other, *_ in drawn):
        raise Refused("the law that undecided words are drawn from differs from draw to draw")
    noise, step = filters.pop()
    return Released(sampler, law, (WORDS, Traced.of(noise), Traced.of(step))), sum(trials for trials, _ in _CASES)


def _none(size: int) -> Sequence[int]:  # noqa: ARG001
    return ()


def _ends(size: int) -> Sequence[int]:
    return sorted({0, size // 2, size - 1})


def _all_of_few(size: int) -> Sequence[int]:
    return range(min(size, 40))


_CASES = (
    (0, _none),
    (1, _none),
    (1, _ends),
    (2, _all_of_few),
    (100, _all_of_few),
    (8192, _all_of_few),
    (8193, _ends),
    (16390, _none),
)
"""Numbers of trials, about the borders of chunks, and which words of a chunk are undecided."""


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
