"""Local-sensitivity leakage: on the ages of the Adult table, and where the local sensitivity jumps.

See attacklab.auditing.attacks.local_sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks import LocalSensitivity
from attacklab.auditing.attacks.base import bounds_of
from attacklab.auditing.attacks.local_sensitivity import estimated_scale, size_of_scale
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import assess, share_of_alpha
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts, Finding, Verdict
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
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
    marks,
    panel,
)
from experiments.common.jumps import largest_advantage, pair_at_jump, smoothed
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import audits
from experiments.targets import means
from mechanisms.local_sensitivity.naive import sensitivity_at_distance

QUESTION = "How many answers does it take to read the database off noise that is scaled to it?"

EPSILON = 1.0
ENOUGH_TRIALS = 50_000
"""As many as refute the naive mean, in quick runs too."""
SMALL_EPSILON = 0.01
SMALL_GROUP = "Married-AF-spouse"
ANSWERS = tuple(4**power for power in range(1, 8))
FEW_ANSWERS = tuple(2**power for power in range(9))
NAIVE = targets.naive_local_sensitivity_mean
SLOW = targets.exact_smooth_mean
"""Its scale is private, so each answer is drawn by itself, 4,000 a second: it gets fewer, and its findings say what
they would have detected."""
READ_OFF = (
    (NAIVE, "naive, local sensitivity", Role.NAIVE),
    (targets.exact_sum_over_count, "exact, noisy sum over noisy count", Role.EXACT),
    (targets.exact_smooth_mean, "exact, smooth sensitivity", Role.EXACT),
)
BET_ON = (
    (NAIVE, "naive, local sensitivity", Role.NAIVE),
    (targets.exact_sum_over_count, "exact, noisy sum over noisy count", Role.EXACT),
)
AUDITED = (
    NAIVE,
    targets.naive_ptr_mean,
    targets.naive_sample_aggregate,
    targets.naive_sum_over_count,
    targets.exact_sum_over_count,
    targets.exact_ptr_mean,
    targets.exact_smooth_mean,
    targets.exact_sample_aggregate,
)
ONE_ANSWER = LocalSensitivity(sizes=(1,), answers=(1,))
EPSILONS = (0.1, 0.2, 0.5, 1.5, 3.0, 6.0)
JUMPING = ((targets.naive_median, targets.exact_median_smooth, "median"),)
"""What has a local sensitivity of 0 on one database and not on its neighbour: naive, exact, and what it is."""
SIZES = (220, 400, means.PEOPLE)
DISTANCES = 600
TEXTBOOKS_DISTANCES = 200
"""Up to where the textbook looks for the maximum."""


def collect(settings: Settings) -> Collected:
    """Read n off many answers, bet on neighbours from few, audit every mean, and compare what jumps from one answer."""
    makers = (NAIVE, *(naive for naive, _, _ in JUMPING))
    epsilons = EPSILONS[:: settings.budget(1, 3)]
    alpha = share_of_alpha(DEFAULT_ALPHA, len(AUDITED) + len(BET_ON) * len(FEW_ANSWERS) + len(makers) * len(EPSILONS))
    findings = [
        finding
        for make in AUDITED
        for finding in audits([(LocalSensitivity(), make, EPSILON)], alpha, settings, trials=_trials(make, settings))
    ]
    of_one = [(ONE_ANSWER, make, epsilon) for make in makers for epsilon in epsilons]
    findings += audits(of_one, alpha, settings, trials=settings.budget(ENOUGH_TRIALS, 4_000))
    measured = {"everybody": _reading(settings), "small_group": _betting(settings, alpha)}
    return Collected(findings, measured | {"jumps": _exact_jumps(settings, epsilons), "smooth": _smooth()})


def _exact_jumps(settings: Settings, epsilons: Sequence[float]) -> dict[str, Any]:
    """The largest advantage over each exact twin on the pair that gives the naive one away."""
    exact = {}
    for row, (naive, repaired, _) in enumerate(JUMPING):
        pair = pair_at_jump(naive(EPSILON), settings.generator(2, row))
        terms = [repaired(epsilon).release.term for epsilon in epsilons]  # type: ignore[attr-defined] # of a term
        exact[repaired.__name__] = [largest_advantage(term, pair) for term in terms]
    return {"epsilons": epsilons, "exact": exact}


def _smooth() -> dict[str, Any]:
    """e^(−βk)·A(k) of the mean at each distance k for databases of some sizes, with the textbook's A and β."""
    beta = EPSILON / (2 * math.log(2 / means.DELTA))
    rows = {}
    for size in SIZES:
        distances = list(range(min(size, DISTANCES) + 1))
        curve = smoothed(partial(sensitivity_at_distance, size, means.UPPER), distances, beta)
        at = max(distances, key=curve.__getitem__)
        rows[str(size)] = {"curve": curve, "at": at, "most": curve[at], "within": max(curve[:TEXTBOOKS_DISTANCES])}
    return {"beta": beta, "rows": rows}


def _trials(make: Callable[..., Target], settings: Settings) -> int:
    if make is SLOW:
        return settings.budget(4_000, 1_000)
    return ENOUGH_TRIALS if make is NAIVE else settings.budget(ENOUGH_TRIALS, 4_000)


def _reading(settings: Settings) -> dict[str, Any]:
    """Median relative error of the n that is read off m answers about everybody."""
    people = ages()
    mean = float(people.mean())

    def error(make: Callable[..., Target], answers: int, rng: np.random.Generator) -> float:
        repetitions = settings.budget(11, 3) if make is SLOW else settings.budget(101, 11)
        target = make(EPSILON)
        drawn = target.outputs(people, repetitions * answers, rng).reshape(repetitions, answers)
        # The adversary does not know the mean: it centres the answers on their own.
        scales = estimated_scale(drawn, drawn.mean(axis=1, keepdims=True))
        estimates = size_of_scale(scales, *bounds_of(target), EPSILON)
        return float(np.median(np.abs(estimates - len(people)) / len(people)))

    errors = {
        make.__name__: [error(make, answers, settings.generator(0, row, answers)) for answers in ANSWERS]
        for row, (make, _, _) in enumerate(READ_OFF)
    }
    return {"people": len(people), "mean": mean, "answers": ANSWERS, "errors": errors}


def _betting(settings: Settings, alpha: float) -> dict[str, Any]:
    """Advantage of telling n from n − 1 by the n read off m answers about a small group."""
    group = ages(SMALL_GROUP)
    outputs = settings.budget(4_000_000, 50_000)
    least = settings.budget(40_000, 2_000)
    rows = {}
    for row, (make, _, _) in enumerate(BET_ON):
        target = make(SMALL_EPSILON)
        rows[make.__name__] = [
            _bet(target, group, answers, max(least, outputs // answers), alpha, settings.generator(1, row, answers))
            for answers in FEW_ANSWERS
        ]
    return {"people": len(group), "rows": rows}


def _bet(
    target: Target, group: NDArray[np.float64], answers: int, trials: int, alpha: float, rng: np.random.Generator
) -> dict[str, float]:
    """The adversary knows both groups, centres answers between their means, and looks at nothing but the answers."""
    claim = target.claim.composed(answers)
    smaller = group[:-1]
    centre = float(smaller.mean() + group.mean()) / 2
    step = max(1, (1 << 20) // answers)
    hits = [0, 0]
    for side, people in enumerate((smaller, group)):
        for start in range(0, trials, step):
            rows = min(step, trials - start)
            drawn = target.outputs(people, rows * answers, rng).reshape(rows, answers)
            scales = estimated_scale(drawn, centre)
            read = size_of_scale(scales, *bounds_of(target), SMALL_EPSILON)
            hits[side] += int(np.count_nonzero(read < len(group) - 0.5))
    assessment = assess(claim.nominal, Counts(hits[0], hits[1], trials), alpha)
    return {"answers": answers, **asdict(assessment.advantage), "ceiling": claim.ceiling}


def figures(data: dict[str, Any]) -> list[Figure]:
    """The error of the reading and the advantage of the bet by the number of answers, and what one answer tells."""
    everybody, small = data["measured"]["everybody"], data["measured"]["small_group"]
    reading = panel(
        f"reading n = {everybody['people']:,} off the noise, ε = {EPSILON:g} an answer",
        "number of answers",
        "relative error of the estimated n (median)",
        [line(label, role, everybody["answers"], everybody["errors"][make.__name__]) for make, label, role in READ_OFF],
        x_scale="log",
        y_scale="log",
    )
    bets = [
        estimate_series(small["rows"][make.__name__], _column(small, make.__name__, "answers"), label, role)
        for make, label, role in BET_ON
    ]
    betting = panel(
        f"{small['people'] - 1} or {small['people']} people ({SMALL_GROUP}), ε = {SMALL_EPSILON:g} an answer",
        "number of answers",
        "distinguishing advantage P[E] − Q[E]",
        [
            *bets,
            line(
                "ceiling of the composed claim",
                Role.CEILING,
                _column(small, NAIVE.__name__, "answers"),
                _column(small, NAIVE.__name__, "ceiling"),
            ),
        ],
        x_scale="log",
        y_scale="symlog",
    )
    caption = "Left: how well n is read off the scale of the noise. Right: how well that tells neighbours apart."
    return [figure("local_sensitivity", caption, [reading, betting]), _figure_of_jumps(data)]


def _figure_of_jumps(data: dict[str, Any]) -> Figure:
    """The advantage from one answer where the local sensitivity jumps, and the maximum of a smooth bound."""
    jumping, rows = data["measured"]["jumps"], data["measured"]["smooth"]["rows"]
    epsilons = jumping["epsilons"]
    naive = [
        advantage_series(_of_one_answer(data, make), claimed_epsilon, f"naive, {label}", Role.NAIVE)
        for make, label in ((NAIVE, "mean by n"), *((make, label) for make, _, label in JUMPING))
    ]
    exact = [
        line(f"exact, {label}, smooth sensitivity", Role.EXACT, epsilons, jumping["exact"][repaired.__name__])
        for _, repaired, label in JUMPING
    ]
    curves = [
        line(f"n = {int(size):,}", Role.EXACT, range(len(row["curve"])), row["curve"]) for size, row in rows.items()
    ]
    one_answer = advantage_panel("one answer, at a jump of the local sensitivity", [*naive, *exact], epsilons)
    maxima = panel(
        f"mean: what a smooth bound is the maximum of, ε = {EPSILON:g}",
        "distance k, in people",
        "exp(−βk)·A(k), in years",
        [
            *curves,
            marks("maximum", Role.EXACT, [row["at"] for row in rows.values()], [row["most"] for row in rows.values()]),
            line("where the textbook stops", Role.NAIVE, [TEXTBOOKS_DISTANCES] * 2, [1e-6, 1.0]),
        ],
        y_scale="log",
    )
    caption = (
        "Left: the advantage of one answer; the naive median lies at 1. "
        "Right: the maximum over all distances is S; it may lie beyond the distances that a textbook looks at."
    )
    return figure("local_sensitivity_jumps", caption, [one_answer, maxima])


def _of_one_answer(data: dict[str, Any], make: Callable[..., Target]) -> list[Finding]:
    """The findings of the audits at each ε of `EPSILONS`."""
    return [finding for finding in findings_of(data, make.__name__) if claimed_epsilon(finding) in EPSILONS]


def _column(small: dict[str, Any], target: str, name: str) -> list[float]:
    return [row[name] for row in small["rows"][target]]


def explain(data: dict[str, Any]) -> str:
    """Say how well n is read and what that is worth."""
    everybody, small = data["measured"]["everybody"], data["measured"]["small_group"]
    rows = small["rows"][NAIVE.__name__]
    above = [row for row in rows if row["lower"] > row["ceiling"]]
    most = above[-1] if above else rows[-1]
    is_refuted = any(
        finding.verdict is Verdict.VIOLATED and finding.answers == 1 and claimed_epsilon(finding) == EPSILON
        for finding in findings_of(data, NAIVE.__name__)
    )
    return PARAGRAPHS["local_sensitivity"].format(
        rows=rows,
        most=most,
        upper=bounds_of(NAIVE(EPSILON))[1],
        many=everybody["answers"][-1],
        everybody=everybody["people"],
        error=everybody["errors"][NAIVE.__name__][-1],
        group=small["people"],
        status=SMALL_GROUP,
        epsilon=SMALL_EPSILON,
        repaired=min(errors[-1] for name, errors in everybody["errors"].items() if name != NAIVE.__name__),
        refuted="refute" if is_refuted else "were too few to refute",
        audited=EPSILON,
    ) + _explain_jumps(data)


def _explain_jumps(data: dict[str, Any]) -> str:
    """Say what one answer tells where the local sensitivity jumps, and where the smooth bound has its maximum."""
    jumping, smooth = data["measured"]["jumps"], data["measured"]["smooth"]
    naive = [advantage_of(finding).estimate for make, _, _ in JUMPING for finding in _of_one_answer(data, make)]
    ceilings = [PrivacyClaim(epsilon).ceiling for epsilon in jumping["epsilons"]]
    shares = [most / ceiling for row in jumping["exact"].values() for most, ceiling in zip(row, ceilings, strict=True)]
    few, everybody = smooth["rows"][str(SIZES[0])], smooth["rows"][str(SIZES[-1])]
    return "\n" + PARAGRAPHS["local_sensitivity_jumps"].format(
        least=min(naive),
        first=jumping["epsilons"][0],
        last=jumping["epsilons"][-1],
        mean=max(advantage_of(finding).estimate for finding in _of_one_answer(data, NAIVE)),
        share=max(shares),
        few=few,
        size=SIZES[0],
        everybody=everybody,
        people=SIZES[-1],
        twice=2 * everybody["most"],
        textbook=TEXTBOOKS_DISTANCES,
    )
