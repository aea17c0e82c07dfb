"""What the input of a DATASET target looks like, and the neighbouring pairs that follow from it.

The pairs are those on which published flaws show: nothing against something, a value that nobody else has, one more of
what all have, and changes of all coordinates at once. Every pair is made by a constructor of `NeighbouringPair`, which
checks it.

Source: Ding, Wang, Wang, Zhang and Kifer 2018, 'Detecting Violations of Differential Privacy', table 2, for the
patterns of query answers.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np

from attacklab.domains.numbers import Numbers
from attacklab.errors import UsageError, UsageTypeError
from attacklab.neighbours import NeighbouringPair, Relation

MOST_RECORDS = 64
"""How many records a dataset has at the most, unless the domain says more."""

NAMES_TRIED = 3
"""How many categories are tried as the one that a person has."""


class Pattern(enum.StrEnum):
    """How the answers to several queries change between neighbours."""

    ONE = "one"
    """One answer changes."""
    ALL = "all"
    """All answers change by as much, in one direction."""
    HALVES = "halves"
    """Half of the answers go up and half go down."""
    ONE_AGAINST_REST = "one-against-rest"
    """One answer goes up and the rest go down."""

    @classmethod
    def _missing_(cls, value: object) -> Pattern:
        raise UsageError(f"pattern must be one of {', '.join(cls)}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class Queries:
    """The true answers to several queries, one number each.

    Attributes:
        size: how many queries.
        sensitivity: the most that any answer moves between neighbours.
        patterns: how answers may move together.
    """

    form: ClassVar[str] = "queries"
    relations: ClassVar[tuple[Relation, ...]] = ()

    size: int
    sensitivity: float = 1.0
    patterns: tuple[Pattern, ...] = tuple(Pattern)

    def __post_init__(self) -> None:
        _require_count("size", self.size, 1)
        if not self.patterns:
            raise UsageError(f"queries need a pattern; name one of {', '.join(Pattern)}")
        object.__setattr__(self, "patterns", tuple(Pattern(pattern) for pattern in self.patterns))
        NeighbouringPair.answers(0.0, 0.0, sensitivity=self.sensitivity)

    def contains(self, input_: Any, numbers: Numbers) -> bool:
        """Whether an input is a vector of as many numbers."""
        return np.shape(input_) == (self.size,) and numbers.holds(input_)

    def neighbours(self, pair: NeighbouringPair) -> bool:
        """Whether the answers move as one of the patterns says, and no further than the sensitivity."""
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

    def pairs(self, relation: Relation | None, numbers: Numbers) -> Iterator[NeighbouringPair]:  # noqa: ARG002 - none
        """Each pattern up and down, from answers that are all alike and from answers of which one is ahead."""
        step = self.sensitivity
        level = np.zeros(self.size)
        ahead = level.copy()
        ahead[0] = step
        for pattern in self.patterns:
            for move in (self._moves(pattern), -self._moves(pattern)):
                for base in (level, ahead):
                    placed = numbers.nearest(base, base + step * move, step)
                    if placed is None or np.array_equal(*placed):
                        continue
                    make = NeighbouringPair.integers if placed[0].dtype.kind == "i" else NeighbouringPair.utilities
                    yield make(*placed, sensitivity=step)

    def _moves(self, pattern: Pattern) -> np.ndarray[Any, np.dtype[np.float64]]:
        moves = np.ones(self.size)
        if pattern is Pattern.ONE:
            moves[1:] = 0.0
        elif pattern is Pattern.HALVES:
            moves[self.size // 2 :] = -1.0
        elif pattern is Pattern.ONE_AGAINST_REST:
            moves[1:] = -1.0
        return moves


@dataclass(frozen=True, kw_only=True)
class Records:
    """A dataset of numbers, one a person, for any statistic; the domain's bounds are those of a record.

    Attributes:
        least: how few records there may be.
        most: how many records there may be.
    """

    form: ClassVar[str] = "records"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.ADD_REMOVE, Relation.SUBSTITUTE)

    least: int = 0
    most: int = MOST_RECORDS

    def __post_init__(self) -> None:
        _require_sizes(self.least, self.most)

    def contains(self, input_: Any, numbers: Numbers) -> bool:
        """Whether an input is a vector of such records."""
        return np.ndim(input_) == 1 and self.least <= len(input_) <= self.most and numbers.holds(input_)

    def pairs(self, relation: Relation | None, numbers: Numbers) -> Iterator[NeighbouringPair]:
        """Datasets of records at the ends of the domain."""
        low, high = numbers.ends()
        for one, other, by in _datasets([low, high], self.least, self.most, relation):
            yield NeighbouringPair.records(numbers.vector(one), numbers.vector(other), by)


@dataclass(frozen=True, kw_only=True)
class Categories:
    """A dataset of categories, one a person, such as survey answers; an input is a numpy array of strings.

    Attributes:
        names: the categories.
        least: how few records there may be.
        most: how many records there may be.
    """

    form: ClassVar[str] = "categories"
    relations: ClassVar[tuple[Relation, ...]] = Records.relations

    names: tuple[str, ...]
    least: int = 0
    most: int = MOST_RECORDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", _texts("categories", self.names))
        if len(set(self.names)) < 2 or len(set(self.names)) != len(self.names):
            raise UsageError(f"categories must be two or more different names, not {list(self.names)}")
        _require_sizes(self.least, self.most)

    def contains(self, input_: Any, numbers: Numbers) -> bool:  # noqa: ARG002 - there are none
        """Whether an input is a sequence of these categories."""
        return np.ndim(input_) == 1 and self.least <= len(input_) <= self.most and set(input_) <= set(self.names)

    def pairs(self, relation: Relation | None, numbers: Numbers) -> Iterator[NeighbouringPair]:  # noqa: ARG002
        """Datasets in which one person has a category that others have, or that nobody else has."""
        for name in self.names[1 : 1 + NAMES_TRIED]:
            yield from _texts_pairs([self.names[0], name], self.least, self.most, relation)


@dataclass(frozen=True, kw_only=True)
class Strings:
    """A dataset of strings, one a person, such as words or URLs; an input is a numpy array of strings.

    Attributes:
        alphabet: the characters that may occur.
        longest: the most characters of a string.
        least: how few records there may be.
        most: how many records there may be.
    """

    form: ClassVar[str] = "strings"
    relations: ClassVar[tuple[Relation, ...]] = Records.relations

    alphabet: str
    longest: int
    least: int = 0
    most: int = MOST_RECORDS

    def __post_init__(self) -> None:
        if not isinstance(self.alphabet, str) or len(set(self.alphabet)) < 2:
            raise UsageError(f"an alphabet must have two or more characters, not {self.alphabet!r}")
        _require_count("longest", self.longest, 1)
        _require_sizes(self.least, self.most)

    def contains(self, input_: Any, numbers: Numbers) -> bool:  # noqa: ARG002 - there are none
        """Whether an input is a sequence of such strings."""
        return (
            np.ndim(input_) == 1
            and self.least <= len(input_) <= self.most
            and all(
                isinstance(one, str) and len(one) <= self.longest and set(one) <= set(self.alphabet) for one in input_
            )
        )

    def pairs(self, relation: Relation | None, numbers: Numbers) -> Iterator[NeighbouringPair]:  # noqa: ARG002
        """Datasets in which one string is the longest, differs in its first or its last character, or is empty."""
        usual, other = self.alphabet[0] * self.longest, self.alphabet[1]
        for rare in dict.fromkeys((other * self.longest, usual[:-1] + other, other + usual[1:], "")):
            yield from _texts_pairs([usual, rare], self.least, self.most, relation)


@dataclass(frozen=True, kw_only=True)
class Streams:
    """A sequence of numbers, one a step of time, of which neighbours differ in one step.

    Attributes:
        length: how many steps.
    """

    form: ClassVar[str] = "streams"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.SUBSTITUTE,)

    length: int

    def __post_init__(self) -> None:
        _require_count("length", self.length, 1)

    def contains(self, input_: Any, numbers: Numbers) -> bool:
        """Whether an input is a vector of as many numbers."""
        return np.shape(input_) == (self.length,) and numbers.holds(input_)

    def pairs(self, relation: Relation | None, numbers: Numbers) -> Iterator[NeighbouringPair]:  # noqa: ARG002 - one
        """The first, middle or last step differs, in a stream of all low, all high or alternating numbers."""
        ends = numbers.ends()
        for base in ([ends[0]] * self.length, [ends[1]] * self.length, [ends[k % 2] for k in range(self.length)]):
            for place in sorted({0, self.length // 2, self.length - 1}):
                changed = list(base)
                changed[place] = ends[0] if base[place] == ends[1] else ends[1]
                yield NeighbouringPair.records(numbers.vector(changed), numbers.vector(base), Relation.SUBSTITUTE)


@dataclass(frozen=True, kw_only=True)
class Graphs:
    """Undirected graphs without loops, as symmetric matrices of booleans.

    Attributes:
        nodes: the most nodes.
    """

    form: ClassVar[str] = "graphs"
    relations: ClassVar[tuple[Relation, ...]] = (Relation.EDGE, Relation.NODE)

    nodes: int

    def __post_init__(self) -> None:
        _require_count("nodes", self.nodes, 2)

    def contains(self, input_: Any, numbers: Numbers) -> bool:  # noqa: ARG002 - there are none
        """Whether an input is such a matrix."""
        matrix = np.asarray(input_)
        return (
            matrix.dtype == np.bool_
            and matrix.ndim == 2
            and matrix.shape[0] == matrix.shape[1] <= self.nodes
            and bool((matrix == matrix.T).all())
            and not matrix.diagonal().any()
        )

    def pairs(self, relation: Relation | None, numbers: Numbers) -> Iterator[NeighbouringPair]:  # noqa: ARG002
        """One edge of no graph, of a path, of a star and of a complete graph; one node of each of them."""
        for graph in self._graphs():
            if relation in (None, Relation.EDGE):
                flipped = graph.copy()
                flipped[0, 1] = flipped[1, 0] = not graph[0, 1]
                yield NeighbouringPair.graphs(flipped, graph, Relation.EDGE)
            if relation in (None, Relation.NODE):
                yield NeighbouringPair.graphs(graph, graph[1:, 1:], Relation.NODE)

    def _graphs(self) -> Iterator[np.ndarray[Any, np.dtype[np.bool_]]]:
        none = np.zeros((self.nodes, self.nodes), dtype=bool)
        yield none
        path, star = none.copy(), none.copy()
        for node in range(1, self.nodes):
            path[node - 1, node] = path[node, node - 1] = True
            star[0, node] = star[node, 0] = True
        if self.nodes > 2:
            yield path
        if self.nodes > 3:
            yield star
        yield ~np.eye(self.nodes, dtype=bool)


Shape: TypeAlias = Queries | Records | Categories | Strings | Streams | Graphs

SHAPES: tuple[type[Shape], ...] = (Queries, Records, Categories, Strings, Streams, Graphs)


def _datasets(
    values: Sequence[Any], least: int, most: int, relation: Relation | None
) -> Iterator[tuple[list[Any], list[Any], Relation]]:
    """Datasets that are all of one value, and one record apart: added, or replaced by the other value."""
    sizes = sorted({least, min(max(least, 1), most), min(max(least, 2), most), (least + most) // 2, most})
    for usual, other in (tuple(values), tuple(reversed(values))):
        for size in sizes:
            if relation in (None, Relation.ADD_REMOVE) and size < most:
                for added in (usual, other):
                    yield [usual] * size + [added], [usual] * size, Relation.ADD_REMOVE
            if relation in (None, Relation.SUBSTITUTE) and size:
                yield [usual] * (size - 1) + [other], [usual] * size, Relation.SUBSTITUTE


def _texts_pairs(values: Sequence[str], least: int, most: int, relation: Relation | None) -> Iterator[NeighbouringPair]:
    widest = np.dtype(f"<U{max(map(len, values))}")
    for one, other, by in _datasets(values, least, most, relation):
        yield NeighbouringPair.records(np.array(one, dtype=widest), np.array(other, dtype=widest), by)


def _texts(what: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise UsageTypeError(f"{what} must be a list of strings, not {values!r}")
    return tuple(values)


def _require_count(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageTypeError(f"{name} of a domain must be an integer, not {value!r}")
    if value < least:
        raise UsageError(f"{name} of a domain must be at least {least}, not {value}")


def _require_sizes(least: Any, most: Any) -> None:
    _require_count("least", least, 0)
    _require_count("most", most, 1)
    if least > most:
        raise UsageError(f"least of a domain must be at most its most, {most}, not {least}")
