"""`attacklab replay`: one run on each of two neighbours, with the noise frozen on the second."""

from __future__ import annotations

import typer

from attacklab.cli import options
from attacklab.cli.output import Files, only_findings_on_output, status_of
from attacklab.cli.status import Status
from attacklab.cli.target_options import TargetOptions
from attacklab.model.errors import UsageError
from attacklab.model.findings import Severity
from attacklab.model.targets import Kind
from attacklab.replay import replay
from attacklab.replay.program import MOST_PAIRS, SECONDS


def command(
    target: options.ReplayTarget,
    kind: options.Kind = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    mu: options.Mu = None,
    rdp: options.Rdp = None,
    sensitivity: options.Sensitivity = None,
    lower: options.Lower = None,
    upper: options.Upper = None,
    relation: options.Relation = None,
    domain: options.Domain = None,
    pairs: options.Pairs = None,
    most_pairs: options.MostPairs = MOST_PAIRS,
    seconds: options.ReplaySeconds = SECONDS,
    seed: options.Seed = 0,
    json: options.Json = None,
    sarif: options.Sarif = None,
) -> None:
    """Run a target on neighbours with its noise frozen."""
    files = Files(json, sarif)
    files.require_writable()
    given = {**locals(), "seconds": None}  # those of its options limit another process
    asked = TargetOptions.of_parameters({**given, "kind": kind or _kind_of(given)})
    if asked.library is not None:
        raise UsageError(f"{target} draws in another process, where nothing is watched; audit it instead")
    with only_findings_on_output():
        findings = replay(asked.load(), seed=seed, most_pairs=most_pairs, seconds=seconds, spec=asked.spec())
    files.write(findings, asked.place)
    status = status_of(findings)
    if status is Status.OK and any(finding.severity is Severity.ACCOUNTING for finding in findings):
        status = Status.REFUTED
    raise typer.Exit(status)


def _kind_of(given: dict[str, object]) -> Kind | None:
    """The kind of a bare function that comes with a claim: it takes whatever its pairs hold."""
    claimed = any(given[name] is not None for name in ("epsilon", "rho", "mu")) or given["rdp"]
    return Kind.DATASET if claimed else None
