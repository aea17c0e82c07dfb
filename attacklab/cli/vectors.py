"""`attacklab vectors`: write the files of test vectors, or hold a program to them."""

from __future__ import annotations

import contextlib
import importlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.cli.console import console
from attacklab.cli.messages import say, words_of
from attacklab.cli.options import Alpha, Json, Seed
from attacklab.cli.output import Files, print_worst, status_of_cases
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder, write_whole
from attacklab.model.findings import Verdict, environment, to_text
from attacklab.processes.programs import DEFAULT_SECONDS
from attacklab.reporting.lab import enter_lab
from attacklab.vectors import read_file
from attacklab.vectors.checking import FAILURES_IN_A_ROW, Budget, CaseFinding, VectorProgram, check

FOLDER = Path("vectors")
SCHEMA = "attacklab/vectors/1"
NOTHING = "nothing was checked: the program has none of these mechanisms"

RIGHT = (Verdict.PROVED, Verdict.NOT_DETECTED)
COLUMNS = dict(zip((*RIGHT, Verdict.VIOLATED, Verdict.ERROR, Verdict.NOT_APPLICABLE), (0, 0, 1, 2, 3), strict=True))
"""Where a verdict is counted: right, wrong, error, skipped."""


def command(
    action: Annotated[
        Literal["write", "check"],
        typer.Argument(help="write: all files, into vectors/ of a checkout; check: hold a program to files"),
    ],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="Files of vectors [default: all in vectors/]")
    ] = None,
    program: Annotated[
        str | None,
        typer.Option("--exec", metavar="COMMAND", help="Check this program, which answers requests on its input"),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Outputs of each input to draw for the types law and pair")
    ] = 2_000,
    alpha: Alpha = DEFAULT_ALPHA,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Write test vectors, or hold a program to them."""
    if action == "write":
        if files or program or json:
            raise UsageError("write takes nothing else; it writes the files of all types")
        _write()
        return
    if not program:
        raise UsageError("check needs the program under test: --exec COMMAND")
    chosen = [Path(file) for file in files or ()] or sorted(FOLDER.glob("*.json"))
    if not chosen:
        raise UsageError(f"no files of vectors in {FOLDER}/; name some, or run this from a checkout of the lab")
    read = [read_file(file) for file in chosen]
    written = Files(json)
    written.require_writable()
    with contextlib.closing(VectorProgram(words_of(program), DEFAULT_SECONDS)) as asked:
        findings = list(check(read, asked, Budget(trials, alpha, seed)))
    text = to_text({"schema": SCHEMA, "environment": environment(), "findings": [*map(CaseFinding.to_json, findings)]})
    written.leave(text, lambda: _print(findings))
    cases = sum(file["cases"] for file in read)
    if left := cases - len(findings):
        say(f"gave up after {FAILURES_IN_A_ROW} errors in a row; {left} of {cases} cases were not checked")
    raise typer.Exit(status_of_cases({finding.verdict for finding in findings}, NOTHING))


def _write() -> None:
    enter_lab(Path.cwd())
    require_writable_folder(FOLDER)
    for name, content in importlib.import_module("experiments.vectors").contents():
        write_whole(FOLDER / name, content)
        typer.echo(f"written: {FOLDER / name}")


def _print(findings: Sequence[CaseFinding]) -> None:
    out = console()
    lines: dict[Verdict, list[str]] = {}
    for finding in findings:
        told = f"{finding.type} {finding.case} {finding.mechanism} [{', '.join(finding.flags)}]: {finding.reason}"
        lines.setdefault(finding.verdict, []).append(told)
    print_worst(out, lines)
    table = Table("type", "flag", "right", "wrong", "error", "skipped", box=None)
    counts = Counter((finding.type, flag, COLUMNS[finding.verdict]) for finding in findings for flag in finding.flags)
    for type_, flag in sorted({(type_, flag) for type_, flag, _ in counts}):
        table.add_row(type_, flag, *(str(counts[type_, flag, column]) for column in range(4)))
    out.print(table)
