"""Terms: the values that constructors make. A term says by itself what it is and what it promises.

A *query* looks at the data and moves a known distance when one record changes, its *stability*. A *mechanism* releases
something and derives its *claim* from what it was put together from. Both are frozen dataclasses, and their JSON is
their fields: what is proved is what runs.

Every constructor and function of this package raises TypeError for a parameter of the wrong type, and ValueError for
one that is out of its range. Errors about data depend on their type or their shape alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, Generic, Literal, Protocol, TypeVar

from mechanisms.core.claims import Claim
from mechanisms.core.code import is_of_core, named
from mechanisms.randomness import RandomBits

Relation = Literal["answers", "utilities", "bit", "add-remove", "substitute", "add-remove or substitute", "people"]
"""Which inputs are neighbours: answers, each at most its sensitivity apart; utilities, likewise; any two bits; datasets
that differ by adding or removing one record, by replacing one, or by either; datasets that differ by adding or removing
one person with all their records."""

Value = TypeVar("Value")


class Prepared(Protocol):
    """A mechanism that has read its data and only has to draw outputs. It holds private data."""

    def one(self, bits: RandomBits) -> Any:
        """Draw one output."""

    def many(self, trials: int, bits: RandomBits) -> Any:
        """Draw several independent outputs, in an array or a list; each costs the claim anew."""


class Query(ABC, Generic[Value]):
    """A function of the data that one record moves by a known distance."""

    @property
    @abstractmethod
    def relation(self) -> Relation:
        """Which data are neighbours."""

    @property
    @abstractmethod
    def stability(self) -> int:
        """The largest distance between neighbours' values."""

    @abstractmethod
    def of(self, data: Any) -> Value:
        """Return the query's value on the data; it is private."""


class Mechanism(ABC):
    """A randomised function of the data with a claim."""

    @property
    @abstractmethod
    def relation(self) -> Relation | None:
        """Which data are neighbours; None if the mechanism does not look at the data."""

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """What one release promises."""

    @abstractmethod
    def prepared(self, data: Any) -> Prepared:
        """Read the data, once, and return an object that draws outputs for them."""

    def release(self, data: Any, bits: RandomBits) -> Any:
        """Release one output."""
        return self.prepared(lasting(data)).one(bits)

    def many(self, data: Any, trials: int, bits: RandomBits) -> Any:
        """Draw several independent outputs for the same data, in an array or a list; each costs the claim anew."""
        return self.prepared(lasting(data)).many(trials, bits)


class OfQuery(Mechanism):
    """A mechanism that releases something about a query's value; its relation is the query's."""

    query: Query[Any]

    @property
    def relation(self) -> Relation:
        """The relation of the query."""
        return self.query.relation


def lasting(data: Any) -> Any:
    """Return the data; raise TypeError for an iterator, which can be read only once."""
    if isinstance(data, Iterator):
        raise TypeError("data must be a list or an array, not an iterator, of which a second part would see nothing")
    return data


@dataclass(frozen=True)
class OneByOne:
    """Draws many outputs one after another: a `Prepared` for mechanisms that have no faster way."""

    draw: Callable[[RandomBits], Any]

    def one(self, bits: RandomBits) -> Any:
        """Draw one output."""
        return self.draw(bits)

    def many(self, trials: int, bits: RandomBits) -> list[Any]:
        """Draw several independent outputs."""
        return [self.draw(bits) for _ in range(trials)]


def encoded(value: Any) -> Any:
    """Return a field of a term as JSON."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, Fraction):
        return {"rational": str(value)}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, tuple):
        return [encoded(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: encoded(getattr(value, field.name)) for field in fields(value) if field.init}
        if is_of_core(type(value)):
            return {"is": type(value).__name__} | parts
        if not getattr(type(value), "__dataclass_params__").frozen:  # noqa: B009 # no type has it for mypy
            raise TypeError(f"{type(value).__name__} may keep a state; make it a frozen dataclass")
        if {"is", "sha256"} & set(parts):
            raise TypeError(f"no field of {type(value).__name__} may be called is or sha256")
        name, digest = named(type(value))
        return {"is": name, "sha256": digest} | parts
    if callable(value):
        name, digest = named(value)
        return {"function": name, "sha256": digest}
    raise TypeError(f"a term has no form for a field of type {type(value).__name__}")


def made_anew(term: Any) -> Any:
    """Return a copy of a term, made from its fields, so that these alone decide what it runs and claims."""
    if isinstance(term, tuple):
        return tuple(map(made_anew, term))
    if is_dataclass(term) and not isinstance(term, type) and is_of_core(type(term)):
        return type(term)(**{item.name: made_anew(getattr(term, item.name)) for item in fields(term) if item.init})
    if term is None or type(term) in (bool, int, float, str, bytes, Fraction):
        return term
    raise TypeError(f"a term must be made of mechanisms.core alone, not of {type(term).__name__}")
