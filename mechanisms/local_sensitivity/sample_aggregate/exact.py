"""Sample and aggregate with chunks that are assigned to people, not to positions.

A person's chunk is a keyed hash of the person alone, so that one person changes the answer of one chunk, and the number
of chunks is always the one that the noise is scaled to. Source: Nissim, Raskhodnikova and Smith 2007, section 4, for
the framework; Near and Abuah, section 8.5, for the mean as aggregation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mechanisms.core.chunks import ChunkTotal, Numbered
from mechanisms.core.compose import Mapped
from mechanisms.core.grid import Grid
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.maps import Share
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import Number, rational


def exact_sample_aggregate(
    *,
    epsilon: Number,
    statistic: Callable[..., Any],
    chunks: int,
    key: bytes,
    lower: Number,
    upper: Number,
    grid: Grid,
    named: bool = True,
) -> Mapped:
    """Return the mean of a statistic's answers on chunks of people: ε-DP if a person is added or removed.

    Args:
        epsilon: ε, above 0; a float stands for the rational that it is.
        statistic: of the values of one chunk, doubles in increasing order; see `ChunkTotal` for what it may do.
        chunks: the public number of chunks.
        key: at most 64 bytes, chosen without looking at the data, from which people's chunks are derived.
        lower: the least answer of a chunk; an empty chunk answers the middle.
        upper: the largest one, a whole number of steps above `lower`.
        grid: the public grid that answers are rounded to.
        named: whether records are pairs of a person and a value; else each is a value, and a person of its own.

    Raises:
        TypeError: `chunks` is not an integer, or a parameter is not a number.
        ValueError: a parameter is out of its range, or the noise is too large for the grid.
    """
    total = ChunkTotal(statistic, chunks, key, rational("lower", lower), rational("upper", upper), grid)
    return Mapped(noisy(total if named else Numbered(total), DiscreteLaplace, epsilon), Share(chunks, float(lower)))
