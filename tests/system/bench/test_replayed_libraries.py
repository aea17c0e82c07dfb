"""Real libraries as they are installed: a replay finds what was reported of them in public, and accuses no repair.

The journey: somebody uses a library, and runs `attacklab replay` on that code with the library's own environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.replayed_libraries import OPACUS, RECORD, REPAIRED, ROOT, TARGETS, packages, replayed, table

KEPT = {(row["environment"], row["target"]): row for row in json.loads(RECORD.read_text("utf-8"))}
SOUND = ("sound", "float64")
CODE = {
    "regression.py:one_bound": "mono_coef_2[i, i] = mech.randomise(",
    "covariance.py:target": "u = np.random.uniform(size=n)",
    "training.py:batch_size": "p.grad /= self.expected_batch_size",
    "training.py:noise_before_averaging": "return torch.normal(",
    "training.py:shuffled": "return torch.normal(",
}
"""What stands at the line of the library that is named."""


def built(environment: str) -> Path:
    """The packages of an environment."""
    found = packages(environment)
    if found is None:
        pytest.skip(f"{environment} is not built: make .environments/{environment}/.ready")
    return found


@pytest.mark.parametrize(("environment", "target"), TARGETS)
def test_a_replay_says_what_the_record_has(environment: str, target: str) -> None:
    folder, kept = built(environment), KEPT[environment, target]
    row = replayed(environment, target)
    assert {**row, "seconds": kept["seconds"]} == kept
    if row["within"] and target in CODE:
        file, _, line = row["within"].rpartition(":")
        assert CODE[target] in (folder / file).read_text("utf-8").splitlines()[int(line) - 1]


def test_what_is_flawed_is_named_and_what_is_sound_is_not_accused() -> None:
    """The odometer counts too much, which breaks no claim."""
    assert KEPT.keys() == TARGETS.keys()
    for (environment, target), row in KEPT.items():
        assert row["thread"] == TARGETS[environment, target]
        is_sound = target.startswith("odometer") or target.endswith(SOUND) or environment == REPAIRED
        assert row["verdict"] in (["not detected"] if is_sound else ["violated", "a note"])


def test_the_how_to_page_shows_the_record() -> None:
    assert table(list(KEPT.values())) in (ROOT / "docs" / "how_to" / "replay.md").read_text("utf-8")


def test_samplers_and_tensors_of_pytorch_are_watched_in_an_environment_that_has_it() -> None:
    given = {**os.environ, "PYTHONPATH": str(built(OPACUS))}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/unit/attacklab/replay/test_tensors.py",
    ]
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
