"""Flaws between the mechanisms: replay names each of the lab's own, and accuses none of what is sound."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from attacklab.model.findings import Severity, Verdict
from attacklab.replay import replay
from attacklab.reporting.experiment import Settings
from experiments import glue, targets
from experiments.glue import EPSILON, PIPELINES, Pipeline
from tests.system.experiments.records import committed_record

SEARCHED = [pipeline for pipeline in PIPELINES if pipeline.pair is None]
GIVEN = [pipeline for pipeline in PIPELINES if pipeline.pair is not None]
SETTINGS = Settings(share=0)


def label(pipeline: Pipeline) -> str:
    return pipeline.label


@pytest.mark.parametrize("pipeline", GIVEN, ids=label)
def test_a_flaw_is_named_at_its_line_on_one_pair_and_its_twin_is_not_accused(pipeline: Pipeline) -> None:
    assert pipeline.pair is not None
    named, runs = glue._replayed(pipeline, pipeline.pair, SETTINGS)
    assert named.verdict is Verdict.VIOLATED
    assert (named.severity is Severity.ACCOUNTING) is (pipeline.make is targets.naive_sum_over_count)
    assert named.witness is not None
    line = Path(named.witness.file).read_text("utf-8").splitlines()[named.witness.line - 1]
    assert named.witness.source == line.strip() != ""
    assert 4 <= runs < 1_300
    twin = replay(pipeline.repaired(EPSILON), [pipeline.pair], most_pairs=1, seconds=1.0)
    assert {finding.verdict for finding in twin} <= {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("pipeline", SEARCHED, ids=label)
def test_a_replay_finds_the_pair_on_which_rounding_moves_a_sum_further_than_is_claimed(pipeline: Pipeline) -> None:
    pair = glue._searched(pipeline, SETTINGS)
    named, _ = glue._replayed(pipeline, pair, SETTINGS)
    shown = {name: Fraction(value) for name, value in glue._sensitivities(pipeline, pair, named).items()}
    assert named.refutes
    assert shown["without_rounding"] <= shown["claimed"] < shown["measured"]


def test_no_rounding_is_in_a_sensitivity_that_is_computed_without() -> None:
    assert (
        glue._sum(np.array([0.1, 0.2, 0.3]))
        == Fraction(0.1) + Fraction(0.2) + Fraction(0.3)
        != Fraction(0.1 + 0.2 + 0.3)
    )
    assert glue._mean(np.array([1.0, 0.0, 0.0])) == Fraction(1, 3)
    assert glue._mean_of_chunks(np.array([0.0, 30.0] * 600)) == 15
    assert glue._sum_of_products(np.array([[0.5, 0.5], [0.5, 0.25]])) == Fraction(3, 8)


@pytest.mark.parametrize("name", sorted(name for name in targets.__all__ if name.startswith("exact_")))
def test_no_exact_target_is_accused(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        findings = replay(getattr(targets, name)(), most_pairs=2, seconds=0.1)
    assert Verdict.VIOLATED not in {finding.verdict for finding in findings}


def test_the_page_says_what_was_measured() -> None:
    data = committed_record("glue")
    rows = data["measured"]["rows"]
    assert [row["target"] for row in rows] == [pipeline.make.__name__ for pipeline in PIPELINES]
    text = glue.explain(data)
    assert f"{len(PIPELINES)} pipelines claim ε = 1" in text
    assert " 0 accused" in text
    assert not [row for row in rows if row["twin_verdict"] == Verdict.VIOLATED]
