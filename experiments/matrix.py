"""Every attack against every target of the lab, and every law that can be found.

Figures and text show only what is in the record: its targets are the rows, its attacks the columns, and all numbers
come from it.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attacklab import attacks
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.findings import CERTIFICATE, EXACT_LAW, Finding, Laws, Verdict, decisive, read_record
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Cell, Figure, Matrix
from attacklab.reporting.proofs import PROOFS, RECORD
from experiments import targets
from experiments.common.curves import figure
from experiments.common.laws_of_targets import law_finding
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "Which attack refutes the claim of which implementation?"

EPSILON = 1.0
COMMITTED = Path(__file__).resolve().parents[1] / "reports" / PROOFS / RECORD
"""The record of the checker's verdicts on the certificates in the lab's own reports."""

NAMES = tuple(sorted(targets.__all__, key=lambda name: (name.startswith("exact"), name)))

EVERY_PAIR = "∀"
"""The text in the cell of a target that is proved for every pair of neighbours."""

COSTS = tomllib.loads((Path(__file__).parent / "data" / "costs.toml").read_text("utf-8"))
ONE_BY_ONE, COSTLY = COSTS["one_by_one"], COSTS["one_by_one"] + COSTS["costly"]
ENOUGH_TRIALS = 50_000

FEW_OUTCOMES = 16
FEW_RECORDS = 1 << 11
SMALLER: Mapping[str, attacks.Attack] = {
    "zero_rounding": attacks.ZeroRounding(outcomes=FEW_OUTCOMES),
    "truncated_addition": attacks.TruncatedAddition(most_outcomes=FEW_OUTCOMES),
    "missing_clip": attacks.MISSING_CLIP.given(size=FEW_RECORDS),
    "sum_sensitivity": attacks.SUM_SENSITIVITY.given(most_records=FEW_RECORDS),
}
ATTACKS = tuple(attack for attack in attacks.ALL_ATTACKS if attack.name != "alignment")
"""All attacks but `alignment`, which is about the code around the noise; see the experiment glue."""
SMALLER_ATTACKS = tuple(SMALLER.get(attack.name, attack) for attack in ATTACKS)


def collect(settings: Settings) -> Collected:
    """Audit every target with every attack, look for its law, and add the findings of `make prove`."""
    trials, few = settings.budget(ENOUGH_TRIALS, 1_000), settings.budget(2_500, 150)
    is_small = settings.share < 1  # spared what takes seconds, where a full one is spared what takes minutes
    spared = COSTLY if is_small else ONE_BY_ONE
    alpha = share_of_alpha(DEFAULT_ALPHA, len(NAMES))
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice")  # which a naive mean answers to nobody's records
        for name in NAMES:
            if is_small and name in COSTLY and name.startswith("exact"):
                continue
            most = few if name in spared else max(trials, COSTS["outputs"].get(name, 0))
            findings += findings_of(name, most, alpha, settings.seed)
            if not is_small or getattr(targets, name)(EPSILON).sampler is None:  # laws of samplers take minutes
                findings.append(law_finding(name, EPSILON))
    findings += [finding for finding in committed() if finding.target in NAMES]
    measured = {
        "epsilon": EPSILON,
        "targets": NAMES,
        "families": families(NAMES),
        "attacks": [attack.name for attack in ATTACKS],
        "trials": trials,
        "few_trials": few,
        "spared": [name for name in spared if name in NAMES],
    }
    return Collected(findings, measured)


def families(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the targets of each mechanism; a target that no mechanism names is a family of its own."""
    grouped: dict[str, list[str]] = {mechanism: [] for mechanism in targets.MECHANISMS}
    for name in names:
        named = [mechanism for mechanism in targets.MECHANISMS if mechanism in name]
        grouped.setdefault(max(named, key=len, default=name.partition("_")[2]), []).append(name)
    return {family: members for family, members in grouped.items() if members}


def committed() -> list[Finding]:
    """Return a finding for each certificate in the lab's own reports; none where none were written."""
    return list(read_record(COMMITTED)["findings"]) if COMMITTED.is_file() else []


def findings_of(name: str, trials: int, alpha: float, seed: int) -> list[Finding]:
    """Return the findings of all attacks on one target."""
    costly = name in COSTLY
    spec = None if costly else f"experiments.targets:{name} --epsilon {EPSILON}"
    target, chosen = getattr(targets, name)(EPSILON), SMALLER_ATTACKS if costly else ATTACKS
    return audit(target, chosen, trials=trials, alpha=alpha, seed=seed, spec=spec)


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw a matrix of the naive targets and one of the exact ones."""
    measured, findings = data["measured"], _by_cell(data)
    columns = [*measured["attacks"], EXACT_LAW, CERTIFICATE]
    caption = (
        "Red: the largest advantage seen or, by the exact law, the δ that it needs at the claimed ε. Blue: proved on a "
        "pair; ∀: for every pair of neighbours, by a certificate. Grey: the smallest advantage that every pair tried "
        "would have shown. Yellow: undecided, or the target raised. White: does not apply. Lilac, with a dot: not run."
    )

    def shown(row: str, column: str) -> Cell:
        has_none = column == CERTIFICATE and row.startswith("naive")
        return NOTHING_TO_RUN if has_none else cell(findings.get((row, column), []))

    drawn = []
    for variant in ("naive", "exact"):
        rows = [name for name in measured["targets"] if name.startswith(variant)]
        matrix = Matrix(
            title=f"{variant} targets, made for ε = {measured['epsilon']:g}",
            row_names=rows,
            column_names=[column.replace("_", " ").replace(CERTIFICATE, "proved") for column in columns],
            cells=[[shown(row, column) for column in columns] for row in rows],
        )
        drawn.append(figure(f"matrix_{variant}", caption, [matrix]))
    return drawn


def _by_cell(data: dict[str, Any]) -> dict[tuple[str, str], list[Finding]]:
    cells: dict[tuple[str, str], list[Finding]] = {}
    for finding in map(Finding.from_json, data["findings"]):
        cells.setdefault((finding.target, finding.attack), []).append(finding)
    return cells


NOTHING_TO_RUN = Cell(verdict=Verdict.NOT_APPLICABLE)
NOT_RUN = Cell(verdict=None, text="·")


def cell(findings: Sequence[Finding]) -> Cell:
    """Return a cell with the gravest verdict of an attack's findings on one target, and the number to show with it."""
    if not findings:
        return NOT_RUN
    worst = decisive(findings)
    verdict = worst[0].verdict if worst else Verdict.NOT_APPLICABLE
    if verdict is Verdict.VIOLATED:
        return Cell(verdict=verdict, text=_violation(worst))
    if verdict is Verdict.NOT_DETECTED:
        powers = [one.samples.smallest_detectable or 0.0 for one in worst if one.samples]
        return Cell(verdict=verdict, text=_short(max(powers, default=0.0)))
    is_for_all = verdict is Verdict.PROVED and worst[0].attack == CERTIFICATE
    return Cell(verdict=verdict, text=EVERY_PAIR if is_for_all else "")


def _violation(findings: Sequence[Finding]) -> str:
    """Return the largest δ by exact laws (empty if the claim is on divergences), or else the largest advantage."""
    if findings[0].attack == EXACT_LAW:
        delta = max(finding.shown.delta_lower or 0.0 for finding in findings)
        return _short(delta) if delta else ""
    advantages = [finding.shown.advantage for finding in findings if finding.shown.advantage is not None]
    return _short(max(abs(advantage.estimate) for advantage in advantages))


def _short(number: float) -> str:
    return f"{number:.2f}" if number >= 0.01 else f"{number:.0e}".replace("e-0", "e-")


def refuting(data: dict[str, Any]) -> dict[str, set[str]]:
    """Return, for each target, the names of the attacks that refute it, and of the exact law if that does."""
    by: dict[str, set[str]] = {name: set() for name in data["measured"]["targets"]}
    for (target, column), findings in _by_cell(data).items():
        if any(finding.verdict is Verdict.VIOLATED for finding in findings):
            by[target].add(column)
    return by


def explain(data: dict[str, Any]) -> str:
    """Say which rows are red, which are not and why."""
    measured, by, cells = data["measured"], refuting(data), _by_cell(data)
    naive, exact = ([name for name in measured["targets"] if name.startswith(twin)] for twin in ("naive", "exact"))
    laws = {target: findings[0] for (target, column), findings in cells.items() if column == EXACT_LAW}
    certificates = [cells.get((name, CERTIFICATE), ()) for name in exact]
    return PARAGRAPHS["matrix"].format(
        measured=measured,
        attacks=len(measured["attacks"]),
        spared=len(measured["spared"]),
        certified=sum(any(finding.verdict is Verdict.PROVED for finding in findings) for findings in certificates),
        **_of_naive(naive, by, laws, measured["attacks"]),
        **_of_exact(exact, by, [laws[name] for name in exact if name in laws]),
    )


def _of_naive(names: Sequence[str], by: dict[str, set[str]], laws: Any, attacks: Sequence[str]) -> dict[str, Any]:
    """Return how many naive mechanisms samples refute, in all and by attack, which only a law refutes, and the rest."""
    refuted = {attack: sum(attack in by[name] for name in names) for attack in attacks}
    return {
        "naive": len(names),
        "by_samples": sum(bool(by[name] - {EXACT_LAW}) for name in names),
        "by_attack": "\n".join(f"| {attack} | {count} |" for attack, count in refuted.items() if count),
        "law_only": _listed([f"{name} ({needs(laws[name])})" for name in names if by[name] == {EXACT_LAW}]),
        "unseen": _listed([name for name in names if not by[name]]),
    }


def _of_exact(names: Sequence[str], by: dict[str, set[str]], laws: Sequence[Finding]) -> dict[str, Any]:
    """Return which exact mechanisms are refuted, how many are not, and how many laws exist and prove the claim."""
    proved = [law.evidence for law in laws if law.verdict is Verdict.PROVED]
    return {
        "exact": len(names),
        "accused": _listed([name for name in names if by[name] - {EXACT_LAW}]),
        "accused_by_law": _listed([name for name in names if by[name] == {EXACT_LAW}]),
        "kept": sum(not by[name] for name in names),
        "sought": len(laws),
        "proved": len(proved),
        "with_slack": sum(isinstance(evidence, Laws) and evidence.slack for evidence in proved),
    }


def needs(finding: Finding) -> str:
    """Return as text the δ at the claimed ε that a refuting law needs, or its advantage for a claim on divergences."""
    shown = finding.shown
    if shown.delta_lower is not None or shown.advantage is None:
        return f"δ = {shown.delta_lower:.2g}"
    return f"δ(0) = {shown.advantage.lower:.4g}, where {shown.ceiling:.4g} is allowed"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
