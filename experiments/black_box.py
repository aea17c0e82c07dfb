"""What the black-box attack finds with no hint, beside the attacks written for each flaw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attacklab.attacks import (
    DOUBLE_BUDGET,
    MISSING_CLIP,
    POSITION_CHUNKS,
    SUM_SENSITIVITY,
    Attack,
    LocalSensitivity,
    LowBitGaussian,
    LowBitLaplace,
    TruncatedAddition,
    ZeroRounding,
)
from attacklab.attacks.black_box import BlackBox
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.findings import Finding, Verdict
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "What does a black-box search find with no hint, compared with the attacks written for each flaw?"

EPSILON = 1.0
ALPHA_OF_CURVES = 0.05
CURVE_TRIALS = (1_000, 10_000, 100_000, 1_000_000)


FAST = BlackBox()
SLOW = BlackBox(outcomes=(2, 5), learning=512)
SLOW_TRIALS = 1_000
"""For targets that draw few outputs a second; only full runs audit them."""


@dataclass(frozen=True)
class Case:
    """A target, the attacks that were written for its kind, and how the black-box attack goes about it."""

    make: Callable[[float], Target]
    attacks: tuple[Attack, ...]
    black_box: BlackBox = FAST


def _cases(attacks: tuple[Attack, ...], names: str, by: BlackBox = FAST) -> list[Case]:
    return [Case(getattr(targets, name), attacks, by) for name in names.split()]


MEANS = (LocalSensitivity(), DOUBLE_BUDGET, MISSING_CLIP, POSITION_CHUNKS)
NAIVE_NOISY_MAX = "naive_laplace_noisy_max naive_gumbel_noisy_max naive_exponential_noisy_max"
EXACT_SELECTIONS = "exact_exponential_base2 exact_laplace_noisy_max exact_exponential_noisy_max"
GAUSSIANS = """naive_gaussian_box_muller naive_gaussian_box_muller_binary32 naive_gaussian_polar
    naive_gaussian_inverse_cdf naive_gaussian_ziggurat exact_rounded_gaussian"""
LAPLACES = """naive_laplace_inverse_cdf naive_laplace_numpy naive_laplace_numpy_legacy exact_rounded_laplace
    exact_discrete_laplace"""
SUMS = """naive_bounded_sum_numpy naive_bounded_sum_correctly_rounded naive_age_sum_int16 exact_bounded_sum
    exact_age_sum"""
FAST_MEANS = """naive_local_sensitivity_mean naive_ptr_mean naive_smooth_mean naive_sample_aggregate
    naive_sum_over_count exact_sum_over_count exact_sample_aggregate exact_bounded_mean"""
GROUPS: dict[str, Sequence[Case]] = {
    "selection": (
        *_cases((ZeroRounding(),), "naive_exponential naive_exponential_stabilised"),
        *_cases((TruncatedAddition(formats=(BINARY32,)),), "naive_exponential_binary32"),
        *_cases((TruncatedAddition(formats=(BINARY16,)),), "naive_exponential_binary16"),
        *_cases((TruncatedAddition(formats=(BFLOAT16,)),), "naive_exponential_bfloat16"),
        *_cases((ZeroRounding(),), NAIVE_NOISY_MAX, BlackBox(outcomes=(2, 17))),
        *_cases((ZeroRounding(),), "exact_exponential"),
        *_cases((ZeroRounding(2),), EXACT_SELECTIONS, SLOW),
    ),
    "additive noise": (*_cases((LowBitLaplace(),), LAPLACES), *_cases((LowBitGaussian(),), GAUSSIANS)),
    "sums and means": (
        *_cases((SUM_SENSITIVITY,), SUMS),
        *_cases(MEANS, FAST_MEANS),
        *_cases(MEANS, "exact_ptr_mean exact_smooth_mean", SLOW),
    ),
}


def collect(settings: Settings) -> Collected:
    """Audit every target by both attacks; then the bound on numpy's Laplace against the number of trials."""
    cases = [case for group in GROUPS.values() for case in group if settings.share == 1 or case.black_box is not SLOW]
    alpha = share_of_alpha(DEFAULT_ALPHA, 2 * len(cases))
    trials = settings.budget(20_000, 2_000)
    findings: list[Finding] = []
    rows = []
    for case in cases:
        row: dict[str, Any] = {"target": case.make.__name__}
        most = SLOW_TRIALS if case.black_box is SLOW else trials
        for by, attacks in (("black_box", [_scaled(case.black_box, settings)]), ("by_hand", case.attacks)):
            new = audit(case.make(EPSILON), attacks, trials=most, alpha=alpha, seed=settings.seed, spend_all=True)
            findings += new
            row[by] = {
                "violated": any(finding.verdict is Verdict.VIOLATED for finding in new),
                "epsilon_lower": max((finding.epsilon_lower or 0.0) / finding.answers for finding in new),
            }
        rows.append(row)
    measured = {"rows": rows, "trials": trials, "curves": list(_curves(settings))}
    return Collected(findings, measured)


def _scaled(attack: BlackBox, settings: Settings) -> BlackBox:
    return replace(attack, learning=settings.budget(attack.learning, attack.learning // 8))


def _curves(settings: Settings) -> Iterator[dict[str, Any]]:
    """The largest ε that each attack proves; the most that any sample shows is ln(trials/ln(1/α))."""
    pair = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)
    for trials in CURVE_TRIALS[: settings.budget(4, 2)]:
        bounds = {"most_possible": math.log(trials / -math.log(ALPHA_OF_CURVES))}
        for by, attack in (("black_box", BlackBox(pairs=(pair,))), ("by_hand", LowBitLaplace((0.0, 1.0)))):
            (finding, *_) = audit(
                targets.naive_laplace_numpy(EPSILON),
                [attack],
                trials=trials,
                alpha=ALPHA_OF_CURVES,
                seed=settings.seed,
                maximise_epsilon=True,
            )
            bounds[by] = finding.epsilon_lower or 0.0
        yield {"trials": trials, **bounds}


def figures(data: dict[str, Any]) -> list[Figure]:
    """What was found, target by target, and how the bound grows with the trials."""
    rows = {row["target"]: row for row in data["measured"]["rows"]}
    panels = [
        _panel(name, [rows[case.make.__name__] for case in group if case.make.__name__ in rows])
        for name, group in GROUPS.items()
    ]
    caption = "What a search without any hint proves of each target, beside the attacks written for its kind."
    return [figure("black_box", caption, [*panels, _curve_panel(data["measured"]["curves"])])]


def _panel(name: str, rows: Sequence[dict[str, Any]]) -> Panel:
    rows = rows[::-1]

    def points(label: str, by: str, role: Role, twin: str = "") -> Series:
        shown = [(row[by]["epsilon_lower"], place) for place, row in enumerate(rows) if row["target"].startswith(twin)]
        return marks(label, role, [x for x, _ in shown], [float(y) for _, y in shown])

    series = [
        points("black box, naive twin", "black_box", Role.NAIVE, "naive"),
        points("black box, exact twin", "black_box", Role.EXACT, "exact"),
        points("the attacks written for the kind", "by_hand", Role.OTHER),
        line("claim", Role.CEILING, [EPSILON] * 2, [-0.6, len(rows) - 0.4]),
    ]
    return panel(
        f"{name}, claim ε = {EPSILON:g}",
        "ε that is proved (0: nothing found)",
        "",
        series,
        y_names=[row["target"] for row in rows],
    )


def _curve_panel(curves: Sequence[dict[str, Any]]) -> Panel:
    trials = [point["trials"] for point in curves]
    series = [
        line(label, role, trials, [point[key] for point in curves])
        for label, key, role in (
            ("black box", "black_box", Role.NAIVE),
            ("model of the sampler", "by_hand", Role.OTHER),
            ("nothing in common: the most possible", "most_possible", Role.IDEAL),
        )
    ]
    series.append(line("claim", Role.CEILING, trials, [EPSILON] * len(trials)))
    return panel("numpy's Laplace, answers 0 and 1, at 95 %", "trials", "ε that is proved", series, x_scale="log")


def explain(data: dict[str, Any]) -> str:
    """Say what was found, what was missed and what it took."""
    rows = data["measured"]["rows"]
    naive, exact = ([row for row in rows if row["target"].startswith(twin)] for twin in ("naive", "exact"))
    return PARAGRAPHS["black_box"].format(
        last=data["measured"]["curves"][-1],
        found=sum(row["black_box"]["violated"] for row in naive),
        naive=len(naive),
        missed=", ".join(f"`{row['target']}`" for row in naive if not row["black_box"]["violated"]),
        by_hand=sum(row["by_hand"]["violated"] for row in naive),
        exact=len(exact),
        exact_found=sum(row["black_box"]["violated"] for row in exact) or "none",
        trials=data["measured"]["trials"],
    )
