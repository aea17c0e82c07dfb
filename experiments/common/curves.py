"""Series and panels of figures, made from findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Estimate, Finding
from attacklab.reporting.figures import Figure, Matrix, Panel, Role, Series
from experiments.common.sweeps import Maker, Rows


def figure(name: str, caption: str, panels: Iterable[Panel | Matrix]) -> Figure:
    """Return a figure; see `Figure`."""
    return Figure(name=name, caption=caption, panels=list(panels))


def panel(title: str, x_label: str, y_label: str, series: Iterable[Series], **axes: Any) -> Panel:
    """Return a panel; `axes` are the scales and names that `Panel` takes."""
    return Panel(title=title, x_label=x_label, y_label=y_label, series=list(series), **axes)


def line(label: str, role: Role, x: Iterable[float], y: Iterable[float]) -> Series:
    """Return a line without confidence bounds."""
    return Series(label=label, role=role, x=list(x), y=list(y))


def lines(x: Iterable[float], rows: Iterable[tuple[str, Role, Iterable[float]]]) -> list[Series]:
    """Return a line for each row (label, role, y); all lines have the same `x`."""
    places = list(x)
    return [line(label, role, places, y) for label, role, y in rows]


def marks(label: str, role: Role, x: Iterable[float], y: Iterable[float]) -> Series:
    """Return points with no line through them."""
    return Series(label=label, role=role, x=list(x), y=list(y), marks_only=True)


def findings_of(data: dict[str, Any], target: str) -> list[Finding]:
    """Return the findings of one target in a record that have an advantage, in their order."""
    findings = (Finding.from_json(finding) for finding in data["findings"])
    return [finding for finding in findings if finding.target == target and finding.shown.advantage is not None]


def advantage_of(finding: Finding) -> Estimate:
    """Return the advantage of a finding that `findings_of` returned."""
    advantage = finding.shown.advantage
    assert advantage is not None  # noqa: S101 - it keeps only those
    return advantage


def claimed_epsilon(finding: Finding) -> float:
    """Return the ε of the claim that a finding is about."""
    return finding.claim.nominal.epsilon


def finding_at(findings: Iterable[Finding], epsilon: float) -> Finding:
    """Return the only finding at a claimed ε."""
    (finding,) = (finding for finding in findings if claimed_epsilon(finding) == epsilon)
    return finding


def advantage_at(data: dict[str, Any], make: Maker, epsilon: float) -> float:
    """Return the measured advantage over the target `make(epsilon)`."""
    return advantage_of(finding_at(findings_of(data, make.__name__), epsilon)).estimate


def advantages_by_epsilon(data: dict[str, Any], rows: Rows) -> list[Series]:
    """Return the measured advantages against the claimed ε, one series for each row."""
    return [
        advantage_series(findings_of(data, make.__name__), claimed_epsilon, label, role) for make, label, role in rows
    ]


def advantage_panel(title: str, series: Iterable[Series], epsilons: Sequence[float]) -> Panel:
    """Return a panel with advantages against the claimed ε, and the ceiling of the claim."""
    return Panel(
        title=title,
        x_label="claimed ε",
        y_label="distinguishing advantage P[E] − Q[E]",
        x_scale="log",
        series=[*series, ceiling_series(epsilons)],
    )


def advantage_series(findings: Iterable[Finding], x: Callable[[Finding], float], label: str, role: Role) -> Series:
    """Return the measured advantages with their confidence bounds, against `x(finding)`."""
    shown = [finding for finding in findings if finding.shown.advantage is not None]
    return estimate_series([asdict(advantage_of(finding)) for finding in shown], list(map(x, shown)), label, role)


def estimate_series(estimates: Sequence[Mapping[str, float]], x: Sequence[float], label: str, role: Role) -> Series:
    """Return a series of estimates; each is a mapping with the keys estimate, lower and upper."""
    y, lower, upper = ([estimate[name] for estimate in estimates] for name in ("estimate", "lower", "upper"))
    return Series(label=label, role=role, x=x, y=y, lower=lower, upper=upper)


def ideal_laplace_advantage(epsilon: float) -> float:
    """Return the largest advantage of any event against ideal Laplace noise, for answers one sensitivity apart."""
    return -math.expm1(-epsilon / 2)


def ideal_laplace_series(label: str, epsilons: Sequence[float]) -> Series:
    """Return the largest advantage against ideal Laplace noise as a line, against ε."""
    return line(label, Role.IDEAL, epsilons, map(ideal_laplace_advantage, epsilons))


def ceiling_series(epsilons: Sequence[float]) -> Series:
    """Return the largest advantage that ε-DP allows as a line, against ε."""
    ceilings = [PrivacyClaim(epsilon).ceiling for epsilon in epsilons]
    return line("ceiling of the claim, tanh(ε/2)", Role.CEILING, epsilons, ceilings)
