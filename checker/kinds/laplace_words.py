"""Laplace noise out of 64-bit words: what the fast paths draw, for every word, is what the inversion gives.

A word is a sign and the first 63 bits of a uniform. The words are partitioned by expressions that the checker compares
with its own: a word is decided by binary64 where the error bound allows it, and handed on with the bits that are known
where not. So the noise is an inversion of the uniform that begins so, and its law follows by a lemma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Cut, Way, explore
from checker.kinds.chunks import GREATEST_NOISE, require_chunks
from checker.kinds.discrete_magnitudes import offset, require_ends, require_magnitude
from checker.kinds.elementwise import require_numpy
from checker.kinds.exponential_filter import FIRST_BITS, floors_by_filter, require_bounds
from checker.kinds.grids import LIMIT
from checker.kinds.lending import Recorder, Token, lent, used
from checker.kinds.look_ups import require_look_ups
from checker.kinds.opaque import Opaque, OpaqueGrid
from checker.kinds.open_words import WORD, OpenWord
from checker.kinds.plain_answers import point
from checker.kinds.released_chunks import TRIALS, recorded_release
from checker.kinds.trace import Traced, apply, flatnonzero, matched, number, require_same, require_unwritten
from checker.kinds.word_runs import require_runs, words_near
from checker.models import inversion

FAST_LEMMAS = ("laplace-by-inversion", "floating-point-filter", "ieee-arrays", "chunks", "loops", "mpfr")
"""The lemmas that `require_fast_noise` and `require_rounded_noise` rest on."""

_INTEGER_LIMIT = 1 << 61
HALF = Fraction(1, 2)
_FIRST = (1 << FIRST_BITS) - 1
_OFFSET_BITS, _GIVEN_BITS = 140, 128
_COMPARISONS = 4


def require_fast_noise(draw_many: Callable[..., Any], scale: Fraction) -> int:
    """Check that `draw_many(scale, trials, bits)` draws discrete Laplace noise, independently and for every word.

    The noise is brought into ±2^62. Its law is that of ±⌊scale·E + c⌋, with a fair sign, E = −ln U and
    c = scale·ln(2/(1 + e^(−1/scale))); the sign is the first bit of a word, and U begins with the others (lemma
    `laplace-by-inversion`).

    Args:
        draw_many: the function.
        scale: the noise's scale, public.

    Returns:
        How many runs, draws and operations were compared.

    Raises:
        Refused: it may draw something else.
    """
    trials, bits, drawn = Token(), Token(), Token()
    drawing = Recorder(drawn)
    with lent(draw_many, draw_in_chunks=drawing):
        found = draw_many(scale, trials, bits)
    trials_given, bits_given, decide, resolve = drawing.call
    if found is not drawn or trials_given is not trials or bits_given is not bits:
        raise Refused("the noise is not what is drawn from words")
    runs = require_inversion(decide, resolve, scale)
    runs += require_chunks(used(draw_many, "draw_in_chunks"))
    return runs + _run_on_words(draw_many, scale)


def require_inversion(decide: Callable[..., Any], resolve: Callable[..., Any], scale: Fraction) -> int:
    """Check that `decide(words)` and `resolve(word, bits)` find the noise of `require_fast_noise`.

    y = scale·E + c is irrational, so that ⌊½ + (y − ½)⌋ is ⌊y⌋ and ⌊½ − (y − ½)⌋ is −⌊y⌋: the filter's shift is c − ½,
    and its offset ½ for either sign. No double plus ½ is −0, and so the floor of none is.
    """
    words = Traced.unknown("words", "uint64")
    noise = decide(words)
    require_unwritten(words, "an array of words")
    leading = (words & number(_FIRST, "uint64")).view("int64")
    floors, undecided = floors_by_filter(leading, words, 0.5, scale)
    constants = matched(noise, (floors, flatnonzero(undecided)), "the noise")
    if any(found is Cut for _, found in explore(lambda way: _run_resolved(way, resolve, scale), _COMPARISONS)):
        raise Refused("an undecided draw compares its word too often")
    runs = require_magnitude(used(resolve, "decide_magnitude"), scale)
    low, high = offset(scale, _OFFSET_BITS)
    cells = require_bounds(constants, scale, (low - HALF, high - HALF))
    return runs + cells + require_numpy() + require_look_ups()


def _run_resolved(way: Way, resolve: Callable[..., Any], scale: Fraction) -> None:
    """Check that an undecided word goes on with its own sign and its other bits."""
    word, bits, magnitude = OpenWord(way, 1 << WORD), Token(), Traced.unknown("magnitude", "int64")
    deciding = Recorder(magnitude)
    with lent(resolve, decide_magnitude=deciding):
        found = resolve(word, bits)
    given_scale, ends, leading, length, given_bits = deciding.call
    require_ends(ends, scale, _GIVEN_BITS)
    if (given_scale, length) != (scale, FIRST_BITS) or given_bits is not bits or leading != ("and", word, _FIRST):
        raise Refused("an undecided draw does not go on with its own bits")
    if (word.low, word.high) not in ((0, 1 << FIRST_BITS), (1 << FIRST_BITS, 1 << WORD)):
        raise Refused(f"words from {word.low} to {word.high} go on alike")
    require_same(found, -magnitude if word.low else magnitude, "an undecided draw")


def _run_on_words(draw_many: Callable[..., Any], scale: Fraction) -> int:
    """Run the fast path on words at the edges of the noise."""

    def expected(word: int, take: inversion.Take) -> int:
        return min(max(inversion.discrete_laplace(scale, word, take), -GREATEST_NOISE), GREATEST_NOISE)

    return require_runs(lambda trials, bits: draw_many(scale, trials, bits), _edges(scale), expected)


def _edges(scale: Fraction) -> list[tuple[int]]:
    """Return words of both signs about the edges between magnitudes."""
    by = offset(scale, _OFFSET_BITS)[0]
    words = words_near(((whole - by) / scale for whole in (1, 2, 3, 20)), FIRST_BITS)
    return [(sign | word,) for sign in (0, 1 << FIRST_BITS) for word in words]


def require_fast_release(fast: Callable[..., Any], parameters: Mapping[str, Any], scale: Fraction) -> int:
    """Check that `fast(answer, trials, bits, **parameters)` adds fast noise to the rounded answer, for every answer.

    Args:
        fast: returns, for each trial, grid.value(grid.nearest(answer) + noise).
        parameters: public; one of them is `grid`.
        scale: the noise's scale.

    Returns:
        How many runs, draws and operations were compared.
    """
    answer, bits = Opaque("answer"), Token()
    grid = OpaqueGrid(parameters["grid"], answer)
    release = recorded_release(fast, answer, TRIALS, bits, **{**parameters, "grid": grid})
    repeated = release.repeated
    if not repeated[0].same(grid.nearest(answer)) or repeated[1:] != (Fraction(0), TRIALS):
        raise Refused(f"the fast path adds noise to {repeated}")
    if (release.bits, release.grid) != (bits, grid) or release.found is not release.drawn:
        raise Refused("the fast path does not return what is drawn from one word each")
    compared = require_inversion(*release.without_shift(), scale) + release.require(parameters["grid"])
    draws = _edges(scale)
    step = Fraction(2) ** parameters["grid"].exponent
    for given in (Fraction(0), Fraction(1, 3), Fraction(-(10**9))):
        place = min(max(given / step, Fraction(-LIMIT)), Fraction(LIMIT))
        whole = (place + Fraction(1, 2)).__floor__()

        def expected(word: int, take: inversion.Take, whole: int = whole) -> float:
            return point(whole + inversion.discrete_laplace(scale, word, take), step)

        compared += require_runs(partial(fast, given, **parameters), draws, expected)
    return compared


def require_values(grid: Any) -> int:
    """Check that `grid.values` of any number of steps, elementwise, and `grid.value` are the grid's points.

    Returns:
        How many numbers of steps were tried with `value`.
    """
    steps = Traced.unknown("steps", "int64")
    step = Fraction(2) ** grid.exponent
    expected = apply("clip", steps, -LIMIT, LIMIT).astype("float64") * float(step)
    require_same(grid.values(steps), expected, "the points of the grid")
    tried = _near(0, 1000, LIMIT, LIMIT << 9)
    for one in tried:
        if grid.value(one) != float(min(max(one, -LIMIT), LIMIT) * step):
            raise Refused(f"{one} steps are {grid.value(one)!r}")
    return len(tried)


def require_noisy_integers(noisy_integers: Callable[..., Any]) -> int:
    """Check that `noisy_integers(answer, scale, trials, bits)` is clamp(clamp(answer) + noise), for every answer.

    To clamp is to bring into ±2^61. The noise is what `discrete_laplace_many`, of the same module, draws for
    (scale, trials, bits).

    Returns:
        How many answers `clamp_integer` was tried with.
    """
    answer, scale, trials, bits = Token(), Token(), Token(), Token()
    noise, clamped = Traced.unknown("noise", "int64"), Traced.unknown("clamped", "int64")
    drawing, clamping = Recorder(noise.copy()), Recorder(clamped)
    with lent(noisy_integers, discrete_laplace_many=drawing, clamp_integer=clamping):
        found = noisy_integers(answer, scale, trials, bits)
    require_same(found, apply("clip", noise + clamped, -_INTEGER_LIMIT, _INTEGER_LIMIT), "the noisy integers")
    if clamping.call != (answer,) or drawing.call != (scale, trials, bits):
        raise Refused("noise is added to something other than the answer")
    clamp = used(noisy_integers, "clamp_integer")
    tried = _near(0, 7, _INTEGER_LIMIT, 1 << 90)
    for one in tried:
        if clamp(one) != min(max(one, -_INTEGER_LIMIT), _INTEGER_LIMIT):
            raise Refused(f"{one} is clamped to {clamp(one)}")
    return len(tried)


def _near(*numbers: int) -> list[int]:
    """Return some integers, their neighbours, and the opposites of all."""
    return [sign * (one + near) for one in numbers for near in (0, 1, -1) for sign in (1, -1)]
