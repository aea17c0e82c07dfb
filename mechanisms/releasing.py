"""What the library's functions return: a term with a source of random bits, to be called with data.

What has no meaning for a mechanism is not a method of its class: noise has an `accuracy`, a selection has not.

Every method raises TypeError for data of the wrong form or type, and ValueError for data of the wrong shape. With
`strict`, NaN and numbers out of range raise ValueError as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.certificate import certificate
from mechanisms.core.claims import Claim
from mechanisms.core.gaussian_tails import Enclosure
from mechanisms.core.grid import LIMIT, Grid
from mechanisms.core.laws import Law, last_that
from mechanisms.core.noisy import Noisy
from mechanisms.core.numbers import Number, exact, rational
from mechanisms.core.restated import Restated
from mechanisms.core.rounding import fraction
from mechanisms.core.select import COARSE, FINE
from mechanisms.core.term import Mechanism, lasting
from mechanisms.entropy import SeededBits, SystemBits
from mechanisms.randomness import RandomBits

_PRECISION = 128

Output = TypeVar("Output")
Promise = TypeVar("Promise", bound=Claim)
Exact = TypeVar("Exact", bound="Release[Any, Any]")


class Bounds(NamedTuple):
    """A lower and an upper bound on a probability, as rational numbers."""

    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class Release(Generic[Output, Promise]):
    """An exact mechanism: `mechanism(data)` is one release, from the operating system's entropy.

    Args:
        term: the mechanism, a term of `mechanisms.core`.
        bits: the source of its random bits.
    """

    term: Mechanism
    bits: RandomBits = field(default_factory=SystemBits)

    def __call__(self, data: Any, *, strict: bool = False) -> Output:
        """Release one output, for data of the form that the function that made this mechanism names.

        Args:
            data: the data.
            strict: whether to raise an error for NaN and numbers out of range, which otherwise count as numbers of the
                range. An error reveals private data, so this is for data that were checked, or for tests.
        """
        return cast(Output, self.term.release(self._read(data, strict), self.bits))

    def _read(self, data: Any, strict: bool) -> Any:
        if strict:
            _require_within(_range(self.term), data)
        return _in_order(data)

    @property
    def claim(self) -> Promise:
        """The claim of one release; the losses of several releases add up."""
        return cast(Promise, self.term.claim)

    @property
    def relation(self) -> str:
        """Which data are neighbours; see `mechanisms.core.term`."""
        return str(self.term.relation)

    def certificate(self, name: str) -> dict[str, Any]:
        """Return the term, its claim and its tables as JSON, for the lab's independent checker.

        Args:
            name: what to call the mechanism.
        """
        return certificate(name, self.term)

    def seeded_for_tests(self: Exact, seed: int) -> Exact:
        """Return a copy whose noise a seed determines: for tests, never for releases."""
        if type(seed) is not int:
            raise TypeError(f"seed must be an int, not {type(seed).__name__}")
        return replace(self, bits=SeededBits(seed))


@dataclass(frozen=True)
class NoisyLaw:
    """The law of one release: the answer plus noise, clamped to ±2^53 steps.

    Args:
        noise: the law of the noise, in steps; symmetric about 0.
        answer: the answer, in steps from 0.
        grid: the grid of the outputs.
    """

    noise: Law
    answer: int
    grid: Grid

    def at_least(self, output: Number) -> Bounds:
        """Enclose the probability that the release is at least some number."""
        return self._from(math.ceil(rational("output", output) / self.grid.step))

    def probability(self, output: Number) -> Bounds:
        """Enclose the probability of an output: 0 if it is not a point of the grid."""
        steps = rational("output", output) / self.grid.step
        if steps.denominator != 1 or abs(steps) > LIMIT:
            return Bounds(Fraction(0), Fraction(0))
        if steps < self.answer:  # the tails of the other side are as exact as they are small
            return NoisyLaw(self.noise, -self.answer, self.grid).probability(-rational("output", output))
        here, beyond = self._from(int(steps)), self._from(int(steps) + 1)
        return Bounds(max(here.lower - beyond.upper, Fraction(0)), here.upper - beyond.lower)

    def _from(self, steps: int) -> Bounds:
        """Enclose P[release ≥ steps], where `steps` are counted from 0."""
        if abs(steps) > LIMIT or steps == -LIMIT:
            return Bounds(*[Fraction(int(steps < 0))] * 2)
        return _bounds(self.noise.tail(steps - self.answer, _PRECISION))


@dataclass(frozen=True)
class Additive(Release[Output, Promise]):
    """Noise on a number, or on each of several numbers."""

    @property
    def _noisy(self) -> Noisy:
        return cast(Noisy, self.term.mechanism if isinstance(self.term, Restated) else self.term)

    @property
    def effective_sensitivity(self) -> Fraction:
        """The most that neighbours differ before noise is added: the sensitivity in its unit, rounded up to steps."""
        return self._noisy.query.stability * self._noisy.grid.step

    def accuracy(self, probability: Number) -> float:
        """Return the least a with P[|noise| ≤ a] ≥ probability, for the noise of one number, by its exact law.

        It is a whole number of steps, rounded up. Rounding an answer to the grid adds up to half a step.

        Args:
            probability: above 0 and below 1, such as 0.95.
        """
        share = rational("probability", probability)
        if not 0 < share < 1:
            raise ValueError(f"probability must be above 0 and below 1, not {probability}")
        law, grid = self._noisy.law, self._noisy.grid

        def is_too_little(steps: int) -> bool:
            return 2 * fraction(law.tail(steps + 1, _PRECISION).upper) > 1 - share

        steps = last_that(is_too_little, 0, max(int(law.spread), 1)) + 1
        if steps > LIMIT:
            raise ValueError("the noise may be beyond the grid with that probability; take one that is further below 1")
        return grid.value(steps)


@dataclass(frozen=True)
class OfNumber(Additive[Output, Promise]):
    """Noise on a number that is computed from the data."""

    def law(self, data: Any) -> NoisyLaw:
        """Return the exact law of one release."""
        shifted: Any = self.term.prepared(_in_order(data))
        return NoisyLaw(self._noisy.law, shifted.value, shifted.grid)


@dataclass(frozen=True)
class Noise(OfNumber[float, Promise]):
    """Noise on an answer that the caller computed; a NaN counts as 0."""

    def __call__(self, data: Number, *, strict: bool = False) -> float:
        """Release one answer; see `Release`."""
        _refuse_several(data)
        return super().__call__(data, strict=strict)

    def each(self, answers: Any, *, strict: bool = False) -> NDArray[np.float64]:
        """Release each of many answers once. All outputs together keep the claim if neighbours differ in one answer.

        Args:
            answers: an array of integers or floats of any shape, or numbers in a list or from an iterator.
            strict: as for one answer.

        Returns:
            Points of the grid, in the shape of `answers`.
        """
        mechanism: Any = self.term
        return cast(NDArray[np.float64], mechanism.each(self._read(_listed(answers), strict), self.bits))


@dataclass(frozen=True)
class IntegerNoise(OfNumber[int, Promise]):
    """Noise on a whole number that the caller computed; a fraction is rounded, half upward, and a NaN counts as 0."""

    def __call__(self, data: Number, *, strict: bool = False) -> int:
        """Release one answer; see `Release`."""
        _refuse_several(data)
        return int(super().__call__(data, strict=strict))

    def each(self, answers: Any, *, strict: bool = False) -> NDArray[np.int64]:
        """Release each of many answers once; see `Noise.each`."""
        return self._noisy.each(self._read(_listed(answers), strict), self.bits).astype(np.int64)


@dataclass(frozen=True)
class Tallies(Additive[NDArray[np.int64], Promise]):
    """Noise on each of several counts that the caller computed."""

    def __call__(self, data: Any, *, strict: bool = False) -> NDArray[np.int64]:
        """Release every count once, shape (cells,); see `Release`."""
        released: NDArray[np.float64] = self.term.many(self._read(data, strict), 1, self.bits)[0]
        return released.astype(np.int64)

    def law(self, data: Any) -> list[NoisyLaw]:
        """Return the exact law of each count's release; they are independent."""
        shifted: Any = self.term.prepared(_in_order(data))
        return [NoisyLaw(self._noisy.law, steps, shifted.grid) for steps in shifted.value.tolist()]


@dataclass(frozen=True)
class Selection(Release[int, Promise]):
    """The exponential mechanism on utilities that the caller computed."""

    @property
    def _width(self) -> int:
        """The width: COARSE, which is faster, for the system's bits; FINE for a seed, to keep its outputs."""
        return COARSE if type(self.bits) is SystemBits else FINE

    def __call__(self, data: Any, *, strict: bool = False) -> int:
        """Select one outcome; see `Release`."""
        mechanism: Any = self.term
        return int(mechanism.prepared(lasting(self._read(data, strict)), self._width).one(self.bits))

    def each(self, rows: Any, *, strict: bool = False) -> NDArray[np.int64]:
        """Select once for each row of utilities. All outputs together keep the claim if neighbours differ in one row.

        Args:
            rows: utilities, shape (queries, outcomes).
            strict: as for one selection.

        Returns:
            The index of each row's outcome, shape (queries,).
        """
        mechanism: Any = self.term
        return cast(NDArray[np.int64], mechanism.each(self._read(_listed(rows), strict), self.bits, self._width))

    def law(self, utilities: Any) -> list[Bounds]:
        """Return the exact probability of each outcome; it takes time in proportion to their number."""
        mechanism: Any = self.term
        return [_bounds(share) for share in mechanism.law(_in_order(utilities))]


@dataclass(frozen=True)
class Candidate(Release[float, Promise]):
    """A point of a public grid, selected by records."""

    def law(self, records: Any) -> dict[float, Bounds]:
        """Return the exact probability of each candidate; it takes time in proportion to their number."""
        mapped: Any = self.term
        shares = mapped.mechanism.law(_in_order(records))
        return {mapped.function(place): _bounds(share) for place, share in enumerate(shares)}


def _bounds(enclosure: Enclosure) -> Bounds:
    return Bounds(fraction(enclosure.lower), fraction(enclosure.upper))


def _in_order(data: Any) -> Any:
    """Return the data; raise TypeError for a mapping, a set or a masked array, which lose something as a list."""
    if type(data) in (np.ndarray, list, float, int):
        return data
    if isinstance(data, Mapping):
        raise TypeError("a mapping is not a list of numbers; give its values, such as list(counts.values())")
    if isinstance(data, Set):
        raise TypeError("a set has each number once and in no order; give a list or an array")
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError("a masked array's mask would be lost; give its values that count, by compressed()")
    return data


def _listed(data: Any) -> Any:
    return list(data) if isinstance(data, Iterator) else data


def _range(part: Any) -> tuple[Fraction, Fraction] | None:
    """Return the range of the numbers that a part of a term reads: the bounds that it has, or the ends of its grid."""
    for lower, upper in (("first", "last"), ("lower", "upper")):
        if hasattr(part, lower) and hasattr(part, upper):
            return getattr(part, lower), getattr(part, upper)
    inner = part if isinstance(part, tuple) else [getattr(part, each.name) for each in fields(part)]
    found = filter(None, map(_range, (each for each in inner if is_dataclass(each) or type(each) is tuple)))
    grid = getattr(part, "grid", None)
    return next(found, (-grid.step * LIMIT, grid.step * LIMIT) if isinstance(grid, Grid) else None)


def _require_within(ends: tuple[Fraction, Fraction] | None, data: Any) -> None:
    """Raise ValueError for NaN, and for numbers that the mechanism would clamp."""
    lower, upper = ends or (-math.inf, math.inf)
    for number in np.ravel(np.asarray(data, dtype=object)).tolist():
        if not lower <= exact("a number", number) <= upper:
            raise ValueError(f"strict: each number must be from {float(lower)} to {float(upper)}, and none is NaN")


def _refuse_several(answer: Any) -> None:
    """Raise TypeError for a list, a tuple or an array, which only the method `each` takes."""
    if isinstance(answer, list | tuple | np.ndarray):
        raise TypeError("this mechanism releases one answer at a time; call its method each for an array or a list")
