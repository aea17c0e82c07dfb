"""The output law of an implementation, in rational numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, ItemsView, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gmpy2 import mpq

from attacklab.draws.errors import LawError, MassExceedsOne
from attacklab.laws.outcomes import tag, written


class Bounds(NamedTuple):
    """Two numbers that enclose a third: exact rationals, or `math.inf` above."""

    lower: Any
    upper: Any


class Masses(Mapping[Any, Any]):
    """A mapping from outcomes to masses that tells outcomes apart by type and bits."""

    def __init__(self, pairs: Iterable[tuple[Hashable, Any, Any]]) -> None:
        self.by_tag: dict[Hashable, tuple[Any, Any]] = {key: (outcome, mass) for key, outcome, mass in pairs}

    def __len__(self) -> int:
        return len(self.by_tag)

    def __iter__(self) -> Iterator[Any]:
        return (outcome for outcome, _ in self.by_tag.values())

    def __contains__(self, outcome: object) -> bool:
        return tag(outcome) in self.by_tag

    def __getitem__(self, outcome: Any) -> Any:
        return self.by_tag[tag(outcome)][1]

    def items(self) -> ItemsView[Any, Any]:
        """Return the pairs (outcome, mass)."""
        return self.by_tag.values()  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Masses):
            return dict(self.items()) == other
        return {key: mass for key, (_, mass) in self.by_tag.items()} == {
            key: mass for key, (_, mass) in other.by_tag.items()
        }

    __hash__ = None  # type: ignore[assignment]


class Law:
    """Outcomes and the probability that each is known to have; what is missing from 1 is *unresolved*.

    The unresolved mass may lie on any outcome, even one that is not listed. So the probability of an outcome, or of a
    set of outcomes, lies in [m, m + u], where m is its known mass and u the unresolved mass. A law is *closed* if u
    is 0: then every probability is exact. Outcomes without mass are not kept.

    Args:
        masses: a mapping from outcomes to rational masses, at least 0, or pairs (outcome, mass). Masses of the same
            outcome are added up (see `outcomes`).
        obstacle: why mass is left unresolved, in words; empty if that is not known.

    Raises:
        LawError: a mass is less than 0 or is not a rational number.
        MassExceedsOne: the masses add up to more than 1.
        OpaqueOutcome: the type and bits of an outcome cannot be read.
    """

    def __init__(self, masses: Mapping[Any, Any] | Iterable[tuple[Any, Any]], *, obstacle: str = "") -> None:
        held: dict[Hashable, tuple[Any, Any]] = {}
        for outcome, mass in masses.items() if isinstance(masses, Mapping) else masses:
            try:
                exact = mpq(mass)
            except (TypeError, ValueError, OverflowError) as error:
                raise LawError(f"the mass of {outcome!r} must be a rational number, not {mass!r}") from error
            if exact < 0:
                raise LawError(f"the mass of {outcome!r} must be at least 0, not {mass}")
            if exact:
                key = tag(outcome)
                held[key] = (outcome, held[key][1] + exact if key in held else exact)
        self._masses = Masses((key, outcome, mass) for key, (outcome, mass) in held.items())
        self.obstacle = obstacle
        self._unresolved = 1 - total(mass for _, mass in held.values())
        if self._unresolved < 0:
            raise MassExceedsOne(f"the masses must add up to at most 1, not to 1 + {float(-self._unresolved):.3g}")

    @property
    def masses(self) -> Masses:
        """The known mass of each outcome (`gmpy2.mpq`)."""
        return self._masses

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
        return outcome in self._masses

    def __getitem__(self, outcome: Hashable) -> Bounds:
        """Return bounds on the probability of one outcome, listed or not."""
        mass = self.mass(outcome)
        return Bounds(mass, mass + self._unresolved)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Law) and self._masses == other._masses

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Law({len(self)} outcomes, {float(self._unresolved):.3g} unresolved)"

    def mass(self, outcome: Hashable) -> Any:
        """Return the known mass of one outcome."""
        known = self._masses.by_tag.get(tag(outcome))
        return known[1] if known else mpq(0)

    def probability(self, contains: Callable[[Any], bool]) -> Bounds:
        """Return bounds on the probability of the event of all outcomes for which `contains` is true."""
        mass = total(mass for outcome, mass in self._masses.items() if contains(outcome))
        return Bounds(mass, mass + self._unresolved)

    def map(self, function: Callable[[Any], Hashable]) -> Law:
        """Return the law of `function(outcome)`: post-processing, or a marginal of a joint law."""
        return Law((function(outcome), mass) for outcome, mass in self._masses.items())

    def digest(self) -> str:
        """Return the SHA-256 of outcomes and masses, in hexadecimal: equal only for equal laws."""
        pairs = sorted(f"{written(key)}: {mass}" for key, (_, mass) in self._masses.by_tag.items())
        return hashlib.sha256("\n".join(pairs).encode("utf-8", "surrogatepass")).hexdigest()


def total(rationals: Iterable[Any]) -> Any:
    """Return the sum of the rationals, added up in pairs so that denominators grow only in the last few additions."""
    level = list(rationals)
    while len(level) > 1:
        level = [sum(level[i : i + 2]) for i in range(0, len(level), 2)]
    return mpq(level[0]) if level else mpq(0)
