"""What a second process brings to a long audit, and what a checkpoint costs."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from attacklab.attacks import LowBitLaplace
from attacklab.execution import ProcessWorkers, Workers, processors
from attacklab.experiment import Collected, Settings
from attacklab.figures import Figure, Panel, Role, Series
from attacklab.loading import load_target
from attacklab.referee import audit
from experiments.timing import in_turns

QUESTION = "What does a second process bring to a long audit, and what does a checkpoint cost?"

TARGET = "experiments.targets:exact_rounded_laplace"
PARAGRAPH = """\
An audit of {trials} trials an input of the exact Laplace mechanism, with its low-bit event, takes {one:.1f} s in one
worker process and {two:.1f} s in two: {speedup:.2f} times as fast (median of {rounds} comparisons in turns, on a
machine of {processors} processors). Keeping every batch in a checkpoint takes {checkpoint:.2f} times as long as not
keeping it. Findings are the same in all of these, because the randomness of a batch depends on the seed and its
number alone."""


def collect(settings: Settings) -> Collected:
    """Time the same audit in one process and in two, and with and without a checkpoint."""
    trials = settings.budget(4_000_000, 300_000)
    rounds = settings.budget(5, 1)
    load = partial(load_target, TARGET)
    target = load()

    def audited(workers: Workers, checkpoint: Path | None = None) -> None:
        attack = LowBitLaplace()
        audit(target, [attack], trials=trials, seed=settings.seed, where=workers.runner, checkpoint=checkpoint)

    with (
        ProcessWorkers(1, load=load) as one,
        ProcessWorkers(2, load=load) as two,
        tempfile.TemporaryDirectory() as folder,
    ):
        audited(one)
        audited(two)
        speedups = [in_turns(partial(audited, one), partial(audited, two), budget=0.0) for _ in range(rounds)]
        checkpoints = (Path(folder, str(number)) for number in range(1000))
        kept = [
            in_turns(lambda: audited(two, next(checkpoints)), partial(audited, two), budget=0.0) for _ in range(rounds)
        ]
    return Collected(
        (), {"trials": trials, "processors": processors(), "speedups": speedups, "checkpoints": kept, "rounds": rounds}
    )


def figures(data: dict[str, Any]) -> list[Figure]:
    """Speed of two processes over one, and time with a checkpoint over time without, round by round."""
    measured = data["measured"]
    rounds = range(1, measured["rounds"] + 1)

    def panel(title: str, rows: list[dict[str, float]], label: str) -> Panel:
        ratios = [row["ratio"] for row in rows]
        series = [Series(label="measured", role=Role.OTHER, x=rounds, y=ratios, marks_only=True)]
        return Panel(title=title, x_label="comparison", y_label=label, series=series)

    panels = [
        panel("two processes against one", measured["speedups"], "time in one over time in two"),
        panel("with a checkpoint against without", measured["checkpoints"], "ratio of times"),
    ]
    return [Figure(name="scaling", caption="A long audit in one and two processes.", panels=panels)]


def explain(data: dict[str, Any]) -> str:
    """Say what two processes and checkpoints come to."""
    measured = data["measured"]
    middle = sorted(measured["speedups"], key=lambda row: row["ratio"])[len(measured["speedups"]) // 2]
    kept = sorted(row["ratio"] for row in measured["checkpoints"])
    return PARAGRAPH.format(
        trials=measured["trials"],
        one=middle["seconds"],
        two=middle["baseline_seconds"],
        speedup=middle["ratio"],
        rounds=measured["rounds"],
        processors=measured["processors"],
        checkpoint=kept[len(kept) // 2],
    )
