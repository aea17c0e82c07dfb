"""Sums that move further than their declared sensitivity (see attacklab.attacks.known_pairs)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from attacklab.attacks.base import Attack, on_path
from attacklab.attacks.known_pairs import INTEGER_CAST, SUM_SENSITIVITY, steepest_step
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.claims import PrivacyClaim
from attacklab.model.domains import Domain
from attacklab.model.findings import Finding
from attacklab.model.neighbours import Relation
from attacklab.model.targets import Target
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments import targets
from experiments.common import curves
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.sweeps import Rows, audits
from experiments.targets.making import named
from experiments.targets.sums import DECLARED, LOWER, NARROW_GRID, UPPER
from mechanisms.core.records import Total
from mechanisms.summation.naive import Summation, correctly_rounded_sum, numpy_sum, pairwise_sum, sequential_sum

QUESTION = "How far does one record move a sum of doubles, and what is that worth?"

ORDERS: tuple[tuple[str, Role, Summation], ...] = (
    ("naive, first to last", Role.NAIVE, sequential_sum),
    ("naive, pairwise", Role.NAIVE, pairwise_sum),
    ("naive, numpy", Role.NAIVE, numpy_sum),
    ("naive, correctly rounded (fsum)", Role.NAIVE, correctly_rounded_sum),
)
EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)

ROUNDED: Rows = (
    (targets.naive_bounded_sum_numpy, "naive, numpy", Role.NAIVE),
    (targets.naive_bounded_sum_correctly_rounded, "naive, correctly rounded (fsum)", Role.NAIVE),
    (targets.exact_bounded_sum, "exact, fixed point", Role.EXACT),
)
WRAPPED: Rows = (
    (targets.naive_age_sum_int16, "naive, ages in 16-bit integers", Role.NAIVE),
    (targets.exact_age_sum, "exact, ages in fixed point", Role.EXACT),
)


@named
def naive_laplace_numpy_on_integers(epsilon: float = 1.0) -> Target:
    """Laplace mechanism, numpy's Generator.laplace, for integers, which it casts to doubles."""
    return replace(targets.naive_laplace_numpy(epsilon), domain=Domain(integers=True))


CAST: Rows = (
    (naive_laplace_numpy_on_integers, "naive, integers near 2^60 cast", Role.NAIVE),
    (targets.exact_rounded_laplace_wide, "exact, integers near 2^60", Role.EXACT),
)
GROUPS: Sequence[tuple[Attack, Rows]] = ((SUM_SENSITIVITY, (*ROUNDED, *WRAPPED)), (INTEGER_CAST, CAST))


def collect(settings: Settings) -> Collected:
    """Measure how far sums move, without noise, and audit each mechanism at each ε."""
    trials = settings.budget(50_000, 4_000)
    cases = [(attack, make, epsilon) for attack, rows in GROUPS for make, _, _ in rows for epsilon in EPSILONS]
    audited = audits(cases, share_of_alpha(DEFAULT_ALPHA, len(cases)), settings, trials=trials)
    findings = [finding for finding in audited if not _adds(finding)]
    sizes = [2**power for power in range(2, settings.budget(15, 12))]
    moves = {label: [float(movement(summation, size) / DECLARED) for size in sizes] for label, _, summation in ORDERS}
    moves["exact, fixed point"] = [float(_fixed_point_movement(size) / DECLARED) for size in sizes]
    return Collected(findings, {"sizes": sizes, "moves": moves})


def _adds(finding: Finding) -> bool:
    """Whether a finding is about added records; the figures show replaced records only."""
    return finding.pair is not None and finding.pair["relation"] == Relation.ADD_REMOVE


def movement(summation: Summation, size: int) -> Fraction:
    """Return how far a sum moves at the steepest step of the path from `size` records at LOWER to all at UPPER."""

    def total(uppers: int) -> float:
        return summation(on_path(LOWER, UPPER, size, uppers))

    step = steepest_step(total, size, 0.0)
    return abs(Fraction(total(step + 1)) - Fraction(total(step)))


def _fixed_point_movement(size: int) -> Fraction:
    """Return how far a step of the path moves the fixed-point sum; all steps move it equally far."""
    query = Total(Fraction(LOWER), Fraction(UPPER), NARROW_GRID, "substitute", above_lower=True)
    totals = [query.of(on_path(LOWER, UPPER, size, uppers)) for uppers in (0, 1, size - 1, size)]
    return max(totals[1] - totals[0], totals[3] - totals[2]) * NARROW_GRID.step


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw how far a record moves the sum against n, and the advantage against ε."""
    sizes, moves = data["measured"]["sizes"], data["measured"]["moves"]
    moving = curves.panel(
        "records in [1, 1 + 2^−48], one of them changed",
        "number of records",
        "the sum's move / declared sensitivity",
        [
            *(curves.line(label, role, sizes, moves[label]) for label, role, _ in ORDERS),
            curves.line("exact, fixed point", Role.EXACT, sizes, moves["exact, fixed point"]),
            curves.line("declared", Role.CEILING, sizes, [1.0] * len(sizes)),
        ],
        x_scale="log",
        y_scale="log",
    )
    caption = "Left: what one record moves. Right and below: what an adversary wins, with simultaneous bounds."
    panels = [
        moving,
        _panel(data, ROUNDED, "sums of records in [1, 1 + 2^−48]"),
        _panel(data, (*WRAPPED, *CAST), "integers that wrap around or are cast to doubles"),
    ]
    return [curves.figure("sum_sensitivity", caption, panels)]


def _panel(data: dict[str, Any], rows: Rows, title: str) -> Panel:
    ideal = curves.ideal_laplace_series("ideal mechanism", EPSILONS)
    return curves.advantage_panel(title, [*curves.advantages_by_epsilon(data, rows), ideal], EPSILONS)


def explain(data: dict[str, Any]) -> str:
    """Say how far the sum moves and what is seen at ε = 1."""
    measured = data["measured"]
    at = measured["sizes"].index(1024)
    return PARAGRAPHS["sum_sensitivity"].format(
        size=measured["sizes"][at],
        moved=min(measured["moves"][label][at] for label, _, _ in ORDERS),
        naive=curves.advantage_at(data, targets.naive_bounded_sum_numpy, 1.0),
        ceiling=PrivacyClaim(1.0).ceiling,
        exact=curves.advantage_at(data, targets.exact_bounded_sum, 1.0),
        ideal=curves.ideal_laplace_advantage(1.0),
        wrapped=curves.advantage_at(data, targets.naive_age_sum_int16, 1.0),
        cast=curves.advantage_at(data, naive_laplace_numpy_on_integers, 1.0),
        uncast=curves.advantage_at(data, targets.exact_rounded_laplace_wide, 1.0),
    )
