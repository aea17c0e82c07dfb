"""Equal inputs under the clock of a loaded machine: how often they are told apart, and how p-values are spread.

One input takes turns with itself, in runs of few turns, while more processes run than there are processors: others on
the machine, or else some that only compute. See `attacklab.auditing.statistics.timing`: were its p-values exact, they
would be spread evenly, but for being tails of a binomial law, of which some are 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.auditing.statistics.timing import CONFIDENCE
from attacklab.auditing.timed import in_turns, processor
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.processes.targets import ProcessRelease, isolated
from attacklab.reporting.experiment import Collected, Data, Settings
from attacklab.reporting.figures import Figure, Role
from bench.common import PARAGRAPHS
from experiments.common.curves import figure, line, panel
from experiments.observed_work import naive_geometric

QUESTION = "How often does the clock of a loaded machine tell equal inputs apart?"

ALPHA = 1e-6
EQUAL = NeighbouringPair(0, 0, None)
LEVELS = (0.5, 0.1, 0.05, 0.01, 0.001)


def laplace() -> Target:
    """Noise whose outputs never repeat, so that all times are compared."""
    return Target.noise(lambda answer, trials, rng: answer + rng.laplace(size=trials), epsilon=1.0, name="laplace")


def in_its_process() -> Target:
    """The loop in a process of its own, which measures the times."""
    return isolated(f"{Path(__file__).parents[1] / 'experiments' / 'observed_work.py'}:naive_geometric")


CASES = (
    ("loop, here", naive_geometric, 600, 1000, Role.NAIVE),
    ("numpy's Laplace noise, here", laplace, 200, 1000, Role.IDEAL),
    ("loop, in a process of its own", in_its_process, 300, 100, Role.EXACT),
)
"""What is timed: its name, what makes it, the turns of one run, and how many runs."""


def collect(settings: Settings) -> Collected:
    """Time equal inputs, run after run."""
    cases = []
    with _busy():
        load = os.getloadavg()[0]
        for number, (name, make, turns, runs, _) in enumerate(CASES):
            target, rng = make(), settings.generator(number)
            runs = settings.budget(runs, 5)
            try:
                p_values = [in_turns(target, EQUAL, turns, rng).test().p_value for _ in range(runs)]
            finally:
                if isinstance(target.release, ProcessRelease):
                    target.release.close()
            cases.append({"name": name, "turns": turns, "p_values": sorted(p_values)})
        load = max(load, os.getloadavg()[0])
    return Collected(timings={"cases": cases, "load": load, "processors": os.cpu_count(), "processor": processor()})


@contextmanager
def _busy() -> Iterator[None]:
    """Have a process for each processor run that only computes, less what keeps them busy already."""
    command = [sys.executable, "-c", "while True: pass"]
    idle = max(0, (os.cpu_count() or 1) - int(os.getloadavg()[0]))
    running = [subprocess.Popen(command) for _ in range(idle)]  # noqa: S603 - our own interpreter
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def timing_figures(data: Data) -> list[Figure]:
    """The share of p-values at most so large, beside an even spread."""
    roles = {name: role for name, *_, role in CASES}
    series = [
        line(case["name"], roles[case["name"]], case["p_values"], _ranks(case["p_values"]))
        for case in data["timings"]["cases"]
    ]
    even = line("spread evenly", Role.CEILING, [0, 1], [0, 1])
    shown = panel("p-values of equal inputs", "p", "share of runs with p at most so large", [*series, even])
    return [figure("timing_alarms", "How p-values of equal inputs are spread under a loaded machine's clock.", [shown])]


def _ranks(values: list[float]) -> list[float]:
    return [rank / len(values) for rank in range(1, len(values) + 1)]


def timing_table(data: Data) -> list[list[str]]:
    """How many runs had a p-value at most so large."""
    head = ["equal inputs", "runs", "turns a run", *(f"p ≤ {level:g}" for level in LEVELS), "least p"]
    return [head, *(_cells(case) for case in data["timings"]["cases"])]


def _cells(case: dict[str, Any]) -> list[str]:
    p_values = np.array(case["p_values"])
    shares = [f"{np.mean(p_values <= level):.2%}" for level in LEVELS]
    return [case["name"], str(p_values.size), str(case["turns"]), *shares, f"{p_values.min():.2g}"]


def explain_timings(data: Data) -> str:
    """Say how many runs raised an alarm."""
    measured = data["timings"]
    p_values = np.concatenate([case["p_values"] for case in measured["cases"]])
    alarms = int(np.count_nonzero(p_values <= ALPHA))
    _, upper = clopper_pearson(alarms, p_values.size, 2 * (1 - CONFIDENCE))
    return PARAGRAPHS["timing_alarms"].format(
        runs=p_values.size,
        alarms=alarms or "none",
        alpha=ALPHA,
        upper=float(upper),
        confidence=CONFIDENCE,
        least=p_values.min(),
        load=measured["load"],
        processors=measured["processors"],
        processor=measured["processor"],
    )
