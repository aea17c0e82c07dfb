"""Work: the amount of randomness or time that an output took tells more than the output alone.

A sampler that counts out its noise in a loop runs longer for larger noise. An adversary who sees both the output and
the work reads the noise off the work and subtracts it from the output. A selection by rejection works harder when fewer
outcomes are heavy, so its work leaks even if the output is not seen.

The target's outputs must come with their work (see `attacklab.auditing.observed_work`). The adversary knows the
mechanism and draws from it as often as it likes beforehand. It bets on a half-line of the work, or on the combinations
of output and work that it saw more often for the first input. If outputs or work take many values, they are cut into
bins at quantiles.

A negative result does not rule out leaks finer than the units in which the work was observed. Work is observed for
whole releases, so caches and branches are not seen. Nor does it rule out leaks finer than a bin, or in combinations
that were too rare in the probe. Measured time drifts with the machine if one input is drawn after the other, so only
counted work is evidence here.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems' (timing of discrete samplers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks.base import Event, OfKinds, Probe, Scenario
from attacklab.auditing.attacks.common.failures import failed
from attacklab.model.errors import TargetError
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Outputs, Target

PROBED = 2_000  # how many outputs of each input the adversary draws beforehand
MOST_BINS = 64  # outputs or work that take more values than this are cut into this many bins


@dataclass(frozen=True)
class Work(OfKinds, kinds={Kind.DATASET}):
    """The attack.

    Attributes:
        pair: two inputs of the target; an observed target does not say what its inputs are.
    """

    pair: NeighbouringPair
    name: str = "work"
    flaw: str = "the randomness or time that an output took tells the dataset"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The pair, with the bets that the probed outputs suggest.

        Raises:
            TargetError: the target's outputs do not come with their work.
        """
        first, second = probe(self.pair.first, PROBED), probe(self.pair.second, PROBED)
        if first.dtype.names != ("output", "work"):
            raise TargetError(
                f"{target.name} does not report the work of its outputs; "
                "observe it first (attacklab.auditing.observed_work)"
            )
        yield Scenario(self.pair, tuple(work_events(first, second)))


def work_events(first: Outputs, second: Outputs) -> Iterator[Event]:
    """The bets on the first of two inputs that their probed outputs suggest.

    Args:
        first: outputs of the first input: records with the fields `output` and `work`, shape (n,).
        second: outputs of the second input, likewise.
    """
    for threshold in _edges(np.concatenate([first["work"], second["work"]]))[1:]:
        at_least = f'return bool(output["work"] >= {float(threshold)!r})'
        yield Event(f"the work is at least {threshold:g}", partial(_works, threshold=float(threshold)), at_least)
    edges = tuple(
        _edges(np.concatenate([_numbers(first, field), _numbers(second, field)])) for field in ("output", "work")
    )
    shape = tuple(len(cuts) + 1 for cuts in edges)
    counts = [np.bincount(_cell(seen, edges, shape), minlength=shape[0] * shape[1]) for seen in (first, second)]
    likelier = counts[0] > counts[1]
    words = f"output and work in one of {int(likelier.sum())} combinations seen more often for the first input"
    yield Event(words, lambda outputs: likelier[_cell(outputs, edges, shape)])


def _edges(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """The lower ends of the bins: one bin for each value, or bins between quantiles if there are too many values."""
    numbers = values.astype(np.float64)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if len(distinct) > MOST_BINS:
        return np.unique(np.quantile(numbers[~np.isnan(numbers)], np.arange(MOST_BINS) / MOST_BINS, method="lower"))
    return distinct


def _numbers(outputs: Outputs, field: str) -> NDArray[np.float64]:
    """A field as doubles; NaN for a failure."""
    return np.asarray(outputs[field].astype(np.float64))


def _cell(outputs: Outputs, edges: tuple[NDArray[np.float64], ...], shape: tuple[int, ...]) -> NDArray[np.intp]:
    """The number of each record's combination of bins; failures share one with whatever lies below every bin."""
    places = [
        np.where(failed(outputs[field]), 0, np.searchsorted(cuts, _numbers(outputs, field), side="right"))
        for field, cuts in zip(("output", "work"), edges, strict=True)
    ]
    return np.asarray(places[0] * shape[1] + places[1])


def _works(outputs: Outputs, *, threshold: float) -> NDArray[np.bool_]:
    return np.asarray(outputs["work"] >= threshold)
