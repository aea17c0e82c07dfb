"""Formulas between claims and noise scales, held to certified bounds: ours of both kinds, and those of real libraries.

Of a library only deviations are listed that are publicly known, and nothing else, not even how much of it was found
safe: whatever else is found is withheld as SECURITY.md says. What was found of a library whose environment is not built
stays, with when and where. A quick run asks our own formulas only, the costly ones for every eleventh set of arguments.
Nothing is sampled, so the seed changes nothing.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacklab.calibration import QUANTITIES, CalibrationFinding, ProgramFormula, calibrate, record
from attacklab.calibration.quantities import Arguments
from attacklab.libraries.environments import Environment, environments
from attacklab.model.errors import UsageError
from attacklab.model.files import write_whole
from attacklab.model.findings import Verdict, to_text
from attacklab.processes.lines import Limits
from attacklab.reporting.experiment import Collected, Settings, measured_here
from attacklab.reporting.figures import Figure, Role
from experiments.common.calibration_formulas import NAIVE, SOUND, Formula
from experiments.common.curves import figure, marks, panel
from experiments.common.library_formulas import ASKED
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "Which formulas between a claim and a noise scale fall to the unsafe side, and by how much?"

SCRIPT = Path(__file__).parent / "common" / "library_formulas.py"
SECONDS = 30.0
UNPUBLISHED = Path("reports-unpublished")
COSTLY = (
    "gaussian_sigma",
    "gaussian_epsilon",
    "gaussian_composed_epsilon",
    "zcdp_epsilon",
    "gaussian_threshold",
    "gaussian_threshold_delta",
    "discrete_gaussian_tail",
)
"""Quantities whose bounds take a quick run too long."""

HOSTS: Mapping[str, str] = {"dp_accounting": "jax_privacy"}
"""Libraries that are asked in the environments of another one."""

FLAWS: Mapping[str, str] = {
    "gaussian_sigma": "[classical σ](https://proceedings.mlr.press/v80/balle18a.html), valid below ε = 1 only",
    "zcdp_delta": "[δ falls short by rounding](https://github.com/opendp/opendp/pull/2820)",
    "laplace_tail": "[exponent rounded the wrong way](https://github.com/opendp/opendp/pull/2802)",
    "gaussian_tail": "[quotient rounded the wrong way](https://github.com/opendp/opendp/pull/2802)",
    "discrete_laplace_tail": "[exponent rounded the wrong way](https://github.com/opendp/opendp/pull/2802)",
    "laplace_threshold_delta": "[mass at the threshold missing](https://github.com/opendp/opendp/issues/2922)",
    "gaussian_threshold_delta": "[mass at the threshold missing](https://github.com/opendp/opendp/issues/2922)",
    "laplace_threshold": "[mass at the threshold missing](https://github.com/opendp/opendp/issues/2922)",
    "gaussian_threshold": "[mass at the threshold missing](https://github.com/opendp/opendp/issues/2922)",
    "budget_total": "[budgets added in floats](https://github.com/w3c/attribution/issues/77)",
    "budget_share": "[budgets divided in floats](https://github.com/w3c/attribution/issues/77)",
    "budget_remaining": "[budgets subtracted in floats](https://github.com/w3c/attribution/issues/77)",
}
"""Where the flaw of a naive formula is told of; the others round to nearest, or cancel, in plain doubles."""


@dataclass(frozen=True)
class KnownDeviation:
    """A deviation of a library's that is publicly known.

    Attributes:
        library: whose.
        quantities: in which of its formulas.
        reason: what it is, in one line.
        link: where it is told of.
    """

    library: str
    quantities: tuple[str, ...]
    reason: str
    link: str


KNOWN: tuple[KnownDeviation, ...] = (
    KnownDeviation(
        "opendp",
        ("laplace_threshold_delta", "gaussian_threshold_delta"),
        "the δ of a threshold leaves the mass at the threshold out",
        "https://github.com/opendp/opendp/issues/2922",
    ),
)


def collect(settings: Settings) -> Collected:
    """Hold our own formulas and, unless the run is quick, those of the built environments to certified bounds.

    Warns:
        UserWarning: something is withheld.
    """
    ours = [
        _own(item.name, kind, formulas[item.name], item.grid[:: settings.budget(1, 11) if item.name in COSTLY else 1])
        for item in QUANTITIES
        for kind, formulas in ((Role.NAIVE, NAIVE), (Role.EXACT, SOUND))
    ]
    libraries: list[dict[str, Any]] = []
    withheld: list[CalibrationFinding] = []
    absent = []
    before = {row["environment"]: row for row in _libraries_before(settings)}
    for name, environment in _environments(Path.cwd()):
        if settings.share < 1 or environment.is_missing:
            if environment.name in before:
                libraries.append(before[environment.name])
            else:
                absent.append(f"{name} (`{environment.build}`)")
            continue
        row, new = _library(name, environment)
        libraries.append(row)
        withheld += new
    if withheld:
        _withhold(withheld)
    return Collected(measured={"own": ours}, timings={"libraries": libraries, "absent": absent})


def _libraries_before(settings: Settings) -> list[dict[str, Any]]:
    """What an earlier run found of libraries."""
    rows: list[dict[str, Any]] = ((settings.previous or {}).get("timings") or {}).get("libraries", [])
    return rows


def _own(name: str, kind: Role, formula: Formula, grid: Sequence[Arguments]) -> dict[str, Any]:
    findings = calibrate(name, formula, name=f"{kind} {name}", grid=grid)
    refuted = [finding for finding in findings if finding.verdict is Verdict.VIOLATED]
    return {
        "quantity": name,
        "kind": kind,
        "asked": len(findings),
        **{
            str(verdict): sum(finding.verdict is verdict for finding in findings)
            for verdict in (Verdict.VIOLATED, Verdict.PROVED, Verdict.ERROR)
        },
        "worst": _worst(refuted),
    }


def _worst(refuted: Sequence[CalibrationFinding]) -> dict[str, Any] | None:
    """The refuted number that deviates most, of those whose bound is not 0; None where there is none."""
    measurable = [finding for finding in refuted if math.isfinite(finding.deviation)]
    if not measurable:
        return None
    worst = max(measurable, key=lambda finding: finding.deviation)
    return {**worst.to_json(), "deviation": worst.deviation}


def _environments(root: Path) -> Iterator[tuple[str, Environment]]:
    """The libraries that are asked, each with the newest environment that holds it."""
    for name in ASKED:
        held = [candidate for candidate in environments(root) if candidate.library == HOSTS.get(name, name)]
        if held:
            yield name, held[-1]


def _library(name: str, environment: Environment) -> tuple[dict[str, Any], list[CalibrationFinding]]:
    """What may be listed of a library, and what is withheld."""
    known = {quantity: entry for entry in KNOWN if entry.library == name for quantity in entry.quantities}
    deviations, withheld = [], []
    for quantity in ASKED[name]:
        formula = ProgramFormula([str(environment.python), str(SCRIPT), name], quantity, Limits(seconds=SECONDS))
        try:
            findings = calibrate(quantity, formula, name=f"{name} in {environment.name}")
        finally:
            formula.close()
        refuted = [finding for finding in findings if finding.verdict is Verdict.VIOLATED]
        if _worst(refuted) and quantity in known:
            publication = {"reason": known[quantity].reason, "link": known[quantity].link}
            deviations.append({"quantity": quantity, **publication, "worst": _worst(refuted)})
        else:
            withheld += refuted
    return {
        "library": name,
        "environment": environment.name,
        "known": deviations,
        "measured": measured_here(),
    }, withheld


def _withhold(findings: Sequence[CalibrationFinding]) -> None:
    """Write what is not publicly known where it stays, with a text for those who maintain the library."""
    write_whole(UNPUBLISHED / "calibration.json", to_text(record(findings)))
    worst: dict[tuple[str, str], CalibrationFinding] = {}
    for finding in findings:
        kind = finding.name, finding.quantity
        worst[kind] = max(worst.get(kind, finding), finding, key=lambda finding: finding.deviation)
    parts = [_advisory(finding) for finding in worst.values()]
    advisories = UNPUBLISHED / "calibration.md"
    write_whole(advisories, "\n".join(["# To be reported to the maintainers first", "", *parts]))
    warnings.warn(
        f"NEW DEVIATIONS, withheld until the maintainers know of them: {len(parts)}, in {advisories}", stacklevel=2
    )


def _advisory(finding: CalibrationFinding) -> str:
    arguments = ", ".join(f"{name} = {value!r}" for name, value in finding.parameters.items())
    return f"## {finding.name}: {finding.quantity}\n\nAt {arguments}: {finding.reason}\n"


def figures(data: dict[str, Any]) -> list[Figure]:
    """How far the naive formulas are on the unsafe side."""
    rows = [row for row in data["measured"]["own"] if row["kind"] == Role.NAIVE and row["worst"]][::-1]
    if not rows:
        return []
    names = [row["quantity"] for row in rows]
    series = [
        marks(
            "naive formula",
            Role.NAIVE,
            [_shown(row["worst"]["deviation"]) for row in rows],
            [float(place) for place in range(len(rows))],
        )
    ]
    deviations = panel(
        "largest proved deviation to the unsafe side",
        "part of the certified bound",
        "",
        series,
        x_scale="log",
        y_names=names,
    )
    caption = "By how much formulas are proved to fall to the unsafe side, as a part of the certified bound."
    return [figure("calibration", caption, [deviations])]


def _shown(deviation: float) -> float:
    """A deviation that an axis can hold."""
    return min(max(deviation, sys.float_info.epsilon**2), 1e3)


def explain(data: dict[str, Any]) -> str:
    """The verdicts in words and as tables."""
    measured = data["measured"]
    naive, sound = ([row for row in measured["own"] if row["kind"] == kind] for kind in (Role.NAIVE, Role.EXACT))
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
    return "\n".join([paragraph, "", *_own_table(naive, sound)])


def explain_timings(data: dict[str, Any]) -> str:
    """Which libraries were asked, and what is publicly known of them."""
    asked, absent = data["timings"]["libraries"], data["timings"]["absent"]
    paragraph = PARAGRAPHS["calibration_libraries"].format(
        libraries=", ".join(row["environment"] for row in asked) or "none",
        absent=f"Not asked: {', '.join(absent)}." if absent else "",
    )
    return "\n".join([paragraph.rstrip(), "", *_library_table(asked)]).rstrip()


def _own_table(naive: Sequence[dict[str, Any]], sound: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| quantity | the naive formula's flaw | refuted | deviates by | the sound one: proved safe | refuted |"
    yield "|---|---|---|---|---|---|"
    for row, twin in zip(naive, sound, strict=True):
        flaw = FLAWS.get(row["quantity"], "plain doubles")
        deviates = f"{row['worst']['deviation']:.1g}" if row["worst"] else ""
        yield (
            f"| {row['quantity']} | {flaw} | {row[Verdict.VIOLATED]} of {row['asked']} | {deviates} | "
            f"{twin[Verdict.PROVED]} of {twin['asked']} | {twin[Verdict.VIOLATED]} |"
        )


def _library_table(libraries: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not libraries:
        return
    yield "| library | measured | publicly known deviation | returned | certified bound |"
    yield "|---|---|---|---|---|"
    for row in libraries:
        measured = row["measured"]
        where = f"{measured['date']}, {measured['system']} {measured['machine']}, Python {measured['python']}"
        yield f"| {row['library']} in {row['environment']} | {where} | | | |"
        for flaw in row["known"]:
            worst = CalibrationFinding.from_json(
                {name: value for name, value in flaw["worst"].items() if name != "deviation"}
            )
            arguments = ", ".join(f"{name} = {value:g}" for name, value in worst.parameters.items())
            yield (
                f"| | | [{flaw['quantity']}]({flaw['link']}): {flaw['reason']}; at {arguments} | {worst.returned!r} | "
                f"{worst.bound} |"
            )
