"""Flaws between the mechanisms: an alignment names the lab's own, and accuses no repaired twin."""

from pathlib import Path

import pytest

from attacklab.model.findings import Alignment, Verdict
from experiments import glue
from experiments import targets as t
from experiments.common import pipelines as p
from experiments.glue import PIPELINES, Pipeline

pytestmark = pytest.mark.slow

NOISE_LINES = {
    t.naive_bounded_sum_numpy: "return summation(np.clip(records, lower, upper)) + rng.laplace(",
    t.naive_bounded_mean: "return mean + rng.laplace(0.0, scale",
    t.naive_local_sensitivity_mean: "return mean + rng.laplace(0.0, sensitivity / epsilon",
    t.naive_smooth_mean: "return mean + rng.laplace(0.0, 2 * smooth_sensitivity / epsilon",
    t.naive_query_session: "return tuple(answers)",
    p.mean_over_private_count: "return mean",
    p.counts_of_seen_groups: "return [tuple(zip(keys",
    p.counts_with_one_draw: "return np.stack([(groups == key).sum() + noise",
    p.moments_without_intercept: "return np.array([x @ y, y.sum()]) + rng.laplace(",
    p.products_not_clipped: "return rows[:, 0] @ rows[:, 1] + rng.laplace(",
}
"""How the line begins that a flaw is named at."""


def label(pipeline: Pipeline) -> str:
    return pipeline.label


@pytest.mark.parametrize("pipeline", [one for one in PIPELINES if one.make in NOISE_LINES], ids=label)
def test_a_flaw_is_named_at_its_line(pipeline: Pipeline) -> None:
    found, _ = glue.aligned(pipeline.make, pipeline.pair, 20_000, seed=0)
    assert found.verdict is Verdict.VIOLATED
    assert isinstance(found.evidence, Alignment)
    line = Path(found.evidence.file).read_text("utf-8").splitlines()[found.evidence.line - 1].strip()
    assert line.startswith(NOISE_LINES[pipeline.make])


@pytest.mark.parametrize("pipeline", {one.repaired: one for one in PIPELINES}.values(), ids=label)
def test_no_twin_is_accused(pipeline: Pipeline) -> None:
    found, _ = glue.aligned(pipeline.repaired, pipeline.pair, 2_000, seed=0)
    assert found.verdict is Verdict.NOT_DETECTED
    assert (glue._cost(found) or 0.0) <= 1.000_001
