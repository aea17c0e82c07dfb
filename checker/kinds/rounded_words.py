"""⌊offset ± scale·E⌋ out of a word whose first bit is the sign: for every word, and for an unknown offset."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Way, explore
from checker.kinds.elementwise import require_numpy
from checker.kinds.exponential_filter import FIRST_BITS, floors_by_filter, require_bounds
from checker.kinds.exponential_floors import require_floor
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.look_ups import require_look_ups
from checker.kinds.opaque import OpaqueReal
from checker.kinds.open_words import WORD, OpenWord
from checker.kinds.trace import Traced, flatnonzero, matched, number, require_unwritten

HALF = Fraction(1, 2)
_FIRST = (1 << FIRST_BITS) - 1


def require_rounded_noise(decide: Callable[..., Any], resolve: Callable[..., Any], scale: Fraction) -> int:
    """Check that ⌊shift + ½ ± scale·E⌋ is found for every word and shift of [−½, ½).

    The first bit of a word is the sign, the others are the first of U's. See also `require_inversion`.

    Args:
        decide: `decide(shifts, words)`, for shifts that are rounded to doubles.
        resolve: `resolve(shift, word, bits)`, for an exact shift.
        scale: of the noise.
    """
    words = Traced.unknown("words", "uint64")
    leading = (words & number(_FIRST, "uint64")).view("int64")
    bounds = []
    unknown = Traced.unknown("shifts", "float64")
    for shifts, offset in ((unknown, unknown + 0.5), (0.25, 0.75), (-0.5, 0.0)):
        floors, undecided = floors_by_filter(leading, words, offset, scale)
        bounds.append(matched(decide(shifts, words), (floors, flatnonzero(undecided)), "the noise"))
        for array in (words, unknown):
            require_unwritten(array, "an array of words or of shifts")
    cells = require_bounds(bounds[0], scale)
    if any(repr(one) != repr(bounds[0]) for one in bounds):  # exact for floats, and NaN is like NaN
        raise Refused("the filter depends on the answer's shift otherwise than by adding it")
    shift = OpaqueReal.unknown("shift")
    for _ in explore(lambda way: _run_rounded(way, resolve, shift, scale), 4):
        pass
    runs = require_floor(used(resolve, "decide_floor"), (scale, -scale))
    return runs + cells + require_numpy() + require_look_ups()


def _run_rounded(way: Way, resolve: Callable[..., Any], shift: OpaqueReal, scale: Fraction) -> None:
    """Check that an undecided word goes on with its own sign and its other bits."""
    word, bits, floor = OpenWord(way, 1 << WORD), Token(), Token()
    flooring = Recorder(floor)
    with lent(resolve, decide_floor=flooring):
        found = resolve(shift, word, bits)
    given_offset, slope, leading, length, given_bits = flooring.call
    signs = {scale: (0, 1 << FIRST_BITS), -scale: (1 << FIRST_BITS, 1 << WORD)}
    if found is not floor or not (shift + HALF).same(given_offset) or given_bits is not bits or length != FIRST_BITS:
        raise Refused("an undecided draw does not go on with its own offset and bits")
    if signs.get(slope) != (word.low, word.high) or leading != ("and", word, _FIRST):
        raise Refused(f"words from {word.low} to {word.high} go on with the slope {slope}")


def require_rounded_reference(rounded_laplace: Callable[..., Any], scale: Fraction) -> int:
    """Check that `rounded_laplace(offset, scale, bits)` draws ⌊offset ± scale·E⌋ with a fair sign, for every offset.

    Returns:
        The number of runs.
    """
    offset, floor = OpaqueReal.unknown("offset"), Token()
    flooring = used(rounded_laplace, "floor_of_exponential")
    for sign, slope in ((0, scale), (1, -scale)):
        bits, drawing, deciding = Recorder(sign), Recorder(floor), Recorder(floor)
        source = SimpleNamespace(take=bits)
        with lent(rounded_laplace, floor_of_exponential=drawing):
            found = rounded_laplace(offset, scale, source)
        if found is not floor or bits.call != (1,):
            raise Refused("the sign is not one fair bit, or the floor is not returned")
        with lent(flooring, decide_floor=deciding):
            found = flooring(*drawing.call)
        given_offset, *others = deciding.call
        if found is not floor or given_offset is not offset or others != [slope, 0, 0, source]:
            raise Refused(f"the floor of offset + {slope}·E is not decided from the first bit on")
    return require_floor(used(flooring, "decide_floor"), (scale, -scale))
