"""`attacklab prove`: a claim on neighbouring pairs, decided by the exact output laws of the implementation."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace

import typer
from rich.console import Console

from attacklab.cli import options
from attacklab.cli.given_pair import given_pair
from attacklab.cli.output import Files, status_of
from attacklab.cli.status import Status
from attacklab.cli.target_options import TargetOptions
from attacklab.errors import UsageError
from attacklab.findings import Finding, Verdict
from attacklab.proof import LIMITS, SECONDS, prove_all
from attacklab.reporting.progress import status_line


def command(
    target: options.ProveTarget = None,
    program: options.ProveExec = None,
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
    first: options.First = None,
    second: options.Second = None,
    seconds: options.ProofSeconds = SECONDS,
    runs: options.Runs = LIMITS.runs,
    json: options.Json = None,
    sarif: options.Sarif = None,
) -> None:
    """Decide a claim on neighbouring pairs by exact output laws."""
    files = Files(json, sarif)
    files.require_writable()
    asked = TargetOptions(
        target=target,
        program=program,
        kind=kind,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        rdp=tuple(rdp or ()),
        sensitivity=sensitivity,
        lower=lower,
        upper=upper,
        relation=relation,
        domain=domain,
        pairs=pairs,
    )
    if asked.library is not None:
        raise UsageError(
            f"{target} draws its random numbers in another process, where a proof cannot replace them; "
            "audit it, or prove a sampler(input, bits) instead (docs/proving.md)"
        )
    # What the target prints must not stand among the findings.
    with contextlib.redirect_stdout(sys.stderr):
        loaded = asked.load()
        pair = given_pair(loaded, first, second)
        with status_line(Console(stderr=True)) as progress:
            findings = prove_all(
                loaded,
                None if pair is None else [pair],
                limits=replace(LIMITS, runs=runs),
                seconds=seconds,
                progress=progress,
                spec=asked.spec({"--first": first, "--second": second}),
            )
    files.write(findings, asked.place)
    raise typer.Exit(_status_of(findings))


def _status_of(findings: Sequence[Finding]) -> Status:
    """The status of a proof: OK only if every pair is proved, since a proof that was not found is not a pass."""
    status = status_of(findings)
    is_open = any(finding.verdict is Verdict.INCONCLUSIVE for finding in findings)
    return Status.FAILED if is_open and status is Status.OK else status
