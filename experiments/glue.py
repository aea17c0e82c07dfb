"""Flaws of the code between the mechanisms: what outputs show of them, and what a replay does (see attacklab.replay).

Sensitivity: Casacuberta and others 2022, 'Widespread Underestimation of Sensitivity in Differentially Private
Libraries'. Replays: Cebere and others, PETS 2026.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks import (
    BlackBox,
    DoubleBudget,
    LocalSensitivity,
    PositionChunks,
    RepeatedNoise,
    SumSensitivity,
)
from attacklab.auditing.attacks.base import Attack
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.findings import Finding, Severity, Verdict, recovered_pair
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Release
from attacklab.replay import replay
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
from experiments import targets
from experiments.common import pipelines
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker
from experiments.targets.means import CHUNKS, UPPER

QUESTION = "How many outputs show a flaw between the mechanisms, and how many runs does a replay take?"

EPSILON = 1.0
TRIALS = (2_000, 20_000, 200_000)
ATTACKS: tuple[Attack, ...] = (
    SumSensitivity(),
    LocalSensitivity(),
    PositionChunks(),
    DoubleBudget(),
    RepeatedNoise(),
    BlackBox(),
)
"""Those that look at what comes before the noise, and the search that looks for anything."""


@dataclass(frozen=True)
class Pipeline:
    """A flawed pipeline.

    Attributes:
        make: its target.
        repaired: the target of its twin.
        label: what it is called in figures.
        pair: the neighbours; None for those on which a replay that looks for some finds the most.
        value: what noise is added to, computed as the code says, but without rounding; None where that is not the flaw.
        claimed: how far its author takes that to move on the pair.
    """

    make: Maker
    repaired: Maker
    label: str
    pair: NeighbouringPair | None = None
    value: Callable[[Any], Fraction] | None = None
    claimed: Callable[[NeighbouringPair], Fraction] = lambda _: Fraction(1)


def _total(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


def _sum(records: Any) -> Fraction:
    return _total(Fraction(float(record)) for record in records)


def _mean(records: Any) -> Fraction:
    return _sum(records) / len(records)


def _mean_of_chunks(records: Any) -> Fraction:
    size = math.ceil(len(records) / CHUNKS)
    chunks = [records[start : start + size] for start in range(0, len(records), size)]
    return _total(map(_mean, chunks)) / len(chunks)


def _sum_of_products(rows: Any) -> Fraction:
    return _total(Fraction(float(x)) * Fraction(float(y)) for x, y in rows)


def _without_last(records: Sequence[Any]) -> NeighbouringPair:
    return NeighbouringPair(np.array(records), np.array(records[:-1]), Relation.ADD_REMOVE)


NARROW = targets.sums.DECLARED
AGES = [20.0, 35.0, 50.0, 65.0, 80.0]
ROWS = [[0.5, 0.25], [0.75, 1.0], [1.0, 1.0]]
GROUPS = [0, 0, 1, 0, 1, 2]
PIPELINES = (
    Pipeline(
        targets.naive_age_sum_int16,
        targets.exact_age_sum,
        "sum of ages in 16 bits",
        claimed=lambda _: Fraction(UPPER),
        value=_sum,
    ),
    Pipeline(
        targets.naive_bounded_sum_numpy,
        targets.exact_bounded_sum,
        "sum in numpy's order",
        claimed=lambda _: NARROW,
        value=_sum,
    ),
    Pipeline(
        targets.naive_bounded_sum_correctly_rounded,
        targets.exact_bounded_sum,
        "sum rounded once",
        claimed=lambda _: NARROW,
        value=_sum,
    ),
    Pipeline(
        targets.naive_bounded_mean,
        targets.exact_bounded_mean,
        "mean over a public n",
        claimed=lambda pair: NARROW / len(pair.first),
        value=_mean,
    ),
    Pipeline(
        targets.naive_local_sensitivity_mean,
        targets.exact_sum_over_count,
        "noise for the local sensitivity",
        _without_last(AGES),
    ),
    Pipeline(
        targets.naive_smooth_mean,
        targets.exact_smooth_mean,
        "smooth sensitivity, k < 200",
        _without_last([40.0] * 200),
    ),
    Pipeline(
        targets.naive_sample_aggregate,
        targets.exact_sample_aggregate,
        "more chunks asked for than people",
        _without_last([20.0, 80.0]),
        claimed=lambda _: Fraction(UPPER) / CHUNKS,
        value=_mean_of_chunks,
    ),
    Pipeline(
        targets.naive_sum_over_count,
        targets.exact_sum_over_count,
        "ε spent twice",
        _without_last([50.0] * 5),
    ),
    Pipeline(
        targets.naive_above_threshold_unscaled,
        targets.exact_above_threshold,
        "sparse vector, unscaled noise",
        targets.sparse_vectors.QUERIES["pairs"][0],
    ),
    Pipeline(
        targets.naive_query_session,
        targets.exact_query_session,
        "budget checked too early",
        targets.making.BIT,
    ),
    Pipeline(
        pipelines.mean_over_private_count,
        pipelines.mean_over_noisy_count,
        "divided by the private count",
        _without_last(ROWS),
    ),
    Pipeline(
        pipelines.counts_of_seen_groups,
        pipelines.counts_of_public_groups,
        "empty groups dropped",
        _without_last(GROUPS),
    ),
    Pipeline(
        pipelines.counts_with_one_draw,
        pipelines.counts_of_public_groups,
        "one draw for all groups",
        _without_last(GROUPS),
    ),
    Pipeline(
        pipelines.moments_without_intercept,
        pipelines.moments_with_intercept,
        "intercept forgotten",
        _without_last(ROWS),
    ),
    Pipeline(
        pipelines.products_not_clipped,
        pipelines.products_clipped,
        "clipped copy thrown away",
        _without_last([*ROWS, [1.0, 5.0]]),
        value=_sum_of_products,
    ),
)


@dataclass
class _Counted:
    """A release that counts its calls, and the outputs that they gave."""

    release: Release
    calls: int = 0
    outputs: int = 0

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> NDArray[Any] | list[Any]:
        self.calls += 1
        self.outputs += trials
        drawn: NDArray[Any] | list[Any] = self.release(input_, trials, rng)
        return drawn


def collect(settings: Settings) -> Collected:
    """Replay every pipeline on its pair and its twin on many, and let attacks look at outputs for the same flaw."""
    findings: list[Finding] = []
    rows, seconds = [], []
    for pipeline in PIPELINES:
        started = time.perf_counter()
        pair = pipeline.pair or _searched(pipeline, settings)
        named, runs = _replayed(pipeline, pair, settings)
        replayed = time.perf_counter()
        shown, outputs = _sampled(pipeline, pair, settings)
        seconds.append([replayed - started, time.perf_counter() - replayed])
        twin = replay(pipeline.repaired(EPSILON), [pair], seed=settings.seed, most_pairs=1)
        findings += [named, shown]
        rows.append(
            {
                "target": named.target,
                "label": pipeline.label,
                "runs": runs,
                "is_note": named.severity is Severity.ACCOUNTING,
                "outputs": outputs,
                "attack": shown.attack if shown.refutes else None,
                "twin": twin[0].target,
                "twin_verdict": str(twin[0].verdict),
                **_sensitivities(pipeline, pair, named),
            }
        )
    return Collected(findings, {"rows": rows}, {"seconds": seconds})


def _searched(pipeline: Pipeline, settings: Settings) -> NeighbouringPair:
    found = replay(pipeline.make(EPSILON), seed=settings.seed)[0]
    assert found.pair is not None  # noqa: S101 - it refutes the claim, which a test makes sure of
    return recovered_pair(found.pair)


def _replayed(pipeline: Pipeline, pair: NeighbouringPair, settings: Settings) -> tuple[Finding, int]:
    """What a replay on the pair finds, and how often it ran the pipeline."""
    target = pipeline.make(EPSILON)
    counted = _Counted(target.release)
    replay(replace(target, release=counted), [pair], seed=settings.seed, most_pairs=1)
    named = replay(target, [pair], seed=settings.seed, most_pairs=1, spec=_spec(pipeline.make))[0]
    return named, counted.calls


def _sampled(pipeline: Pipeline, pair: NeighbouringPair, settings: Settings) -> tuple[Finding, int]:
    """The finding of the audit that refutes the claim by the fewest outputs, and how many it drew.

    Each attack has the least of some numbers of trials that are enough, because what it learns from grows with them.
    Where none is enough it is the last finding, with the outputs that all audits drew together.
    """
    target = replace(pipeline.make(EPSILON), pairs=(pair,))
    applying = [attack for attack in ATTACKS if attack.applies_to(target)]
    budgets = TRIALS[: settings.budget(len(TRIALS), 1)]
    alpha = share_of_alpha(DEFAULT_ALPHA, len(PIPELINES) * len(applying) * len(budgets))
    drawn: list[tuple[int, Finding]] = []
    for attack in applying:
        for trials in budgets:
            counted = _Counted(target.release)
            audited = replace(target, release=counted)
            found = audit(audited, [attack], trials=trials, alpha=alpha, seed=settings.seed, spec=_spec(pipeline.make))
            shown = next((finding for finding in found if finding.refutes), found[0])
            drawn.append((counted.outputs, shown))
            if shown.refutes:
                break
    refuting = [entry for entry in drawn if entry[1].refutes]
    if not refuting:
        return drawn[-1][1], sum(outputs for outputs, _ in drawn)
    outputs, shown = min(refuting, key=lambda entry: entry[0])
    return shown, outputs


def _spec(make: Maker) -> str:
    return f"{make.__module__}:{make.__name__} --epsilon {EPSILON}"


def _sensitivities(pipeline: Pipeline, pair: NeighbouringPair, named: Finding) -> dict[str, str]:
    """How far the value under the noise moves: as it was replayed, as it is claimed, and without rounding."""
    if pipeline.value is None or named.witness is None:
        return {}
    return {
        "measured": named.witness.shift,
        "claimed": str(pipeline.claimed(pair)),
        "without_rounding": str(abs(pipeline.value(pair.first) - pipeline.value(pair.second))),
    }


def figures(data: dict[str, Any]) -> list[Figure]:
    """Outputs against runs; and sensitivities, in units of the claimed one."""
    rows = data["measured"]["rows"][::-1]
    places = range(len(rows))
    shown = [(row["outputs"], place) for place, row in zip(places, rows, strict=True) if row["attack"]]
    hidden = [(row["outputs"], place) for place, row in zip(places, rows, strict=True) if not row["attack"]]
    effort = panel(
        "what names the flaw",
        "runs, or outputs drawn",
        "",
        [
            marks("a replay: runs", Role.EXACT, [row["runs"] for row in rows], places),
            marks("outputs that an attack drew", Role.NAIVE, *zip(*shown, strict=True)),
            *([marks("outputs, not refuted", Role.OTHER, *zip(*hidden, strict=True))] if hidden else []),
        ],
        x_scale="log",
        y_names=[row["label"] for row in rows],
    )
    measured = [row for row in rows if "measured" in row]
    heights = range(len(measured))
    sensitivity = panel(
        "how far one record moves the value under the noise",
        "in units of what is claimed",
        "",
        [
            marks("as replayed", Role.NAIVE, [_ratio(row, "measured") for row in measured], heights),
            marks("without rounding", Role.EXACT, [_ratio(row, "without_rounding") for row in measured], heights),
            line("claimed", Role.CEILING, [1.0] * len(measured), heights),
        ],
        x_scale="log",
        y_names=[row["label"] for row in measured],
    )
    caption = "Left: one pair of neighbours for each pipeline, at ε = 1. Right: the pipelines whose noise is too small."
    return [figure("glue", caption, [effort, sensitivity])]


def _ratio(row: dict[str, str], name: str) -> float:
    return float(Fraction(row[name]) / Fraction(row["claimed"]))


def explain(data: dict[str, Any]) -> str:
    """Set runs beside outputs, and sensitivities beside what is claimed."""
    rows = data["measured"]["rows"]
    drawn = sorted(row["outputs"] for row in rows if row["attack"])
    measured = {row["target"]: row for row in rows if "measured" in row}
    verdicts = [row["twin_verdict"] for row in rows]
    named = [finding for finding in data["findings"] if finding["attack"] == "replay"]
    return PARAGRAPHS["glue"].format(
        pipelines=len(rows),
        named=sum(finding["verdict"] == Verdict.VIOLATED for finding in named),
        notes=sum(row["is_note"] for row in rows),
        fewest_runs=min(row["runs"] for row in rows),
        median_runs=sorted(row["runs"] for row in rows)[len(rows) // 2],
        most_runs=max(row["runs"] for row in rows),
        refuted=len(drawn),
        fewest=drawn[0],
        median=drawn[len(drawn) // 2],
        most=drawn[-1],
        numpy=_ratio(measured["naive_bounded_sum_numpy"], "measured"),
        numpy_real=_ratio(measured["naive_bounded_sum_numpy"], "without_rounding"),
        rounded=_ratio(measured["naive_bounded_sum_correctly_rounded"], "measured"),
        chunks=_ratio(measured["naive_sample_aggregate"], "measured"),
        chunks_real=_ratio(measured["naive_sample_aggregate"], "without_rounding"),
        accused=sum(verdict == Verdict.VIOLATED for verdict in verdicts),
        quiet=sum(verdict == Verdict.NOT_DETECTED for verdict in verdicts),
        unjudged=sum(verdict == Verdict.INCONCLUSIVE for verdict in verdicts),
    )


def explain_timings(data: dict[str, Any]) -> str:
    """Say how long both took."""
    seconds = data["timings"]["seconds"]
    return PARAGRAPHS["glue_timings"].format(
        replays=sum(entry[0] for entry in seconds),
        longest=max(entry[0] for entry in seconds),
        samples=sum(entry[1] for entry in seconds),
    )
