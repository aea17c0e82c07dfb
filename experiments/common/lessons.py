"""What the lessons in docs/lessons share: their pictures, findings in words, and the grading of challenges."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.model.findings import Alignment, Finding, Verdict
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target
from attacklab.reporting.figures import Role
from attacklab.reporting.plots import COLOURS, STYLE

plt.rcParams.update(STYLE)
if "inline" in plt.get_backend():  # in a notebook: pictures that are sharp at any size
    importlib.import_module("matplotlib_inline.backend_inline").set_matplotlib_formats("svg")

NAIVE, EXACT, IDEAL = (COLOURS[role][0] for role in (Role.NAIVE, Role.EXACT, Role.IDEAL))
FIRST, SECOND = "#e8743b", "#2b7fc4"
"""The colours of P and Q, the laws on the two neighbouring inputs."""

LINE = 84
"""The number of characters of a printed line that fit the page."""


def advantages(bars: Mapping[str, float], ceiling: float) -> None:
    """Draw advantages as bars, with the ceiling of the claim as a dotted line.

    Args:
        bars: the advantage of each mechanism; a name's first word decides the colour: naive, exact or another.
        ceiling: the largest advantage that the claim allows.
    """
    axes = plt.subplots(figsize=(6.4, 0.9 + 0.38 * len(bars)))[1]
    drawn = axes.barh(list(bars), list(bars.values()), color=[_colour(name) for name in bars])
    axes.bar_label(drawn, fmt="%.3g", padding=4, fontsize=9)
    axes.axvline(ceiling, color="black", linestyle=":", linewidth=1.5)
    text = f"ceiling {ceiling:.3g}"
    axes.annotate(
        text, (ceiling, 1.0), (3, 3), xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=9
    )
    axes.set(xlim=(0, max(1.0, *bars.values()) * 1.12), xlabel="distinguishing advantage")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    plt.show()


def _colour(name: str) -> str:
    return {"naive": NAIVE, "exact": EXACT}.get(name[:5], IDEAL)


def two_laws(
    first: Sequence[float], second: Sequence[float], outcomes: Sequence[Any], axes: Axes | None = None
) -> Axes:
    """Draw each outcome's probabilities on the first and on the second input side by side, and return the axes."""
    axes = plt.subplots(figsize=(6.4, 2.8))[1]
    places = np.arange(len(outcomes))
    axes.bar(places - 0.2, first, 0.4, color=FIRST, label="P, on the first input")
    axes.bar(places + 0.2, second, 0.4, color=SECOND, label="Q, on the second input")
    axes.set_xticks(places, [str(outcome) for outcome in outcomes])
    axes.set_ylabel("probability")
    axes.grid(visible=False, axis="x")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    return axes


def tell(findings: Finding | Iterable[Finding]) -> None:
    """Print what findings say: the verdict, the advantage with its ceiling, and the reason."""
    for finding in [findings] if isinstance(findings, Finding) else findings:
        print(f"{finding.target}: {finding.verdict.upper()}")
        found = finding.shown.advantage
        if found is not None:
            bounds = "" if finding.is_proof else f" (bounds {found.lower:.3f} to {found.upper:.3f})"
            print(f"  advantage {found.estimate:.3f}{bounds}, ceiling {finding.shown.ceiling:.3f}")
        print(textwrap.fill(finding.reason, LINE, initial_indent="  ", subsequent_indent="  "))


def tell_line(findings: Iterable[Finding]) -> None:
    """Print for each alignment its verdict, the number of noise outcomes it tried, the line of code, and the reason."""
    for finding in findings:
        print(f"{finding.target}: {finding.verdict.upper()}, {finding.trials} outcomes of the noise")
        line = finding.evidence.source if isinstance(finding.evidence, Alignment) else ""
        if finding.refutes:
            print(f"  line: {line}")
        reason = finding.reason.rpartition(f"{line}: ")[2] if line else finding.reason
        print(textwrap.fill(reason, LINE, initial_indent="  ", subsequent_indent="  "))


@dataclass(frozen=True)
class Bet:
    """An attack of one's own: one pair, and one event to bet on.

    Attributes:
        pair: the two inputs.
        contains: a function from outputs to a mask of those on which the bet wins.
    """

    pair: NeighbouringPair
    contains: Any
    name: str = "my_bet"
    flaw: str = "the event is likelier on the first input than the claim allows"

    def applies_to(self, target: Target) -> bool:  # noqa: ARG002 - the pair says for which target it is meant
        """Return True for any target."""
        return True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - nothing is looked at
        """Return the one scenario: the pair and the event."""
        return (Scenario(self.pair, (Event("my event", self.contains),)),)


def graded(findings: Finding | Iterable[Finding], *wanted: Verdict) -> bool:
    """Print whether each finding has one of the wanted verdicts, and say the result of the challenge.

    Args:
        findings: what the referee found.
        *wanted: the verdicts that solve the challenge; a proof by default.
    """
    listed = [findings] if isinstance(findings, Finding) else list(findings)
    tell(listed)
    solved = bool(listed) and all(finding.verdict in (wanted or (Verdict.PROVED,)) for finding in listed)
    print("SOLVED" if solved else "NOT YET")
    return solved
