"""What a second process brings to a long audit, and what a checkpoint costs."""

from __future__ import annotations

import itertools
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from attacklab.attacks import LowBitLaplace
from attacklab.loading import load_target
from attacklab.processes.workers import ProcessWorkers, Workers, processors
from attacklab.referee import audit
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from bench.common.timing import in_turns, seconds

QUESTION = "What does a second process bring to a long audit, and what does a checkpoint cost?"

TARGET = "experiments.targets:exact_rounded_laplace"
STARTING_TRIALS = 1_000
"""An audit so short that starting the processes is nearly all that it takes, and long enough to need both."""

PARAGRAPH = """\
An audit of the exact Laplace mechanism with its low-bit event and {trials} trials an input takes {one:.1f} s in one
worker process and {two:.1f} s in two: {speedup:.2f} times as fast (median of three comparisons in turns, on a machine
with {processors} processors). Before that, one process takes {start_one:.2f} s to start and to load the target, and
two take {start_two:.2f} s; an audit moves to processes by itself only if it is going to take far longer than that.
Keeping every batch in a checkpoint takes {checkpoint:.2f} times as long as not keeping it. The findings are the same
in all of these runs, because the randomness of a batch depends only on the seed and the batch's number."""


def collect(settings: Settings) -> Collected:
    """Time the start of one process and of two, the same audit in both, and with and without a checkpoint."""
    trials = settings.budget(4_000_000, 200_000)
    load = partial(load_target, TARGET)
    target = load()

    def audited(workers: Workers, checkpoint: Path | None = None, *, most: int = trials) -> None:
        audit(
            target,
            [LowBitLaplace()],
            trials=most,
            seed=settings.seed,
            spend_all=True,
            where=workers.runner,
            checkpoint=checkpoint,
        )

    with (
        ProcessWorkers(1, load=load) as one,
        ProcessWorkers(2, load=load) as two,
        tempfile.TemporaryDirectory() as folder,
    ):
        start = {
            name: seconds(partial(audited, workers, most=STARTING_TRIALS))
            for name, workers in (("one", one), ("two", two))
        }
        processes = in_turns(partial(audited, one), partial(audited, two), budget=0.0)
        checkpoints = (Path(folder, str(number)) for number in itertools.count())
        kept = in_turns(lambda: audited(two, next(checkpoints)), partial(audited, two), budget=0.0)
    measured = {"trials": trials, "processors": processors(), "start_seconds": start}
    return Collected(timings={**measured, "processes": processes, "checkpoint": kept})


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Seconds that processes take to start, and of the ways to run the same audit, beside half of the longest."""
    measured = data["timings"]
    start, processes, kept = measured["start_seconds"], measured["processes"], measured["checkpoint"]
    names = ["start of one", "start of two", "one process", "two processes", "two, no checkpoint", "two, checkpoint"]
    times = [start["one"], start["two"], processes["seconds"], processes["baseline_seconds"]]
    times += [kept["baseline_seconds"], kept["seconds"]]
    places = range(len(names))
    half = processes["seconds"] / 2
    panel = Panel(
        title=f"an audit of {measured['trials']:,} trials an input",
        x_label="",
        y_label="seconds",
        x_names=names,
        series=[
            Series(label="measured", role=Role.OTHER, x=places, y=times, marks_only=True),
            Series(label="half of what one process takes", role=Role.IDEAL, x=[-0.5, len(names) - 0.5], y=[half] * 2),
        ],
    )
    caption = "The start of the processes, and the same audit in one and in two; medians in turns, but for the start."
    return [Figure(name="scaling", caption=caption, panels=[panel])]


def explain_timings(data: dict[str, Any]) -> str:
    """Say what two processes and checkpoints come to."""
    measured = data["timings"]
    return PARAGRAPH.format(
        trials=measured["trials"],
        one=measured["processes"]["seconds"],
        two=measured["processes"]["baseline_seconds"],
        speedup=measured["processes"]["ratio"],
        processors=measured["processors"],
        start_one=measured["start_seconds"]["one"],
        start_two=measured["start_seconds"]["two"],
        checkpoint=measured["checkpoint"]["ratio"],
    )
