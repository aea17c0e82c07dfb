"""Domains: the inputs on which a target's claim holds. Attacks use no others, since failures on others are no flaw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from attacklab.model.domains.numbers import Numbers
from attacklab.model.domains.shapes import SHAPES, Queries, Shape
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.neighbours import NeighbouringPair, Relation, as_array, fingerprint


@dataclass(frozen=True, kw_only=True)
class Domain(Numbers):
    """The inputs of a target.

    As a set of numbers it holds the answers, utilities or records that the target takes. For a DATASET target these are
    the numbers in its queries, records or streams.

    Attributes:
        shape: what the input of a DATASET target looks like; None for the other kinds.

    Raises:
        UsageError: a field is out of range, or the set holds fewer than two numbers.
    """

    shape: Shape | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape is not None and not isinstance(self.shape, SHAPES):
            named = ", ".join(shape.__name__ for shape in SHAPES)
            raise UsageTypeError(f"shape of a domain must be one of {named}, not {self.shape!r}")

    def __str__(self) -> str:
        declared = [field for field in fields(self) if getattr(self, field.name) != field.default]
        return f"Domain({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in declared)})"

    def contains(self, input_: Any) -> bool:
        """Whether a target with this domain takes an input."""
        if self.shape is None:
            return as_array(input_).ndim <= 1 and self.holds(input_)
        return self.shape.contains(input_, self)

    def covers(self, pair: NeighbouringPair) -> bool:
        """Whether both inputs lie in the domain, and are neighbours in a way that its shape allows."""
        if not (self.contains(pair.first) and self.contains(pair.second)):
            return False
        if isinstance(self.shape, Queries):
            return self.shape.neighbours(pair)
        return self.shape is None or pair.relation in self.shape.relations

    def pairs(self, relation: Relation | None) -> Iterator[NeighbouringPair]:
        """Yield neighbouring pairs of this shape, each once. Without a shape, yield none.

        Args:
            relation: the relation of the claim; None for all relations that the shape has.
        """
        seen = set()
        for pair in () if self.shape is None else self.shape.pairs(relation, self):
            key = tuple(map(fingerprint, (pair.first, pair.second)))
            if key not in seen:
                seen.add(key)
                yield pair

    def adapted(self, pair: NeighbouringPair, sensitivity: float) -> NeighbouringPair | None:
        """Return the pair if the domain covers it, else the nearest covered pair, or None if there is none.

        Args:
            pair: a pair of answers, utilities or datasets.
            sensitivity: the most that an answer or a utility moves between neighbours.
        """
        cast = NeighbouringPair(self.cast(pair.first), self.cast(pair.second), pair.relation)
        if self.covers(cast):
            return cast
        if self.shape is not None:
            return None
        placed = self.nearest(pair.first, pair.second, None if pair.relation else sensitivity)
        if placed is None:
            return None
        try:
            moved = _pair(*placed, pair.relation, sensitivity)
        except UsageError:
            return None
        return moved if self.covers(moved) and not np.array_equal(moved.first, moved.second) else None

    def to_json(self) -> dict[str, Any]:
        """Return the domain as plain JSON values: the fields not at their defaults, with floats as hex strings."""
        data = {
            field.name: _plain(getattr(self, field.name))
            for field in fields(self)
            if field.name != "shape" and getattr(self, field.name) != field.default
        }
        if self.shape is not None:
            shape = {field.name: _plain(getattr(self.shape, field.name)) for field in fields(self.shape)}
            data["shape"] = {"form": self.shape.form, **shape}
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Domain:
        """Read a domain from the JSON values of `to_json`.

        Raises:
            UsageError: a field is unknown, malformed or out of range.
        """
        if not isinstance(data, Mapping):
            raise UsageError(f"a domain must be a JSON object, not {data!r}")
        values = {key: _read(key, value) for key, value in data.items() if key != "shape"}
        shape = data.get("shape")
        try:
            if shape is not None:
                forms = {known.form: known for known in SHAPES}
                if not isinstance(shape, Mapping) or shape.get("form") not in forms:
                    raise UsageError(f"shape of a domain must have a form out of {', '.join(forms)}, not {shape!r}")
                options = {key: _read(key, value) for key, value in shape.items() if key != "form"}
                values["shape"] = forms[shape["form"]](**options)
            return cls(**values)
        except TypeError as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"not a domain: {str(error).rpartition('.__init__() ')[2]}") from error


def _pair(first: Any, second: Any, relation: Relation | None, sensitivity: float) -> NeighbouringPair:
    if relation is not None:
        return NeighbouringPair.records(first, second, relation)
    if np.asarray(first).dtype.kind in "iuO":
        return NeighbouringPair.integers(first, second, sensitivity=sensitivity)
    make = NeighbouringPair.utilities if np.ndim(first) else NeighbouringPair.answers
    return make(first, second, sensitivity=sensitivity)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value.hex()
    return str(value) if isinstance(value, str) else value


FLOATS = ("bounds", "sensitivity")


def _read(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(name, item) for item in value)
    if name in FLOATS and isinstance(value, str):
        try:
            return float.fromhex(value)
        except ValueError:
            raise UsageError(f"{name} of a domain must be a number, not {value!r}") from None
    return value
