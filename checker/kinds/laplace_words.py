"""Laplace noise out of 64-bit words: what the fast paths draw, for every word, is what the inversion gives.

A draw's words are partitioned by expressions that the checker compares with its own: a word is decided by binary64
where the error bound allows it, and handed on with the bits that are known where not. So the noise is an inversion of
the uniforms that begin with these words, and its law follows by a lemma.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.core.enclosures import Enclosure, exp
from checker.core.lending import Recorder, lent, used
from checker.core.tape import Uniform, Way, explore, plain
from checker.core.trace import Traced, apply, matched, number, require_same, require_unwritten, where
from checker.kinds.chunks import require_chunks
from checker.kinds.elementwise import require_numpy
from checker.kinds.exponential_floors import FIRST_BITS, floors_by_filter, require_bounds, require_floor
from checker.kinds.grids import LIMIT
from checker.kinds.opaque import Opaque, OpaqueGrid, OpaqueReal, Seen

WORD = 64

FAST_LEMMAS = ("laplace-by-inversion", "floating-point-filter", "ieee-arrays", "chunks", "loops", "mpfr")
"""The lemmas that `require_fast_noise` and `require_rounded_noise` rest on."""

_FURTHER_BITS = 24
_FIRST = (1 << FIRST_BITS) - 1
_INTEGER_LIMIT = 1 << 61


def require_fast_noise(draw_many: Callable[..., Any], scale: Fraction) -> int:
    """Check that `draw_many(scale, trials, bits)` draws discrete Laplace noise, independently and for every word.

    The noise is brought into ±2^62. Its law is G with probability 1/(1 + e^(−1/scale)) and −1 − G otherwise, for
    G = ⌊scale·E⌋ and E = −ln U; the coin and U each begin with a word (lemma `laplace-by-inversion`).

    Args:
        draw_many: the function.
        scale: the noise's scale, public.

    Returns:
        How many runs, draws and operations were compared.

    Raises:
        Refused: it may draw something else.
    """
    trials, bits, drawn = object(), object(), object()
    drawing = Recorder(drawn)
    with lent(draw_many, draw_in_chunks=drawing):
        found = draw_many(scale, trials, bits)
    trials_given, words_each, bits_given, decide, resolve = drawing.call
    if found is not drawn or trials_given is not trials or bits_given is not bits or words_each != 2:
        raise Refused("the noise is not what is drawn from two words each")
    coins, words = (Traced.unknown(name, "uint64") for name in ("coins", "words"))
    noise = decide(coins, words)
    for array in (coins, words):
        require_unwritten(array, "an array of words")
    constants = matched(noise, _noise_of_words(coins, words), "the noise")
    require_bounds(constants, scale)
    below, above = _logistic(1 / scale, 2 * WORD)
    if not constants["least"] <= below * 2**WORD or not constants["greatest"] + 1 >= above * 2**WORD:
        raise Refused("a coin is decided that its word leaves open")
    _require_resolved(resolve, scale)
    runs = require_coin(used(resolve, "decide_logistic"), 1 / scale)
    runs += require_floor(used(resolve, "decide_floor"), (scale,))
    return runs + require_chunks(used(draw_many, "draw_in_chunks"), 2) + require_numpy()


def _noise_of_words(coins: Traced, words: Traced) -> tuple[Traced, Traced]:
    """Return the expressions of the noise and of which is undecided, by the words of the coins and of the uniforms."""
    least, greatest = (Traced.unknown(name, "uint64") for name in ("?least", "?greatest"))
    negative = coins >= least
    leading = (words >> number(WORD - FIRST_BITS, "uint64")).view("int64")
    floors, undecided = floors_by_filter(leading, None, 0.0)
    return where(negative, ~floors, floors), undecided | (negative & (coins <= greatest))


def _require_resolved(resolve: Callable[..., Any], scale: Fraction) -> None:
    """Check that an undecided draw goes on with the same coin and the same uniform."""
    coin, word, bits = object(), object(), object()
    magnitude = Traced.unknown("magnitude", "int64")
    for not_negative, expected in ((True, magnitude), (False, -1 - magnitude)):
        deciding, flooring = Recorder(not_negative), Recorder(magnitude)
        with lent(resolve, decide_logistic=deciding, decide_floor=flooring):
            require_same(resolve(coin, word, bits), expected, "an undecided draw")
        if deciding.call != (1 / scale, coin, WORD, bits) or flooring.call != (Fraction(0), scale, word, WORD, bits):
            raise Refused("an undecided draw does not go on with its own coin and its own uniform")


class _Open(Uniform):
    """A word of which nothing is known but what comparisons told."""

    def __add__(self, other: int) -> _Sum:
        return _Sum(self, other)

    def __and__(self, other: int) -> tuple[str, _Open, int]:
        return ("and", self, other)

    def __lshift__(self, other: int) -> Any:
        raise _Further


class _Sum:
    """An open word plus an integer."""

    def __init__(self, word: _Open, plus: int) -> None:
        self.word, self.plus = word, plus

    def __le__(self, other: Any) -> bool:
        return self.word <= plain(other) - self.plus


class _Further(Exception):
    """More bits than the word's are asked for."""


def require_coin(decide_logistic: Callable[..., Any], gamma: Fraction) -> int:
    """Check that `decide_logistic(gamma, leading, 64, bits)` says whether V < 1/(1 + e^−gamma), for every word of V.

    All words but a few are decided as they are, and rightly so; from those few on, further bits are tried.

    Returns:
        The number of runs.
    """
    below, above = _logistic(gamma, 3 * WORD)
    runs, left_open = 0, []

    def run(way: Way) -> tuple[_Open, Any]:
        word = _Open(way, 1 << WORD)
        try:
            return word, decide_logistic(gamma, word, WORD, _NoBits())
        except _Further:
            return word, None

    for _, (word, answer) in explore(run, _FURTHER_BITS):
        runs += 1
        if answer is None:
            left_open.append(range(word.low, word.high))
        elif not (word.high <= below * 2**WORD if answer is True else answer is False and word.low >= above * 2**WORD):
            raise Refused(f"coins from {word.low} to {word.high} are decided, which they are not")
    if sum(map(len, left_open)) > 4:
        raise Refused("more coins are left open than need be")
    for leading in (word for words in left_open for word in words):
        for _ in explore(lambda way, leading=leading: _run_coin(way, decide_logistic, gamma, leading), _FURTHER_BITS):  # type: ignore[misc]
            runs += 1
    return runs


class _NoBits:
    """A source that is asked for nothing before the word itself is moved."""

    def take(self, _: int) -> int:
        """Say that more bits are needed."""
        raise _Further


class _Bits:
    """Further bits of a coin, all of them in turn; what is decided already must not ask for one."""

    def __init__(self, way: Way, leading: int, ends: Enclosure) -> None:
        self.way, self.leading, self.length, self.ends = way, leading, WORD, ends

    def take(self, count: int) -> int:
        """Return one bit."""
        below, above = self.ends
        size = 1 << self.length
        if count != 1 or self.leading + 1 <= below * size or self.leading >= above * size:
            raise Refused("a coin that is decided takes another bit, or one takes many")
        bit = self.way.choose(2)
        self.leading, self.length = self.leading << 1 | bit, self.length + 1
        return bit


def _run_coin(way: Way, decide_logistic: Callable[..., Any], gamma: Fraction, leading: int) -> None:
    bits = _Bits(way, leading, _logistic(gamma, 3 * WORD))
    answer = decide_logistic(gamma, leading, WORD, bits)
    below, above = (end * (1 << bits.length) for end in bits.ends)
    if not (bits.leading + 1 <= below if answer is True else answer is False and bits.leading >= above):
        raise Refused(f"a coin is decided to be {answer} by {bits.length} bits, which it is not")


def _logistic(gamma: Fraction, bits: int) -> Enclosure:
    """Enclose 1/(1 + e^−gamma)."""
    low, high = exp(-gamma, bits) if gamma <= bits else (Fraction(0), Fraction(1, 1 << bits))  # e^−x < 2^−x
    return 1 / (1 + high), 1 / (1 + low)


def require_rounded_noise(draw_many: Callable[..., Any], scale: Fraction) -> int:
    """Check that `draw_many(offset, scale, trials, bits)` draws ⌊offset ± scale·E⌋ for every word and offset of [0, 1).

    The first bit of a word is the sign, the others are the first of U's; draws are brought into ±2^62. See also
    `require_fast_noise`.
    """
    trials, bits, drawn = object(), object(), object()
    offset, nearest = OpaqueReal.unknown("offset"), Traced.unknown("offset", "float64")
    drawing = Recorder(drawn)
    with lent(draw_many, draw_in_chunks=drawing, float=lambda value: nearest if value is offset else float(value)):
        found = draw_many(offset, scale, trials, bits)
    trials_given, words_each, bits_given, decide, resolve = drawing.call
    if found is not drawn or trials_given is not trials or bits_given is not bits or words_each != 1:
        raise Refused("the noise is not what is drawn from one word each")
    words = Traced.unknown("words", "uint64")
    leading = (words & number(_FIRST, "uint64")).view("int64")
    constants = matched(decide(words), floors_by_filter(leading, words, nearest), "the noise")
    require_unwritten(words, "the array of words")
    require_bounds(constants, scale)
    for _ in explore(lambda way: _run_rounded(way, resolve, offset, scale), 4):
        pass
    runs = require_floor(used(resolve, "decide_floor"), (scale, -scale))
    return runs + require_chunks(used(draw_many, "draw_in_chunks"), 1) + require_numpy()


def _run_rounded(way: Way, resolve: Callable[..., Any], offset: OpaqueReal, scale: Fraction) -> None:
    """Check that an undecided word goes on with its own sign and its other bits."""
    word, bits, floor = _Open(way, 1 << WORD), object(), object()
    flooring = Recorder(floor)
    with lent(resolve, decide_floor=flooring):
        found = resolve(word, bits)
    given_offset, slope, leading, length, given_bits = flooring.call
    signs = {scale: (0, 1 << FIRST_BITS), -scale: (1 << FIRST_BITS, 1 << WORD)}
    if found is not floor or given_offset is not offset or given_bits is not bits or length != FIRST_BITS:
        raise Refused("an undecided draw does not go on with its own offset and bits")
    if signs.get(slope) != (word.low, word.high) or leading != ("and", word, _FIRST):
        raise Refused(f"words from {word.low} to {word.high} go on with the slope {slope}")


def require_rounded_reference(rounded_laplace: Callable[..., Any], scale: Fraction) -> int:
    """Check that `rounded_laplace(offset, scale, bits)` draws ⌊offset ± scale·E⌋ with a fair sign, for every offset.

    Returns:
        The number of runs.
    """
    offset, floor = OpaqueReal.unknown("offset"), object()
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


def require_fast_release(fast: Callable[..., Any], parameters: Mapping[str, Any], scale: Fraction) -> int:
    """Check that `fast(answer, trials, bits, **parameters)` adds fast noise to the rounded answer, for every answer.

    Args:
        fast: returns grid.values(grid.nearest(answer) + noise).
        parameters: public; one of them is `grid`.
        scale: the noise's scale.

    Returns:
        How many runs, draws and operations were compared.
    """
    answer, noise, trials, bits = Opaque("answer"), Opaque("noise"), object(), object()
    drawing, grid = Recorder(noise), OpaqueGrid(parameters["grid"], answer)
    with lent(fast, discrete_laplace_many=drawing):
        found = fast(answer, trials, bits, **{**parameters, "grid": grid})
    if not Seen("values", grid.nearest(answer) + noise).same(found) or drawing.call != (scale, trials, bits):
        raise Refused(f"the fast path returns {found!r} with noise drawn by {drawing.call}")
    return require_values(parameters["grid"]) + require_fast_noise(used(fast, "discrete_laplace_many"), scale)


def require_values(grid: Any) -> int:
    """Check that `grid.values` of any number of steps, elementwise, and `grid.value` are the grid's points.

    Returns:
        How many numbers of steps were tried with `value`.
    """
    steps = Traced.unknown("steps", "int64")
    step = Fraction(2) ** grid.exponent
    expected = apply("clip", steps, -LIMIT, LIMIT).astype("float64") * float(step)
    require_same(grid.values(steps), expected, "the points of the grid")
    tried = [
        sign * (whole + near) for whole in (0, 1, 1000, LIMIT, LIMIT << 9) for near in (0, 1, -1) for sign in (1, -1)
    ]
    for one in tried:
        if grid.value(one) != float(min(max(one, -LIMIT), LIMIT) * step):
            raise Refused(f"{one} steps are {grid.value(one)!r}")
    return len(tried)


def require_noisy_integers(noisy_integers: Callable[..., Any]) -> int:
    """Check that `noisy_integers(answer, scale, trials, bits)` is clamp(clamp(answer) + noise), for every answer.

    To clamp is to bring into ±2^61. The noise is what `discrete_laplace_many`, of the same module, draws for (scale, trials, bits).

    Returns:
        How many answers `clamp_integer` was tried with.
    """
    answer, scale, trials, bits = object(), object(), object(), object()
    noise, clamped = Traced.unknown("noise", "int64"), Traced.unknown("clamped", "int64")
    drawing, clamping = Recorder(noise.copy()), Recorder(clamped)
    with lent(noisy_integers, discrete_laplace_many=drawing, clamp_integer=clamping):
        found = noisy_integers(answer, scale, trials, bits)
    require_same(found, apply("clip", noise + clamped, -_INTEGER_LIMIT, _INTEGER_LIMIT), "the noisy integers")
    if clamping.call != (answer,) or drawing.call != (scale, trials, bits):
        raise Refused("noise is added to something other than the answer")
    clamp = used(noisy_integers, "clamp_integer")
    tried = [
        sign * (whole + near) for whole in (0, 7, _INTEGER_LIMIT, 1 << 90) for near in (0, 1, -1) for sign in (1, -1)
    ]
    for one in tried:
        if clamp(one) != min(max(one, -_INTEGER_LIMIT), _INTEGER_LIMIT):
            raise Refused(f"{one} is clamped to {clamp(one)}")
    return len(tried)
