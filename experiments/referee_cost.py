"""What the instrument costs beside the targets that it runs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.attacks.low_bit_laplace import MODELS, reachable
from attacklab.experiment import Collected, Settings
from attacklab.figures import Figure, Panel, Role, Series
from attacklab.neighbours import NeighbouringPair
from attacklab.referee import audit
from attacklab.targets import Target
from experiments import targets
from experiments.timing import seconds

QUESTION = "What do the referee and the low-bit membership test cost beside drawing the samples?"

EPSILONS = (0.01, 0.1, 1.0, 10.0)
PARAGRAPH = """\
In an audit with an event that costs next to nothing, the referee's own work adds {overhead:.1%} to the time that the
target takes to draw its outputs (median of {rounds} audits of {trials} trials an input). Deciding whether one double
is reachable takes {fastest:.0f} to {slowest:.0f} ns a sample on one core, depending on the model of the sampler and
on ε; a draw of numpy's Laplace takes {draw:.0f} ns."""


@dataclass(frozen=True)
class _Trivial:
    """An attack whose only event is the cheapest there is, so that the time is the referee's own."""

    name: str = "trivial"
    flaw: str = "none"

    def applies_to(self, target: Target) -> bool:  # noqa: ARG002 - applies to every target
        return True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - needs neither
        pair = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)
        yield Scenario(pair, (Event("above 0", lambda outputs: outputs > 0),))


def collect(settings: Settings) -> Collected:
    """Time audits and bare draws in turns, then the membership test."""
    trials = settings.budget(1_000_000, 200_000)
    rounds = settings.budget(15, 5)
    target = targets.naive_laplace_inverse_cdf(1.0)
    attack = _Trivial()

    drawing = 0.0

    def timed(answer: float, count: int, rng: np.random.Generator) -> Any:
        nonlocal drawing
        started = time.perf_counter()
        released = target.release(answer, count, rng)
        drawing += time.perf_counter() - started
        return released

    overheads = []
    for _ in range(rounds):
        drawing = 0.0
        whole = seconds(
            lambda: audit(Target.noise(timed, epsilon=1.0), [attack], trials=trials, seed=settings.seed, spend_all=True)
        )
        overheads.append(whole / drawing - 1)
    rng = np.random.default_rng(settings.seed)
    outputs = {epsilon: rng.laplace(0.0, 1 / epsilon, trials) for epsilon in EPSILONS}
    membership = {
        model.description: [
            min(
                seconds(lambda: reachable(outputs[epsilon], 0.0, 1 / epsilon, model))  # noqa: B023 - called at once
                for _ in range(3)
            )
            / trials
            * 1e9
            for epsilon in EPSILONS
        ]
        for model in MODELS
    }
    draw = min(seconds(lambda: rng.laplace(0.0, 1.0, trials)) for _ in range(3)) / trials * 1e9
    return Collected(
        (),
        {
            "trials": trials,
            "rounds": rounds,
            "overheads": overheads,
            "epsilons": EPSILONS,
            "membership_ns": membership,
            "numpy_laplace_ns": draw,
        },
    )


def figures(data: dict[str, Any]) -> list[Figure]:
    """Cost of membership a sample, and the referee's overhead round by round."""
    measured = data["measured"]
    epsilons = measured["epsilons"]
    rounds = range(1, measured["rounds"] + 1)
    typical = [median(measured["overheads"])] * measured["rounds"]
    membership = Panel(
        title="is a double reachable?",
        x_label="claimed ε",
        y_label="nanoseconds a sample",
        x_scale="log",
        series=[
            *(
                Series(label=description, role=Role.OTHER, x=epsilons, y=cost)
                for description, cost in measured["membership_ns"].items()
            ),
            Series(
                label="a draw of numpy's Laplace",
                role=Role.IDEAL,
                x=epsilons,
                y=[measured["numpy_laplace_ns"]] * len(epsilons),
            ),
        ],
    )
    overhead = Panel(
        title="the referee's own work",
        x_label="audit",
        y_label="share of the time that drawing takes",
        series=[
            Series(label="measured", role=Role.OTHER, x=rounds, y=measured["overheads"]),
            Series(label="median", role=Role.IDEAL, x=rounds, y=typical),
        ],
    )
    caption = "Left: cost of the low-bit membership test. Right: the referee's own time over that of the target."
    return [Figure(name="referee_cost", caption=caption, panels=[membership, overhead])]


def explain(data: dict[str, Any]) -> str:
    """Say what the referee and the membership test cost."""
    measured = data["measured"]
    costs = [cost for row in measured["membership_ns"].values() for cost in row]
    return PARAGRAPH.format(
        overhead=median(measured["overheads"]),
        rounds=measured["rounds"],
        trials=measured["trials"],
        fastest=min(costs),
        slowest=max(costs),
        draw=measured["numpy_laplace_ns"],
    )
