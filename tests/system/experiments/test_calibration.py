"""The calibration experiment: what its record says."""

from __future__ import annotations

from experiments import calibration
from tests.system.experiments.records import committed_record


def test_the_record_has_the_naive_formulas_refuted_and_no_sound_one() -> None:
    data = committed_record("calibration")
    own = data["measured"]["own"]
    naive = {row["quantity"] for row in own if row["kind"] == "naive" and row["violated"]}
    assert naive >= set(calibration.FLAWS) - {"gaussian_sigma"}
    assert all(row["violated"] == row["error"] == 0 for row in own if row["kind"] == "exact")
    page = " ".join(calibration.explain(data).split())
    assert "were held to certified bounds" in page
    assert f"of {len(own) // 2} sound ones none is accused" in page.lower()
    assert [figure.name for figure in calibration.figures(data)] == ["calibration"]
