"""Series for figures out of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attacklab.claims import PrivacyClaim
from attacklab.figures import Role, Series
from attacklab.findings import Finding


def findings_of(data: dict[str, Any], target: str) -> list[Finding]:
    """The findings of one target in a record that brought it to an advantage, in their order."""
    found = (Finding.from_json(finding) for finding in data["findings"])
    return [finding for finding in found if finding.target == target and finding.advantage is not None]


def advantage_series(findings: Iterable[Finding], x: Callable[[Finding], float], label: str, role: Role) -> Series:
    """The measured advantages with their confidence bounds, against `x` of a finding."""
    points = [(x(finding), finding.advantage) for finding in findings if finding.advantage is not None]
    return Series(
        label=label,
        role=role,
        x=[where for where, _ in points],
        y=[advantage.estimate for _, advantage in points],
        lower=[advantage.lower for _, advantage in points],
        upper=[advantage.upper for _, advantage in points],
    )


def ceiling_series(epsilons: Sequence[float]) -> Series:
    """The largest advantage that ε-DP allows."""
    return Series(
        label="ceiling of the claim, tanh(ε/2)",
        role=Role.CEILING,
        x=list(epsilons),
        y=[PrivacyClaim(epsilon).ceiling for epsilon in epsilons],
    )
