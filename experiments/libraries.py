"""A scoreboard of real DP libraries: what is installed here and in the built environments, under every attack.

Whatever an audit refutes and `expected_failures` does not list is withheld: it is written to `reports-unpublished/`,
which no repository holds, with a text that can be sent to the maintainers, and a warning says so. Of a mechanism that
is refuted the page lists only what was expected, so that no missing row tells what is withheld. A quick run audits what
this interpreter has.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attacklab.attacks import ATTACKS, Attack, Precision, SumSensitivity
from attacklab.findings import Finding, Verdict, decisive, lower_text, record, to_text, write_whole
from attacklab.isolation import isolated
from attacklab.isolation.targets import ProcessRelease
from attacklab.libraries import Library, library
from attacklab.libraries.environments import environments
from attacklab.referee import DEFAULT_ALPHA
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Cell, Figure, Matrix
from attacklab.statistics.inference import share_of_alpha
from attacklab.targets import Target
from attacklab.timed_audit import paced_audit
from experiments.expected_failures import ExpectedFailure, Status, expected, expected_failures, status

QUESTION = "What do the attacks find in the DP libraries that people use?"

EPSILON = 1.0
HERE = ("numpy", "scipy")
"""What the lab itself depends on is audited by this interpreter; all else in environments of their own."""

NARROW_BOUNDS = (1.0, 1.0 + 2.0**-48)
"""Bounds of a sum within which its doubles are further apart than its sensitivity."""

GRAVEST_FIRST = (Verdict.VIOLATED, Verdict.ERROR, Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE)
"""Which verdict of its attacks a mechanism's cell in the figure shows."""

UNPUBLISHED = Path("reports-unpublished")
QUICK_ATTACKS: tuple[Attack, ...] = (Precision(), SumSensitivity(most_records=1 << 10))

PARAGRAPH = """\
{listed} mechanisms of {libraries} are listed, each audited with as many trials as there was time for in about
{seconds:g} s. {known} known flaws were found again; {passes}. Of a mechanism that is refuted only flaws are listed that
are publicly known: others are told to the maintainers first. Of what is not refuted, no more is known than the smallest
advantage that would have been detected. {absent}"""


@dataclass(frozen=True)
class Audited:
    """A mechanism in one environment; None stands for that of this interpreter."""

    library: Library
    mechanism: str
    environment: str | None
    python: str

    @property
    def spec(self) -> str:
        """What loads it on the command line."""
        return f"{self.library.name}:{self.mechanism}"

    def target(self) -> Target:
        """The mechanism at ε = 1."""
        parameters: dict[str, Any] = {"epsilon": EPSILON}
        if self.mechanism == "sum":
            parameters["bounds"] = NARROW_BOUNDS
        return isolated(self.spec, python=self.python, **parameters)

    def replay(self) -> str:
        """The words after `attacklab audit` that load it."""
        words = [self.spec, "--epsilon", f"{EPSILON:g}"]
        if self.mechanism == "sum":
            words += ["--lower", repr(NARROW_BOUNDS[0]), "--upper", repr(NARROW_BOUNDS[1])]
        return " ".join([*words, *(["--in-env", self.environment] if self.environment else [])])


def audited_here() -> list[Audited]:
    """All mechanisms of this interpreter."""
    return [Audited(known, name, None, sys.executable) for known in map(library, HERE) for name in known.mechanisms]


def audited_in_environments(root: Path) -> list[Audited]:
    """All mechanisms of the environments built at `root`."""
    return [
        Audited(known, name, environment.name, str(environment.python))
        for environment in environments(root)
        if not environment.is_missing
        for known in [library(environment.library)]
        for name in known.mechanisms_of(environment.version)
    ]


def collect(settings: Settings) -> Collected:
    """Audit every mechanism; keep what is publicly known, or is no failure, and withhold the rest.

    Warns:
        UserWarning: something is withheld.
    """
    failures = expected_failures()
    seconds = 1.0 if settings.quick else 8.0
    cases = audited_here() + ([] if settings.quick else audited_in_environments(Path.cwd()))
    published: list[Finding] = []
    withheld: list[Finding] = []
    rows, failed = [], []
    for case in cases:
        try:
            findings = _findings(case, seconds, share_of_alpha(DEFAULT_ALPHA, len(cases)), settings)
        except ValueError as error:  # an environment that is broken hides no other
            failed.append(f"{case.spec} in {case.environment}: {error}")
            continue
        judged = [(found, _row(case, found, failures)) for found in _by_attack(findings)]
        is_refuted = any(row["verdict"] is Verdict.VIOLATED for _, row in judged)
        for found, row in judged:
            if row["status"] is Status.NEW:
                withheld += found
            elif row["link"] or not is_refuted:
                published += found
                rows.append(row)
    if withheld:
        _withhold(withheld)
    absent = [f"{one.name} (`{one.build}`)" for one in environments(Path.cwd()) if settings.quick or one.is_missing]
    measured = {
        "rows": rows,
        "seconds": seconds,
        "absent": absent,
        "failed": failed,
    }
    return Collected(published, measured)


def _findings(case: Audited, seconds: float, alpha: float, settings: Settings) -> list[Finding]:
    attacks: Sequence[Attack] = QUICK_ATTACKS if settings.quick else ATTACKS
    target = case.target()
    try:
        audited = paced_audit(
            target, attacks, seconds=seconds, alpha=alpha, seed=settings.seed, spend_all=True, spec=case.replay()
        )
        return [finding for one in audited for finding in one.findings]
    finally:
        if isinstance(target.release, ProcessRelease):
            target.release.close()


def _by_attack(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """The findings of each attack that came to a verdict."""
    for attack in dict.fromkeys(finding.attack for finding in findings):
        found = [one for one in findings if one.attack == attack and one.verdict is not Verdict.NOT_APPLICABLE]
        if found:
            yield found


def _row(case: Audited, found: Sequence[Finding], failures: Sequence[ExpectedFailure]) -> dict[str, Any]:
    """What the scoreboard says of one attack on one mechanism: its worst scenario."""
    worst = max(decisive(found), key=lambda one: one.epsilon_lower or 0.0)
    version = worst.target_version.rpartition(" ")[2]
    link = expected(failures, case.library.name, version, case.mechanism, worst.attack)
    return {
        "library": case.library.name,
        "version": worst.target_version,
        "mechanism": case.mechanism,
        "attack": worst.attack,
        "verdict": worst.verdict,
        "status": status(
            worst.verdict,
            is_expected=link is not None,
            too_few_trials=any(one.trials_needed is not None for one in found),
        ),
        "link": link,
        "reason": worst.reason,
        "epsilon_lower": worst.epsilon_lower,
        "advantage": worst.advantage.estimate if worst.advantage else None,
        "smallest_detectable": worst.smallest_detectable,
        "trials": sum(one.trials for one in found),
        "seconds": sum(one.seconds for one in found),
    }


def _withhold(findings: Sequence[Finding]) -> None:
    """Write what is not publicly known where it stays, with a text for those who maintain the library."""
    write_whole(UNPUBLISHED / "libraries.json", to_text(record(findings)))
    parts = [_advisory(finding) for finding in findings if finding.verdict is Verdict.VIOLATED]
    advisories = UNPUBLISHED / "libraries.md"
    write_whole(advisories, "\n".join(["# To be reported to the maintainers first", "", *parts]))
    warnings.warn(
        f"NEW FAILURES, withheld until the maintainers know of them: {len(parts)}, in {advisories}", stacklevel=2
    )


def _advisory(finding: Finding) -> str:
    claim = finding.claim
    return (
        f"## {finding.target} ({finding.target_version})\n\n"
        f"It claims ε = {claim.epsilon:g}, δ = {claim.delta:g}. On the pair\n\n    {finding.pair}\n\n"
        f"the event\n\n    {finding.event}\n\nrefutes that: {finding.reason} (probability of a false alarm "
        f"{finding.alpha:.2g}; {finding.trials} outputs).\nReplay: `{finding.replay}`\n"
    )


def figures(data: dict[str, Any]) -> list[Figure]:
    """Versions of libraries against mechanisms, with the most that any attack proves of each."""
    rows = data["measured"]["rows"]
    if not rows:
        return []
    versions = list(dict.fromkeys(row["version"] for row in rows))
    mechanisms = _families_together(row["mechanism"] for row in rows)
    matrix = Matrix(
        title=f"the largest ε that an attack proves of mechanisms that claim ε = {EPSILON:g}",
        row_names=mechanisms,
        column_names=versions,
        cells=[
            [
                _cell([row for row in rows if (row["mechanism"], row["version"]) == (mechanism, version)])
                for version in versions
            ]
            for mechanism in mechanisms
        ],
    )
    caption = (
        f"Mechanisms, all of which claim ε = {EPSILON:g}, by library and version; the number is the largest ε that an "
        "attack proves. Empty: nothing is listed."
    )
    return [Figure(name="libraries", caption=caption, panels=[matrix])]


def _families_together(mechanisms: Iterable[str]) -> list[str]:
    """Names without repetitions: those that begin with the same word follow each other, and so do their variants."""
    names = list(dict.fromkeys(mechanisms))
    families = list(dict.fromkeys(name.partition("_")[0] for name in names))
    return sorted(names, key=lambda name: families.index(name.partition("_")[0]))


def _cell(rows: Sequence[dict[str, Any]]) -> Cell:
    """The gravest verdict on one mechanism of one version, and the largest ε that is proved under it, rounded down."""
    for verdict in GRAVEST_FIRST:
        proved = [row["epsilon_lower"] or 0.0 for row in rows if row["verdict"] == verdict]
        if proved:
            has_bound = verdict in (Verdict.VIOLATED, Verdict.NOT_DETECTED)
            return Cell(verdict=verdict, text=f"{math.floor(10 * max(proved)) / 10:.1f}" if has_bound else "")
    return Cell(verdict=Verdict.NOT_APPLICABLE)


def explain(data: dict[str, Any]) -> str:
    """The scoreboard in words and as a table."""
    measured = data["measured"]
    rows = measured["rows"]
    passes = [
        f"{row['mechanism']} of {row['version']} under {row['attack']}"
        for row in rows
        if row["status"] == Status.PASSES
    ]
    paragraph = PARAGRAPH.format(
        listed=len({(row["version"], row["mechanism"]) for row in rows}),
        libraries=", ".join(dict.fromkeys(row["version"] for row in rows)),
        seconds=measured["seconds"],
        known=sum(row["status"] == Status.KNOWN for row in rows),
        passes=f"**UNEXPECTED PASSES: {', '.join(passes)}**" if passes else "none that is expected was missed",
        absent=" ".join(
            f"{said}: {', '.join(measured[key])}."
            for key, said in (("absent", "Not audited"), ("failed", "**Could not be loaded**"))
            if measured[key]
        ),
    )
    return "\n".join([paragraph, "", *_table(rows)])


def _table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| library | mechanism | attack | verdict | ε ≥ | advantage | detectable | outputs | s | |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        mark = f"[{row['status']}]({row['link']})" if row["link"] else row["status"]
        proved = "" if row["epsilon_lower"] is None else lower_text(row["epsilon_lower"])
        yield (
            f"| {row['version']} | {row['mechanism']} | {row['attack']} | {row['verdict']} | {proved} | "
            f"{_figure(row['advantage'])} | {_figure(row['smallest_detectable'])} | {row['trials']} | "
            f"{row['seconds']:.1f} | {mark} |"
        )


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
