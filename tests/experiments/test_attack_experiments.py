"""The experiments on attacks, by their records: naive twins are refuted, exact ones not; pages come from JSON alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacklab.model.findings import Finding, Verdict
from attacklab.reporting.experiment import load_experiments
from tests.experiments.records import Data, quick_record, require_page

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXPERIMENTS = load_experiments(ROOT)
NAMED = {
    "zero_rounding": "naive_exponential",
    "low_bit_laplace": "naive_laplace_numpy",
}


def refuted(data: Data) -> set[str]:
    findings = [Finding.from_json(finding) for finding in data["findings"]]
    return {finding.target for finding in findings if finding.verdict is Verdict.VIOLATED}


@pytest.mark.parametrize("attack", NAMED)
def test_an_experiment_refutes_its_naive_twin_in_a_quick_run(attack: str) -> None:
    data = quick_record(EXPERIMENTS[attack])
    require_page(EXPERIMENTS[attack], data)
    assert NAMED[attack] in refuted(data)
