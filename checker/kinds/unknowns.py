"""Unknown rational numbers: what a mechanism does with them it does for all numbers at once.

An unknown can be added to, scaled by public numbers and compared. What comes of it is again linear in the unknowns, and
a comparison that is not settled by those before goes both ways, one after the other: whether the facts of a way
contradict each other is decided by elimination (Fourier and Motzkin) in rationals. Whatever else a mechanism does with
a number (hash it, round it, ask for its type) is a TypeError, and so a refusal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from itertools import count, product
from typing import Any

from checker.core.certificate import PACKAGE, Refused
from checker.core.tape import Dialogues, Published, Way, plain
from checker.core.tape import same as equal

Terms = tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True)
class Fact:
    """Σ coefficient·unknown + plus < 0, or ≤ 0."""

    terms: Terms
    plus: Fraction
    strict: bool

    @property
    def false(self) -> bool:
        """Whether it speaks of no unknown and is false."""
        return not self.terms and (self.plus > 0 or (self.strict and self.plus == 0))


@dataclass(frozen=True)
class Interval:
    """Where an unknown lies; None is no bound.

    Args:
        low: its lower bound.
        high: its upper bound.
        above: whether it is above the lower bound.
        below: whether it is below the upper bound.
    """

    low: Fraction | None = None
    high: Fraction | None = None
    above: bool = False
    below: bool = False

    def __contains__(self, value: Fraction) -> bool:
        """Whether a number lies there."""
        low = self.low is None or value > self.low or (value == self.low and not self.above)
        return low and (self.high is None or value < self.high or (value == self.high and not self.below))


class Facts:
    """What is known of the unknowns on one way."""

    def __init__(self, way: Way | None) -> None:
        self._way = way
        self._known: list[Fact] = []
        self._names = count(1)

    def fresh(self, name: str, interval: Interval) -> Linear:
        """Return an unknown that nobody else has."""
        return unknown(f"{name} {next(self._names)}", interval)

    def holds(self, terms: Terms, plus: Fraction, strict: bool) -> bool:
        """Whether Σ + plus is below 0 (or at most 0); where that is open, both ways are gone."""
        yes = Fact(terms, plus, strict)
        no = Fact(tuple((name, -by) for name, by in terms), -plus, not strict)
        known = self._about(yes)
        if not possible([*known, yes]):
            return False
        if possible([*known, no]):
            if self._way is None:
                raise Refused("a comparison is open outside a run")
            chosen = self._way.choose(2)
            self.learn(no if chosen else yes)
            return not chosen
        return True

    def learn(self, fact: Fact) -> None:
        """Take a fact for true."""
        self._known = _tightest([*self._known, fact])

    def interval(self, value: Linear) -> Interval:
        """Return where a linear combination lies, by what is known."""
        if not value.terms:
            return Interval(value.plus, value.plus)
        itself = (("itself", Fraction(1)),)
        less = tuple((name, -by) for name, by in value.terms)
        both = [
            Fact((*itself, *less), -value.plus, False),
            Fact((("itself", Fraction(-1)), *value.terms), value.plus, False),
        ]
        low: tuple[Fraction, bool] | None = None
        high: tuple[Fraction, bool] | None = None
        for fact in eliminated([*self._about(both[1]), *both], keep="itself"):
            if not fact.terms:
                continue
            bound, strict = -fact.plus / fact.terms[0][1], fact.strict
            if fact.terms[0][1] > 0:
                high = min(high or (bound, strict), (bound, strict), key=lambda one: (one[0], not one[1]))
            else:
                low = max(low or (bound, strict), (bound, strict))
        return Interval(low and low[0], high and high[0], bool(low and low[1]), bool(high and high[1]))

    def _about(self, fact: Fact) -> list[Fact]:
        """Return the facts that share unknowns with one, or with those that do."""
        names = {name for name, _ in fact.terms}
        waiting, found = list(self._known), []
        while True:
            linked = [one for one in waiting if any(name in names for name, _ in one.terms)]
            if not linked:
                break
            found += linked
            waiting = [one for one in waiting if one not in linked]
            names |= {name for one in linked for name, _ in one.terms}
        return [*found, *(bound for name in names for bound in _bounds(name))]


NOW = [Facts(None)]
"""The facts of the run that is under way, its only element."""

INTERVALS: dict[str, Interval] = {}
"""Where each unknown lies by its making, by its name."""


def _bounds(name: str) -> list[Fact]:
    interval = INTERVALS.get(name, Interval())
    found = []
    if interval.low is not None:
        found.append(Fact(((name, Fraction(-1)),), interval.low, interval.above))
    if interval.high is not None:
        found.append(Fact(((name, Fraction(1)),), -interval.high, interval.below))
    return found


def possible(facts: Iterable[Fact]) -> bool:
    """Whether some numbers make all facts true."""
    return not any(fact.false for fact in eliminated(facts))


def eliminated(facts: Iterable[Fact], keep: str = "") -> list[Fact]:
    """Eliminate the unknowns from some facts, but for one."""
    current = _tightest(facts)
    while True:
        wrong = [fact for fact in current if fact.false]
        names = {name for fact in current for name, _ in fact.terms} - {keep}
        if wrong or not names:
            return wrong or current
        name = min(names, key=lambda one: sum(any(of == one for of, _ in fact.terms) for fact in current))
        above: list[tuple[Fact, Fraction]] = []
        below: list[tuple[Fact, Fraction]] = []
        rest: list[Fact] = []
        for fact in current:
            by = next((by for of, by in fact.terms if of == name), None)
            if by is None:
                rest.append(fact)
            else:
                (above if by < 0 else below).append((fact, by))
        for (one, less), (two, more) in product(above, below):
            terms = _added(one.terms, two.terms, more, -less)
            rest.append(Fact(terms, more * one.plus - less * two.plus, one.strict or two.strict))
        current = _tightest(rest)


def _tightest(facts: Iterable[Fact]) -> list[Fact]:
    """Leave out facts that follow from another one of the same unknowns in the same proportion, and true constants."""
    found: dict[Terms, Fact] = {}
    for fact in map(_scaled, facts):
        other = found.get(fact.terms)
        if other is None or (fact.plus, fact.strict) > (other.plus, other.strict):
            found[fact.terms] = fact
    return list(found.values())


def _scaled(fact: Fact) -> Fact:
    if not fact.terms:
        return fact
    by = abs(fact.terms[0][1])
    return Fact(tuple((name, of / by) for name, of in fact.terms), fact.plus / by, fact.strict)


def _added(one: Terms, two: Terms, by: Fraction, other_by: Fraction) -> Terms:
    found: dict[str, Fraction] = {name: of * by for name, of in one}
    for name, of in two:
        found[name] = found.get(name, Fraction(0)) + of * other_by
    return tuple(sorted((name, of) for name, of in found.items() if of))


class Linear:
    """Σ coefficient·unknown + plus."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look
    __array_ufunc__ = None

    def __init__(self, terms: Terms, plus: Fraction) -> None:
        self.terms, self.plus = terms, plus

    def __add__(self, other: Any) -> Any:
        return self._plus(other, Fraction(1), Fraction(1))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, Fraction(1), Fraction(-1))

    def __rsub__(self, other: Any) -> Any:
        return self._plus(other, Fraction(-1), Fraction(1))

    def __neg__(self) -> Any:
        return self._plus(0, Fraction(-1), Fraction(1))

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        return self._plus(0, plain(other), Fraction(1))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._plus(0, 1 / plain(other), Fraction(1))

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        """Return the integer below, as one more unknown, and what is left, which lies in [0, 1)."""
        if plain(other) != 1:
            raise TypeError("an unknown is divided with a remainder by something other than 1")
        name = f"⌊{self!r}⌋"
        INTERVALS.setdefault(name, Interval())
        whole = Linear(((name, Fraction(1)),), Fraction(0))
        left = self - whole
        for terms, plus, strict in (((-left).terms, -left.plus, False), (left.terms, left.plus - 1, True)):
            NOW[0].learn(Fact(terms, plus, strict))
        return whole, left

    def _plus(self, other: Any, by: Fraction, other_by: Fraction) -> Any:
        if isinstance(other, Linear):
            terms, plus = _added(self.terms, other.terms, by, other_by), by * self.plus + other_by * other.plus
        else:
            terms, plus = _added(self.terms, (), by, other_by), by * self.plus + other_by * plain(other)
        return Linear(terms, plus) if terms else plus

    def _below(self, other: Any, strict: bool) -> bool:
        less = self - other
        if not isinstance(less, Linear):
            return bool(less < 0 if strict else less <= 0)
        return NOW[0].holds(less.terms, less.plus, strict)

    def __lt__(self, other: Any) -> bool:
        return self._below(other, True)

    def __le__(self, other: Any) -> bool:
        return self._below(other, False)

    def __gt__(self, other: Any) -> bool:
        return not self._below(other, False)

    def __ge__(self, other: Any) -> bool:
        return not self._below(other, True)

    def __eq__(self, other: object) -> bool:
        return self._below(other, False) and not self._below(other, True)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    @property
    def numerator(self) -> Part:
        """The numerator of the number in lowest terms, which only says whose it is."""
        return Part("numerator", self)

    @property
    def denominator(self) -> Part:
        """The denominator of the number in lowest terms, which only says whose it is."""
        return Part("denominator", self)

    def same(self, other: object) -> bool:
        """Whether another value is the same combination."""
        return type(other) is Linear and (self.terms, self.plus) == (other.terms, other.plus)

    def __repr__(self) -> str:
        terms = " + ".join(f"{by}·{name}" if by != 1 else name for name, by in self.terms)
        return f"({terms} + {self.plus})" if self.plus else f"({terms})"


@dataclass(frozen=True, eq=False)
class Part:
    """The numerator or the denominator of an unknown, in lowest terms."""

    which: str
    of: Linear

    def same(self, other: object) -> bool:
        """Whether another value is the same part of the same number."""
        return type(other) is Part and self.which == other.which and self.of.same(other.of)

    def drawn(self) -> Share:
        """Return an integer drawn uniformly below a denominator d, as a share of it: one of 0, 1/d, …, (d − 1)/d."""
        if self.which != "denominator":
            raise TypeError("an integer is drawn below a numerator")
        return Share(NOW[0].fresh("share", Interval(Fraction(0), Fraction(1), False, True)), self.of)


class Share:
    """An integer drawn below the denominator of an unknown; it can be compared with the numerator, and no more."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, share: Linear, of: Linear) -> None:
        self._share, self._of = share, of

    def _numerator(self, other: Any) -> Linear:
        if type(other) is not Part or other.which != "numerator" or not other.of.same(self._of):
            raise TypeError("what was drawn below a denominator is compared with something else than its numerator")
        return self._of

    def __lt__(self, other: Any) -> bool:
        return self._share < self._numerator(other)

    def __ge__(self, other: Any) -> bool:
        return self._share >= self._numerator(other)

    def __le__(self, other: Any) -> bool:
        return self._share <= self._numerator(other)

    def __gt__(self, other: Any) -> bool:
        return self._share > self._numerator(other)


def unknown(name: str, interval: Interval = Interval()) -> Linear:
    """Return a number of which no more is known than where it lies; the same name is the same number."""
    if INTERVALS.setdefault(name, interval) != interval:
        raise RuntimeError(f"{name} was said to lie in {INTERVALS[name]}")
    return Linear(((name, Fraction(1)),), Fraction(0))


class ChanceWay(Way):
    """One way of many, chosen by a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__([], 0)
        self._state = seed

    def choose(self, count: int) -> int:
        """Choose one of `count` ways on."""
        self.taken += 1
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % count


@dataclass
class UnknownDialogues(Dialogues):
    """Comparisons of samplers some of whose arguments are unknown numbers, of all numbers at once.

    A sampler that is called with an unknown is compared on an unknown of which no more is known than where it lies;
    one that is called with a numerator or a denominator, on some integers.

    Args:
        called_depth: how many choices are looked at of a run of what is called.
        apart: algorithms that are not compared by dialogue.
        watched: algorithms for which `asked` is kept.

    Attributes:
        asked: who was called for each watched algorithm, by its id, and with which arguments.
    """

    called_depth: int = 12
    apart: tuple[Any, ...] = ()
    watched: tuple[Any, ...] = ()
    asked: dict[int, list[tuple[Any, tuple[Any, ...]]]] = field(default_factory=lambda: defaultdict(list))

    def same_by_chance(self, sampler: Any, model: Any, *arguments: Any, ways: int = 12) -> None:
        """Compare two samplers on some ways, where all of them would be too many; what they call is not compared."""
        for seed in range(ways):
            self.run(ChanceWay(seed), sampler, model, arguments)
            self.runs += 1

    def _compare(self, one: Any, other: Any, given: tuple[Any, ...], *, long: bool) -> list[Any]:
        kept = self.depth
        self.depth = self.called_depth if isinstance(other, Published) else kept
        try:
            return super()._compare(one, other, given, long=long and isinstance(other, Published))
        finally:
            self.depth = kept

    def run(self, way: Way, one: Any, other: Any, given: tuple[Any, ...]) -> list[Any]:
        """Compare two samplers on one way; return whom they called."""
        NOW[0] = Facts(way)
        called = super().run(way, one, other, given)
        for by, of, arguments in called:
            if of in self.watched and not any(by is one and equal(arguments, two) for one, two in self.asked[id(of)]):
                self.asked[id(of)].append((by, arguments))
        followed = [one for one in called if one[1] not in self.apart]
        return [(by, of, arguments) for by, of, given in followed for arguments in _freed(given)]


DENOMINATORS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 255, 256, 257, 1000, 2**32 + 1, 2**64, 3**50, 10**30)
"""The denominators that samplers of integers are compared on."""


def _freed(arguments: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    choices: list[list[Any]] = []
    for one in arguments:
        if isinstance(one, Linear):
            interval = NOW[0].interval(one)
            choices.append([unknown(f"x in {interval}", interval)])
        elif isinstance(one, Part):
            choices.append(list(DENOMINATORS))
        else:
            choices.append([one])
    return product(*choices)


@contextmanager
def instead(module: str, name: str, substitute: Callable[..., Any]) -> Iterator[None]:
    """Put a function in the place where a module of mechanisms calls another, while the context is open.

    Raises:
        Refused: the module has no function of that name.
    """
    place = import_module(f"{PACKAGE}.{module}")
    if not callable(getattr(place, name, None)):
        raise Refused(f"{module} has no function {name}")
    kept = getattr(place, name)
    setattr(place, name, substitute)
    try:
        yield
    finally:
        setattr(place, name, kept)
