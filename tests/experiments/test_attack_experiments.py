"""The experiments on attacks, in quick mode: naive twins are refuted, exact ones not; pages come from JSON alone."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from attacklab.findings import Finding, Verdict
from attacklab.reporting.experiment import load_experiments
from attacklab.reporting.figures import Figure
from tests.experiments.records import Data, quick_record

ROOT = Path(__file__).parent.parent.parent
EXPERIMENTS = load_experiments(ROOT)
WITH_FINDINGS = [
    "zero_rounding",
    *(
        pytest.param(name, marks=pytest.mark.ci)
        for name in ("truncated_addition", "low_bit_laplace", "precision", "sum_sensitivity")
    ),
]


@functools.cache
def recorded(name: str) -> Data:
    return quick_record(EXPERIMENTS[name], seed=1)


@pytest.mark.parametrize(
    "name", [*WITH_FINDINGS, pytest.param("local_sensitivity", marks=pytest.mark.ci), "marital_status"]
)
def test_figures_and_paragraph_come_from_the_json_alone(name: str) -> None:
    experiment, data = EXPERIMENTS[name], recorded(name)
    drawn = experiment.figures(data)
    assert drawn
    assert all(Figure.from_json(json.loads(json.dumps(figure.to_json()))).panels for figure in drawn)
    paragraph = experiment.explain(data)
    assert len(paragraph.split()) > 40
    assert not {"{", "}"} & set(paragraph)
    assert "nan" not in paragraph.split()


@pytest.mark.parametrize("name", WITH_FINDINGS)
def test_naive_twins_are_refuted_and_exact_ones_are_not(name: str) -> None:
    findings = [Finding.from_json(finding) for finding in recorded(name)["findings"]]
    refuted = {finding.target for finding in findings if finding.verdict is Verdict.VIOLATED}
    assert any(target.startswith("naive_") for target in refuted)
    assert not any(target.startswith("exact_") for target in refuted)
    assert any(finding.target.startswith("exact_") for finding in findings)


def test_the_figures_of_the_sources_come_out() -> None:
    """ε = 0.5, 100 outcomes: 0.99 naive, 0.0028 ideal; two outcomes: 1 and 0.124 (Ilvento's demonstration)."""
    data = quick_record(EXPERIMENTS["zero_rounding"], seed=3)
    measured = data["measured"]
    at = measured["epsilons"].index(0.5)
    assert measured["ideal"]["2"][at] == pytest.approx(0.124, abs=5e-4)
    assert measured["ideal"]["100"][at] == pytest.approx(0.0028, abs=5e-5)
    findings = [Finding.from_json(finding) for finding in data["findings"]]
    naive = [one for one in findings if one.target == "naive_exponential" and one.claim.epsilon == 0.5]
    assert [round(one.advantage.estimate, 2) for one in naive if one.advantage] == [1.0, 0.99]
