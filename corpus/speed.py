"""What exactness costs: the public functions of exactdp, from the system's entropy, in turns with numpy in one run."""

from __future__ import annotations

import os
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from corpus.common import PARAGRAPHS
from corpus.common.timing import Work, in_turns, seconds
from experiments.common.curves import figure, line, panel
from mechanisms import library
from mechanisms.exponential.naive import naive_exponential_stabilised

QUESTION = "What does an exact mechanism cost compared with its naive twin?"

STEP = 2.0**-20
ANSWERS = (1_000, 10_000, 100_000, 1_000_000)
OUTCOMES = (100, 1_000, 10_000, 75_000, 1_000_000)
ROWS = (1000, 100)
SCALARS = 2_001
"""The number of timed calls of a mechanism; most of them come after its table is made."""


def collect(settings: Settings) -> Collected:
    """Time exact mechanisms, in turns with their naive twins."""
    rng, budget = np.random.default_rng(settings.seed), 0.02 * settings.budget(100, 5)
    laplace, gaussian = library.laplace(epsilon=1, step=STEP), library.gaussian(sigma=1, step=STEP)
    select = library.select(epsilon=1)
    first = {"Laplace": seconds(partial(laplace, 0.0)), "Gaussian": seconds(partial(gaussian, 0.0))}
    tables = {
        name: seconds(partial(noise.each, [0.0])) for name, noise in (("Laplace", laplace), ("Gaussian", gaussian))
    }
    each = []
    for count in ANSWERS:
        answers = rng.normal(0, 1000, count)
        naive: dict[str, Work] = {
            "Laplace": lambda answers=answers: answers + rng.laplace(0.0, 1.0, len(answers)),  # type: ignore[misc]
            "Gaussian": lambda answers=answers: answers + rng.normal(0.0, 1.0, len(answers)),  # type: ignore[misc]
        }
        for name, noise in (("Laplace", laplace), ("Gaussian", gaussian)):
            timed = in_turns(partial(noise.each, answers), naive[name], budget=budget)
            each.append({"noise": name, "answers": count, **timed})
    selections = []
    for outcomes in OUTCOMES:
        utilities = rng.normal(0, 10, outcomes)
        of_one = partial(naive_exponential_stabilised, utilities, 1, rng, epsilon=1)
        timed = in_turns(partial(select, utilities), of_one, budget=budget)
        selections.append({"outcomes": outcomes, **timed})
    rows = rng.normal(0, 10, ROWS)
    hundred = rng.integers(0, 1000, 100).astype(np.float64)
    calls: dict[str, Work] = {
        "Laplace number": partial(laplace, 1.5),
        "Gaussian number": partial(gaussian, 1.5),
        "histogram of 100 cells": partial(library.histogram(epsilon=1), hundred),
        "noisy maximum of 100": partial(library.report_noisy_max(epsilon=1), hundred),
        "sparse vector of 100 answers": partial(library.above_threshold(epsilon=1, threshold=9999, step=STEP), hundred),
    }
    return Collected(
        timings={
            "load": os.getloadavg()[0],
            "processors": os.cpu_count(),
            "first": first,
            "tables": tables,
            "each": each,
            "selections": selections,
            "rows": in_turns(partial(select.each, rows), partial(_naive_rows, rows, rng), budget=budget),
            "calls": {name: median(seconds(call) for _ in range(SCALARS)) for name, call in calls.items()},
        }
    )


def _naive_rows(rows: Any, rng: np.random.Generator) -> Any:
    """Return the outcome selected from each row, as `naive_exponential_stabilised` selects from one row."""
    sums = np.exp((rows - rows.max(axis=1, keepdims=True)) / 2).cumsum(axis=1)
    return (sums <= rng.random((len(rows), 1)) * sums[:, -1:]).sum(axis=1)


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Draw time ratios: of noise by the number of answers, and of selections by the number of outcomes."""
    measured = data["timings"]

    def ratios(label: str, rows: list[dict[str, Any]], x: str) -> list[Series]:
        numbers = [row[x] for row in rows]
        naive = line("numpy", Role.NAIVE, [numbers[0], numbers[-1]], [1.0, 1.0])
        return [line(label, Role.EXACT, numbers, [row["ratio"] for row in rows]), naive]

    drawn = [
        panel(
            f"{name} noise",
            "number of answers",
            "time over numpy's",
            ratios(f"{name}, one draw each", [row for row in measured["each"] if row["noise"] == name], "answers"),
            x_scale="log",
        )
        for name in ("Laplace", "Gaussian")
    ]
    selected = ratios("one selection", measured["selections"], "outcomes")
    drawn.append(
        panel("exponential mechanism", "number of outcomes", "time over naive numpy's", selected, x_scale="log")
    )
    return [figure("speed", "Cost of exact mechanisms beside their naive twins; medians of runs in turns.", drawn)]


def explain_timings(data: dict[str, Any]) -> str:
    """Return a paragraph that lists the ratios."""
    measured = data["timings"]

    def listed(rows: list[dict[str, Any]], x: str) -> str:
        return ", ".join(f"{row['ratio']:.2f} × at {row[x]:,}" for row in rows)

    return PARAGRAPHS["speed"].format(
        **{name: measured[name] for name in ("load", "processors")},
        each="; ".join(
            f"{name} {listed([row for row in measured['each'] if row['noise'] == name], 'answers')}"
            for name in ("Laplace", "Gaussian")
        ),
        selections=listed(measured["selections"], "outcomes"),
        rows=measured["rows"]["ratio"],
        calls=", ".join(f"a {name} {1e6 * time:,.0f} µs" for name, time in measured["calls"].items()),
        first=", ".join(f"{name} {1e3 * time:.1f} ms" for name, time in measured["first"].items()),
        table=", ".join(f"{name} {1e3 * time:.0f} ms" for name, time in measured["tables"].items()),
    )
