"""The eleven challenges: each a mechanism with its claim, inputs, neighbouring pairs, and how useful it has to be.

Whether a mechanism keeps its claim is written nowhere: attacks are judged by samples, and verdicts by exact laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attacklab.model.claims import PrivacyClaim
from attacklab.model.domains import Domain, Records
from attacklab.model.errors import UsageError
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Target
from challenges import library
from challenges.uses import (
    Errors,
    Uses,
    alternatives,
    baskets,
    behind,
    distance_from,
    itself,
    leading_categories,
    means,
    numbers,
    totals,
    truths,
    unlike,
)


def _no_pairs(_: np.random.Generator) -> Sequence[tuple[Any, Any]]:
    return ()


@dataclass(frozen=True)
class Challenge:
    """One mechanism of the library.

    Attributes:
        mechanism: takes `(input, size, rng)`, or `(input, bits)` if `takes_bits`.
        claim: what it claims for one answer.
        kind: what its input is.
        domain: the inputs that it takes.
        relation: of the datasets that are neighbours; None where inputs are answers, counts or utilities.
        lengths: how many numbers an input may have; None where it is one number.
        errors: the error of each output of an input.
        uses: draws the inputs on which a repair has to be accurate.
        hard: draws pairs whose exact laws have to keep the claim before a verdict or a repair is accepted;
            none where it does not draw from random bits.
        tells_bits: whether the second number of an output is how many random bits were taken.
        sensitivity: the most that an answer or a utility moves between neighbours.
    """

    mechanism: Callable[..., Any]
    claim: PrivacyClaim
    kind: Kind
    domain: Domain
    errors: Errors
    uses: Uses
    relation: Relation | None = None
    lengths: tuple[int, int] | None = None
    hard: Callable[[np.random.Generator], Sequence[tuple[Any, Any]]] = field(default=_no_pairs)
    tells_bits: bool = False
    sensitivity: float = 1.0

    @property
    def name(self) -> str:
        """The mechanism's name in the library."""
        return self.mechanism.__name__

    @property
    def takes_bits(self) -> bool:
        """Whether it draws from random bits, so that exact laws can be found."""
        return self.hard is not _no_pairs

    def pair(self, first: Any, second: Any) -> NeighbouringPair:
        """Two inputs as a neighbouring pair.

        Raises:
            UsageError: one of them is not in the domain, or they are not neighbours.
        """
        for side, input_ in (("first", first), ("second", second)):
            self._require(side, input_)
        if self.relation is not None:
            return self.target(_never).cast_pair(NeighbouringPair.records(first, second, self.relation))
        if self.domain.integers:
            return NeighbouringPair.integers(first, second, sensitivity=self.sensitivity)
        make = NeighbouringPair.answers if self.lengths is None else NeighbouringPair.utilities
        return make(first, second, sensitivity=self.sensitivity)

    def target(
        self,
        release: Callable[[Any, int, np.random.Generator], Any],
        name: str | None = None,
        *,
        pairs: Sequence[NeighbouringPair] = (),
    ) -> Target:
        """An implementation of this mechanism as a target, with its claim and pairs that are tried at least."""
        return Target(
            name=name or self.name,
            kind=self.kind,
            claim=self.claim,
            release=release,
            sensitivity=self.sensitivity,
            relation=self.relation,
            bounds=self.domain.bounds if self.kind is Kind.SUM else None,
            domain=self.domain,
            pairs=tuple(pairs),
        )

    def takes(self, input_: Any) -> bool:
        """Whether the mechanism says that it takes an input."""
        try:
            self._require("given", input_)
        except UsageError:
            return False
        return True

    def _require(self, label: str, input_: Any) -> None:
        values = np.asarray(input_)
        if values.size and values.dtype.kind not in ("iu" if self.domain.integers else "iuf"):
            raise UsageError(f"the {label} input must be made of {'integers' if self.domain.integers else 'numbers'}")
        if values.ndim != (0 if self.lengths is None else 1):
            raise UsageError(f"the {label} input must be {'a number' if self.lengths is None else 'a list of numbers'}")
        if self.lengths is not None and not self.lengths[0] <= len(values) <= self.lengths[1]:
            raise UsageError(
                f"the {label} input has {len(values)} numbers; {self.name} takes {self.lengths[0]} to {self.lengths[1]}"
            )
        low, high = self.domain.bounds or (-np.inf, np.inf)
        outside = ~((values >= low) & (values <= high))
        if outside.any():
            raise UsageError(
                f"the {label} input has {np.atleast_1d(values)[np.atleast_1d(outside)][0]}; "
                f"{self.name} takes numbers from {low:g} to {high:g}"
            )


def _never(*_: object) -> Any:
    raise AssertionError("this target is only asked what its domain is")


def _neighbouring_counts(_: np.random.Generator) -> list[tuple[int, int]]:
    return [(count, count + 1) for count in range(20)]


def _two_truths(_: np.random.Generator) -> list[tuple[int, int]]:
    return [(larger, smaller) for larger in range(5) for smaller in range(larger)]


def _choices(rng: np.random.Generator) -> list[tuple[list[int], list[int]]]:
    """Two and three alternatives that move towards and away from each other all over the range, and random ones."""
    levels = range(0, 30, 5)
    moves = [([level, low], [level + 1, low]) for level in levels for low in (0, level, 29)]
    apart = [([level, level + 1], [level + 1, level]) for level in range(30)]
    three = [([level, 20, 12], [level + 1, 21, 11]) for level in levels]
    drawn = [rng.integers(0, 30, size=rng.integers(2, 8, endpoint=True)) for _ in range(10)]
    random = [(low.tolist(), (low + rng.integers(0, 2, size=len(low))).tolist()) for low in drawn]
    return moves + apart + three + random


_DEPOTS = (([1, 5, 9, 30], [0, 6, 10, 31]), ([40.5, 20.25, 22], [41.5, 21.25, 21]))
_PLANS = (([4, 9, 2], [5, 8, 3]), ([30, 20, 28], [29, 21, 29]))


def _by_base_two(
    mechanism: Callable[..., Any], best: Callable[[ArrayLike], Any], place: Callable[[ArrayLike], Any]
) -> Challenge:
    """A choice among alternatives whose values are integers, with exact laws."""
    return Challenge(
        mechanism,
        claim=PrivacyClaim(1.4),
        kind=Kind.SELECTION,
        domain=Domain(integers=True, bounds=(0, 30)),
        lengths=(1, 8),
        errors=behind(best),
        uses=alternatives(_PLANS, place, most=30, bound=1.0),
        hard=_choices,
    )


def _count(mechanism: Callable[..., Any], *, tells_bits: bool) -> Challenge:
    """A noisy count, with exact laws."""
    return Challenge(
        mechanism,
        claim=PrivacyClaim(0.7),
        kind=Kind.NOISE,
        domain=Domain(integers=True, bounds=(0, 20)),
        errors=distance_from(itself),
        uses=numbers([(0, 5), (14, 19)], bound=2.0),
        hard=_neighbouring_counts,
        tells_bits=tells_bits,
    )


CHALLENGES = (
    Challenge(
        library.nearest_depot,
        claim=PrivacyClaim(1.0),
        kind=Kind.SELECTION,
        domain=Domain(bounds=(0, 100)),
        lengths=(1, 5000),
        errors=behind(np.min),
        uses=alternatives(_DEPOTS, np.argmin, most=100, bound=1.5),
    ),
    Challenge(
        library.survey_answer,
        claim=PrivacyClaim(1.1),
        kind=Kind.NOISE,
        domain=Domain(integers=True, bounds=(0, 4)),
        sensitivity=4.0,
        errors=unlike(itself),
        uses=truths(5, bound=0.65),
        hard=_two_truths,
    ),
    Challenge(
        library.add_noise,
        claim=PrivacyClaim(1.0),
        kind=Kind.NOISE,
        domain=Domain(bounds=(-1000, 1000)),
        errors=distance_from(itself),
        uses=numbers([(-1000, -1), (1, 999)], bound=1.5, parts=1 << 20),
    ),
    Challenge(
        library.top_category,
        claim=PrivacyClaim(1.0, 0.01),
        kind=Kind.DATASET,
        domain=Domain(integers=True, bounds=(0, 3), shape=Records(most=200)),
        relation=Relation.ADD_REMOVE,
        lengths=(0, 200),
        errors=unlike(lambda records: np.argmax(np.bincount(records))),
        uses=leading_categories,
    ),
    _by_base_two(library.best_candidate, np.max, np.argmax),
    Challenge(
        library.total,
        claim=PrivacyClaim(1.0),
        kind=Kind.SUM,
        domain=Domain(bounds=(0, 4096)),
        relation=Relation.SUBSTITUTE,
        lengths=(1, 20_000),
        sensitivity=4096.0,
        errors=distance_from(np.sum),
        uses=totals,
    ),
    _count(library.count_people, tells_bits=False),
    _by_base_two(library.cheapest_plan, np.min, np.argmin),
    Challenge(
        library.average,
        claim=PrivacyClaim(0.1),
        kind=Kind.DATASET,
        domain=Domain(bounds=(0, 1), shape=Records(least=1, most=1000)),
        relation=Relation.ADD_REMOVE,
        lengths=(1, 1000),
        errors=distance_from(np.mean),
        uses=means,
    ),
    _count(library.metered_count, tells_bits=True),
    Challenge(
        library.average_basket,
        claim=PrivacyClaim(1.0),
        kind=Kind.DATASET,
        domain=Domain(bounds=(0, 100), shape=Records(least=1, most=1000)),
        relation=Relation.ADD_REMOVE,
        lengths=(1, 1000),
        errors=distance_from(np.mean),
        uses=baskets,
    ),
)
