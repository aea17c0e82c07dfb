"""A scoreboard of real DP libraries: what is installed here and in the built environments, under every attack.

An audit runs for a given time, so all of this depends on the machine. What cannot be measured here stays: findings of
an earlier run in environments that are not built here, each marked with when and where it was measured.

Whatever an audit refutes and `expected_failures` does not list is withheld: it is written to `reports-unpublished/`,
which no repository holds, with a text that can be sent to the maintainers, and a warning says so. Of a mechanism that
is refuted the page lists only what was expected, so that no missing row tells what is withheld. Both rules are applied
again to what an earlier run measured. A quick run audits what this interpreter has.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from attacklab.auditing.attacks import ATTACKS, Attack, Precision, SumSensitivity
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.libraries import Library, library
from attacklab.libraries.environments import environments
from attacklab.model.files import write_whole
from attacklab.model.findings import WORST_FIRST, Finding, Verdict, decisive, lower_text, read_record, record, to_text
from attacklab.model.targets import Target
from attacklab.processes.targets import ProcessRelease, isolated
from attacklab.reporting.experiment import Collected, Settings, measured_here
from attacklab.reporting.figures import Cell, Figure, Matrix
from experiments.common.curves import figure
from experiments.common.expected_failures import ExpectedFailure, Status, expected, expected_failures, status
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "What do the attacks find in the DP libraries that people use?"

EPSILON = 1.0
HERE = ("numpy", "scipy")
"""What the lab itself depends on is audited by this interpreter; all else in environments of their own."""

NARROW_BOUNDS = (1.0, 1.0 + 2.0**-48)
"""Bounds of a sum within which its doubles are further apart than its sensitivity."""

UNPUBLISHED = Path("reports-unpublished")
QUICK_ATTACKS: tuple[Attack, ...] = (Precision(), SumSensitivity(most_records=1 << 10))

Row: TypeAlias = dict[str, Any]
"""What the scoreboard says of one attack on one mechanism."""


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
        return _spec(self.library.name, self.mechanism)

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


def _spec(library_name: str, mechanism: str) -> str:
    return f"{library_name}:{mechanism}"


@dataclass(frozen=True)
class Judged:
    """All findings of one attack on one mechanism in one environment, and their row."""

    findings: Sequence[Finding]
    row: Row

    @property
    def case(self) -> tuple[str | None, str]:
        """The environment and the mechanism."""
        return self.row["environment"], _spec(self.row["library"], self.row["mechanism"])


def collect(settings: Settings) -> Collected:
    """Audit every mechanism; keep what is publicly known, or is not a failure, and withhold the rest.

    Warns:
        UserWarning: something is withheld.
    """
    failures = expected_failures()
    seconds = 1.0 if settings.share < 1 else 8.0
    cases = audited_here() + ([] if settings.share < 1 else audited_in_environments(Path.cwd()))
    marked = measured_here()
    judged: list[Judged] = []
    audited, failed = set(), []
    for case in cases:
        try:
            findings = _findings(case, seconds, share_of_alpha(DEFAULT_ALPHA, len(cases)), settings)
        except ValueError as error:  # an environment that is broken hides no other
            failed.append(f"{case.spec} in {case.environment}: {error}")
            continue
        audited.add((case.environment, case.spec))
        for group in _by_attack(findings):
            row = _row(case.library.name, case.mechanism, case.environment, group, failures)
            judged.append(Judged(group, {**row, "measured": marked}))
    earlier = list(_earlier(settings.previous, audited, failures)) if settings.previous else []
    published, withheld = _published(judged + earlier)
    if withheld:
        _withhold(withheld)
    kept = {entry.row["environment"] for entry in earlier} & {entry.row["environment"] for entry in published}
    described = environments(Path.cwd())
    order = [None, *(environment.name for environment in described)]
    published.sort(key=lambda entry: order.index(entry.row["environment"]))
    timings = {
        "rows": [entry.row for entry in published],
        "seconds": seconds,
        "kept": [name for name in order if name in kept],
        "absent": [
            f"{environment.name} (`{environment.build}`)"
            for environment in described
            if (settings.share < 1 or environment.is_missing) and environment.name not in kept
        ],
        "failed": failed,
    }
    return Collected(timings=timings, timed_findings=[finding for entry in published for finding in entry.findings])


def _earlier(
    previous: Mapping[str, Any], audited: Collection[tuple[str | None, str]], failures: Sequence[ExpectedFailure]
) -> Iterator[Judged]:
    """What an earlier run published of mechanisms in environments that this run did not audit, judged again.

    Rows of environments that the checkout no longer describes are dropped: nobody can replay them.
    """
    described = {environment.name for environment in environments(Path.cwd())}
    groups = defaultdict(list)
    for finding in previous["findings"]:
        groups[finding.target, finding.target_version, finding.attack].append(finding)
    for row in previous["timings"]["rows"]:
        environment, spec = row["environment"], _spec(row["library"], row["mechanism"])
        if environment not in described or (environment, spec) in audited:
            continue
        group = groups[spec, row["version"], row["attack"]]
        known = _known(failures, row["library"], row["mechanism"], row["version"], row["attack"])
        yield Judged(group, {**row, **_compared(Verdict(row["verdict"]), known, group)})


def _published(judged: Sequence[Judged]) -> tuple[list[Judged], list[Finding]]:
    """What may be published, and the findings that are withheld."""
    refuted = {entry.case for entry in judged if entry.row["verdict"] == Verdict.VIOLATED}
    published: list[Judged] = []
    withheld: list[Finding] = []
    for entry in judged:
        if entry.row["status"] == Status.NEW:
            withheld += entry.findings
        elif entry.row["link"] or entry.case not in refuted:
            published.append(entry)
    return published, withheld


def _findings(case: Audited, seconds: float, alpha: float, settings: Settings) -> list[Finding]:
    attacks: Sequence[Attack] = QUICK_ATTACKS if settings.share < 1 else ATTACKS
    target = case.target()
    try:
        return audit(
            target, attacks, seconds=seconds, alpha=alpha, seed=settings.seed, spend_all=True, spec=case.replay()
        )
    finally:
        if isinstance(target.release, ProcessRelease):
            target.release.close()


def _by_attack(findings: Sequence[Finding]) -> Iterator[list[Finding]]:
    """The findings of each attack that came to a verdict."""
    applied = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
    for attack in dict.fromkeys(finding.attack for finding in applied):
        yield [finding for finding in applied if finding.attack == attack]


def _row(
    library_name: str,
    mechanism: str,
    environment: str | None,
    group: Sequence[Finding],
    failures: Sequence[ExpectedFailure],
) -> Row:
    """The row of one attack on one mechanism: its worst scenario."""
    worst = max(decisive(group), key=lambda finding: finding.epsilon_lower or 0.0)
    known = _known(failures, library_name, mechanism, worst.target_version, worst.attack)
    return {
        "environment": environment,
        "library": library_name,
        "version": worst.target_version,
        "mechanism": mechanism,
        "attack": worst.attack,
        "verdict": worst.verdict,
        **_compared(worst.verdict, known, group),
        "reason": worst.reason,
        "epsilon_lower": worst.epsilon_lower,
        "advantage": worst.advantage.estimate if worst.advantage else None,
        "smallest_detectable": worst.smallest_detectable,
        "trials": sum(finding.trials for finding in group),
        "seconds": sum(finding.seconds for finding in group),
    }


def _known(
    failures: Sequence[ExpectedFailure], library_name: str, mechanism: str, target_version: str, attack: str
) -> str | None:
    """The link of the known flaw that the attack is expected to find, or None."""
    return expected(failures, library_name, target_version.rpartition(" ")[2], mechanism, attack)


def _compared(verdict: Verdict, link: str | None, group: Sequence[Finding]) -> Row:
    """What a row says of a verdict beside what is publicly known."""
    too_few_trials = any(finding.trials_needed is not None for finding in group)
    return {"status": status(verdict, is_expected=link is not None, too_few_trials=too_few_trials), "link": link}


def _withhold(findings: Sequence[Finding]) -> None:
    """Write what is not publicly known where it stays, with a text for the maintainers of the library.

    What an earlier run withheld of mechanisms that are not among the findings stays there as well.
    """
    file = UNPUBLISHED / "libraries.json"
    anew = {(finding.target, finding.target_version) for finding in findings}
    earlier = read_record(file)["findings"] if file.is_file() else []
    kept = [finding for finding in earlier if (finding.target, finding.target_version) not in anew]
    all_withheld = [*findings, *kept]
    write_whole(file, to_text(record(all_withheld)))
    parts = [_advisory(finding) for finding in all_withheld if finding.verdict is Verdict.VIOLATED]
    advisories = UNPUBLISHED / "libraries.md"
    write_whole(advisories, "\n".join(["# To be reported to the maintainers first", "", *parts]))
    warnings.warn(
        f"NEW FAILURES, withheld until the maintainers know of them: {len(parts)}, in {advisories}", stacklevel=2
    )


def _advisory(finding: Finding) -> str:
    return (
        f"## {finding.target} ({finding.target_version})\n\n"
        f"It claims {finding.claim}. On the pair\n\n    {finding.pair}\n\n"
        f"the event\n\n    {finding.event}\n\nrefutes that: {finding.reason} (probability of a false alarm "
        f"{finding.alpha:.2g}; {finding.trials} outputs).\nReplay: `{finding.replay}`\n"
    )


def timing_figures(data: dict[str, Any]) -> list[Figure]:
    """Versions of libraries against mechanisms, with the most that any attack proves of each."""
    rows = data["timings"]["rows"]
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
    return [figure("libraries", caption, [matrix])]


def _families_together(mechanisms: Iterable[str]) -> list[str]:
    """Names without repetitions: those that begin with the same word follow each other, and so do their variants."""
    names = list(dict.fromkeys(mechanisms))
    families = list(dict.fromkeys(name.partition("_")[0] for name in names))
    return sorted(names, key=lambda name: families.index(name.partition("_")[0]))


def _cell(rows: Sequence[dict[str, Any]]) -> Cell:
    """The gravest verdict on one mechanism of one version, and the largest ε that is proved under it, rounded down."""
    for verdict in WORST_FIRST:
        proved = [row["epsilon_lower"] or 0.0 for row in rows if row["verdict"] == verdict]
        if proved:
            has_bound = verdict in (Verdict.VIOLATED, Verdict.NOT_DETECTED)
            return Cell(verdict=verdict, text=f"{math.floor(10 * max(proved)) / 10:.1f}" if has_bound else "")
    return Cell(verdict=Verdict.NOT_APPLICABLE)


def explain_timings(data: dict[str, Any]) -> str:
    """The scoreboard in words, and a table of the versions audited."""
    measured = data["timings"]
    rows = measured["rows"]
    passes = [
        f"{row['mechanism']} of {row['version']} under {row['attack']}"
        for row in rows
        if row["status"] == Status.PASSES
    ]
    labels = (
        ("kept", "Not measured in this run, but earlier, when and where the table says"),
        ("absent", "Not audited"),
        ("failed", "**Could not be loaded**"),
    )
    paragraph = PARAGRAPHS["libraries"].format(
        listed=len({(row["version"], row["mechanism"]) for row in rows}),
        versions=len({row["version"] for row in rows}),
        seconds=measured["seconds"],
        known=sum(row["status"] == Status.KNOWN for row in rows),
        passes=f"**UNEXPECTED PASSES: {', '.join(passes)}**" if passes else "none that is expected was missed",
        absent=" ".join(f"{words}: {', '.join(measured[key])}." for key, words in labels if measured[key]),
    )
    return "\n".join([paragraph.rstrip(), "", *_by_version(rows)]).rstrip()


def _by_version(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each version: what was found, and when and where it was measured."""
    if not rows:
        return
    yield "| library | mechanisms | with known flaws | known flaws found | measured | where |"
    yield "|---|---|---|---|---|---|"
    for version, environment in dict.fromkeys((row["version"], row["environment"]) for row in rows):
        of_version = [row for row in rows if (row["version"], row["environment"]) == (version, environment)]
        known = [row for row in of_version if row["status"] == Status.KNOWN]
        dates = dict.fromkeys(row["measured"]["date"] for row in of_version)
        places = dict.fromkeys(_place(row) for row in of_version)
        yield (
            f"| {version} | {_mechanisms(of_version)} | {_mechanisms(known)} | {len(known)} | {', '.join(dates)} | "
            f"{', '.join(places)} |"
        )


def _mechanisms(rows: Sequence[Row]) -> int:
    return len({row["mechanism"] for row in rows})


def _place(row: Row) -> str:
    measured = row["measured"]
    return f"{measured['system']} {measured['machine']}, Python {measured['python']}"


def timing_table(data: dict[str, Any]) -> list[list[str]]:
    """Every attack on every mechanism."""
    head = ["library", "mechanism", "attack", "verdict", "ε at least", "advantage", "detectable", "outputs", "seconds"]
    return [
        [*head, "status", "reported at", "measured", "where"],
        *(
            [
                row["version"],
                row["mechanism"],
                row["attack"],
                row["verdict"],
                "" if row["epsilon_lower"] is None else lower_text(row["epsilon_lower"]),
                _figure(row["advantage"]),
                _figure(row["smallest_detectable"]),
                str(row["trials"]),
                f"{row['seconds']:.1f}",
                row["status"],
                row["link"] or "",
                row["measured"]["date"],
                _place(row),
            ]
            for row in data["timings"]["rows"]
        ),
    ]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
