"""Releases of plain answers, of every type that a number can have, beside the runs with unknown ones.

A run with an unknown answer speaks of all answers as long as nobody asks for its type. So the same functions run with
plain numbers as well, and must return what the unknown one says of them.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.open_words import WORD, NoBits
from checker.kinds.word_runs import GivenWords

LIMIT = 1 << 53
"""The steps from 0 to an end of a grid."""

HALF = Fraction(1, 2)
SHIFTS = tuple(Fraction(sign * steps, 1 << 30) for steps in (1, 503316480, (1 << 29) - 1) for sign in (1, -1))
"""Near 0, ±0.469, and near ±½; doubles have them exactly."""

NOISE = (0, 1, -1, 1_000_003)
TRIALS = (0, 1, 2, 5)


def numbers() -> Iterator[tuple[Any, Fraction]]:
    """Give numbers of all types, each with the value that it stands for; infinities are left out."""
    arrays, bignums = importlib.import_module("numpy"), importlib.import_module("gmpy2")
    for value in (Fraction(0), Fraction(1), Fraction(-3), Fraction(5, 2), Fraction(-123457, 64)):
        whole, near = int(value), float(value)
        yield from ((value, value), (near, value), (Decimal(near), value), (bignums.mpq(value), value))
        yield from ((type("Float", (float,), {})(near), value), (bignums.mpfr(near), value))
        yield from ((kind(near), value) for kind in (arrays.float32, arrays.float64, arrays.longdouble, arrays.array))
        yield from ((kind(whole), Fraction(whole)) for kind in (int, bignums.mpz, arrays.int64, arrays.int32))
    yield from ((True, Fraction(1)), (False, Fraction(0)), (arrays.bool_(True), Fraction(1)))
    yield from (
        (-0.0, Fraction(0)),
        (5e-324, Fraction(5e-324)),
        (arrays.float16(0.1), Fraction(float(arrays.float16(0.1)))),
    )
    yield from ((Fraction(1, 3), Fraction(1, 3)), (Decimal("0.1"), Fraction(1, 10)), (arrays.uint8(200), Fraction(200)))


def missing() -> Iterator[Any]:
    """Give what stands for no number."""
    arrays = importlib.import_module("numpy")
    yield from (math.nan, None, Decimal("NaN"), arrays.float32(math.nan), arrays.ma.masked, arrays.array(math.nan))


def answers(step: Fraction) -> list[tuple[Any, Fraction]]:
    """Return answers with the number of steps that they are above 0, clamped to the grid; what is missing is at 0."""
    found = [(answer, min(max(value / step, Fraction(-LIMIT)), Fraction(LIMIT))) for answer, value in numbers()]
    found += [(kind(shift * step), shift) for shift in SHIFTS for kind in (Fraction, float)]
    found += [(answer, Fraction(0)) for answer in missing()]
    for infinite in (math.inf, Decimal("Infinity"), importlib.import_module("numpy").float64(math.inf)):
        found += [(infinite, Fraction(LIMIT)), (-infinite, Fraction(-LIMIT))]
    return found


class OneCall:
    """A source for one call, whose outcome is given.

    Attributes:
        asked: who was called, and with what.
    """

    def __init__(self, outcome: int) -> None:
        self._outcome = outcome
        self.asked: list[tuple[Any, ...]] = []

    def call(self, sampler: Any, *arguments: Any) -> int:
        """Return the outcome."""
        self.asked.append((sampler, *arguments))
        return self._outcome


def point(steps: int, step: Fraction) -> float:
    """Return the point of the grid at a number of steps, or its nearest end."""
    return float(min(max(steps, -LIMIT), LIMIT) * step)


def require_point(found: Any, steps: int, step: Fraction, answer: Any) -> None:
    """Check that a release is a float, and the point of the grid at a number of steps."""
    expected = point(steps, step)
    if type(found) is not float or found.hex() != expected.hex():
        raise Refused(f"{answer!r} of type {type(answer).__name__} is released as {found!r}, not {expected!r}")


def require_plain_releases(
    reference: Callable[[Any, Any], Any], step: Fraction, drawn_with: Callable[[Fraction, tuple[Any, ...]], bool]
) -> tuple[Any, int]:
    """Check that `reference(answer, bits)` is the point of the grid nearest to the answer, moved by one draw.

    Args:
        reference: the release.
        step: of the grid.
        drawn_with: `drawn_with(shift, arguments)`: whether a draw's arguments are those for an answer that is so many
            steps above the point nearest to it.

    Returns:
        The sampler of the draw, and how many releases were looked at.

    Raises:
        Refused: it is something else for some type of answer.
    """
    samplers: list[Any] = []
    known = answers(step)
    for answer, place in known:
        whole = (place + HALF).__floor__()
        for noise in NOISE:
            source = OneCall(noise)
            require_point(reference(answer, source), whole + noise, step, answer)
            if len(source.asked) != 1 or not drawn_with(place - whole, source.asked[0][1:]):
                raise Refused(f"{answer!r} of type {type(answer).__name__} is released with {source.asked}")
            samplers.append(source.asked[0][0])
    if any(one is not samplers[0] for one in samplers):
        raise Refused("who draws the noise depends on the answer")
    return samplers[0], len(samplers)


def require_plain_trials(
    fast: Callable[[Any, int, Any], Any],
    step: Fraction,
    draws: Callable[[Fraction, int, int], bool],
) -> int:
    """Check that each output of `fast(answer, trials, bits)` is the answer's point of the grid, moved by a draw.

    Args:
        fast: the releases.
        step: of the grid.
        draws: `draws(shift, word, noise)`: whether a draw that begins with that word is that noise.

    Returns:
        How many outputs were looked at.

    Raises:
        Refused: one is something else.
    """
    random, looked_at = Random(20261123), 0
    for count, (answer, place) in enumerate(answers(step)):
        whole = (place + HALF).__floor__()
        for trials in TRIALS if count < 2 else TRIALS[1 + count % 3 :][:1]:
            words = [random.getrandbits(WORD) for _ in range(trials)]
            found = fast(answer, trials, GivenWords(words, (0, 1)))
            if found.dtype.name != "float64" or found.shape != (trials,):
                raise Refused(f"{trials} outputs for {answer!r} are of type {found.dtype} and shape {found.shape}")
            for word, output in zip(words, found.tolist(), strict=True):
                steps = Fraction(output) / step
                inside = abs(steps) < LIMIT
                if steps.denominator != 1 or (inside and not draws(place - whole, word, int(steps) - whole)):
                    raise Refused(f"{answer!r} of type {type(answer).__name__} is released as {output!r} on {word}")
                if not inside and abs(whole) < LIMIT // 2:
                    raise Refused(f"{answer!r} of type {type(answer).__name__} is released as {output!r}")
                looked_at += 1
    return looked_at


NO_BITS = NoBits().take
"""For draws that their words decide, as all but one in millions do."""
