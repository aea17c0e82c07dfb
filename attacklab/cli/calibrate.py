"""`attacklab calibrate`: the arithmetic between a claim and a noise scale, held to certified bounds."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from rich.table import Table
from rich.text import Text

from attacklab.calibration import QUANTITIES, CalibrationFinding, Quantity, calibrate, quantity, record
from attacklab.cli import options
from attacklab.cli.console import console
from attacklab.cli.messages import say
from attacklab.cli.output import COLOURS, Files, only_findings_on_output
from attacklab.cli.status import Status
from attacklab.model.errors import UsageError
from attacklab.model.findings import WORST_FIRST, Verdict, to_text
from attacklab.model.loading import load_function
from attacklab.model.plain_text import plain

SHOWN = 10
"""Findings of one verdict that are printed; `--json` writes all."""


def command(about: options.About = "list", target: options.FormulaTarget = None, json: options.Json = None) -> None:
    """Hold a formula for noise to certified bounds."""
    if about == "list":
        if target is not None:
            raise UsageError("list takes no formula; name a quantity before it")
        table = Table("quantity", "certified", "unsafe", "asked", box=None)
        for entry in QUANTITIES:
            table.add_row(entry.signature, entry.meaning, str(entry.unsafe), str(len(entry.grid)))
        console().print(table)
        return
    known = quantity(about)
    if target is None:
        raise UsageError(f"give the formula of {known.signature}: a TARGET")
    files = Files(json)
    files.require_writable()
    with only_findings_on_output():
        findings = calibrate(known, load_function(target), name=target)
    files.leave(to_text(record(findings)), lambda: _print(known, findings))
    raise typer.Exit(_status(findings))


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


def _print(about: Quantity, findings: Sequence[CalibrationFinding]) -> None:
    out = console()
    rows = {verdict: [finding for finding in findings if finding.verdict is verdict] for verdict in WORST_FIRST}
    for verdict in (Verdict.VIOLATED, Verdict.ERROR, Verdict.INCONCLUSIVE):
        for finding in rows[verdict][:SHOWN]:
            arguments = ", ".join(f"{name}={value!r}" for name, value in finding.parameters.items())
            text = plain(f" {about.name}({arguments}): {finding.reason}")
            out.print(Text.assemble((str(verdict), COLOURS[verdict]), text), soft_wrap=True)
        if len(rows[verdict]) > SHOWN:
            out.print(f"… and {len(rows[verdict]) - SHOWN} more {verdict}; --json FILE writes all", soft_wrap=True)
    counted = ", ".join(f"{len(matching)} {verdict}" for verdict, matching in rows.items() if matching)
    out.print(f"{plain(findings[0].name)}, {len(findings)} sets of arguments: {counted}", soft_wrap=True)
    out.print(f"bound: {about.meaning} ({about.source})", soft_wrap=True)
