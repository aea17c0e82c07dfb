"""`attacklab calibrate` and `attacklab vectors`: check a formula or a program on many cases."""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from attacklab.auditing.referee import DEFAULT_ALPHA
from attacklab.calibration import QUANTITIES, CalibrationFinding, Quantity, quantity
from attacklab.calibration import calibrate as calibrated
from attacklab.calibration import record as calibration_record
from attacklab.cli.messages import Alpha, Json, Seed, Status, say, words_of
from attacklab.cli.output import COLOURS, Files, console, only_findings_on_output
from attacklab.loading.targets import load_function
from attacklab.model.errors import UsageError
from attacklab.model.findings import WORST_FIRST, Verdict, to_text
from attacklab.model.plain_text import plain
from attacklab.processes.programs import DEFAULT_SECONDS

if TYPE_CHECKING:
    from attacklab.vectors.checking import CaseFinding

SHOWN = 10
"""At most this many findings of one verdict are printed."""

QUANTITY, FORMULA = "What the formula computes [default: list all]", "path/file.py:function or package.module:function"
PROGRAM, VECTORS = (
    "Check this program, which answers requests on its input",
    "Files of vectors [default: all in vectors/]",
)

FOLDER = Path("vectors")
COLUMNS = {Verdict.PROVED: 0, Verdict.NOT_DETECTED: 0, Verdict.VIOLATED: 1, Verdict.ERROR: 2, Verdict.NOT_APPLICABLE: 3}
"""The column in which a verdict is counted: right, wrong, error or skipped."""


def calibrate(
    about: Annotated[str | None, Argument(metavar="QUANTITY", help=QUANTITY)] = None,
    target: Annotated[str | None, Argument(metavar="TARGET", help=FORMULA)] = None,
    json: Json = None,
) -> None:
    """Hold a formula for noise to certified bounds."""
    if about is None:
        table = Table("quantity", "certified", "unsafe", "asked", box=None)
        for entry in QUANTITIES:
            table.add_row(entry.signature, entry.meaning, str(entry.unsafe), str(len(entry.grid)))
        console().print(table, soft_wrap=False)
        return
    known = quantity(about)
    if target is None:
        raise UsageError(f"TARGET is missing; name the function that computes {known.signature}")
    files = Files(json)
    with only_findings_on_output():
        findings = calibrated(known, load_function(target), name=target)
    files.leave({"--json": to_text(calibration_record(findings))}, lambda: _print_arguments(known, findings))
    verdicts = {Verdict.PROVED if finding.is_rounding else finding.verdict for finding in findings}
    refused = "nothing was calibrated: the formula refused all arguments; look at one of its messages with --json -"
    raise typer.Exit(_status(verdicts, refused))


def vectors(
    program: Annotated[str, Option("--exec", metavar="COMMAND", help=PROGRAM)],
    files: Annotated[list[str] | None, Argument(metavar="FILE", help=VECTORS)] = None,
    trials: Annotated[int, Option(min=1, help="Outputs of each input for the types law and pair")] = 2_000,
    alpha: Alpha = DEFAULT_ALPHA,
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Hold a program to the test vectors."""
    from attacklab.vectors import checking, read_file  # here, because it needs what may not be installed

    chosen = [Path(file) for file in files or ()] or sorted(FOLDER.glob("*.json"))
    if not chosen:
        raise UsageError(f"no files of vectors in {FOLDER}/; name some, or run this from a checkout of the lab")
    read = [read_file(file) for file in chosen]
    written = Files(json)
    with contextlib.closing(checking.VectorProgram(words_of(program), DEFAULT_SECONDS)) as asked:
        findings = list(checking.check(read, asked, checking.Budget(trials, alpha, seed)))
    written.leave({"--json": to_text(checking.record(findings))}, lambda: _print_flags(findings))
    cases = sum(file["cases"] for file in read)
    if left := cases - len(findings):
        say(f"gave up after {checking.FAILURES_IN_A_ROW} errors in a row; {left} of {cases} cases were not checked")
    verdicts = {finding.verdict for finding in findings}
    raise typer.Exit(_status(verdicts, "nothing was checked: the program has none of these mechanisms"))


def _status(verdicts: set[Verdict], nothing: str) -> Status:
    """Return the exit status. Print the message `nothing` if no case was checked."""
    if Verdict.VIOLATED in verdicts:
        return Status.REFUTED
    if verdicts <= {Verdict.NOT_APPLICABLE}:
        say(nothing)
    return Status.FAILED if Verdict.ERROR in verdicts or verdicts <= {Verdict.NOT_APPLICABLE} else Status.OK


def _print_arguments(about: Quantity, findings: Sequence[CalibrationFinding]) -> None:
    lines: dict[Verdict, list[str]] = {verdict: [] for verdict in WORST_FIRST}
    for finding in findings:
        arguments = ", ".join(f"{name}={value!r}" for name, value in finding.parameters.items())
        lines[finding.verdict].append(f"{about.name}({arguments}): {finding.reason}")
    _print_worst(lines)
    rounded = sum(finding.is_rounding for finding in findings)
    alone = {Verdict.VIOLATED: f" ({rounded} by rounding alone)" if rounded else ""}
    counted = ", ".join(f"{len(told)} {verdict}{alone.get(verdict, '')}" for verdict, told in lines.items() if told)
    out = console()
    out.print(f"{plain(findings[0].name)}, {len(findings)} sets of arguments: {counted}")
    out.print(f"bound: {about.meaning} ({about.source})")


def _print_flags(findings: Sequence["CaseFinding"]) -> None:
    lines: dict[Verdict, list[str]] = {}
    for finding in findings:
        told = f"{finding.type} {finding.case} {finding.mechanism} [{', '.join(finding.flags)}]: {finding.reason}"
        lines.setdefault(finding.verdict, []).append(told)
    _print_worst(lines)
    table = Table("type", "flag", "right", "wrong", "error", "skipped", box=None)
    counts = Counter((finding.type, flag, COLUMNS[finding.verdict]) for finding in findings for flag in finding.flags)
    for type_, flag in sorted({(type_, flag) for type_, flag, _ in counts}):
        table.add_row(type_, flag, *(str(counts[type_, flag, column]) for column in range(4)))
    console().print(table, soft_wrap=False)


def _print_worst(lines: Mapping[Verdict, Sequence[str]]) -> None:
    """Print the first lines of each verdict but success, and how many more there are."""
    out = console()
    for verdict in (Verdict.VIOLATED, Verdict.ERROR, Verdict.INCONCLUSIVE):
        told = lines.get(verdict, ())
        for line in told[:SHOWN]:
            out.print(Text.assemble((str(verdict), COLOURS[verdict]), plain(f" {line}")))
        if len(told) > SHOWN:
            out.print(f"… and {len(told) - SHOWN} more {verdict}; --json FILE writes all")
