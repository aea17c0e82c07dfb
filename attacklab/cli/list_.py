"""`attacklab list`: what there is to run, attack and load."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from attacklab.attacks import ALL_ATTACKS
from attacklab.cli.messages import say
from attacklab.cli.output import console
from attacklab.libraries import NAMES, Library, library
from attacklab.libraries.environments import Environment, environments
from attacklab.model.errors import UsageError
from attacklab.model.loading import targets_of
from attacklab.model.plain_text import plain
from attacklab.reporting.experiment import load_experiments
from attacklab.reporting.lab import FOLDER, is_lab


def command() -> None:
    """List attacks, libraries, experiments and targets."""
    out, known = console(), environments(Path.cwd())
    out.print(_attacks())
    out.print(_libraries(known))
    for environment in known:
        if environment.is_missing:
            out.print(f"environment {environment.name} is not built; build it with: {environment.build}")
    if is_lab(Path.cwd()):
        try:
            out.print(_experiments())
            out.print(_targets(f"{FOLDER}.targets"))
        except UsageError as error:  # attacks and libraries are there all the same
            say(f"experiments and targets are not listed: {error}")
    else:
        out.print("\nThis folder is not a checkout of the lab; in one, experiments and targets are listed too.")


def _table(title: str, *columns: str) -> Table:
    return Table(*columns, title=title, title_justify="left", box=None)


def _attacks() -> Table:
    table = _table("Attacks", "attack", "looks for")
    for attack in ALL_ATTACKS:
        table.add_row(attack.name, attack.flaw)
    return table


def _libraries(known: list[Environment]) -> Table:
    table = _table("\nLibraries, named LIBRARY:MECHANISM", "library", "where", "mechanisms")
    for described in map(library, NAMES):
        table.add_row(described.name, _where(described, known), ", ".join(described.mechanisms))
    return table


def _where(described: Library, known: list[Environment]) -> str:
    places = [f"here, {described.installed}"] if described.installed else []
    places += [f"--in-env {entry.name}" for entry in known if entry.library == described.name and not entry.is_missing]
    return "; ".join(places) or f"pip install {described.distribution}"


def _experiments() -> Table:
    table = _table("\nExperiments", "experiment", "question")
    for experiment in load_experiments(Path.cwd()).values():
        table.add_row(plain(experiment.name), plain(experiment.question))
    return table


def _targets(module: str) -> Table:
    table = _table(f"\nTargets, named {module}:TARGET", "target", "what it is")
    for name, summary in targets_of(module).items():
        table.add_row(plain(name), plain(summary))
    return table
