"""What the instrument costs compared with the targets that it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.attacks.samplers.laplace import MODELS, reachable
from attacklab.execution.batches import BATCH_OUTPUTS
from attacklab.neighbours import NeighbouringPair
from attacklab.referee import audit
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from attacklab.targets import Target
from experiments import targets
from experiments.common.timing import in_turns, seconds

QUESTION = "What do the referee and the low-bit membership test cost compared with drawing the samples?"

EPSILONS = (0.01, 0.1, 1.0, 10.0)
TARGETS = (targets.naive_laplace_inverse_cdf, targets.naive_laplace_numpy, targets.exact_discrete_laplace)
PARAGRAPH = """\
An audit whose event costs next to nothing is compared, in turns, with drawing the same number of outputs in large
batches and dropping them; the table says how many times as long the audit takes. An event costs {fixed:.0f} ms more,
mostly for the many small batches between the first looks at the evidence, and {slope:.1f} ns more for each further
output. Deciding whether one double is reachable takes {fastest:.0f} to {slowest:.0f} ns a sample on one core,
depending on the model of the sampler and on ε; a draw of numpy's Laplace takes {draw:.0f} ns."""


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
    budgets = (10_000, 100_000) if settings.quick else (10_000, 100_000, 1_000_000, 10_000_000)
    overheads = [_overheads(make(1.0), budgets, settings) for make in TARGETS]
    trials = settings.budget(1_000_000, 20_000)
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
        timings={
            "budgets": budgets,
            "overheads": overheads,
            "epsilons": EPSILONS,
            "membership_ns": membership,
            "numpy_laplace_ns": draw,
        },
    )


def _overheads(target: Target, budgets: Sequence[int], settings: Settings) -> dict[str, Any]:
    """Time audits of one target with ever more trials, and the drawing of the same number of outputs."""
    timed = []
    for trials in budgets:
        audited = partial(audit, target, [_Trivial()], trials=trials, seed=settings.seed)
        (finding,) = audited()
        drawn = partial(_draw, target, finding.trials // 2, settings.seed)
        timed.append({**in_turns(audited, drawn, budget=0.1 if settings.quick else 1.0), "outputs": finding.trials})
    return {"target": target.name, "timed": timed}


def _draw(target: Target, trials: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for answer in (0.0, 1.0):
        for start in range(0, trials, BATCH_OUTPUTS):
            target.release(answer, min(BATCH_OUTPUTS, trials - start), rng)


def _extra(timed: dict[str, float]) -> float:
    """Seconds that an audit takes beside bare drawing."""
    return timed["seconds"] - timed["baseline_seconds"]


def _slope(shorter: dict[str, float], longer: dict[str, float]) -> float:
    """Seconds that an audit takes beside bare drawing for each further output."""
    return (_extra(longer) - _extra(shorter)) / (longer["outputs"] - shorter["outputs"])


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Cost of membership a sample, and the referee's overhead round by round."""
    measured = data["timings"]
    epsilons = measured["epsilons"]
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
        title="an audit beside bare drawing",
        x_label="trials",
        y_label="times as long",
        x_scale="log",
        y_scale="log",
        series=[
            *(
                Series(
                    label=row["target"],
                    role=Role.EXACT if row["target"].startswith("exact") else Role.NAIVE,
                    x=measured["budgets"],
                    y=[timed["ratio"] for timed in row["timed"]],
                )
                for row in measured["overheads"]
            ),
            Series(label="no overhead", role=Role.CEILING, x=measured["budgets"], y=[1.0] * len(measured["budgets"])),
        ],
    )
    caption = "Left: cost of the low-bit membership test. Right: an audit beside bare drawing."
    return [Figure(name="referee_cost", caption=caption, panels=[membership, overhead])]


def explain_timings(data: dict[str, Any]) -> str:
    """Say what the referee and the membership test cost."""
    measured = data["timings"]
    costs = [cost for row in measured["membership_ns"].values() for cost in row]
    paragraph = PARAGRAPH.format(
        fixed=median(_extra(row["timed"][-2]) for row in measured["overheads"]) * 1e3,
        slope=median(_slope(*row["timed"][-2:]) for row in measured["overheads"]) * 1e9,
        fastest=min(costs),
        slowest=max(costs),
        draw=measured["numpy_laplace_ns"],
    )
    return "\n".join([paragraph, "", *_table(measured)])


def _table(measured: dict[str, Any]) -> Iterator[str]:
    yield f"| target | ns an output | {' | '.join(f'{trials} trials' for trials in measured['budgets'])} |"
    yield "|---|---|" + "---|" * len(measured["budgets"])
    for row in measured["overheads"]:
        last = row["timed"][-1]
        own = last["baseline_seconds"] / last["outputs"] * 1e9
        ratios = " | ".join(f"{timed['ratio']:.2f}" for timed in row["timed"])
        yield f"| {row['target']} | {own:.1f} | {ratios} |"
