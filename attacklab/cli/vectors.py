"""`attacklab vectors`: write the files of test vectors, or hold a program to them."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.cli import options
from attacklab.cli.messages import say, words_of
from attacklab.cli.options import VectorsAction
from attacklab.cli.output import Files
from attacklab.cli.status import Status
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder, write_whole
from attacklab.model.findings import Severity, Verdict, environment, to_text
from attacklab.processes.lines import DEFAULT_SECONDS, Limits
from attacklab.reporting.lab import enter_lab
from attacklab.vectors import read_file
from attacklab.vectors.checking import FAILURES_IN_A_ROW, Budget, CaseFinding, check
from attacklab.vectors.program import VectorProgram

FOLDER = Path("vectors")
SCHEMA = "attacklab/vectors/1"
DEFAULT_TRIALS = 2_000
SHOWN = 10
"""Findings of one type that are printed; `--json` writes all."""

JUDGED = (Verdict.PROVED, Verdict.NOT_DETECTED, Verdict.VIOLATED)


def command(
    action: options.Vectors,
    files: options.VectorFiles = None,
    program: options.VectorsExec = None,
    trials: options.VectorTrials = DEFAULT_TRIALS,
    alpha: options.Alpha = DEFAULT_ALPHA,
    seed: options.Seed = 0,
    seconds: options.VectorSeconds = DEFAULT_SECONDS,
    json: options.Json = None,
    output: options.VectorOutput = FOLDER,
) -> None:
    """Write test vectors, or hold a program to them."""
    if action is VectorsAction.WRITE:
        if files or program or json:
            raise UsageError("write takes --output only; it writes the files of all types")
        _write(output)
        return
    if not program:
        raise UsageError("check needs the program under test: --exec COMMAND")
    chosen = [Path(one) for one in files or ()] or sorted(FOLDER.glob("*.json"))
    if not chosen:
        raise UsageError(f"no files of vectors in {FOLDER}/; name some, or run this from a checkout of the lab")
    read = [read_file(one) for one in chosen]
    written = Files(json)
    written.require_writable()
    asked = VectorProgram(words_of(program), Limits(seconds=seconds))
    try:
        findings = list(check(read, asked, Budget(trials, alpha, seed)))
    finally:
        asked.close()
    text = to_text({"schema": SCHEMA, "environment": environment(), "findings": [one.to_json() for one in findings]})
    written.leave(text, lambda: _print(findings))
    cases = sum(one["cases"] for one in read)
    if left := cases - len(findings):
        say(f"gave up after {FAILURES_IN_A_ROW} errors in a row; {left} of {cases} cases were not checked")
    raise typer.Exit(_status(findings))


def _write(folder: Path) -> None:
    enter_lab(Path.cwd())
    require_writable_folder(folder)
    for name, make in importlib.import_module("experiments.vectors").FILES.items():
        path = folder / f"{name}.json"
        write_whole(path, make().to_bytes())
        typer.echo(f"written: {path}")


def _status(findings: Sequence[CaseFinding]) -> Status:
    verdicts = {one.verdict for one in findings}
    if any(one.verdict is Verdict.VIOLATED and one.severity is Severity.CLAIM for one in findings):
        return Status.REFUTED
    if Verdict.ERROR in verdicts:
        return Status.FAILED
    if not verdicts & set(JUDGED):
        say("nothing was checked: the program has none of these mechanisms")
        return Status.FAILED
    return Status.OK


def _print(findings: Sequence[CaseFinding]) -> None:
    console = Console(markup=False, highlight=False, soft_wrap=True)
    for verdict in (Verdict.VIOLATED, Verdict.ERROR):
        found = [one for one in findings if one.verdict is verdict]
        for one in found[:SHOWN]:
            name = verdict if one.severity is Severity.CLAIM else f"{verdict} ({one.severity})"
            flags = ", ".join(one.flags)
            console.print(f"{name} {one.type} {one.case} {one.mechanism} [{flags}]: {one.reason}")
        if len(found) > SHOWN:
            console.print(f"… and {len(found) - SHOWN} more {verdict}; --json FILE writes all")
    table = Table("type", "flag", "right", "wrong", "error", "skipped", box=None)
    counts = Counter((one.type, flag, one.verdict) for one in findings for flag in one.flags)
    for type_, flag in sorted({(type_, flag) for type_, flag, _ in counts}):
        right = counts[type_, flag, Verdict.PROVED] + counts[type_, flag, Verdict.NOT_DETECTED]
        rest = (Verdict.VIOLATED, Verdict.ERROR, Verdict.NOT_APPLICABLE)
        table.add_row(type_, flag, str(right), *(str(counts[type_, flag, one]) for one in rest))
    console.print(table)
