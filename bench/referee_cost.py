"""What the instrument costs compared with the targets that it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.attacks.low_bit_laplace import LowBitLaplace
from attacklab.attacks.samplers.laplace import MODELS, reachable
from attacklab.neighbours import NeighbouringPair
from attacklab.processes.batches import BATCH_OUTPUTS
from attacklab.referee import DEFAULT_TRIALS, audit
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from attacklab.targets import Target
from bench.common.timing import in_turns, seconds
from experiments import targets

QUESTION = "What do the referee and the low-bit membership test cost compared with drawing the samples?"

EPSILONS = (0.01, 0.1, 1.0, 10.0)
TARGETS = (targets.naive_laplace_inverse_cdf, targets.naive_laplace_numpy, targets.exact_discrete_laplace)
PARAGRAPH = """\
An audit whose event costs next to nothing is compared, in turns, with drawing the same number of outputs in large
batches and dropping them; the first table says how many times as long the audit takes. An event costs {fixed:.0f} ms
more, mostly for the small batches between the first looks at the evidence, and {slope:.1f} ns more for each further
output. A default audit with {trials:,} trials takes {shortest:.1f} to {longest:.1f} times as long as its calls of the
target take by themselves, and draws {fewest:.2f} to {most:.2f} times as many outputs to look and to choose as it
judges; the second table says for which targets. Learning events from some ten thousand outputs takes as long whatever
an output costs. An audit by low_bit_laplace alone that spends all of {spent:,} trials on numpy's Laplace takes
{spending:.2f} s. Deciding whether one double is reachable takes {fastest:.0f} to {slowest:.0f} ns a sample on one core,
depending on the model of the sampler and on ε; a draw of numpy's Laplace takes {draw:.0f} ns."""


DEFAULTS = (
    targets.naive_laplace_numpy,
    targets.exact_discrete_laplace,
    targets.exact_rounded_gaussian,
    targets.exact_exponential,
    targets.exact_histogram,
)
"""Targets of which a default audit is timed: numbers, a choice and vectors."""


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
            "defaults": [_default(make(1.0), settings) for make in DEFAULTS],
            "spend_all": _spend_all(settings),
        },
    )


def _default(target: Target, settings: Settings) -> dict[str, Any]:
    """Time a default audit, and the calls of the target that it makes."""
    trials = settings.budget(DEFAULT_TRIALS, 2_000)
    calls: list[tuple[Any, int]] = []

    def recording(input_: Any, size: int, rng: np.random.Generator) -> Any:
        calls.append((input_, size))
        return target.release(input_, size, rng)

    findings = audit(replace(target, release=recording), trials=trials, seed=settings.seed)
    made = tuple(calls)

    def draw() -> None:
        rng = np.random.default_rng(settings.seed)
        for input_, size in made:
            with contextlib.suppress(Exception), np.errstate(all="ignore"):  # as an attack has it that makes it fail
                target.release(input_, size, rng)

    judged = sum(2 * one.counts.trials * one.answers for one in findings if one.counts is not None)
    audited = partial(audit, target, trials=trials, seed=settings.seed)
    timed = in_turns(audited, draw, budget=0.1 if settings.quick else 4.0)
    drawn = sum(size for _, size in made)
    return {"target": target.name, "trials": trials, **timed, "calls": len(made), "drawn": drawn, "judged": judged}


def _spend_all(settings: Settings) -> dict[str, Any]:
    """Time an audit by the test of low bits that draws all trials."""
    trials = settings.budget(1_000_000, 10_000)
    target = targets.naive_laplace_numpy(1.0)
    run = partial(audit, target, [LowBitLaplace()], trials=trials, seed=settings.seed, spend_all=True)
    drawn = partial(_draw, target, trials, settings.seed)
    return {"trials": trials, **in_turns(run, drawn, budget=0.1 if settings.quick else 4.0)}


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
        trials=measured["defaults"][0]["trials"],
        shortest=min(row["ratio"] for row in measured["defaults"]),
        longest=max(row["ratio"] for row in measured["defaults"]),
        fewest=min(map(_beside, measured["defaults"])),
        most=max(map(_beside, measured["defaults"])),
        spent=measured["spend_all"]["trials"],
        spending=measured["spend_all"]["seconds"],
    )
    return "\n".join([paragraph, "", *_table(measured), "", *_default_table(measured["defaults"])])


def _beside(row: dict[str, Any]) -> float:
    """How many outputs are drawn to look and to choose for each that is judged."""
    return float(row["drawn"] / row["judged"] - 1)


def _default_table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| default audit of | seconds | its calls alone | times as long | calls | outputs judged | drawn beside |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        yield (
            f"| {row['target']} | {row['seconds']:.2f} | {row['baseline_seconds']:.3f} | {row['ratio']:.2f} | "
            f"{row['calls']} | {row['judged']:,} | {row['drawn'] - row['judged']:,} |"
        )


def _table(measured: dict[str, Any]) -> Iterator[str]:
    yield f"| target | ns an output | {' | '.join(f'{trials} trials' for trials in measured['budgets'])} |"
    yield "|---|---|" + "---|" * len(measured["budgets"])
    for row in measured["overheads"]:
        last = row["timed"][-1]
        own = last["baseline_seconds"] / last["outputs"] * 1e9
        ratios = " | ".join(f"{timed['ratio']:.2f}" for timed in row["timed"])
        yield f"| {row['target']} | {own:.1f} | {ratios} |"
