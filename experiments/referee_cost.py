"""What the instrument costs beside the targets that it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.attacks.low_bit_laplace import MODELS, reachable
from attacklab.batches import BATCH_OUTPUTS
from attacklab.experiment import Collected, Settings
from attacklab.figures import Figure, Panel, Role, Series
from attacklab.neighbours import NeighbouringPair
from attacklab.referee import audit
from attacklab.targets import Target
from experiments import targets
from experiments.timing import in_turns, seconds

QUESTION = "What do the referee and the low-bit membership test cost beside drawing the samples?"

EPSILONS = (0.01, 0.1, 1.0, 10.0)
PARAGRAPH = """\
An audit with an event that costs next to nothing takes {overhead:.2f} times as long as drawing as many outputs in
batches of the same size and dropping them (median of {rounds} comparisons in turns, of {trials} trials an input).
Deciding whether one double is reachable takes {fastest:.0f} to {slowest:.0f} ns a sample on one core, depending on
the model of the sampler and on ε; a draw of numpy's Laplace takes {draw:.0f} ns."""


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

    def bare() -> None:
        rng = np.random.default_rng(settings.seed)
        for answer in (0.0, 1.0):
            for start in range(0, trials, BATCH_OUTPUTS):
                target.release(answer, min(BATCH_OUTPUTS, trials - start), rng)

    def audited() -> None:
        audit(target, [attack], trials=trials, seed=settings.seed, spend_all=True)

    ratios = [in_turns(audited, bare, budget=0.0)["ratio"] for _ in range(rounds)]
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
            "ratios": ratios,
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
    typical = [median(measured["ratios"])] * measured["rounds"]
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
        x_label="comparison",
        y_label="time of an audit over that of bare drawing",
        series=[
            Series(label="measured", role=Role.OTHER, x=rounds, y=measured["ratios"]),
            Series(label="median", role=Role.IDEAL, x=rounds, y=typical),
        ],
    )
    caption = "Left: cost of the low-bit membership test. Right: an audit beside bare drawing."
    return [Figure(name="referee_cost", caption=caption, panels=[membership, overhead])]


def explain(data: dict[str, Any]) -> str:
    """Say what the referee and the membership test cost."""
    measured = data["measured"]
    costs = [cost for row in measured["membership_ns"].values() for cost in row]
    return PARAGRAPH.format(
        overhead=median(measured["ratios"]),
        rounds=measured["rounds"],
        trials=measured["trials"],
        fastest=min(costs),
        slowest=max(costs),
        draw=measured["numpy_laplace_ns"],
    )
