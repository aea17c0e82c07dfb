"""NaN, infinities and extremes (see attacklab.attacks.known_pairs)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks.known_pairs import SPECIAL_RECORDS, SPECIAL_UTILITIES, SPECIAL_VALUES
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import assess, share_of_alpha
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts, Finding
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Rows, audits
from experiments.targets.making import of_term
from mechanisms.core.grid import LEAST_EXPONENT, Grid
from mechanisms.core.laws import RoundedLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.records import Answer
from mechanisms.laplace.naive import naive_laplace_numpy
from mechanisms.summation.exact import exact_bounded_sum
from mechanisms.summation.naive import naive_bounded_sum

QUESTION = "Does one NaN, infinity or extreme value among the inputs give the database away?"

EPSILON = 1.0
BOUNDS = (0.0, 1.0)
SILENT_EPSILON = 4.0
STEPS = (1, 2, 3, 4, 6, 8, 16, 64)
"""Sensitivities, in units of the least subnormal."""
LEAST = math.ulp(0.0)


def naive_sum(epsilon: float = EPSILON) -> Target:
    """Sum of records in [0, 1], clipped by np.clip."""
    release = partial(naive_bounded_sum, epsilon=epsilon, lower=BOUNDS[0], upper=BOUNDS[1])
    return Target.sum(release, epsilon=epsilon, bounds=BOUNDS, name="naive_sum")


def naive_refusing_sum(epsilon: float = EPSILON) -> Target:
    """Sum of records in [0, 1] that raises for a record that is not finite."""

    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        if not np.isfinite(records).all():
            raise ValueError("records must be finite")
        return naive_bounded_sum(records, trials, rng, epsilon=epsilon, lower=BOUNDS[0], upper=BOUNDS[1])

    return Target.sum(release, epsilon=epsilon, bounds=BOUNDS, name="naive_refusing_sum")


def exact_sum(epsilon: float = EPSILON) -> Target:
    """Sum of records in [0, 1] in fixed point; NaN counts as the lower bound."""
    term = exact_bounded_sum(epsilon=epsilon, lower=BOUNDS[0], upper=BOUNDS[1], grid=Grid(-10))
    return of_term(Target.sum, term, epsilon=epsilon, bounds=BOUNDS, name="exact_sum")


def naive_silent_laplace(epsilon: float = SILENT_EPSILON, steps: int = 1) -> Target:
    """Laplace noise by numpy, for a sensitivity of `steps` least subnormals."""
    sensitivity = steps * LEAST
    release = partial(naive_laplace_numpy, epsilon=epsilon, sensitivity=sensitivity)
    return Target.noise(release, epsilon=epsilon, sensitivity=sensitivity, name=f"naive_silent_laplace {steps}")


def exact_silent_laplace(epsilon: float = SILENT_EPSILON, steps: int = 1) -> Target:
    """Ideal Laplace noise for a sensitivity of `steps` least subnormals, rounded to the finest public grid."""
    sensitivity = steps * LEAST
    term = noisy(Answer(Fraction(sensitivity), Grid(LEAST_EXPONENT)), RoundedLaplace, epsilon)
    name = f"exact_silent_laplace {steps}"
    return of_term(Target.noise, term, epsilon=epsilon, sensitivity=sensitivity, name=name)


SUMS: Rows = (
    (naive_sum, "naive, np.clip", Role.NAIVE),
    (naive_refusing_sum, "naive, refuses what is not finite", Role.NAIVE),
    (exact_sum, "exact, fixed point", Role.EXACT),
)
SELECTIONS: Rows = (
    (targets.naive_exponential, "naive", Role.NAIVE),
    (targets.naive_exponential_stabilised, "naive, largest utility subtracted", Role.NAIVE),
    (targets.exact_exponential, "exact", Role.EXACT),
)
SILENT: tuple[tuple[Callable[[float, int], Target], str, Role], ...] = (
    (naive_silent_laplace, "naive, numpy Generator.laplace", Role.NAIVE),
    (exact_silent_laplace, "exact, rounded ideal Laplace", Role.EXACT),
)


def collect(settings: Settings) -> Collected:
    """Audit sums and selections, and bet on additive noise at the end of the subnormals."""
    cases = [(SPECIAL_VALUES, make, EPSILON) for make, _, _ in (*SUMS, *SELECTIONS)]
    trials = settings.budget(20_000, 2_000)
    alpha = share_of_alpha(DEFAULT_ALPHA, len(cases) + len(SILENT) * len(STEPS))
    findings = audits(cases, alpha, settings, trials=trials)
    silent = {
        make.__name__: [_bet_on_middle(make(SILENT_EPSILON, steps), settings, alpha, row, steps) for steps in STEPS]
        for row, (make, _, _) in enumerate(SILENT)
    }
    return Collected(findings, {"silent": silent})


def _bet_on_middle(target: Target, settings: Settings, alpha: float, *key: int) -> dict[str, float]:
    """Return the advantage, for the answers Δ and 0, of the event output > Δ/2, which is best against ideal noise."""
    trials = settings.budget(100_000, 10_000)
    hits = []
    for side, answer in enumerate((target.sensitivity, 0.0)):
        outputs = target.outputs(answer, trials, settings.generator(*key, side))
        # Twice an output is exact, half the least subnormal is not.
        hits.append(int(np.count_nonzero(2 * outputs > target.sensitivity)))
    return asdict(assess(target.claim.nominal, Counts(hits[0], hits[1], trials), alpha).advantage)


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the advantage for each value that replaces a record, and against the sensitivity where noise vanishes."""
    records = [*map(_named, SPECIAL_RECORDS), "upper bound", "one at 0, others at upper"]
    caption = "Advantage of the bet that oversteps the claim most, by input; and of one bet, by sensitivity."
    panels = [
        _by_input(data, "One of four records in [0, 1] replaced, ε = 1", SUMS, records),
        _by_input(data, "One of two utilities replaced, ε = 1", SELECTIONS, map(_named, SPECIAL_UTILITIES)),
        _silent(data),
    ]
    return [curves.figure("special_values", caption, panels)]


def _named(value: float) -> str:
    if value == LEAST:
        return "2^−1074"
    return f"{value:.3g}".replace("-", "−").replace("nan", "NaN").replace("inf", "∞")


def _by_input(data: dict[str, Any], title: str, rows: Rows, names: Iterable[str]) -> Panel:
    listed = list(names)
    measured = [
        curves.marks(
            label,
            role,
            range(len(listed)),
            [_seen(finding) for finding in curves.findings_of(data, make(EPSILON).name)],
        )
        for make, label, role in rows
    ]
    return curves.panel(
        title,
        "",
        "distinguishing advantage |P[E] − Q[E]|",
        [*measured, _ceiling([-0.5, len(listed) - 0.5], EPSILON)],
        x_names=listed,
    )


def _silent(data: dict[str, Any]) -> Panel:
    seen = data["measured"]["silent"]
    measured = [curves.estimate_series(seen[make.__name__], STEPS, label, role) for make, label, role in SILENT]
    ends = [STEPS[0], STEPS[-1]]
    ideal = curves.line("ideal mechanism", Role.IDEAL, ends, [curves.ideal_laplace_advantage(SILENT_EPSILON)] * 2)
    return curves.panel(
        "The bet on answers beyond Δ/2, Δ subnormal, ε = 4",
        "sensitivity Δ in units of 2^−1074",
        "distinguishing advantage P[E] − Q[E]",
        [*measured, ideal, _ceiling(ends, SILENT_EPSILON)],
        x_scale="log",
    )


def _ceiling(ends: Sequence[float], epsilon: float) -> Series:
    return curves.line("ceiling of the claim, tanh(ε/2)", Role.CEILING, ends, [PrivacyClaim(epsilon).ceiling] * 2)


def _seen(finding: Finding) -> float:
    """Return an advantage without its sign, which only says on which of the two databases the event is likelier."""
    return abs(curves.advantage_of(finding).estimate)


def explain(data: dict[str, Any]) -> str:
    """Say what failures and silence give away."""
    silent = data["measured"]["silent"]
    naive, exact = ([row["estimate"] for row in silent[make.__name__]] for make, _, _ in SILENT)
    return PARAGRAPHS["special_values"].format(
        nan=_seen(curves.findings_of(data, "naive_sum")[0]),
        ceiling=PrivacyClaim(EPSILON).ceiling,
        refused=min(map(_seen, curves.findings_of(data, "naive_refusing_sum")[:3])),
        exact=max(map(_seen, curves.findings_of(data, "exact_sum")[: len(SPECIAL_RECORDS)])),
        silent=naive[0],
        allowed=PrivacyClaim(SILENT_EPSILON).ceiling,
        steps=STEPS[-1],
        coarse=naive[-1],
        ideal=curves.ideal_laplace_advantage(SILENT_EPSILON),
        total=max(map(abs, exact)),
    )
