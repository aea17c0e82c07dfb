"""The experiments on detection rates and false alarms, in quick mode."""

from corpus import detection, false_alarms
from tests.experiments.records import quick_record


def test_a_quick_run_finds_the_broken_specimens_accuses_no_sound_one_and_says_so() -> None:
    data = quick_record(detection, seed=1)
    rows = data["measured"]["specimens"]
    assert {row["name"] for row in rows} == set(detection.QUICK)
    found = {row["name"]: any(row["found_by"].values()) for row in rows}
    assert [name for name, is_found in found.items() if is_found] == [row["name"] for row in rows if row["broken"]]
    assert {finding["target"] for finding in data["findings"]} == {name for name, is_found in found.items() if is_found}
    drawn = detection.figures(data)
    assert len(drawn[0].panels) == 2
    paragraph = " ".join(detection.explain(data).split())
    assert not {"{", "}"} & set(paragraph)
    assert "find 1 of the 1 and accuse none of the 1; none end in an error" in paragraph
    assert " s of processor time in the median" in detection.explain_timings(data)


def test_a_quick_run_counts_false_alarms_and_says_how_many() -> None:
    data = quick_record(false_alarms)
    assert [rate["audits"] for rate in data["measured"]["edge"]] == [2, 2]
    (figure,) = false_alarms.figures(data)
    assert len(figure.panels) == 1
    said = " ".join(false_alarms.explain(data).split())
    assert "Of 4 whole default audits of 2 sound targets" in said
