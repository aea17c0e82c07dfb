"""Sample and aggregate: a person's records all go to one chunk, which answers by the multiset of its values alone."""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.prepared import WatchedDomain

NAN = float("nan")
PEOPLE = ("", "Ada", "Bo", "ä", "\ud800", "x" * 300, "0.0, number 0", *map(str, range(40)))
VALUES = (0.0, -0.0, 1.5, 2.0**54, -(2.0**54), 3.0, NAN, float("inf"), 1e-300)
CHUNKS = (1, 2, 3, 7)
MANY = 6000
"""The most records of people that are tried."""

Record = tuple[str, float]


def require_numbering(numbering: Callable[[Any], Any]) -> int:
    """Check that equal values get the numbers 0, 1, … and nothing else tells people apart; return how many were tried.

    Then a database without one record is that without the person of the last number of its value, in some order
    (lemma `numbered-people`).
    """
    vectors = [list(vector) for size in range(5) for vector in product((0.0, -0.0, 1.5, NAN), repeat=size)]
    chosen = random.Random(11)
    vectors += [chosen.choices(VALUES, k=length) for length in (9, 50, 400)]
    for vector in vectors:
        seen: Counter[str] = Counter()
        expected: Counter[tuple[str, str]] = Counter()
        for value in vector:
            text = "nan" if math.isnan(value) else f"{value + 0.0}"
            expected[f"{text}, number {seen[text]}", text] += 1
            seen[text] += 1
        found = Counter((person, f"{value}") for person, value in numbering(vector))
        if found != expected:
            raise Refused(f"{vector!r:.100} become the people {found!r:.200}")
    return len(vectors)


class _Held:
    """The values of a chunk: they can be counted and sorted, and then be looked at."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.done: list[str] = []

    def __len__(self) -> int:
        return self._count

    def __iadd__(self, other: Any) -> _Held:
        if type(other) is not float or other != 0 or math.copysign(1, other) < 0 or self.done:
            raise Refused(f"{other!r} is added to the values of a chunk")
        self.done.append("zeros")
        return self

    def sort(self) -> None:
        """Sort them, which makes them a function of the multiset once −0 is 0."""
        if self.done != ["zeros"]:
            raise Refused("values are sorted while −0 and 0 can tell their order")
        self.done.append("sorted")


class _Exit(BaseException):
    """What a statistic may raise."""


def require_answers(answer: Callable[[Any, Any], Any]) -> int:
    """Check that a chunk's answer is made of its number of values and of the sorted values alone.

    It must be a number whatever the statistic returns or raises. Returns how many were tried.
    """
    replies: tuple[Any, ...] = (0.0, 2.5, NAN, float("inf"), 10**400, True, "text", None, ValueError("no"), _Exit())
    for count, reply in product((0, 1, 2, 1000), replies):
        held = _Held(count)

        def statistic(values: Any, held: _Held = held, reply: Any = reply) -> Any:
            if values is not held or held.done != ["zeros", "sorted"]:
                raise RuntimeError("the statistic gets values in an order that may tell more than their multiset")
            held.done.append("answered")
            if isinstance(reply, BaseException):
                raise reply
            return reply

        found = answer(statistic, held)
        if type(found) is not float or held.done != ([] if not count else ["zeros", "sorted", "answered"]):
            raise Refused(f"a chunk of {count} values answers {found!r} after {held.done}")
    return 4 * len(replies)


def require_chunks(prepare: Callable[..., Any], domain: Any, chunks: int, key: bytes, epsilon: Any) -> int:
    """Check that the answers added up are the statistic's on the values of the people of each chunk.

    A person's chunk is a keyed hash of the person's name, by the checker's own copy. Returns how many databases were
    tried.
    """
    chosen = random.Random(7)
    databases: list[list[Record]] = [[], [("Ada", 1.0)], [("Ada", 1.0), ("Ada", 1.0)]]
    databases += [_database(chosen, size) for size in (2, 3, 4, 8, 8, 8, 40, 40, 200)]
    tried = 0
    for database, number in product(databases, (*CHUNKS, chunks)):
        gone = database[0][0] if database else None
        for records in (database, [one for one in database if one[0] != gone], database[::-1]):
            public = _require_answers_of(prepare, records, number, key, domain, epsilon)
            if public != (number, epsilon):
                raise Refused(f"what is prepared of {records!r:.100} holds {public}, not {number} chunks")
            tried += 1
    _require_answers_of(prepare, _database(chosen, MANY), chunks, key, domain, epsilon)
    return tried + 1


def _database(chosen: random.Random, size: int) -> list[Record]:
    return [(chosen.choice(PEOPLE), chosen.choice(VALUES)) for _ in range(size)]


def _require_answers_of(
    prepare: Callable[..., Any], records: Sequence[Record], chunks: int, key: bytes, domain: Any, epsilon: Any
) -> tuple[Any, ...]:
    """Check the answers of one database; return what is held beside their sum and the domain."""
    numbers: dict[tuple[str, ...], float] = {}
    added: list[list[float]] = []

    def statistic(values: Any) -> float:
        return numbers.setdefault(tuple(f"{value}" for value in values.tolist()), float(len(numbers)))

    class Noted(WatchedDomain):
        def total_and_count(self, records: Any) -> tuple[Any, Any]:
            added.append(list(records))
            return 5, len(added[-1])

    watched = Noted(domain, None, (0, 0))
    one = prepare(iter(records), statistic=statistic, chunks=chunks, key=key, domain=watched, epsilon=epsilon)
    members: list[list[float]] = [[] for _ in range(chunks)]
    for person, value in records:
        digest = hashlib.blake2b(person.encode("utf-8", "surrogatepass"), digest_size=16, key=key).digest()
        members[int.from_bytes(digest, "big") % chunks].append(value + 0.0)
    in_order = [tuple(f"{value}" for value in sorted(held, key=lambda v: (v != v, v))) for held in members]
    expected = [numbers[held] if held else NAN for held in in_order]
    if one.total != 5 or len(added) != 1 or list(map(str, added[0])) != list(map(str, expected)):
        raise Refused(f"the chunks of {records!r:.100} answer {added!r:.200}, not {expected!r:.200}")
    others = [getattr(one, field.name) for field in fields(one) if field.name not in ("total", "domain")]
    if one.domain is not watched:
        raise Refused("what is prepared has a domain of its own")
    return tuple(others)
