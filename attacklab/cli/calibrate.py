"""`attacklab calibrate`: the arithmetic between a claim and a noise scale, held to certified bounds."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import typer
from rich.table import Table
from rich.text import Text

from attacklab.calibration import QUANTITIES, CalibrationFinding, ProgramFormula, Quantity, calibrate, quantity, record
from attacklab.cli import options
from attacklab.cli.messages import say, words_of
from attacklab.cli.output import Files, console, only_findings_on_output
from attacklab.cli.status import Status
from attacklab.model.errors import UsageError
from attacklab.model.findings import WORST_FIRST, Verdict, to_text
from attacklab.model.loading import load_function
from attacklab.model.plain_text import plain
from attacklab.processes.lines import DEFAULT_SECONDS

LIST = "list"
SHOWN = 10
"""Findings of one verdict that are printed; `--json` writes all."""

STYLES = {Verdict.VIOLATED: "bold red", Verdict.ERROR: "bold yellow", Verdict.INCONCLUSIVE: "yellow"}


def command(
    about: options.About = LIST,
    target: options.FormulaTarget = None,
    program: options.FormulaExec = None,
    seconds: options.ProgramSeconds = DEFAULT_SECONDS,
    json: options.Json = None,
) -> None:
    """Hold a formula for noise to certified bounds."""
    if about == LIST:
        if target is not None or program is not None:
            raise UsageError("list takes no formula; name a quantity before it")
        console().print(_quantities())
        return
    known = quantity(about)
    files = Files(json)
    files.require_writable()
    with only_findings_on_output(), _formula(known, target, program, seconds) as formula:
        findings = calibrate(known, formula, name=str(target or program))
    files.leave(to_text(record(findings)), lambda: _print(known, findings))
    raise typer.Exit(_status(findings))


@contextlib.contextmanager
def _formula(
    about: Quantity, target: str | None, command: str | None, seconds: float
) -> Iterator[Callable[..., object]]:
    if (target is None) == (command is None):
        raise UsageError(f"give the formula of {about.signature}: a TARGET, or a program after --exec")
    if target is not None:
        yield load_function(target)
        return
    program = ProgramFormula(words_of(str(command)), about.name, seconds)
    try:
        yield program
    finally:
        program.close()


def _status(findings: Sequence[CalibrationFinding]) -> Status:
    verdicts = {finding.verdict for finding in findings}
    if Verdict.ERROR in verdicts:
        return Status.FAILED
    if Verdict.VIOLATED in verdicts:
        return Status.REFUTED
    if verdicts == {Verdict.NOT_APPLICABLE}:
        say("nothing was calibrated: the formula refused all arguments; look at one of its messages with --json -")
        return Status.FAILED
    return Status.OK


def _quantities() -> Table:
    table = Table("quantity", "certified", "unsafe", "asked", box=None)
    for entry in QUANTITIES:
        table.add_row(entry.signature, entry.meaning, str(entry.unsafe), str(len(entry.grid)))
    return table


def _print(about: Quantity, findings: Sequence[CalibrationFinding]) -> None:
    out = console()
    counts = Counter(finding.verdict for finding in findings)
    for verdict in WORST_FIRST:
        if verdict in (Verdict.PROVED, Verdict.NOT_APPLICABLE):
            continue
        matching = [finding for finding in findings if finding.verdict is verdict]
        for finding in matching[:SHOWN]:
            arguments = ", ".join(f"{name}={value!r}" for name, value in finding.parameters.items())
            text = plain(f" {about.name}({arguments}): {finding.reason}")
            out.print(Text.assemble((str(verdict), STYLES.get(verdict, "")), text), soft_wrap=True)
        if counts[verdict] > SHOWN:
            out.print(f"… and {counts[verdict] - SHOWN} more {verdict}; --json FILE writes all", soft_wrap=True)
    counted = ", ".join(f"{counts[verdict]} {verdict}" for verdict in WORST_FIRST if counts[verdict])
    out.print(f"{plain(findings[0].name)}, {len(findings)} sets of arguments: {counted}", soft_wrap=True)
    out.print(f"bound: {about.meaning} ({about.source})", soft_wrap=True)
