"""Shapes: what the input of a DATASET target looks like, and neighbouring pairs of that shape to try.

The pairs are like those that show published flaws: an empty dataset and one record, a value that nobody else has, one
more record of a common value, and changes of all coordinates at once. A constructor of `NeighbouringPair` makes, and so
checks, every pair.

Source: Ding, Wang, Wang, Zhang and Kifer 2018, 'Detecting Violations of Differential Privacy', table 2, for the
patterns of query answers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.model.domains import datasets
from attacklab.model.errors import UsageError, UsageTypeError, Word
from attacklab.model.neighbours import NeighbouringPair, Relation, as_array

if TYPE_CHECKING:
    from attacklab.model.domains.domain import Domain

MOST_NUMBERS = 100_000
"""The largest number of queries or steps of an input, and of records in the datasets to try."""

MOST_RECORDS = 64
"""The largest number of records of a dataset, unless the domain says otherwise."""

NAMES_TRIED = 3
"""The number of categories, besides the first and the last, that are tried as rare values."""

DISTINCT = 8
"""About the number of values in a dataset without repetitions."""

FAR = (1_000, -1_000, 1 << 20)
"""Extreme records to try, if the domain contains them."""


class Pattern(Word):
    """How the answers to several queries change between neighbours."""

    ONE = "one"
    """One answer changes."""
    ALL = "all"
    """All answers change in one direction."""
    HALVES = "halves"
    """Half of the answers go up and half go down."""
    ONE_AGAINST_REST = "one-against-rest"
    """One answer goes up and the rest go down."""


@dataclass(frozen=True, kw_only=True)
class Queries:
    """The true answers to several queries, one number each.

    Attributes:
        size: the number of queries.
        sensitivity: the most that any answer moves between neighbours.
        patterns: the ways in which answers may move together.
    """

    form: ClassVar[str] = "queries"
    relations: ClassVar[tuple[Relation, ...]] = ()

    size: int
    sensitivity: float = 1.0
    patterns: tuple[Pattern, ...] = tuple(Pattern)

    def __post_init__(self) -> None:
        _require_count("size", self.size, 1, MOST_NUMBERS)
        if not self.patterns:
            raise UsageError(f"queries need a pattern; name one of {', '.join(Pattern)}")
        object.__setattr__(self, "patterns", tuple(Pattern(pattern) for pattern in self.patterns))
        NeighbouringPair.answers(0.0, 0.0, sensitivity=self.sensitivity)

    def contains(self, input_: Any, numbers: Domain) -> bool:
        """Whether an input is a vector of `size` numbers that the domain takes."""
        return as_array(input_).shape == (self.size,) and numbers.holds(input_)

    def neighbours(self, pair: NeighbouringPair) -> bool:
        """Whether the answers differ by one of the patterns, and by no more than the sensitivity."""
        if pair.relation is not None:
            return False
        try:
            sides = (np.asarray(side).tolist() for side in (pair.first, pair.second))
            moves = [Fraction(b) - Fraction(a) for a, b in zip(*sides, strict=True)]
        except (ValueError, OverflowError):  # NaN and infinities must be equal on both sides
            return bool(np.array_equal(pair.first, pair.second, equal_nan=True))
        signs = [(move > 0) - (move < 0) for move in moves]
        up, down = signs.count(1), signs.count(-1)
        fits = {
            Pattern.ONE: up + down <= 1,
            Pattern.ALL: not (up and down),
            Pattern.HALVES: max(up, down) <= -(-self.size // 2),
            Pattern.ONE_AGAINST_REST: min(up, down) <= 1,
        }
        return max(map(abs, moves)) <= Fraction(self.sensitivity) and any(fits[pattern] for pattern in self.patterns)

    def pairs(self, relation: Relation | None, numbers: Domain) -> Iterator[NeighbouringPair]:  # noqa: ARG002 - none
        """Yield pairs: answers (equal, one ahead, ascending …), and the same answers moved by a pattern, up or down."""
        step = self.sensitivity
        moves = [signed for pattern in self.patterns for move in self._moves(pattern) for signed in (move, -move)]
        bases = list(self._bases())
        for move, base in itertools.chain(
            itertools.product(moves, bases), ((move, step * (move < 0)) for move in moves)
        ):
            placed = numbers.nearest(base, base + step * move, step)
            if placed is None or np.array_equal(*placed):
                continue
            make = NeighbouringPair.integers if placed[0].dtype.kind == "i" else NeighbouringPair.utilities
            yield make(*placed, sensitivity=step)

    def _bases(self) -> Iterator[NDArray[np.float64]]:
        step = self.sensitivity
        level, row = np.zeros(self.size), np.arange(self.size, dtype=np.float64)
        yield level
        yield np.where(row == 0, step, level)
        yield np.multiply(step, row)
        yield np.multiply(-step, row)
        yield np.where(row == 0, 1024 * step, level)
        yield np.where(row < self.size // 2, 8 * step, level)
        yield level + 0.5

    def _moves(self, pattern: Pattern) -> Iterator[np.ndarray[Any, np.dtype[np.float64]]]:
        moves = np.ones(self.size)
        if pattern is Pattern.ALL:
            yield moves
        elif pattern is Pattern.HALVES:
            yield np.where(np.arange(self.size) < self.size // 2, moves, -moves)
        else:
            rest = 0.0 if pattern is Pattern.ONE else -1.0
            for place in dict.fromkeys((0, self.size // 2, self.size - 1)):
                yield np.where(np.arange(self.size) == place, moves, rest)


class _Datasets:
    """Base of the shapes with one record a person: the allowed numbers of records, and the datasets to try."""

    least: int
    most: int

    def __post_init__(self) -> None:
        _require_count("least", self.least, 0)
        _require_count("most", self.most, 1)
        if self.least > self.most:
            raise UsageError(f"a domain must have least <= most, not least = {self.least} and most = {self.most}")

    @property
    def relations(self) -> tuple[Relation, ...]:
        """Add-remove and substitute; only substitute if all datasets have one size."""
        return datasets.RELATIONS if self.least < self.most else (Relation.SUBSTITUTE,)

    def contains(self, input_: Any, numbers: Domain) -> bool:
        """Whether an input is a vector of allowed records, of an allowed length."""
        return as_array(input_).ndim == 1 and self.least <= len(input_) <= self.most and self._holds(input_, numbers)

    def _holds(self, records: Any, numbers: Domain) -> bool:
        raise NotImplementedError

    def _datasets(
        self, values: Sequence[Any], distinct: Sequence[Any], relation: Relation | None
    ) -> Iterator[datasets.Datasets]:
        """Yield datasets one record apart. Records are from `values` (first a usual, then a rare one) or `distinct`."""
        usual, rare, *remaining = values
        least, most = self.least, min(self.most, max(self.least + 1, MOST_NUMBERS))
        tried = (least, least + 1, least + 2, 3, 16, (least + most) // 2, most - 1)
        sizes = list(dict.fromkeys(size for size in tried if least <= size < most)) or [most - 1]
        middle = min(16, most - 1)
        families: list[Iterable[datasets.Datasets]] = []
        for by in self.relations if relation is None else (relation,):
            families += [
                datasets.at_ends((usual, rare), sizes, by),
                datasets.at_counts(usual, rare, least, most, by),
                datasets.at_counts(usual, rare, max(least, middle), most, by),
                datasets.at_counts(rare, usual, least, most, by),
                datasets.at_places(usual, rare, max(1, least, min(datasets.FEW, most - 1)), by),
                datasets.at_places(usual, rare, max(1, least, middle), by),
                datasets.repeated(distinct[:most], by),
                *(datasets.at_ends((usual, value), (least, max(least, middle)), by) for value in remaining),
            ]
        for sides in datasets.interleaved(*families):
            if all(least <= len(side) <= most for side in sides[:2]):
                yield sides


@dataclass(frozen=True, kw_only=True)
class Records(_Datasets):
    """A dataset of numbers, one a person, for any statistic. Each record is a number of the domain.

    Attributes:
        least: the least number of records.
        most: the largest number of records.
    """

    form: ClassVar[str] = "records"

    least: int = 0
    most: int = MOST_RECORDS

    def _holds(self, records: Any, numbers: Domain) -> bool:
        return numbers.holds(records)

    def pairs(self, relation: Relation | None, numbers: Domain) -> Iterator[NeighbouringPair]:
        """Yield pairs of datasets with records at the ends of the domain, between them, and extreme ones."""
        low, high = numbers.ends()
        parts = (Fraction(low) + (Fraction(high) - Fraction(low)) * part / DISTINCT for part in range(1, DISTINCT))
        between = dict.fromkeys(numbers.typed(math.floor(part) if numbers.integers else part) for part in parts)
        far = [numbers.typed(Fraction(value)) for value in FAR]
        rare = [value for value in (list(between)[len(between) // 2 :][:1] + far) if numbers.holds(value)]
        distinct = list(dict.fromkeys((low, *between, high)))
        values = [low, high, *(value for value in rare if value not in (low, high))]
        for first, second, by in self._datasets(values, distinct, relation):
            yield NeighbouringPair.records(numbers.vector(first), numbers.vector(second), by)


@dataclass(frozen=True, kw_only=True)
class Categories(_Datasets):
    """A dataset of categories, one a person, such as survey answers. An input is a numpy array of strings.

    Attributes:
        names: the categories.
        least: the least number of records.
        most: the largest number of records.
    """

    form: ClassVar[str] = "categories"

    names: tuple[str, ...]
    least: int = 0
    most: int = MOST_RECORDS

    def __post_init__(self) -> None:
        if isinstance(self.names, str) or not all(isinstance(name, str) for name in self.names):
            raise UsageTypeError(f"categories must be a list of strings, not {self.names!r}")
        object.__setattr__(self, "names", tuple(self.names))
        if len(set(self.names)) < 2 or len(set(self.names)) != len(self.names):
            raise UsageError(f"categories must be two or more different names, not {list(self.names)}")
        super().__post_init__()

    def _holds(self, records: Any, numbers: Domain) -> bool:  # noqa: ARG002 - there are none
        return set(records) <= set(self.names)

    def pairs(self, relation: Relation | None, numbers: Domain) -> Iterator[NeighbouringPair]:  # noqa: ARG002
        """Yield pairs of datasets in which one person has a category that others have, or that nobody else has."""
        tried = list(dict.fromkeys((*self.names[: 1 + NAMES_TRIED], self.names[-1])))
        widest = np.array(self.names).dtype
        for first, second, by in self._datasets(tried, self.names[:DISTINCT], relation):
            yield NeighbouringPair.records(np.array(first, dtype=widest), np.array(second, dtype=widest), by)


@dataclass(frozen=True, kw_only=True)
class Streams:
    """A sequence of numbers, one for each step of time. Neighbours differ in one step.

    Attributes:
        length: the number of steps.
    """

    form: ClassVar[str] = "streams"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.SUBSTITUTE,)

    length: int

    def __post_init__(self) -> None:
        _require_count("length", self.length, 1, MOST_NUMBERS)

    def contains(self, input_: Any, numbers: Domain) -> bool:
        """Whether an input is a vector of `length` numbers that the domain takes."""
        return as_array(input_).shape == (self.length,) and numbers.holds(input_)

    def pairs(self, relation: Relation | None, numbers: Domain) -> Iterator[NeighbouringPair]:
        """Yield datasets of `length` records, one of which is replaced."""
        yield from Records(least=self.length, most=self.length).pairs(relation, numbers)


@dataclass(frozen=True, kw_only=True)
class Graphs:
    """Undirected graphs without loops, as symmetric matrices of booleans.

    Attributes:
        nodes: the largest number of nodes.
    """

    form: ClassVar[str] = "graphs"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.EDGE, Relation.NODE)

    nodes: int

    def __post_init__(self) -> None:
        _require_count("nodes", self.nodes, 2)

    def contains(self, input_: Any, numbers: Domain) -> bool:  # noqa: ARG002 - there are none
        """Whether an input is such a matrix with an allowed number of nodes."""
        matrix = as_array(input_)
        return (
            matrix.dtype == np.bool_
            and matrix.ndim == 2
            and matrix.shape[0] == matrix.shape[1] <= self.nodes
            and bool((matrix == matrix.T).all())
            and not matrix.diagonal().any()
        )

    def pairs(self, relation: Relation | None, numbers: Domain) -> Iterator[NeighbouringPair]:  # noqa: ARG002
        """Yield graphs (empty, path, ring, star, bipartite, complete) with one edge flipped or one node removed."""
        for graph in self._graphs():
            if relation in (None, Relation.EDGE):
                for start, end in dict.fromkeys(((0, 1), (0, len(graph) - 1), (len(graph) - 2, len(graph) - 1))):
                    flipped = graph.copy()
                    flipped[start, end] = flipped[end, start] = not graph[start, end]
                    yield NeighbouringPair.graphs(flipped, graph, Relation.EDGE)
            if relation in (None, Relation.NODE):
                for node in dict.fromkeys((0, len(graph) // 2, len(graph) - 1)):
                    fewer = np.delete(np.delete(graph, node, 0), node, 1)
                    yield NeighbouringPair.graphs(graph, fewer, Relation.NODE)

    def _graphs(self) -> Iterator[np.ndarray[Any, np.dtype[np.bool_]]]:
        for nodes in dict.fromkeys((self.nodes, min(self.nodes, 4), 2)):
            none = np.zeros((nodes, nodes), dtype=bool)
            path, star, half = none.copy(), none.copy(), none.copy()
            for node in range(1, nodes):
                path[node - 1, node] = path[node, node - 1] = True
                star[0, node] = star[node, 0] = True
            ring = path.copy()
            ring[0, -1] = ring[-1, 0] = nodes > 2
            half[: nodes // 2, nodes // 2 :] = True
            yield from (none, ~np.eye(nodes, dtype=bool), star, path, ring, half | half.T)


Shape: TypeAlias = Queries | Records | Categories | Streams | Graphs

SHAPES: tuple[type[Shape], ...] = (Queries, Records, Categories, Streams, Graphs)


def _require_count(name: str, value: Any, least: int, most: int | None = None) -> None:
    if type(value) is not int or value < least:
        raise UsageError(f"{name} of a domain must be an integer of at least {least}, not {value!r}")
    if most is not None and value > most:
        raise UsageError(
            f"{name} of a domain must be at most {most:,}, not {value:,}, for inputs of that size are made and tried; "
            "declare a smaller one, on which the claim must hold too"
        )
