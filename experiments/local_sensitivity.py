"""Local-sensitivity leakage on the ages of the Adult table (see attacklab.auditing.attacks.local_sensitivity)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks import LocalSensitivity
from attacklab.auditing.attacks.base import bounds_of
from attacklab.auditing.attacks.local_sensitivity import estimated_scale, size_of_scale
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import assess, share_of_alpha
from attacklab.model.findings import Counts, Verdict
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
from experiments import targets
from experiments.common.adult import ages
from experiments.common.curves import estimate_series, figure, line, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import audits

QUESTION = "How many answers does it take to read the number of people off the noise?"

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


def collect(settings: Settings) -> Collected:
    """Read n off many answers, bet on neighbours from few, and audit every mean on the worst pair."""
    alpha = share_of_alpha(DEFAULT_ALPHA, len(AUDITED) + len(BET_ON) * len(FEW_ANSWERS))
    findings = [
        finding
        for make in AUDITED
        for finding in audits([(LocalSensitivity(), make, EPSILON)], alpha, settings, trials=_trials(make, settings))
    ]
    return Collected(findings, {"everybody": _reading(settings), "small_group": _betting(settings, alpha)})


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
    """The error of the reading, and the advantage of the bet, against the number of answers."""
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
    return [figure("local_sensitivity", caption, [reading, betting])]


def _column(small: dict[str, Any], target: str, name: str) -> list[float]:
    return [row[name] for row in small["rows"][target]]


def explain(data: dict[str, Any]) -> str:
    """Say how well n is read and what that is worth."""
    everybody, small = data["measured"]["everybody"], data["measured"]["small_group"]
    rows = small["rows"][NAIVE.__name__]
    above = [row for row in rows if row["lower"] > row["ceiling"]]
    most = above[-1] if above else rows[-1]
    is_refuted = any(
        finding["verdict"] == Verdict.VIOLATED and finding["answers"] == 1 and finding["target"] == NAIVE.__name__
        for finding in data["findings"]
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
    )
