"""Stages: deterministic functions of a dataset, with a claim of how far one record moves their output.

Noise is mostly right, but the sensitivity that scales it often is not. Two inputs and their outputs refute a stage.

Source: McSherry 2009, 'Privacy Integrated Queries', on the stability of a transformation.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from attacklab.model.claims.stability import Metric, Stability
from attacklab.model.domains import Categories, Domain, Records
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.releases import name_of

Values: TypeAlias = Domain | type | Sequence[Any]
"""The records that a stage takes: a domain of records or categories, a type (float, int or str), or a list of them."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A deterministic function and its claimed stability. `Target.stage` makes one, and explains the fields.

    Attributes:
        claim: how far apart the outputs on neighbours may be.
        version: the version of the implementation.
    """

    function: Callable[[Any], Any] = field(repr=False)
    claim: Stability
    domain: Values = float
    relation: Relation = Relation.ADD_REMOVE
    sizes: tuple[int, float] = (0, math.inf)
    pairs: tuple[NeighbouringPair, ...] = field(default=(), repr=False)
    name: str = "stage"
    version: str = "unknown"

    def takes(self, records: Sequence[Any]) -> bool:
        """Whether the stage takes a dataset of these records."""
        if isinstance(self.domain, Domain):
            return self.domain.contains(self.dataset(records))
        fits = self.sizes[0] <= len(records) <= self.sizes[1]
        return fits and (isinstance(self.domain, type) or all(repr(one) in self._listed for one in records))

    @functools.cached_property
    def _listed(self) -> set[str]:
        return set() if isinstance(self.domain, Domain | type) else set(map(repr, self.domain))

    def dataset(self, records: Sequence[Any]) -> Any:
        """Return records as the dataset to pass to the function: a list, or an array of the domain's type."""
        if not isinstance(self.domain, Domain):
            return [one if isinstance(one, float | int | str | bytes) else copy.deepcopy(one) for one in records]
        if isinstance(self.domain.shape, Categories):
            return np.array(records, dtype=np.array(self.domain.shape.names).dtype)
        return self.domain.vector(records)


def stage(
    function: Callable[[Any], Any],
    *,
    stability: Any,
    metric: Metric | str = Metric.ABSOLUTE,
    domain: Values = float,
    relation: Relation | str = Relation.ADD_REMOVE,
    d_in: int = 1,
    sizes: tuple[int, float] | None = None,
    pairs: Sequence[NeighbouringPair] = (),
    name: str | None = None,
) -> Stage:
    """Make a stage.

    Args:
        function: `function(dataset)`; the same input must give the same output.
        stability: the most that d_in records move the output, at least 0 (a float stands for its exact value); or a
            function that takes d_in and returns this number.
        metric: absolute, l1, l2, linf or symmetric.
        domain: the records: a domain with the shape Records or Categories, whose datasets are numpy arrays; or a type
            (float, int or str) or a list of records (numbers, strings, tuples, dicts …), whose datasets are lists.
        relation: add-remove or substitute.
        d_in: the number of records in which neighbours differ.
        sizes: the least and the largest number of records; not allowed for a domain, whose shape has them.
        pairs: neighbouring datasets to try first, each side a sequence of records.
        name: the name in findings; the function's own name by default.

    Raises:
        UsageError: an argument is out of range. If its type is wrong, this is a `UsageTypeError`.
    """
    if not callable(function):
        raise UsageTypeError(f"function must be callable as function(dataset), not {function!r}")
    if type(d_in) is not int or d_in < 1:
        raise UsageError(f"d_in must be an integer of at least 1, not {d_in!r}")
    by = Relation(relation)
    if by not in (Relation.ADD_REMOVE, Relation.SUBSTITUTE):
        raise UsageError(f"relation of a stage must be add-remove or substitute, not {by}")
    if any(pair.relation is not by for pair in pairs):
        raise UsageError(f"each pair of a stage must be one of {by} neighbours, as NeighbouringPair.records makes them")
    shape = domain.shape if isinstance(domain, Domain) else None
    least, most = sizes or (getattr(shape, "least", 0), getattr(shape, "most", math.inf))
    if (sizes and shape) or not 0 <= least <= most:
        raise UsageError(f"sizes must be (least, most), 0 <= least <= most, for a domain without shape, not {sizes}")
    claim = Stability(_bound(stability(d_in) if callable(stability) else stability), Metric(metric), d_in)
    return Stage(
        function=function,
        claim=claim,
        domain=_checked(domain),
        relation=by,
        sizes=(int(least), most),
        pairs=tuple(pairs),
        name=name or name_of(function),
    )


def _bound(value: Any) -> Fraction:
    try:
        bound = Fraction(value.item() if isinstance(value, np.generic) else value)
    except (TypeError, ValueError, OverflowError):
        raise UsageTypeError(f"stability must be a finite number, not {value!r}") from None
    if bound < 0:
        raise UsageError(f"stability must be at least 0, not {value!r}")
    return bound


def _checked(domain: Values) -> Values:
    if isinstance(domain, Domain) and isinstance(domain.shape, Records | Categories):
        return domain
    if isinstance(domain, type) and domain in (float, int, str):
        return domain
    if isinstance(domain, Sequence | np.ndarray) and not isinstance(domain, str) and len(domain):
        return list(domain)
    raise UsageTypeError(
        "the domain of a stage must be float, int, str, a list of records, or a Domain with the shape Records or "
        f"Categories, not {domain!r}"
    )
