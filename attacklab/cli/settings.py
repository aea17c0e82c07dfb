"""The table `[tool.attacklab]` of pyproject.toml: what `attacklab audit` runs when nothing is named.

docs/how_to/auditing.md shows the table.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from attacklab.auditing.flaws import catalogue
from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.cli.messages import Status, by_name, say
from attacklab.cli.output import status_of
from attacklab.cli.target_options import TargetOptions, option_of
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict, read_record
from attacklab.reporting.lab import MARKER, project_table
from attacklab.reporting.wording import code_of

TABLE = f"[tool.attacklab] of {MARKER}"
OPTIONS = {option_of(field.name)[2:]: field for field in fields(TargetOptions)[:-1]}
KEYS = {"alpha": float, "ignore": list, "baseline": str, "targets": list, "experiments": str}


@dataclass(frozen=True)
class Settings:
    """The contents of the table.

    Attributes:
        targets: the targets to audit.
        alpha: the probability of a false alarm in the whole run.
        ignore: codes of known flaws.
        baseline: the flaws in an earlier record, each as the command line that loads the target, and the flaw's code.
    """

    targets: tuple[TargetOptions, ...] = ()
    alpha: float = DEFAULT_ALPHA
    ignore: frozenset[str] = frozenset()
    baseline: frozenset[tuple[str, str]] = frozenset()

    def status_of(self, findings: Sequence[Finding]) -> Status:
        """Return the exit status for the findings of one target. Known flaws do not count, but are printed."""
        refuting = [finding for finding in findings if finding.refutes]
        known = [one for one in refuting if code_of(one) in self.ignore or _identity(one) in self.baseline]
        if known:
            named = sorted({f"{code_of(finding)} of {finding.target}" for finding in known})
            say(f"known flaws, which do not count: {', '.join(named)}")
        if known and len(known) == len(refuting):
            return Status.FAILED if any(finding.verdict is Verdict.ERROR for finding in findings) else Status.OK
        return status_of(findings)


def project_settings(root: Path) -> Settings:
    """Return the settings in the pyproject.toml of a folder.

    Raises:
        UsageError: a key is unknown, or its value has the wrong type or is out of range.
    """
    table = project_table(root)
    for key, value in table.items():
        kind = by_name(key, KEYS, f"key of {TABLE},")
        if not isinstance(value, kind) and not (kind is float and type(value) is int):
            raise UsageError(f"{TABLE}: {key} must be a {kind.__name__}, not {value!r}")
    if not 0 < table.get("alpha", 0.5) < 1:
        raise UsageError(f"{TABLE}: alpha must lie in (0, 1), not {table['alpha']}")
    codes = {flaw.code: flaw.code for flaw in catalogue().values()}
    record = read_record(root / table["baseline"])["findings"] if "baseline" in table else ()
    return Settings(
        tuple(_target(entry, f"{TABLE}, target {number}") for number, entry in enumerate(table.get("targets", ()), 1)),
        table.get("alpha", DEFAULT_ALPHA),
        frozenset(by_name(code, codes, f"flaw to ignore in {TABLE},") for code in map(str, table.get("ignore", ()))),
        frozenset(_identity(finding) for finding in record if finding.refutes),
    )


def _target(entry: Any, where: str) -> TargetOptions:
    """Return the options that an entry of `targets` sets. Its keys are options of `attacklab audit` without dashes."""
    if not isinstance(entry, dict) or not {"target", "exec"} & entry.keys():
        raise UsageError(f'{where} must be a table with target = "FILE.py:NAME", not {entry!r}')
    words = [str(entry["target"])] if "target" in entry else []
    for key, value in entry.items():
        by_name(key, OPTIONS, f"key in {where},")
        if isinstance(value, dict) or (isinstance(value, list) and not (key == "bounds" and len(value) == 2)):
            raise UsageError(
                f"{where}: {key} must be {'two numbers' if key == 'bounds' else 'one value'}, not {value!r}"
            )
        if key != "target":
            words += [f"--{key}", *map(str, value if isinstance(value, list) else [value])]
    return TargetOptions.of_spec(shlex.join(words), where)


def _identity(finding: Finding) -> tuple[str, str]:
    """Return the command line that loads the target, or else its name, and the code of the flaw."""
    return finding.spec or finding.target, code_of(finding)
