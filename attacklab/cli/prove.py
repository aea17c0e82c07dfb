"""`attacklab prove`: a claim on one pair, decided by the exact output laws of the implementation."""

from __future__ import annotations

from dataclasses import replace

import typer
from rich.console import Console

from attacklab.cli import options
from attacklab.cli.output import Files, status_of
from attacklab.cli.target_options import TargetOptions, spec_of
from attacklab.errors import TargetError, UsageError
from attacklab.findings import Finding, Verdict, described_pair
from attacklab.laws import Limits, Progress
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.proof import LIMITS, METHOD, default_pair, prove
from attacklab.targets import Kind, Target


def command(
    target: options.ProveTarget = None,
    program: options.ProveExec = None,
    kind: options.Kind = None,
    epsilon: options.Epsilon = None,
    rho: options.Rho = None,
    mu: options.Mu = None,
    rdp: options.Rdp = None,
    sensitivity: options.Sensitivity = None,
    first: options.First = None,
    second: options.Second = None,
    runs: options.Runs = LIMITS.runs,
    json: options.Json = None,
) -> None:
    """Decide a claim on one pair by exact output laws."""
    files = Files(json)
    files.require_writable()
    asked = TargetOptions(
        target=target,
        program=program,
        isolate=False,
        in_env=None,
        seconds=None,
        memory=None,
        kind=kind,
        epsilon=epsilon,
        rho=rho,
        mu=mu,
        rdp=tuple(rdp or ()),
        sensitivity=sensitivity,
        lower=None,
        upper=None,
        relation=None,
    )
    loaded = asked.load()
    if (first is None) != (second is None):
        raise UsageError("--first and --second go together; give both or neither")
    pair = default_pair(loaded) if first is None else _pair(loaded, _numbers(first), _numbers(str(second)))
    spec = " ".join(filter(None, (asked.spec(), spec_of(None, {"--first": first, "--second": second}))))
    finding = _finding(loaded, pair, replace(LIMITS, runs=runs), spec)
    files.write([finding])
    raise typer.Exit(status_of([finding]))


def _finding(target: Target, pair: NeighbouringPair, limits: Limits, spec: str) -> Finding:
    """The proof's finding, or an ERROR where the sampler cannot be enumerated."""
    status = Console(stderr=True).status("enumerating")

    def progress(at: Progress) -> None:
        status.update(f"{at.runs} runs, {at.tapes} waiting, {at.unresolved:.2g} of the mass open")

    try:
        with status:
            return prove(target, pair, limits=limits, progress=progress, spec=spec)
    except TargetError as error:
        return Finding(
            target=target.name,
            target_version=target.version,
            attack=METHOD,
            verdict=Verdict.ERROR,
            reason=str(error),
            claim=target.claim,
            relation=target.relation,
            pair=described_pair(pair),
            ceiling=target.claim.ceiling,
            replay=f"attacklab prove {spec}",
        )


def _numbers(text: str) -> list[float]:
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"an input must be numbers separated by commas, not {text!r}") from None


def _pair(target: Target, first: list[float], second: list[float]) -> NeighbouringPair:
    if target.kind is Kind.SELECTION:
        return NeighbouringPair.utilities(first, second, sensitivity=target.sensitivity)
    if target.kind is Kind.NOISE:
        if (len(first), len(second)) != (1, 1):
            raise UsageError(f"a noise target takes one number each for --first and --second, not {first} and {second}")
        return NeighbouringPair.answers(first[0], second[0], sensitivity=target.sensitivity)
    relation = Relation.SUBSTITUTE if len(first) == len(second) else Relation.ADD_REMOVE
    return NeighbouringPair.records(first, second, relation)
