"""`attacklab audit`: attacks against one target; `attacklab poc`: what they found, as a script."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from attacklab.attacks import ALL_ATTACKS, ATTACKS, Alignment
from attacklab.attacks.base import Attack
from attacklab.auditing.first_outputs import without_variety
from attacklab.auditing.judge import DEFAULT_TRIALS
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.cli.mechanisms import commands_for
from attacklab.cli.messages import BUDGET, OUTPUT, WHERE, Alpha, Json, Seed, Status, Verbose, by_name, option, say
from attacklab.cli.output import Files, error_console, only_findings_on_output, status_of
from attacklab.cli.target_options import TargetOptions, takes_target
from attacklab.cli.where import executor
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Interrupted, read_record
from attacklab.model.stage import Stage
from attacklab.reporting.progress import status_line
from attacklab.stages.search import stability

TRIALS = f"Most outputs of each input [default: {DEFAULT_TRIALS}; more where those may refute the claim]"
WORKERS = "Number of processes, or a Dask scheduler such as tcp://host:8786 [default: 1; more after 10 s]"


@takes_target()
def command(
    asked: TargetOptions,
    attack: Annotated[list[str] | None, option(BUDGET, "Run only this attack; repeatable", metavar="NAME")] = None,
    trials: Annotated[int | None, option(BUDGET, TRIALS, min=1, metavar="N")] = None,
    alpha: Alpha = DEFAULT_ALPHA,
    relax: Annotated[
        float | None,
        option(BUDGET, "Of a stage: room for rounding, as a part of its claim, such as 1e-12 [default: 0]", min=0.0),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[str | None, option(WHERE, WORKERS, metavar="N")] = None,
    json: Json = None,
    sarif: Annotated[Path | None, option(OUTPUT, "Write refuted claims here, as SARIF 2.1.0", metavar="FILE")] = None,
    html: Annotated[Path | None, option(OUTPUT, "Write a page of HTML for people here", metavar="FILE")] = None,
    verbose: Verbose = None,
) -> None:
    """Run every attack that applies against a target."""
    if asked.target and asked.target.endswith(".py") and Path(asked.target).is_file():
        raise UsageError(_choices(Path(asked.target)))
    known: dict[str, Attack] = {known.name: known for known in ALL_ATTACKS}
    chosen = [by_name(name, known, "attack") for name in dict.fromkeys(attack)] if attack else [*ATTACKS, Alignment()]
    files = Files(json, sarif, html)
    files.require_writable()
    elsewhere = asked.elsewhere()
    place = asked.place  # now: a target may go to another folder
    with (
        _interruptible(lambda refuted: files.write(refuted, place, verbose)),
        only_findings_on_output(),
    ):
        loaded = asked.load()
        if isinstance(loaded, Stage):
            given = {"attack": attack, "trials": trials, "alpha": alpha != DEFAULT_ALPHA, "spend-all": spend_all}
            if refused := [f"--{name}" for name, value in (given | {"workers": workers}).items() if value]:
                raise UsageError(f"{loaded.name} is a stage, which draws nothing; leave out {', '.join(refused)}")
            found = stability(loaded, relax=relax or 0.0, seed=seed)
            again = asked.spec({"--relax": relax, "--seed": seed})
            findings = [replace(found, replay=f"attacklab audit {again}")]
        elif relax is not None:
            raise UsageError(f"--relax is for stages, and {loaded.name} is not one; leave it out, or add --kind stage")
        else:
            settings: dict[str, Any] = {"trials": trials, "alpha": alpha, "seed": seed}
            settings |= {"spec": asked.spec(), "say": say if verbose else _silent, "load": elsewhere.load}
            with executor(workers, asked.library) as (drawing, here_seconds), status_line(error_console()) as report:
                settings |= {"report": report, "executor": drawing, "here_seconds": here_seconds}
                constant = without_variety(loaded, seed)
                findings = [constant] if constant else audit(loaded, chosen, **settings)
    if attack is None:  # what was not asked for is left out where it has no pair
        findings = [one for one in findings if one.attack != Alignment().name or one.pair is not None]
    files.write(findings, place, verbose)
    raise typer.Exit(status_of(findings))


def poc(
    findings: Annotated[Path, typer.Argument(metavar="FINDINGS.json", help="What attacklab audit --json wrote")],
    attack: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show the strongest finding of this attack [default: of all]")
    ] = None,
) -> None:
    """Write a finding as one script that shows it to a maintainer."""
    from attacklab.reporting.poc import chosen_finding, proof_of_concept  # here, because scripts import it themselves

    typer.echo(proof_of_concept(chosen_finding(read_record(findings)["findings"], attack)), nl=False)


def _choices(file: Path) -> str:
    """What to do where a file was named and nothing in it."""
    commands = commands_for(file)
    if not commands:
        return f"{file} has nothing that looks like a mechanism; name a function of it: attacklab audit {file}:NAME"
    for command in commands:
        typer.echo(command)
    return f"name a mechanism of {file}; these look like one (with the ε that it claims)"


@contextlib.contextmanager
def _interruptible(show: Callable[[list[Finding]], object]) -> Iterator[None]:
    """End at Ctrl-C, say so, and show what was refuted by then."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        findings = interrupt.findings if isinstance(interrupt, Interrupted) else ()
        refuted = [finding for finding in findings if finding.refutes]
        if refuted:
            show(refuted)
        say("interrupted; this is what was refuted by then" if refuted else "interrupted, nothing was saved")
        raise typer.Exit(Status.INTERRUPTED) from None


def _silent(_: str) -> None:
    """Say nothing of rates and trials, which are for whoever asks for all."""
