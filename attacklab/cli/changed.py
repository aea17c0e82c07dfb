"""The audit of files before a commit: every `Target` that one of them makes at its top goes through `attacklab audit`.

    python -m attacklab.cli.changed [--trials N] [--alpha P] FILE...

A file is read, not run, to see which targets it makes, so a file without any costs nothing. Each audit is a process of
its own, and the exit status is the worst of all: that of a refuted claim before that of anything else that went wrong.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attacklab.cli.messages import say
from attacklab.cli.status import Status

TRIALS = 2_000
"""Outputs of each input for an event, unless asked otherwise: a few seconds a target."""

ALPHA = 1e-6
"""The probability of a false alarm in all of these audits together, unless asked otherwise."""


def main(words: Sequence[str] | None = None) -> Status:
    """Audit the targets of the files that are named; the status of `attacklab audit` on the worst of them."""
    parser = argparse.ArgumentParser(prog="python -m attacklab.cli.changed", description="Audit the targets in files.")
    parser.add_argument("--trials", type=int, default=TRIALS, help=f"outputs of each input [default: {TRIALS}]")
    parser.add_argument("--alpha", type=float, default=ALPHA, help=f"probability of a false alarm [default: {ALPHA}]")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a Python file")
    asked = parser.parse_args(words)
    try:
        specs = [f"{file}:{name}" for file in asked.files for name in targets_made(file)]
    except (OSError, SyntaxError, ValueError) as error:
        say(f"{error}; repair or leave out that file")
        return Status.FAILED
    options = ["--trials", str(asked.trials), "--alpha", repr(asked.alpha / max(1, len(specs)))]
    audit = [sys.executable, "-m", "attacklab", "audit"]
    ended = [subprocess.call([*audit, *options, "--", spec]) for spec in specs]  # noqa: S603 - the user's own code
    if Status.REFUTED in ended:
        return Status.REFUTED
    return Status.FAILED if any(ended) else Status.OK


def targets_made(file: Path) -> Iterator[str]:
    """The names at the top of a file that are given a `Target`, or what is made of one.

    Raises:
        OSError: the file cannot be read.
        SyntaxError: it is not Python.
        ValueError: it has a null byte, or is not text.
    """
    for statement in ast.parse(file.read_bytes(), str(file)).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            if not any(isinstance(node, ast.Name) and node.id == "Target" for node in ast.walk(statement.value)):
                continue
            places = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (place.id for place in places if isinstance(place, ast.Name))


if __name__ == "__main__":
    sys.exit(main())
