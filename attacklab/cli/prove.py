"""`attacklab prove`: a claim on neighbouring pairs decided by exact output laws, or on all pairs by a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from attacklab.cli import options
from attacklab.cli.given_pair import given_inputs, given_pair
from attacklab.cli.output import Files, error_console, only_findings_on_output, status_of
from attacklab.cli.target_options import TargetOptions, takes_target
from attacklab.laws.proof import LIMITS, SECONDS, find_checker, prove, prove_all, prove_every_pair
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder
from attacklab.model.findings import Finding
from attacklab.model.targets import Target
from attacklab.reporting.progress import status_line

PROOFS = Path("reports", "proofs")
"""Where certificates are written."""


@takes_target("program", "isolate", "in_env", "seconds")
def command(
    asked: TargetOptions,
    first: options.First = None,
    second: options.Second = None,
    inputs: options.Inputs = None,
    all_: options.All = False,
    checker: options.Checker = None,
    output: options.Certificates = None,
    seconds: options.ProofSeconds = SECONDS,
    runs: options.Runs = None,
    json: options.Json = None,
    sarif: options.Sarif = None,
    verbose: options.Verbose = None,
) -> None:
    """Decide a claim by exact laws or by a certificate."""
    of_pair = {"--first": first, "--second": second}
    of_laws = {**of_pair, "--runs": runs, "--pairs": asked.pairs}
    _exclude("--all", all_ or None, {**of_laws, "--inputs": inputs})
    _exclude("--inputs", inputs, {**of_pair, "--pairs": asked.pairs})
    if not all_ and (checker is not None or output is not None):
        raise UsageError("--checker and --output go with --all; add it")
    files = Files(json, sarif)
    files.require_writable()
    if asked.library is not None:
        raise UsageError(
            f"{asked.target} draws its random numbers in another process, where a proof cannot replace them; "
            "audit it, or prove a sampler(input, bits) instead (docs/how_to/proving.md)"
        )
    place = asked.place
    with only_findings_on_output():
        loaded = asked.load()
        rest = {
            **of_pair,
            "--inputs": inputs,
            "--all": all_ or None,
            "--checker": checker,
            "--output": output,
        }
        limits = LIMITS if runs is None else replace(LIMITS, runs=runs)
        with status_line(error_console()) as progress:
            settings: dict[str, Any] = {"seconds": seconds, "progress": progress, "spec": asked.spec(rest)}
            if all_:
                judge, folder = map(files.from_here, (checker or find_checker(files.folder), output or PROOFS))
                findings = [_certified(loaded, judge, folder, settings)]
            elif inputs is not None:
                findings = [prove(loaded, inputs=given_inputs(loaded, inputs), limits=limits, **settings)]
            else:
                pair = given_pair(loaded, first, second)
                findings = prove_all(loaded, None if pair is None else [pair], limits=limits, **settings)
    files.write(findings, place, verbose)
    raise typer.Exit(status_of(findings))


def _certified(target: Target, checker: Path, folder: Path, settings: Mapping[str, Any]) -> Finding:
    if not checker.is_file():
        raise UsageError(f"the checker {checker} was not found; check the path")
    require_writable_folder(folder)
    return prove_every_pair(target, checker=checker, folder=folder, **settings)


def _exclude(option: str, chosen: object, others: Mapping[str, object]) -> None:
    """Refuse options that say nothing beside another one."""
    clashing = [name for name, value in others.items() if value is not None]
    if chosen is not None and clashing:
        raise UsageError(f"{option} and {', '.join(clashing)} exclude each other; leave one out")
