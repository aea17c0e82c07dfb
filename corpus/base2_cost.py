"""The experiments of the paper on base-2 differential privacy, redone with this lab's mechanism.

Ilvento 2020, section 4: the time of one selection against the number of outcomes (costs u(o) = o), against the way in
which the precision is found, against the range of utilities (1,000 outcomes, one of cost 0 and the others from n on),
and the Laplace mechanism as a selection among the points of a grid (u(d, o) = |f(d) − o|), in accuracy and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.model.random_bits import SeededBits
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from corpus.common import PARAGRAPHS
from corpus.common.timing import in_turns
from experiments.common.curves import figure, line, marks, panel
from experiments.people_in_graphs import mean_noise
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import empirical_precision, worst_case_precision
from mechanisms.exponential.exact import exact_exponential_base2
from mechanisms.exponential.naive import naive_exponential
from mechanisms.published import discrete_laplace

QUESTION = "What does the exponential mechanism in base 2 cost, beside its paper's own figures?"

HALF = BaseTwoEta(1, 1)
"""Weights 2^−u: η = 1, the coarsest there is."""
OUTCOMES = (1_000, 5_000, 10_000, 25_000, 75_000)
RANGES = (0, 1_000, 5_000, 10_000, 50_000, 100_000)
SELECTED_FROM = 1_000
FINE = BaseTwoEta.from_epsilon(1, y=16)
GRIDS = (21, 101, 501, 2_001)
EPSILON = 1
PUBLISHED_PYTHON = {1_000: 0.12, 5_000: 8.3, 10_000: 55.0}
"""Seconds of one selection by the paper's Python, measured once on another machine with 2 cores."""
PUBLISHED_RUST = {75_000: 10.0}
"""What section 4.1 says of the paper's Rust, also with 2 cores."""


def collect(settings: Settings) -> Collected:
    """Find precisions and errors, and time selections in turns with what they are compared with."""
    budget = settings.budget(2_000, 10) / 1_000
    outcomes = OUTCOMES[: settings.budget(len(OUTCOMES), 2)]
    ranges = RANGES[: settings.budget(len(RANGES), 2)]
    grids = GRIDS[: settings.budget(len(GRIDS), 2)]
    bits, rng = SeededBits(settings.generator(0)), settings.generator(1)

    def selection(costs: Sequence[float], eta: BaseTwoEta, spread: int) -> dict[str, float]:
        utilities = [-float(cost) for cost in costs]
        term = exact_exponential_base2(eta=eta, utility_range=(-spread, 0))
        return in_turns(
            lambda: term.release(utilities, bits),
            lambda: naive_exponential(utilities, 1, rng, epsilon=float(eta.epsilon()[1])),
            budget=budget,
        )

    def precision(size: int) -> dict[str, float]:
        return in_turns(
            lambda: empirical_precision(HALF, size - 1, size),
            lambda: worst_case_precision(HALF, size - 1, size),
            budget=budget,
        )

    def noise(size: int) -> dict[str, float]:
        reach = size // 2
        utilities = [-float(abs(point)) for point in range(-reach, reach + 1)]
        term = exact_exponential_base2(eta=FINE, utility_range=(-reach, 0))
        return in_turns(
            lambda: term.release(utilities, bits), lambda: discrete_laplace(Fraction(1, EPSILON), bits), budget=budget
        )

    timings = {
        "outcomes": [selection(range(size), HALF, size) for size in outcomes],
        "ranges": [
            selection([0, *range(spread, spread + SELECTED_FROM - 1)], HALF, spread + SELECTED_FROM)
            for spread in ranges
        ],
        "precision": [precision(size) for size in outcomes],
        "grids": [noise(size) for size in grids],
    }
    measured = {
        "outcomes": outcomes,
        "ranges": ranges,
        "grids": grids,
        "worst_case": [worst_case_precision(HALF, size - 1, size) for size in outcomes],
        "empirical": [empirical_precision(HALF, size - 1, size) for size in outcomes],
        "selection_error": [mean_error(size // 2) for size in grids],
        "laplace_error": mean_noise(1 / EPSILON),
        "doubles": int(np.count_nonzero(np.exp2(-np.arange(2_000.0)))),
    }
    return Collected((), measured, timings=timings)


def mean_error(reach: int) -> float:
    """The mean of |o| for an outcome o of [−reach, reach] selected with weight 2^(−η|o|), in units of Δ."""
    weights = [FINE.decay**distance for distance in range(1, reach + 1)]
    return float(2 * sum(d * weight for d, weight in enumerate(weights, 1)) / (1 + 2 * sum(weights)))


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Times beside the published ones, the precision, the range and the noise."""
    measured, timings = data["measured"], data["timings"]

    def times(rows: str, exact: str, exact_role: Role, baseline: str, baseline_role: Role) -> list[Series]:
        x, timed = measured["outcomes" if rows == "precision" else rows], timings[rows]
        return [
            line(exact, exact_role, x, [row["seconds"] for row in timed]),
            line(baseline, baseline_role, x, [row["baseline_seconds"] for row in timed]),
        ]

    def published(label: str, figures: dict[int, float]) -> Series:
        return marks(label, Role.OTHER, figures, figures.values())

    selections = (
        *times("outcomes", "exact, base 2", Role.EXACT, "naive, numpy", Role.NAIVE),
        published("the paper's Python, another machine", PUBLISHED_PYTHON),
        published("the paper's Rust, as published", PUBLISHED_RUST),
    )
    searches = times("precision", "search until exact", Role.OTHER, "worst case, by formula", Role.EXACT)
    spread = times("ranges", "exact, base 2", Role.EXACT, "naive, numpy", Role.NAIVE)
    drawn = times("grids", "selection, base 2", Role.OTHER, "discrete Laplace, exact", Role.EXACT)
    grids = measured["grids"]
    errors = [
        line("selection, base 2", Role.OTHER, grids, measured["selection_error"]),
        line("discrete Laplace, exact", Role.EXACT, grids, [measured["laplace_error"]] * len(grids)),
    ]
    both: dict[str, Any] = {"x_scale": "log", "y_scale": "log"}
    panels = [
        panel("One selection from costs 0, 1, …, n − 1", "outcomes n", "seconds", selections, **both),
        panel("The precision of that selection", "outcomes n", "seconds", searches, **both),
        panel(
            f"One selection from {SELECTED_FROM:,} outcomes",
            "range of utilities, from n on",
            "seconds",
            spread,
            y_scale="log",
        ),
        panel("Laplace noise as a selection from a grid", "points of the grid", "seconds a draw", drawn, **both),
        panel("The accuracy of that noise", "points of the grid", "mean error / Δ", errors, x_scale="log"),
    ]
    caption = "The cost of the base-2 exponential mechanism, after the experiments of its paper."
    return [figure("base2_cost", caption, panels)]


def explain_timings(data: dict[str, Any]) -> str:
    """The figures beside those of the paper."""
    measured, timings = data["measured"], data["timings"]
    selections = dict(zip(measured["outcomes"], timings["outcomes"], strict=True))
    ranges, draws = timings["ranges"], timings["grids"][-1]
    sizes = measured["outcomes"]
    python_n = max(size for size in PUBLISHED_PYTHON if size in selections)
    return PARAGRAPHS["base2_cost"].format(
        small=selections[sizes[0]]["seconds"],
        small_n=sizes[0],
        large=selections[sizes[-1]]["seconds"],
        large_n=sizes[-1],
        rust=PUBLISHED_RUST[OUTCOMES[-1]],
        python=PUBLISHED_PYTHON[python_n],
        python_n=python_n,
        ours=selections[python_n]["seconds"],
        doubles=measured["doubles"],
        naive=selections[sizes[-1]]["baseline_seconds"],
        formula=timings["precision"][-1]["baseline_seconds"],
        search=timings["precision"][-1]["seconds"],
        found=measured["empirical"][-1],
        needed=measured["worst_case"][-1],
        selected=SELECTED_FROM,
        range=measured["ranges"][-1],
        growth=selections[sizes[-1]]["seconds"] / selections[sizes[0]]["seconds"],
        size_growth=sizes[-1] / sizes[0],
        range_growth=ranges[-1]["seconds"] / ranges[0]["seconds"],
        narrow=measured["ranges"][0],
        grid=measured["grids"][-1],
        selection_error=measured["selection_error"][-1],
        laplace_error=measured["laplace_error"],
        selection_time=draws["seconds"],
        laplace_time=draws["baseline_seconds"],
    )
