"""`attacklab run`: experiments, from their configuration to data, figures and a page."""

from __future__ import annotations

from pathlib import Path

import typer

from attacklab.cli import options
from attacklab.cli.messages import by_name
from attacklab.files import require_writable_folder
from attacklab.findings import Verdict
from attacklab.reporting.experiment import Settings, load_experiments, run_experiment
from attacklab.reporting.pages import write_index


def command(
    names: options.Experiments = None,
    quick: options.Quick = False,
    seed: options.Seed = 0,
    output: options.Output = Path("reports"),
) -> None:
    """Run experiments; write data, figures and a page."""
    known = load_experiments(Path.cwd())
    chosen = [by_name(name, known, "experiment") for name in names or known]
    require_writable_folder(output)
    for number, experiment in enumerate(chosen, 1):
        typer.echo(f"[{number}/{len(chosen)}] {experiment.name}: {experiment.question}")
        data = run_experiment(experiment, Settings(seed=seed, quick=quick), output)
        verdicts = [finding["verdict"] for finding in data["findings"]]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
        typer.echo(f"      {data['experiment']['seconds']} s{': ' if counted else ''}{counted}")
    typer.echo(f"written: {write_index(output)}")
