"""Low bits of Laplace noise (see attacklab.attacks.low_bit_laplace)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attacklab.attacks import LowBitLaplace
from attacklab.attacks.samplers import TEXTBOOK, reachable
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker, Rows, sweep

QUESTION = "Do the low bits of a noisy answer tell which database it came from?"

EPSILONS = (0.001, 0.01, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TARGETS: Rows = (
    (targets.naive_laplace_inverse_cdf, "naive, textbook inverse CDF", Role.NAIVE),
    (targets.naive_laplace_numpy, "naive, numpy Generator.laplace", Role.NAIVE),
    (targets.naive_laplace_numpy_legacy, "naive, numpy RandomState.laplace", Role.NAIVE),
    (targets.exact_discrete_laplace, "exact, discrete Laplace", Role.EXACT),
    (targets.exact_rounded_laplace, "exact, rounded ideal Laplace", Role.EXACT),
)
ANSWERS = (0.0, 1.0)
HOLES_AT = 150.0
HOLES_EPSILON = 0.01
HOLES_SHOWN = 64


def collect(settings: Settings) -> Collected:
    """Audit each sampler at each ε, and list the reachable doubles in one small place."""
    trials = settings.budget(100_000, 5_000)
    findings = sweep((make for make, *_ in TARGETS), EPSILONS, LowBitLaplace(), settings, trials=trials)
    return Collected(findings, {"epsilons": EPSILONS, "holes": _holes()})


def _holes() -> dict[str, list[bool]]:
    """Return for each answer which of the doubles from HOLES_AT upwards the textbook's sampler can produce."""
    start = np.array([HOLES_AT]).view(np.int64)[0]
    doubles = (start + np.arange(HOLES_SHOWN)).view(np.float64)
    return {str(answer): reachable(doubles, answer, 1 / HOLES_EPSILON, TEXTBOOK).tolist() for answer in ANSWERS}


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the advantage against ε, and the holes."""
    epsilons = data["measured"]["epsilons"]
    ideal = curves.ideal_laplace_series("ideal mechanism, best bet", epsilons)
    series = [*curves.advantages_by_epsilon(data, TARGETS), ideal]
    advantage = curves.advantage_panel("answers 0 and 1, sensitivity 1", series, epsilons)
    caption = "Left: advantage of the bet 'reachable from 0 only'. Right: which doubles can be produced at all."
    return [curves.figure("low_bit_laplace", caption, [advantage, _holes_panel(data)])]


def _holes_panel(data: dict[str, Any]) -> Panel:
    rows = list(data["measured"]["holes"].items())
    sets = [{place for place, is_reachable in enumerate(row) if is_reachable} for _, row in rows]

    def marks(label: str, role: Role, places: list[list[int]]) -> Series:
        points = [(place, row) for row, members in enumerate(places) for place in members]
        return Series(
            label=label, role=role, x=[x for x, _ in points], y=[float(y) for _, y in points], marks_only=True
        )

    only = [sorted(sets[0] - sets[1]), sorted(sets[1] - sets[0])]
    series = [
        marks("from one answer only: a proof", Role.NAIVE, only),
        marks("from both", Role.OTHER, [sorted(sets[0] & sets[1])] * 2),
    ]
    return curves.panel(
        f"the {HOLES_SHOWN} doubles from {HOLES_AT:g} upwards, textbook sampler, ε = {HOLES_EPSILON:g}",
        f"units in the last place above {HOLES_AT:g}",
        "",
        series,
        y_names=[f"can come from f(D) = {float(answer):g}" for answer, _ in rows],
    )


def explain(data: dict[str, Any]) -> str:
    """Say what is seen at ε = 0.01, and why."""

    def at(make: Maker, epsilon: float) -> str:
        return f"{curves.advantage_at(data, make, epsilon):.3f}"

    return PARAGRAPHS["low_bit_laplace"].format(
        ceiling=math.tanh(0.005),
        textbook=at(targets.naive_laplace_inverse_cdf, 0.01),
        numpy=at(targets.naive_laplace_numpy, 0.01),
        discrete=at(targets.exact_discrete_laplace, 0.01),
        rounded=at(targets.exact_rounded_laplace, 0.01),
    )
