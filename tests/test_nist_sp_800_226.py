"""The page on NIST SP 800-226 names attacks, experiments and commands that there are, and says what is not tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attacklab.attacks import ATTACKS
from attacklab.reporting.experiment import load_experiments
from corpus.pipelines import PIPELINES
from tests.test_documents import ROOT

pytestmark = pytest.mark.slow

PAGE = Path(ROOT) / "docs" / "reference" / "nist_sp_800_226.md"
TEXT = PAGE.read_text("utf-8")
ROWS = re.findall(r"(?m)^\| (?!hazard|---)(.*?) \| (.*?) ?\| (.*?) ?\|$", TEXT)
NAMES = {attack.name for attack in ATTACKS}
OTHERS = {"dataset", "delta_lower", "naive_randomized_response", "seeing_work"}
"""A kind of target, a field of findings, a target and a function: all else that is in code and in one word."""
ALIGNED = {pipeline.name for pipeline in PIPELINES if pipeline.broken}
"""The flawed pipelines of which a test shows that the alignment passes none."""


def test_every_name_of_an_attack_or_an_experiment_is_that_of_one() -> None:
    experiments = set(load_experiments(Path(ROOT)))
    named = set(re.findall(r"`([a-z_0-9]+)`", TEXT))
    assert named - OTHERS <= NAMES | experiments | ALIGNED


def test_a_pipeline_stands_where_the_alignment_is_what_tests_the_hazard() -> None:
    for hazard, tests, _ in ROWS:
        pipelines = ALIGNED & set(re.findall(r"`([a-z_0-9]+)`", tests))
        assert bool(pipelines) is ("alignment" in tests), hazard


def test_every_attack_stands_beside_a_hazard_that_it_tests() -> None:
    tested = {name for _, tests, _ in ROWS for name in re.findall(r"`([a-z_0-9]+)`", tests)}
    assert tested >= NAMES
