"""Scores: numbers computed from an output for a bet to rest on: from its bits, its size, and whether it is a failure.

Two of the scores are rules learned from outputs of both inputs. The *cells* say how much likelier an output of the same
sign, exponent and grid is from one input than from the other. The *bits* are a linear rule over all bits of the output:
the ridge regression of the input that it came from. Numbers are read as doubles, except for the linear rule, which sees
their bits in the format in which they came.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import as_floats
from attacklab.floats import Doubles
from attacklab.targets import Failure, Outputs, is_exact

FINEST, COARSEST = -1100, 1100
"""The exponent and the grid exponent given to 0 and to values that are not finite."""

FINITE_BITS = 1024
"""Integers of fewer bits are finite as doubles."""

LOW_BITS = 4
"""How many of the lowest bits of a double's encoding are scores of their own."""

PENALTY = 1.0
"""The penalty of the ridge regression, in outputs: it limits the weight of bits that are hardly ever seen."""

EVERY_BYTE = np.arange(256, dtype=np.uint8)[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class Score:
    """A number computed from each output.

    Attributes:
        description: the number in words.
        of: takes outputs and returns their scores; NaN for an output without one.
    """

    description: str
    of: Callable[[Outputs], Doubles]


def exponent(values: Doubles) -> Doubles:
    """The e with 2^e ≤ |y| < 2^(e+1); FINEST for 0, NaN and infinities.

    Args:
        values: any shape.
    """
    regular = np.isfinite(values) & (values != 0)
    return np.where(regular, np.frexp(np.where(regular, values, 1.0))[1] - 1.0, FINEST)


def grid_exponent(values: Doubles) -> Doubles:
    """The largest k for which y is a multiple of 2^k; COARSEST for 0, NaN and infinities.

    Args:
        values: any shape.
    """
    regular = np.isfinite(values) & (values != 0)
    significand, power = np.frexp(np.where(regular, values, 1.0))
    whole = (significand * 2.0**53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return np.where(regular, power - 53.0 + lowest, COARSEST)


def encoded(outputs: Outputs) -> NDArray[np.uint8]:
    """The bytes of each output in the format in which it came, most significant first: shape (n, bytes)."""
    values = outputs if outputs.dtype.kind in "iuf" else as_floats(outputs)
    big_endian = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder(">"))
    return big_endian.view(np.uint8).reshape(len(values), -1)


def learned_scores(first: Outputs, second: Outputs) -> Iterator[Score]:
    """All scores of an output; the rules among them are learned from these outputs."""
    if not all(_are_numbers(outputs) for outputs in (first, second)):
        return
    columns = first[0].size if first.ndim > 1 else 1
    for column in range(columns):
        prefix = f"number {column}'s " if first.ndim > 1 else ""
        sides = [_column(outputs, column) for outputs in (first, second)]
        for score in _number_scores(*sides):
            yield Score(prefix + score.description, partial(_of_column, column=column, of=score.of))
    yield _linear_rule(first, second)


def _number_scores(first: Doubles, second: Doubles) -> Iterator[Score]:
    pooled = np.concatenate([first, second])
    finite = pooled[np.isfinite(pooled)]
    centre = float(np.median(finite)) if finite.size else 0.0
    yield Score("value", as_floats)
    yield Score(f"distance from {centre!r}", partial(_distance, centre=centre))
    yield Score("exponent", exponent)
    yield Score("grid exponent", grid_exponent)
    yield Score("trailing zeros", _trailing_zeros)
    yield Score("sign bit", lambda values: np.signbit(values).astype(np.float64))
    for bit in range(LOW_BITS):
        yield Score(f"bit {bit}", partial(_bit, place=bit))
    yield _cell_rule(first, second)


def _distance(values: Doubles, *, centre: float) -> Doubles:
    return np.abs(values - centre)


def _trailing_zeros(values: Doubles) -> Doubles:
    return 52.0 + grid_exponent(values) - exponent(values)


def _bit(values: Doubles, *, place: int) -> Doubles:
    return (values.view(np.uint64) >> np.uint64(place) & np.uint64(1)).astype(np.float64)


def _cells(values: Doubles) -> NDArray[np.int64]:
    """One number for each combination of sign, exponent and grid."""
    numbers = (exponent(values) - FINEST) * (COARSEST - FINEST + 1) + grid_exponent(values) - FINEST
    return numbers.astype(np.int64) * 2 + np.signbit(values)


def _cell_rule(first: Doubles, second: Doubles) -> Score:
    sides = [_cells(values) for values in (first, second)]
    known = np.unique(np.concatenate(sides))
    counts = [np.bincount(np.searchsorted(known, side), minlength=len(known)) for side in sides]
    log_ratios = np.log((counts[0] + 0.5) / (counts[1] + 0.5))
    return Score(
        "log likelihood ratio of its sign, exponent and grid", partial(_of_cell, known=known, log_ratios=log_ratios)
    )


def _of_cell(values: Doubles, *, known: NDArray[np.int64], log_ratios: Doubles) -> Doubles:
    cells = _cells(values)
    place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    return np.where(known[place] == cells, log_ratios[place], 0.0)


def _linear_rule(first: Outputs, second: Outputs) -> Score:
    sides = [np.unpackbits(encoded(outputs), axis=1) for outputs in (first, second)]
    bits = np.concatenate(sides)
    of_first, of_second = (side.sum(axis=0, dtype=np.int64) for side in sides)
    ones = of_first + of_second
    mean_label = (len(first) - len(second)) / len(bits)
    gram = _ones_in_common(bits) - np.outer(ones, ones) / len(bits) + PENALTY * np.eye(bits.shape[1])
    weights = np.linalg.solve(gram, of_first - of_second - ones * mean_label)
    # How much each value of each byte adds to the score.
    table = (np.unpackbits(EVERY_BYTE, axis=1)[np.newaxis] * weights.reshape(-1, 1, 8)).sum(axis=2)
    return Score("linear rule over all bits", partial(_weighed_bytes, table=table))


def _ones_in_common(bits: NDArray[np.uint8]) -> NDArray[np.int64]:
    """In how many rows each two columns of bits are both 1, counted 64 rows at a time."""
    padded = np.pad(bits, ((0, -len(bits) % 64), (0, 0)))
    columns = np.ascontiguousarray(np.packbits(padded, axis=0).T).view(np.uint64)
    return np.array([np.bitwise_count(columns & column).sum(axis=1, dtype=np.int64) for column in columns])


def _weighed_bytes(outputs: Outputs, *, table: Doubles) -> Doubles:
    rows = encoded(outputs)
    scores = np.zeros(len(rows))
    for place, added in enumerate(table):
        scores += added[rows[:, place]]
    return scores


def _failures(outputs: Outputs) -> Doubles:
    if outputs.dtype.kind == "O":
        return np.array([_failed(output) for output in outputs], dtype=np.float64)
    failed = np.isnan(outputs).reshape(len(outputs), -1).any(axis=1) if outputs.dtype.kind == "f" else False
    return np.full(len(outputs), failed, dtype=np.float64)


IS_FAILURE = Score("failure", _failures)


def _failed(output: object) -> bool:
    return output is None or isinstance(output, Failure) or (isinstance(output, float) and math.isnan(output))


def _are_numbers(outputs: Outputs) -> bool:
    if outputs.dtype.kind in "biuf":
        return outputs.size > 0
    return outputs.dtype.kind == "O" and all(_failed(output) or _is_number(output) for output in outputs)


def _is_number(output: object) -> bool:
    fits = not isinstance(output, int) or output.bit_length() < FINITE_BITS
    return fits and (isinstance(output, int | float | np.number | np.bool_) or is_exact(output))


def _column(outputs: Outputs, column: int) -> Doubles:
    values = as_floats(outputs)
    return values if values.ndim == 1 else values.reshape(len(values), -1)[:, column].copy()


def _of_column(outputs: Outputs, *, column: int, of: Callable[[Doubles], Doubles]) -> Doubles:
    return of(_column(outputs, column))
