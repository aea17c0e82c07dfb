"""Work: how much randomness or time an output took tells what the output alone does not.

A sampler that counts its noise in a loop runs for as long as the noise is large. Who sees output and work reads the
noise off the work and takes it from the output. A selection by rejection works harder when fewer outcomes are heavy,
which the work tells with no look at the output.

The target is one whose outputs come with their work (`attacklab.observed_work`). The adversary knows the mechanism and
draws from it as often as it likes beforehand. It bets on a half-line of the work, or on those combinations of output
and work that it saw more often under the first input. Outputs and work of many values are cut into bins by quantiles.

What a negative result does not show. Work is seen in the units that it was observed in, whole releases at a time:
neither caches nor branches. Combinations that the probe saw too seldom are lost, and what is finer than a bin. Measured
time that is drawn side after side drifts with the machine, so that only counted work is evidence here.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems' (timing discrete samplers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.attacks.common.failures import failed
from attacklab.errors import TargetError
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Kind, Outputs, Target

PROBED = 2_000
"""Outputs of either input that the adversary draws beforehand."""

MOST_BINS = 64
"""Into which outputs and work of more values than that are cut."""


@dataclass(frozen=True)
class Work:
    """The attack.

    Attributes:
        pair: two inputs of the target; what its inputs are, an observed target does not say.
    """

    pair: NeighbouringPair
    name: str = "work"
    flaw: str = "the randomness or time that an output took tells the database"

    def applies_to(self, target: Target) -> bool:
        """Observed targets, which are datasets' ones."""
        return target.kind is Kind.DATASET

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The pair, with the bets that the probed outputs suggest."""
        first, second = probe(self.pair.first, PROBED), probe(self.pair.second, PROBED)
        if first.dtype.names != ("output", "work"):
            raise TargetError(f"{target.name} does not say how much work an output took: observe it first")
        yield Scenario(self.pair, tuple(work_events(first, second)))


def work_events(first: Outputs, second: Outputs) -> Iterator[Event]:
    """The bets on the first of two inputs that outputs with their work suggest.

    Args:
        first: records of the fields `output` and `work`, shape (n,).
        second: the same of the other input.
    """
    for threshold in _edges(np.concatenate([first["work"], second["work"]]))[1:]:
        yield Event(f"the work is at least {threshold:g}", partial(_works, threshold=float(threshold)))
    edges = tuple(
        _edges(np.concatenate([_numbers(first, field), _numbers(second, field)])) for field in ("output", "work")
    )
    shape = tuple(len(cuts) + 1 for cuts in edges)
    counts = [np.bincount(_cell(seen, edges, shape), minlength=shape[0] * shape[1]) for seen in (first, second)]
    likelier = counts[0] > counts[1]
    words = f"output and work as seen more often for the first input ({int(likelier.sum())} combinations)"
    yield Event(words, lambda outputs: likelier[_cell(outputs, edges, shape)])


def _edges(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """The lower ends of the bins: every value, or quantiles where there are too many."""
    numbers = values.astype(np.float64)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if len(distinct) > MOST_BINS:
        return np.unique(np.quantile(numbers[~np.isnan(numbers)], np.arange(MOST_BINS) / MOST_BINS, method="lower"))
    return distinct


def _numbers(outputs: Outputs, field: str) -> NDArray[np.float64]:
    """A field as doubles, NaN for a failure."""
    return np.asarray(outputs[field].astype(np.float64))


def _cell(outputs: Outputs, edges: tuple[NDArray[np.float64], ...], shape: tuple[int, ...]) -> NDArray[np.intp]:
    """The number of each record's combination of bins; failures and what lies below every bin share one."""
    places = [
        np.where(failed(outputs[field]), 0, np.searchsorted(cuts, _numbers(outputs, field), side="right"))
        for field, cuts in zip(("output", "work"), edges, strict=True)
    ]
    return np.asarray(places[0] * shape[1] + places[1])


def _works(outputs: Outputs, *, threshold: float) -> NDArray[np.bool_]:
    return np.asarray(outputs["work"] >= threshold)
