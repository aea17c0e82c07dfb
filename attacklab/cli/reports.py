"""`attacklab reports`: the pages of a folder of reports, written from their records."""

from __future__ import annotations

from pathlib import Path

from attacklab.cli import options
from attacklab.cli.console import console
from attacklab.model.errors import UsageError
from attacklab.reporting.experiment import DATA
from attacklab.reporting.lab import enter_lab
from attacklab.reporting.pages import outdated, require_index, write_index


def command(check: options.Check = False, output: options.Output = Path("reports")) -> None:
    """Write pages from records, and mark older ones."""
    lab = enter_lab(Path.cwd())
    if not any((output / DATA).glob("*.json")):
        raise UsageError(
            f"no record of an experiment in {output / DATA}; name the folder that attacklab run wrote by --output, "
            "or measure first: attacklab run NAME"
        )
    require_index(output)
    out = console()
    if not check:
        out.print(f"written: {write_index(output, lab)}", soft_wrap=True)
    older, differing = outdated(output, lab)
    for name in older:
        out.print(f"older than the code: {name}", soft_wrap=True)
    if differing:
        names = ", ".join(path.relative_to(output).as_posix() for path in differing)
        raise UsageError(
            f"{names}: not what the records and the code say; write them by attacklab reports, "
            "or measure anew by attacklab run NAME --output reports"
        )
