"""Programs of our own that tests start: each runs to its end, and what it writes is text."""

import os
import subprocess
from collections.abc import Collection, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(
    command: Sequence[str | Path], folder: Path = ROOT, *, hidden: Collection[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program, whatever its status.

    Args:
        command: the program and its words.
        folder: where it runs.
        hidden: variables of the environment that it does not see.
        variables: those that it sees besides.
    """
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | variables
    return subprocess.run(  # noqa: S603 - our own
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
