"""The coin 2^k·e^−x: its enclosure is a bound for every rational x and every precision, its loop decides by bits alone.

The enclosure is run on an x of which nothing is known, within contexts that say which way they round: each operation
must have operands that are bounds from the side that its context rounds to. So what comes out is a bound from that
side, whatever x, k and the precision are. The loop is followed along the very bits of 2^k·e^−x, from the checker's own
enclosure, with one of them flipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

from checker.core.certificate import Refused
from checker.core.tape import Cut, Recorder, explore, plain
from checker.enclosures import elementary as enclosures
from checker.kinds.lending import lent, used
from checker.kinds.symbols import Cases, for_all, require_equal

LONGEST = 448
"""How many bits of 2^k·e^−x are followed."""

LATER = 256
"""How many bits after the one that decides a coin its enclosure must decide it: before, it may be too wide."""

_BORDERS = (64, 128, 192, 256, 320, 384, 446)
FLIPPED = (*range(1, 10), *(border + near for border in _BORDERS for near in (-2, -1, 0, 1, 2)))
"""The bits that are flipped, the first being number 1: about the places where enclosures are narrowed."""

APART = 8
"""For each number every eighth of them is flipped, for the next number the ones after those."""

PRECISIONS = (64, 128, 192, 256, 1000)
"""The precisions at which enclosures are compared with the checker's own."""

FARTHEST = Fraction(2000)
"""Beyond e^−2000 no bit that is followed is set."""


def gaps() -> Iterator[tuple[Fraction, int]]:
    """Yield gaps and levels with 2^level·e^−gap ≤ 1: at the edge, far from it, tiny and huge."""
    ln_2 = enclosures.ln(Fraction(2), 200)[1]
    yield from (
        (Fraction(0), 0),
        (Fraction(1, 10**40), 0),
        (Fraction(10**6), 0),
        (Fraction(10**6), 62),
        (Fraction(1), 1),
    )
    for level in (0, 1, 2, 30, 61):
        for beyond in (Fraction(1, 2**190), Fraction(1, 2**50), Fraction(1, 3), ln_2, Fraction(7), Fraction(45)):
            yield level * ln_2 + beyond, level


def require_coin(coin: Callable[..., Any]) -> int:
    """Check a coin; return how many runs and enclosures were looked at.

    Args:
        coin: `coin(gap, level, bits)`; its module has `enclose_scaled_exp(gap, level, precision)`.

    Raises:
        Refused: an enclosure is not one, or a beginning of a uniform number is decided that is open, or the wrong way.
    """
    enclose = used(coin, "enclose_scaled_exp")
    for_all(lambda cases: _require_sides(enclose, cases))
    looked_at = 0
    for index, (gap, level) in enumerate(gaps()):
        looked_at += _require_enclosures(enclose, gap, level)
        looked_at += _require_ways(coin, gap, level)
        looked_at += _require_bits(coin, gap, level, FLIPPED[index % APART :: APART])
    return looked_at


class _Context:
    """An MPFR context, as `with` enters it, that says which way it rounds."""

    entered: ClassVar[list[int]] = []

    def __init__(self, side: int) -> None:
        self._side = side

    def __enter__(self) -> None:
        self.entered.append(self._side)

    def __exit__(self, *_: object) -> None:
        self.entered.pop()


class _Bound:
    """A bound of an expression, from below (−1) or from above (1)."""

    def __init__(self, expression: tuple[Any, ...], side: int) -> None:
        self.expression, self.side = expression, side

    def __neg__(self) -> _Bound:
        return _applied("negative", self, -self.side)


def _applied(name: str, operand: _Bound, side: int, *others: Any) -> _Bound:
    """Return the bound that an operation gives in the context that was entered, from a bound by that side."""
    if not _Context.entered or side != _Context.entered[-1]:
        raise Refused(f"{name} of a bound from the other side than is rounded to")
    return _Bound((name, operand.expression, *others), side)


def _require_sides(enclose: Callable[..., Any], cases: Cases) -> None:
    """Check that an enclosure's ends are ⌊2^(level + precision)·e^−gap⌋ rounded down and ⌈…⌉ rounded up."""
    gap, level, precision = object(), cases.unknown("level"), cases.unknown("precision")

    def converted(value: object) -> _Bound:
        if value is not gap or not _Context.entered:
            raise Refused("something other than the gap is converted, or with no rounding")
        return _Bound(("gap",), _Context.entered[-1])

    def monotone(name: str) -> Callable[..., _Bound]:
        return lambda one, *others: _applied(name, one, one.side, *others)

    library = SimpleNamespace(mpfr=converted, **{name: monotone(name) for name in ("exp", "mul_2exp", "floor", "ceil")})

    def rounding(bits: Any) -> tuple[_Context, _Context]:
        if bits is None:
            raise Refused("contexts have no precision")
        return _Context(-1), _Context(1)

    with lent(enclose, gmpy2=library, rounding=rounding, int=lambda value: value):
        ends = enclose(gap, level, precision)
    if type(ends) is not tuple or len(ends) != 2 or not all(type(end) is _Bound for end in ends):
        raise Refused(f"an enclosure is {ends!r}")
    for end, side, name in zip(ends, (-1, 1), ("floor", "ceil"), strict=True):
        cut, (scaled, (power, argument), shift) = end.expression[0], end.expression[1]
        if end.side != side or cut != name or (scaled, power, argument) != ("mul_2exp", "exp", ("negative", ("gap",))):
            raise Refused(f"an end of an enclosure is {end.expression}, rounded to side {end.side}")
        require_equal(shift, level + precision, "the power of 2 of an enclosure")


def _scaled(gap: Fraction, level: int, bits: int) -> tuple[Fraction, Fraction]:
    """Enclose 2^level·e^−gap, to about `bits` bits behind the point."""
    if gap == 0 == level:
        return Fraction(1), Fraction(1)
    low, high = enclosures.exp(-min(gap, FARTHEST), bits + level)
    return (Fraction(0) if gap > FARTHEST else low * 2**level), high * 2**level


def _require_enclosures(enclose: Callable[..., Any], gap: Fraction, level: int) -> int:
    low, high = _scaled(gap, level, max(PRECISIONS) + 64)
    for precision in PRECISIONS:
        below, above = (plain(end) / (1 << precision) for end in enclose(gap, level, precision))
        if not below <= high or not low <= above or above - below > Fraction(2, 1 << precision):
            raise Refused(f"2^{level}·e^−{gap} is enclosed by {below} and {above}")
    return len(PRECISIONS)


def _require_ways(coin: Callable[..., Any], gap: Fraction, level: int) -> int:
    """Decide all ways of a coin to a depth: what it says of each beginning of a uniform number must be so."""
    low, high = _scaled(gap, level, 300)
    leaves = 0
    for way, found in explore(lambda way: coin(gap, level, Recorder(way)), 136):
        begun, size = 0, 1
        for uniform in way.uniforms[: way.taken]:
            begun, size = begun * uniform.size + uniform.low, size * uniform.size
        if found is True and not Fraction(begun + 1, size) <= low:
            raise Refused(f"2^{level}·e^−{gap} is said to be above {Fraction(begun + 1, size)}")
        if found is False and not Fraction(begun, size) >= high:
            raise Refused(f"2^{level}·e^−{gap} is said to be at most {Fraction(begun, size)}")
        if found is not True and found is not False:
            if way.taken < 100:
                raise Refused(f"the coin 2^{level}·e^−{gap} returns {found!r}")
            if Fraction(begun, size) >= high or Fraction(begun + 1, size) <= low:
                raise Refused("the coin asks on although it could decide")
        leaves += 1
    return leaves


class _Digits:
    """Gives out the bits of a number that lies just below or above another, and no more than are listed."""

    def __init__(self, bits: list[int]) -> None:
        self._bits, self.taken = bits, 0

    def take(self, count: int) -> int:
        """Give the next bits."""
        if self.taken + count > len(self._bits):
            raise Cut
        value = 0
        for bit in self._bits[self.taken : self.taken + count]:
            value = 2 * value + bit
        self.taken += count
        return value


def _require_bits(coin: Callable[..., Any], gap: Fraction, level: int, flipped: Sequence[int]) -> int:
    """Follow a coin along the bits of 2^level·e^−gap, each of some flipped in turn: only then may it decide."""
    low, high = _scaled(gap, level, LONGEST + 400)
    if low == 1:
        return 0
    begun = (low * 2**LONGEST).__floor__()
    if begun != (high * 2**LONGEST).__floor__():
        raise Refused(f"the checker's own enclosure of 2^{level}·e^−{gap} is too wide")
    bits = [begun >> place & 1 for place in reversed(range(LONGEST))]
    source = _Digits(bits)
    try:
        coin(gap, level, source)
    except Cut:
        pass
    else:
        raise Refused(f"the coin 2^{level}·e^−{gap} is decided by {source.taken} bits that leave it open")
    for place in flipped:
        below = bits[place - 1] == 1
        # What follows a flipped bit comes as close to 2^level·e^−gap as it can.
        source = _Digits([*bits[: place - 1], int(not below), *[int(below)] * LATER])
        try:
            found = coin(gap, level, source)
        except Cut:
            raise Refused(
                f"the coin 2^{level}·e^−{gap} goes on {LATER} bits after bit {place} has decided it"
            ) from None
        if found is not below or source.taken < place:
            raise Refused(f"the coin 2^{level}·e^−{gap} is {found!r} after {source.taken} bits; bit {place} decides it")
    return len(flipped) + 1
