"""Candidate events for a target that nobody wrote an attack for: bets on the bits, the size and the kind of an output.

Every candidate is an interval of a *score*, a number read off each output: the output itself, its distance from the
median, its exponent, the largest power of two that it is a multiple of (which grids hold it), its sign and low bits,
whether it is a failure, and two rules that are learned:

- *cells*: the logarithm of how much likelier an output of the same sign, exponent and grid is from one input than from
  the other;
- *bits*: a linear rule over all bits of the output, the ridge regression of which input it came from.

Rules are learned on one half of the outputs that are given, and intervals are ranked on the other half. What comes out
is a handful of fixed events, to be judged on outputs that had no part in it.

Sources: events from the bits of outputs, in another form, in Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper:
Black-Box Discovery of Differential Privacy Violations using Classifiers'; the ranking and the cells are not in theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, as_floats
from attacklab.claims import PrivacyClaim
from attacklab.targets import Failure, Outputs

Floats: TypeAlias = NDArray[np.float64]

QUANTILES = np.unique(np.concatenate([np.arange(1, 16) / 16, 2.0 ** -np.arange(4, 12), 1 - 2.0 ** -np.arange(4, 12)]))
"""Where half-lines may end, besides at the largest and least value."""

LIKELY_VALUES = 16
"""How many of the most frequent values are candidates by themselves."""

FINEST, COARSEST = -1100, 1100
"""Stand for the exponent of 0 and of what is not finite, and for the grid that 0 lies on."""

FINITE_BITS = 1024
"""Integers of fewer bits are finite as doubles."""

LOW_BITS = 4
"""How many of the lowest bits of the encoding as a double are candidates one by one."""

PENALTY = 1.0
"""Of the ridge regression, in outputs: what a bit weighs that is hardly ever seen."""

CHUNK = 1 << 13
"""Outputs unpacked into bits at a time."""


@dataclass(frozen=True, slots=True)
class Score:
    """A number read off each output.

    Attributes:
        description: in words.
        of: the scores of outputs; NaN where there is none.
    """

    description: str
    of: Callable[[Outputs], Floats]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An event and how plainly it showed an excess: in units of the excess's standard error."""

    event: Event
    clarity: float


def candidate_events(first: Outputs, second: Outputs, claim: PrivacyClaim, most: int) -> list[Candidate]:
    """The events that tell two samples of outputs apart most plainly, beyond what the claim allows.

    Args:
        first: outputs for one input of a pair, at least 4.
        second: as many outputs for the other.
        claim: what is promised of one output.
        most: how many candidates.

    Returns:
        The candidates, the plainest first; at least one, and no two from the same score.
    """
    half = len(first) // 2
    learning, ranking = (first[:half], second[:half]), (first[half:], second[half:])
    best = [_best_likely_value(learning, ranking, claim), _best_interval(_IS_FAILURE, learning, ranking, claim)]
    best += [_best_interval(score, learning, ranking, claim) for score in _scores(*learning)]
    found = [candidate for candidate in best if candidate is not None]
    if not found:  # all outputs are alike: nothing to bet on but that
        return [Candidate(_interval(_IS_FAILURE, 0.0, 0.0), -math.inf)]
    return sorted(found, key=lambda candidate: -candidate.clarity)[:most]


def exponent(values: Floats) -> Floats:
    """The e with 2^e ≤ |y| < 2^(e+1); FINEST for 0, NaN and infinities.

    Args:
        values: any shape.
    """
    regular = np.isfinite(values) & (values != 0)
    return np.where(regular, np.frexp(np.where(regular, values, 1.0))[1] - 1.0, FINEST)


def grid_exponent(values: Floats) -> Floats:
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
    """The bits of each output as it came, most significant first: shape (n, bits), each 0 or 1."""
    values = outputs if outputs.dtype.kind in "iuf" else as_floats(outputs)
    big_endian = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder(">"))
    return np.unpackbits(big_endian.view(np.uint8).reshape(len(values), -1), axis=1)


def _scores(first: Outputs, second: Outputs) -> Iterator[Score]:
    """Everything that is read off an output, learned on these where it is learned."""
    if not all(_are_numbers(outputs) for outputs in (first, second)):
        return
    columns = first[0].size if first.ndim > 1 else 1
    for column in range(columns):
        prefix = f"number {column}'s " if first.ndim > 1 else ""
        sides = [_column(outputs, column) for outputs in (first, second)]
        for score in _number_scores(*sides):
            yield Score(prefix + score.description, partial(_of_column, column=column, of=score.of))
    yield _linear_rule(first, second)


def _number_scores(first: Floats, second: Floats) -> Iterator[Score]:
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


def _distance(values: Floats, *, centre: float) -> Floats:
    return np.abs(values - centre)


def _trailing_zeros(values: Floats) -> Floats:
    return 52.0 + grid_exponent(values) - exponent(values)


def _bit(values: Floats, *, place: int) -> Floats:
    return (values.view(np.uint64) >> np.uint64(place) & np.uint64(1)).astype(np.float64)


def _cells(values: Floats) -> NDArray[np.int64]:
    """One number for each sign, exponent and grid."""
    numbers = (exponent(values) - FINEST) * (COARSEST - FINEST + 1) + grid_exponent(values) - FINEST
    return numbers.astype(np.int64) * 2 + np.signbit(values)


def _cell_rule(first: Floats, second: Floats) -> Score:
    sides = [_cells(values) for values in (first, second)]
    known = np.unique(np.concatenate(sides))
    counts = [np.bincount(np.searchsorted(known, side), minlength=len(known)) for side in sides]
    log_ratios = np.log((counts[0] + 0.5) / (counts[1] + 0.5))
    return Score(
        "log likelihood ratio of its sign, exponent and grid", partial(_of_cell, known=known, log_ratios=log_ratios)
    )


def _of_cell(values: Floats, *, known: NDArray[np.int64], log_ratios: Floats) -> Floats:
    cells = _cells(values)
    place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    return np.where(known[place] == cells, log_ratios[place], 0.0)


def _linear_rule(first: Outputs, second: Outputs) -> Score:
    bits = np.concatenate([encoded(first), encoded(second)]).astype(np.float64)
    labels = np.repeat([1.0, -1.0], [len(first), len(second)])
    # Sums of zeros and ones are exact, in whatever order a matrix product adds them.
    ones = bits.sum(axis=0)
    gram = bits.T @ bits - np.outer(ones, ones) / len(bits) + PENALTY * np.eye(bits.shape[1])
    weights = np.linalg.solve(gram, bits.T @ labels - ones * labels.mean())
    return Score("linear rule over all bits", partial(_weighed_bits, weights=weights))


def _weighed_bits(outputs: Outputs, *, weights: Floats) -> Floats:
    chunks = (outputs[start : start + CHUNK] for start in range(0, len(outputs), CHUNK))
    # Rounded, so that the same bits give the same score however the matrix product is carried out.
    return np.concatenate([np.round(encoded(chunk) @ weights, 9) for chunk in chunks])


def _failures(outputs: Outputs) -> Floats:
    if outputs.dtype.kind == "O":
        return np.array([_failed(output) for output in outputs], dtype=np.float64)
    failed = np.isnan(outputs).reshape(len(outputs), -1).any(axis=1) if outputs.dtype.kind == "f" else False
    return np.full(len(outputs), failed, dtype=np.float64)


_IS_FAILURE = Score("failure", _failures)


def _failed(output: object) -> bool:
    return output is None or isinstance(output, Failure) or (isinstance(output, float) and math.isnan(output))


def _best_interval(
    score: Score, learning: tuple[Outputs, Outputs], ranking: tuple[Outputs, Outputs], claim: PrivacyClaim
) -> Candidate | None:
    pooled = np.concatenate([score.of(outputs) for outputs in learning])
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if not pooled.size or pooled[0] == pooled[-1]:
        return None
    ends = np.unique(np.quantile(pooled, QUANTILES, method="inverted_cdf"))
    ends = ends[ends < pooled[-1]]  # a half-line that holds everything is no bet
    lows, highs = np.full(len(ends), -np.inf), ends
    values, frequency = np.unique(pooled, return_counts=True)
    likely = values[np.argsort(-frequency, kind="stable")[:LIKELY_VALUES]]
    likely = likely[np.sort(frequency)[::-1][: len(likely)] > 1]
    lows, highs = np.concatenate([lows, likely]), np.concatenate([highs, likely])
    sides = [np.sort(score.of(outputs)) for outputs in ranking]  # NaN goes last, beyond every interval
    hits = [np.searchsorted(side, highs, "right") - np.searchsorted(side, lows, "left") for side in sides]
    clarity = _clarity(hits[0], hits[1], len(ranking[0]), claim)
    best = int(np.argmax(clarity))
    return Candidate(_interval(score, float(lows[best]), float(highs[best])), float(clarity[best]))


def _best_likely_value(
    learning: tuple[Outputs, Outputs], ranking: tuple[Outputs, Outputs], claim: PrivacyClaim
) -> Candidate | None:
    """The best bet on one value, of outputs that need not be numbers."""
    if learning[0].dtype != object:
        return None
    seen = [Counter(output for output in outputs if isinstance(output, Hashable)) for outputs in (*learning, *ranking)]
    likely = [value for value, _ in (seen[0] + seen[1]).most_common(LIKELY_VALUES)]
    if not likely:
        return None
    hits = [np.array([counts[value] for value in likely]) for counts in seen[2:]]
    clarity = _clarity(hits[0], hits[1], len(ranking[0]), claim)
    best = int(np.argmax(clarity))
    return Candidate(
        Event(f"the output is {likely[best]!r}", partial(_equals, value=likely[best])), float(clarity[best])
    )


def _clarity(first: NDArray[np.int64], second: NDArray[np.int64], trials: int, claim: PrivacyClaim) -> Floats:
    """The excess over the claim in units of its standard error, the largest of either direction and the complement.

    One is added to either count of hits and misses, so that no error is 0.
    """
    p, q = (first + 1) / (trials + 2), (second + 1) / (trials + 2)
    factor = math.exp(min(claim.epsilon, 300.0))  # beyond, only an event that never happens shows anything
    cases: list[Floats] = [
        (here - factor * there - claim.delta) / np.sqrt((here * (1 - here) + factor**2 * there * (1 - there)) / trials)
        for here, there in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
    ]
    clarity: Floats = np.max(cases, axis=0)
    return clarity


def _interval(score: Score, low: float, high: float) -> Event:
    words = f"at most {high!r}" if low == -math.inf else f"equal to {high!r}"
    return Event(f"{score.description} {words}", partial(_lies_within, of=score.of, low=low, high=high))


def _lies_within(outputs: Outputs, *, of: Callable[[Outputs], Floats], low: float, high: float) -> NDArray[np.bool_]:
    values = of(outputs)
    return np.asarray((values >= low) & (values <= high))


def _equals(outputs: Outputs, *, value: object) -> NDArray[np.bool_]:
    return np.fromiter((output == value for output in outputs), dtype=bool, count=len(outputs))


def _are_numbers(outputs: Outputs) -> bool:
    if outputs.dtype.kind in "biuf":
        return outputs.size > 0
    return outputs.dtype.kind == "O" and all(_failed(output) or _is_number(output) for output in outputs)


def _is_number(output: object) -> bool:
    fits = not isinstance(output, int) or output.bit_length() < FINITE_BITS
    return fits and isinstance(output, int | float | np.number | np.bool_)


def _column(outputs: Outputs, column: int) -> Floats:
    values = as_floats(outputs)
    return values if values.ndim == 1 else values.reshape(len(values), -1)[:, column].copy()


def _of_column(outputs: Outputs, *, column: int, of: Callable[[Floats], Floats]) -> Floats:
    return of(_column(outputs, column))
