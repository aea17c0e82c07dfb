"""`attacklab poc`: a finding as one Python script for a maintainer."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from attacklab.cli.messages import say
from attacklab.model.files import require_writable, write_whole
from attacklab.model.findings import read_record
from attacklab.reporting.poc import chosen_finding, proof_of_concept


def command(
    findings: Annotated[
        Path, typer.Argument(metavar="FINDINGS.json", help="What attacklab audit --json wrote", show_default=False)
    ],
    attack: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show the strongest finding of this attack [default: of all]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the script to this file [default: standard output]")
    ] = None,
) -> None:
    """Write a finding as one script that shows it to a maintainer."""
    if output is not None:
        require_writable(output)
    chosen = chosen_finding(read_record(findings)["findings"], attack)
    script = proof_of_concept(chosen)
    if output is None:
        typer.echo(script, nl=False)
        return
    write_whole(output, script)
    say(f"{output}: shows the finding of {chosen.attack}; run it with: python {shlex.quote(str(output))}")
