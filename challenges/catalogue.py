"""The ten challenges: each a mechanism with its claim, its inputs, its neighbouring pairs, and how useful it has to be.

Whether a mechanism keeps its claim is written nowhere: attacks are judged by samples, and verdicts by exact laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.claims import PrivacyClaim
from attacklab.domains import Domain, Records
from attacklab.errors import UsageError
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Target
from challenges import library

Outputs = NDArray[Any]
Errors = Callable[[Any, Outputs], NDArray[np.float64]]


@dataclass(frozen=True)
class Use:
    """An input on which a repair has to be accurate.

    Attributes:
        first: the input.
        second: a neighbour of it. A repair that treats the first one specially lets the two be told apart.
        bound: the largest mean error.
    """

    first: Any
    second: Any
    bound: float


@dataclass(frozen=True)
class Challenge:
    """One mechanism of the library.

    Attributes:
        mechanism: takes `(input, size, rng)`, or `(input, bits)` if `takes_bits`.
        takes_bits: whether it draws from random bits, so that exact laws can be found.
        claim: what it claims for one answer.
        kind: what its input is.
        domain: the inputs that it takes.
        relation: of the datasets that are neighbours; None where inputs are answers, counts or utilities.
        lengths: how many numbers an input may have; None where it is one number.
        error: the error of each output of an input.
        uses: where a repair has to be accurate.
        hard: pairs whose exact laws have to keep the claim before a verdict or a repair is accepted.
        tells_bits: whether the second number of an output is how many random bits were taken.
        sensitivity: the most that an answer or a utility moves between neighbours.
    """

    mechanism: Callable[..., Any]
    takes_bits: bool
    claim: PrivacyClaim
    kind: Kind
    domain: Domain
    error: Errors
    uses: tuple[Use, ...]
    relation: Relation | None = None
    lengths: tuple[int, int] | None = None
    hard: Callable[[], Sequence[tuple[Any, Any]]] = field(default=lambda: ())
    tells_bits: bool = False
    sensitivity: float = 1.0

    @property
    def name(self) -> str:
        """The mechanism's name in the library."""
        return self.mechanism.__name__

    def pair(self, first: Any, second: Any) -> NeighbouringPair:
        """Two inputs as a neighbouring pair.

        Raises:
            UsageError: one of them is not in the domain, or they are not neighbours.
        """
        for which, given in (("first", first), ("second", second)):
            self._require(which, given)
        if self.relation is not None:
            return self.target(_never).cast_pair(NeighbouringPair.records(first, second, self.relation))
        if self.domain.integers:
            return NeighbouringPair.integers(first, second, sensitivity=self.sensitivity)
        make = NeighbouringPair.answers if self.lengths is None else NeighbouringPair.utilities
        return make(first, second, sensitivity=self.sensitivity)

    def target(self, release: Callable[[Any, int, np.random.Generator], Any], name: str | None = None) -> Target:
        """An implementation of this mechanism as a target, with its claim and the pairs that are tried at least."""
        tried = [(use.first, use.second) for use in self.uses]
        return Target(
            name=name or self.name,
            kind=self.kind,
            claim=self.claim,
            release=release,
            sensitivity=self.sensitivity,
            relation=self.relation,
            bounds=self.domain.bounds if self.kind is Kind.SUM else None,
            domain=self.domain,
            pairs=() if release is _never else tuple(self.pair(*two) for two in tried),
        )

    def _require(self, which: str, given: Any) -> None:
        values = np.asarray(given)
        if values.size and values.dtype.kind not in ("iu" if self.domain.integers else "iuf"):
            raise UsageError(f"the {which} input must be made of {'integers' if self.domain.integers else 'numbers'}")
        if values.ndim != (0 if self.lengths is None else 1):
            raise UsageError(f"the {which} input must be {'a number' if self.lengths is None else 'a list of numbers'}")
        if self.lengths is not None and not self.lengths[0] <= len(values) <= self.lengths[1]:
            raise UsageError(
                f"the {which} input has {len(values)} numbers; {self.name} takes {self.lengths[0]} to {self.lengths[1]}"
            )
        low, high = self.domain.bounds or (-np.inf, np.inf)
        outside = ~((values >= low) & (values <= high))
        if outside.any():
            raise UsageError(
                f"the {which} input has {np.atleast_1d(values)[np.atleast_1d(outside)][0]}; "
                f"{self.name} takes numbers from {low:g} to {high:g}"
            )


def _never(*_: object) -> Any:
    raise AssertionError("this target is only asked what its domain is")


def _behind_least(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    values = np.asarray(input_, dtype=np.float64)
    return np.asarray(values[outputs] - values.min())


def _behind_most(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    values = np.asarray(input_, dtype=np.float64)
    return np.asarray(values.max() - values[outputs])


def _distance(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    return np.abs(np.asarray(outputs, dtype=np.float64) - np.float64(input_))


def _distance_from_sum(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    return np.abs(np.asarray(outputs, dtype=np.float64) - np.sum(np.asarray(input_, dtype=np.float64)))


def _distance_from_mean(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    return np.asarray(np.abs(np.asarray(outputs, dtype=np.float64) - np.mean(input_)))


def _distance_of_first(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    return _distance(input_, outputs[:, 0])


def _is_wrong(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    return np.asarray(outputs != input_, dtype=np.float64)


def _is_not_top(input_: Any, outputs: Outputs) -> NDArray[np.float64]:
    return np.asarray(outputs != np.argmax(np.bincount(input_)), dtype=np.float64)


def _neighbouring_counts() -> list[tuple[int, int]]:
    return [(count, count + 1) for count in range(20)]


def _two_truths() -> list[tuple[int, int]]:
    return [(one, other) for one in range(5) for other in range(one)]


def _choices() -> list[tuple[list[int], list[int]]]:
    """Two and three alternatives that move towards and away from each other, all over the range."""
    levels = range(0, 30, 5)
    moves = [([level, low], [level + 1, low]) for level in levels for low in (0, level, 29)]
    apart = [([level, level + 1], [level + 1, level]) for level in range(30)]
    three = [([level, 20, 12], [level + 1, 21, 11]) for level in levels]
    return moves + apart + three


_PLANS = Domain(integers=True, bounds=(0, 30))
_COUNTS = Domain(integers=True, bounds=(0, 20))

CHALLENGES = (
    Challenge(
        library.nearest_depot,
        takes_bits=False,
        claim=PrivacyClaim(1.0),
        kind=Kind.SELECTION,
        domain=Domain(bounds=(0, 100)),
        lengths=(1, 5000),
        error=_behind_least,
        uses=(Use([1, 5, 9, 30], [0, 6, 10, 31], 1.5), Use([40.5, 20.25, 22], [41.5, 21.25, 21], 1.5)),
    ),
    Challenge(
        library.survey_answer,
        takes_bits=True,
        claim=PrivacyClaim(1.1),
        kind=Kind.NOISE,
        domain=Domain(integers=True, bounds=(0, 4)),
        sensitivity=4.0,
        error=_is_wrong,
        uses=(Use(2, 4, 0.65),),
        hard=_two_truths,
    ),
    Challenge(
        library.add_noise,
        takes_bits=False,
        claim=PrivacyClaim(1.0),
        kind=Kind.NOISE,
        domain=Domain(bounds=(-1000, 1000)),
        error=_distance,
        uses=(Use(0.0, 1.0, 1.5), Use(123.4375, 122.4375, 1.5)),
    ),
    Challenge(
        library.top_category,
        takes_bits=False,
        claim=PrivacyClaim(1.0, 0.01),
        kind=Kind.DATASET,
        domain=Domain(integers=True, bounds=(0, 3), shape=Records(most=200)),
        relation=Relation.ADD_REMOVE,
        lengths=(0, 200),
        error=_is_not_top,
        uses=(Use([2] * 12 + [1] * 2, [2] * 12 + [1], 0.1), Use([0] * 14, [0] * 13, 0.1)),
    ),
    Challenge(
        library.best_candidate,
        takes_bits=True,
        claim=PrivacyClaim(1.4),
        kind=Kind.SELECTION,
        domain=_PLANS,
        lengths=(1, 8),
        error=_behind_most,
        uses=(Use([4, 9, 2], [5, 8, 3], 1.0), Use([30, 20, 28], [29, 21, 29], 1.0)),
        hard=_choices,
    ),
    Challenge(
        library.total,
        takes_bits=False,
        claim=PrivacyClaim(1.0),
        kind=Kind.SUM,
        domain=Domain(bounds=(0, 4096)),
        relation=Relation.SUBSTITUTE,
        lengths=(1, 20_000),
        sensitivity=4096.0,
        error=_distance_from_sum,
        uses=(Use([10.5, 20.0, 4096.0], [10.5, 4096.0, 4096.0], 6000.0), Use([7.0] * 500, [7.0] * 499 + [0.0], 6000.0)),
    ),
    Challenge(
        library.count_people,
        takes_bits=True,
        claim=PrivacyClaim(0.7),
        kind=Kind.NOISE,
        domain=_COUNTS,
        error=_distance,
        uses=(Use(7, 8, 2.0), Use(0, 1, 2.0)),
        hard=_neighbouring_counts,
    ),
    Challenge(
        library.cheapest_plan,
        takes_bits=True,
        claim=PrivacyClaim(1.4),
        kind=Kind.SELECTION,
        domain=_PLANS,
        lengths=(1, 8),
        error=_behind_least,
        uses=(Use([4, 9, 2], [5, 8, 3], 1.0), Use([30, 20, 28], [29, 21, 29], 1.0)),
        hard=_choices,
    ),
    Challenge(
        library.average,
        takes_bits=False,
        claim=PrivacyClaim(0.1),
        kind=Kind.DATASET,
        domain=Domain(bounds=(0, 1), shape=Records(least=1, most=1000)),
        relation=Relation.ADD_REMOVE,
        lengths=(1, 1000),
        error=_distance_from_mean,
        uses=(Use([0.25] * 800, [0.25] * 799, 0.1), Use([0.0, 1.0] * 300, [0.0, 1.0] * 299 + [0.0], 0.1)),
    ),
    Challenge(
        library.metered_count,
        takes_bits=True,
        claim=PrivacyClaim(0.7),
        kind=Kind.NOISE,
        domain=_COUNTS,
        error=_distance_of_first,
        uses=(Use(7, 8, 2.0), Use(0, 1, 2.0)),
        hard=_neighbouring_counts,
        tells_bits=True,
    ),
)
