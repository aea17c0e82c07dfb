"""What a textbook's ways to a private mean cost in accuracy, on the ages of the Adult table.

- Propose-test-release beside a noisy sum over a noisy count, as histograms of errors, with the textbook's parameters:
  its proposed bound b is 0.005 "by magic".
- What it costs to look for b: the budget is split evenly over the tests of u, u/2, u/4, … and the release.
- Sample and aggregate by the number of chunks: noise falls with it, and the statistic of a small chunk is another one.

Expected errors are closed forms for real-valued noise, in doubles; histograms are drawn.

Sources: Near and Abuah, 'Programming Differential Privacy', chapter 8; Nissim, Raskhodnikova and Smith 2007, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments import targets
from experiments.common.adult import ages
from experiments.common.curves import figure, lines, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Rows
from experiments.targets import means
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.threshold import least_threshold

QUESTION = "What do propose-test-release and sample and aggregate cost in accuracy?"

EPSILON = 1.0
DRAWN: Rows = (
    (targets.naive_sum_over_count, "naive, sum over count (spends 2ε)", Role.NAIVE),
    (targets.naive_ptr_mean, "naive, propose-test-release (spends 2ε)", Role.NAIVE),
    (targets.exact_sum_over_count, "exact, sum over count", Role.EXACT),
    (targets.exact_ptr_mean, "exact, propose-test-release", Role.EXACT),
)
BINS = 40
WIDEST = 0.12
"""The largest error drawn, in percent."""
TESTS = tuple(range(1, 25))
CHUNKS = tuple(1 << power for power in range(3, 15))
LOWER, UPPER = 20.0, 80.0
"""The textbook's range of the chunks' answers, in years."""
STATISTICS: dict[str, Callable[..., Any]] = {"mean": np.mean, "median": np.median}


def collect(settings: Settings) -> Collected:
    """Draw the errors of means, and compute what the choices cost."""
    people = ages()
    mean = float(people.mean())
    trials = settings.budget(20_000, 2_000)
    measured = {
        "mean": mean,
        "threshold": math.log(2 / means.DELTA) / (2 * EPSILON),
        "distance": distance_to(means.PROPOSED_BOUND),
        "errors": {
            make.__name__: _histogram(make(EPSILON).outputs(people, trials, settings.generator(0, row)), mean)
            for row, (make, *_) in enumerate(DRAWN)
        },
        "search": [searched_error(tests) / mean for tests in TESTS],
        "magic": 2 * means.PROPOSED_BOUND / EPSILON / mean,
        "sum_over_count": sum_over_count_error(mean) / mean,
        "chunks": {name: _by_chunks(people, name, settings) for name in STATISTICS},
    }
    return Collected((), measured)


def _histogram(answers: Any, mean: float) -> dict[str, Any]:
    """Return the share of errors in each bin, the mean error in percent, and the number of refusals."""
    given = np.array([answer for answer in answers if answer is not None], dtype=float)
    off = 100 * np.abs(given - mean) / mean
    counts, _ = np.histogram(off, bins=BINS, range=(0.0, WIDEST))
    return {"shares": (counts / len(off)).tolist(), "mean": float(off.mean()), "refused": len(answers) - len(given)}


def distance_to(bound: float, people: int = means.PEOPLE) -> int:
    """Return the least k with u/(n − k + 1) ≥ `bound`: how many people must leave, by the textbook's A(f, x, k)."""
    return max(0, people + 1 - math.floor(means.UPPER / bound))


def searched_error(tests: int) -> float:
    """Return the mean error of a release after tests of u, u/2, u/4, …; each test and the release get equal parts of ε.

    The tests go on until one refuses, and the last bound that passed is taken. A test of scale (tests + 1)/ε passes if
    the distance is at least its threshold; the distances of the bounds tried here are far from it.
    """
    share = EPSILON / (tests + 1)
    threshold = least_threshold(DiscreteLaplace(Fraction(1 / share)), means.DELTA / tests)
    bound = means.UPPER
    for _ in range(tests - 1):
        if distance_to(bound / 2) < threshold:
            break
        bound /= 2
    return bound / share


def sum_over_count_error(mean: float) -> float:
    """Return the mean error of a noisy sum over a noisy count, with half of ε each, to first order in 1/n.

    It is E|X − mean·Y|/n, and E|X − Y| = (a² + ab + b²)/(a + b) for Laplace noises X and Y of scales a and b.
    """
    a, b = (2 * width / (EPSILON * means.PEOPLE) for width in (means.UPPER, mean))
    return (a * a + a * b + b * b) / (a + b)


def noisy_error(bias: float, scale: float) -> float:
    """Return E|bias + X| for Laplace noise X: |bias| + scale·e^(−|bias|/scale)."""
    return abs(bias) + scale * math.exp(-abs(bias) / scale)


def _answers(people: NDArray[np.float64], chunks: int, statistic: str, settings: Settings) -> NDArray[np.float64]:
    """Return the statistic of each chunk; an empty one answers LOWER. Who is in which chunk is random and public."""
    own = settings.generator(1, chunks).integers(chunks, size=len(people))
    order = np.argsort(own, kind="stable")
    parts = np.split(people[order], np.searchsorted(own[order], np.arange(1, chunks)))
    return np.array([STATISTICS[statistic](part) if part.size else LOWER for part in parts])


def _by_chunks(people: NDArray[np.float64], statistic: str, settings: Settings) -> dict[str, list[float]]:
    """Return, for each number of chunks, the bias of the average and its mean error with noise, over the statistic."""
    truth = float(STATISTICS[statistic](people))
    biases = [
        float(np.clip(_answers(people, chunks, statistic, settings), LOWER, UPPER).mean()) - truth for chunks in CHUNKS
    ]
    errors = [
        noisy_error(bias, (UPPER - LOWER) / (chunks * EPSILON)) for bias, chunks in zip(biases, CHUNKS, strict=True)
    ]
    return {"bias": [abs(bias) / truth for bias in biases], "error": [error / truth for error in errors]}


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the histograms of errors, the search for b, and the errors by the number of chunks."""
    measured = data["measured"]
    caption = "Errors of private means of the Adult table's ages, as shares of the mean, by what one has to choose."
    panels = [_histogram_panel(measured), _search_panel(measured), _chunk_panel(measured)]
    return [figure("accuracy_of_means", caption, panels)]


def _histogram_panel(measured: dict[str, Any]) -> Panel:
    centres = [WIDEST * (step + 0.5) / BINS for step in range(BINS)]
    rows = [(label, role, measured["errors"][make.__name__]["shares"]) for make, label, role in DRAWN]
    series = lines(centres, rows)
    return panel("The textbook's histogram, b = 0.005, ε = 1", "error in percent", "share of answers", series)


def _search_panel(measured: dict[str, Any]) -> Panel:
    rows = [
        ("bound searched for", Role.EXACT, measured["search"]),
        ("b = 0.005 known beforehand", Role.IDEAL, [measured["magic"]] * len(TESTS)),
        ("sum over count", Role.OTHER, [measured["sum_over_count"]] * len(TESTS)),
    ]
    series = lines(TESTS, [(label, role, _percent(shares)) for label, role, shares in rows])
    title = "Looking for b by u, u/2, u/4, …; ε = 1 for all"
    return panel(title, "tests that the budget is split for", "mean error in percent", series, y_scale="log")


def _chunk_panel(measured: dict[str, Any]) -> Panel:
    chunks = measured["chunks"]
    rows = (
        ("mean", Role.EXACT, chunks["mean"]["error"]),
        ("mean, without noise", Role.IDEAL, chunks["mean"]["bias"]),
        ("median", Role.OTHER, chunks["median"]["error"]),
        ("median, without noise", Role.CEILING, chunks["median"]["bias"]),
    )
    series = lines(CHUNKS, [(label, role, _percent(shares)) for label, role, shares in rows])
    title = "Sample and aggregate, answers in [20, 80], ε = 1"
    return panel(title, "chunks k", "mean error in percent", series, x_scale="log", y_scale="log")


def _percent(shares: list[float]) -> list[float]:
    return [100 * share for share in shares]


def explain(data: dict[str, Any]) -> str:
    """Say what each choice costs."""
    measured = data["measured"]
    search, chunks = measured["search"], measured["chunks"]
    at = min(range(len(TESTS)), key=search.__getitem__)
    best = {name: min(range(len(CHUNKS)), key=chunks[name]["error"].__getitem__) for name in STATISTICS}
    return PARAGRAPHS["accuracy_of_means"].format(
        measured=measured,
        errors=measured["errors"],
        refused=sum(row["refused"] for row in measured["errors"].values()),
        tests=TESTS[at],
        found=means.UPPER / 2 ** (TESTS[at] - 1),
        searched=search[at],
        times=search[at] / measured["magic"],
        best={name: CHUNKS[place] for name, place in best.items()},
        error={name: chunks[name]["error"][place] for name, place in best.items()},
        most_chunks=CHUNKS[-1],
        median_bias=chunks["median"]["bias"][-1],
    )
