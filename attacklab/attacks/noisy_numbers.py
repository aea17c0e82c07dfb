"""Noisy numbers in outputs: where they are, the true answers behind them, and how the noise is scaled.

An adversary who bets on low bits must know the two true answers, the scale of the noise and what was done to the sum
afterwards, all to the last bit. For additive noise the answers are known, for sums and means they follow from the
records, and for other datasets they are guessed: counts, sums and means of the records, and whole numbers near the
median of the outputs. A scale is a sensitivity over ε (or the textbook's σ), or a small multiple of it where the budget
was split. A guess that the outputs' median and mean deviation contradict is dropped.

A number may be rounded to decimals after the noise is added. It carries a half-width: how far it may lie from what the
mechanism computed.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Answers, Probe, as_released
from attacklab.attacks.failures import answered
from attacklab.attacks.features import numbers
from attacklab.attacks.released_formats import Released, inferred, merged
from attacklab.attacks.samplers import Assumed
from attacklab.model.errors import TargetError
from attacklab.model.floats import Doubles, Floats, half_ulp
from attacklab.model.neighbours import NeighbouringPair, as_array
from attacklab.model.targets import Kind, Outputs, Target, are_numbers

PROBED = 256  # how many outputs of each input are looked at
MOST_NUMBERS = 4  # how many of the numbers in an output are looked at
MOST_COLUMNS = 8  # how many columns of records statistics are guessed from
MOST_ANSWERS = 4  # how many guesses of a true answer are kept

SPLITS = (2.0, 3.0, 4.0, 0.5)
"""Multiples of the textbook's scale that are tried: a budget may be split, or a sensitivity doubled or halved."""

ERRORS = 6.0  # how many standard errors a median may be off; by chance, with a probability of 2e-9

DEVIATION_TOLERANCE = 0.28
"""The largest relative error of a mean deviation of `PROBED` outputs: 4.5 standard errors for Laplace noise."""

ScaleOf: TypeAlias = Callable[[float], tuple[float, float]]
"""`scale_of(sensitivity)` returns (scale, rate): some samplers multiply by the scale, others divide by the rate."""


@dataclass(frozen=True, slots=True)
class View:
    """Where a number is in outputs, and how it was rounded.

    Attributes:
        words: the place of the number, in words; empty if it is the whole output.
        feature: takes outputs and returns the number in each, in its own type.
        released: the number's format, and the grid that it was rounded to.
    """

    words: str
    feature: Callable[[Outputs], NDArray[Any]]
    released: Released

    def look(self, outputs: Outputs, answers: int = 1) -> tuple[Floats, Doubles]:
        """Return the numbers in outputs, and the half-width of each: how far rounding may have moved it.

        Args:
            outputs: one row a trial.
            answers: how many outputs a row holds; both arrays then have this many columns.
        """
        single = outputs.reshape(-1, *outputs.shape[2:]) if answers > 1 else outputs
        seen = self.released.numbers(self.feature(single))
        with np.errstate(all="ignore"):
            widths = self.released.half_widths(seen)
        if answers > 1:
            return seen.reshape(-1, answers), widths.reshape(-1, answers)
        return seen, widths

    @property
    def description(self) -> str:
        """Return the place and the rounding in words, to end an event's description; empty if there is neither."""
        where = f", {self.words}" if self.words else ""
        form = "" if self.released == Released(self.released.form) else f", {self.released.description}"
        return f"{where}{form}"


@dataclass(frozen=True, slots=True)
class Side:
    """A guess at one input's number: its true answer, and the scale, rate and format of its noise."""

    answer: float
    assumed: Assumed


@dataclass(frozen=True, slots=True)
class NoisyNumber:
    """A number in the outputs of a pair, and what may be assumed of it.

    Attributes:
        pair: the two inputs.
        view: where the number is and how it was rounded.
        first: guesses at the true answer and the noise on the first input, the likeliest first.
        second: the same for the second input.
        probed: outputs of the first and of the second input.
        answers_known: whether the true answers are known, so that the number is worth a bet whatever the outputs show.
    """

    pair: NeighbouringPair
    view: View
    first: tuple[Side, ...]
    second: tuple[Side, ...]
    probed: tuple[Outputs, Outputs]
    answers_known: bool

    @property
    def coarseness(self) -> float:
        """Return (median half-width)/(median half ulp) of the first input's numbers; 0 if the half ulp is 0."""
        numbers, widths = self.view.look(self.probed[0])
        half_ulps = half_ulp(numbers.astype(np.float64), self.view.released.form)
        return float(np.median(widths) / np.median(half_ulps)) if np.median(half_ulps) else 0.0


def noisy_numbers(
    target: Target,
    probe: Probe,
    pairs: Iterable[tuple[NeighbouringPair, Answers | None]],
    scale_of: ScaleOf | None = None,
    mean_deviation: float = 1.0,
) -> Iterator[NoisyNumber]:
    """Yield the numbers in outputs that may be a true answer plus noise.

    Args:
        target: a target of any kind but SELECTION.
        probe: draws outputs of the target.
        pairs: neighbouring pairs, each with its true answers, or None if these are not known.
        scale_of: gives the noise's scale and rate for a sensitivity; None to estimate the scale from the outputs.
        mean_deviation: the mean absolute deviation of noise of scale 1 from its median.
    """
    for pair, known in pairs:
        try:
            probed = (answered(probe, pair.first, PROBED), answered(probe, pair.second, PROBED))
        except TargetError:
            if target.kind is Kind.NOISE:
                raise
            continue
        for words, feature in _features(target, probed[0]):
            number = _noisy_number(target, pair, known, words, feature, probed, scale_of, mean_deviation)
            if number is not None:
                yield number


def _features(target: Target, outputs: Outputs) -> Iterable[tuple[str, Callable[[Outputs], NDArray[Any]]]]:
    if target.kind is not Kind.DATASET and are_numbers(outputs):
        return (("", as_released),)
    return tuple((feature.description, feature.of) for feature in numbers(outputs)[:MOST_NUMBERS])


def _noisy_number(
    target: Target,
    pair: NeighbouringPair,
    known: Answers | None,
    words: str,
    feature: Callable[[Outputs], NDArray[Any]],
    probed: tuple[Outputs, Outputs],
    scale_of: ScaleOf | None,
    mean_deviation: float,
) -> NoisyNumber | None:
    """Return one number with its guesses; None if most outputs lack it, it has no finite noise, or no guess fits."""
    seen = [feature(outputs) for outputs in probed]
    released = merged(*map(inferred, seen))
    sides = []
    for place, (column, side) in enumerate(zip(seen, (pair.first, pair.second), strict=True)):
        values = _finite(column)
        if 2 * values.size < len(column):
            return None
        median = float(np.median(values))
        deviation = float(np.abs(values - median).mean()) / mean_deviation
        if not 0 < deviation < math.inf and known is None:
            return None
        scales = _scales(target, side, deviation, scale_of) if scale_of else [(deviation or 1.0, 1.0)]
        answers = (known[place],) if known else _answers(side, median, deviation)
        assumed = [Assumed(*scale, released.form) for scale in scales]
        sides.append(tuple(Side(answer, form) for answer in answers for form in assumed))
    if not all(sides):
        return None
    view = View(words, feature, released)
    return NoisyNumber(pair, view, sides[0], sides[1], probed, answers_known=known is not None)


def _finite(values: NDArray[Any]) -> Doubles:
    doubles = as_released(values).astype(np.float64)
    return doubles[np.isfinite(doubles)]


def _sensitivities(target: Target, side: Any) -> Iterable[float]:
    if target.kind is Kind.NOISE:
        return (target.sensitivity,)
    size = len(side) if as_array(side).ndim else 1
    sensitivities = [1.0, 2.0] if target.kind is Kind.DATASET else []
    bounds: tuple[float, float] | None = None
    if target.bounds is not None:
        bounds = target.bounds
    elif target.domain is not None and max(-target.domain.low, target.domain.high) < math.inf:
        bounds = (float(target.domain.low), float(target.domain.high))
    if bounds is not None:
        lower, upper = bounds
        sensitivities += [upper - lower, max(abs(lower), abs(upper))]
    if target.kind is Kind.SUM:
        return dict.fromkeys(sensitivities)
    by_size = [sensitivity / size for sensitivity in sensitivities if size]
    return dict.fromkeys(by_size if target.kind is Kind.MEAN else sensitivities + by_size)


def _scales(target: Target, side: Any, deviation: float, scale_of: ScaleOf) -> list[tuple[float, float]]:
    """Return (scale, rate) pairs that fit the outputs' deviation. For additive noise, the textbook's come first."""
    if target.noise_scale is not None:
        unsplit, split = [(target.noise_scale, 1 / target.noise_scale)], []
    else:
        unsplit = [scale_of(sensitivity) for sensitivity in _sensitivities(target, side)]
        split = [(scale * by, rate / by) for by in SPLITS for scale, rate in unsplit]
    fitting = [pair for pair in (*unsplit, *split) if abs(deviation / pair[0] - 1) < DEVIATION_TOLERANCE]
    return list(dict.fromkeys([*(unsplit if target.kind is Kind.NOISE else ()), *fitting]))


def _answers(side: Any, median: float, deviation: float) -> tuple[float, ...]:
    """Return guesses of a true answer that lie near the median of the outputs."""
    # 1.26 deviations over √n bound the standard error of the median, for Laplace and for Gaussian noise.
    error = max(ERRORS * 1.26 * deviation / math.sqrt(PROBED), math.ulp(median))
    guesses = [guess for guess in _statistics(side) if abs(guess - median) <= error]
    nearest = round(median)
    whole = [float(nearest + step) for step in (0, 1, -1)]
    guesses += [guess for guess in whole if abs(guess - median) <= error]
    return tuple(dict.fromkeys(guesses))[:MOST_ANSWERS]


def _statistics(side: Any) -> list[float]:
    """Return answers that a query may have: 0, counts, sums, means and medians of all records and of each column."""
    guesses = [0.0]
    with contextlib.suppress(TypeError, ValueError, OverflowError), np.errstate(all="ignore"):
        values = as_array(side)
        guesses.append(float(len(values)) if values.ndim else 1.0)
        for column in (values.reshape(-1), *(values.T[:MOST_COLUMNS] if values.ndim == 2 else ())):
            guesses += [float(count) for _, count in Counter(column.tolist()).most_common(MOST_ANSWERS)]
            if column.dtype.kind in "biuf" and column.size:
                doubles = column.astype(np.float64)
                total = float(doubles.sum())
                guesses += [total, total / doubles.size, float(np.median(doubles)), math.fsum(doubles)]
    return [guess for guess in dict.fromkeys(guesses) if math.isfinite(guess)]
