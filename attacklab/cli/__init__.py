"""The command line: `attacklab list`, `run`, `audit`, `prove`.

Exit status: 0 nothing violated, 1 a claim refuted, 2 a usage error, an ERROR finding or nothing that could be tested,
130 interrupted.
"""

from __future__ import annotations

import contextlib
import difflib
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attacklab.attacks import ATTACKS, ON_REQUEST
from attacklab.attacks.base import Attack
from attacklab.errors import ArithmeticModeError, UsageError
from attacklab.execution.batches import Bench
from attacklab.execution.runners import DaskWorkers, Here, Load, ProcessWorkers, Runner, WhenLong, processors
from attacklab.findings import (
    Finding,
    Verdict,
    record,
    require_writable,
    require_writable_folder,
    to_text,
    write_whole,
)
from attacklab.isolation import external, isolated
from attacklab.laws import Progress
from attacklab.libraries import NAMES, Library, library, library_of
from attacklab.libraries.environments import environments, interpreter
from attacklab.loading import load_target, targets_of
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.proof import LIMITS, default_pair, prove
from attacklab.referee import DEFAULT_ALPHA, DEFAULT_TRIALS, audit
from attacklab.reporting.experiment import FOLDER, Settings, is_lab, load_experiments, run_experiment
from attacklab.reporting.pages import write_index
from attacklab.reporting.progress import progress
from attacklab.reporting.sarif import Place, sarif_log
from attacklab.targets import Kind, Target
from attacklab.timed_audit import paced_audit

OK, REFUTED, FAILED, INTERRUPTED = 0, 1, 2, 130
COLOURS = {
    Verdict.VIOLATED: "bold red",
    Verdict.PROVED: "bold blue",
    Verdict.ERROR: "bold yellow",
    Verdict.INCONCLUSIVE: "yellow",
}

Named = TypeVar("Named")

app = typer.Typer(
    help="Attack implementations of differential privacy, and say with what confidence they are broken.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@app.command("list")
def list_() -> None:
    """List attacks, libraries, experiments and targets."""
    console = Console(markup=False, highlight=False)
    attacks = Table("attack", "looks for", title="Attacks", title_justify="left", box=None)
    for attack in ATTACKS:
        attacks.add_row(attack.name, attack.flaw)
    for attack in ON_REQUEST:
        attacks.add_row(attack.name, f"{attack.flaw} (only when named by --attack)")
    console.print(attacks)
    console.print(_libraries())
    for environment in environments(Path.cwd()):
        if environment.is_missing:
            console.print(f"environment {environment.name} is not built: {environment.build}")
    if not is_lab(Path.cwd()):
        console.print(
            "\nExperiments and the lab's targets are found in a checkout of the lab, which this folder is not."
        )
        return
    experiments = Table("experiment", "question", title="\nExperiments", title_justify="left", box=None)
    for experiment in load_experiments(Path.cwd()).values():
        experiments.add_row(experiment.name, experiment.question)
    console.print(experiments)
    place = f"{FOLDER}.targets"
    targets = Table("target", "what it is", title=f"\nTargets, named {place}:TARGET", title_justify="left", box=None)
    for name, summary in targets_of(place).items():
        targets.add_row(name, summary)
    console.print(targets)


def _libraries() -> Table:
    table = Table(
        "library", "where", "mechanisms", title="\nLibraries, named LIBRARY:MECHANISM", title_justify="left", box=None
    )
    for name in NAMES:
        described = library(name)
        built = [one.name for one in environments(Path.cwd()) if one.library == name and not one.is_missing]
        where = [f"here, {described.installed}"] if described.installed else []
        where += [f"--in-env {one}" for one in built]
        table.add_row(
            name, "; ".join(where) or f"pip install {described.distribution}", ", ".join(described.mechanisms)
        )
    return table


@app.command()
def run(
    names: Annotated[list[str] | None, typer.Argument(help="Which experiments; all by default.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A rough picture in under a minute.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="What all randomness is derived from.")] = 0,
    output: Annotated[Path, typer.Option(help="The folder for pages, data and figures.")] = Path("reports"),
) -> None:
    """Run experiments; write data, figures and a page."""
    known = load_experiments(Path.cwd())
    chosen = [_named(name, known, "experiment") for name in names] if names else list(known.values())
    require_writable_folder(output)
    settings = Settings(seed=seed, quick=quick)
    for number, experiment in enumerate(chosen, 1):
        typer.echo(f"[{number}/{len(chosen)}] {experiment.name}: {experiment.question}")
        data = run_experiment(experiment, settings, output)
        verdicts = [finding["verdict"] for finding in data["findings"]]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
        typer.echo(f"      {data['experiment']['seconds']} s{': ' if counted else ''}{counted}")
    typer.echo(f"written: {write_index(output)}")


@app.command("audit")
def audit_(
    target: Annotated[
        str | None, typer.Argument(help="path/file.py:name, package.module:name or library:mechanism; none with --exec")
    ] = None,
    attack: Annotated[list[str] | None, typer.Option(help="Only this attack; may be repeated.")] = None,
    command: Annotated[
        str | None, typer.Option("--exec", metavar="COMMAND", help="A program that answers requests: the target.")
    ] = None,
    isolate: Annotated[
        bool, typer.Option("--isolate", help="Run TARGET in a process of its own, as a library's always is.")
    ] = False,
    in_env: Annotated[
        str | None,
        typer.Option("--in-env", metavar="NAME", help="Run TARGET in this environment, or this path to a Python."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Longest wait for an answer of its process; 60.")] = None,
    memory: Annotated[int | None, typer.Option(min=1, help="Address space of its process, in MiB; no limit.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Take TARGET as a release function of this kind.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The claimed ε.")] = None,
    delta: Annotated[float | None, typer.Option(help="The claimed δ; 0 by default.")] = None,
    sensitivity: Annotated[float | None, typer.Option(help="Of the answer or the utilities; 1 by default.")] = None,
    lower: Annotated[float | None, typer.Option(help="Lower bound of a record (sum, mean).")] = None,
    upper: Annotated[float | None, typer.Option(help="Upper bound of a record (sum, mean).")] = None,
    relation: Annotated[
        Relation | None, typer.Option(help="Of the datasets that the claim calls neighbours; any by default.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Most outputs of either input to judge an event on; {DEFAULT_TRIALS}, or of a library as many as its "
            "speed allows.",
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Probability of any false alarm.")] = DEFAULT_ALPHA,
    seed: Annotated[int, typer.Option(min=0, help="What all randomness is derived from.")] = 0,
    spend_all: Annotated[bool, typer.Option("--spend-all", help="Use all trials, for closer bounds.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Draw outputs in so many processes; 1 for this one alone. By default in this one, and in one for each "
            "processor as soon as a sample is seen to take long.",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Draw outputs in the workers of this Dask scheduler, tcp://host:8786."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep results in this file as they are drawn; if it holds results of this very run, go on after them.",
        ),
    ] = None,
    json: Annotated[str | None, typer.Option(help="Write the findings to this file, or - for standard output.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write refuted claims to this file, as SARIF 2.1.0.")] = None,
) -> None:
    """Run every attack that applies against a target."""
    parameters: dict[str, Any] = {"delta": delta, "sensitivity": sensitivity, "relation": relation}
    if (lower is None) != (upper is None):
        raise UsageError("--lower and --upper go together")
    if lower is not None:
        parameters["bounds"] = (lower, upper)
    parameters = {name: value for name, value in parameters.items() if value is not None}
    parameters |= {"kind": kind, "epsilon": epsilon}
    limits: dict[str, Any] = {}
    if seconds is not None:
        limits["seconds"] = seconds
    if memory is not None:
        limits["memory_bytes"] = memory << 20
    python = None if in_env is None else interpreter(in_env, Path.cwd())
    known_library = None if target is None else library_of(target)
    if known_library is not None and trials is None and resume is not None:
        raise UsageError("--resume of a library's target needs --trials, so that both runs are alike")
    loaded = _loaded(target, command, isolate, python, parameters, limits)
    load = partial(_loaded, target and _absolute(target), command, isolate, python, parameters, limits)
    by_name = {known.name: known for known in (*ATTACKS, *ON_REQUEST)}
    names = dict.fromkeys(attack or [known.name for known in ATTACKS])
    chosen: Sequence[Attack] = [_named(name, by_name, "attack") for name in names]
    options: dict[str, object] = {"--exec": command, "--isolate": isolate or None, "--in-env": in_env}
    options |= {"--seconds": seconds, "--memory": memory}
    options |= {"--kind": kind, "--epsilon": epsilon, "--delta": delta, "--sensitivity": sensitivity}
    options |= {"--lower": lower, "--upper": upper, "--relation": relation}
    if sarif == Path("-"):
        raise UsageError("--sarif needs the name of a file; only --json takes - for standard output")
    for file in (_file(json), sarif, resume):
        if file is not None:
            require_writable(file)
    console = Console(stderr=True)
    try:
        with _where(workers, scheduler, load, known_library) as where, progress(console) as report:
            common: dict[str, Any] = {"alpha": alpha, "seed": seed, "spend_all": spend_all, "where": where}
            common |= {"spec": _spec(target, options), "report": report, "say": _say}
            if known_library is not None and trials is None:
                findings = [finding for one in paced_audit(loaded, chosen, **common) for finding in one.findings]
            else:
                findings = audit(loaded, chosen, trials=trials or DEFAULT_TRIALS, checkpoint=resume, **common)
    except KeyboardInterrupt:
        again = shlex.join(["attacklab", *sys.argv[1:]])
        _say(
            f"interrupted; go on with: {again}"
            if resume
            else "interrupted; only a run with --resume can be gone on with"
        )
        raise typer.Exit(INTERRUPTED) from None
    if json == "-":
        typer.echo(to_text(record(findings)), nl=False)
    else:
        _print_findings(findings)
        if (file := _file(json)) is not None:
            write_whole(file, to_text(record(findings)))
    if sarif is not None:
        module = (target or "").rpartition(":")[0]
        place = Place(Path(module).as_posix()) if module.endswith(".py") else None
        write_whole(sarif, to_text(sarif_log([(finding, place) for finding in findings])))
    verdicts = {finding.verdict for finding in findings}
    if Verdict.ERROR in verdicts:
        raise typer.Exit(FAILED)
    if Verdict.VIOLATED in verdicts:
        raise typer.Exit(REFUTED)
    if verdicts == {Verdict.NOT_APPLICABLE}:
        own = "; BlackBox(pairs=...), from Python, tries pairs of your own" if loaded.kind is Kind.DATASET else ""
        _say(f"nothing was tested: none of these attacks applies to this {loaded.kind} target{own}")
        raise typer.Exit(FAILED)


@app.command("prove")
def prove_(
    target: Annotated[str, typer.Argument(help="path/file.py:name or package.module:name, of a target with a sampler")],
    epsilon: Annotated[float | None, typer.Option(help="The claimed ε.")] = None,
    first: Annotated[str | None, typer.Option(help="One input of the pair: numbers separated by commas.")] = None,
    second: Annotated[str | None, typer.Option(help="Its neighbour.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="The most runs of the sampler for either law.")] = LIMITS.runs,
    json: Annotated[str | None, typer.Option(help="Write the finding to this file, or - for standard output.")] = None,
) -> None:
    """Decide a claim on one pair by exact output laws."""
    if (file := _file(json)) is not None:
        require_writable(file)
    loaded = load_target(target, epsilon=epsilon)
    if (first is None) != (second is None):
        raise UsageError("--first and --second go together")
    pair = default_pair(loaded) if first is None else _pair(loaded, _numbers(first), _numbers(str(second)))
    options = {"--epsilon": epsilon, "--first": first, "--second": second}
    limits = replace(LIMITS, runs=runs)
    status = Console(stderr=True).status("enumerating")
    with status:
        finding = prove(
            loaded, pair, limits=limits, progress=lambda at: status.update(_progress(at)), spec=_spec(target, options)
        )
    if json == "-":
        typer.echo(to_text(record([finding])), nl=False)
    else:
        _print_findings([finding])
        if file is not None:
            write_whole(file, to_text(record([finding])))
    raise typer.Exit(REFUTED if finding.verdict is Verdict.VIOLATED else OK)


@contextlib.contextmanager
def _where(
    workers: int | None, scheduler: str | None, load: Load, known_library: Library | None
) -> Iterator[Callable[[Bench], Runner]]:
    """What the two options say of where trials run; a library that no seed replays can be audited here only."""
    if known_library is not None and known_library.unseeded:
        if scheduler is not None or workers not in (None, 1):
            raise UsageError(f"no seed replays {known_library.name}, so it cannot be audited in several processes")
        yield Here
        return
    if scheduler is not None:
        if workers is not None:
            raise UsageError("--workers and --scheduler exclude each other")
        with DaskWorkers(scheduler, load=load, say=_say) as cluster:
            yield cluster.runner
    elif workers == 1 or (workers is None and processors() == 1):
        yield Here
    else:
        with ProcessWorkers(workers, load=load, say=_say) as pool:
            yield pool.runner if workers else WhenLong(pool, say=_say).runner


def _absolute(target: str) -> str:
    """The same target for a process that works in another folder."""
    place, separator, name = target.rpartition(":")
    return f"{Path(place).resolve()}{separator}{name}" if Path(place).is_file() else target


def _file(json: str | None) -> Path | None:
    return None if json in (None, "-") else Path(str(json))


def _say(line: str) -> None:
    typer.echo(f"attacklab: {line}", err=True)


def _progress(at: Progress) -> str:
    return f"{at.runs} runs, {at.tapes} waiting, {at.unresolved:.2g} of the mass open"


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
            raise UsageError("the inputs of a noise target are one number each")
        return NeighbouringPair.answers(first[0], second[0], sensitivity=target.sensitivity)
    relation = Relation.SUBSTITUTE if len(first) == len(second) else Relation.ADD_REMOVE
    return NeighbouringPair.records(first, second, relation)


def _loaded(
    target: str | None,
    command: str | None,
    isolate: bool,
    python: str | None,
    parameters: dict[str, Any],
    limits: dict[str, Any],
) -> Target:
    if (target is None) == (command is None):
        raise typer.BadParameter("give the name of a target, or a program after --exec", param_hint="TARGET")
    if command is not None:
        if isolate:
            raise UsageError("a program after --exec always runs in a process of its own; leave --isolate out")
        if python is not None:
            raise UsageError("a program after --exec needs no Python; leave --in-env out")
        if parameters["kind"] is None or parameters["epsilon"] is None:
            raise UsageError("a program after --exec needs --kind and --epsilon")
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"--exec {command}: {str(error).lower()}") from error
        return external(words, **parameters, **limits)
    if python is not None:
        return isolated(str(target), python=python, **parameters, **limits)
    if isolate or library_of(str(target)) is not None:
        return isolated(str(target), **parameters, **limits)
    if limits:
        raise UsageError(
            "--seconds and --memory limit another process; they need --isolate, --in-env, --exec or a library"
        )
    return load_target(str(target), **parameters)


def _spec(target: str | None, options: Mapping[str, object]) -> str:
    said = [] if target is None else [shlex.quote(target)]
    for option, value in options.items():
        if value is not None:
            said += [option] if value is True else [option, shlex.quote(str(value))]
    return " ".join(said)


def main() -> None:
    """Run the command line; a failure that can be expected ends in one line on standard error."""
    try:
        app()
    except (ValueError, TypeError, OSError, ArithmeticModeError) as error:
        _say(str(error))
        sys.exit(FAILED)
    except Exception:  # a fault of the lab's own, whose status must not be that of a refuted claim
        traceback.print_exc()
        sys.exit(FAILED)


def _named(name: str, known: Mapping[str, Named], what: str) -> Named:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise UsageError(f"no {what} {name!r}; {hint}")


def _print_findings(findings: Sequence[Finding]) -> None:
    console = Console(markup=False, highlight=False)
    table = Table(box=None, pad_edge=False)
    for column in ("attack", "verdict", "advantage", "allowed"):
        table.add_column(column, no_wrap=True)
    table.add_column("event, and what follows")
    applied = [finding for finding in findings if finding.verdict is not Verdict.NOT_APPLICABLE]
    for finding in applied:
        advantage = finding.advantage
        table.add_row(
            finding.attack,
            Text(finding.verdict, style=COLOURS.get(finding.verdict, "")),
            f"{advantage.estimate:.4f}" if advantage else "",
            f"{finding.ceiling:.4f}" if advantage else "",
            Text(f"{finding.event}{': ' if finding.event else ''}{finding.reason}"),
        )
    if applied:
        console.print(table)
    others = dict.fromkeys(finding.attack for finding in findings if finding not in applied)
    if others:
        console.print(f"do not apply to this kind of target: {', '.join(others)}")
    for line in dict.fromkeys(finding.replay for finding in findings if finding.verdict is Verdict.VIOLATED):
        console.print(f"replay: {line}", soft_wrap=True)
