"""`attacklab calibrate`: the arithmetic between a claim and a noise scale, held to certified bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from attacklab.calibration import QUANTITIES, CalibrationFinding, Quantity, calibrate, quantity, record
from attacklab.cli.console import console
from attacklab.cli.options import Json
from attacklab.cli.output import Files, only_findings_on_output, print_worst, status_of_cases
from attacklab.model.errors import UsageError
from attacklab.model.findings import WORST_FIRST, Verdict, to_text
from attacklab.model.loading import load_function
from attacklab.model.plain_text import plain

NOTHING = "nothing was calibrated: the formula refused all arguments; look at one of its messages with --json -"


def command(
    about: Annotated[
        str, typer.Argument(metavar="QUANTITY", help="What the formula computes; list shows the quantities there are")
    ] = "list",
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="path/file.py:function or package.module:function")
    ] = None,
    json: Json = None,
) -> None:
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
    kinds = {Verdict.PROVED if finding.is_rounding else finding.verdict for finding in findings}
    raise typer.Exit(status_of_cases(kinds, NOTHING))


def _print(about: Quantity, findings: Sequence[CalibrationFinding]) -> None:
    out = console()
    lines = {verdict: [_line(about, one) for one in findings if one.verdict is verdict] for verdict in WORST_FIRST}
    print_worst(out, lines)
    counted = ", ".join(f"{len(matching)} {verdict}" for verdict, matching in lines.items() if matching)
    rounded = sum(finding.is_rounding for finding in findings)
    counted += f" ({rounded} of them by rounding alone)" if rounded else ""
    out.print(f"{plain(findings[0].name)}, {len(findings)} sets of arguments: {counted}", soft_wrap=True)
    out.print(f"bound: {about.meaning} ({about.source})", soft_wrap=True)


def _line(about: Quantity, finding: CalibrationFinding) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in finding.parameters.items())
    return f"{about.name}({arguments}): {finding.reason}"
