"""Flaws of the code between the mechanisms: what outputs show of them, and what an alignment shows.

Sensitivity: Casacuberta and others 2022, 'Widespread Underestimation of Sensitivity in Differentially Private
Libraries'. Alignments: Zhang and Kifer 2017, 'LightDP: Towards Automating Differential Privacy Proofs'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from attacklab.attacks import SUM_SENSITIVITY, BlackBox
from attacklab.attacks.base import Attack
from attacklab.auditing.alignment import alignment
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.findings import Alignment, Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Release, Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from experiments import targets as t
from experiments.common import pipelines as p
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker
from experiments.targets.sums import LOWER, UPPER

QUESTION = "How many outputs show a flaw between the mechanisms, and how many runs does an alignment take?"

EPSILON, TRIALS = 1.0, (2_000, 20_000, 200_000)
ATTACKS: tuple[Attack, ...] = (SUM_SENSITIVITY, BlackBox())  # the bet on sums, and the search for anything


class Pipeline(NamedTuple):
    """A flawed pipeline, its repaired twin, its label in figures, and a pair of neighbours."""

    make: Maker
    repaired: Maker
    label: str
    pair: NeighbouringPair


def _without_last(records: Sequence[Any]) -> NeighbouringPair:
    return NeighbouringPair(np.array(records), np.array(records[:-1]), Relation.ADD_REMOVE)


def _narrow(raised: int) -> NeighbouringPair:
    """Return narrow records, the first `raised` at the upper bound; the neighbour has one fewer there."""
    first, second = (np.where(np.arange(1024) < count, UPPER, LOWER) for count in (raised, raised - 1))
    return NeighbouringPair(first, second, Relation.SUBSTITUTE)


ROWS = [[0.5, 0.25], [0.75, 1.0], [1.0, 1.0]]
MANY, AGES = _without_last([100.0] * 328), _without_last([20.0, 35.0, 50.0, 65.0, 80.0])
SAME, FIVE, TWO = _without_last([40.0] * 200), _without_last([50.0] * 5), _without_last([20.0, 80.0])
GROUPS, MOMENTS, PRODUCTS = _without_last([0, 0, 1, 0, 1, 2]), _without_last(ROWS), _without_last([*ROWS, [1.0, 5.0]])
QUERIES, BIT = t.sparse_vectors.QUERIES["pairs"][0], t.making.BIT
STEPS, HALVES, PUBLIC = p.steps_above_lower_bound, p.sum_over_count_by_halves, p.counts_of_public_groups
PIPELINES = (
    Pipeline(t.naive_age_sum_int16, p.ages_in_64_bits, "sum of ages in 16 bits", MANY),
    Pipeline(t.naive_bounded_sum_numpy, STEPS, "sum in numpy's order", _narrow(41)),
    Pipeline(t.naive_bounded_sum_correctly_rounded, STEPS, "sum rounded once", _narrow(33)),
    Pipeline(t.naive_bounded_mean, STEPS, "mean over a public n", _narrow(41)),
    Pipeline(t.naive_local_sensitivity_mean, HALVES, "noise for the local sensitivity", AGES),
    Pipeline(t.naive_smooth_mean, p.smooth_mean_over_all_distances, "smooth sensitivity, k < 200", SAME),
    Pipeline(t.naive_sample_aggregate, p.chunks_by_age, "more chunks asked for than people", TWO),
    Pipeline(t.naive_sum_over_count, HALVES, "ε spent twice", FIVE),
    Pipeline(t.naive_above_threshold_unscaled, t.naive_above_threshold, "sparse vector, unscaled noise", QUERIES),
    Pipeline(t.naive_query_session, p.session_within_budget, "budget checked too early", BIT),
    Pipeline(p.mean_over_private_count, p.mean_over_noisy_count, "divided by the private count", MOMENTS),
    Pipeline(p.counts_of_seen_groups, PUBLIC, "empty groups dropped", GROUPS),
    Pipeline(p.counts_with_one_draw, PUBLIC, "one draw for all groups", GROUPS),
    Pipeline(p.moments_without_intercept, p.moments_with_intercept, "intercept forgotten", MOMENTS),
    Pipeline(p.products_not_clipped, p.products_clipped, "clipped copy thrown away", PRODUCTS),
)
ALPHA = share_of_alpha(DEFAULT_ALPHA, len(PIPELINES) * (len(ATTACKS) * len(TRIALS) + 2))


@dataclass
class _Counted:
    """A release that counts its outputs."""

    release: Release
    outputs: int = 0

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Any:
        self.outputs += trials
        return self.release(input_, trials, rng)


def collect(settings: Settings) -> Collected:
    """Align every pipeline and its twin on one pair, and run attacks on outputs to find the same flaw."""
    findings: list[Finding] = []
    rows = []
    budgets = TRIALS[: settings.budget(len(TRIALS), 1)]
    for pipeline in PIPELINES[:: settings.budget(1, 2)]:
        flawed, runs = aligned(pipeline.make, pipeline.pair, budgets[-1], settings.seed)
        twin, _ = aligned(pipeline.repaired, pipeline.pair, budgets[-1], settings.seed)
        shown, outputs = _sampled(pipeline, budgets, settings.seed)
        findings += [flawed, twin, shown]
        rows.append(
            {"label": pipeline.label, "runs": runs, "named": flawed.refutes, "cost": _cost(flawed)}
            | {"outputs": outputs, "attack": shown.attack if shown.refutes else None}
            | {"twin": str(twin.verdict), "twin_cost": _cost(twin)}
        )
    return Collected(findings, {"rows": rows})


def aligned(make: Maker, pair: NeighbouringPair, trials: int, seed: int) -> tuple[Finding, int]:
    """Return the finding of `ideal_noise=True` on a pair, limited by trials, not seconds; and the outputs it drew."""
    counted = _Counted((target := make(EPSILON)).release)
    on_pair = Target.dataset(counted, claim=target.claim, relation=pair.relation, name=target.name, pairs=[pair])

    return alignment(on_pair, audit, trials=trials, seed=seed, alpha=ALPHA), counted.outputs


def _cost(finding: Finding) -> float | None:
    """Return the ε that the shifts cost; None if that is unknown, or if only samples show it."""
    if finding.refutes:
        return finding.shown.epsilon_lower if finding.samples is None else None
    loss = finding.evidence.loss if isinstance(finding.evidence, Alignment) else ""
    return float(loss.removeprefix("ε = ")) if loss else None


def _sampled(pipeline: Pipeline, budgets: Sequence[int], seed: int) -> tuple[Finding, int]:
    """Return the refuting finding of fewest outputs, and these; or the last finding, and the outputs of all attacks."""
    target = replace(pipeline.make(EPSILON), pairs=(pipeline.pair,))
    drawn: list[tuple[Finding, int]] = []
    for attack in (attack for attack in ATTACKS if attack.applies_to(target)):
        for trials in budgets:
            counted = _Counted(target.release)
            found = audit(replace(target, release=counted), [attack], trials=trials, alpha=ALPHA, seed=seed)
            drawn.append((next((one for one in found if one.refutes), found[0]), counted.outputs))
            if drawn[-1][0].refutes:
                break
    refuting = [entry for entry in drawn if entry[0].refutes]
    return min(refuting, key=lambda entry: entry[1]) if refuting else (drawn[-1][0], sum(count for _, count in drawn))


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the outputs of attacks beside the runs of alignments, and what the shifts cost, in units of the claim."""
    rows = data["measured"]["rows"][::-1]
    seen = [
        _marks(rows, "samples", Role.NAIVE, lambda row: row["attack"] and row["outputs"]),
        _marks(rows, "alignment", Role.EXACT, lambda row: row["named"] and row["runs"]),
        _marks(rows, "alignment, not refuted", Role.OTHER, lambda row: not row["named"] and row["runs"]),
    ]
    cost = [
        _marks(rows, "flawed", Role.NAIVE, lambda row: row["cost"]),
        _marks(rows, "repaired", Role.EXACT, lambda row: row["twin_cost"]),
        line("claimed", Role.CEILING, [1.0] * len(rows), range(len(rows))),
    ]
    scales: Any = {"x_scale": "log", "y_names": [row["label"] for row in rows]}
    effort = panel("what refutes the claim", "outputs drawn", "", seen, **scales)
    costs = panel("what the shifts cost", "in units of the claimed ε", "", cost, **scales)
    caption = "One pair of neighbours for each pipeline, at ε = 1. Right: no mark where no shifts serve all outcomes."
    return [figure("glue", caption, [effort, costs])]


def _marks(rows: Sequence[Any], label: str, role: Role, value: Callable[[Any], float | None]) -> Series:
    """Return a mark for each row that has a value, at the row's height."""
    shown = [(x, height) for height, row in enumerate(rows) if (x := value(row))]
    return marks(label, role, [x for x, _ in shown], [height for _, height in shown])


def _listed(labels: Iterable[str]) -> str:
    return ", ".join(labels) or "none"


def explain(data: dict[str, Any]) -> str:
    """Compare runs with outputs, and what the shifts cost for flawed and for repaired pipelines."""
    rows = data["measured"]["rows"]
    twins = [row["twin_cost"] for row in rows]
    drawn = sorted(row["outputs"] for row in rows if row["attack"])
    runs = sorted(row["runs"] for row in rows if row["named"])
    return PARAGRAPHS["glue"].format(
        pipelines=len(rows),
        drawn=drawn,
        median=drawn[len(drawn) // 2],
        refuted=len(drawn),
        runs=runs,
        median_runs=runs[len(runs) // 2],
        most=max(drawn),
        most_runs=max(runs),
        named=len(runs),
        costs=(costs := sorted(row["cost"] for row in rows if row["cost"])),
        certain=len(costs),
        most_cost=max(costs),
        missed=_listed(row["label"] for row in rows if not row["named"]),
        accused=sum(row["twin"] == Verdict.VIOLATED for row in rows),
        aligned=len(twins) - twins.count(None),
        twins_most=max(filter(None, twins), default=0.0),
        open=_listed(row["label"] for row in rows if row["twin_cost"] is None),
    )
