"""`attacklab calibrate` and `attacklab vectors`: check a formula or a program on many cases."""

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeAlias

import typer
from rich.text import Text
from typer import Argument, Option

from attacklab.auditing import DEFAULT_ALPHA
from attacklab.calibration import QUANTITIES, quantity
from attacklab.calibration import calibrate as calibrated
from attacklab.calibration import record as calibration_record
from attacklab.cli.files import Files, only_findings_on_output
from attacklab.cli.messages import Alpha, Json, Seed, Status, say, words_of
from attacklab.cli.output import COLOURS, console
from attacklab.loading.targets import load_function
from attacklab.model.errors import UsageError
from attacklab.model.findings import WORST_FIRST, Verdict, to_text
from attacklab.model.plain_text import plain
from attacklab.processes.programs import DEFAULT_SECONDS

SHOWN = 10
"""At most this many cases of one verdict are printed."""

ROUNDED = f"{Verdict.VIOLATED} by rounding alone"
COUNTED = (Verdict.VIOLATED, ROUNDED, *WORST_FIRST[1:])
"""The verdicts on cases, the worst first."""

QUANTITY, FORMULA = "What the formula computes [default: list all]", "path/file.py:function or package.module:function"
PROGRAM = "Check this program, which answers requests on its input"
FOLDER = Path("vectors")
VECTORS = f"Files of vectors [default: all in {FOLDER}/]"


Case: TypeAlias = tuple[Sequence[str], str, str]
"""A checked case: the names of its groups, its verdict, and a line on the result."""


def calibrate(
    about: Annotated[str | None, Argument(metavar="QUANTITY", help=QUANTITY)] = None,
    target: Annotated[str | None, Argument(metavar="TARGET", help=FORMULA)] = None,
    json: Json = None,
) -> None:
    """Hold a formula for noise to certified bounds."""
    if about is None:
        for entry in QUANTITIES:
            console().print(f"{entry.signature}: {entry.meaning}; unsafe where {entry.unsafe}")
        return
    known = quantity(about)
    if target is None:
        raise UsageError(f"TARGET is missing; name the function that computes {known.signature}")
    files = Files(json=json)
    with only_findings_on_output():
        findings = calibrated(known, load_function(target), name=target)
    cases = []
    for finding in findings:
        arguments = ", ".join(f"{name}={value!r}" for name, value in finding.parameters.items())
        verdict = ROUNDED if finding.is_rounding else str(finding.verdict)
        group = f"{target} as {known.meaning} ({known.source})"
        cases.append(([group], verdict, f"{about}({arguments}): {finding.reason}"))
    nothing = "nothing was calibrated: the formula refused all arguments; look at one of its messages with --json -"
    _end(files, calibration_record(findings), cases, nothing)


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
    written = Files(json=json)
    with contextlib.closing(checking.VectorProgram(words_of(program), DEFAULT_SECONDS)) as asked:
        findings = list(checking.check(read, asked, checking.Budget(trials, alpha, seed)))
    cases = []
    for finding in findings:
        line = f"{finding.type} {finding.case} {finding.mechanism} [{', '.join(finding.flags)}]: {finding.reason}"
        cases.append(([f"{finding.type} {flag}" for flag in finding.flags], str(finding.verdict), line))
    known = sum(file["cases"] for file in read)
    if left := known - len(findings):
        say(f"gave up after {checking.FAILURES_IN_A_ROW} errors in a row; {left} of {known} cases were not checked")
    _end(written, checking.record(findings), cases, "nothing was checked: the program has none of these mechanisms")


def _end(files: Files, record: Mapping[str, Any], cases: Sequence[Case], nothing: str) -> NoReturn:
    """Write the record, print the cases, and exit by their verdicts. Print `nothing` if no case was checked."""
    files.leave({"--json": to_text(record)}, lambda: _show(cases))
    verdicts = {verdict for _, verdict, _ in cases}
    is_idle = verdicts <= {Verdict.NOT_APPLICABLE}
    if is_idle:
        say(nothing)
    status = Status.FAILED if is_idle or Verdict.ERROR in verdicts else Status.OK
    raise typer.Exit(Status.REFUTED if Verdict.VIOLATED in verdicts else status)


def _show(cases: Sequence[Case]) -> None:
    """Print the first cases of each bad verdict, how many more there are, and the counts of verdicts in each group."""
    out = console()
    for verdict in COUNTED[: COUNTED.index(Verdict.NOT_DETECTED)]:
        lines = [line for _, its, line in cases if its == verdict]
        for line in lines[:SHOWN]:
            out.print(Text.assemble((verdict, COLOURS.get(verdict, "yellow")), plain(f" {line}")))
        if len(lines) > SHOWN:
            out.print(f"… and {len(lines) - SHOWN} more {verdict}; --json FILE writes all")
    for group in sorted({group for groups, _, _ in cases for group in groups}):
        counts = Counter(verdict for groups, verdict, _ in cases if group in groups)
        told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in COUNTED if counts[verdict])
        out.print(f"{plain(group)}: {told}")
