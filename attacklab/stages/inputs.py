"""Neighbouring datasets on which stages are tried: small ones with hard records, and large ones that round the most."""

from __future__ import annotations

import inspect
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from attacklab.model.domains import Categories, Domain
from attacklab.model.neighbours import Relation
from attacklab.model.stage import Stage

Neighbours: TypeAlias = tuple[list[Any], list[Any]]
"""The records of two datasets."""

Chain: TypeAlias = Callable[[int], list[Any]]
"""`chain(i)` returns a dataset of one or two values that is a neighbour of `chain(i + 1)`."""

FLOATS = (0.0, 1.0, -1.0, 0.1, 3.0, 2.0**24, 2.0**53 - 1, 2.0**53, 2.0**53 + 2, -(2.0**53), 1e16, 1e308, -1e308)
"""Numbers that floating point handles worst, the plain ones first."""

SPECIAL = (-0.0, 5e-324, 2.2250738585072014e-308, math.nan, math.inf, -math.inf)

BITS = (7, 8, 15, 24, 31, 53)
INTEGERS = (0, 1, -1, 2, *((1 << bits) + step for bits in BITS for step in (-1, 0, 1)), 2**63 - 1, -(2**63))

TEXTS = ("", *"abA1éß²ﬃİ😀２\x00", " a", "e\u0301", "é" * 40, "-1", "1.5", "1e400", "nan", "None", "a,b", "0" * 300)
DATES = (*(f"{year:04}-12-31" for year in (0, 1969, 9999, 10000)), "2024-02-29", "2023-02-29", "2024-13-01", "no date")

SIZES = (4, 8, 16, 32, 64, 100, 128, 256, 500, 512, 1000, 1024, 2048, 4096, 16384, 65536)
"""Numbers of records of large datasets."""

AT_ONCE = 4096
"""The least and the largest size of a domain are tried first if they are at most this; larger ones are too slow."""

FEW = 8
"""How many values are tried in large datasets of equal records, and how many constants in a function as records."""

GRID = 12
"""All datasets of two records are tried with this many values; all of three records, with half as many."""

EQUAL = 130
"""Datasets of equal records are tried at every size from 0 to below this. A rounded count jumps at one of them."""

MOST_LISTED = 20_000
"""If a domain has more datasets than this, not all are tried."""


def values_of(stage: Stage) -> list[Any]:
    """Return records that the stage takes, the usual ones first."""
    domain = stage.domain
    named = _constants(stage.function)
    if isinstance(domain, type):
        whole = [number for number in INTEGERS if abs(number) < 2**63]
        kinds: dict[type, Sequence[Any]] = {float: (*FLOATS, *SPECIAL), int: whole, str: (*TEXTS, *DATES)}
        return [*kinds[domain], *(number for number in named if type(number) is domain)]
    if not isinstance(domain, Domain):
        return list(domain)
    if isinstance(domain.shape, Categories):
        return list(domain.shape.names)
    low, high = domain.ends()
    tried: list[Any] = [low, high, domain.origin, domain.typed(Fraction(low) / 2 + Fraction(high) / 2)]
    if domain.integers:
        tried += [low + 1, high - 1, *INTEGERS]
    else:
        near = (math.nextafter(low, math.inf), math.nextafter(high, -math.inf))
        tried += [*near, high / 3, low + (high - low) * 0.1, high * 2.0**-53, high * 2.0**-30, *FLOATS, *SPECIAL]
    tried += [domain.typed(Fraction(number)) for number in named]
    distinct = {repr(value): value for value in tried}
    return [value for value in distinct.values() if domain.holds(value)]


def _constants(function: Any) -> list[float]:
    """Return the first numbers in a function's code, and each ± 1, because it may treat records differently there."""
    constants = getattr(getattr(inspect.unwrap(function), "__code__", None), "co_consts", ())
    numbers = [number for number in constants if type(number) in (float, int) and abs(number) < 2**53]
    return [number + step for number in numbers[:FEW] for step in (0, 1, -1)]


def finite_values(stage: Stage) -> list[Any] | None:
    """Return all records of the domain if its datasets can all be tried; otherwise None."""
    domain, (least, most) = stage.domain, stage.sizes
    if isinstance(domain, type) or stage.claim.changes > 1 or most > 64:
        return None
    values = list({repr(value): value for value in values_of(stage)}.values())
    if isinstance(domain, Domain) and not isinstance(domain.shape, Categories):
        if not domain.integers or domain.special or max(-domain.low, domain.high) == math.inf:
            return None
        low, high = domain.ends()
        values = [domain.typed(Fraction(value)) for value in range(int(low), int(min(high, low + MOST_LISTED)) + 1)]
    return values if 0 < sum(len(values) ** size for size in range(least, int(most) + 1)) <= MOST_LISTED else None


def all_neighbours(stage: Stage, values: Sequence[Any]) -> Iterator[Neighbours]:
    """Yield every pair of neighbours whose records are among these values, in one order only."""
    least, most = stage.sizes
    for size in range(least, int(most) + (stage.relation is Relation.SUBSTITUTE)):
        yield from _grid(stage, values, size)


def neighbours(stage: Stage, seed: int) -> Iterator[Neighbours]:
    """Return neighbours to try: single records, then a pair of each family in turn, small and simple ones first."""
    values, (least, most) = values_of(stage), stage.sizes
    ends = {int(end) for end in (least, most) if 0 < end <= AT_ONCE}
    sizes = {*(int(end) for end in (least, most) if 0 < end <= SIZES[-1]), *SIZES, *(size - 1 for size in SIZES)}
    large = [*ends, *(size for size in sorted(sizes - ends) if least <= size <= most)]
    in_turn = itertools.zip_longest(
        *(_grid(stage, values[:count], size) for count, size in ((len(values), 1), (GRID, 2), (GRID // 2, 3))),
        _alike(stage, values, large),
        _many(stage, values, large),
        _shuffled(stage, values, random.Random(seed)),
    )

    def fits(pair: Neighbours | None) -> bool:
        return pair is not None and all(least <= len(side) <= most for side in pair)

    return filter(fits, itertools.chain(_grid(stage, values, 0), itertools.chain.from_iterable(in_turn)))


def changed(
    stage: Stage, base: Sequence[Any], place: int, value: Any, others: Sequence[Any] | None = None
) -> Neighbours:
    """Return a neighbour of a dataset, with records added at a place or replaced from there on, and the dataset itself.

    Args:
        stage: its relation says whether records are added or replaced, and its claim says how many.
        base: the records of the dataset.
        place: the index of the first new record.
        value: the first new record, and all further ones if `others` is None.
        others: the further new records, as many as the claim needs.
    """
    added = [value] * stage.claim.changes if others is None else [value, *others][: stage.claim.changes]
    if stage.relation is Relation.SUBSTITUTE:
        end = min(len(base), place + len(added))
        return [*base[:place], *added[: end - place], *base[end:]], list(base)
    return [*base[:place], *added, *base[place:]], list(base)


def _changed(stage: Stage, base: Sequence[Any], values: Iterable[Any], places: Iterable[int]) -> Iterator[Neighbours]:
    for place, value in itertools.product(dict.fromkeys(places), values):
        if stage.relation is Relation.ADD_REMOVE or (place < len(base) and repr(base[place]) != repr(value)):
            yield changed(stage, base, place, value)
            if stage.claim.changes > 1:
                yield changed(stage, base, place, value, values_of(stage)[::-1])


def _grid(stage: Stage, values: Sequence[Any], size: int) -> Iterator[Neighbours]:
    """Yield every dataset of `size` records among these values, with each of its neighbours, in one order only."""
    is_symmetric = stage.relation is Relation.SUBSTITUTE and stage.claim.changes == 1
    for chosen in itertools.product(range(len(values)), repeat=size):
        base = [values[at] for at in chosen]
        for place in range(size + 1):
            yield from _changed(
                stage, base, values[chosen[place] + 1 if is_symmetric and place < size else 0 :], (place,)
            )


def chains(stage: Stage) -> Iterator[tuple[Chain, list[int]]]:
    """Yield each chain with the indices i to try it at, in ascending order; none if the claim is for many changes."""
    values, (least, most) = values_of(stage), stage.sizes
    doubled = [0, *(1 << bit for bit in range(17))]
    if stage.claim.changes > 1:
        return
    if stage.relation is Relation.ADD_REMOVE:
        for value in values[:2]:
            yield [value].__mul__, [size for size in doubled if least <= size <= most]
        return
    sizes = {int(min(max(size, least), most)) for size in (1, 1000)}
    for size, (low, high) in itertools.product(sizes, itertools.pairwise(values[:4])):
        yield partial(_in_runs, low, high, size), [*(place for place in doubled if place < size), size]


def _in_runs(low: Any, high: Any, size: int, count: int) -> list[Any]:
    """Return `count` times `high`, and then `low` up to `size` records."""
    return [high] * count + [low] * (size - count)


def _alike(stage: Stage, values: Sequence[Any], large: Sequence[int]) -> Iterator[Neighbours]:
    """Yield datasets of equal records with a neighbour: all small sizes, large sizes, and sizes near jumps of sums."""
    near = [size + step for size in SIZES for step in (-2, 1)]
    for size, most in [*((size, 2) for size in [*range(EQUAL), *near]), *((size, FEW) for size in large)]:
        for value in values[:most]:
            yield from _changed(stage, [value] * size, values[:most], (0,))


def _many(stage: Stage, values: Sequence[Any], large: Sequence[int]) -> Iterator[Neighbours]:
    """Yield large datasets with a neighbour: all equal, one different, halves, alternating, and all values in turn."""
    low, high = values[0], values[1 % len(values)]
    small = values[-1] if len(values) > 2 else low
    tried = {repr(value): value for value in (high, low, small)}.values()
    for size in large:
        half = size // 2
        mixed = ([low, high] * half, list(itertools.islice(itertools.cycle(values), size)))
        runs = ((low, high, size), (high, low, size), (small, high, 1), (high, low, half), (high, small, size - 1))
        ties = (
            (low, high, 1 << bit) for bit in range(1, half.bit_length())
        )  # where a sum that is rounded to even jumps
        in_runs = (_in_runs(rest, first, size, count) for rest, first, count in itertools.chain(runs, ties))
        for base in itertools.chain(mixed, in_runs):
            yield from _changed(stage, base, tried, (0, size - 1))


def _shuffled(stage: Stage, values: Sequence[Any], rng: random.Random) -> Iterator[Neighbours]:
    """Yield random datasets of a few values, each with a random neighbour."""
    least, most = stage.sizes
    sizes = [size for size in (2, 3, 4, 6, 10, 40) if least <= size <= most] or [max(int(least), 1)]
    for _ in range(2000):
        chosen = rng.choices(values, k=rng.choice((2, 2, 3, 5)))
        base = rng.choices(chosen, k=rng.choice(sizes))
        yield from _changed(stage, base, [rng.choice(values)], [rng.randrange(len(base) + 1)])
