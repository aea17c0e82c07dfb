"""What the black-box attack finds with no hint, beside the attacks written for each flaw."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attacklab.auditing.attacks import (
    Attack,
    DoubleBudget,
    LocalSensitivity,
    LowBitGaussian,
    LowBitLaplace,
    MissingClip,
    PositionChunks,
    SumSensitivity,
    TruncatedAddition,
    ZeroRounding,
)
from attacklab.auditing.attacks.black_box import BlackBox
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.betting import judge
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.findings import Counts, Finding, Verdict
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common.curves import figure, panel
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "What does a black-box search find with no hint, compared with the attacks written for each flaw?"

EPSILON = 1.0
ALPHA_OF_CURVES = 0.05
CURVE_TRIALS = (1_000, 10_000, 100_000, 1_000_000)


FAST = BlackBox()
SLOW = BlackBox(outcomes=(2, 5), learning=512)
SLOW_TRIALS = 1_000
"""For targets that draw one output at a time; quick runs leave them out."""


@dataclass(frozen=True)
class Case:
    """A target, the attacks that were written for its kind, and how the black-box attack goes about it."""

    make: Callable[[float], Target]
    attacks: tuple[Attack, ...]
    black_box: BlackBox = FAST

    @property
    def is_slow(self) -> bool:
        """Whether there is time for few trials only."""
        return self.black_box is SLOW

    @property
    def role(self) -> Role:
        """Which twin the target is."""
        return Role.EXACT if self.make.__name__.startswith("exact") else Role.NAIVE


MEANS = (LocalSensitivity(), DoubleBudget(), MissingClip(), PositionChunks())
GROUPS: dict[str, Sequence[Case]] = {
    "selection": (
        Case(targets.naive_exponential, (ZeroRounding(),)),
        Case(targets.naive_exponential_stabilised, (ZeroRounding(),)),
        Case(targets.naive_exponential_binary32, (TruncatedAddition(formats=(BINARY32,)),)),
        Case(targets.naive_exponential_binary16, (TruncatedAddition(formats=(BINARY16,)),)),
        Case(targets.naive_exponential_bfloat16, (TruncatedAddition(formats=(BFLOAT16,)),)),
        Case(targets.naive_laplace_noisy_max, (ZeroRounding(),), BlackBox(outcomes=(2, 17))),
        Case(targets.naive_gumbel_noisy_max, (ZeroRounding(),), BlackBox(outcomes=(2, 17))),
        Case(targets.naive_exponential_noisy_max, (ZeroRounding(),), BlackBox(outcomes=(2, 17))),
        Case(targets.exact_exponential, (ZeroRounding(),)),
        Case(targets.exact_exponential_base2, (ZeroRounding(2),), SLOW),
        Case(targets.exact_laplace_noisy_max, (ZeroRounding(2),), SLOW),
        Case(targets.exact_exponential_noisy_max, (ZeroRounding(2),), SLOW),
    ),
    "additive noise": (
        Case(targets.naive_laplace_inverse_cdf, (LowBitLaplace(),)),
        Case(targets.naive_laplace_numpy, (LowBitLaplace(),)),
        Case(targets.naive_laplace_numpy_legacy, (LowBitLaplace(),)),
        Case(targets.exact_rounded_laplace, (LowBitLaplace(),)),
        Case(targets.exact_discrete_laplace, (LowBitLaplace(),)),
        Case(targets.naive_gaussian_box_muller, (LowBitGaussian(),)),
        Case(targets.naive_gaussian_box_muller_binary32, (LowBitGaussian(),)),
        Case(targets.naive_gaussian_polar, (LowBitGaussian(),)),
        Case(targets.naive_gaussian_inverse_cdf, (LowBitGaussian(),)),
        Case(targets.naive_gaussian_ziggurat, (LowBitGaussian(),)),
        Case(targets.exact_rounded_gaussian, (LowBitGaussian(),)),
    ),
    "sums and means": (
        Case(targets.naive_bounded_sum_numpy, (SumSensitivity(),)),
        Case(targets.naive_bounded_sum_correctly_rounded, (SumSensitivity(),)),
        Case(targets.naive_age_sum_int16, (SumSensitivity(),)),
        Case(targets.exact_bounded_sum, (SumSensitivity(),)),
        Case(targets.exact_age_sum, (SumSensitivity(),)),
        *(
            Case(make, MEANS, SLOW if make is targets.exact_smooth_mean else FAST)
            for make in (
                targets.naive_local_sensitivity_mean,
                targets.naive_ptr_mean,
                targets.naive_smooth_mean,
                targets.naive_sample_aggregate,
                targets.naive_sum_over_count,
                targets.exact_sum_over_count,
                targets.exact_ptr_mean,
                targets.exact_smooth_mean,
                targets.exact_sample_aggregate,
                targets.exact_bounded_mean,
            )
        ),
    ),
}


def collect(settings: Settings) -> Collected:
    """Audit every target by both attacks; then the bound on numpy's Laplace against the number of trials."""
    # Targets that draw one output at a time would take most of a quick run.
    cases = [case for group in GROUPS.values() for case in group if not (settings.share < 1 and case.is_slow)]
    alpha = share_of_alpha(DEFAULT_ALPHA, 2 * len(cases))
    trials = settings.budget(20_000, 2_000)
    findings: list[Finding] = []
    rows, timings = [], []
    for case in cases:
        row: dict[str, Any] = {"target": case.make.__name__, "role": case.role}
        seconds = {}
        for by, attacks in (("black_box", [_scaled(case.black_box, settings)]), ("by_hand", case.attacks)):
            drawn, target = _counting(case.make(EPSILON))
            started = time.perf_counter()
            new = audit(
                target,
                attacks,
                trials=SLOW_TRIALS if case.is_slow else trials,
                alpha=alpha,
                seed=settings.seed,
                spend_all=True,
            )
            findings += new
            row[by] = {
                "violated": any(finding.verdict is Verdict.VIOLATED for finding in new),
                "epsilon_lower": max((finding.epsilon_lower or 0.0) / finding.answers for finding in new),
                "outputs": sum(drawn),
            }
            seconds[by] = time.perf_counter() - started
        rows.append(row)
        timings.append(seconds)
    measured = {"rows": rows, "trials": trials, "curves": list(_curves(settings))}
    return Collected(findings, measured, {"seconds": timings})


def _scaled(attack: BlackBox, settings: Settings) -> BlackBox:
    return replace(attack, learning=settings.budget(attack.learning, attack.learning // 8))


def _counting(target: Target) -> tuple[list[int], Target]:
    """The target, and a list that is told how many outputs each call drew."""
    drawn: list[int] = []

    def release(input_: Any, trials: int, rng: np.random.Generator) -> Any:
        drawn.append(trials)
        return target.release(input_, trials, rng)

    return drawn, replace(target, release=release)


def _curves(settings: Settings) -> Iterator[dict[str, Any]]:
    pair = NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0)
    target = targets.naive_laplace_numpy(EPSILON)
    for trials in CURVE_TRIALS[: settings.budget(4, 3)]:
        bounds = {}
        learned = _scaled(BlackBox(pairs=(pair,)), settings)
        for by, attack in (("black_box", learned), ("by_hand", LowBitLaplace((0.0, 1.0)))):
            (finding,) = audit(
                target, [attack], trials=trials, alpha=ALPHA_OF_CURVES, seed=settings.seed, spend_all=True
            )
            bounds[by] = finding.epsilon_lower
        apart = judge(target.claim.nominal, Counts(trials, 0, trials), ALPHA_OF_CURVES)
        yield {"trials": trials, "learning": learned.learning, "most_possible": apart.epsilon_lower, **bounds}


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

    def marks(label: str, by: str, role: Role, of: Role | None = None) -> Series:
        points = [(row[by]["epsilon_lower"], place) for place, row in enumerate(rows) if of in (None, row["role"])]
        return Series(
            label=label, role=role, x=[x for x, _ in points], y=[float(y) for _, y in points], marks_only=True
        )

    series = [
        marks("black box, naive twin", "black_box", Role.NAIVE, Role.NAIVE),
        marks("black box, exact twin", "black_box", Role.EXACT, Role.EXACT),
        marks("the attacks written for the kind", "by_hand", Role.OTHER),
        Series(label="claim", role=Role.CEILING, x=[EPSILON] * 2, y=[-0.6, len(rows) - 0.4]),
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

    def line(label: str, key: str, role: Role) -> Series:
        return Series(label=label, role=role, x=trials, y=[point[key] for point in curves])

    series = [
        line("black box", "black_box", Role.NAIVE),
        line("model of the sampler", "by_hand", Role.OTHER),
        line("nothing in common: the most possible", "most_possible", Role.IDEAL),
        Series(label="claim", role=Role.CEILING, x=trials, y=[EPSILON] * len(trials)),
    ]
    return panel("numpy's Laplace, answers 0 and 1, at 95 %", "trials", "ε that is proved", series, x_scale="log")


def explain(data: dict[str, Any]) -> str:
    """Say what was found, what was missed and what it took."""
    measured = data["measured"]
    rows = measured["rows"]
    naive, exact = ([row for row in rows if row["role"] == role] for role in (Role.NAIVE, Role.EXACT))
    caught = [row for row in naive if row["black_box"]["violated"]]
    searches = [row["black_box"] for row in rows]
    last = measured["curves"][-1]
    return PARAGRAPHS["black_box"].format(
        last=last,
        found=len(caught),
        naive=len(naive),
        named=", ".join(f"`{row['target']}`" for row in caught),
        by_hand=sum(row["by_hand"]["violated"] for row in naive),
        exact=len(exact),
        exact_found=sum(row["black_box"]["violated"] for row in exact) or "none",
        trials=measured["trials"],
        fewest=min(search["outputs"] for search in searches),
        most=max(search["outputs"] for search in searches),
    )


def explain_timings(data: dict[str, Any]) -> str:
    """Say how many seconds a search takes."""
    searches, by_hand = ([row[by] for row in data["timings"]["seconds"]] for by in ("black_box", "by_hand"))
    return PARAGRAPHS["black_box_timings"].format(
        fastest=min(searches), slowest=max(searches), fastest_by_hand=min(by_hand), slowest_by_hand=max(by_hand)
    )
