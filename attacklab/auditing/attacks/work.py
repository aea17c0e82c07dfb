"""Work: the amount of randomness or time that an output took tells more than the output alone.

A sampler that counts out its noise in a loop runs longer for larger noise. An adversary who sees both the output and
the work reads the noise off the work and subtracts it from the output. A selection by rejection works harder when fewer
outcomes are heavy, so its work leaks even if the output is not seen.

It applies where the claim covers work (`OutputAndWork`), so that each output comes with its work: what the target
reports, or the random bits that it took. The adversary knows the mechanism and draws from it as often as it likes
beforehand. It picks pairs as the black box does, and bets on a half-line of the work, on the combinations of output and
work that it saw more often for the first input, or on such outputs alone. If outputs or work take many values, they are
cut into bins at quantiles.

A negative result does not rule out leaks finer than the units in which the work was counted. Work is counted for
whole releases, so caches and branches are not seen. Nor does it rule out leaks finer than a bin, or in combinations
that were too rare in the probe. Measured time drifts with the machine if one input is drawn after the other, so only
counted work is evidence here.

Source: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems' (timing of discrete samplers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks.base import Event, Probe, Scenario, as_floats
from attacklab.auditing.attacks.black_box import BlackBox
from attacklab.auditing.attacks.black_box.screening import Sampler
from attacklab.auditing.attacks.common.failures import failed
from attacklab.auditing.attacks.features import hashes
from attacklab.model.floats import Doubles
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Failure, Outputs, Target, are_numbers
from attacklab.model.work import Records, as_records, reports_work

PROBED = 2_000  # how many outputs of each input of a pair the adversary learns from
MOST_BINS = 64  # outputs or work that take more values than this are cut into this many bins
KEPT = 2  # how many pairs are judged, besides those that the target declares


@dataclass(frozen=True)
class Work:
    """The attack.

    Attributes:
        pair: the only pair to try; by default the most promising ones, as `BlackBox` finds them.
        learning: as of the `BlackBox` that finds them.
    """

    pair: NeighbouringPair | None = None
    learning: int = BlackBox.learning
    name: str = "work"
    flaw: str = "the randomness or time that an output took tells the dataset"
    sees_work: ClassVar[bool] = True

    def applies_to(self, target: Target) -> bool:
        """Whether the target's claim covers work."""
        return target.covers_work

    @property
    def looks(self) -> int:
        """About how many outputs it draws to find its pairs and events."""
        return 2 * KEPT * PROBED + (self._search.looks if self.pair is None else 0)

    def within(self, trials: int) -> Work:
        """The attack with as much to find pairs by as an audit of so many trials warrants."""
        return replace(self, learning=self._search.within(trials).learning)

    @property
    def _search(self) -> BlackBox:
        return BlackBox(kept=KEPT, learning=self.learning)

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """The pairs, with the bets that the probed outputs suggest.

        Raises:
            TargetError: the target failed while it was probed; or it takes a dataset, and nothing says which.
        """
        draw = Sampler(probe)
        pairs = [self.pair] if self.pair is not None else self._search.pairs_of(target, draw, probe)
        for pair in pairs:
            first, second = map(_answered, draw(pair, PROBED))
            if len(first) and len(second):  # how a target fails is for the black box to tell
                yield Scenario(pair, tuple(work_events(first, second)), alone=1)


def work_events(first: Records, second: Records) -> Iterator[Event]:
    """The bets on the first of two inputs that their probed outputs suggest; the last is on outputs alone.

    Args:
        first: outputs of the first input: records with the fields `output` and `work`, shape (n,).
        second: outputs of the second input, likewise.
    """
    for threshold in _edges(np.concatenate([first["work"], second["work"]]))[1:]:
        yield Event(f"the work is at least {threshold:g}", partial(_works, threshold=float(threshold)))
    outputs = _Bins.of(first["output"], second["output"])
    work = _Bins.of(first["work"], second["work"])
    cells = len(work.edges) + 1
    together = [outputs.places(side["output"]) * cells + work.places(side["work"]) for side in (first, second)]
    likelier = _likelier(together[0], together[1], (len(outputs.edges) + 1) * cells)
    words = f"output and work in one of {int(likelier.sum())} combinations seen more often for the first input"
    yield Event(words, partial(_combined, outputs=outputs, work=work, likelier=likelier))
    alone = _likelier(outputs.places(first["output"]), outputs.places(second["output"]), len(outputs.edges) + 1)
    words = f"the output alone in one of {int(alone.sum())} bins seen more often for the first input"
    yield Event(words, partial(_alone, outputs=outputs, likelier=alone))


@dataclass(frozen=True)
class _Bins:
    """Where values are cut into bins.

    Attributes:
        edges: the lower ends of all bins but the lowest, which has whatever lies below, and failures.
        hashed: whether values are not numbers, so that each is known by its hash.
    """

    edges: Doubles
    hashed: bool

    @classmethod
    def of(cls, *sides: Outputs) -> _Bins:
        hashed = not all(map(are_numbers, sides))
        return cls(_edges(np.concatenate([_numbers(side, hashed=hashed) for side in sides])), hashed)

    def places(self, values: Outputs) -> NDArray[np.intp]:
        """The number of each value's bin."""
        found = np.searchsorted(self.edges, _numbers(values, hashed=self.hashed), side="right")
        return np.where(failed(values), 0, found)


def _answered(outputs: Outputs) -> Records:
    """The outputs of calls that did not raise."""
    if reports_work(outputs):
        return outputs
    present = [output for output in outputs if not isinstance(output, Failure)]
    return as_records(np.fromiter(present, dtype=object, count=len(present)))


def _edges(values: NDArray[np.generic]) -> Doubles:
    """The lower ends of the bins: one bin for each value, or bins between quantiles if there are too many values."""
    numbers = values.astype(np.float64)
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if len(distinct) > MOST_BINS:
        return np.unique(np.quantile(numbers[~np.isnan(numbers)], np.arange(MOST_BINS) / MOST_BINS, method="lower"))
    return distinct


def _numbers(values: Outputs, *, hashed: bool) -> Doubles:
    """Values as doubles; NaN for a failure."""
    return hashes(values).astype(np.float64) if hashed else as_floats(values)


def _likelier(first: NDArray[np.intp], second: NDArray[np.intp], cells: int) -> NDArray[np.bool_]:
    """Which cells were seen more often for the first input."""
    counts = [np.bincount(side, minlength=cells) for side in (first, second)]
    return np.asarray(counts[0] > counts[1])


def _combined(records: Records, *, outputs: _Bins, work: _Bins, likelier: NDArray[np.bool_]) -> NDArray[np.bool_]:
    cells = len(work.edges) + 1
    return np.asarray(likelier[outputs.places(records["output"]) * cells + work.places(records["work"])])


def _alone(records: Records, *, outputs: _Bins, likelier: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(likelier[outputs.places(records["output"])])


def _works(records: Records, *, threshold: float) -> NDArray[np.bool_]:
    return np.asarray(records["work"] >= threshold)
