"""`attacklab run`: experiments, from their configuration to data, figures and a page."""

from __future__ import annotations

from pathlib import Path

from attacklab.cli import options
from attacklab.cli.messages import by_name
from attacklab.cli.output import console
from attacklab.files import require_writable_folder
from attacklab.findings import Verdict
from attacklab.reporting.experiment import Settings, load_experiments, run_experiment
from attacklab.reporting.pages import require_index, write_index


def command(
    names: options.Experiments = None,
    quick: options.Quick = False,
    seed: options.Seed = 0,
    output: options.Output = Path("reports"),
) -> None:
    """Run experiments; write data, figures and a page."""
    known = load_experiments(Path.cwd())
    chosen = [by_name(name, known, "experiment") for name in names or known]
    require_index(output)
    require_writable_folder(output)
    out = console()
    for number, experiment in enumerate(chosen, 1):
        out.print(f"[{number}/{len(chosen)}] {experiment.name}: {experiment.question}", soft_wrap=True)
        data = run_experiment(experiment, Settings(seed=seed, quick=quick), output)
        verdicts = [finding["verdict"] for finding in data["findings"]]
        counted = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
        out.print(f"      {data['experiment']['seconds']} s{': ' if counted else ''}{counted}", soft_wrap=True)
    out.print(f"written: {write_index(output)}", soft_wrap=True)
