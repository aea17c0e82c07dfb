"""Truncated addition against the exponential mechanism (see attacklab.attacks.truncated_addition)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attacklab.attacks import TruncatedAddition
from attacklab.experiment import Collected, Settings
from attacklab.figures import Figure, Panel, Role, Series
from attacklab.findings import Finding
from attacklab.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format
from attacklab.inference import share_of_alpha
from attacklab.referee import DEFAULT_ALPHA, audit
from experiments import targets
from experiments.curves import advantage_series, findings_of

QUESTION = "How much do neighbours differ when light weights are lost in a sum, in each floating-point format?"

EPSILON = 1.0
FORMATS = (
    (BINARY64, targets.naive_exponential),
    (BINARY32, targets.naive_exponential_binary32),
    (BINARY16, targets.naive_exponential_binary16),
    (BFLOAT16, targets.naive_exponential_bfloat16),
)
PARAGRAPH = """\
One heavy outcome and many light ones, each worth half a unit in the last place of the heavy weight: on one database
every light weight is rounded away and no light outcome is ever drawn, on its neighbour each one counts. The ceiling
at ε = {epsilon:g} is {ceiling:.3f}; the advantage reaches {shown}. In binary64 the flaw is real but nearly invisible:
the light outcomes hold about 2^−53 of the mass each, an advantage far below what any number of trials here can show.
What is broken there is the support: outcomes of positive probability that are never drawn. The ideal mechanism's own
advantage is drawn in every panel because an advantage that it has as well demonstrates nothing."""
LIGHT_OUTCOMES = tuple(1 << power for power in range(4, 17, 2))


def collect(settings: Settings) -> Collected:
    """Audit the naive mechanism in each format, and the exact one on the same pairs."""
    trials = settings.budget(100_000, 5_000)
    alpha = share_of_alpha(DEFAULT_ALPHA, 2 * len(FORMATS) * len(LIGHT_OUTCOMES))
    findings: list[Finding] = []
    ideal: dict[str, list[float]] = {}
    for accumulator, naive in FORMATS:
        ideal[accumulator.name] = []
        for light in LIGHT_OUTCOMES:
            attack = TruncatedAddition(most_outcomes=light, formats=(accumulator,))
            for make in (naive, targets.exact_exponential):
                findings += audit(make(EPSILON), [attack], trials=trials, alpha=alpha, seed=settings.seed)
            ideal[accumulator.name].append(_ideal_advantage(accumulator, light))
    return Collected(findings, {"light_outcomes": LIGHT_OUTCOMES, "ideal": ideal})


def _ideal_advantage(accumulator: Format, light_outcomes: int) -> float:
    """The ideal mechanism's advantage on the same pair."""
    pair = TruncatedAddition.scenario(targets.exact_exponential(EPSILON), accumulator, light_outcomes).pair
    heavy = [float(1 / np.exp(EPSILON / 2 * (side - side[0])).sum()) for side in (pair.first, pair.second)]
    return heavy[1] - heavy[0]


def figures(data: dict[str, Any]) -> list[Figure]:
    """Advantage against the number of light outcomes, a panel a format."""
    return [
        Figure(
            name="truncated_addition",
            caption=f"Advantage of the bet on any light outcome at ε = {EPSILON:g}; bands are confidence bounds.",
            panels=[_panel(data, number) for number in range(len(FORMATS))],
        )
    ]


def _panel(data: dict[str, Any], number: int) -> Panel:
    accumulator, naive = FORMATS[number]
    light = data["measured"]["light_outcomes"]
    exact = findings_of(data, "exact_exponential")[number * len(light) : (number + 1) * len(light)]

    def series(findings: list[Finding], label: str, role: Role) -> Series:
        return advantage_series(findings, lambda one: light_outcomes_of(one), label, role)

    return Panel(
        title=f"{accumulator.name}, {accumulator.significand_bits} significant bits",
        x_label="number of light outcomes",
        y_label="distinguishing advantage P[E] − Q[E]",
        x_scale="log",
        series=[
            series(findings_of(data, naive.__name__), "naive", Role.NAIVE),
            series(exact, "exact", Role.EXACT),
            Series(label="ideal mechanism", role=Role.IDEAL, x=light, y=data["measured"]["ideal"][accumulator.name]),
            Series(
                label="ceiling of the claim",
                role=Role.CEILING,
                x=[light[0], light[-1]],
                y=[math.tanh(EPSILON / 2)] * 2,
            ),
        ],
    )


def light_outcomes_of(finding: Finding) -> int:
    """How many light outcomes the pair of a finding has."""
    assert finding.pair is not None  # noqa: S101 - `findings_of` keeps only findings with a pair
    return int(finding.pair["first"]["shape"][0]) - 1


def explain(data: dict[str, Any]) -> str:
    """Say where the flaw shows and where it does not."""

    def most(make: Any) -> Finding:
        return max(findings_of(data, make.__name__), key=lambda one: one.advantage.estimate if one.advantage else -1)

    shown = []
    for accumulator, naive in FORMATS[1:]:
        finding = most(naive)
        assert finding.advantage is not None  # noqa: S101 - `findings_of` keeps only those
        light = light_outcomes_of(finding)
        ideal = data["measured"]["ideal"][accumulator.name][data["measured"]["light_outcomes"].index(light)]
        shown.append(
            f"{finding.advantage.estimate:.3f} in {accumulator.name} ({light} light outcomes; ideal {ideal:.3f})"
        )
    return PARAGRAPH.format(epsilon=EPSILON, ceiling=math.tanh(EPSILON / 2), shown=", ".join(shown))
