"""`attacklab vectors`: write the files of test vectors, or hold a program to them."""

from __future__ import annotations

import contextlib
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
from attacklab.model.findings import Verdict, environment, to_text
from attacklab.processes.lines import DEFAULT_SECONDS
from attacklab.reporting.lab import enter_lab
from attacklab.vectors import read_file
from attacklab.vectors.checking import FAILURES_IN_A_ROW, Budget, CaseFinding, VectorProgram, check

FOLDER = Path("vectors")
SCHEMA = "attacklab/vectors/1"
DEFAULT_TRIALS = 2_000
SHOWN = 10
"""Findings of one type that are printed; `--json` writes all."""

RIGHT = (Verdict.PROVED, Verdict.NOT_DETECTED)
COLUMNS = dict(zip((*RIGHT, Verdict.VIOLATED, Verdict.ERROR, Verdict.NOT_APPLICABLE), (0, 0, 1, 2, 3), strict=True))
"""Where a verdict is counted: right, wrong, error, skipped."""


def command(
    action: options.Vectors,
    files: options.VectorFiles = None,
    program: options.VectorsExec = None,
    trials: options.VectorTrials = DEFAULT_TRIALS,
    alpha: options.Alpha = DEFAULT_ALPHA,
    seed: options.Seed = 0,
    seconds: options.ProgramSeconds = DEFAULT_SECONDS,
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
    chosen = [Path(file) for file in files or ()] or sorted(FOLDER.glob("*.json"))
    if not chosen:
        raise UsageError(f"no files of vectors in {FOLDER}/; name some, or run this from a checkout of the lab")
    read = [read_file(file) for file in chosen]
    written = Files(json)
    written.require_writable()
    with contextlib.closing(VectorProgram(words_of(program), seconds)) as asked:
        findings = list(check(read, asked, Budget(trials, alpha, seed)))
    text = to_text({"schema": SCHEMA, "environment": environment(), "findings": [*map(CaseFinding.to_json, findings)]})
    written.leave(text, lambda: _print(findings))
    cases = sum(file["cases"] for file in read)
    if left := cases - len(findings):
        say(f"gave up after {FAILURES_IN_A_ROW} errors in a row; {left} of {cases} cases were not checked")
    raise typer.Exit(_status(findings))


def _write(folder: Path) -> None:
    enter_lab(Path.cwd())
    require_writable_folder(folder)
    for name, content in importlib.import_module("experiments.vectors").contents():
        write_whole(folder / name, content)
        typer.echo(f"written: {folder / name}")


def _status(findings: Sequence[CaseFinding]) -> Status:
    verdicts = {finding.verdict for finding in findings}
    if Verdict.VIOLATED in verdicts:
        return Status.REFUTED
    if Verdict.ERROR in verdicts:
        return Status.FAILED
    if verdicts <= {Verdict.NOT_APPLICABLE}:
        say("nothing was checked: the program has none of these mechanisms")
        return Status.FAILED
    return Status.OK


def _print(findings: Sequence[CaseFinding]) -> None:
    console = Console(markup=False, highlight=False, soft_wrap=True)
    for verdict in (Verdict.VIOLATED, Verdict.ERROR):
        matching = [finding for finding in findings if finding.verdict is verdict]
        for finding in matching[:SHOWN]:
            flags = ", ".join(finding.flags)
            console.print(f"{verdict} {finding.type} {finding.case} {finding.mechanism} [{flags}]: {finding.reason}")
        if len(matching) > SHOWN:
            console.print(f"… and {len(matching) - SHOWN} more {verdict}; --json FILE writes all")
    table = Table("type", "flag", "right", "wrong", "error", "skipped", box=None)
    counts = Counter((finding.type, flag, COLUMNS[finding.verdict]) for finding in findings for flag in finding.flags)
    for type_, flag in sorted({(type_, flag) for type_, flag, _ in counts}):
        table.add_row(type_, flag, *(str(counts[type_, flag, column]) for column in range(4)))
    console.print(table)
