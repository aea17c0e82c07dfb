"""SARIF logs: refuted claims are results, what could not be decided is said, and nothing reads as a pass."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from attacklab.auditing.flaws import catalogue
from attacklab.model.claims import PrivacyClaim, ZeroConcentrated
from attacklab.model.findings import FAILURE, Counts, Finding, Verdict, to_text
from attacklab.reporting.sarif import Place, sarif_log

FLAW = "some floats cannot be the sum of a true answer and any noise"
VIOLATED = Finding(
    target="my_laplace",
    target_version="1.2",
    attack="precision",
    verdict=Verdict.VIOLATED,
    reason="P[E] in [0.4, 0.6] and Q[E] in [0, 0.1] need ε ≥ 2",
    claim=PrivacyClaim(1.0),
    pair={"relation": None, "first": {"hex": ["0x0.0p+0"]}, "second": {"hex": ["0x1.0p+0"]}},
    event="an even number",
    counts=Counts(50, 0, 100),
    epsilon_lower=math.inf,
    flaw=FLAW,
)
PLACE = Place("my tests/test_ε.py", 12)


def run_of(*findings: Finding, place: Place | None = PLACE) -> dict[str, Any]:
    log = json.loads(to_text(sarif_log([(finding, place) for finding in findings])))
    assert (log["version"], log["$schema"].rpartition("/")[2]) == ("2.1.0", "sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    return dict(run)


def test_a_refuted_claim_is_an_error_at_its_place_under_the_rule_of_its_flaw() -> None:
    own = replace(VIOLATED, attack="an_attack_of_ones_own", flaw="odd")
    run = run_of(VIOLATED, replace(VIOLATED, flaw=FAILURE), own, VIOLATED)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["precision", "precision/fails", "an_attack_of_ones_own"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    for rule, name, number in ((rules[0], "precision", 1339), (rules[1], "fails", 703)):
        flaw = catalogue()[name]
        assert rule["helpUri"] == flaw.read[0].url
        assert all(flaw.what in text and flaw.repair[1:] in text for text in rule["help"].values())
        assert f"```python\n{flaw.example}\n```" in rule["help"]["markdown"]
        assert f"external/cwe/cwe-{number}" in rule["properties"]["tags"]
    assert set(rules[2]) == {"id", "shortDescription"}
    result = run["results"][0]
    assert (result["level"], result["properties"]["epsilon_lower"]) == ("error", "infinite")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20tests/test_%CE%B5.py"
    assert place["region"] == {"startLine": 12}
    assert "physicalLocation" not in run_of(VIOLATED, place=None)["results"][0]["locations"][0]


def test_a_message_says_the_claim_the_event_the_point_and_the_repair() -> None:
    judged = {"claim": ZeroConcentrated(0.5), "judged_at": PrivacyClaim(0.464, 0.05891), "repair_code": "f(0.5)"}
    (result,) = run_of(replace(VIOLATED, **judged))["results"]
    assert result["message"]["text"] == (
        "my_laplace does not keep its claim (ρ-zCDP with ρ = 0.5) on the event 'an even number', judged at ε = 0.464, "
        f"δ = 0.059: {VIOLATED.reason}; usual repair: {catalogue()['precision'].repair}; with exactdp: f(0.5)"
    )


@pytest.mark.parametrize(
    ("verdict", "levels", "is_successful"),
    [
        (Verdict.NOT_DETECTED, [], True),
        (Verdict.NOT_APPLICABLE, [], True),
        (Verdict.PROVED, [], True),
        (Verdict.PROVED_WITH_SLACK, ["note"], True),
        (Verdict.INCONCLUSIVE, ["warning"], True),
        (Verdict.UNTESTABLE, ["warning"], True),
        (Verdict.ERROR, ["error"], False),
    ],
)
def test_what_is_undecided_is_told_and_nothing_is_a_pass(
    verdict: Verdict, levels: list[str], is_successful: bool
) -> None:
    run = run_of(replace(VIOLATED, verdict=verdict, reason="why"))
    (invocation,) = run["invocations"]
    told = invocation["toolExecutionNotifications"]
    assert [notification["level"] for notification in told] == levels
    assert all(f"precision on my_laplace: {verdict}: why" in notification["message"]["text"] for notification in told)
    assert (invocation["executionSuccessful"], run["results"]) == (is_successful, [])
    assert "pass" not in json.dumps(run)


def test_a_flaw_keeps_its_fingerprint_when_its_counts_change_and_not_when_its_pair_does() -> None:
    changed = {"counts": Counts(60, 1, 100)}, {"pair": None}, {"attack": "integer_cast"}
    results = run_of(VIOLATED, *(replace(VIOLATED, **each) for each in changed))["results"]
    first, *others = [result["partialFingerprints"]["finding/v1"] for result in results]
    assert [other == first for other in others] == [True, False, False]


def test_what_a_target_says_does_not_steer_whoever_shows_the_log() -> None:
    text = "\x1b[2J\n::error::hacked"
    steering = replace(VIOLATED, target=text, event=text, reason=text)
    for finding in (steering, replace(steering, verdict=Verdict.ERROR)):
        run = run_of(finding)
        (told,) = run["results"] or run["invocations"][0]["toolExecutionNotifications"]
        for words in (told["message"]["text"], told["locations"][0]["logicalLocations"][0]["name"]):
            assert words.isprintable()
            assert " ::" not in words
