"""The most common marital status of the Adult table, by the exponential mechanism and by report noisy max."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common.adult import marital_counts
from experiments.common.sweeps import Rows

QUESTION = "Which marital status do selection mechanisms report as the most common one, in 200 draws at ε = 1?"

EPSILON = 1.0
DRAWS = 200
PEOPLE_A_POINT = 1000
MECHANISMS: Rows = (
    (targets.naive_exponential, "naive exponential mechanism", Role.NAIVE),
    (targets.naive_laplace_noisy_max, "naive report noisy max, Laplace", Role.NAIVE),
    (targets.exact_exponential, "exact exponential mechanism", Role.EXACT),
    (targets.exact_laplace_noisy_max, "exact report noisy max, Laplace", Role.EXACT),
    (targets.exact_exponential_noisy_max, "exact report noisy max, exponential", Role.EXACT),
)
PARAGRAPH = """\
The utility of a status is the number of people who have it, in thousands ({best} has {utility:g}). Δu = 1 as in the
textbook, far more than the thousandth by which one person really moves it. In {draws} draws {shares}. The ideal
exponential mechanism expects {expected:.1f}. Naive and exact twins agree here, as they must on harmless utilities.
What tells them apart is utilities that an adversary picked, as in the experiments on zero-rounding and truncated
addition."""


def collect(settings: Settings) -> Collected:
    """Draw from each mechanism and count."""
    counts = marital_counts()
    utilities = np.array(list(counts.values())) / PEOPLE_A_POINT
    drawn = {}
    for number, (make, _, _) in enumerate(MECHANISMS):
        outputs = make(EPSILON).outputs(utilities, DRAWS, settings.generator(number))
        drawn[make.__name__] = np.bincount(outputs.astype(np.int64), minlength=len(utilities)).tolist()
    weights = np.exp(EPSILON / 2 * (utilities - utilities.max()))
    expected = DRAWS * weights / weights.sum()
    return Collected((), {"statuses": list(counts), "utilities": utilities, "drawn": drawn, "expected": expected})


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw how often each mechanism selects each status."""
    measured = data["measured"]
    places = range(len(measured["statuses"]))
    series = [
        Series(label=label, role=role, x=places, y=measured["drawn"][make.__name__], marks_only=True)
        for make, label, role in MECHANISMS
    ]
    ideal = Series(label="ideal exponential mechanism, expected", role=Role.IDEAL, x=places, y=measured["expected"])
    panel = Panel(
        title=f"{DRAWS} draws at ε = {EPSILON:g}",
        x_label="marital status, the most common first",
        y_label="times reported",
        x_names=measured["statuses"],
        series=[*series, ideal],
    )
    return [Figure(name="marital_status", caption="How often each status was reported.", panels=[panel])]


def explain(data: dict[str, Any]) -> str:
    """Say how often the right answer was given."""
    measured = data["measured"]
    best = math.floor(np.argmax(measured["utilities"]))
    shares = ", ".join(f"{label} {measured['drawn'][make.__name__][best]}" for make, label, _ in MECHANISMS)
    return PARAGRAPH.format(
        best=measured["statuses"][best],
        utility=measured["utilities"][best],
        draws=DRAWS,
        shares=f"the right answer came up: {shares}",
        expected=measured["expected"][best],
    )
