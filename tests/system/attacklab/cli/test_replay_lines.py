"""The line that a finding names as its replay gives the finding again, to the last bit."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TARGETS = """
import numpy as np
from attacklab.model.targets import Target

def noisy(answer, trials, rng):
    return answer + rng.laplace(0.0, 2.0, trials)

def selected(utilities, trials, rng):
    return rng.integers(0, len(utilities), trials)

target = Target.noise(noisy, epsilon=0.5)
"""


@pytest.mark.parametrize("target", ["{}:target", "{}:selected --kind selection --epsilon 1"])
def test_the_replay_line_of_a_finding_gives_the_finding_again(
    target: str, tmp_path: Path, attacklab: Callable[[str], tuple[int, str, str]]
) -> None:
    path = tmp_path / "with space.py"
    path.write_text(TARGETS)

    def run(line: str) -> list[dict[str, Any]]:
        findings = json.loads(attacklab(f"{line} --json -")[1])["findings"]
        return [{**finding, "seconds": 0} for finding in findings if finding["verdict"] != "not applicable"]

    findings = run(f"audit {target.format(shlex.quote(str(path)))} --trials 3000 --alpha 0.0012345678 --seed 17")
    assert findings
    for attack in dict.fromkeys(finding["attack"] for finding in findings):
        originals = [finding for finding in findings if finding["attack"] == attack]
        program, line = originals[0]["replay"].split(maxsplit=1)
        assert program == "attacklab"
        assert run(line) == originals
