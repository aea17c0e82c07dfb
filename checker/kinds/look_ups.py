"""A probe of what traced look-ups mean: numpy's `take`, `searchsorted` and `flatnonzero`, and places of arrays."""

from __future__ import annotations

import importlib
from bisect import bisect_right
from functools import lru_cache
from typing import Any

from checker.core.certificate import Refused


@lru_cache(maxsize=1)
def require_look_ups() -> int:
    """Check at many lengths that numpy looks up, counts, gathers and scatters as the trace takes it to.

    Returns:
        How many results were compared.

    Raises:
        Refused: one differs.
    """
    numpy = importlib.import_module("numpy")
    compared = 0
    for length in (*range(1, 20), 1000, 8192, 8193):
        numbers = [(i * 2654435761 + 12345) % 4093 - 40 for i in range(length)]
        table = [i * i // 7 for i in range(1, 201)]
        array, public = numpy.array(numbers), numpy.array(table)
        looked_up = numpy.take(public.astype(float), array, out=numpy.empty_like(array, dtype=float), mode="clip")
        places = [i for i, one in enumerate(numbers) if one % 3 == 0]
        found = numpy.flatnonzero(array % 3 == 0)
        scattered = array.copy()
        scattered[found] = array[found] - 7
        results: list[tuple[Any, list[Any]]] = [
            (looked_up, [float(table[min(max(one, 0), 199)]) for one in numbers]),
            (numpy.searchsorted(public, array, side="right"), [bisect_right(table, one) for one in numbers]),
            (found, places),
            (array[found], [numbers[i] for i in places]),
            (found[array[found] > 9], [i for i in places if numbers[i] > 9]),
            (scattered, [one - 7 if one % 3 == 0 else one for one in numbers]),
        ]
        for one, expected in results:
            if one.tolist() != expected:
                raise Refused(f"numpy looks up {one.tolist()[:5]}… where {expected[:5]}… is meant")
            compared += len(expected)
    return compared
