"""Zero-rounding against the exponential mechanism (see attacklab.attacks.zero_rounding)."""

from __future__ import annotations

import math
from typing import Any

from attacklab.attacks import ZeroRounding
from attacklab.model.findings import Finding
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments import targets
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Maker, Rows, sweep

QUESTION = "How well does one answer tell two neighbours apart when weights underflow to zero?"

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TARGETS: Rows = (
    (targets.naive_exponential, "naive", Role.NAIVE),
    (targets.naive_exponential_stabilised, "naive, largest utility subtracted", Role.NAIVE),
    (targets.exact_exponential, "exact", Role.EXACT),
)
ATTACK = ZeroRounding()


def collect(settings: Settings) -> Collected:
    """Audit each mechanism at each ε."""
    trials = settings.budget(100_000, 5_000)
    findings = sweep((make for make, *_ in TARGETS), EPSILONS, ATTACK, settings, trials=trials)
    forms = (2, ATTACK.outcomes)
    ideal = {str(outcomes): [ideal_advantage(epsilon, outcomes) for epsilon in EPSILONS] for outcomes in forms}
    return Collected(findings, {"epsilons": EPSILONS, "ideal": ideal})


def ideal_advantage(epsilon: float, outcomes: int) -> float:
    """Return the ideal advantage of outcome 0: better by Δu on one input, equal (of two: worse) on the other."""
    better = 1 / (1 + (outcomes - 1) * math.exp(-epsilon / 2))
    return better - (1 / outcomes if outcomes > 2 else 1 - better)


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the advantage against ε, a panel for each of the two forms of the attack."""
    caption = "Advantage of the bet on outcome 0 against ε; bands are simultaneous confidence bounds."
    return [curves.figure("zero_rounding", caption, [_panel(data, outcomes) for outcomes in (2, ATTACK.outcomes)])]


def _panel(data: dict[str, Any], outcomes: int) -> Panel:
    measured = [
        curves.advantage_series(_of_form(data, make.__name__, outcomes), curves.claimed_epsilon, label, role)
        for make, label, role in TARGETS
    ]
    epsilons = data["measured"]["epsilons"]
    ideal = curves.line("ideal mechanism", Role.IDEAL, epsilons, data["measured"]["ideal"][str(outcomes)])
    return curves.advantage_panel(f"{outcomes} outcomes", [*measured, ideal], epsilons)


def _of_form(data: dict[str, Any], target: str, outcomes: int) -> list[Finding]:
    findings = curves.findings_of(data, target)
    return [finding for finding in findings if finding.pair and finding.pair["first"]["shape"] == [outcomes]]


def explain(data: dict[str, Any]) -> str:
    """Say what is seen at ε = 0.5, and why."""
    at = data["measured"]["epsilons"].index(0.5)

    def seen(make: Maker, outcomes: int) -> float:
        return curves.advantage_of(curves.finding_at(_of_form(data, make.__name__, outcomes), 0.5)).estimate

    two, many = (
        f"{seen(targets.naive_exponential, outcomes):.4f} against {data['measured']['ideal'][str(outcomes)][at]:.4f} "
        f"for the ideal mechanism and {seen(targets.exact_exponential, outcomes):.4f} for the exact one"
        for outcomes in (2, ATTACK.outcomes)
    )
    pair = curves.finding_at(_of_form(data, "naive_exponential", 2), 0.5).pair
    assert pair is not None  # noqa: S101 - `_of_form` keeps only those
    return PARAGRAPHS["zero_rounding"].format(pair=pair, two=two, many=many, outcomes=ATTACK.outcomes)
