"""Five hundred runs of the command line that nobody would write: none may crash, mislead, linger or destroy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import IO

import pytest

from tests.attacklab.cli.fuzz.answers import answer_case
from tests.attacklab.cli.fuzz.cases import Case, Outcome, faults
from tests.attacklab.cli.fuzz.options import option_case
from tests.attacklab.cli.fuzz.targets import target_case

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the worker looks into /proc, and adopts orphans")

ROOT = Path(__file__).parents[4]
GENERATORS = {"target": (target_case, 250), "option": (option_case, 130), "answer": (answer_case, 120)}
CASES = {
    f"{name}-{number}": make(Random(f"{name} {number}"))
    for name, (make, count) in GENERATORS.items()
    for number in range(count)
}
FEW = [f"{name}-{number}" for name, (_, count) in GENERATORS.items() for number in range(0, count, count // 6)]


class Worker:
    """A process that runs cases, one after the other."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        for name in ("COLUMNS", "PYTHONWARNINGS"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.attacklab.cli.fuzz.worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, case: Case) -> Outcome:
        """Run a case in a folder of its own."""
        requests: IO[str] | None = self.process.stdin
        answers: IO[str] | None = self.process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps(asdict(case)) + "\n")
        requests.flush()
        return Outcome(**json.loads(answers.readline()))


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.process.communicate()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in CASES])
def test_a_run_ends_in_the_right_status_and_leaves_nothing_behind(worker: Worker, name: str) -> None:
    case = CASES[name]
    outcome = worker.run(case)
    found = faults(case, outcome)
    assert not found, "\n".join([*found, case.name, *case.files.values(), repr(case.words), outcome.error[-3000:]])
