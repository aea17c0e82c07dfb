"""Local-sensitivity leakage: on the ages of the Adult table, and where the local sensitivity jumps.

See attacklab.attacks.local_sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attacklab.attacks import LocalSensitivity
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Finding, Verdict
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments import targets
from experiments.common.adult import ages
from experiments.common.curves import (
    advantage_of,
    advantage_panel,
    advantage_series,
    claimed_epsilon,
    estimate_series,
    figure,
    findings_of,
    line,
    lines,
    marks,
    panel,
)
from experiments.common.jumps import largest_advantage, pair_at_jump, smooth_bounds
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.reading_size import bet_on_size, reading_error
from experiments.common.sweeps import audits
from experiments.targets import means

QUESTION = "How many answers does it take to read the database off noise that is scaled to it?"

EPSILON = 1.0
SMALL_EPSILON = 0.01
SMALL_GROUP = "Married-AF-spouse"
ANSWERS = tuple(4**power for power in range(1, 8))
FEW_ANSWERS = tuple(2**power for power in range(9))
NAIVE, EXACT = targets.naive_local_sensitivity_mean, targets.exact_sum_over_count
SLOW = (targets.exact_smooth_mean, targets.exact_ptr_mean)
"""These draw only a few thousand answers a second, so they get fewer trials; their findings state the power."""
READ_OFF = ((NAIVE, "naive, local sensitivity", Role.NAIVE), (EXACT, "exact, noisy sum over noisy count", Role.EXACT))
AUDITED = (
    NAIVE,
    targets.naive_ptr_mean,
    targets.naive_sample_aggregate,
    targets.naive_sum_over_count,
    EXACT,
    *SLOW,
    targets.exact_sample_aggregate,
)
JUMPING = (targets.naive_median, targets.exact_median_smooth)
"""Targets whose local sensitivity is 0 on one database and above 0 on its neighbour."""
ONE_ANSWER = LocalSensitivity(sizes=(1,), answers=(1,))
EPSILONS = (0.1, 0.2, 0.5, 1.5, 3.0, 6.0)
SIZES = (220, 400, means.PEOPLE)
TEXTBOOKS_DISTANCES = 200
"""The number of distances over which the textbook takes the maximum."""


def collect(settings: Settings) -> Collected:
    """Read n off many answers, bet on neighbours from few, audit every mean, and compare what jumps from one answer."""
    epsilons = EPSILONS[:: settings.budget(1, 3)]
    alpha = share_of_alpha(DEFAULT_ALPHA, len(AUDITED) + 2 * (len(FEW_ANSWERS) + len(EPSILONS)))
    findings = []
    for make in AUDITED:
        least, most = (200, 4_000) if make in SLOW else (50_000, 50_000) if make is NAIVE else (4_000, 50_000)
        trials = settings.budget(most, least)
        findings += audits([(LocalSensitivity(), make, EPSILON)], alpha, settings, trials=trials)
    of_one = [(ONE_ANSWER, make, epsilon) for make in (NAIVE, JUMPING[0]) for epsilon in epsilons]
    findings += audits(of_one, alpha, settings, trials=settings.budget(50_000, 4_000))
    pair = pair_at_jump(JUMPING[0](EPSILON), settings.generator(2))
    terms = [JUMPING[1](epsilon).release.term for epsilon in epsilons]  # type: ignore[attr-defined] # of a term
    measured = {
        "everybody": _reading(settings),
        "small_group": _betting(settings, alpha),
        "epsilons": epsilons,
        "jump": [largest_advantage(term, pair) for term in terms],
        "smooth": smooth_bounds(SIZES, EPSILON, TEXTBOOKS_DISTANCES),
    }
    return Collected(findings, measured)


def _reading(settings: Settings) -> dict[str, Any]:
    """Return the median relative error of n as estimated from m answers about everybody, by target and m."""
    repetitions = settings.budget(101, 11)
    errors = {
        make.__name__: [
            reading_error(make(EPSILON), ages(), answers, repetitions, settings.generator(0, row, answers))
            for answers in ANSWERS
        ]
        for row, (make, _, _) in enumerate(READ_OFF)
    }
    return {"people": len(ages()), "errors": errors}


def _betting(settings: Settings, alpha: float) -> dict[str, Any]:
    """Return the advantage of telling n from n − 1 by n as estimated from m answers about a small group."""
    group, outputs, least = ages(SMALL_GROUP), settings.budget(4_000_000, 50_000), settings.budget(40_000, 2_000)
    rows = {}
    for row, (make, _, _) in enumerate(READ_OFF):
        drawn = [max(least, outputs // answers) for answers in FEW_ANSWERS]
        rows[make.__name__] = [
            bet_on_size(make(SMALL_EPSILON), group, answers, trials, alpha, settings.generator(1, row, answers))
            for answers, trials in zip(FEW_ANSWERS, drawn, strict=True)
        ]
    return {"people": len(group), "rows": rows}


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the error of the estimated n, the advantages of the bet and of one answer, and a smooth bound."""
    measured = data["measured"]
    panels = [
        _reading_panel(measured["everybody"]),
        _betting_panel(measured["small_group"]),
        _jump_panel(data),
        _smooth_panel(measured["smooth"]),
    ]
    return [figure("local_sensitivity", "What noise that is scaled to the database gives away.", panels)]


def _reading_panel(everybody: dict[str, Any]) -> Panel:
    rows = [(label, role, everybody["errors"][make.__name__]) for make, label, role in READ_OFF]
    title = f"reading n = {everybody['people']:,} off the noise, ε = {EPSILON:g} an answer"
    y_label = "relative error of the estimated n (median)"
    return panel(title, "number of answers", y_label, lines(ANSWERS, rows), x_scale="log", y_scale="log")


def _betting_panel(small: dict[str, Any]) -> Panel:
    bets = [estimate_series(small["rows"][make.__name__], FEW_ANSWERS, label, role) for make, label, role in READ_OFF]
    ceilings = [row["ceiling"] for row in small["rows"][NAIVE.__name__]]
    bets.append(line("ceiling of the composed claim", Role.CEILING, FEW_ANSWERS, ceilings))
    title = f"{small['people'] - 1} or {small['people']} people ({SMALL_GROUP}), ε = {SMALL_EPSILON:g} an answer"
    y_label = "distinguishing advantage P[E] − Q[E]"
    return panel(title, "number of answers", y_label, bets, x_scale="log", y_scale="symlog")


def _jump_panel(data: dict[str, Any]) -> Panel:
    epsilons = data["measured"]["epsilons"]
    series = [
        advantage_series(_of_one_answer(data, make), claimed_epsilon, f"naive, {label}", Role.NAIVE)
        for make, label in ((NAIVE, "mean by n"), (JUMPING[0], "median"))
    ]
    series.append(line("exact, median, smooth sensitivity", Role.EXACT, epsilons, data["measured"]["jump"]))
    return advantage_panel("one answer, at a jump of the local sensitivity", series, epsilons)


def _smooth_panel(rows: dict[str, Any]) -> Panel:
    series = [
        line(f"n = {int(size):,}", Role.EXACT, range(len(row["curve"])), row["curve"]) for size, row in rows.items()
    ]
    at, most = ([row[key] for row in rows.values()] for key in ("at", "most"))
    series.append(marks("maximum", Role.EXACT, at, most))
    series.append(line("where the textbook stops", Role.NAIVE, [TEXTBOOKS_DISTANCES] * 2, [1e-6, 1.0]))
    title = f"mean: what a smooth bound is the maximum of, ε = {EPSILON:g}"
    return panel(title, "distance k, in people", "exp(−βk)·A(k), in years", series, y_scale="log")


def _of_one_answer(data: dict[str, Any], make: Callable[..., Target]) -> list[Finding]:
    """Return the target's findings at each ε of `EPSILONS`."""
    return [finding for finding in findings_of(data, make.__name__) if claimed_epsilon(finding) in EPSILONS]


def explain(data: dict[str, Any]) -> str:
    """Say how well n is read, what that is worth, what one answer tells, and where a smooth bound has its maximum."""
    measured = data["measured"]
    rows = measured["small_group"]["rows"][NAIVE.__name__]
    refuted = any(
        finding.verdict is Verdict.VIOLATED
        and finding.samples
        and finding.samples.answers == 1
        and claimed_epsilon(finding) == EPSILON
        for finding in findings_of(data, NAIVE.__name__)
    )
    ceilings = [PrivacyClaim(epsilon).ceiling for epsilon in measured["epsilons"]]
    smooth = measured["smooth"]
    return PARAGRAPHS["local_sensitivity"].format(
        rows=rows,
        most=[rows[0], *(row for row in rows if row["lower"] > row["ceiling"])][-1],
        many=ANSWERS[-1],
        everybody=measured["everybody"]["people"],
        errors={name: errors[-1] for name, errors in measured["everybody"]["errors"].items()},
        group=measured["small_group"]["people"],
        refuted="refute" if refuted else "were too few to refute",
        least=min(advantage_of(finding).estimate for finding in _of_one_answer(data, JUMPING[0])),
        mean=max(advantage_of(finding).estimate for finding in _of_one_answer(data, NAIVE)),
        share=max(most / ceiling for most, ceiling in zip(measured["jump"], ceilings, strict=True)),
        few=smooth[str(SIZES[0])],
        all=smooth[str(SIZES[-1])],
        twice=2 * smooth[str(SIZES[-1])]["most"],
    )
