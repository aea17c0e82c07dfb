"""The output law of an implementation, in rational numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gmpy2 import mpq

from attacklab.laws.errors import LawError, MassExceedsOne
from attacklab.laws.outcomes import canonical, decode, encode


class Bounds(NamedTuple):
    """Two numbers that enclose a third: exact rationals, or `math.inf` above."""

    lower: Any
    upper: Any


class Law:
    """Outcomes and the probability that each is known to have; what is missing from 1 is *unresolved*.

    The unresolved mass may lie on any outcome, even one that is not listed. So the probability of an outcome, or of a
    set of outcomes, lies between its known mass and that plus the unresolved mass. A law is *closed* if nothing is
    unresolved: then every probability is exact. Outcomes without mass are not kept.

    Args:
        masses: outcome → rational mass, at least 0. The masses of outcomes that are the same (see `outcomes`) are added
            up.

    Raises:
        LawError: a mass is less than 0 or is not a rational number.
        MassExceedsOne: the masses add up to more than 1.
        UnhashableOutcome: an outcome cannot be hashed.
    """

    def __init__(self, masses: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        held: dict[Hashable, Any] = {}
        for outcome, mass in masses.items() if isinstance(masses, Mapping) else masses:
            try:
                exact = mpq(mass)
            except (TypeError, ValueError, OverflowError) as error:
                raise LawError(f"the mass of {outcome!r} must be a rational number, not {mass!r}") from error
            if exact < 0:
                raise LawError(f"the mass of {outcome!r} must be at least 0, not {mass}")
            if exact:
                key = canonical(outcome)
                held[key] = held[key] + exact if key in held else exact
        self._masses = held
        self._unresolved = 1 - total(held.values())
        if self._unresolved < 0:
            raise MassExceedsOne(f"the masses must add up to at most 1, not to 1 + {float(-self._unresolved):.3g}")

    @property
    def masses(self) -> Mapping[Hashable, Any]:
        """Outcome → its known mass (`gmpy2.mpq`)."""
        return MappingProxyType(self._masses)

    @property
    def unresolved(self) -> Any:
        """The mass whose outcome is not known (`gmpy2.mpq`)."""
        return self._unresolved

    @property
    def closed(self) -> bool:
        """Whether every probability is known exactly."""
        return not self._unresolved

    def __len__(self) -> int:
        return len(self._masses)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._masses)

    def __contains__(self, outcome: object) -> bool:
        return canonical(outcome) in self._masses

    def __getitem__(self, outcome: Hashable) -> Bounds:
        """Bounds on the probability of one outcome, listed or not."""
        mass = self.mass(outcome)
        return Bounds(mass, mass + self._unresolved)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Law) and self._masses == other._masses

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Law({len(self)} outcomes, {float(self._unresolved):.3g} unresolved)"

    def mass(self, outcome: Hashable) -> Any:
        """The known mass of one outcome."""
        return self._masses.get(canonical(outcome), mpq(0))

    def probability(self, contains: Callable[[Any], bool]) -> Bounds:
        """Bounds on the probability of the event that consists of the outcomes for which `contains` is true."""
        mass = total(mass for outcome, mass in self._masses.items() if contains(outcome))
        return Bounds(mass, mass + self._unresolved)

    def map(self, function: Callable[[Any], Hashable]) -> Law:
        """The law of `function(outcome)`: post-processing, or a marginal of a joint law."""
        masses: dict[Hashable, Any] = {}
        for outcome, mass in self._masses.items():
            image = canonical(function(outcome))
            masses[image] = masses.get(image, 0) + mass
        return Law(masses)

    def product(self, other: Law) -> Law:
        """The law of a pair of independent outcomes, one from each law."""
        return Law({(a, b): p * q for a, p in self._masses.items() for b, q in other._masses.items()})

    def to_json(self) -> dict[str, Any]:
        """The law as JSON: pairs of outcome and mass, with the mass as "numerator/denominator".

        Pairs are sorted by their outcomes' text, so equal laws give equal JSON.

        Raises:
            TypeError: an outcome cannot be written as JSON.
        """
        pairs = [[encode(outcome), str(mass)] for outcome, mass in self._masses.items()]
        return {"masses": sorted(pairs, key=lambda pair: json.dumps(pair[0]))}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Law:
        """The law that `to_json` wrote.

        Raises:
            LawError: `record` is not what `to_json` writes.
        """
        try:
            masses = {decode(form): mpq(mass) for form, mass in record["masses"]}
        except (KeyError, TypeError, ValueError) as error:
            raise LawError(f"not the record of a law: {error}") from error
        if len(masses) != len(record["masses"]):
            raise LawError("not the record of a law: an outcome is listed twice")
        return cls(masses)

    def digest(self) -> str:
        """The SHA-256 of the law's JSON, in hexadecimal: equal only for equal laws.

        Raises:
            TypeError: an outcome cannot be written as JSON.
        """
        text = json.dumps(self.to_json(), separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def total(rationals: Iterable[Any]) -> Any:
    """The sum, added up in pairs so that denominators grow only in the last few additions."""
    level = list(rationals)
    while len(level) > 1:
        level = [sum(level[i : i + 2]) for i in range(0, len(level), 2)]
    return mpq(level[0]) if level else mpq(0)
