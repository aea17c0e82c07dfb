"""`attacklab run`, `demo` and `challenge`: experiments, attacks for the lecture hall and exercises, in a clone."""

import importlib
import os
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from types import ModuleType
from typing import Annotated, TypeAlias

import click
import typer
from rich.console import Console
from typer import Argument, Option

from attacklab.cli.messages import Seed, Status, by_name
from attacklab.cli.output import console
from attacklab.cli.where import Processes
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder, write_whole
from attacklab.model.findings import Verdict
from attacklab.model.plain_text import plain
from attacklab.reporting import experiment as experiments
from attacklab.reporting.experiment import DATA, Data, Experiment, Settings, run_experiment
from attacklab.reporting.lab import CORPUS, FOLDER, enter_lab
from attacklab.reporting.pages import require_index, write_index

Language: TypeAlias = Annotated[str, Option("--language", help="en for English, zh for Chinese")]


def run(
    names: Annotated[
        list[str] | None, Argument(help="Experiments, or corpus for all about the lab itself [default: all others]")
    ] = None,
    budget: Annotated[float, Option(min=0.0, max=1.0, help="How much to measure: 0 for a rough picture")] = 1.0,
    seed: Seed = 0,
    output: Annotated[Path, Option(help="Folder for pages, data and figures")] = Path("reports-lab"),
    pages: Annotated[bool, Option("--pages", help="Measure nothing: write the pages from earlier records")] = False,
    browse: Annotated[bool, Option("--browse", help="Write index.html too, and open it in a browser")] = False,
) -> None:
    """Run experiments (in a clone); write data, figures and a page."""
    lab = enter_lab(Path.cwd())
    require_index(output)
    out = console()
    if not pages:
        _measure(out, lab, names, Settings(seed=seed, share=budget), output)
    elif not any((output / DATA).glob("*.json")):
        raise UsageError(f"no record of an experiment in {output / DATA}; measure first: attacklab run NAME")
    index = write_index(output, lab)
    if browse:
        from attacklab.reporting.lab_page import lab_page  # here, because nothing else needs Markdown

        page = index.with_suffix(".html")
        write_whole(page, lab_page(output, index))
        out.print(f"to see in a browser: {page.resolve().as_uri()}")
        if out.is_terminal:
            webbrowser.open(page.resolve().as_uri())
    out.print(f"written: {index}")


def _measure(out: Console, lab: Path, names: Sequence[str] | None, settings: Settings, output: Path) -> None:
    """Run the experiments of these names, or of the packages of these names, and print how many verdicts each found."""
    known = experiments.load_experiments(lab)
    chosen: list[Experiment] = []
    for name in names or [FOLDER]:
        of_package = [experiment for experiment in known.values() if experiment.package == name]
        chosen += of_package or [by_name(name, known, "experiment")]
    require_writable_folder(output)
    for number, (experiment, data) in enumerate(_run(lab, chosen, settings, output), 1):
        out.print(f"[{number}/{len(chosen)}] {experiment.name}: {experiment.question}")
        verdicts = [finding["verdict"] for finding in data["findings"]]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
        out.print(f"      {data['experiment']['seconds']} s{': ' if counted else ''}{counted}")


def _run(
    lab: Path, chosen: Sequence[Experiment], settings: Settings, output: Path
) -> Iterator[tuple[Experiment, Data]]:
    """Run experiments, one per processor, and yield each when it ends; those in `corpus` run alone, for exact times."""
    together = [experiment for experiment in chosen if experiment.package != CORPUS]
    count = min(len(together), os.cpu_count() or 1)
    together = together if count > 1 else []
    with Processes(count) as pool:
        running = {pool.submit(_run_by_name, lab, one.name, settings, output): one for one in together}
        for ended in as_completed(running):
            yield running[ended], ended.result()
    for experiment in chosen:
        if experiment not in together:
            yield experiment, run_experiment(experiment, settings, output)


def _run_by_name(lab: Path, name: str, settings: Settings, output: Path) -> Data:
    enter_lab(lab)
    return run_experiment(experiments.load_experiment(lab, FOLDER, name), settings, output)


def demo(
    flaws: Annotated[
        list[str] | None, Argument(metavar="FLAW", help="What to show [default: all, one after another]")
    ] = None,
    language: Language = "en",
    seed: Seed = 0,
) -> None:
    """Show attacks live, on naive and exact twins (in a clone)."""
    lab = _package("experiments.demo", language)
    shows = {name: name for name in lab.SHOWS}
    chosen = [by_name(name, shows, "demonstration") for name in flaws or shows]
    wait = (lambda: click.getchar() not in ("q", "Q")) if sys.stdin.isatty() and sys.stdout.isatty() else None
    lab.play(chosen, language=language, seed=seed, say=typer.echo, wait=wait)


def challenge(
    file: Annotated[
        Path | None,
        Argument(metavar="FILE", help="An attack, a repair or a verdict to judge [default: list the mechanisms]"),
    ] = None,
    language: Language = "en",
) -> None:
    """List challenges, or judge what was handed in (in a clone)."""
    lab = _package("challenges", language)
    lines, is_passed = lab.listed(language), True
    if file is not None:
        grade = lab.grade(file, language=language)
        lines, is_passed = grade.lines, grade.passed
    for line in lines:
        typer.echo(plain(line))
    raise typer.Exit(Status.OK if is_passed else Status.REFUTED)


def _package(name: str, language: str) -> ModuleType:
    """Import a package of the lab; refuse a language that it does not have."""
    enter_lab(Path.cwd())
    module = importlib.import_module(name)
    by_name(language, {known: known for known in module.LANGUAGES}, "language")
    return module
