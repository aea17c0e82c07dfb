"""Every attack against every target of the lab, every law that can be found, and counted work where it is promised."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.attacks import ATTACKS, Attack, LostWeights, MissingClip, SumSensitivity, ZeroRounding
from attacklab.attacks.work import Work
from attacklab.bisection import least
from attacklab.findings import CERTIFICATE, EXACT_LAW, Estimate, Finding, Scope, Verdict, decisive, described_pair
from attacklab.laws import Decision, LawError, Limits, NeverEnds, advantage, certify, one_uniform, step_law
from attacklab.laws.enclosures import float_above, float_below
from attacklab.neighbours import NeighbouringPair
from attacklab.observed_work import with_bits_drawn, with_bits_taken
from attacklab.proof import default_pair, prove
from attacklab.referee import DEFAULT_ALPHA, audit
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Cell, Figure, Matrix
from attacklab.statistics.inference import share_of_alpha
from attacklab.targets import Kind, Target
from experiments import targets
from experiments.certificates.committed import committed

QUESTION = "Which attack refutes the claim of which implementation?"

EPSILON = 1.0
LIMITS = Limits(unresolved=Fraction(1, 1 << 62), runs=1 << 11, tapes=1 << 10)
"""Laws that need more are not sought here."""

NAMES = tuple(
    sorted(
        set(targets.__all__) - {*targets.OTHER_CLAIMS, *targets.TOO_RARE},
        key=lambda name: (name.startswith("exact"), name),
    )
)

WORK = Work(NeighbouringPair(1, 0, None))
"""An attack that also sees how many random bits an output took; on integers, which `answers` would make doubles."""
WORK_OF_SELECTION = Work(NeighbouringPair.utilities([0.0] * 5, [0.0, -1.0, -1.0, -1.0, -1.0], sensitivity=1.0))
COUNTED: Mapping[str, Callable[[Target], Target]] = {
    "naive_two_sided_geometric": with_bits_drawn,
    "exact_fixed_work_gaussian": with_bits_taken,
    "exact_two_sided_geometric": with_bits_taken,
    "exact_exponential_fixed_work": with_bits_taken,
}
"""The targets that promise the same work for every output, a naive twin of theirs, and how their work is counted."""

COLUMNS = (*(attack.name for attack in ATTACKS), WORK.name, EXACT_LAW, CERTIFICATE)
HEADINGS = {CERTIFICATE: "proved"}
"""What columns are called where their name says too little."""

EVERY_PAIR = "∀"
"""What stands on the cell of a target that is proved for every pair of neighbours."""

ONE_BY_ONE = (
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
    "exact_sample_aggregate",
    "exact_smooth_mean",
)
"""These, and targets that draw once an outcome, or after much work on the records."""

LEARNED = (
    "naive_above_threshold_endless",
    "naive_above_threshold_unscaled",
    "naive_numeric_sparse",
    "naive_numeric_sparse_reused",
    "naive_partition_selection_sorted",
    "naive_poisson_count",
    "naive_quantile",
    "naive_query_session",
    "naive_sampled_count",
    "naive_shuffled_response",
)
"""Targets whose flaw shows in events alone that are learned from thousands of outputs, in quick runs too."""
LEARNED_TRIALS = 50_000

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
        MissingClip(size=FEW_RECORDS),
        SumSensitivity(most_records=FEW_RECORDS),
    )
}
SMALLER_ATTACKS = tuple(SMALLER.get(attack.name, attack) for attack in ATTACKS)

FARTHEST = 1 << 12
"""At the utility −FARTHEST an outcome's weight is lost beside that of 0 in every format."""

PARAGRAPH = """\
{attacks} attacks were run against {naive} naive and {exact} exact targets, each at ε = {epsilon:g}, with one α for
all. Outputs alone refute {by_samples} of the naive ones. Refuted only by an exact law, through probabilities that no
feasible number of trials would show: {law_only}. Refuted only by an adversary who also counts the random bits that an
output took: {work_only}. Not refuted here: {unseen}. Bits are counted only for {counted}: the exact ones promise the
same work for every output; no other claim says anything about work. Of the exact ones {accused} refuted;
exact laws prove the claims of {proved} on a pair of neighbours, and those of {with_slack} with 2^−58 added to δ; they
leave open those of {undecided}, for which an enumeration of {runs} runs is too short. Proved for every pair of
neighbours, by certificates that a separate program accepts ([all of them](proofs/index.md)): {certified} of {exact}
exact targets: {certificates}. A grey cell means only that an
advantage as large as the number in it would have been detected. Up to {trials} trials were run for each pair and event.
For targets whose draws are expensive ({costly}), at most {outcomes} outcomes and {records} records were tried, and for
some of them ({spared}) no more than {few_trials} trials."""


def collect(settings: Settings) -> Collected:
    """Audit every target with every attack, look for its law, and take over what `make prove` found."""
    trials, few = settings.budget(20_000, 1_000), settings.budget(2_500, 150)
    # Full runs are spared what takes minutes, quick ones also what takes seconds.
    spared = COSTLY if settings.quick else ONE_BY_ONE
    alpha = share_of_alpha(DEFAULT_ALPHA, len(NAMES) + len(COUNTED))
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice")  # which a naive mean answers to nobody's records
        for name in NAMES:
            given = few if name in spared else LEARNED_TRIALS if name in LEARNED else trials
            findings += findings_of(name, given, alpha, settings.seed)
    findings += [finding for finding in committed() if finding.target in NAMES]
    return Collected(findings, {"trials": trials, "few_trials": few, "spared": spared})


def findings_of(name: str, trials: int, alpha: float, seed: int) -> list[Finding]:
    """What attacks, counted work and the exact law say of one target."""
    target = getattr(targets, name)(EPSILON)
    spec = f"experiments.targets:{name} --epsilon {EPSILON}"
    costly = name in COSTLY
    attacks = SMALLER_ATTACKS if costly else ATTACKS
    findings = audit(target, attacks, trials=trials, alpha=alpha, seed=seed, spec=None if costly else spec)
    if name in COUNTED:
        observed = replace(COUNTED[name](target), name=name)
        work = WORK_OF_SELECTION if target.kind is Kind.SELECTION else WORK
        findings += audit(observed, [work], trials=trials, alpha=alpha, seed=seed)
    return findings + law_findings(target, spec)


def law_findings(target: Target, spec: str) -> list[Finding]:
    """What the exact law says of a target; nothing where there is no way to find it."""
    if target.sampler is not None:
        try:
            return [prove(target, _pair(target), limits=LIMITS, spec=spec)]
        except NeverEnds:
            return [_finding(target, Verdict.INCONCLUSIVE, f"no outcome in {LIMITS.runs} runs")]
    if target.kind is Kind.SELECTION or target.name == ONE_UNIFORM:
        with contextlib.suppress(LawError):
            return [_one_uniform_finding(target)]
    return []


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
    findings = _by_cell(data)
    caption = (
        "Red: the largest advantage seen or, by the exact law, the δ that it needs at the claimed ε. Blue: proved on a "
        "pair; light blue: with 2^−58 added to δ; ∀: for every pair of neighbours, by a certificate. Grey: the "
        "smallest advantage that every pair tried would have shown. Yellow: undecided, or the target raised. Work: "
        "random bits drawn, counted beside the output."
    )
    drawn = []
    for variant in ("naive", "exact"):
        rows = [name for name in NAMES if name.startswith(variant)]
        cells = [[cell(findings.get((row, column), [])) for column in COLUMNS] for row in rows]
        title = f"{variant} targets that claim ε = {EPSILON:g}"
        matrix = Matrix(
            title=title,
            row_names=rows,
            column_names=[HEADINGS.get(column, column.replace("_", " ")) for column in COLUMNS],
            cells=cells,
        )
        drawn.append(Figure(name=f"matrix_{variant}", caption=caption, panels=[matrix]))
    return drawn


def _by_cell(data: dict[str, Any]) -> dict[tuple[str, str], list[Finding]]:
    cells: dict[tuple[str, str], list[Finding]] = {}
    for finding in map(Finding.from_json, data["findings"]):
        cells.setdefault((finding.target, finding.attack), []).append(finding)
    return cells


def cell(findings: Sequence[Finding]) -> Cell:
    """The gravest verdict of an attack's findings on one target, and the number that belongs to it."""
    worst = decisive(findings)
    verdict = worst[0].verdict if worst else Verdict.NOT_APPLICABLE
    if verdict is Verdict.VIOLATED and worst[0].attack == EXACT_LAW:
        return Cell(verdict=verdict, text=_short(max(finding.delta_lower or 0.0 for finding in worst)))
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
    by: dict[str, set[str]] = {name: set() for name in NAMES}
    for (target, column), found in _by_cell(data).items():
        if any(finding.verdict is Verdict.VIOLATED for finding in found):
            by[target].add(column)
    return by


def explain(data: dict[str, Any]) -> str:
    """Say which rows are red, which are not and why."""
    measured, by = data["measured"], refuting(data)
    naive = [name for name in NAMES if name.startswith("naive")]
    exact = [name for name in NAMES if name.startswith("exact")]
    law_only = [f"{name} (δ = {_law_delta(data, name):.2g})" for name in naive if by[name] == {EXACT_LAW}]
    work_only = [name for name in naive if by[name] == {WORK.name}]
    cells = _by_cell(data)
    laws = {target: found[0].verdict for (target, column), found in cells.items() if column == EXACT_LAW}
    unseen = [name for name in naive if not by[name]]
    accused = [name for name in exact if by[name]]
    certified = [
        name for name in exact if any(one.verdict is Verdict.PROVED for one in cells.get((name, CERTIFICATE), []))
    ]
    undecided = [name for name in exact if laws.get(name) is Verdict.INCONCLUSIVE]
    return PARAGRAPH.format(
        attacks=len(ATTACKS),
        naive=len(naive),
        exact=len(exact),
        epsilon=EPSILON,
        by_samples=sum(bool(by[name] - {EXACT_LAW, WORK.name}) for name in naive),
        law_only=_listed(law_only),
        work_only=_listed(work_only),
        unseen=_listed(unseen),
        counted=_listed(list(COUNTED)),
        accused=_with_verb(accused),
        proved=sum(laws.get(name) is Verdict.PROVED for name in exact),
        with_slack=sum(laws.get(name) is Verdict.PROVED_WITH_SLACK for name in exact),
        undecided=_listed(undecided),
        runs=LIMITS.runs,
        certified=len(certified),
        certificates=_listed([f"[{name}](proofs/{name}.json)" for name in certified]),
        trials=measured["trials"],
        costly=_listed(COSTLY),
        spared=_listed(measured["spared"]),
        few_trials=measured["few_trials"],
        outcomes=FEW_OUTCOMES + 1,
        records=FEW_RECORDS,
    )


def _law_delta(data: dict[str, Any], name: str) -> float:
    (finding,) = _by_cell(data)[name, EXACT_LAW]
    return finding.delta_lower or 0.0


def _with_verb(names: Sequence[str]) -> str:
    return _listed(names) + (" is" if len(names) < 2 else " are")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
