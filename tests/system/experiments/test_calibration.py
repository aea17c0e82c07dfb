"""The calibration experiment: what it lists, and what it keeps to itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attacklab.calibration import QUANTITIES
from attacklab.libraries.environments import Environment
from attacklab.model.findings import to_text
from attacklab.reporting.experiment import Collected, Settings
from experiments import calibration
from tests.system.experiments.records import committed_record

SHORTFALL = """
import json, sys
for line in sys.stdin:
    arguments = json.loads(line)["arguments"]
    value = float.fromhex(arguments["sensitivity"]) / float.fromhex(arguments["scale"]) / 2
    print(json.dumps({"value": value.hex()}), flush=True)
"""


@pytest.fixture
def one_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[Collected, Path]]:
    """A run with one quantity, of one library that returns half of what it must."""
    script = tmp_path / "formulas.py"
    script.write_text(SHORTFALL, encoding="utf-8")
    environment = Environment("opendp-1.0", "opendp", "1.0", Path(sys.executable), is_missing=False)
    monkeypatch.setattr(calibration, "SCRIPT", script)
    monkeypatch.setattr(calibration, "ASKED", {"opendp": ("laplace_epsilon",)})
    monkeypatch.setattr(calibration, "_environments", lambda _: iter([("opendp", environment)]))
    monkeypatch.setattr(calibration, "QUANTITIES", [one for one in QUANTITIES if one.name == "laplace_epsilon"])
    monkeypatch.setattr(calibration, "UNPUBLISHED", tmp_path / "unpublished")
    return lambda: (calibration.collect(Settings()), tmp_path / "unpublished")


def test_what_is_not_publicly_known_is_withheld(one_library: Callable[[], tuple[Collected, Path]]) -> None:
    with pytest.warns(UserWarning, match="NEW DEVIATIONS, withheld .*: 1, in"):
        collected, unpublished = one_library()
    [row] = collected.timings["libraries"]
    assert {**row, "measured": 0} == {"library": "opendp", "environment": "opendp-1.0", "known": [], "measured": 0}
    assert "laplace_epsilon" in (unpublished / "calibration.md").read_text(encoding="utf-8")
    assert len(json.loads((unpublished / "calibration.json").read_text(encoding="utf-8"))["findings"]) == 40
    data = json.loads(to_text({"measured": collected.measured, "timings": collected.timings}))
    assert "by at least 5" not in calibration.explain(data) + calibration.explain_timings(data)


def test_what_is_publicly_known_is_listed_with_its_link(
    one_library: Callable[[], tuple[Collected, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = calibration.KnownDeviation("opendp", ("laplace_epsilon",), "half is missing", "https://example.org/1")
    monkeypatch.setattr(calibration, "KNOWN", (known,))
    collected, unpublished = one_library()
    assert not unpublished.exists()
    data = json.loads(to_text({"measured": collected.measured, "timings": collected.timings}))
    assert "[laplace_epsilon](https://example.org/1): half is missing" in calibration.explain_timings(data)
    page = calibration.explain(data)
    [figure] = calibration.figures(data)
    assert figure.name == "calibration"
    assert "of 1 sound ones none is accused" in " ".join(page.split()).lower()


def test_what_was_found_of_a_library_stays_where_it_cannot_be_asked(
    one_library: Callable[[], tuple[Collected, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.warns(UserWarning, match="NEW DEVIATIONS"):
        before, _ = one_library()
    [(name, environment)] = calibration._environments(Path.cwd())
    missing = replace(environment, is_missing=True)
    monkeypatch.setattr(calibration, "_environments", lambda _: iter([(name, missing)]))
    timings = json.loads(to_text({"timings": before.timings}))
    kept = calibration.collect(Settings(previous=timings)).timings
    assert json.loads(to_text(kept)) == timings["timings"]
    [absent] = calibration.collect(Settings()).timings["absent"]
    assert "make .environments/opendp-1.0/.ready" in absent


def test_the_record_has_the_naive_formulas_refuted_and_no_sound_one() -> None:
    data = committed_record("calibration")
    own = data["measured"]["own"]
    naive = {row["quantity"] for row in own if row["kind"] == "naive" and row["violated"]}
    assert naive >= set(calibration.FLAWS) - {"gaussian_sigma"}
    assert all(row["violated"] == row["error"] == 0 for row in own if row["kind"] == "exact")
    assert "were held to certified bounds" in calibration.explain(data)
