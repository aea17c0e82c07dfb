"""What exactness costs: exact mechanisms timed against their naive twins, in turns in one run."""

from __future__ import annotations

import tracemalloc
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from attacklab.model.random_bits import SeededBits
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from corpus.common import PARAGRAPHS
from corpus.common.timing import Work, in_turns, seconds
from experiments.common.curves import figure, line, panel
from mechanisms.core.grid import Grid
from mechanisms.core.noisy import Noisy
from mechanisms.core.term import Mechanism
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.exact import exact_exponential, exact_exponential_base2, exact_exponential_fixed_work
from mechanisms.exponential.naive import naive_exponential_stabilised
from mechanisms.gaussian.exact import exact_discrete_gaussian, exact_rounded_gaussian
from mechanisms.laplace.exact import exact_discrete_laplace, exact_rounded_laplace

QUESTION = "What does an exact mechanism cost compared with its naive twin?"

EPSILON = 1.0
OUTCOMES = (10, 100, 1_000, 10_000, 100_000)
SELECTIONS = (1, 100, 1_000, 100_000)
RANGE = (-4096, 4096)
GRIDS = (0, -2, -20, -36, -45)


def noise_terms(exponent: int) -> dict[str, Noisy]:
    """The additive mechanisms on a grid, by name, all with noise of about 1."""
    grid = Grid(exponent)
    return {
        "rounded Laplace": exact_rounded_laplace(epsilon=EPSILON, grid=grid),
        "discrete Laplace": exact_discrete_laplace(epsilon=EPSILON, grid=grid),
        "rounded Gaussian": exact_rounded_gaussian(sigma=1, grid=grid),
        "discrete Gaussian": exact_discrete_gaussian(sigma=1, grid=grid),
    }


def collect(settings: Settings) -> Collected:
    """Time everything in turns with its naive twin."""
    rng, bits = np.random.default_rng(settings.seed), SeededBits(settings.generator(1))
    budget = settings.budget(100, 5) / 100
    trials = settings.budget(1_000_000, 100_000)
    answers = rng.integers(0, 1_000, trials).astype(np.float64)
    noise, per_answer, tables, single = [], [], [], []
    for exponent in GRIDS:
        for name, term in noise_terms(exponent).items():
            numpy_noise = rng.laplace if "Laplace" in name else rng.normal
            place = {"noise": name, "exponent": exponent}
            single.append({**place, "seconds": median(seconds(partial(term.release, 0.0, bits)) for _ in range(51))})
            tables.append({**place, "seconds": seconds(lambda term=term: term.noise.table)})  # type: ignore[misc]
            naive = partial(numpy_noise, 0.0, 1.0, trials)
            noise.append({**place, **in_turns(partial(term.many, 0.0, trials, bits), naive, budget=3 * budget)})
            added = partial(lambda drawn: answers + drawn(), naive)
            per_answer.append({**place, **in_turns(partial(term.each, answers, bits), added, budget=3 * budget)})
    exponential = exact_exponential(epsilon=EPSILON)
    selections = [
        {"outcomes": outcomes, "draws": draws, **_selected(exponential, outcomes, draws, rng, bits, budget)}
        for outcomes in OUTCOMES
        for draws in SELECTIONS
    ]
    others = {
        "base2": exact_exponential_base2(eta=BaseTwoEta.from_epsilon(EPSILON, y=16), utility_range=RANGE),
        "fixed": exact_exponential_fixed_work(epsilon=EPSILON, utility_range=RANGE),
    }
    return Collected(
        timings={
            "trials": trials,
            "noise": noise,
            "each": per_answer,
            "tables": tables,
            "one": single,
            "selections": selections,
            "others": {
                name: [
                    {"outcomes": outcomes, **_selected(term, outcomes, 1, rng, bits, budget)} for outcomes in (10, 100)
                ]
                for name, term in others.items()
            },
            "bytes_an_answer": _bytes_beside(partial(noise_terms(-2)["rounded Laplace"].many, 0.0, trials, bits))
            / trials,
        }
    )


def _selected(
    term: Mechanism, outcomes: int, draws: int, rng: np.random.Generator, bits: SeededBits, budget: float
) -> dict[str, float]:
    """Time some selections among outcomes whose utilities are normal with σ = 10."""
    utilities = rng.normal(0.0, 10.0, outcomes)
    naive = partial(naive_exponential_stabilised, utilities, draws, rng, epsilon=EPSILON)
    return in_turns(partial(term.many, utilities, draws, bits), naive, budget=budget)


def _bytes_beside(work: Work) -> int:
    work()
    tracemalloc.start()
    output = work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return int(peak - output.nbytes)


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Ratios of noise by grid, and of selections by their number."""
    measured = data["timings"]

    def ratios(label: str, role: Role, rows: list[dict[str, Any]], x: str) -> Series:
        return line(label, role, [row[x] for row in rows], [row["ratio"] for row in rows])

    def by_grid(title: str, rows: list[dict[str, Any]]) -> Panel:
        names = dict.fromkeys(row["noise"] for row in rows)
        of_names = (
            ratios(name, Role.EXACT, [row for row in rows if row["noise"] == name], "exponent") for name in names
        )
        numpy_line = line("numpy", Role.NAIVE, [GRIDS[-1], GRIDS[0]], [1.0, 1.0])
        return panel(title, "grid exponent", "time over numpy's", [*of_names, numpy_line])

    selected = [
        ratios(
            f"{draws:,} selections",
            Role.EXACT,
            [row for row in measured["selections"] if row["draws"] == draws],
            "outcomes",
        )
        for draws in SELECTIONS
    ]
    naive = line("naive", Role.NAIVE, [OUTCOMES[0], OUTCOMES[-1]], [1.0, 1.0])
    panels = [
        by_grid(f"{measured['trials']:,} draws of noise", measured["noise"]),
        by_grid("one draw on each of as many answers", measured["each"]),
        panel(
            "exponential mechanism",
            "number of outcomes",
            "time over naive numpy's",
            [*selected, naive],
            x_scale="log",
        ),
    ]
    return [figure("speed", "Cost of exact mechanisms beside their naive twins; medians of runs in turns.", panels)]


def explain_timings(data: dict[str, Any]) -> str:
    """List the ratios."""
    measured = data["timings"]

    def ranges(rows: list[dict[str, Any]], by: str, key: str, scale: float, unit: str) -> str:
        names = list(dict.fromkeys(row[by] for row in rows))
        scaled = {name: [scale * row[key] for row in rows if row[by] == name] for name in names}
        return ", ".join(f"{name} {min(values):.2f} to {max(values):.2f}{unit}" for name, values in scaled.items())

    return PARAGRAPHS["speed"].format(
        noise=ranges(measured["noise"], "noise", "ratio", 1, " ×"),
        each=ranges(measured["each"], "noise", "ratio", 1, " ×"),
        table=ranges(measured["tables"], "noise", "seconds", 1e3, " ms"),
        one=ranges(measured["one"], "noise", "seconds", 1e3, " ms"),
        selections="; ".join(
            f"{draws:,} draws "
            + ", ".join(
                f"{row['ratio']:.2f} × at {row['outcomes']:,}"
                for row in measured["selections"]
                if row["draws"] == draws
            )
            for draws in SELECTIONS
        ),
        **{
            name: ", ".join(f"{row['ratio']:.0f} × at {row['outcomes']}" for row in rows)
            for name, rows in measured["others"].items()
        },
        memory=measured["bytes_an_answer"],
    )
