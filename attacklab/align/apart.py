"""Finds leaks in runs: outputs that reveal every draw, and parts of the output that no draw moves.

If the output is an affine function of the draws on both inputs, with at least as many independent numbers as draws,
then it reveals the draws, and its privacy loss is known exactly at every outcome. A part that no draw moves is constant
over all outcomes that were tried, near and far; so is a sum of numbers in which the noise cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.align.costs import ROUNDING_SLACK, exceeds
from attacklab.align.outcomes import Question, Trial, Unit, units_of
from attacklab.align.parts import Parts, close
from attacklab.align.solve import slopes
from attacklab.draws import Law
from attacklab.model.claims import Claim, PrivacyClaim

LOG_DENSITIES: dict[Law, Callable[[float], float]] = {
    Law.LAPLACE: lambda draw: -abs(draw),
    Law.LOGISTIC: lambda draw: -abs(draw) - 2 * math.log1p(math.exp(-abs(draw))),
    Law.GUMBEL: lambda draw: -draw - math.exp(min(-draw, 700.0)),
    Law.EXPONENTIAL: lambda draw: -draw if draw >= 0 else -math.inf,
    Law.GAUSSIAN: lambda draw: -draw * draw / 2,
}
"""The logarithm of each noise density at scale 1, up to an additive constant."""

MOST_NUMBERS = 64
"""The most numbers in an output that is searched for sums without noise."""

RANK_TOLERANCE = 1e-7
"""Singular values below this share of the largest are taken for rounding errors."""

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Excess:
    """A privacy loss at one outcome that is known exactly and exceeds the claim.

    Attributes:
        loss: the largest loss found, in words.
        epsilon: the loss, if the claim is pure DP; else None.
        by_unit: the share of each draw in the loss; empty if d(output)/d(draw) differs between the inputs.
        moved: how far the value moves whose noise is shifted most, in words; empty if it is not known.
    """

    loss: str
    epsilon: float | None
    by_unit: dict[Unit, float]
    moved: str = ""


@dataclass(frozen=True)
class Unmoved:
    """A part of the output that no draw moves on one input, with a value that the other input never gives.

    Attributes:
        places: the parts, each with its weight in a sum; a weight of 0 for a part that is not a number.
        value: the value of the part, or of the sum, on that input.
        on_first: whether that input is the first.
    """

    places: tuple[tuple[str, float], ...]
    value: Any
    on_first: bool

    def holds(self, parts: Parts) -> bool:
        """Whether an output has this part with this value."""
        ((place, weight), *_) = self.places
        if not weight:
            return bool(parts.rest.get(place) == self.value)
        numbers = [parts.numbers.get(name, math.nan) for name, _ in self.places]
        size = max(map(abs, numbers), default=0.0)
        total = sum(by * number for (_, by), number in zip(self.places, numbers, strict=True))
        return bool(abs(total - self.value) <= 1e-8 * (1.0 + size))

    def __str__(self) -> str:
        if len(self.places) == 1:
            return f"{self.places[0][0]} is {self.value!r} whatever is drawn"
        total = " ".join(f"{weight:+.3g}·{place}" for place, weight in self.places)
        return f"{total} is {self.value:.9g} whatever is drawn"


def exact_excess(question: Question, trials: Sequence[Trial], claim: Claim) -> Excess | None:
    """Return the largest exact loss if it exceeds the claim; None if not, or if outputs do not reveal every draw."""
    units = question.units(trials[0].run)
    have_densities = all(unit.law in LOG_DENSITIES and unit.scale > 0 for unit in units)
    if not units or not have_densities or _has_coins(question, trials):
        return None
    losses, is_common = _losses(question, trials, units)
    if not losses:
        return None
    worst = max(losses, key=lambda loss: loss.total)
    has_shares = is_common and not worst.scales_differ
    if isinstance(claim, PrivacyClaim) and not claim.delta:
        is_kept = worst.total <= claim.epsilon * (1 + ROUNDING_SLACK)
        by_unit = worst.by_unit if is_common else {}
        moved = _moved(worst.shares) if has_shares else ""
        return None if is_kept else Excess(f"ε = {worst.total:.6g}", worst.total, by_unit, moved)
    return _excess_of_shifts(worst.shares, claim) if has_shares else None


def _moved(shares: Mapping[Unit, float]) -> str:
    """Say how far the value moves whose noise is shifted most, in scales. The stage that moves it so is at fault."""
    unit = max(shares, key=lambda one: abs(shares[one]))
    by, scale = abs(shares[unit]) * unit.scale, unit.scale
    return f"; the value that the noise hides moves by {by:.3g}, and the noise has scale {scale:.3g}"


def _losses(question: Question, trials: Sequence[Trial], units: Sequence[Unit]) -> tuple[list[_Loss], bool]:
    """Return each trial's loss (empty if one is unknown), and whether both inputs have the same d(output)/d(draw)."""
    answers = [question.answer(trial, {}) for trial in trials]
    first = _affine(question, trials, units)
    second = None if first is None else _affine(question.reversed(), answers, units)
    if first is None or second is None or first.names != second.names:
        return [], False
    losses = list[_Loss]()
    for trial, answer in zip(trials, answers, strict=True):
        loss = _loss(units, trial, first, second, answer)
        if loss is None:
            return [], False
        losses.append(loss)
    return losses, bool(np.allclose(first.slopes, second.slopes, rtol=1e-6, atol=1e-9))


def _excess_of_shifts(shares: Mapping[Unit, float], claim: Claim) -> Excess | None:
    """Return how shifts exceed a claim; None if not, or if a draw is not Laplace, logistic or Gaussian."""
    if any(not unit.law.is_symmetric and unit.law is not Law.GAUSSIAN for unit in shares):
        return None
    pure = [abs(by) for unit, by in shares.items() if unit.law.is_symmetric]
    mu = math.hypot(*(by for unit, by in shares.items() if unit.law is Law.GAUSSIAN))
    if not exceeds(claim, pure, mu):
        return None
    told = f"ε = {sum(pure):.6g}" if sum(pure) else f"μ = {mu:.6g}"
    return Excess(told, None, {unit: abs(by) for unit, by in shares.items()}, _moved(shares))


@dataclass(frozen=True)
class _Affine:
    """An output that is linear in its draws: numbers = slopes · (draws in scales) + offset."""

    names: tuple[str, ...]  # the places of the numbers in the output
    slopes: Doubles  # one row for each number of the output, one column for each `Unit`
    offset: Doubles


@dataclass(frozen=True)
class _Loss:
    total: float  # the privacy loss at an outcome
    by_unit: dict[Unit, float]  # the part of it that each draw contributes
    shares: dict[Unit, float]  # the shift of each draw from the first input to the second, in scales
    scales_differ: bool  # whether the scale of a draw differs between the inputs


def _has_coins(question: Question, trials: Sequence[Trial]) -> bool:
    """Whether a run has draws that are neither noise nor raw bits."""
    free = (Law.BITS,)
    return any(draw.law not in free for trial in trials for _, draw in question.others(trial.run))


def _affine(question: Question, trials: Sequence[Trial], units: Sequence[Unit]) -> _Affine | None:
    base = trials[0]
    if any(trial.parts.form != base.parts.form or len(trial.run.draws) != len(base.run.draws) for trial in trials):
        return None
    rates = slopes(question, base, units, 1.0)
    if rates is None or rates.shape[0] < len(units) or _rank(rates) < len(units):
        return None
    offset = base.parts.vector() - rates @ _in_scales(base, units)
    for trial in trials:
        by = _in_scales(trial, units)
        size = np.abs(rates) @ np.abs(by) + np.abs(offset) + 1.0
        if not np.all(np.abs(rates @ by + offset - trial.parts.vector()) <= 1e-9 * size):
            return None
    return _Affine(tuple(base.parts.numbers), rates, offset)


def _in_scales(trial: Trial, units: Sequence[Unit]) -> Doubles:
    """Return the value that an outcome drew for each unit, divided by the unit's scale."""
    places = trial.run.by_key()
    values = [np.ravel(trial.run.draws[places[unit.key[0]]].value)[unit.key[1]] for unit in units]
    return np.asarray(np.array(values, dtype=float) / np.array([unit.scale for unit in units]))


def _rank(rates: Doubles) -> int:
    sizes = np.linalg.svd(rates, compute_uv=False)
    return int((sizes > RANK_TOLERANCE * sizes.max()).sum()) if sizes.size and sizes.max() > 0 else 0


def _loss(units: Sequence[Unit], trial: Trial, first: _Affine, second: _Affine, answer: Trial) -> _Loss | None:
    """Return a trial's loss; None if the second input (`answer` is its run on the same draws) can't give its output."""
    places = answer.run.by_key()
    others = {unit.key: unit for unit in _units(answer, units)}
    if len(others) != len(units) or any(unit.key[0] not in places for unit in units):
        return None
    here = _in_scales(trial, units)
    output = first.slopes @ here + first.offset
    there, *_ = np.linalg.lstsq(second.slopes, output - second.offset, rcond=None)
    rest = second.slopes @ there + second.offset - output
    if np.any(np.abs(rest) > 1e-8 * (np.abs(output) + np.abs(second.offset) + 1.0)):
        return None
    by_unit, shares, scales_differ = {}, {}, False
    for at, unit in enumerate(units):
        ratio = others[unit.key].scale / unit.scale
        value = there[at] / ratio if ratio else math.nan
        log_density = LOG_DENSITIES[unit.law]
        by_unit[unit] = _log_ratio(log_density(float(here[at])), log_density(float(value)), ratio)
        shares[unit] = float(there[at] - here[at])
        scales_differ |= not bool(close(ratio, 1.0))
    volume = np.linalg.slogdet(second.slopes.T @ second.slopes)[1] - np.linalg.slogdet(first.slopes.T @ first.slopes)[1]
    return _Loss(float(sum(by_unit.values()) + volume / 2), by_unit, shares, scales_differ)


def _log_ratio(first: float, second: float, ratio: float) -> float:
    """Return ln(p/q), where `first` and `second` are ln p and ln q at scale 1, and q's scale is `ratio` times p's."""
    if first == -math.inf:
        return first
    return first - second + math.log(ratio) if ratio > 0 else math.inf


def _units(trial: Trial, units: Sequence[Unit]) -> list[Unit]:
    """Return the units of a trial that have the same keys as the given units."""
    keys = {unit.key for unit in units}
    return [unit for draw in trial.run.draws for unit in units_of(draw) if draw.law.has_shifts and unit.key in keys]


def unmoved(firsts: Sequence[Parts], seconds: Sequence[Parts]) -> Unmoved | None:
    """Return a part with one value at all outcomes of one input, and never this value on the other; else None."""
    for one, other, on_first in ((firsts, seconds, True), (seconds, firsts, False)):
        found = _constant_part(one, other) or _constant_sum(one, other)
        if found is not None:
            return Unmoved(*found, on_first)
    return None


Found = tuple[tuple[tuple[str, float], ...], Any]


def _constant_part(one: Sequence[Parts], other: Sequence[Parts]) -> Found | None:
    places = dict.fromkeys(place for parts in (*one, *other) for place in parts.rest)
    for place in sorted(places, key=lambda place: place.endswith("'s type")):  # a value says more than its type
        values = [parts.rest.get(place) for parts in one]
        if all(value == values[0] for value in values) and all(parts.rest.get(place) != values[0] for parts in other):
            return ((place, 0.0),), values[0]
    return None


def _constant_sum(one: Sequence[Parts], other: Sequence[Parts]) -> Found | None:
    shared = set.intersection(*(set(parts.numbers) for parts in (*one, *other)))
    names = [name for name in one[0].numbers if name in shared]
    if not names or len(names) > MOST_NUMBERS:
        return None
    mine, theirs = (np.array([[parts.numbers[name] for name in names] for parts in side]) for side in (one, other))
    for at, name in enumerate(names):
        if np.ptp(mine[:, at]) <= 1e-9 * np.abs(mine[:, at]).max() and _never(theirs[:, at], mine[0, at], 1.0):
            return ((name, 1.0),), float(mine[0, at])
    return _weighted_sum(names, mine, theirs) if len(mine) > len(names) + 1 else None


def _weighted_sum(names: Sequence[str], mine: Doubles, theirs: Doubles) -> Found | None:
    """Return a weighted sum of numbers that is the same in all rows of `mine`, and different in all of `theirs`."""
    sizes = np.abs(np.vstack([mine, theirs])).max(axis=0) + 1.0
    _, lengths, directions = np.linalg.svd((mine - mine.mean(axis=0)) / sizes)
    lengths = np.pad(lengths, (0, len(names) - len(lengths)))
    for length, direction in zip(lengths, directions, strict=True):
        weights = direction / sizes
        value = float((mine @ weights).mean())
        if length <= 1e-11 * max(1.0, lengths.max()) and _never(theirs @ weights, value, 1.0 / sizes.min()):
            scale = np.abs(weights).max()
            kept = [(name, float(w / scale)) for name, w in zip(names, weights, strict=True) if abs(w) > 1e-9 * scale]
            return tuple(kept), value / scale
    return None


def _never(values: Doubles, value: float, size: float) -> bool:
    return bool(np.all(np.abs(values - value) > 1e-7 * (abs(value) + size)))
