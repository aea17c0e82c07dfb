"""Every attack against every target of the lab, every law that can be found, and counted work where it is promised.

What is drawn and said is what the record holds: its targets are the rows, its attacks the columns, and the numbers are
its own.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.auditing.attacks import (
    ALL_ATTACKS,
    Attack,
    LostWeights,
    MissingClip,
    SumSensitivity,
    TruncatedAddition,
    ZeroRounding,
)
from attacklab.auditing.attacks.work import Work
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.laws import Decision, LawError, Limits, NeverEnds, advantage, certify, one_uniform, step_law
from attacklab.laws.enclosures import float_above, float_below
from attacklab.laws.proof import default_pair, prove
from attacklab.model.bisection import least
from attacklab.model.findings import (
    CERTIFICATE,
    EXACT_LAW,
    Estimate,
    Finding,
    Scope,
    Verdict,
    decisive,
    described_pair,
    read_record,
)
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Cell, Figure, Matrix
from attacklab.reporting.proofs import PROOFS, RECORD
from experiments import targets
from experiments.common.curves import figure
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "Which attack refutes the claim of which implementation?"

EPSILON = 1.0
COMMITTED = Path(__file__).resolve().parents[1] / "reports" / PROOFS / RECORD
"""What the checker said of the certificates in the lab's own reports."""

LIMITS = Limits(unresolved=Fraction(1, 1 << 62), runs=1 << 11, tapes=1 << 10)
"""Laws that need more are not sought here."""

RUNS_OF_TERMS = 1 << 8
"""Noise that is drawn by inversion needs far more; the certificates of terms speak of all pairs."""

NAMES = tuple(sorted(targets.__all__, key=lambda name: (name.startswith("exact"), name)))

WORK = Work(NeighbouringPair(1, 0, None))
"""An attack that also sees how many random bits an output took; on integers, which `answers` would make doubles."""
WORK_OF_SELECTION = Work(NeighbouringPair.utilities([0.0] * 5, [0.0, -1.0, -1.0, -1.0, -1.0], sensitivity=1.0))
COUNTED = (
    "naive_two_sided_geometric",
    "exact_fixed_work_gaussian",
    "exact_two_sided_geometric",
    "exact_exponential_fixed_work",
)
"""The targets that promise the same work for every output, and a naive twin of theirs."""

HEADINGS = {CERTIFICATE: "proved"}
"""What columns are called where their name says too little."""

EVERY_PAIR = "∀"
"""What stands on the cell of a target that is proved for every pair of neighbours."""

ONE_BY_ONE = (
    "naive_exponential_noisy_max_zcdp",
    "exact_exponential_base2",
    "exact_exponential_fixed_work",
    "exact_exponential_noisy_max",
    "exact_fixed_work_gaussian",
    "exact_two_sided_geometric",
    "exact_laplace_noisy_max",
    "exact_laplace_on_grid",
    "exact_randomized_response",
    "exact_snapping",
)
"""Targets that draw one output at a time."""
COSTLY = (
    *ONE_BY_ONE,
    "naive_exponential_noisy_max",
    "naive_gumbel_noisy_max",
    "naive_laplace_noisy_max",
    "exact_histogram",
    "exact_median_smooth",
    "exact_sample_aggregate",
    "exact_smooth_mean",
)
"""These, and targets that draw once an outcome, or after much work on the records."""

ENOUGH_TRIALS = 50_000
MANY_OUTPUTS: Mapping[str, int] = {
    "naive_above_threshold_endless": 10_000,
    "naive_above_threshold_unscaled": 10_000,
    "naive_local_sensitivity_mean": ENOUGH_TRIALS,
    "naive_numeric_sparse": 10_000,
    "naive_numeric_sparse_reused": 10_000,
    "naive_partition_selection_sorted": ENOUGH_TRIALS,
    "naive_poisson_count": 10_000,
    "naive_quantile": ENOUGH_TRIALS,
    "naive_query_session": 10_000,
    "naive_sampled_count": 10_000,
    "naive_shuffled_response": 10_000,
}
"""Targets whose flaw shows only in thousands of outputs, and how many trials quick runs give them."""

SLOWEST = ("exact_exponential_base2", "exact_exponential_noisy_max", "exact_laplace_noisy_max", "exact_laplace_on_grid")
"""Targets that quick runs leave out."""

VERDICTS = {
    Decision.PROVED: Verdict.PROVED,
    Decision.REFUTED: Verdict.VIOLATED,
    Decision.UNDECIDED: Verdict.INCONCLUSIVE,
}

ONE_UNIFORM = "naive_randomized_response"
"""The target besides selections that compares one uniform number with thresholds."""

FEW_OUTCOMES = 16
FEW_RECORDS = 1 << 11
SMALLER: Mapping[str, Attack] = {
    attack.name: attack
    for attack in (
        ZeroRounding(outcomes=FEW_OUTCOMES),
        LostWeights(most_outcomes=FEW_OUTCOMES),
        TruncatedAddition(most_outcomes=FEW_OUTCOMES),
        MissingClip(size=FEW_RECORDS),
        SumSensitivity(most_records=FEW_RECORDS),
    )
}
OF_OUTPUTS = tuple(attack for attack in ALL_ATTACKS if attack.name != WORK.name)
"""The attacks on outputs alone."""
SMALLER_ATTACKS = tuple(SMALLER.get(attack.name, attack) for attack in OF_OUTPUTS)

FARTHEST = 1 << 12
"""At the utility −FARTHEST an outcome's weight is lost beside that of 0 in every format."""


def collect(settings: Settings) -> Collected:
    """Audit every target with every attack, look for its law, and take over what `make prove` found."""
    trials, few = settings.budget(ENOUGH_TRIALS, 1_000), settings.budget(2_500, 150)
    # Full runs are spared what takes minutes, quick ones also what takes seconds.
    spared = COSTLY if settings.share < 1 else ONE_BY_ONE
    alpha = share_of_alpha(DEFAULT_ALPHA, len(NAMES) + len(COUNTED))
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice")  # which a naive mean answers to nobody's records
        for name in NAMES:
            if settings.share < 1 and name in SLOWEST:
                continue
            budget = few if name in spared else max(trials, MANY_OUTPUTS.get(name, 0))
            findings += findings_of(name, budget, alpha, settings.seed)
            if not (settings.share < 1 and name.startswith("exact")):  # whose laws take a process of their own each
                findings.append(law_finding(name))
    findings += [finding for finding in committed() if finding.target in NAMES]
    measured = {
        "epsilon": EPSILON,
        "targets": NAMES,
        "attacks": [attack.name for attack in OF_OUTPUTS],
        "counted": [name for name in COUNTED if name in NAMES],
        "trials": trials,
        "more_trials": {name: more for name, more in MANY_OUTPUTS.items() if name in NAMES and more > trials},
        "few_trials": few,
        "spared": [name for name in spared if name in NAMES],
        "costly": [name for name in COSTLY if name in NAMES],
        "outcomes": FEW_OUTCOMES + 1,
        "records": FEW_RECORDS,
        "runs": LIMITS.runs,
    }
    return Collected(findings, measured)


def committed() -> list[Finding]:
    """Return a finding for each certificate in the lab's own reports; none where none were written."""
    return list(read_record(COMMITTED)["findings"]) if COMMITTED.is_file() else []


def findings_of(name: str, trials: int, alpha: float, seed: int) -> list[Finding]:
    """What attacks and counted work say of one target."""
    target = getattr(targets, name)(EPSILON)
    costly = name in COSTLY
    attacks = SMALLER_ATTACKS if costly else OF_OUTPUTS
    findings = audit(target, attacks, trials=trials, alpha=alpha, seed=seed, spec=None if costly else _spec(name))
    if name in COUNTED:
        work = WORK_OF_SELECTION if target.kind is Kind.SELECTION else WORK
        findings += audit(target.covering_work(), [work], trials=trials, alpha=alpha, seed=seed)
    return findings


def _spec(name: str) -> str:
    return f"experiments.targets:{name} --epsilon {EPSILON}"


def law_finding(name: str) -> Finding:
    """What the exact law says of one target."""
    target = getattr(targets, name)(EPSILON)
    if target.sampler is not None:
        try:
            return prove(target, _pair(target), limits=_limits(target), spec=_spec(name))
        except NeverEnds:
            return _finding(target, Verdict.INCONCLUSIVE, f"no outcome in {LIMITS.runs} runs")
    if target.kind is Kind.SELECTION or target.name == ONE_UNIFORM:
        with contextlib.suppress(LawError):
            return _one_uniform_finding(target)
    return _finding(
        target, Verdict.NOT_APPLICABLE, "it draws from no bits that it is given, and compares no one uniform number"
    )


def _limits(target: Target) -> Limits:
    is_cut = target.certificate is not None and target.kind is not Kind.SELECTION
    return replace(LIMITS, runs=RUNS_OF_TERMS) if is_cut else LIMITS


def _pair(target: Target) -> NeighbouringPair:
    """The pair on which laws are compared: the first that a dataset target declares or its domain has."""
    if target.kind is Kind.DATASET and target.domain is not None and not target.pairs:
        return next(target.domain.pairs(target.relation))
    return default_pair(target)


def _one_uniform_finding(target: Target) -> Finding:
    """The law of a naive mechanism that compares one uniform number with thresholds."""
    if target.kind is Kind.SELECTION:
        depth = last_drawn(target)
        pair = NeighbouringPair.utilities([0.0, -depth], [0.0, -depth - 1.0], sensitivity=target.sensitivity)
    else:
        pair = _pair(target)
    first, second = (step_law(one_uniform(target.release, input_)) for input_ in (pair.first, pair.second))
    certificate = certify(target.claim.nominal.epsilon, Fraction(target.claim.nominal.delta), first, second)
    distance = advantage(first, second)
    most = certificate.epsilon_bounds[1]
    needed = "no finite ε" if math.isinf(most) else f"ε = {most:.17g}"
    return _finding(
        target,
        VERDICTS[certificate.decision],
        f"closed laws of {len(first)} and {len(second)} outcomes: they need {needed}",
        pair=described_pair(pair),
        advantage=Estimate(float(distance.lower), float_below(distance.lower), float_above(distance.upper)),
        epsilon_lower=certificate.epsilon_bounds[0],
        delta_lower=float_below(certificate.delta_bounds.lower),
        laws=certificate.digests,
    )


def last_drawn(target: Target) -> int:
    """The largest whole number by which an outcome may be worse than another and still be drawn.

    Raises:
        LawError: the target does not compare one uniform number with thresholds.
    """

    def is_lost(worse: int) -> bool:
        return len(step_law(one_uniform(target.release, np.array([0.0, -worse])))) < 2

    return least(is_lost, 0, FARTHEST) - 1


def _finding(target: Target, verdict: Verdict, reason: str, **rest: Any) -> Finding:
    return Finding(
        target=target.name,
        target_version=target.version,
        attack=EXACT_LAW,
        verdict=verdict,
        reason=reason,
        claim=target.claim,
        relation=target.relation,
        scope=Scope(),
        ceiling=target.claim.ceiling,
        **rest,
    )


def figures(data: dict[str, Any]) -> list[Figure]:
    """A matrix of the naive targets and one of the exact ones."""
    measured, findings = data["measured"], _by_cell(data)
    columns = [*measured["attacks"], WORK.name, EXACT_LAW, CERTIFICATE]
    caption = (
        "Red: the largest advantage seen or, by the exact law, the δ that it needs at the claimed ε. Blue: proved on a "
        "pair; light blue: with 2^−58 added to δ; ∀: for every pair of neighbours, by a certificate. Grey: the "
        "smallest advantage that every pair tried would have shown. Yellow: undecided, or the target raised. White: "
        "does not apply. Lilac, with a dot: not run. Work: random bits drawn, counted beside the output."
    )
    drawn = []
    for variant in ("naive", "exact"):
        rows = [name for name in measured["targets"] if name.startswith(variant)]
        cells = [
            [
                NOTHING_TO_RUN if cannot_apply(row, column, measured) else cell(findings.get((row, column), []))
                for column in columns
            ]
            for row in rows
        ]
        matrix = Matrix(
            title=f"{variant} targets, made for ε = {measured['epsilon']:g}",
            row_names=rows,
            column_names=[HEADINGS.get(column, column.replace("_", " ")) for column in columns],
            cells=cells,
        )
        drawn.append(figure(f"matrix_{variant}", caption, [matrix]))
    return drawn


def cannot_apply(name: str, column: str, measured: Mapping[str, Any]) -> bool:
    """Whether there is nothing to run: a naive claim has no proof, and work is promised by few."""
    return (
        name.startswith("naive") if column == CERTIFICATE else column == WORK.name and name not in measured["counted"]
    )


def _by_cell(data: dict[str, Any]) -> dict[tuple[str, str], list[Finding]]:
    cells: dict[tuple[str, str], list[Finding]] = {}
    for finding in map(Finding.from_json, data["findings"]):
        cells.setdefault((finding.target, finding.attack), []).append(finding)
    return cells


NOTHING_TO_RUN = Cell(verdict=Verdict.NOT_APPLICABLE)
NOT_RUN = Cell(verdict=None, text="·")


def cell(findings: Sequence[Finding]) -> Cell:
    """The gravest verdict of an attack's findings on one target, and the number that belongs to it."""
    if not findings:
        return NOT_RUN
    worst = decisive(findings)
    verdict = worst[0].verdict if worst else Verdict.NOT_APPLICABLE
    if verdict is Verdict.VIOLATED and worst[0].attack == EXACT_LAW:
        delta = max(finding.delta_lower or 0.0 for finding in worst)
        return Cell(verdict=verdict, text=_short(delta) if delta else "")  # a claim on divergences needs no δ
    if verdict is Verdict.VIOLATED:
        advantages = (abs(finding.advantage.estimate) for finding in worst if finding.advantage is not None)
        return Cell(verdict=verdict, text=_short(max(advantages)))
    if verdict is Verdict.NOT_DETECTED:
        return Cell(verdict=verdict, text=_short(max(finding.smallest_detectable or 0.0 for finding in worst)))
    is_for_all = verdict is Verdict.PROVED and worst[0].attack == CERTIFICATE
    return Cell(verdict=verdict, text=EVERY_PAIR if is_for_all else "")


def _short(number: float) -> str:
    return f"{number:.2f}" if number >= 0.01 else f"{number:.0e}".replace("e-0", "e-")


def refuting(data: dict[str, Any]) -> dict[str, set[str]]:
    """The names of what refutes each target: attacks, or the exact law."""
    by: dict[str, set[str]] = {name: set() for name in data["measured"]["targets"]}
    for (target, column), findings in _by_cell(data).items():
        if any(finding.verdict is Verdict.VIOLATED for finding in findings):
            by[target].add(column)
    return by


def explain(data: dict[str, Any]) -> str:
    """Say which rows are red, which are not and why."""
    measured, by, cells = data["measured"], refuting(data), _by_cell(data)
    naive, exact = (
        [name for name in measured["targets"] if name.startswith(variant)] for variant in ("naive", "exact")
    )
    laws = {target: findings[0].verdict for (target, column), findings in cells.items() if column == EXACT_LAW}
    certified = [
        name for name in exact if Verdict.PROVED in [finding.verdict for finding in cells.get((name, CERTIFICATE), ())]
    ]
    refuted = {attack: sum(attack in by[name] for name in naive) for attack in measured["attacks"]}
    uncertified = [name for name in exact if name not in certified]
    return PARAGRAPHS["matrix"].format(
        measured=measured,
        attacks=len(measured["attacks"]),
        naive=len(naive),
        exact=len(exact),
        by_samples=sum(bool(by[name] - {EXACT_LAW, WORK.name}) for name in naive),
        by_attack=_listed([f"{attack} {count}" for attack, count in refuted.items() if count]),
        law_only=_listed([f"{name} (δ = {_law_delta(data, name):.2g})" for name in naive if by[name] == {EXACT_LAW}]),
        work_only=_listed([name for name in naive if by[name] == {WORK.name}]),
        unseen=_listed([name for name in naive if not by[name]]),
        counted=_listed(measured["counted"]),
        accused=_with_verb([name for name in exact if by[name]]),
        sought=sum(name in laws for name in exact),
        proved=sum(laws.get(name) is Verdict.PROVED for name in exact),
        with_slack=sum(laws.get(name) is Verdict.PROVED_WITH_SLACK for name in exact),
        undecided=_listed([name for name in exact if laws.get(name) is Verdict.INCONCLUSIVE]),
        certified=len(certified),
        uncertified=f"; the others are {_listed(uncertified)}" if uncertified else "",
        more="".join(f", {trials} for {name}" for name, trials in measured["more_trials"].items()),
        costly=_listed(measured["costly"]),
        spared=_listed(measured["spared"]),
    )


def _law_delta(data: dict[str, Any], name: str) -> float:
    (finding,) = _by_cell(data)[name, EXACT_LAW]
    return finding.delta_lower or 0.0


def _with_verb(names: Sequence[str]) -> str:
    return _listed(names) + (" is" if len(names) < 2 else " are")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
