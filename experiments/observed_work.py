"""Work seen beside the output, counted and measured.

See `attacklab.auditing.attacks.work` and `attacklab.auditing.statistics.timing`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from attacklab.auditing.attacks.work import Work, work_events
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import assess, share_of_alpha
from attacklab.auditing.timed import in_turns
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Outputs, Target
from attacklab.model.work import records
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.targets.making import of_term
from mechanisms.laplace.exact import exact_two_sided_geometric
from mechanisms.laplace.naive import naive_two_sided_geometric

QUESTION = "How much more does an adversary learn by counting or timing the work behind a noisy answer?"

EPSILONS = (0.25, 0.5, 1.0, 2.0)
TIMED = 1.0
RANGE = 15
ANSWERS = (RANGE // 2 + 1, RANGE // 2)
PAIR = NeighbouringPair(*ANSWERS, None)
"""Integers, which `NeighbouringPair.answers` would make doubles of."""
GREATEST_NOISE = 5


def naive_geometric(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise, counted in a loop."""
    return Target.noise(partial(naive_two_sided_geometric, epsilon=epsilon), epsilon=epsilon, name="naive_geometric")


def exact_fixed_work(epsilon: float = 1.0) -> Target:
    """Two-sided geometric noise on a public range, the same work for every draw."""
    term = exact_two_sided_geometric(epsilon=epsilon, lower=0, upper=RANGE)
    return of_term(Target.noise, term, epsilon=epsilon, name="exact_fixed_work")


OBSERVED = (
    (naive_geometric, "naive, output and bits drawn", Role.NAIVE),
    (exact_fixed_work, "exact, output and bits taken", Role.EXACT),
)
TARGETS = ((naive_geometric, "naive, counted in a loop", Role.NAIVE), (exact_fixed_work, "fixed work", Role.EXACT))


def collect(settings: Settings) -> Collected:
    """Audit counted work at each ε, and measure times at one."""
    trials = settings.budget(10_000, 2_000)
    alpha = share_of_alpha(DEFAULT_ALPHA, len(OBSERVED) * len(EPSILONS) + len(TARGETS))
    findings = [
        finding
        for make, _, _ in OBSERVED
        for epsilon in EPSILONS
        for finding in audit(
            make(epsilon).covering_work(), [Work(PAIR)], trials=trials, alpha=alpha, seed=settings.seed, spend_all=True
        )
    ]
    bits = exact_fixed_work(TIMED).covering_work().outputs(ANSWERS[0], 1, np.random.default_rng(settings.seed))
    timed = {make.__name__: _timed(make(TIMED), settings, alpha) for make, _, _ in TARGETS}
    return Collected(findings, {"bits": int(bits["work"][0])}, timed)


def _timed(target: Target, settings: Settings, alpha: float) -> dict[str, Any]:
    """Times by noise, the test of times among equal outputs, and the best bet on output and time."""
    trials = settings.budget(60_000, 6_000)
    rng = np.random.default_rng(settings.seed)
    turns = in_turns(target, PAIR, trials, rng)
    sides = [records(map(float, outputs), times) for outputs, times in zip(turns.outputs, turns.times, strict=True)]
    half = trials // 2
    *_, bet, _ = work_events(*(side[:half] for side in sides))
    hits = [int(bet.contains(side[half:]).sum()) for side in sides]
    counts = Counts(hits[0], hits[1], trials - half)
    test = turns.test()
    equal = [side["work"][side["output"] == ANSWERS[0]] for side in sides]
    return {
        "microseconds": [_microseconds(sides, noise) for noise in range(GREATEST_NOISE + 1)],
        "nanoseconds_apart": abs(float(np.median(equal[0]) - np.median(equal[1]))),
        "test": {"right": test.right, "wrong": test.wrong, "p_value": test.p_value},
        "advantage": asdict(assess(target.claim.nominal, counts, alpha).advantage),
    }


def _microseconds(sides: Iterable[Outputs], noise: int) -> float:
    """The median time of draws of ±noise."""
    nanoseconds = [
        side["work"][np.abs(side["output"] - answer) == noise] for side, answer in zip(sides, ANSWERS, strict=True)
    ]
    return float(np.median(np.concatenate(nanoseconds))) / 1000


def figures(data: dict[str, Any]) -> list[Figure]:
    """Advantage of counted work against ε."""
    caption = "Output and work of two-sided geometric noise on answers one apart; bands are confidence bounds."
    return [curves.figure("observed_work", caption, [_advantages(data)])]


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Advantage of time, and time by noise."""
    caption = "Output and time of two-sided geometric noise on answers one apart."
    return [curves.figure("observed_time", caption, [_timed_advantages(data), _times(data)])]


def _advantages(data: dict[str, Any]) -> Panel:
    counted = [
        curves.advantage_series(curves.findings_of(data, make().name), curves.claimed_epsilon, label, role)
        for make, label, role in OBSERVED
    ]
    return curves.panel(
        "Advantage of an adversary who counts the work",
        "claimed ε",
        "distinguishing advantage P[E] − Q[E]",
        [*counted, _output_alone(), curves.ceiling_series(EPSILONS)],
    )


def _timed_advantages(data: dict[str, Any]) -> Panel:
    timed = [
        curves.marks(
            f"{label}, output and time", role, [TIMED], [data["timings"][make.__name__]["advantage"]["estimate"]]
        )
        for make, label, role in TARGETS
    ]
    return curves.panel(
        "Advantage of an adversary who times the work",
        "claimed ε",
        "distinguishing advantage P[E] − Q[E]",
        [*timed, _output_alone(), curves.ceiling_series(EPSILONS)],
    )


def _output_alone() -> Series:
    """The advantage of the better guess from the ideal output: (1 − q)/(1 + q) for q = e^−ε."""
    y = [-math.expm1(-epsilon) / (1 + math.exp(-epsilon)) for epsilon in EPSILONS]
    return curves.line("ideal mechanism, output alone", Role.IDEAL, EPSILONS, y)


def _times(data: dict[str, Any]) -> Panel:
    series = [
        curves.line(label, role, range(GREATEST_NOISE + 1), data["timings"][make.__name__]["microseconds"])
        for make, label, role in TARGETS
    ]
    return curves.panel(f"Measured time by noise, ε = {TIMED:g}", "|noise|", "median time of a draw in µs", series)


def explain(data: dict[str, Any]) -> str:
    """Say what the counted work gives away."""

    def counted(place: int) -> float:
        make, _, _ = OBSERVED[place]
        return curves.advantage_of(curves.finding_at(curves.findings_of(data, make().name), TIMED)).estimate

    return PARAGRAPHS["observed_work"].format(
        naive=counted(0), ceiling=PrivacyClaim(TIMED).ceiling, bits=data["measured"]["bits"], fixed=counted(1)
    )


def explain_timings(data: dict[str, Any]) -> str:
    """Say what the time gives away."""
    naive, fixed = (data["timings"][make.__name__] for make, _, _ in TARGETS)
    return PARAGRAPHS["observed_work_timings"].format(
        naive=naive,
        fixed=fixed,
        longest=naive["microseconds"][-1],
        greatest=GREATEST_NOISE,
        output=ANSWERS[0],
        fixed_longest=fixed["microseconds"][-1],
    )
