"""A scoreboard of real DP libraries: what is installed here and in the built environments, under every attack.

Rows of environments that are not built here stay as an earlier run measured them. What an audit refutes and
`expected_failures` does not list is withheld: it goes to `reports-unpublished/`, which no repository holds, and a
warning says so. The page lists only what was expected of a mechanism that is refuted, so that no missing row tells what
is withheld.
"""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attacklab.attacks import ATTACKS, SUM_SENSITIVITY, Attack, Precision
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.libraries import library
from attacklab.loading.environments import environments
from attacklab.model.files import write_whole
from attacklab.model.findings import WORST_FIRST, Finding, Verdict, decisive, record, to_text
from attacklab.processes.targets import ProcessRelease, isolated
from attacklab.reporting.experiment import Collected, Settings, measured_here
from attacklab.reporting.figures import Cell, Figure, Matrix
from experiments.common.curves import figure
from experiments.common.expected_failures import Status, expected, expected_failures, status
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "What do the attacks find in the DP libraries that people use?"
HERE = ("numpy", "scipy")  # what the lab depends on is audited by this interpreter, all else in its own environment
NARROW_BOUNDS = (1.0, 1.0 + 2.0**-48)  # a sum's doubles are further apart than its sensitivity
UNPUBLISHED = Path("reports-unpublished")
QUICK_ATTACKS: tuple[Attack, ...] = (Precision(), SUM_SENSITIVITY.given(most_records=1 << 10))
Row = dict[str, Any]
Entry = tuple[Row, list[Finding]]


class Case(NamedTuple):
    """A mechanism, `library:name`, in one environment; None means the environment of this interpreter."""

    environment: str | None
    spec: str
    python: str

    def findings(self, seconds: float, alpha: float, settings: Settings) -> list[Finding]:
        """Return the findings of an audit of the mechanism at ε = 1."""
        bounds: dict[str, Any] = {"bounds": NARROW_BOUNDS} if self.spec.endswith(":sum") else {}
        target = isolated(self.spec, python=self.python, epsilon=1.0, **bounds)
        spec = f"{self.spec} --epsilon 1" + (" --bounds {!r} {!r}".format(*NARROW_BOUNDS) if bounds else "")
        spec += f" --in-env {self.environment}" if self.environment else ""
        attacks = QUICK_ATTACKS if settings.share < 1 else ATTACKS
        try:
            options: dict[str, Any] = {"alpha": alpha, "seed": settings.seed, "spend_all": True, "spec": spec}
            return audit(target, attacks, seconds=seconds, **options)
        finally:
            if isinstance(target.release, ProcessRelease):
                target.release.close()


def all_cases(root: Path, *, only_here: bool = False) -> list[Case]:
    """Return all mechanisms of this interpreter and, unless `only_here`, of the environments built at `root`."""
    here = [Case(None, f"{name}:{member}", sys.executable) for name in HERE for member in library(name).mechanisms]
    return here + [
        Case(made.name, f"{made.library}:{member}", str(made.python))
        for made in environments(root)
        if not (only_here or made.is_missing)
        for member in library(made.library).mechanisms_of(made.version)
    ]


def collect(settings: Settings) -> Collected:
    """Audit every mechanism; keep what is publicly known or is not a failure, and withhold the rest with a warning."""
    root, seconds = Path.cwd(), 1.0 if settings.share < 1 else 8.0
    cases, described = all_cases(root, only_here=settings.share < 1), {made.name: made for made in environments(root)}
    judged, audited, failed = _audited(cases, seconds, settings)
    order = [None, *described]
    judged += _earlier(settings.previous, described, audited)
    published = sorted(_published(judged), key=lambda entry: order.index(entry[0]["environment"]))
    rows = [row for row, _ in published]
    kept = list(dict.fromkeys(row["environment"] for row in rows if _case(row) not in audited))
    unbuilt = [made for made in described.values() if made.name not in kept and (settings.share < 1 or made.is_missing)]
    absent = [f"{made.name} (`{made.build}`)" for made in unbuilt]
    timings = {"rows": rows, "seconds": seconds, "kept": kept, "failed": failed, "absent": absent}
    return Collected(timings=timings, timed_findings=list(itertools.chain(*(group for _, group in published))))


def _audited(cases: Sequence[Case], seconds: float, settings: Settings) -> tuple[list[Entry], set[Any], list[str]]:
    """Audit cases. Return the entries of the scoreboard, the cases audited, and why each other one cannot be loaded."""
    judged, audited, failed = [], set(), []
    for case in cases:
        try:
            findings = case.findings(seconds, share_of_alpha(DEFAULT_ALPHA, len(cases)), settings)
        except ValueError as error:
            failed.append(f"{case.spec} in {case.environment}: {error}")
            continue
        audited.add(case[:2])
        applied = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
        groups = ([finding for finding in applied if finding.attack == attack.name] for attack in ATTACKS)
        judged += [_judged(case, group) for group in groups if group]
    return judged, audited, failed


def _earlier(previous: Any, described: Container[Any], audited: Container[Any]) -> Iterator[Entry]:
    """Yield the entries of an earlier run for environments that are still pinned and were not audited now."""
    for row in previous["timings"]["rows"] if previous else ():
        if row["environment"] in described and _case(row) not in audited:
            wanted = (_case(row)[1], row["version"], row["attack"])
            found = previous["findings"]
            group = [each for each in found if (each.target, each.target_version, each.attack) == wanted]
            yield _compared(row, group), group


def _case(row: Row) -> tuple[str | None, str]:
    return row["environment"], f"{row['library']}:{row['mechanism']}"


def _judged(case: Case, group: list[Finding]) -> Entry:
    """Return the scoreboard's row for one attack on one mechanism, by its worst scenario, and all its findings."""
    worst = max(decisive(group), key=lambda finding: finding.shown.epsilon_lower or 0.0)
    name, _, mechanism = case.spec.partition(":")
    row: Row = {"environment": case.environment, "library": name, "version": worst.target_version}
    row |= {"mechanism": mechanism, "attack": worst.attack, "verdict": worst.verdict, "reason": worst.reason}
    detectable = worst.samples.smallest_detectable if worst.samples else None
    row |= {"epsilon_lower": worst.shown.epsilon_lower, "smallest_detectable": detectable}
    row |= {"trials": sum(finding.trials for finding in group), "measured": measured_here()}
    return _compared(row, group), group


def _compared(row: Row, group: Sequence[Finding]) -> Row:
    """Return a row with its status (the verdict compared with what is publicly known) and the link of a known flaw."""
    version = row["version"].rpartition(" ")[2]
    link = expected(expected_failures(), row["library"], version, row["mechanism"], row["attack"])
    few = any(finding.samples and finding.samples.trials_needed is not None for finding in group)
    said = status(Verdict(row["verdict"]), is_expected=link is not None, too_few_trials=few)
    return {**row, "status": said, "link": link}


def _published(judged: Sequence[Entry]) -> list[Entry]:
    """Return the entries that may be published; write each new failure to a file of its own in `UNPUBLISHED`."""
    refuted = {_case(row) for row, _ in judged if row["verdict"] == Verdict.VIOLATED}
    for row, group in judged:
        if row["status"] == Status.NEW:
            file = UNPUBLISHED / f"{row['version']} {row['mechanism']} {row['attack']}.json"
            write_whole(file, to_text(record(group)))
            warnings.warn(f"NEW FAILURE, withheld until the maintainers know of it: {file}", stacklevel=3)
    open_ = [entry for entry in judged if entry[0]["status"] != Status.NEW]
    return [(row, group) for row, group in open_ if row["link"] or _case(row) not in refuted]


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Draw versions of libraries against mechanisms, with the largest ε that any attack proves for each."""
    cells: dict[str, dict[str, Cell]] = {}
    for row in sorted(data["timings"]["rows"], key=lambda row: row["epsilon_lower"] or 0.0):
        cells.setdefault(row["mechanism"], {}).setdefault(row["version"], Cell(verdict=Verdict.NOT_APPLICABLE))
        verdict, bound = Verdict(row["verdict"]), math.floor(10 * (row["epsilon_lower"] or 0.0)) / 10
        if WORST_FIRST.index(verdict) <= WORST_FIRST.index(cells[row["mechanism"]][row["version"]].verdict):
            text = f"{bound:.1f}" if verdict in (Verdict.VIOLATED, Verdict.NOT_DETECTED) else ""
            cells[row["mechanism"]][row["version"]] = Cell(verdict=verdict, text=text)
    if not cells:
        return []
    names, versions = sorted(cells), list(dict.fromkeys(row["version"] for row in data["timings"]["rows"]))
    shown = [[cells[name].get(version, Cell(verdict=Verdict.NOT_APPLICABLE)) for version in versions] for name in names]
    title = "the largest ε that an attack proves of mechanisms that claim ε = 1"
    matrix = Matrix(title=title, row_names=names, column_names=versions, cells=shown)
    return [figure("libraries", f"By library and version, {title}. Empty: nothing is listed.", [matrix])]


def explain_timings(data: dict[str, Any]) -> str:
    """Return the scoreboard in words."""
    measured, rows = data["timings"], data["timings"]["rows"]
    missed = [row for row in rows if row["status"] == Status.PASSES]
    passes = ", ".join(f"{row['mechanism']} of {row['version']} under {row['attack']}" for row in missed)
    labels = {"kept": "Measured by an earlier run", "absent": "Not audited", "failed": "**Could not be loaded**"}
    said = PARAGRAPHS["libraries"].format(
        listed=len({(row["version"], row["mechanism"]) for row in rows}),
        versions=len({row["version"] for row in rows}),
        seconds=measured["seconds"],
        known=sum(row["status"] == Status.KNOWN for row in rows),
        passes=f"**UNEXPECTED PASSES: {passes}**" if passes else "none that is expected was missed",
        absent=" ".join(f"{words}: {', '.join(measured[key])}." for key, words in labels.items() if measured[key]),
    )
    return said.rstrip()
