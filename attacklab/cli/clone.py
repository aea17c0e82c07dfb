"""`attacklab run`, `demo` and `challenge`: experiments, attacks for the lecture hall and exercises, in a clone."""

import importlib
import os
import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal, TypeAlias

import typer
from typer import Argument, Option

from attacklab.cli.messages import Seed, Status, by_name
from attacklab.cli.output import console
from attacklab.cli.where import Processes
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder, write_whole
from attacklab.model.findings import Verdict
from attacklab.model.plain_text import plain
from attacklab.reporting.experiment import DATA, Data, Experiment, Settings, load_experiments, run_experiment
from attacklab.reporting.lab import CORPUS, FOLDER, enter_lab
from attacklab.reporting.pages import require_index, write_index

Language: TypeAlias = Annotated[Literal["en", "zh"], Option(help="en for English, zh for Chinese")]
NAMES = "Experiments, or corpus for all about the lab itself [default: all others]"
HANDED_IN = "An attack, a repair or a verdict to judge [default: list the mechanisms]"


def run(
    names: Annotated[list[str] | None, Argument(help=NAMES)] = None,
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
        chosen = _chosen(load_experiments(lab), names or [FOLDER])
        require_writable_folder(output)
        for number, (experiment, data) in enumerate(_run(chosen, Settings(seed=seed, share=budget), output), 1):
            out.print(f"[{number}/{len(chosen)}] {experiment.name}: {experiment.question}")
            verdicts = [finding["verdict"] for finding in data["findings"]]
            counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
            out.print(f"      {data['experiment']['seconds']} s{': ' if counted else ''}{counted}")
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


def _chosen(known: Mapping[str, Experiment], names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of these names, or of the packages of these names."""
    packages = {name: [experiment for experiment in known.values() if experiment.package == name] for name in names}
    return [experiment for name in names for experiment in packages[name] or [by_name(name, known, "experiment")]]


def _run(chosen: Sequence[Experiment], settings: Settings, output: Path) -> Iterator[tuple[Experiment, Data]]:
    """Run experiments, one per processor, and yield each when it ends; those in `corpus` run alone, for exact times."""
    together = [experiment for experiment in chosen if experiment.package != CORPUS]
    count = min(len(together), os.cpu_count() or 1)
    together = together if count > 1 else []
    with Processes(count) as pool:
        running = {pool.submit(run_experiment, experiment, settings, output): experiment for experiment in together}
        for ended in as_completed(running):
            yield running[ended], ended.result()
    for experiment in chosen:
        if experiment not in together:
            yield experiment, run_experiment(experiment, settings, output)


def demo(
    flaws: Annotated[list[str] | None, Argument(metavar="FLAW", help="What to show [default: all in turn]")] = None,
    language: Language = "en",
    seed: Seed = 0,
) -> None:
    """Show attacks live, on naive and exact twins (in a clone)."""
    lab = _package("experiments.demo")
    shows = dict.fromkeys(lab.SHOWS)
    for name in flaws or ():
        by_name(name, shows, "demonstration")
    wait = (lambda: typer.getchar() not in ("q", "Q")) if sys.stdin.isatty() and sys.stdout.isatty() else None
    lab.play(flaws or list(shows), language=language, seed=seed, say=typer.echo, wait=wait)


def challenge(
    file: Annotated[Path | None, Argument(metavar="FILE", help=HANDED_IN)] = None, language: Language = "en"
) -> None:
    """List challenges, or judge what was handed in (in a clone)."""
    lab = _package("challenges")
    grade = None if file is None else lab.grade(file, language=language)
    for line in lab.listed(language) if grade is None else grade.lines:
        typer.echo(plain(line))
    raise typer.Exit(Status.OK if grade is None or grade.passed else Status.REFUTED)


def _package(name: str) -> ModuleType:
    """Import and return a package of the lab. The current folder must be a checkout of the lab."""
    enter_lab(Path.cwd())
    return importlib.import_module(name)
