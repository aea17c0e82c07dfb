"""`attacklab audit`: attacks against one target; `attacklab poc`: what they found, as a script."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from attacklab.attacks import ALL_ATTACKS, ATTACKS, AlignmentAttack
from attacklab.attacks.base import Attack
from attacklab.auditing.first_outputs import without_variety
from attacklab.auditing.judge import DEFAULT_TRIALS
from attacklab.auditing.referee import DEFAULT_ALPHA, audit
from attacklab.cli.mechanisms import commands_for
from attacklab.cli.messages import BUDGET, OUTPUT, WHERE, Alpha, Json, Seed, Status, Verbose, by_name, option, say
from attacklab.cli.output import Audited, Files, error_console, only_findings_on_output
from attacklab.cli.settings import TABLE, Settings, project_settings
from attacklab.cli.target_options import TargetOptions, takes_target
from attacklab.cli.where import executor
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Interrupted, read_record
from attacklab.model.stage import Stage
from attacklab.reporting.progress import status_line

TRIALS = f"Most outputs of each input [default: {DEFAULT_TRIALS}; more where those may refute the claim]"
WORKERS = "Number of processes, or a Dask scheduler such as tcp://host:8786 [default: 1; more after 10 s]"


@takes_target()
def command(
    asked: TargetOptions,
    attack: Annotated[list[str] | None, option(BUDGET, "Run only this attack; repeatable", metavar="NAME")] = None,
    trials: Annotated[int | None, option(BUDGET, TRIALS, min=1, metavar="N")] = None,
    alpha: Alpha = DEFAULT_ALPHA,
    seed: Seed = 0,
    workers: Annotated[str | None, option(WHERE, WORKERS, metavar="N")] = None,
    json: Json = None,
    sarif: Annotated[Path | None, option(OUTPUT, "Write refuted claims here, as SARIF 2.1.0", metavar="FILE")] = None,
    html: Annotated[Path | None, option(OUTPUT, "Write a page of HTML for people here", metavar="FILE")] = None,
    verbose: Verbose = None,
) -> None:
    """Run every attack that applies against a target."""
    _require_name(asked.target or "")
    known: dict[str, Attack] = {known.name: known for known in ALL_ATTACKS}
    chosen = [by_name(name, known, "attack") for name in dict.fromkeys(attack or ())]
    settings = project_settings(Path.cwd()) if asked == TargetOptions() else Settings()
    targets = settings.targets or (asked,)
    if html and len(targets) > 1:
        raise UsageError(f"--html shows one target, and {TABLE} has {len(targets)}; name one")
    files = Files(json, sarif, html)
    share = (settings.alpha if alpha == DEFAULT_ALPHA else alpha) / len(targets)
    options = {"trials": trials, "alpha": share, "seed": seed, "say": say if verbose else _silent}
    of_samples = {"--attack": attack, "--trials": trials, "--alpha": alpha != DEFAULT_ALPHA, "--workers": workers}
    refused = [] if settings.targets else [name for name, value in of_samples.items() if value]
    audited, failed = _each(targets, lambda each: _findings(each, chosen, workers, options, refused), files, verbose)
    files.write(audited, verbose)
    statuses = [settings.status_of(findings) for _, findings in audited] + [Status.FAILED] * failed
    raise typer.Exit(Status.REFUTED if Status.REFUTED in statuses else max(statuses))


def _each(
    targets: Sequence[TargetOptions],
    findings_of: Callable[[TargetOptions], list[Finding]],
    files: Files,
    verbose: bool | None,
) -> tuple[Audited, bool]:
    """Return the findings of each target, and whether one of several could not be audited; print an error for it."""
    audited: Audited = []
    place, failed = targets[0].place, False
    with _interruptible(lambda refuted: files.write([*audited, (place, refuted)], verbose)), only_findings_on_output():
        for target in targets:
            place = target.place
            try:
                with contextlib.chdir(files.folder):  # where the one before may not have stayed
                    audited.append((place, findings_of(target)))
            except UsageError as error:
                if len(targets) == 1:
                    raise
                failed = True
                say(f"{target.target or target.program}: {error}")
    return audited, failed


def _findings(
    asked: TargetOptions,
    chosen: Sequence[Attack],
    workers: str | None,
    options: Mapping[str, Any],
    refused: Sequence[str],
) -> list[Finding]:
    """Return one target's findings, by the chosen attacks or by all. `refused`: options in use that no stage takes."""
    elsewhere = asked.elsewhere()
    loaded = asked.load()
    if isinstance(loaded, Stage):
        if refused:
            raise UsageError(f"{loaded.name} is a stage, which draws nothing; leave out {', '.join(refused)}")
        from attacklab.stages.search import stability  # it takes Hypothesis, which takes time to import

        finding = stability(loaded, relax=asked.relax or 0.0, seed=options["seed"])
        replay = f"attacklab audit {asked.spec()} --seed {options['seed']}"
        return [replace(finding, spec=asked.spec() if finding.refutes else "", replay=replay)]
    if asked.relax is not None:
        raise UsageError(f"--relax is for stages, and {loaded.name} is not one; leave it out, or add --kind stage")
    if constant := without_variety(loaded, options["seed"]):
        return [constant]
    spec, alignment = asked.spec(), AlignmentAttack()
    with executor(workers, asked.library) as (drawing, here_seconds), status_line(error_console()) as report:
        where: dict[str, Any] = {"executor": drawing, "here_seconds": here_seconds, "load": elsewhere.load}
        findings = audit(loaded, chosen or [*ATTACKS, alignment], **options, **where, spec=spec, report=report)
    return [
        replace(finding, spec=spec if finding.refutes else finding.spec)
        for finding in findings
        if chosen or finding.attack != alignment.name or finding.pair is not None  # else nobody asked for it
    ]


def poc(
    findings: Annotated[Path, typer.Argument(metavar="FINDINGS.json", help="What attacklab audit --json wrote")],
    attack: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show the strongest finding of this attack [default: of all]")
    ] = None,
) -> None:
    """Write a finding as one script that shows it to a maintainer."""
    from attacklab.reporting.poc import chosen_finding, proof_of_concept  # here, because scripts import it themselves

    typer.echo(proof_of_concept(chosen_finding(read_record(findings)["findings"], attack)), nl=False)


def _require_name(target: str) -> None:
    """Refuse a file without a name; print a command for each mechanism in it."""
    if not (target.endswith(".py") and Path(target).is_file()):
        return
    commands = commands_for(Path(target))
    if not commands:
        name_one = f"name a function of it: attacklab audit {target}:NAME"
        raise UsageError(f"{target} has nothing that looks like a mechanism; {name_one}")
    for command in commands:
        typer.echo(command)
    raise UsageError(f"name a mechanism of {target}; these look like one (replace EPSILON by the ε that it claims)")


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
    """Drop messages on rates and trials, which only --verbose shows."""
