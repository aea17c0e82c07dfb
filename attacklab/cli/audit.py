"""`attacklab audit`: attacks against one target; `attacklab poc`: what they found, as a script.

What takes long to import is imported after the target, whose name may be misspelt, unless an attack is named.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from attacklab.auditing import DEFAULT_ALPHA, DEFAULT_TRIALS
from attacklab.cli.files import Audited, Files, only_findings_on_output
from attacklab.cli.mechanisms import commands_for
from attacklab.cli.messages import BUDGET, OUTPUT, WHERE, Alpha, Json, Seed, Status, Verbose, by_name, option, say
from attacklab.cli.settings import TABLE, Settings, flaws_in, project_settings
from attacklab.cli.target_options import TargetOptions, takes_target
from attacklab.cli.where import executor
from attacklab.libraries import library_of
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, read_record
from attacklab.model.stage import Stage

TRIALS = f"Most outputs of each input [default: {DEFAULT_TRIALS}; more where those may refute the claim]"
WORKERS = "Number of processes, or a Dask scheduler such as tcp://host:8786 [default: 1; more after 10 s]"
BASELINE = "File of an earlier --json; the flaws in it are shown, and only new ones fail"


@takes_target()
def command(
    asked: TargetOptions,
    *,
    attack: Annotated[list[str] | None, option(BUDGET, "Run only this attack; repeatable", metavar="NAME")] = None,
    trials: Annotated[int | None, option(BUDGET, TRIALS, min=1, metavar="N")] = None,
    alpha: Alpha = DEFAULT_ALPHA,
    seed: Seed = 0,
    workers: Annotated[str | None, option(WHERE, WORKERS, metavar="N")] = None,
    json: Json = None,
    sarif: Annotated[Path | None, option(OUTPUT, "Write refuted claims here, as SARIF 2.1.0", metavar="FILE")] = None,
    html: Annotated[Path | None, option(OUTPUT, "Write a page of HTML for people here", metavar="FILE")] = None,
    baseline: Annotated[Path | None, option(OUTPUT, BASELINE, metavar="FILE")] = None,
    verbose: Verbose = None,
) -> None:
    """Run every attack that applies against a target."""
    _require_name(asked.target or "")
    settings = _settings(asked, baseline)
    chosen, targets = _chosen(attack) if attack else [], settings.targets or (asked,)
    if html and len(targets) > 1:
        raise UsageError(f"--html shows one target, and {TABLE} has {len(targets)}; name one")
    files = Files(json=json, sarif=sarif, html=html)
    share = _alpha(settings.alpha if alpha == DEFAULT_ALPHA else alpha) / len(targets)
    options = {"trials": trials, "alpha": share, "seed": seed, **({"say": say} if verbose else {})}
    of_samples = {"--attack": attack, "--trials": trials, "--alpha": alpha != DEFAULT_ALPHA, "--workers": workers}
    refused = [] if settings.targets else list(filter(of_samples.get, of_samples))
    audited: Audited = []
    failures = []
    with _interruptible(lambda refuted: files.write([*audited, (target.place, refuted)], verbose)):
        for target in targets:
            try:
                with contextlib.chdir(files.folder), only_findings_on_output():  # the one before may have left it
                    audited.append((target.place, _findings(target, chosen, workers, options, refused)))
            except UsageError as error:
                if len(targets) == 1:
                    raise
                failures.append(Status.FAILED)
                say(f"{target.target or target.program}: {error}")
    files.write(audited, verbose)
    statuses = [*failures, *(settings.status_of(findings) for _, findings in audited)]
    raise typer.Exit(Status.REFUTED if Status.REFUTED in statuses else max(statuses))


def _settings(asked: TargetOptions, baseline: Path | None) -> Settings:
    """Return the project's settings if no target is named, else the defaults, with the flaws of the baseline known."""
    settings = project_settings(Path.cwd()) if asked == TargetOptions() else Settings()
    return settings if baseline is None else replace(settings, known=settings.known | flaws_in(baseline))


def _alpha(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie in (0, 1), not {alpha}")
    return alpha


def _chosen(names: Sequence[str]) -> list[Any]:
    """Return the attacks with these names, each once. An unknown name raises UsageError."""
    from attacklab.attacks import ALL_ATTACKS

    known = {attack.name: attack for attack in ALL_ATTACKS}
    return [by_name(name, known, "attack") for name in dict.fromkeys(names)]


def _findings(
    asked: TargetOptions, chosen: Sequence[Any], workers: str | None, options: Mapping[str, Any], refused: Sequence[str]
) -> list[Finding]:
    """Return one target's findings, by the chosen attacks or by all. `refused`: options in use that no stage takes."""
    load = replace(asked, folder=Path.cwd()).load  # for processes that work in other folders
    loaded, spec = asked.load(), asked.spec()
    if isinstance(loaded, Stage):
        if refused:
            raise UsageError(f"{loaded.name} is a stage, which draws nothing; leave out {', '.join(refused)}")
        from attacklab.stages.search import stability

        finding = stability(loaded, seed=options["seed"])
        replay = f"attacklab audit {spec} --seed {options['seed']}"
        return [replace(finding, spec=spec if finding.refutes else "", replay=replay)]
    import scipy.special  # noqa: F401 - before the target is called, which may change where packages are looked for

    from attacklab.attacks import ATTACKS, AlignmentAttack
    from attacklab.auditing.first_outputs import without_variety
    from attacklab.auditing.referee import audit
    from attacklab.cli.output import error_console
    from attacklab.reporting.progress import status_line

    if constant := without_variety(loaded, options["seed"]):
        return [constant]
    alignment, library = AlignmentAttack(), library_of(asked.target or "")
    with executor(workers, library) as (drawing, here_seconds), status_line(error_console()) as report:
        where: dict[str, Any] = {"executor": drawing, "here_seconds": here_seconds, "load": load}
        findings = audit(loaded, chosen or [*ATTACKS, alignment], **options, **where, spec=spec, report=report)
    return [
        replace(finding, spec=spec if finding.refutes else finding.spec)
        for finding in findings
        if chosen or finding.attack != alignment.name or finding.pair is not None  # else nobody asked for it
    ]


def poc(
    findings: Annotated[Path, typer.Argument(metavar="FINDINGS.json", help="What attacklab audit --json wrote")],
    attack: Annotated[str | None, typer.Option(metavar="NAME", help="Look at findings of this attack only")] = None,
) -> None:
    """Write a finding as one script that shows it to a maintainer."""
    from attacklab.reporting.poc import chosen_finding, proof_of_concept  # here, because scripts import it themselves

    typer.echo(proof_of_concept(chosen_finding(read_record(findings)["findings"], attack)), nl=False)


def _require_name(target: str) -> None:
    """If `target` is a file without a name, print a command for each mechanism in it, and raise UsageError."""
    if not (target.endswith(".py") and Path(target).is_file()):
        return
    commands = commands_for(Path(target))
    for command in commands:
        typer.echo(command)
    listed = "these look like one (replace EPSILON by the ε that it claims)" if commands else "nothing looks like one"
    raise UsageError(f"name a mechanism of {target}, as in {target}:NAME; {listed}")


@contextlib.contextmanager
def _interruptible(show: Callable[[list[Finding]], object]) -> Iterator[None]:
    """At Ctrl-C in the `with` block, call `show` with the refuting findings so far, if any, say so, and exit."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        refuted = [finding for finding in getattr(interrupt, "findings", ()) if finding.refutes]  # of `Interrupted`
        if refuted:
            show(refuted)
        say("interrupted; this is what was refuted by then" if refuted else "interrupted, nothing was saved")
        raise typer.Exit(Status.INTERRUPTED) from None
