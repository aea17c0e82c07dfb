"""Truncated addition against the exponential mechanism (see attacklab.attacks.truncated_addition)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks import TruncatedAddition
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.laws import advantage, hockey_stick, one_uniform, step_law
from attacklab.model.findings import Finding
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64, Format
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments import targets
from experiments.common import mitigations
from experiments.common.curves import advantage_of, advantage_series, figure, findings_of, line, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker, audits

QUESTION = "How much do neighbours differ when light weights are lost in a sum, in each floating-point format?"

EPSILON = 1.0
FORMATS: Sequence[tuple[Format, Maker]] = (
    (BINARY64, targets.naive_exponential),
    (BINARY32, targets.naive_exponential_binary32),
    (BINARY16, targets.naive_exponential_binary16),
    (BFLOAT16, targets.naive_exponential_bfloat16),
)
LIGHT_OUTCOMES = tuple(1 << power for power in range(4, 17, 2))


def collect(settings: Settings) -> Collected:
    """Audit the naive mechanism in each format and the exact one on the same pairs; find the naive one's exact laws."""
    trials = settings.budget(100_000, 5_000)
    cases = [
        (accumulator, naive, light)
        for accumulator, naive in FORMATS
        for light in LIGHT_OUTCOMES
        if light <= 4 << accumulator.significand_bits
    ]
    alpha = share_of_alpha(DEFAULT_ALPHA, 2 * len(cases))
    findings: list[Finding] = []
    rows: list[dict[str, Any]] = []
    for accumulator, naive, light in cases:
        attack = TruncatedAddition(most_outcomes=light, formats=(accumulator,))
        pairs = [(attack, make, EPSILON) for make in (naive, targets.exact_exponential)]
        findings += audits(pairs, alpha, settings, trials=trials)
        target = naive(EPSILON)
        pair = TruncatedAddition.scenario(target, accumulator, light).pair
        rows.append({"format": accumulator.name, "light_outcomes": light, **_laws(target, pair), **_ideal(pair)})
    return Collected(findings, {"rows": rows, "mitigations": mitigations.measured_mitigations(settings)})


def _laws(target: Target, pair: NeighbouringPair) -> dict[str, Any]:
    """Return the probabilities of any light outcome on both inputs, its advantage and δ, by naive exact laws."""
    counted, lost = (step_law(partial(_light, target, utilities)) for utilities in (pair.first, pair.second))
    return {
        "light_counted": str(counted.mass(True)),
        "light_lost": str(lost.mass(True)),
        "advantage": float(advantage(counted, lost).lower),
        "delta": float(hockey_stick(counted, lost, EPSILON).lower),
    }


def _light(target: Target, utilities: NDArray[np.float64], uniforms: NDArray[np.float64]) -> list[bool]:
    """Return, for each value of the one uniform number, whether a light outcome is drawn."""
    return [bool(outcome) for outcome in np.asarray(one_uniform(target.release, utilities)(uniforms)) > 0]


def _ideal(pair: NeighbouringPair) -> dict[str, float]:
    """Return the probability and the advantage that the same event has under the ideal mechanism."""
    counted, lost = (
        float(light / (1 + light))
        for utilities in (pair.first, pair.second)
        for light in [np.exp(EPSILON / 2 * (utilities[1:] - utilities[0])).sum()]
    )
    return {"ideal_light_lost": lost, "ideal_advantage": counted - lost}


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the advantage against the number of light outcomes, by format, and what mitigations leave."""
    caption = f"Advantage of the bet on any light outcome at ε = {EPSILON:g}; bands are confidence bounds."
    return [
        figure("truncated_addition", caption, [_panel(data, *case) for case in FORMATS]),
        mitigations.figure_of_mitigations(data["measured"]["mitigations"]),
    ]


def _panel(data: dict[str, Any], accumulator: Format, naive: Maker) -> Panel:
    rows = [row for row in data["measured"]["rows"] if row["format"] == accumulator.name]
    light = [row["light_outcomes"] for row in rows]
    exact = [
        finding
        for finding, row in zip(findings_of(data, "exact_exponential"), data["measured"]["rows"], strict=True)
        if row["format"] == accumulator.name
    ]
    sampled = [
        advantage_series(shown, light_outcomes_of, label, role)
        for findings, label, role in (
            (findings_of(data, naive.__name__), "naive, sampled", Role.NAIVE),
            (exact, "exact, sampled", Role.EXACT),
        )
        if (shown := [finding for finding in findings if advantage_of(finding).lower > 0])
    ]

    def column(name: str, label: str, role: Role) -> Series:
        return line(label, role, light, [row[name] for row in rows])

    series = [
        *sampled,
        column("advantage", "naive, exact law", Role.NAIVE),
        column("delta", f"naive, exact smallest δ at ε = {EPSILON:g} (claimed: 0)", Role.NAIVE),
        column("ideal_advantage", "ideal mechanism's advantage", Role.IDEAL),
        line("ceiling of the claim, tanh(ε/2)", Role.CEILING, [light[0], light[-1]], [math.tanh(EPSILON / 2)] * 2),
    ]
    return panel(
        f"{accumulator.name}, {accumulator.significand_bits} significant bits",
        "number of light outcomes",
        "distinguishing advantage, or δ",
        series,
        x_scale="log",
        y_scale="log",
    )


def light_outcomes_of(finding: Finding) -> int:
    """Return how many light outcomes the pair of a finding has."""
    assert finding.pair is not None  # noqa: S101 - `findings_of` keeps only findings with a pair
    return int(finding.pair["first"]["shape"][0]) - 1


def explain(data: dict[str, Any]) -> str:
    """Say where the flaw shows to a sample and where only to an exact law."""
    rows = data["measured"]["rows"]

    def most(accumulator: Format, naive: Maker) -> str:
        sampled = [(advantage_of(finding).estimate, finding) for finding in findings_of(data, naive.__name__)]
        estimate, finding = max(sampled, key=lambda pair: pair[0])
        light = light_outcomes_of(finding)
        (ideal,) = (
            row["ideal_advantage"]
            for row in rows
            if row["format"] == accumulator.name and row["light_outcomes"] == light
        )
        return f"{estimate:.3f} in {accumulator.name} ({light} light outcomes; ideal {ideal:.3f})"

    widest = max((row for row in rows if row["format"] == BINARY64.name), key=lambda row: int(row["light_outcomes"]))
    paragraph = PARAGRAPHS["truncated_addition"].format(
        widest=widest,
        epsilon=EPSILON,
        ceiling=math.tanh(EPSILON / 2),
        shown=", ".join(most(accumulator, naive) for accumulator, naive in FORMATS[1:]),
    )
    return f"{paragraph}\n{mitigations.explain_mitigations(data['measured']['mitigations'])}"
