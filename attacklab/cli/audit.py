"""`attacklab audit`: attacks against one target."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from attacklab.attacks import ALL_ATTACKS, ATTACKS, Alignment
from attacklab.attacks.base import Attack
from attacklab.auditing.first_outputs import without_variety
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.cli import options
from attacklab.cli.mechanisms import commands_for
from attacklab.cli.messages import by_name, say
from attacklab.cli.output import Files, error_console, only_findings_on_output, status_of
from attacklab.cli.status import Status
from attacklab.cli.target_options import TargetOptions, takes_target
from attacklab.cli.where import executor
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Interrupted
from attacklab.reporting.progress import progress


@takes_target()
def command(
    asked: TargetOptions,
    attack: options.Attacks = None,
    trials: options.Trials = None,
    alpha: options.Alpha = DEFAULT_ALPHA,
    seed: options.Seed = 0,
    spend_all: options.SpendAll = False,
    maximise_epsilon: options.MaximiseEpsilon = False,
    workers: options.Workers = None,
    json: options.Json = None,
    sarif: options.Sarif = None,
    html: options.Html = None,
    verbose: options.Verbose = None,
) -> None:
    """Run every attack that applies against a target."""
    if asked.target and asked.target.endswith(".py") and Path(asked.target).is_file():
        raise UsageError(_choices(Path(asked.target)))
    chosen, files = _attacks(attack), Files(json, sarif, html)
    if maximise_epsilon and workers is not None:
        raise UsageError("--maximise-epsilon runs in this process; leave out --workers")
    files.require_writable()
    elsewhere = asked.elsewhere()
    place = asked.place  # now: a target may go to another folder
    with only_findings_on_output():
        loaded = asked.load()
    settings: dict[str, Any] = {
        "alpha": alpha,
        "seed": seed,
        "spend_all": spend_all,
        "spec": asked.spec(),
        "say": say if verbose else _silent,
    }
    with (
        _interruptible(lambda refuted: files.write(refuted, place, verbose)),
        only_findings_on_output(),
        executor(workers, asked.library) as (drawing, here_seconds),
        progress(error_console()) as report,
    ):
        settings |= {"report": report, "maximise_epsilon": maximise_epsilon}
        if not maximise_epsilon:
            settings |= {"executor": drawing, "here_seconds": here_seconds, "load": elsewhere.load}
        constant = without_variety(loaded, seed)
        if chosen is None and not maximise_epsilon:
            chosen = [*ATTACKS, Alignment()]
        findings = [constant] if constant else audit(loaded, chosen, trials=trials, **settings)
    if attack is None:  # what was not asked for is left out where it has no pair
        findings = [one for one in findings if one.attack != Alignment().name or one.pair is not None]
    files.write(findings, place, verbose)
    raise typer.Exit(status_of(findings))


def _attacks(names: Sequence[str] | None) -> list[Attack] | None:
    """The attacks of these names; None for the default ones."""
    known: dict[str, Attack] = {attack.name: attack for attack in ALL_ATTACKS}
    return [by_name(name, known, "attack") for name in dict.fromkeys(names)] if names else None


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
