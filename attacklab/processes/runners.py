"""What runs batches: in this process, or on another backend once a sample takes long.

Results come back in the order of the batches, and results drawn ahead of a decision are thrown away, so a finding does
not depend on where it was made. All randomness comes from the seed and the batch's number. A new backend is a subclass
of `workers.Workers` if it has a `concurrent.futures.Executor`; `dask.py` is the model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Protocol, TypeAlias

from attacklab.auditing.meter import Meter
from attacklab.model.findings import Counts
from attacklab.processes.batches import Batch, Bench, Outline, Sample

Say: TypeAlias = Callable[[str], object]
Results: TypeAlias = Generator[tuple[Counts, ...], None, None]

WATCHED_SECONDS = 3.0
"""How long the rate is measured before it is believed."""

LONG_SECONDS = 20.0
"""If a sample would take longer than this here, starting processes for it is worth while."""


class Runner(Protocol):
    """Does what a `Bench` does, somewhere.

    Every method raises `TargetError` if the target failed, even if it killed the process that it ran in, and `LabFault`
    if the attack failed or no worker is left.
    """

    def outlines(self, attack: int, meter: Meter | None = None) -> tuple[Outline, ...]:
        """The scenarios of an attack; `OutOfTime` if the meter leaves no time to look for them."""

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        """The counts of the sample's events in each of these batches, in order; `Refused` as `Bench.counts` raises it.

        Batches that were drawn ahead are given up when the generator is closed.
        """


class Backend(Protocol):
    """A place where batches run."""

    @property
    def count(self) -> int:
        """How many batches it runs at once."""

    def runner(self, bench: Bench) -> Runner:
        """A runner of this bench."""


class InProcess:
    """Runs batches in this process, each when it is asked for."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.outlines = bench.outlines

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        """As in `Runner`."""
        for batch in batches:
            yield self._bench.counts(sample, batch)


class ParallelWhenSlow:
    """Runs the batches of a bench here until a sample turns out to take long, and from then on elsewhere.

    Args:
        bench: what is run.
        backend: takes over; it runs batches in processes.
        say: is told, in one line, when it does.
    """

    def __init__(self, bench: Bench, backend: Backend, say: Say) -> None:
        self._bench, self._backend, self._say = bench, backend, say
        self._runner: Runner = InProcess(bench)
        self._moved = False

    def outlines(self, attack: int, meter: Meter | None = None) -> tuple[Outline, ...]:
        """As in `Runner`."""
        return self._runner.outlines(attack, meter)

    def counts(self, sample: Sample, batches: Iterator[Batch]) -> Results:
        """As in `Runner`."""
        if not self._moved:
            started, drawn = time.perf_counter(), 0
            for batch in batches:
                yield from self._runner.counts(sample, iter([batch]))
                drawn += batch.rows
                seconds = time.perf_counter() - started
                left = (sample.trials - batch.done) * seconds / drawn
                if seconds > WATCHED_SECONDS and left > LONG_SECONDS:
                    self._say(
                        f"at {drawn / seconds:,.0f} trials a second this sample takes up to {left:,.0f} s more; "
                        f"continuing in {self._backend.count} processes"
                    )
                    self._runner, self._moved = self._backend.runner(self._bench), True
                    break
        yield from self._runner.counts(sample, batches)
