"""The experiments on detection rates and false alarms, in quick mode, and the journal of audits at the claim's edge."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.experiment import Settings
from bench import detection_rates as rates
from bench import false_alarms
from bench.detection import Specimen
from bench.detection.edge import EDGE, NAMES, Journal
from tests.system.experiments.records import quick_record


def test_a_quick_run_finds_the_broken_specimens_accuses_no_sound_one_and_says_so() -> None:
    data = quick_record(rates, seed=1)
    rows = data["measured"]["specimens"]
    assert {row["name"] for row in rows} == set(rates.QUICK)
    found = {row["name"]: any(row["found_by"].values()) for row in rows}
    assert [name for name, is_found in found.items() if is_found] == [row["name"] for row in rows if row["broken"]]
    assert {finding["target"] for finding in data["findings"]} == {name for name, is_found in found.items() if is_found}
    drawn = rates.figures(data)
    assert len(drawn[0].panels) == 2
    paragraph = " ".join(rates.explain(data).split())
    assert not {"{", "}"} & set(paragraph)
    assert "find 1 of the 1 and accuse none of the 1; none end in an error" in paragraph
    assert " s of processor time in the median" in rates.explain_timings(data)


def test_a_quick_run_counts_false_alarms_and_says_how_many() -> None:
    data = quick_record(false_alarms)
    assert [rate["audits"] for rate in data["measured"]["edge"]] == [2, 2]
    (figure,) = false_alarms.figures(data)
    assert len(figure.panels) == 1
    said = " ".join(false_alarms.explain(data).split())
    assert "Of 4 whole default audits of 2 sound targets" in said


def test_where_no_audits_of_this_code_are_kept_a_few_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "rates", lambda _self: [])
    measured = false_alarms.collect(Settings(seed=0)).measured
    assert [rate["audits"] for rate in measured["edge"]] == [2, 2]


def test_the_journal_goes_on_where_it_ended_and_repeats_a_chunk_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    said: list[str] = []
    Journal(path, chunk=1).extend(3, said.append)
    assert [(rate.target, rate.audits) for rate in Journal(path).rates()] == [(name, 1) for name in NAMES[:3]]
    assert said == ["1 of 3 audits", "2 of 3 audits", "3 of 3 audits"]
    path.write_bytes(path.read_bytes()[:-20])
    assert [rate.target for rate in Journal(path).rates()] == list(NAMES[:2])
    Journal(path, chunk=1).extend(3, said.append)
    assert said[3:] == ["3 of 3 audits"]
    assert [(rate.target, rate.audits) for rate in Journal(path).rates()] == [(name, 1) for name in NAMES[:3]]


def test_the_journal_forgets_audits_by_other_code(tmp_path: Path) -> None:
    path = tmp_path / "alarms.jsonl"
    kept = {"digest": "0" * 16, "target": NAMES[0], "first": 0, "audits": 20, "alarms": {}}
    path.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    assert Journal(path).rates() == []


@pytest.mark.parametrize("specimen", EDGE.specimens, ids=lambda specimen: specimen.name)
def test_an_edge_target_spends_all_of_its_claim(specimen: Specimen) -> None:
    computed, claim = specimen.computed, specimen.make().claim
    assert computed is not None
    assert not specimen.broken
    assert isinstance(claim, PrivacyClaim)
    p, q = (computed.law(side) for side in (computed.pair.first, computed.pair.second))

    def divergence(epsilon: float) -> float:
        """The larger of the two hockey-stick divergences."""
        excesses = (
            [mass - math.exp(epsilon) * b.get(one, 0.0) for one, mass in a.items()] for a, b in ((p, q), (q, p))
        )
        return max(math.fsum(max(0.0, excess) for excess in both) for both in excesses)

    assert divergence(claim.epsilon) == pytest.approx(claim.delta, abs=1e-9)
    if not claim.delta:
        assert divergence(claim.epsilon - 1e-6) > 1e-8
