"""Formulas between claims and noise scales, checked against certified bounds: a naive and a sound one each.

A run with a smaller budget asks the costly ones for every eleventh set of arguments. Nothing is sampled, so the seed
changes nothing.
"""

from __future__ import annotations

import math
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attacklab.calibration import QUANTITIES, calibrate
from attacklab.calibration.quantities import Arguments
from attacklab.model.errors import UsageError
from attacklab.model.findings import Verdict
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
from experiments.common.calibration_formulas import NAIVE, SOUND, Formula
from experiments.common.curves import figure, marks, panel
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "Which formulas between a claim and a noise scale fall to the unsafe side, and by how much?"

COSTLY = (
    *("gaussian_sigma", "gaussian_epsilon", "gaussian_composed_epsilon", "zcdp_epsilon"),
    *("threshold_gaussian", "gaussian_threshold_delta", "discrete_gaussian_tail"),
    *("zcdp_delta", "sampled_gaussian_epsilon"),
)
"""Quantities whose bounds take long to compute."""

FLAWS: Mapping[str, str] = tomllib.loads((Path(__file__).parent / "data" / "calibration_flaws.toml").read_text("utf-8"))
"""The flaw of a naive formula, with its source; formulas without an entry round to nearest, or cancel, in doubles."""


def collect(settings: Settings) -> Collected:
    """Check our own formulas against certified bounds."""
    own = [
        _own(item.name, kind, formulas[item.name], item.grid[:: settings.budget(1, 11) if item.name in COSTLY else 1])
        for item in QUANTITIES
        for kind, formulas in ((Role.NAIVE, NAIVE), (Role.EXACT, SOUND))
    ]
    return Collected(measured={"own": own})


def _own(name: str, kind: Role, formula: Formula, grid: Sequence[Arguments]) -> dict[str, Any]:
    findings = calibrate(name, formula, name=f"{kind} {name}", grid=grid)
    counted = (Verdict.VIOLATED, Verdict.PROVED, Verdict.ERROR)
    counts = {str(verdict): sum(finding.verdict is verdict for finding in findings) for verdict in counted}
    refuted = [finding for finding in findings if finding.verdict is Verdict.VIOLATED and finding.deviation < math.inf]
    worst = max(refuted, key=lambda finding: finding.deviation, default=None)
    told = worst and {**worst.to_json(), "deviation": worst.deviation}
    return {"quantity": name, "kind": kind, "asked": len(findings), **counts, "worst": told}


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw how far the naive formulas are on the unsafe side."""
    rows = [row for row in data["measured"]["own"] if row["kind"] == Role.NAIVE and row["worst"]][::-1]
    shown = [min(max(row["worst"]["deviation"], sys.float_info.epsilon**2), 1e3) for row in rows]
    series, names = [marks("naive formula", Role.NAIVE, shown, range(len(rows)))], [row["quantity"] for row in rows]
    title, unit = "largest proved deviation to the unsafe side", "part of the certified bound"
    deviations = panel(title, unit, "", series, x_scale="log", y_names=names)
    caption = "By how much formulas are proved to fall to the unsafe side, as a part of the certified bound."
    return [figure("calibration", caption, [deviations])] if rows else []


def explain(data: dict[str, Any]) -> str:
    """Return the verdicts in words and as a table."""
    own = data["measured"]["own"]
    naive, sound = ([row for row in own if row["kind"] == kind] for kind in (Role.NAIVE, Role.EXACT))
    deviations = [row["worst"]["deviation"] for row in naive if row["worst"]]
    if not deviations:
        raise UsageError("no naive formula was refuted, so there is nothing to explain; look at the findings")
    accused = sum(row[Verdict.VIOLATED] > 0 for row in sound)
    paragraph = PARAGRAPHS["calibration"].format(
        naive=len(naive),
        asked=sum(row["asked"] for row in naive),
        refuted=len(deviations),
        least=min(deviations),
        most=max(deviations),
        sound=len(sound),
        accused=f"{accused} are" if accused else "none is",
    )
    head = "| quantity | the naive formula's flaw | refuted | deviates by | the sound one: proved safe | refuted |"
    lines = [paragraph, "", head, "|---|---|---|---|---|---|"]
    for row, twin in zip(naive, sound, strict=True):
        flaw = FLAWS.get(row["quantity"], "plain doubles")
        deviates = f"{row['worst']['deviation']:.1g}" if row["worst"] else ""
        lines.append(
            f"| {row['quantity']} | {flaw} | {row[Verdict.VIOLATED]} of {row['asked']} | {deviates} | "
            f"{twin[Verdict.PROVED]} of {twin['asked']} | {twin[Verdict.VIOLATED]} |"
        )
    return "\n".join(lines)
