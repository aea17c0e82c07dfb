"""`attacklab run`: experiments, from their configuration to data, figures and a page."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Argument, Option

from attacklab.cli.messages import Seed, by_name
from attacklab.cli.output import console
from attacklab.cli.where import Processes
from attacklab.model.errors import UsageError
from attacklab.model.files import require_writable_folder, write_whole
from attacklab.model.findings import Verdict
from attacklab.reporting import experiment as experiments
from attacklab.reporting.experiment import DATA, Data, Experiment, Settings, run_experiment
from attacklab.reporting.lab import CORPUS, FOLDER, enter_lab
from attacklab.reporting.pages import require_index, write_index


def command(
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
        out.print(f"to see in a browser: {page.resolve().as_uri()}", soft_wrap=True)
        if out.is_terminal:
            webbrowser.open(page.resolve().as_uri())
    out.print(f"written: {index}", soft_wrap=True)


def _measure(out: Console, lab: Path, names: Sequence[str] | None, settings: Settings, output: Path) -> None:
    """Run the experiments of these names, and say what each found."""
    known = experiments.load_experiments(lab)
    chosen: list[Experiment] = []
    for name in names or [FOLDER]:
        of_package = [experiment for experiment in known.values() if experiment.package == name]
        chosen += of_package or [by_name(name, known, "experiment")]
    require_writable_folder(output)
    for number, (experiment, data) in enumerate(_run(lab, chosen, settings, output), 1):
        out.print(f"[{number}/{len(chosen)}] {experiment.name}: {experiment.question}", soft_wrap=True)
        verdicts = [finding["verdict"] for finding in data["findings"]]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
        out.print(f"      {data['experiment']['seconds']} s{': ' if counted else ''}{counted}", soft_wrap=True)


def _run(
    lab: Path, chosen: Sequence[Experiment], settings: Settings, output: Path
) -> Iterator[tuple[Experiment, Data]]:
    """Run experiments, one a processor, in the order in which they end; those of `corpus` alone, for their clocks."""
    together = [experiment for experiment in chosen if experiment.package != CORPUS]
    processes = min(len(together), os.cpu_count() or 1)
    if processes > 1:
        pool = Processes(processes)
        try:
            running = {
                pool.submit(_run_by_name, lab, experiment.name, settings, output): experiment for experiment in together
            }
            for ended in as_completed(running):
                yield running[ended], ended.result()
        finally:
            pool.shutdown()
    for experiment in chosen:
        if experiment.package == CORPUS or processes == 1:
            yield experiment, run_experiment(experiment, settings, output)


def _run_by_name(lab: Path, name: str, settings: Settings, output: Path) -> Data:
    enter_lab(lab)
    return run_experiment(experiments.load_experiment(lab, FOLDER, name), settings, output)
