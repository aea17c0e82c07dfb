"""Series for figures out of findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from attacklab.claims import PrivacyClaim
from attacklab.figures import Role, Series
from attacklab.findings import Estimate, Finding


def findings_of(data: dict[str, Any], target: str) -> list[Finding]:
    """The findings of one target in a record that brought it to an advantage, in their order."""
    found = (Finding.from_json(finding) for finding in data["findings"])
    return [finding for finding in found if finding.target == target and finding.advantage is not None]


def advantage_of(finding: Finding) -> Estimate:
    """The advantage of one of the findings that `findings_of` gives."""
    assert finding.advantage is not None  # noqa: S101 - it keeps only those
    return finding.advantage


def claimed_epsilon(finding: Finding) -> float:
    """The ε of the claim that a finding is about."""
    return finding.claim.epsilon


def finding_at(data: dict[str, Any], target: str, epsilon: float) -> Finding:
    """The one finding of a target at a claimed ε."""
    (finding,) = (one for one in findings_of(data, target) if claimed_epsilon(one) == epsilon)
    return finding


def advantage_series(findings: Iterable[Finding], x: Callable[[Finding], float], label: str, role: Role) -> Series:
    """The measured advantages with their confidence bounds, against `x` of a finding."""
    shown = [finding for finding in findings if finding.advantage is not None]
    return estimate_series([asdict(advantage_of(finding)) for finding in shown], list(map(x, shown)), label, role)


def estimate_series(estimates: Sequence[Mapping[str, float]], x: Sequence[float], label: str, role: Role) -> Series:
    """Estimates as plain values, with their confidence bounds."""
    y, lower, upper = ([one[name] for one in estimates] for name in ("estimate", "lower", "upper"))
    return Series(label=label, role=role, x=x, y=y, lower=lower, upper=upper)


def ceiling_series(epsilons: Sequence[float]) -> Series:
    """The largest advantage that ε-DP allows."""
    return Series(
        label="ceiling of the claim, tanh(ε/2)",
        role=Role.CEILING,
        x=list(epsilons),
        y=[PrivacyClaim(epsilon).ceiling for epsilon in epsilons],
    )
