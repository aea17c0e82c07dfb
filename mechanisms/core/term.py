"""Terms: what every constructor makes, a value that says by itself what it is and what it promises.

A *query* looks at the data and moves a known distance when one record changes, its *stability*. A *mechanism* releases
something and derives its *claim* from what it was put together from. Both are frozen dataclasses, and their JSON is
their fields: what is proved is what runs.

Every constructor and function of this package raises TypeError for a parameter of another type than it names, and
ValueError for one that is out of its range. Data are refused by their type or their shape alone.
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
"""Which inputs are neighbours: answers, each of them at most its sensitivity apart; utilities, likewise; any two bits;
records of which one is added or removed, or replaced by another one, or either; people with all their records, of
whom one is added or removed."""

Value = TypeVar("Value")


class Prepared(Protocol):
    """A mechanism that has looked at its data, which nobody else may see; it only draws from now on."""

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
        """How far neighbours' values are apart at most."""

    @abstractmethod
    def of(self, data: Any) -> Value:
        """Return the query's value on the data; it is private."""


class Mechanism(ABC):
    """A randomised function of the data with a claim."""

    @property
    @abstractmethod
    def relation(self) -> Relation | None:
        """Which data are neighbours; None if that makes no difference, as the data are not looked at."""

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """What one release promises."""

    @abstractmethod
    def prepared(self, data: Any) -> Prepared:
        """Look at the data, once."""

    def release(self, data: Any, bits: RandomBits) -> Any:
        """Release one output."""
        return self.prepared(lasting(data)).one(bits)

    def many(self, data: Any, trials: int, bits: RandomBits) -> Any:
        """Draw several independent outputs for the same data, in an array or a list; each costs the claim anew."""
        return self.prepared(lasting(data)).many(trials, bits)


class OfQuery(Mechanism):
    """A mechanism that releases what a query gives: its neighbours are the query's."""

    query: Query[Any]

    @property
    def relation(self) -> Relation:
        """The relation of the query."""
        return self.query.relation


def lasting(data: Any) -> Any:
    """Return the data."""
    if isinstance(data, Iterator):
        raise TypeError("data must be a list or an array, not an iterator, of which a second part would see nothing")
    return data


@dataclass(frozen=True)
class OneByOne:
    """Draws many outputs one after another: the prepared form of what has no faster one."""

    draw: Callable[[RandomBits], Any]

    def one(self, bits: RandomBits) -> Any:
        """Draw one output."""
        return self.draw(bits)

    def many(self, trials: int, bits: RandomBits) -> list[Any]:
        """Draw several."""
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
    """Make a term again from its fields, so that these alone decide what it runs and claims."""
    if isinstance(term, tuple):
        return tuple(map(made_anew, term))
    if is_dataclass(term) and not isinstance(term, type) and is_of_core(type(term)):
        return type(term)(**{item.name: made_anew(getattr(term, item.name)) for item in fields(term) if item.init})
    if term is None or type(term) in (bool, int, float, str, bytes, Fraction):
        return term
    raise TypeError(f"a term must be made of mechanisms.core alone, not of {type(term).__name__}")
