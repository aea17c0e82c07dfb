"""The total of weights by halves, for a number of levels, for levels and for counts of which nothing is known.

Weights are a/2^(step·level) times a power of the decay's numerator. A sum of them is kept relative to its first level
and in units of its last; two such sums are joined into one, and joining is shown for all of them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.lending import lent, used
from checker.kinds.stateless import require_meanings, require_stateless
from checker.kinds.symbols import Cases, Symbol, for_all, require_equal


class _Form:
    """A sum of unknown integers, each times a power of the numerator and a power of 2."""

    def __init__(self, terms: dict[str, tuple[Symbol, Symbol]]) -> None:
        self.terms = terms

    def __lshift__(self, by: Any) -> _Form:
        return _Form({name: (power, two + by) for name, (power, two) in self.terms.items()})

    def __mul__(self, other: Any) -> _Form:
        if type(other) is not _Power:
            return NotImplemented
        return _Form({name: (power + other.exponent, two) for name, (power, two) in self.terms.items()})

    def __add__(self, other: Any) -> _Form:
        if type(other) is not _Form or set(self.terms) & set(other.terms):
            return NotImplemented
        return _Form(self.terms | other.terms)

    def same(self, other: Any) -> bool:
        """Whether another sum is this one."""
        if type(other) is not _Form or set(other.terms) != set(self.terms):
            return False
        pairs = [(self.terms[name][which], other.terms[name][which]) for name in self.terms for which in (0, 1)]
        return all(isinstance(two, Symbol) and one.same(two) for one, two in pairs)


class _Power:
    """A power of the numerator."""

    def __init__(self, exponent: Any) -> None:
        self.exponent = exponent


class _Numerator:
    """The numerator of the decay, which can be taken to a power."""

    def __pow__(self, exponent: Any) -> _Power:
        return _Power(exponent)


def require_total(weights: Any, eta: Any) -> int:
    """Check that the total of weights is the sum over levels l of count·numerator^l·2^(step·(spread − l)).

    Args:
        weights: the class of weights, whose `_total` is their sum.
        eta: the parameter, whose decay is numerator/2^step.

    Returns:
        How many cases there were.

    Raises:
        Refused: it is something else for some number of levels, some levels or some counts.
    """
    adding = weights._total
    halves = used(adding, "by_halves")
    step = int(eta.decay.denominator).bit_length() - 1
    require_meanings(adding, map=map, tuple=tuple, len=len)
    require_stateless(halves)
    return for_all(_require_halving(halves)) + for_all(_require_wiring(adding, step, eta))


def _require_halving(halves: Any) -> Any:
    """Show that [start, stop) is one item, or the join of [start, m) and [m, stop), m the middle: so all, in order."""

    def check(cases: Cases) -> None:
        start, stop, items, joining = cases.unknown("start"), cases.unknown("stop"), _Items(), object()
        one = stop - start == 1

        def again(*given: Any) -> tuple[Any, ...]:
            if given[0] is not join or given[1] is not items:
                raise Refused("other items are joined, or in another way")
            return ("half", *given[2:])

        def join(*given: Any) -> tuple[Any, ...]:
            return (joining, *given)

        with lent(halves, by_halves=again):
            found = halves(join, items, start, stop)
        middle = (start + stop) // 2
        expected = ("item", start) if one else (joining, ("half", start, middle), ("half", middle, stop))
        if not _alike(found, expected):
            raise Refused(f"items are joined as {found!r:.200}")

    return check


class _Items:
    """Items by their place."""

    def __getitem__(self, key: Any) -> tuple[str, Any]:
        return ("item", key)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Symbol):
        return one.same(other)
    if type(one) is tuple:
        return type(other) is tuple and len(one) == len(other) and all(map(_alike, one, other))
    return one is other or (type(one) is str and one == other)


def _require_wiring(adding: Any, step: int, eta: Any) -> Any:
    """Show what items are, what joins them, and what is made of the whole."""

    def check(cases: Cases) -> None:
        levels, counts, listed, singles = object(), object(), object(), object()
        count, size = cases.unknown("count"), cases.unknown("number of levels")
        names = ("spread", "first", "before", "second", "last")
        spread, first, before, second, last = map(cases.unknown, names)
        zero, numerator = cases.unknown("count") * 0, _Numerator()

        def plain(name: str) -> _Form:
            return _Form({name: (zero, zero)})

        def mapped(single: Any, *over: Any) -> object:
            if len(over) != 2 or over[0] is not levels or over[1] is not counts:
                raise Refused("something other than levels and counts is added up")
            with lent(single, mpz=lambda one: one):
                found = single(first, count)
            if not _alike(found, (count, first, first)):
                raise Refused(f"a level becomes {found!r:.200}")
            return listed

        def gathered(one: Any) -> object:
            if one is not listed:
                raise Refused("something other than the levels is gathered")
            return singles

        def number(one: Any) -> Symbol:
            if one is not singles:
                raise Refused("something other than the levels is counted")
            return size

        def joined(join: Any, items: Any, start: Any, stop: Any) -> tuple[Any, ...]:
            if items is not singles or type(start) is not int or start != 0:
                raise Refused("something other than all levels is joined")
            require_equal(stop, size, "the number of levels")
            require_stateless(join.func)
            if len(join.args) != 2 or join.args[0] is not numerator or join.args[1] != step or join.keywords:
                raise Refused(f"levels are joined with {join.args}")
            found = join((plain("one"), first, before), (plain("other"), second, last))
            expected = (plain("one") << step * (last - before)) + plain("other") * numerator ** (second - first)
            if not expected.same(found[0]) or not _alike(found[1:], (first, last)):
                raise Refused("two sums are joined into something else")
            return plain("whole"), first, last

        decay = SimpleNamespace(numerator=numerator, denominator=eta.decay.denominator)
        held = SimpleNamespace(eta=SimpleNamespace(decay=decay), spread=spread, levels=levels, counts=counts)
        with lent(adding, map=mapped, tuple=gathered, len=number, by_halves=joined):
            found = adding(held)
        if not (plain("whole") * numerator**first << step * (spread - last)).same(found):
            raise Refused("the total is something else than the sum of all levels")

    return check
