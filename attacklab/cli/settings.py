"""The table `[tool.attacklab]` of pyproject.toml, as docs/how_to/auditing.md shows it: what `attacklab audit` runs."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from attacklab.auditing import DEFAULT_ALPHA
from attacklab.auditing.flaws import catalogue
from attacklab.cli.messages import Status, by_name, say
from attacklab.cli.target_options import TargetOptions, option_of
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict, read_record
from attacklab.reporting.lab import MARKER, project_table
from attacklab.reporting.wording import code_of

TABLE = f"[tool.attacklab] of {MARKER}"
OPTIONS = dict.fromkeys(option_of(field.name)[2:] for field in fields(TargetOptions)[:-1])
KEYS = {"alpha": float, "ignore": list, "baseline": str, "targets": list, "experiments": str}


@dataclass(frozen=True)
class Settings:
    """The contents of the table.

    Attributes:
        targets: the targets to audit.
        alpha: the probability of a false alarm in the whole run.
        known: codes of known flaws, and pairs (the command line that loads a target, a code) from earlier records.
    """

    targets: tuple[TargetOptions, ...] = ()
    alpha: float = DEFAULT_ALPHA
    known: frozenset[str | tuple[str, str]] = frozenset()

    def status_of(self, findings: Sequence[Finding]) -> Status:
        """Return the exit status for the findings of one target. Known flaws do not count, but are printed."""
        from attacklab.cli.output import status_of  # here, because it takes long to import

        known = [one for one in findings if one.refutes and {code_of(one), _identity(one)} & self.known]
        if known:
            named = sorted({f"{code_of(finding)} of {finding.target}" for finding in known})
            say(f"known flaws, which do not count: {', '.join(named)}")
        return status_of([replace(one, verdict=Verdict.NOT_DETECTED) if one in known else one for one in findings])


def project_settings(root: Path) -> Settings:
    """Return the settings in a folder's pyproject.toml. Raise UsageError for an unknown key or a value's wrong type."""
    table = project_table(root)
    for key, value in table.items():
        kind = by_name(key, KEYS, f"key of {TABLE},")
        if not isinstance(value, kind):
            raise UsageError(f"{TABLE}: {key} must be a {kind.__name__}, not {value!r}")
    codes = {flaw.code: flaw.code for flaw in catalogue().values()}
    return Settings(
        tuple(_target(entry, f"{TABLE}, target {number}") for number, entry in enumerate(table.get("targets", ()), 1)),
        table.get("alpha", DEFAULT_ALPHA),
        frozenset(by_name(code, codes, f"flaw to ignore in {TABLE},") for code in map(str, table.get("ignore", ())))
        | (flaws_in(root / table["baseline"]) if "baseline" in table else frozenset()),
    )


def _target(entry: Any, where: str) -> TargetOptions:
    """Return the options in a `targets` entry, whose keys are options of `attacklab audit`. Errors name it `where`."""
    if not isinstance(entry, dict) or not {"target", "exec"} & entry.keys():
        raise UsageError(f'{where} must be a table with target = "FILE.py:NAME", not {entry!r}')
    words: list[str] = []
    for key, value in entry.items():
        by_name(key, OPTIONS, f"key in {where},")
        values = value if key == "bounds" and isinstance(value, list) else [value]
        words += [*[f"--{key}"] * (key != "target"), *map(str, values)]
    return TargetOptions.of_spec(shlex.join(words), where)


def flaws_in(path: Path) -> frozenset[tuple[str, str]]:
    """Return the refuted claims in an earlier record as pairs, in the form of `Settings.known`."""
    return frozenset(_identity(finding) for finding in read_record(path)["findings"] if finding.refutes)


def _identity(finding: Finding) -> tuple[str, str]:
    """Return the command line that loads the target, or else its name, and the code of the flaw."""
    return finding.spec or finding.target, code_of(finding)
