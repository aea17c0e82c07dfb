"""How many people have each key: shown for unknown people, down to what Python's own `Counter` and `sorted` do."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations, product
from random import Random
from typing import Any

from checker.core.certificate import Refused
from checker.kinds.lending import Token, lent, used
from checker.kinds.stateless import require_meanings

STRINGS = ("", "a", "b", "ab", "a\0", "é", "e\u0301", "\ud800", "0", "1.0", "None", "A" * 300)
OTHERS = (None, 1, 1.0, b"a", ("a",), True)


class _Step:
    """What was made of the people, and by which function."""

    __hash__ = None  # type: ignore[assignment] # a look-up would be a look

    def __init__(self, made: str) -> None:
        self._made = made

    def becomes(self, before: str, after: str) -> _Step:
        """Take a step."""
        if self._made != before:
            raise Refused(f"{after} are made of {self._made}, not of {before}")
        return _Step(after)

    def items(self) -> _Step:
        """Take the pairs out of a counter."""
        return self.becomes("counts", "pairs")

    def __iter__(self) -> Iterator[Any]:
        raise Refused(f"{self._made} are gone through one by one")

    def __bool__(self) -> bool:
        raise Refused(f"{self._made} are taken for true or false")


def require_tally(tally: Callable[[Any], Any]) -> int:
    """Check that `tally(keys)` is `tuple(sorted(Counter(map(plain_key, keys)).items()))`, whatever the keys are.

    So it is a function of how many people have each key (lemma `tally`).

    Returns:
        How many databases it was tried with beside that.

    Raises:
        Refused: it is, or does, something else.
    """
    people, plain_key = Token(), used(tally, "plain_key")
    require_meanings(tally, Counter=Counter, map=map, sorted=sorted, tuple=tuple)
    require_meanings(plain_key, isinstance=isinstance, str=str, type=type)

    def mapped(function: Any, given: Any) -> _Step:
        if function is not plain_key or given is not people:
            raise Refused("something other than each person's key is read")
        return _Step("keys")

    with lent(
        tally,
        map=mapped,
        Counter=lambda given: given.becomes("keys", "counts"),
        sorted=lambda given: given.becomes("pairs", "sorted pairs"),
        tuple=lambda given: given.becomes("sorted pairs", "a tally"),
    ):
        found = tally(people)
    if type(found) is not _Step or found.becomes("a tally", "what is returned") is None:
        raise Refused(f"people become {found!r}")
    return _require_keys(plain_key) + _require_tried(tally)


def _require_keys(plain_key: Callable[[Any], Any]) -> int:
    """Check that a key is read as the string that it is, and that nothing else is read."""
    arrays = importlib.import_module("numpy")

    class Other(str):
        def __str__(self) -> str:
            return "other"

    for text in STRINGS:
        for written in (text, Other(text), arrays.str_(text)):
            found = plain_key(written)
            if type(found) is not str or found != text:
                raise Refused(f"the key {text!r} of type {type(written).__name__} is read as {found!r}")
    for other in OTHERS:
        try:
            found = plain_key(other)
        except TypeError:
            continue
        raise Refused(f"{other!r} is read as the key {found!r}")
    return 3 * len(STRINGS) + len(OTHERS)


def _require_tried(tally: Callable[[Any], Any]) -> int:
    """Check tallies of small databases in all orders and of large ones, by the checker's own count."""
    random, tried = Random(5), 0
    databases = [list(people) for size in range(5) for people in product(STRINGS[:3], repeat=size)]
    databases += [list(people) for people in permutations(STRINGS[1:6])]
    databases += [random.choices(STRINGS, k=size) for size in (30, 1000)] + [[f"{n % 4001}" for n in range(20_000)]]
    for people in databases:
        expected = tuple((key, people.count(key)) for key in sorted(set(people))) if len(people) < 5000 else None
        if expected is None:
            expected = tuple((key, 5 if int(key) < 20_000 - 4 * 4001 else 4) for key in sorted(set(people)))
        for given in (people, tuple(people), iter(people)):
            found = tally(given)
            if found != expected or any(type(key) is not str or type(count) is not int for key, count in found):
                raise Refused(f"the keys {people!r:.100} are counted as {found!r:.200}")
            tried += 1
    return tried
