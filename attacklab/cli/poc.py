"""`attacklab poc`: a finding as one Python script for a maintainer."""

from __future__ import annotations

import shlex

import typer

from attacklab.cli import options
from attacklab.cli.messages import say
from attacklab.cli.output import printing
from attacklab.cli.target_options import TargetOptions
from attacklab.files import require_writable, write_whole
from attacklab.findings import Finding, read_record
from attacklab.poc import Call, chosen_finding, proof_of_concept


def command(
    findings: options.FindingFile,
    attack: options.FindingAttack = None,
    finding: options.FindingNumber = None,
    output: options.Script = None,
) -> None:
    """Write a finding as one script that shows it to a maintainer."""
    if output is not None:
        require_writable(output)
    chosen = chosen_finding(read_record(findings)["findings"], attack=attack, number=finding)
    script = proof_of_concept(chosen, call_of(chosen))
    if output is None:
        with printing():
            typer.echo(script, nl=False)
        return
    write_whole(output, script)
    say(f"{output}: shows the finding of {chosen.attack}; run it with: python {shlex.quote(str(output))}")


def call_of(finding: Finding) -> Call:
    """How the finding's target is called, by the words of the command line that loaded it."""
    asked = TargetOptions.of_spec(finding.code.target if finding.code else "")
    said = asked.claimed()
    kind, claim = said.pop("kind"), said.pop("claim", None)
    return Call(
        asked.target,
        program=None if asked.program is None else tuple(shlex.split(asked.program)),
        kind=kind and str(kind),
        claim=claim,
        parameters=said,
    )
