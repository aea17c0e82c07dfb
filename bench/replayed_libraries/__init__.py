"""Real libraries, replayed as they are installed: what was reported of them in public, and what repairs it.

    python -m bench.replayed_libraries

replays the targets of `examples/replay` in the environments that are built, prints the table of the how-to page, and
keeps it in `bench/data/replayed_libraries.json`. There, `line` is that of the user's program, and `within` the one of
the library that was at work.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attacklab.model.files import write_whole
from attacklab.model.findings import Severity, read_record

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "bench" / "data" / "replayed_libraries.json"
SECONDS = 300
"""After so long a replay gives up; the slowest takes a tenth of it."""

DIFFPRIVLIB, OPACUS, JAX, DPMM = "diffprivlib-0.6.6", "opacus-1.6.0", "jax-0.10.2", "replayed/dpmm-0.1.9"
FLAWED, REPAIRED = "replayed/smartnoise_synth-1.0.5", "replayed/smartnoise_synth-1.0.8"
TARGETS: Mapping[tuple[str, str], str] = {
    (DIFFPRIVLIB, "regression.py:one_bound"): "diffprivlib 105",
    (DIFFPRIVLIB, "regression.py:one_share"): "diffprivlib 104",
    (DIFFPRIVLIB, "regression.py:sound"): "",
    (FLAWED, "covariance.py:target"): "SmartNoise SDK 622",
    (REPAIRED, "covariance.py:target"): "",
    (FLAWED, "odometer.py:target"): "SmartNoise SDK 621",
    (REPAIRED, "odometer.py:target"): "",
    (DPMM, "marginals.py:domain_of_the_data"): "dpmm 18",
    (DPMM, "marginals.py:sound"): "",
    (OPACUS, "training.py:batch_size"): "Opacus 571, 819",
    (OPACUS, "training.py:noise_before_averaging"): "",
    (OPACUS, "training.py:shuffled"): "",
    (OPACUS, "training.py:bfloat16"): "",
    (OPACUS, "training.py:key_used_twice"): "",
    (OPACUS, "training.py:sound"): "",
    (OPACUS, "training.py:float64"): "",
    (JAX, "keys.py:key_used_twice"): "",
    (JAX, "keys.py:key_of_the_code"): "",
    (JAX, "keys.py:sound"): "",
}
"""By environment and target, the public thread that reports the flaw."""


def packages(environment: str) -> Path | None:
    """The packages of an environment, if it is built for a Python like this one."""
    folder = ROOT / ".environments" / environment
    found = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    return found if found.is_dir() and (folder / ".ready").is_file() else None


def replayed(environment: str, target: str) -> dict[str, Any]:
    """The row of a target: what `attacklab replay` says of it with the packages of an environment before our own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "findings.json"
        command = [sys.executable, "-m", "attacklab", "replay", f"examples/replay/{target}", "--json", str(path)]
        command += ["--seconds", str(SECONDS)]
        done = subprocess.run(  # noqa: S603
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(packages(environment))},
            capture_output=True,
            text=True,
            check=False,
        )
        if not path.is_file():
            raise RuntimeError(f"{target} in {environment}: {done.stderr}")
        finding = read_record(path)["findings"][0]
    within = re.search(r" \(in ([^)]+)\)", finding.reason) if finding.witness else None
    return {
        "environment": environment,
        "target": target,
        "thread": TARGETS[environment, target],
        "verdict": "a note" if finding.severity is Severity.ACCOUNTING else str(finding.verdict),
        "flaw": finding.flaw,
        "line": f"{finding.witness.file}:{finding.witness.line}" if finding.witness else "",
        "within": within.group(1) if within else "",
        "seconds": finding.seconds,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as the how-to page shows them."""
    cells = [["", "environment", "target", "verdict", "line", "seconds"]]
    for row in rows:
        line = row["within"] or row["line"].rpartition("/")[2]
        environment = row["environment"].rpartition("/")[2]
        cells.append([row["thread"], environment, row["target"], row["verdict"], line, f"{row['seconds']:.0f}"])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells) + "\n"


def main() -> None:
    """Replay all, and keep what was measured earlier in environments that are not built here."""
    earlier = {(row["environment"], row["target"]): row for row in json.loads(RECORD.read_text("utf-8"))}
    rows = [replayed(*case) if packages(case[0]) else earlier[case] for case in TARGETS]
    write_whole(RECORD, json.dumps(rows, indent=1) + "\n")
    print(table(rows), end="")
