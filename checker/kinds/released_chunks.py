"""Releases a chunk at a time: to each answer, one repeated or many different ones, noise of its own is added.

A mechanism makes `RepeatedAnswer` or `SeveralAnswers` and hands it to `release_in_chunks` with what finds its noise.
All three are replaced by recorders while a mechanism runs on unknown answers, and are then looked at by themselves: the
loop with stand-ins for the noise (lemma `chunks`), the answers' places on the grid by their trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.chunks import COUNTS, Source
from checker.kinds.grids import LIMIT, require_steps, require_values
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.look_ups import require_look_ups
from checker.kinds.plain_answers import answers as plain_answers
from checker.kinds.trace import Traced, apply, require_same, require_unwritten

TRIALS = 3
"""The trials that a release is asked for where nobody looks at them."""

HALF = Fraction(1, 2)
_NONE = Token()
_WHOLE, _SHIFT = 3**20, Fraction(1 / 3) / (1 << 17)
_FAR = 3**31


@dataclass(frozen=True)
class Release:
    """What a mechanism was seen to hand on.

    Attributes:
        function: the mechanism.
        repeated: the arguments of `RepeatedAnswer`, if it was called.
        several: those of `SeveralAnswers`, if it was called.
        bits, grid, decide, resolve: those of `release_in_chunks`.
        drawn: what that returned.
        found: what the mechanism returned.
    """

    function: Callable[..., Any]
    repeated: tuple[Any, ...]
    several: tuple[Any, ...]
    bits: Any
    grid: Any
    decide: Callable[..., Any]
    resolve: Callable[..., Any]
    drawn: Any
    found: Any

    def without_shift(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return `decide(words)` and `resolve(word, bits)` of noise that does not depend on the answers' shifts."""
        return (lambda words: self.decide(_NONE, words)), _Bound(self.resolve)

    def require(self, grid: Any) -> int:
        """Check the loop, and the answers that were used, on a real grid; return how much was compared."""
        step = Fraction(2) ** grid.exponent
        compared = require_release(used(self.function, "release_in_chunks"))
        compared += require_values(grid, step)
        if self.repeated:
            compared += require_repeated(used(self.function, "RepeatedAnswer"))
        if self.several:
            compared += require_several(used(self.function, "SeveralAnswers"), grid, step)
        return compared


class _Bound:
    """A function whose first argument nobody may look at."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__globals__ = function.__globals__
        self.__module__ = function.__module__

    def __call__(self, *arguments: Any) -> Any:
        return self._function(_NONE, *arguments)


class Drawn:
    """What a release draws: it can be given a shape, once."""

    def __init__(self) -> None:
        self.shape: Any = None

    def reshape(self, shape: Any) -> Drawn:
        """Take a shape."""
        if self.shape is not None:
            raise Refused("outputs are given a shape twice")
        self.shape = shape
        return self


class Shaped(Token):
    """Several answers, of which only the shape can be asked."""

    def __init__(self) -> None:
        self.shape = Token()


def recorded_release(function: Callable[..., Any], *arguments: Any, **parameters: Any) -> Release:
    """Run a mechanism once, with recorders for the answers and for the release.

    Raises:
        Refused: it does not make one kind of answers and release them once.
    """
    drawn, answers = Drawn(), Shaped()
    repeating, listing = Recorder(answers), Recorder(answers)
    releases: list[tuple[tuple[Any, ...], Mapping[str, Any]]] = []

    def releasing(*given: Any, **named: Any) -> Drawn:
        releases.append((given, named))
        return drawn

    with lent(function, release_in_chunks=releasing, RepeatedAnswer=repeating, SeveralAnswers=listing):
        found = function(*arguments, **parameters)
    if len(releases) != 1 or len(repeating.calls) + len(listing.calls) != 1:
        raise Refused("a mechanism does not release its answers once")
    (given, bits), named = releases[0]
    if given is not answers or set(named) != {"grid", "decide", "resolve"}:
        raise Refused("something other than the answers is released")
    if listing.calls and drawn.shape is not answers.shape:
        raise Refused("the outputs do not have the shape of the answers")
    repeated, several = (one.calls[0] if one.calls else () for one in (repeating, listing))
    return Release(function, repeated, several, bits, named["grid"], named["decide"], named["resolve"], drawn, found)


class _Numbered:
    """Answers that are known by their number: the i-th is 3^20·i whole steps and a shift of i/3·2^−17.

    So every number has as many digits as a double, and a loop that holds it in less shows itself.
    """

    def __init__(self, count: int, *, repeated: bool) -> None:
        self._count, self._repeated = count, repeated

    def __len__(self) -> int:
        return self._count

    def part(self, start: int, stop: int) -> tuple[Any, Any]:
        if self._repeated:
            return float(_WHOLE), float(_SHIFT)
        numbers = Source.numbers(start, stop)
        return numbers * float(_WHOLE), numbers * float(_SHIFT)

    def at(self, place: int) -> tuple[int, Fraction]:
        return (_WHOLE, _SHIFT) if self._repeated else (place * _WHOLE, place * _SHIFT)


class _Grid:
    """A grid that adds, and does nothing else."""

    def write_values(self, whole: Any, noise: Any, outputs: Any) -> None:
        outputs[:] = whole + noise

    def value(self, steps: int) -> float:
        return float(steps)


def require_release(release_in_chunks: Callable[..., Any]) -> int:
    """Check that each answer gets noise of its own word, for numbers of answers about the ends of chunks.

    The i-th output is grid.value(whole + noise), the noise that `decide` finds for the i-th shift and a word that no
    other draw has, or if that is undecided what `resolve` finds for that very shift, this word and further bits.

    Returns:
        How many outputs were compared.
    """
    compared = 0
    for repeated, counts in ((False, COUNTS), (True, (0, 1, 100, 16385))):
        for count in counts:
            answers, source = _Numbered(count, repeated=repeated), Source()
            decided, resolved = list[tuple[Any, ...]](), list[tuple[Any, ...]]()

            def decide(shifts: Any, words: Any, decided: list[tuple[Any, ...]] = decided) -> tuple[Any, Any]:
                each = [shifts] * len(words) if type(shifts) is float else shifts.tolist()
                decided.extend(zip(each, words.tolist(), strict=True))
                noise = (words >> words.dtype.type(12)).astype(float)
                return noise, (words % words.dtype.type(5) == 0).nonzero()[0]

            def resolve(shift: Any, word: int, bits: Any, resolved: list[tuple[Any, ...]] = resolved) -> int:
                resolved.append((shift, word, bits.take(1)))
                return _FAR + len(resolved)

            outputs = release_in_chunks(answers, source, grid=_Grid(), decide=decide, resolve=resolve)
            if outputs.dtype.name != "float64" or outputs.shape != (count,) or source.drawn != count:
                raise Refused(f"{count} answers give {outputs.shape} outputs of {source.drawn} words")
            if len({word for _, word in decided}) != source.drawn or len(decided) != count:
                raise Refused("two draws share a word")
            handed_on = 0
            for place, ((shift, word), output) in enumerate(zip(decided, outputs.tolist(), strict=True)):
                whole, exact = answers.at(place)
                expected = float(whole + (word >> 12))
                if word % 5 == 0:
                    handed_on += 1
                    expected = float(whole + _FAR + handed_on)
                    if resolved[handed_on - 1] != (exact, word, handed_on):
                        raise Refused("an undecided draw does not go on with its own word, its own shift and new bits")
                if shift != float(exact) or output != expected:
                    raise Refused(f"output {place} of {count} is {output}, not {expected}")
            if handed_on != len(resolved):
                raise Refused("a draw is resolved that was decided")
            compared += count
    return compared


def require_repeated(repeated: Callable[..., Any]) -> int:
    """Check that one answer is the same for each trial, and its doubles are those nearest to it (lemma `chunks`)."""
    tried = 0
    for whole in (0, 1, -5, LIMIT, -LIMIT):
        for shift in (Fraction(0), -HALF, Fraction(1, 3), Fraction(2**52 + 1, 2**54), HALF - Fraction(1, 1 << 80)):
            for trials in (0, 1, 5, 10**6):
                answers = repeated(whole, shift, trials)
                for place in (0, 1, 20_000):
                    doubles = answers.part(place, place + 3)
                    if doubles != (float(whole), float(shift)) or answers.at(place) != (whole, shift):
                        raise Refused(f"an answer of {whole} + {shift} steps is {answers.at(place)}, or {doubles}")
                if math.copysign(1.0, doubles[0]) < 0 <= whole:
                    raise Refused("an answer of 0 steps is −0")
                if len(answers) != trials or type(doubles[0]) is not float or type(doubles[1]) is not float:
                    raise Refused(f"{trials} trials are {len(answers)}")
                tried += 1
    return tried


def require_several(several: Callable[..., Any], grid: Any, step: Fraction) -> int:
    """Check that each of several answers is brought to the grid by itself: the nearest whole number and a shift.

    Arrays of doubles are traced (`_split`). For answers of all types, alone and beside others, `at` gives what
    `grid.steps_to` says, and `part` gives doubles that are those numbers rounded.

    Returns:
        How many answers were tried.
    """
    given = Traced.unknown("answers", "float64")
    require_same(grid.split(given), _split(Traced.unknown("answers", "float64"), step), "answers brought to the grid")
    require_unwritten(given, "the array of answers")
    tried = require_steps(grid, step) + require_look_ups()
    known = plain_answers(step)
    lists = [[one] for one in known] + [known, known[:30] * 12]
    lists += [[one for one in known if type(one[0]) is float] * repeats for repeats in (1, 40)]
    for each in lists:
        numbers, places = [answer for answer, _ in each], [place for _, place in each]
        _require_places(several(numbers, grid), places, (len(each),))
        tried += len(each)
    halves = [Fraction(odd, 2) for odd in range(-9, 10, 2)]
    _require_places(several([place * step for place in halves], grid), halves, (len(halves),))
    for values, shape in [*_arrays(), (Source.array([float(place * step) for place in halves]), (len(halves),))]:
        flat = values.reshape(-1).tolist()
        places = [_place(one, step) for one in flat]
        _require_places(several(values, grid), places, shape)
        tried += len(places)
    return tried


def _split(answers: Traced, step: Fraction) -> tuple[Traced, Traced]:
    """Write down how many doubles are brought to a grid.

    With y = x/step, 2y is exact unless it is below 2^−1022 or overflows, and then it is clamped or rounded as the exact
    number would be. ⌊2y⌋ and halves are exact, and ⌈⌊2y⌋/2⌉ = ⌊y + ½⌋. A whole number within ½ of y is 0, or within a
    factor of 2 of y, so that the difference is exact. Adding 0 leaves no whole number −0.
    """
    doubled = answers * float(2 / step)
    doubled[apply("isnan", doubled)] = 0.0
    clamped = apply("clip", doubled, -2.0 * LIMIT, 2.0 * LIMIT)
    wholes = apply("ceil", apply("floor", clamped) * 0.5) + 0.0
    return wholes, clamped * 0.5 - wholes


def _place(value: Any, step: Fraction) -> Fraction:
    if value != value:
        return Fraction(0)
    if math.isinf(value):
        return Fraction(LIMIT if value > 0 else -LIMIT)
    return min(max(Fraction(value) / step, Fraction(-LIMIT)), Fraction(LIMIT))


def _arrays() -> list[tuple[Any, tuple[int, ...]]]:
    """Return arrays of several types, shapes and layouts."""
    doubles = Source.array(
        [
            *(0.0, -0.0, 0.5, -0.5, 0.49999999999999994, 2.5, -2.5, 1e300, -1e300, 5e-324, -5e-324, 2.0**52 + 1),
            *(2.0**53, math.inf, -math.inf, math.nan, 1 / 3, -1 / 3),
        ]
    )
    integers = Source.array([0, 1, -1, 7, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 5, 6, 7, 8])
    found = [(doubles, (18,)), (doubles.reshape(3, 6), (3, 6)), (doubles.reshape(6, 3).T, (3, 6)), (doubles[::2], (9,))]
    found += [(doubles[:0], (0,)), (doubles[:0].reshape(0, 4), (0, 4)), (doubles[4:5].reshape(()), ())]
    found += [(integers, (12,)), (integers.reshape(2, 2, 3), (2, 2, 3)), (integers.astype(object), (12,))]
    found += [(doubles[:7].astype("float32"), (7,)), (integers > 1, (12,)), (Source.numbers(0, 40_000) / 7, (40_000,))]
    return found


def _require_places(answers: Any, places: list[Fraction], shape: tuple[int, ...]) -> None:
    if answers.shape != shape or len(answers) != len(places):
        raise Refused(f"answers of shape {shape} are taken for {answers.shape}")
    wholes, shifts = answers.part(0, len(places))
    for number, (place, whole, shift) in enumerate(zip(places, wholes.tolist(), shifts.tolist(), strict=True)):
        expected = (place + HALF).__floor__()
        found = answers.at(number)
        if found != (expected, place - expected) or (type(found[0]), type(found[1])) != (int, Fraction):
            raise Refused(f"an answer {place} steps above 0 is brought to {found}")
        if whole != expected or abs(Fraction(shift) - (place - expected)) > Fraction(1, 1 << 54):
            raise Refused(f"an answer {place} steps above 0 is brought to {whole} and {shift}")
        if math.copysign(1.0, whole) < 0 <= expected:
            raise Refused(f"an answer {place} steps above 0 is brought to −0, which a sum with −0 shows")
