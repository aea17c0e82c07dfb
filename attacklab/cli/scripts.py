"""The proof of concept of a finding whose target was named on a command line."""

from __future__ import annotations

import shlex

from attacklab.cli.target_options import TargetOptions
from attacklab.model.findings import Finding
from attacklab.reporting.poc import Call, proof_of_concept


def script_of(finding: Finding) -> str:
    """The script that shows a finding to a maintainer.

    Raises:
        UsageError: the finding has no event that a script could look for.
    """
    return proof_of_concept(finding, call_of(finding))


def call_of(finding: Finding) -> Call:
    """How the finding's target is called, by the words of the command line that loaded it."""
    asked = TargetOptions.of_spec(finding.code.target if finding.code else "")
    parameters = asked.claimed()
    kind, claim = parameters.pop("kind"), parameters.pop("claim", None)
    return Call(
        asked.target,
        program=None if asked.program is None else tuple(shlex.split(asked.program)),
        kind=kind and str(kind),
        claim=claim,
        parameters=parameters,
    )
