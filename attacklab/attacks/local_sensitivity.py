"""Local sensitivity: noise scaled to the dataset tells which dataset it is.

- **Where it jumps.** On some datasets nobody's record moves a median, a maximum, a count of triangles or the cost of a
  spanning tree, and on a neighbour one record moves it as far as it can go. Noise of scale 0 releases the exact answer,
  and one answer tells the two apart. The pairs that the target declares are tried first. For records within bounds, all
  datasets of a few records at the two bounds follow: when one more record lies at the upper bound, a median, another
  quantile or a cut of a graph jumps from one bound to the other. For other inputs, the pairs of the domain follow. A
  few outputs of each dataset show on which pairs the spread differs most. The adversary bets on the exact answer if one
  side has no noise, and otherwise on outputs far from the answer.
- **The number of records.** A mean of n records in [l, u] with noise scaled to its local sensitivity (u − l)/(n + 1)
  gives n away: a few answers are enough to estimate the scale of the noise, and n follows from it. The pair is the
  worst one: n records at the lower bound against n + 1 of them. Their means are equal, so only the scale differs. The
  adversary bets on the n that it reads off the answers.

The adversary knows ε, the bounds and the two datasets.

A negative result does not rule out jumps on other datasets, or that n can be read off more answers. For few records one
answer is enough: scales that differ by a factor move tail probabilities without limit. For many records the ratio of
the scales is near 1, and few answers do not tell.

Source: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', sections 1 and
3; Near and Abuah, 'Programming Differential Privacy', chapter 8. The pairs are ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacklab.attacks.base import Event, OfKinds, Probe, Scenario, adapted_pairs, as_floats, bounds_of, on_path
from attacklab.attacks.bets import exact_answer, typical
from attacklab.attacks.failures import despite_failures
from attacklab.model.domains import Records
from attacklab.model.errors import TargetError
from attacklab.model.neighbours import NeighbouringPair, Relation, as_array
from attacklab.model.targets import Kind, Outputs, Target, are_numbers

TAIL_FACTORS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Multiples of a scale between the two inputs' noise scales. Each gives a threshold; the choosing sample picks one."""

RECORDS = 11
"""How many records a dataset of two values has if the domain allows it: odd, so that one record more makes it even."""

MOST_SIZES = 32
"""With at most this many records n, 0 … n of them at the upper bound are tried; with more, only numbers near k·n/4."""

MOST_PAIRS = 96
"""The largest number of pairs that are looked at."""

GLANCED_AT = 8
"""How many outputs of each dataset show whether there is noise, and about how much."""

LOOKED_AT = 64
"""How many outputs of each dataset are drawn when a pair is looked at closely."""

CLOSER_LOOKS = 4
"""At most this many pairs are looked at closely; the first whose sides differ ends the search."""

LEAST_RATIO = 3.0
"""A pair is kept if the spreads of the two sides' `LOOKED_AT` outputs differ by this factor. With Laplace noise of
equal scale they do about once in 10^9 times."""


@dataclass(frozen=True)
class LocalSensitivity(OfKinds, kinds={Kind.SUM, Kind.MEAN, Kind.DATASET}):
    """The attack on noise that is scaled to the local sensitivity.

    Attributes:
        sizes: the numbers n of records of a mean that are tried.
        answers: the numbers of answers from which n is estimated.
    """

    sizes: tuple[int, ...] = (1, 256)
    answers: tuple[int, ...] = (1, 8)
    name: str = "local_sensitivity"
    flaw: str = "noise scaled to the local sensitivity tells the number of records, or which side of a jump they are on"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """For a mean, yield a scenario for each of `sizes` and of `answers`. Then yield what `jumps` yields."""
        if target.kind is Kind.MEAN:
            for size in self.sizes:
                yield from despite_failures([self.scenario(target, size, answers) for answers in self.answers], probe)
        yield from jumps(target, probe)

    @staticmethod
    def scenario(target: Target, size: int, answers: int) -> Scenario:
        """Return the pair of `size` and `size + 1` records, with bets that the mean |y − f(D)| of answers is large."""
        lower, upper = bounds_of(target)
        epsilon = target.claim.nominal.epsilon
        between = (upper - lower) / (epsilon * (size + 1.5))

        def event(threshold: float) -> Event:
            words = f"the mean |y − f(D)| of {answers} answers exceeds {threshold:.4g}: n seems to be {size}"
            return _far(words, lower, threshold, answers)

        pair = NeighbouringPair.records(np.full(size, lower), np.full(size + 1, lower), Relation.ADD_REMOVE)
        return Scenario(pair, tuple(event(factor * between) for factor in TAIL_FACTORS), answers)


def jumps(target: Target, probe: Probe) -> Iterator[Scenario]:
    """Yield the pair whose outputs differ most in spread, with the bets of `_at_jump`; nothing if none differ much."""
    for pair in _most_apart(target, probe):
        outputs = [_numbers(probe, side, LOOKED_AT) for side in (pair.first, pair.second)]
        if _ratio([_spread(numbers) for numbers in outputs]) >= LEAST_RATIO:
            yield _at_jump(pair, [numbers for numbers in outputs if numbers is not None])
            return


def _most_apart(target: Target, probe: Probe) -> list[NeighbouringPair]:
    """Return at most `CLOSER_LOOKS` pairs, those first whose outputs differ most in spread, judged by a few outputs."""
    seen: dict[tuple[Any, ...], float | None] = {}
    ranked: list[tuple[float, float, NeighbouringPair]] = []
    for pair in itertools.islice(adapted_pairs(target, _pairs(target)), MOST_PAIRS):
        sides = [(_key(side), side) for side in (pair.first, pair.second)]
        for key, side in sides:
            if key not in seen:
                seen[key] = _spread(_numbers(probe, side, GLANCED_AT))
        spreads = [seen[key] for key, _ in sides]
        ranked.append((_ratio(spreads), max(spread or 0.0 for spread in spreads), pair))
    ranked.sort(key=lambda entry: entry[:2], reverse=True)
    return [pair for _, _, pair in ranked[:CLOSER_LOOKS]]


def _pairs(target: Target) -> Iterator[NeighbouringPair]:
    """Yield the declared pairs, then pairs of records at the two bounds, or pairs of the domain for other inputs."""
    yield from target.pairs
    domain = target.domain
    if target.kind is not Kind.DATASET:
        yield from _of_two_values(*bounds_of(target), RECORDS, target.relation)
    elif domain is not None and isinstance(domain.shape, Records):
        least, most = domain.shape.least, domain.shape.most
        lower, upper = domain.ends()
        yield from _of_two_values(lower, upper, max(least, min(RECORDS, most - 1)), target.relation)
    elif domain is not None:
        yield from domain.pairs(target.relation)


def _of_two_values(lower: float, upper: float, size: int, relation: Relation | None) -> Iterator[NeighbouringPair]:
    """Yield pairs of `size` records at the two bounds: one moves to the upper bound, or one is added at either."""
    near = {size * quarter // 4 + step for quarter in range(5) for step in (-2, -1, 0, 1, 2)}
    for uppers in range(size + 1) if size <= MOST_SIZES else sorted(near & {*range(size + 1)}):
        records = on_path(lower, upper, size, uppers)
        if relation is not Relation.ADD_REMOVE and uppers < size:
            yield NeighbouringPair.records(records, on_path(lower, upper, size, uppers + 1), Relation.SUBSTITUTE)
        if relation is not Relation.SUBSTITUTE:
            yield NeighbouringPair.records(np.append(records, lower), records, Relation.ADD_REMOVE)
            yield NeighbouringPair.records(np.append(upper, records), records, Relation.ADD_REMOVE)


def _key(side: Any) -> tuple[Any, ...]:
    array = as_array(side)
    return array.shape, array.dtype.str, array.tobytes() if array.dtype != object else repr(array.tolist())


def _numbers(probe: Probe, side: Any, trials: int) -> NDArray[np.float64] | None:
    """Return outputs of a dataset as doubles, without failures; None if they are not numbers or most are failures."""
    try:
        outputs: Outputs = probe(side, trials)
    except TargetError:
        return None
    if outputs.ndim != 1 or not are_numbers(outputs):
        return None
    values = as_floats(outputs)
    values = values[~np.isnan(values)]
    return values if 2 * len(values) > trials else None


def _spread(values: NDArray[np.float64] | None) -> float | None:
    return None if values is None else float(estimated_scale(values, typical(values)).mean())


def _ratio(spreads: Sequence[float | None]) -> float:
    """Return the larger spread divided by the smaller one; 0 if a spread is not known, or both are 0."""
    known = [spread for spread in spreads if spread is not None and math.isfinite(spread)]
    if len(known) < len(spreads) or not any(known):
        return 0.0
    return max(known) / min(known) if min(known) else math.inf


def _at_jump(pair: NeighbouringPair, outputs: Sequence[NDArray[np.float64]]) -> Scenario:
    """Return a bet on the exact answer if one input has no noise; else bets far from the less noisy input's median."""
    (narrow, _, place), (wide, _, _) = sorted(
        (float(_spread(values) or 0.0), typical(values), place) for place, values in enumerate(outputs)
    )
    answer = typical(outputs[place])
    if not narrow:
        return Scenario(pair if place == 0 else pair.swapped(), (exact_answer(answer),))
    scales = (narrow, math.sqrt(narrow * wide))
    thresholds = dict.fromkeys(factor * scale for scale in scales for factor in TAIL_FACTORS)
    events = (_far(f"|y − {answer:.4g}| exceeds {threshold:.4g}", answer, threshold, 1) for threshold in thresholds)
    return Scenario(pair if place == 1 else pair.swapped(), tuple(events))


def _far(words: str, answer: float, threshold: float, answers: int) -> Event:
    """Return the bet that the mean of |output − answer| over `answers` outputs exceeds a threshold."""
    line = f"abs(float(output) - {answer!r}) > {threshold!r}" if answers == 1 else ""
    return Event(words, lambda outputs: np.asarray(estimated_scale(as_floats(outputs), answer) > threshold), line)


def estimated_scale(answers: NDArray[np.float64], mean: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate the scale of Laplace noise as its mean absolute deviation.

    Args:
        answers: answers to one query: several in each row, shape (…, m), or single ones, shape (n,).
        mean: the true answer, or a guess at it; it broadcasts to the shape of `answers`.

    Returns:
        One estimate for each row; NaN for a row with a failure in it.
    """
    deviations = np.abs(answers - mean)
    return deviations.mean(axis=-1) if deviations.ndim > 1 else deviations


def size_of_scale(scale: ArrayLike, lower: float, upper: float, epsilon: float) -> NDArray[np.float64]:
    """Return the number of records n for which the noise on their mean has the scale (u − l)/((n + 1)·ε)."""
    with np.errstate(divide="ignore"):
        return np.asarray((upper - lower) / (epsilon * np.asarray(scale)) - 1)
